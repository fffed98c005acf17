"""Experiments on survival times: splits leak nothing, scores are right on toy predictions, and results reach the page."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import runner, survival, survival_data, survival_interactions
from experiments.baselines import survival as methods
from experiments.cells import Cell, Options, Store
from experiments.survival_data import Cohort, Split, target

pytest.importorskip("sksurv")

LINEAR = np.array([1.5, -1.0, 0, 0, 0, 0])


def times(risk: np.ndarray, seed: int) -> np.ndarray:
    """Exponential times with these log hazards, about a third of them censored."""
    rng = np.random.default_rng(seed)
    event, censored = rng.exponential(np.exp(-risk)), rng.exponential(2, len(risk))
    return target(event <= censored, np.minimum(event, censored))


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    """Six columns of which two act, one with gaps."""
    X = np.random.default_rng(0).standard_normal((240, 6)).astype(np.float32)
    y = times(X @ LINEAR, 1)
    X[::7, 3] = np.nan
    return Cohort("toy", 5 * X + 3, y)


@pytest.fixture
def toy(cohort, monkeypatch) -> Cohort:
    """Put the cohort in the place of all data sets."""
    monkeypatch.setattr(survival, "load", lambda name: cohort)
    return cohort


def test_parts_are_disjoint_hold_events_in_proportion_and_differ_by_seed(cohort):
    rows = cohort._replace(X=np.arange(240.0, dtype=np.float32)[:, None])
    parts, other = survival_data.split(rows, 0), survival_data.split(rows, 1)
    assert sorted([*parts.X.ravel(), *parts.X_test.ravel()]) == list(range(240))
    assert len(parts.y_test) == 48
    assert parts.y_test["event"].mean() == pytest.approx(cohort.y["event"].mean(), abs=1 / 48)
    assert set(parts.X_test.ravel()) != set(other.X_test.ravel())


def test_neither_gaps_nor_scales_depend_on_the_test_samples(cohort):
    before = survival_data.split(cohort, 0)
    rows = cohort._replace(X=np.arange(240.0, dtype=np.float32)[:, None])
    X = cohort.X.copy()
    X[survival_data.split(rows, 0).X_test.ravel().astype(int)] *= 100
    after = survival_data.split(cohort._replace(X=X), 0)
    np.testing.assert_array_equal(before.X, after.X)
    np.testing.assert_array_equal(before.standardised().X, after.standardised().X)
    np.testing.assert_allclose(before.standardised().X.mean(axis=0), 0, atol=1e-6)  # single precision
    np.testing.assert_allclose(before.standardised().X.std(axis=0), 1, rtol=1e-5)


def test_gaps_get_the_median_of_the_training_samples_and_constant_columns_stay_finite():
    X = np.array([[np.nan, 0.1]] * 4 + [[1.0, 0.1]] * 30 + [[9.0, 0.1]] * 6, dtype=np.float32)
    parts = survival_data.split(Cohort("gaps", X, target(np.arange(40) % 2, np.arange(40.0))), 0)
    assert set(np.concatenate([parts.X, parts.X_test])[:, 0]) == {1.0, 9.0}
    np.testing.assert_allclose(parts.standardised().X[:, 1], 0, atol=1e-5)  # rounding of 0.1


def test_step_functions_are_one_before_the_first_time_and_keep_each_value_until_the_next():
    values = methods.at_times(
        np.array([1.0, 2.0]), np.array([[0.7, 0.4], [0.5, 0.1]]), np.array([0.5, 1.0, 1.9, 2.0, 9.0])
    )
    np.testing.assert_array_equal(values, [[1, 0.7, 0.7, 0.4, 0.4], [1, 0.5, 0.5, 0.1, 0.1]])


def test_at_most_200_times_are_left_none_earlier_than_it_was_and_few_stay_as_they_are():
    y = target(np.ones(1000), np.random.default_rng(0).exponential(size=1000))
    rounded = methods.coarse(y)
    assert len(np.unique(rounded["time"])) == 200
    assert (rounded["time"] >= y["time"]).all() and rounded["time"].max() == y["time"].max()
    assert methods.coarse(y[:150]) is not None and (methods.coarse(y[:150]) == y[:150]).all()


@pytest.fixture
def without_censoring() -> Split:
    y = target(np.ones(101), np.arange(101.0))
    return Split(np.empty((101, 0)), y, np.empty((101, 0)), y)


def test_concordances_are_those_of_perfect_reversed_and_constant_risks(without_censoring):
    time = without_censoring.y["time"]
    for risk, value in ((-time, 1.0), (time, 0.0), (np.zeros(101), 0.5)):
        assert methods.concordance(without_censoring.y, risk) == value
        assert survival.weighted_concordance(without_censoring, risk) == pytest.approx(value)


def test_brier_scores_without_censoring_are_mean_squared_errors(without_censoring):
    y = without_censoring.y
    at = survival.grid(y, y)
    assert at[0] == 10 and at[-1] == 80
    alive = y["time"][:, None] > at
    assert survival.integrated_brier(without_censoring, alive.astype(float), at) == 0
    half = survival.integrated_brier(without_censoring, np.full(alive.shape, 0.5), at)
    assert half == pytest.approx(0.25)


def test_brier_scores_do_not_change_where_the_test_samples_are_followed_longer(cohort):
    parts = survival_data.split(cohort, 0)
    at = survival.grid(parts.y, parts.y_test)
    value = np.full((len(parts.y_test), len(at)), 0.5)
    before = survival.integrated_brier(parts, value, at)
    longer = parts.y_test.copy()
    latest = longer["time"].argmax()
    assert longer["time"][latest] > at[-1]
    longer["time"][latest], longer["event"][latest] = 1e6, True
    assert survival.integrated_brier(parts._replace(y_test=longer), value, at) == pytest.approx(before)


@pytest.mark.parametrize("name", ["riata", "coxnet", "forest", "boosting", "kaplan_meier"])
def test_a_method_finds_what_acts_and_says_how_likely_survival_is(name, cohort):
    parts = survival_data.split(cohort, 0).standardised()
    model = methods.fit(name, methods.Task(parts.X, parts.y, 0))
    scores = survival.scores(model, parts)
    if name == "kaplan_meier":
        assert scores["concordance"] == 0.5 and scores["n_selected"] == 0
        return
    nothing = survival.scores(methods.fit("kaplan_meier", methods.Task(parts.X, parts.y, 0)), parts)
    assert scores["concordance"] > 0.75 and scores["brier"] < nothing["brier"]
    assert {0, 1} <= set(model.features.tolist())
    at = survival.grid(parts.y, parts.y_test)
    survives = model.survival(parts.X_test, at)
    assert survives.shape == (48, 50) and (np.diff(survives, axis=1) <= 1e-12).all()
    if model.few is not None:
        few = model.few(2)
        assert few.features.tolist() == [0, 1] and survival.scores(few, parts)["concordance"] > 0.75


def test_lassonet_is_stopped_when_its_time_is_over_and_says_so(cohort, monkeypatch):
    pytest.importorskip("lassonet")
    monkeypatch.setattr(methods, "_LIMIT", 0)
    parts = survival_data.split(cohort, 0).standardised()
    model = methods.fit("lassonet", methods.Task(parts.X, parts.y, 0))
    assert not model.complete and model.few(1) is None and len(model.features) == 6
    assert methods.concordance(parts.y_test, model.risk(parts.X_test)) > 0.7


def test_lassonet_is_run_once_on_gene_expressions():
    cells = survival.cells(Options(data=("gbsg", "DLBCL"), methods=("lassonet", "coxnet")))
    assert sum(cell.method == "lassonet" and cell.data == "DLBCL" for cell in cells) == 1
    assert sum(cell.method == "lassonet" and cell.data == "gbsg" for cell in cells) == 10
    assert len(cells) == 31


def test_a_quick_run_is_on_the_page(toy, tmp_path):
    store = Store(tmp_path)
    cells = survival.cells(Options(quick=True, data=("hnscc",), methods=("riata", "coxnet", "forest")))
    assert len(cells) == 3 and not runner.run(cells, store)
    scores, brier, picture = survival.page(store).blocks
    assert [row[2] for row in scores.rows] == ["riata", "coxnet", "forest"]
    assert all(len(row) == len(scores.header) for row in scores.rows)
    assert [row[0] for row in brier.rows] == ["riata", "coxnet", "forest"] and picture.name == "survival_hnscc"
    assert set(store.read(cells[0])["scores"]["few"]) == {"1", "2", "3", "5"}


@pytest.mark.parametrize("name", survival_interactions.DESIGNS)
def test_designs_are_censored_by_three_tenths_and_the_true_hazard_is_good_but_not_perfect(name):
    sample = survival_interactions.draw(name, 20, 0)
    truth = methods.concordance(sample.parts.y_test, sample.log_hazard)
    assert 0.75 < truth < 0.8
    assert sample.parts.y_test["event"].mean() == pytest.approx(0.7, abs=0.04)  # four standard errors
    assert len(sample.truth) == survival_interactions.DESIGNS[name].k
    again = survival_interactions.draw(name, 500, 0)  # of a width of its own, so that the places differ
    assert again.truth.max() >= 20


def test_interactions_count_true_columns_on_the_page(tmp_path):
    store = Store(tmp_path)
    cells = [Cell("survival_interactions", "interaction", m, 0, (("p", 20),)) for m in ("riata", "coxnet")]
    assert not runner.run(cells, store)
    (table,) = survival_interactions.page(store).blocks
    assert [row[1] for row in table.rows] == ["riata", "coxnet"]
    assert table.rows[0][3] == "1 of 1"
    assert all(len(row) == len(table.header) for row in table.rows)
