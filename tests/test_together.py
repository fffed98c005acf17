"""Replicas that meet: what each gets is what it would get alone, whatever the threads do."""

from __future__ import annotations

import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from riata import (
    KnockoffSelector,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    ReplicaError,
    StabilitySelector,
    Training,
    together,
)
from riata.estimators import fitting, solving
from riata.path import refit
from riata.solver import stack


def doubled(calls):
    """A function that notes how many arguments it gets at once."""

    def double(given):
        calls.append(sorted(given))
        return [2 * each for each in given]

    return double


def test_a_function_is_called_once_for_all_that_have_come_to_it():
    calls = []
    double = doubled(calls)

    def work(i):
        time.sleep(0.01 * (i % 3))
        first = together.call(double, i)
        return together.call(double, first) if i % 2 else first

    assert list(together.run([lambda i=i: work(i) for i in range(6)])) == [0, 4, 4, 12, 8, 20]
    assert calls == [[0, 1, 2, 3, 4, 5], [2, 6, 10]]


def test_arguments_come_in_the_order_of_replicas():
    seen = []

    def collect(given):
        seen.append(given)
        return given

    def work(i):
        time.sleep(0.05 - 0.01 * i)
        return together.call(collect, i)

    assert list(together.run([lambda i=i: work(i) for i in range(5)])) == seen[0] == [0, 1, 2, 3, 4]


def test_outside_of_a_run_it_is_a_call():
    assert together.call(doubled([]), 4) == 8


def test_an_error_is_that_of_the_replica_that_caused_it():
    def careful(given):
        if 2 in given:
            raise ZeroDivisionError("two")
        return given

    def work(i):
        try:
            return together.call(careful, i)
        except ZeroDivisionError as error:
            return str(error)

    assert list(together.run([lambda i=i: work(i) for i in range(4)])) == [0, 1, "two", 3]


def test_replicas_that_fail_elsewhere_do_not_keep_others_waiting():
    def work(i):
        if i == 1:
            raise KeyError("one")
        return together.call(doubled([]), i)

    results = together.run([lambda i=i: work(i) for i in range(3)])
    assert next(results) == 0
    with pytest.raises(KeyError):
        next(results)


def test_more_replicas_than_run_at_once_run_in_turn(monkeypatch):
    monkeypatch.setattr(together, "_MOST", 2)
    calls = []
    assert list(together.run([lambda i=i: together.call(doubled_shared, (calls, i)) for i in range(5)])) == [
        0,
        2,
        4,
        6,
        8,
    ]
    assert calls == [2, 2, 1]


def doubled_shared(given):
    given[0][0].append(len(given))
    return [2 * i for _, i in given]


def test_an_interrupt_ends_all_replicas():
    def interrupted(given):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(together.run([lambda: together.call(interrupted, 1) for _ in range(3)]))
    time.sleep(0.2)
    assert threading.active_count() == before


# ---- of estimators --------------------------------------------------------------------------------------------------


@pytest.fixture
def side_by_side(monkeypatch):
    """Networks are trained side by side on the CPU too; how many there are at a time."""
    monkeypatch.setattr(together, "pays", lambda device: True)
    counts: dict[str, list[int]] = {"paths": [], "refits": []}
    paths, trained = solving._paths, refit._side_by_side

    def counted_paths(posed):
        counts["paths"].append(len(posed))
        return paths(posed)

    def counted_refits(starts, *others):
        counts["refits"].append(len(starts))
        return trained(starts, *others)

    monkeypatch.setattr(solving, "_paths", counted_paths)
    monkeypatch.setattr(refit, "_side_by_side", counted_refits)
    return counts


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2]


SMALL = {
    "hidden_dims": (5,),
    "training": Training(dtype="float64", path_multiplier=1.2, n_iters=(40, 5)),
    "random_state": 0,
}


@pytest.mark.parametrize(
    "Estimator, data, options",
    [
        (LassoNetClassifierCV, cancer, {}),
        (LassoNetRegressorCV, lambda: load_diabetes(return_X_y=True), {"M": [1.0, 10.0]}),
    ],
)
def test_cross_validation_side_by_side_is_that_of_jobs(Estimator, data, options, side_by_side):
    X, y = data()
    together_, alone = (Estimator(cv=3, n_jobs=n_jobs, **SMALL | options).fit(X, y) for n_jobs in (None, 1))
    assert max(side_by_side["paths"]) == 3 + (Estimator is LassoNetClassifierCV) and max(side_by_side["refits"]) > 3
    a, b = together_.cv_results_, alone.cv_results_
    np.testing.assert_allclose(a["n_selected"], b["n_selected"])
    np.testing.assert_allclose(a["mean_test_score"], b["mean_test_score"], atol=1e-6)
    assert together_.n_selected_ == alone.n_selected_
    np.testing.assert_allclose(together_.predict(X), alone.predict(X), rtol=1e-6)


def test_half_samples_side_by_side_have_the_frequencies_of_jobs(side_by_side):
    X, y = cancer()
    found = [
        StabilitySelector(LassoNetClassifier(**SMALL), n_resamples=6, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (None, 1)
    ]
    assert 6 in side_by_side["paths"]
    np.testing.assert_allclose(found[0].path_frequencies_, found[1].path_frequencies_)


def test_knockoffs_side_by_side_have_the_statistics_of_jobs(side_by_side):
    X, y = load_diabetes(return_X_y=True)
    X = np.delete(X, 1, axis=1)  # which has two values
    found = [
        KnockoffSelector(LassoNetRegressor(**SMALL), fdr=0.5, n_draws=2, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (None, 1)
    ]
    assert max(side_by_side["paths"]) > 1
    np.testing.assert_allclose(found[0].statistics_, found[1].statistics_, atol=1e-6)


def test_where_memory_is_short_fewer_are_side_by_side(side_by_side, monkeypatch):
    X, y = cancer()
    posed = _problem(X, y)
    monkeypatch.setattr(stack, "_free", lambda device: 3 * stack._bytes(posed, posed.n_columns) / stack._SHARE)
    model = LassoNetClassifierCV(cv=6, **SMALL).fit(X, y)
    assert 1 < max(side_by_side["paths"]) < 6 and model.n_selected_


def _problem(X, y):
    model = LassoNetClassifier(**SMALL)
    return fitting.prepare(model._check(X, y, None, None, None), model._settings()).problem


def test_where_jobs_were_asked_for_they_are_jobs(side_by_side):
    X, y = cancer()
    with joblib.parallel_config(backend="threading", n_jobs=2):
        LassoNetClassifierCV(cv=2, **SMALL).fit(X, y)
    assert max(side_by_side["paths"]) == 1


def test_an_error_names_its_replica(side_by_side):
    def broken(model, X, y):
        raise ZeroDivisionError("no score today")

    X, y = cancer()
    with pytest.raises(ReplicaError, match=r"fold 1 of 3.*no score today"):
        LassoNetClassifierCV(cv=3, scoring=broken, **SMALL).fit(X, y)
