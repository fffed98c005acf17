"""What is not associated with the target does not change the selection: outliers, skew, units, copies, constants, gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from riata import LassoNetClassifier, LassoNetRegressor
from tests.conftest import with_training

RELEVANT = {0, 1, 2, 3, 4}


def friedman(seed, n=1500, d=10):
    """Five relevant columns: a product of two, a parabola of one, and two linear ones."""
    draw = np.random.default_rng(seed)
    X = draw.uniform(size=(n, d))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, signal + draw.normal(size=n)


def selected(X, y, **fit):
    return set(np.flatnonzero(LassoNetRegressor(random_state=0).fit(X, y, **fit).selected_))


def outlier(size):
    def spoil(X):
        X = X.copy()
        X[7, 3] += size * X[:, 3].std()
        return X

    return spoil


NUISANCES = {
    "an outlier of 20 standard deviations": outlier(20),
    "an outlier of 100": outlier(100),
    "an outlier of a billion": outlier(1e9),
    "lognormal columns": lambda X: np.exp(norm.ppf(X)),
    "columns with the tails of t with 2 degrees of freedom": lambda X: t.ppf(X, 2),
    "another unit for each column": lambda X: X * 10.0 ** np.arange(-6, 14, 2),
    "a large offset": lambda X: X + 1e6,
    "constant columns": lambda X: np.hstack([X, np.full((len(X), 10), 3.0)]),
    "single precision": lambda X: X.astype(np.float32),
}


@pytest.mark.parametrize("nuisance", NUISANCES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_relevant_columns_are_selected_whatever_the_nuisance(seed, nuisance):
    X, y = friedman(seed)
    assert selected(NUISANCES[nuisance](X), y) == RELEVANT


@pytest.mark.parametrize("seed", [0, 1])
def test_of_a_column_and_its_copy_one_is_selected(seed):
    X, y = friedman(seed)
    found = selected(np.hstack([X, X]), y)
    assert len(found) == 5
    assert {j % 10 for j in found} == RELEVANT


@pytest.mark.parametrize("factor", [1000, 1e-3, 7.3])
def test_a_factor_on_all_weights_changes_nothing(factor):
    X, y = friedman(0, n=600)
    weights = np.random.default_rng(0).integers(1, 4, size=600).astype(float)
    one, other = (
        LassoNetRegressor(**with_training(random_state=0, path_multiplier=1.1)).fit(X, y, w)
        for w in (weights, factor * weights)
    )
    assert np.array_equal(one.selected_, other.selected_)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-3, atol=0.05)


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_the_order_of_the_columns_does_not_matter(order):
    X, y = friedman(2)
    permutation = np.arange(10)[::-1] if order == "reversed" else np.random.default_rng(0).permutation(10)
    assert {int(permutation[j]) for j in selected(X[:, permutation], y)} == RELEVANT


@pytest.mark.parametrize("how", ["at random", "large values"])
def test_gaps_do_not_hide_the_relevant_columns(how, rng):
    X, y = friedman(3, n=3000)
    gaps = rng.random(X.shape) < 0.2 if how == "at random" else (X > 0.8) & (rng.random(X.shape) < 0.9)
    assert selected(np.where(gaps, np.nan, X), y) == RELEVANT


def test_a_gap_is_information_of_its_feature_and_never_a_feature_of_its_own(rng):
    X = rng.normal(size=(1000, 6))
    gaps = rng.random(1000) < 0.3
    y = 2.0 * gaps + X[:, 1] + 0.3 * rng.normal(size=1000)
    X[gaps, 0] = np.nan
    model = LassoNetRegressor(random_state=0).fit(X, y)
    assert set(np.flatnonzero(model.selected_)) == {0, 1}
    assert len(model.selected_) == len(model.feature_importances_) == 6
    assert model.transform(X).shape == (1000, 2)
    assert model.predict(X[gaps]).mean() - model.predict(X[~gaps]).mean() == pytest.approx(2, abs=0.2)


def test_pandas_na_is_missing_and_infinity_an_error(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[:9, "b"] = np.nan
    known = LassoNetClassifier(random_state=0).fit(frame, y)
    as_na = frame.astype({"b": "Float64"})
    assert as_na["b"].isna().sum() == 10
    np.testing.assert_array_equal(
        known.predict_proba(frame), LassoNetClassifier(random_state=0).fit(as_na, y).predict_proba(as_na)
    )
    with pytest.raises(ValueError, match=r"missing|NaN"):
        LassoNetClassifier(missing="error").fit(frame, y)
    frame.loc[0, "a"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        LassoNetClassifier().fit(frame, y)


def test_a_gap_in_a_column_that_had_none_counts_as_its_mean(rng):
    X = rng.normal(size=(400, 3))
    model = LassoNetRegressor(random_state=0).fit(X, X[:, 0] + 0.1 * rng.normal(size=400))
    new = X[:5].copy()
    new[:, 0] = np.nan
    assert np.isfinite(model.predict(new)).all()
    assert np.ptp(model.predict(new)) < 0.5


def test_an_outlier_in_a_new_sample_does_not_give_a_huge_prediction(rng):
    X, y = friedman(4)
    model = LassoNetRegressor(random_state=0).fit(X, y)
    far = X[:10].copy()
    far[:, 3] = 1e12
    assert np.abs(model.predict(far)).max() < 10 * np.abs(y).max()


@pytest.mark.parametrize("seed", [0, 1])
def test_groups_of_noise_are_dropped_whatever_their_size_and_relevant_groups_selected(seed):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(1000, 65))
    y = X[:, :3].sum(axis=1) + draw.normal(size=1000)
    ids = [0, 1, 2, 3, 4] + [5] * 30 + [6] * 30
    model = LassoNetRegressor(feature_groups=ids, random_state=seed).fit(X, y)
    assert set(np.flatnonzero(model.selected_)) == {0, 1, 2}
    slopes = draw.normal(size=30)
    y = X[:, 5:35] @ slopes * 1.5 / np.linalg.norm(slopes) + draw.normal(size=1000)
    few = X[:, :35]
    model = LassoNetRegressor(feature_groups=ids[:35], random_state=seed).fit(few, y)
    assert set(np.flatnonzero(model.selected_)) == set(range(5, 35))


def test_redundant_features_come_before_noise_and_are_named_as_alternatives(rng):
    X = rng.normal(size=(800, 30))
    X[:, 1] = X[:, 0] + 0.8 * rng.normal(size=800)
    y = 2 * X[:, 0] + 2 * np.abs(X[:, 2]) + 0.5 * rng.normal(size=800)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(30)])
    model = LassoNetRegressor(n_features_to_select=2, random_state=0).fit(frame, y)
    assert list(model.get_feature_names_out()) == ["x0", "x2"]
    assert set(np.argsort(-model.feature_importances_)[:3]) == {0, 1, 2}
    assert np.argsort(-model.feature_importances_)[2] == 1
    others = model.alternatives_
    assert others["feature"].tolist() == ["x0"] and others["alternative"].tolist() == ["x1"]
    assert others["r2"][0] == pytest.approx(np.corrcoef(X[:, 0], X[:, 1])[0, 1] ** 2, abs=0.1)


def test_chance_makes_no_alternatives_whatever_the_number_of_levels(rng):
    """Thirty random levels explain a tenth of the variance of any column of 300 samples, and a quarter of that of 120."""
    for n in (120, 300):
        x = rng.normal(size=n)
        columns = {"x": x, "doctor": rng.integers(0, 30, n).astype(str), "weak": x + 2.5 * rng.normal(size=n)}
        columns["close"] = pd.cut(x, 30, labels=False).astype(str)
        model = LassoNetRegressor(n_features_to_select=1, random_state=0).fit(pd.DataFrame(columns), x)
        found = model.alternatives_
        assert set(found["feature"]) | set(found["alternative"]) == {"x", "close"}
        assert found["r2"][0] > 0.7  # of a column cut into pieces, from the pieces


def test_after_the_selected_feature_come_those_that_add_to_it_then_copies_and_nonlinear_effects_then_noise(rng):
    """The copy of a strong feature explains more by itself than an independent weak one, but nothing beside its original."""
    n = 2000
    X = rng.normal(size=(n, 20))
    X[:, 1] = (X[:, 0] + rng.normal(size=n)) / np.sqrt(2)
    y = 4 * X[:, 0] + X[:, 2] + 3 * np.abs(X[:, 3]) + rng.normal(size=n)
    for sign in (1, -1):
        model = LassoNetRegressor(n_features_to_select=1, random_state=0).fit(sign * X, y)
        assert np.flatnonzero(model.selected_).tolist() == [0]
        order = np.argsort(-model.feature_importances_)
        assert order[1] == 2
        assert set(order[2:4]) == {1, 3}


def test_more_samples_do_not_select_more_columns():
    for n in (1_000, 8_000):
        draw = np.random.default_rng(n)
        X = draw.normal(size=(n, 40))
        y = 2 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + draw.normal(size=n)
        found = selected(X, y)
        assert {0, 1, 2, 3} <= found
        assert len(found) <= 5
