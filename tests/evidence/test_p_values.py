"""Laws of p-values on held-out samples: rarely small without an effect, smallest where effects are strong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from riata.evidence import holdout_p_values, p_values, permutation_importance
from tests.evidence.tables import (
    NAMES,
    D,
    X,
    X_fit,
    X_out,
    by_feature,
    correlated,
    linear,
    measured,
    y_fit,
    y_out,
)


def null_p_values(seed, fit_on, make):
    rng = np.random.default_rng(seed)
    beta = np.where(np.arange(D) % 3, 0, 0.7)
    Z = correlated(rng, 150)
    target = Z @ beta + rng.normal(size=150)
    model = make().fit(Z[:70], target[:70])
    others = {"X_fit": Z[:70]} if fit_on else {}
    table = holdout_p_values(model, Z[70:], target[70:], n_draws=99, random_state=seed, **others)
    return by_feature(table)["p_value"][beta == 0]


@pytest.mark.parametrize(
    ("make", "fit_on"), [(LinearRegression, False), (lambda: Ridge(30), True)], ids=["linear, X alone", "ridge, X_fit"]
)
def test_p_values_of_columns_without_an_effect_are_rarely_small(make, fit_on):
    small = np.array([null_p_values(seed, fit_on, make) <= 0.1 for seed in range(50)]).mean(axis=1)
    assert small.mean() <= 0.1 + 3 * small.std() / np.sqrt(len(small))


def test_p_values_of_a_network_are_rarely_small_for_columns_without_an_effect(models):
    dense = models["network"].at(lambda_=0)
    assert dense.selected_.all()
    small = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Z = correlated(rng, 60)
        target = 2 * Z[:, 0] - Z[:, 2] + rng.normal(size=60)
        table = holdout_p_values(dense, Z, target, X_fit=X_fit, n_draws=99, random_state=seed)
        found = by_feature(table)["p_value"]
        assert found["x0"] == 0.01  # the smallest possible
        small.append((found.iloc[[1, 3, 4, 5]] <= 0.1).mean())
    assert np.mean(small) <= 0.1 + 3 * np.std(small) / np.sqrt(len(small))


def test_a_column_that_is_only_correlated_with_a_true_one_is_not_significant():
    rng = np.random.default_rng(1)
    Z = correlated(rng, 400, 2, correlation=0.8)
    target = Z[:, 0] + rng.normal(size=400)
    model = linear([0.5, 0.5])  # uses both
    assert by_feature(permutation_importance(model, Z, target, random_state=0))["low"]["x1"] > 0
    p = by_feature(holdout_p_values(model, Z, target, random_state=0))["p_value"]
    assert p["x0"] == 0.001
    assert p["x1"] > 0.05


@pytest.mark.parametrize("covariance", ["ledoit-wolf", "graphical-lasso"])
def test_the_strongest_features_have_the_smallest_p_values(models, covariance):
    table = holdout_p_values(
        models["linear"], X_out, y_out, X_fit=X_fit, covariance=covariance, n_draws=199, random_state=0
    )
    assert list(table.columns) == ["feature", "p_value", "p_holm"]
    assert set(table["feature"][:2]) == {"x0", "x2"}
    assert table["p_value"].is_monotonic_increasing
    assert table["p_value"][:2].tolist() == [1 / 200] * 2
    assert table["p_holm"][:2].tolist() == pytest.approx([6 / 200] * 2)


def test_p_values_are_adjusted_by_the_method_of_holm():
    p = np.array([0.04, 0.01, 1.0, 0.03])
    assert np.allclose(p_values._holm(p), [0.09, 0.04, 1, 0.09])


def test_a_group_of_redundant_columns_is_significant_where_each_alone_is_not():
    rng = np.random.default_rng(0)
    common = rng.normal(size=300)
    Z = np.column_stack([common, common, rng.normal(size=300)]) + 0.01 * rng.normal(size=(300, 3))
    target = common + rng.normal(size=300)
    model = Ridge().fit(Z[:150], target[:150])
    held = {"X": Z[150:], "y": target[150:], "X_fit": Z[:150], "n_draws": 99, "random_state": 0}
    alone = by_feature(holdout_p_values(model, **held))["p_value"]
    pair = holdout_p_values(model, **held, feature_groups={"twins": [0, 1], "other": [2]}).set_index("feature")
    assert (alone[["x0", "x1"]] > 0.05).all()
    assert pair["p_value"]["twins"] == 0.01


def test_a_column_that_the_model_ignores_is_not_found_by_rounding(rng):
    # A coefficient of exactly 0, which only the predictions show: where samples are stacked, these differ in their last bits.
    target = 1e3 * X[:, 0] + 1e-3 * rng.normal(size=220) + 1e5
    model = Lasso(alpha=10).fit(X_fit, target[:100])
    assert (model.coef_[1:] == 0).all()
    p = by_feature(holdout_p_values(model, X_out, target[100:], n_draws=99, random_state=0))["p_value"]
    assert (p[1:] == 1).all()
    assert p["x0"] == 0.01


def test_a_column_of_constants_only_has_no_distribution():
    ones = np.ones((20, 1))
    assert holdout_p_values(linear([1.0]), ones, np.arange(20.0))["p_value"].tolist() == [1]


def test_columns_with_few_values_are_named_in_a_warning():
    Z = X.copy()
    Z[:, 1] = np.sign(Z[:, 1])
    model = LinearRegression().fit(pd.DataFrame(Z[:100], columns=NAMES), y_fit)
    with pytest.warns(UserWarning, match=r"10 distinct values .* rough: gene 1$"):
        measured(holdout_p_values, model, pd.DataFrame(Z[100:], columns=NAMES))
    model.selected_ = np.arange(D) != 1
    measured(holdout_p_values, model, pd.DataFrame(Z[100:], columns=NAMES))  # it is not resampled
