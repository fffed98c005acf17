"""Laws of the statistics of knockoffs: their signs, importances, fits, groups, costs and categories."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import LassoNetRegressor
from riata.evidence import KnockoffSelector, inner, knockoff_statistics, knockoffs
from riata.evidence.gaussian import learn
from riata.evidence.knockoff_statistics import Columns, Comparison
from tests.conftest import with_training
from tests.evidence.thirty_columns import FEW_VALUES, NOTHING, PAIRS, QUICK, TRUE, X, lasso, y


def compared(X, X_knockoff, estimator, ids=None, seed=0, importance="auto"):
    d = X.shape[1]
    ids = np.arange(d) if ids is None else ids
    columns = Columns(np.ones(d, bool), np.arange(d), ids, np.unique(ids), ids, True, None)
    comparison = Comparison(estimator, importance, columns, X, y, None)
    original, knockoff = knockoff_statistics.compare(comparison, X_knockoff, np.random.default_rng(seed))
    return original - knockoff


@pytest.mark.parametrize("importance", ["estimator", "prediction_change"])
@pytest.mark.parametrize("ids", [np.arange(30), np.arange(30) // 2], ids=["single", "grouped"])
def test_swapping_a_group_with_its_knockoff_changes_the_sign_of_its_statistic(ids, importance):
    exact = LassoCV(tol=1e-9, max_iter=100_000)
    X_knockoff = knockoffs.prepare(learn(X), ids).draw(X, np.random.default_rng(0))
    W = compared(X, X_knockoff, exact, ids, importance=importance)
    swapped = np.isin(ids, [0, 3, 8])
    other = compared(
        np.where(swapped, X_knockoff, X), np.where(swapped, X, X_knockoff), exact, ids, importance=importance
    )
    sign = np.where(np.isin(np.arange(len(W)), [0, 3, 8]), -1, 1)
    assert np.abs(W[[0, 3, 8]]).max() > 0.02
    assert np.allclose(other, sign * W, atol=1e-5)


def test_the_prediction_change_of_a_column_in_a_linear_model_is_its_variance_times_the_squared_slope():
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(inner.reliance(model, X, np.arange(30)), model.coef_**2 * X.var(axis=0))
    pairs = np.arange(30) // 2
    by_hand = [np.var(X[:, pairs == g] @ model.coef_[pairs == g]) for g in range(15)]
    np.testing.assert_allclose(inner.reliance(model, X, pairs), by_hand)


def test_the_prediction_change_is_that_at_the_point_of_the_selection_rule():
    model = LassoNetRegressor(**QUICK, random_state=0).fit(X, y)
    found = inner.reliance(model, X, np.arange(30))
    best = min(model.path_, key=lambda point: (point.val_loss, point.n_selected))
    assert model.point_ is best
    assert (found > 0).sum() == best.n_selected
    assert not inner.validated(LassoNetRegressor(**QUICK, val_size=0, n_features_to_select=5, random_state=0).fit(X, y))


def test_fits_of_one_draw_share_their_knockoffs_and_are_averaged(monkeypatch):
    calls = []
    compare = knockoff_statistics.compare

    def spy(comparison, X_knockoff, rng):
        calls.append((X_knockoff.copy(), compare(comparison, X_knockoff, rng)))
        return calls[-1][1]

    monkeypatch.setattr(knockoff_statistics, "compare", spy)
    selector = KnockoffSelector(LassoNetRegressor(**QUICK), n_fits=3, random_state=0).fit(X, y)
    (first, _), (second, _), (third, _) = calls
    assert (first == second).all()
    assert (first == third).all()
    pairs = np.array([pair for _, pair in calls])
    assert np.ptp(pairs, axis=0).max() > 0  # each with another seed
    np.testing.assert_allclose(selector.statistics_, (pairs[:, 0] - pairs[:, 1]).mean(axis=0))
    calls.clear()
    KnockoffSelector(LassoCV(), n_fits=3, random_state=0).fit(X, y)
    assert len(calls) == 3
    calls.clear()
    KnockoffSelector(make_pipeline(StandardScaler(), LinearRegression()), n_fits=3, random_state=0).fit(X, y)
    assert len(calls) == 1  # no seed, no difference


def test_the_order_of_columns_and_knockoffs_does_not_matter():
    exact = LassoCV(tol=1e-9, max_iter=100_000)
    X_knockoff = knockoffs.prepare(learn(X), np.arange(30)).draw(X, np.random.default_rng(0))
    assert np.allclose(compared(X, X_knockoff, exact, seed=0), compared(X, X_knockoff, exact, seed=1), atol=1e-4)


def test_groups_of_one_are_no_groups():
    one = lasso().fit(X, y)
    other = lasso(feature_groups=np.arange(30)).fit(X, y)
    assert np.array_equal(one.statistics_, other.statistics_)
    assert np.array_equal(one.selected_, other.selected_)


def test_groups_are_selected_whole():
    selector = lasso(feature_groups=PAIRS).fit(X, y)
    assert selector.statistics_.shape == (15,)
    assert np.array_equal(selector.selected_[::2], selector.selected_[1::2])
    assert selector.selected_[:24].all()


def test_groups_of_the_estimator_are_used_by_the_selector(monkeypatch):
    given = []
    spied = LassoNetRegressor.fit

    def fit(self, X, y):
        given.append(self.feature_groups)
        return spied(self, X, y)

    monkeypatch.setattr(LassoNetRegressor, "fit", fit)
    labels = [f"pair {p:02d}" for p in PAIRS]
    selectors = [
        KnockoffSelector(LassoNetRegressor(**QUICK, feature_groups=labels), n_fits=1, random_state=0),
        KnockoffSelector(LassoNetRegressor(**QUICK), feature_groups=labels, n_fits=1, random_state=0),
    ]
    fits = [selector.fit(X, y) for selector in selectors]
    assert len(given) == 4  # a network and a linear model each
    assert all(np.array_equal(groups, np.append(PAIRS, PAIRS + 15)) for groups in given)
    assert np.array_equal(fits[1].statistics_, fits[0].statistics_)


@NOTHING
def test_costs_of_the_estimator_apply_to_knockoffs_too():
    costs = np.where(np.arange(30) < 15, 1.0, 50.0)
    selector = KnockoffSelector(
        LassoNetRegressor(**QUICK, feature_costs=costs), importance="estimator", n_fits=1, random_state=0
    ).fit(X, y)
    plain = KnockoffSelector(LassoNetRegressor(**QUICK), importance="estimator", n_fits=1, random_state=0).fit(X, y)
    assert np.abs(selector.statistics_[15:]).max() < np.abs(plain.statistics_[15:]).max() / 5


@FEW_VALUES
@NOTHING
def test_a_variable_with_levels_is_one_group():
    rng = np.random.default_rng(0)
    levels = rng.integers(4, size=300)
    table = np.hstack([np.eye(4)[levels], X])
    groups = [[0, 1, 2, 3], *[[j] for j in range(4, 34)]]
    target = y + np.array([0, 3, -3, 1])[levels]
    selected = lasso(feature_groups=groups).fit(table, target).selected_
    assert selected[:4].all()
    assert selected[4:][TRUE].all()


def test_constant_columns_are_left_out():
    table = np.insert(X, [0, 10, 30], [7.0, 0.0, 0.1], axis=1)
    constant = np.ptp(table, axis=0) == 0
    selector = lasso().fit(table, y)
    plain = lasso().fit(X, y)
    assert np.array_equal(selector.statistics_[~constant], plain.statistics_)
    assert np.array_equal(selector.selected_[~constant], plain.selected_)
    assert not selector.statistics_[constant].any()
    assert not selector.selected_[constant].any()


def test_constant_columns_of_a_selected_group_are_not_selected():
    table = np.insert(X, 0, 1.0, axis=1)
    selector = lasso(feature_groups=np.append(0, np.arange(30))).fit(table, y)
    assert selector.statistics_.shape == (30,)
    assert selector.selected_[:2].tolist() == [False, True]


def test_a_category_of_noise_has_no_large_statistic_and_a_true_one_has():
    """Without a clear association neither a category nor its knockoff counts: else the sign of one large statistic decides."""
    statistics = {"noise": [], "true": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.standard_normal((250, 8)), columns=list("abcdefgh"))
        X["town"] = [f"T{i}" for i in rng.integers(0, 40, 250)]
        y = X[list("abcd")].sum(axis=1) + rng.standard_normal(250)
        means = pd.Series(2 * rng.standard_normal(40), index=[f"T{i}" for i in range(40)])
        for name, target in (("noise", y), ("true", y + X["town"].map(means))):
            selector = KnockoffSelector(
                LassoNetRegressor(**with_training(hidden_dims=(10,), path_multiplier=1.2)), fdr=0.5, random_state=seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of 0/1 columns
                statistics[name].append(selector.fit(X, target).statistics_[-1])
    assert np.median(np.abs(statistics["noise"])) == 0
    assert min(statistics["true"]) > 0.05
