"""Stability selection: complementary halves, frequencies along the path, and bounds that hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import LassoNetClassifier, LassoNetRegressor, StabilitySelector
from riata.evidence import bounds, halves
from riata.evidence.stability import _ranks
from tests.conftest import with_training

QUICK = with_training(hidden_dims=(4,), path_multiplier=1.3)
NONE_TAKEN = pytest.mark.filterwarnings("ignore:no feature was taken:UserWarning")

# Bounds.


@pytest.mark.parametrize("q, tau, p, B, by_hand", [(10, 0.6, 100, 50, 100 / 20), (30, 0.9, 1000, 25, 0.9 / 0.8)])
def test_without_assumptions_the_bound_is_q_theta_over_two_tau_minus_one(q, tau, p, B, by_hand):
    assert bounds.false_selections(q, tau, p, B, "none") == pytest.approx(by_hand)


def test_the_unimodal_bound_is_that_of_the_theorem():
    at_three_quarters = 1 / (2 * (0.5 - 1 / 100)) * 100 / 100  # θ = 1/10, q = 10, B = 50
    assert bounds.false_selections(10, 0.75, 100, 50, "unimodal") == pytest.approx(at_three_quarters)
    assert bounds.false_selections(10, 0.9, 100, 50, "unimodal") == pytest.approx(4 * (0.1 + 0.01) / 1.02)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(q=st.integers(1, 30), taken=st.integers(13, 20), p=st.integers(50, 500))
def test_stronger_assumptions_lower_the_bound_and_more_features_taken_raise_it(q, taken, p):
    tau = taken / 20
    found = [bounds.false_selections(q, tau, p, 10, assumption) for assumption in bounds.ASSUMPTIONS]
    assert found[0] >= found[1] - 1e-9
    assert found[0] >= found[2] - 1e-9
    for assumption in bounds.ASSUMPTIONS:
        assert bounds.false_selections(q + 1, tau, p, 10, assumption) >= bounds.false_selections(
            q, tau, p, 10, assumption
        )


@pytest.mark.parametrize("mean, t, B, r", [(0.05, 10, 25, -1 / 2), (0.2, 30, 50, -1 / 4), (0.01, 3, 20, -1 / 2)])
def test_no_r_concave_distribution_exceeds_the_tail_bound(mean, t, B, r):
    """Such distributions are f = g^(1/r) for a convex g: many are drawn, and scaled to the allowed mean."""
    rng = np.random.default_rng(0)
    bound, highest = bounds._tail(mean, t, B, r), 0.0
    for _ in range(3000):
        k = rng.integers(t, B + 1)
        rise = np.sort(rng.exponential(size=k) * rng.choice([0, 1], size=k)) + rng.exponential() * rng.choice([0, 1])
        shape = np.append(0, np.cumsum(rise))
        low, high = 1e-9, 1e9
        for _ in range(60):  # the flatter, the higher the mean
            a = np.sqrt(low * high)
            f = (a + shape) ** (1 / r)
            f /= f.sum()
            low, high = (a, high) if np.arange(k + 1) @ f <= mean * B else (low, a)
        if np.arange(k + 1) @ f <= mean * B * (1 + 1e-6):
            highest = max(highest, f[t:].sum())
    assert 0.8 * bound < highest <= bound * (1 + 1e-4)


@pytest.mark.parametrize("assumption", bounds.ASSUMPTIONS)
def test_numbers_and_thresholds_are_the_best_that_keep_the_bound(assumption):
    p, B = 200, 25
    q = bounds.largest_number(2.0, 0.8, p, B, assumption)
    assert (
        bounds.false_selections(q, 0.8, p, B, assumption) <= 2 < bounds.false_selections(q + 1, 0.8, p, B, assumption)
    )
    tau = bounds.smallest_threshold(2.0, 12, p, B, assumption)
    assert bounds.false_selections(12, tau, p, B, assumption) <= 2
    assert tau == 0.52 or bounds.false_selections(12, tau - 1 / 50, p, B, assumption) > 2
    assert bounds.smallest_threshold(1e-9, 100, p, B, assumption) is None


# Halves.


def test_halves_are_complementary_and_of_one_size():
    units, strata = halves.sampling_units(41, None, None)
    for seed in range(20):
        one, other = halves.complementary(units, strata, np.random.default_rng(seed))
        assert sorted([*one, *other]) == list(range(41))
        assert abs(len(one) - len(other)) == 1


def test_halves_keep_the_shares_of_classes():
    y = np.repeat([0, 1, 2], [31, 9, 5])
    units, strata = halves.sampling_units(45, y, None)
    for seed in range(20):
        pair = halves.complementary(units, strata, np.random.default_rng(seed))
        counts = np.array([np.bincount(y[half], minlength=3) for half in pair])
        assert np.abs(counts[0] - counts[1]).max() == 1
        assert abs(len(pair[0]) - len(pair[1])) == 1


def test_samples_of_one_group_go_to_one_half():
    patients = np.array(list("aabbbccccddeff"))
    units, strata = halves.sampling_units(14, None, patients)
    one, other = halves.complementary(units, strata, np.random.default_rng(0))
    assert not set(patients[one]) & set(patients[other])
    assert len(one) + len(other) == 14


# The selector.


@pytest.fixture(scope="module")
def table():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 10))
    return X.assign(**{f"noise_{j}": column for j, column in enumerate(noise.T)}), y


@pytest.fixture(scope="module")
def fitted(table):
    return StabilitySelector(LassoNetRegressor(**QUICK), n_resamples=10, random_state=0).fit(*table)


def test_frequencies_count_the_halves_that_take_a_feature(fitted, table):
    path = fitted.path_frequencies_.to_numpy()
    assert path.shape == (20, 20)
    np.testing.assert_allclose(path.sum(axis=1), np.arange(1, 21))  # k are taken from every half
    assert (np.diff(path, axis=0) >= 0).all()
    np.testing.assert_array_equal(fitted.frequencies_, path[fitted.n_features_taken_ - 1])
    np.testing.assert_allclose(fitted.frequencies_ * 10, np.round(fitted.frequencies_ * 10))
    assert list(fitted.path_frequencies_.columns) == list(table[0].columns)


def test_selected_are_those_taken_often_enough(fitted, table):
    np.testing.assert_array_equal(fitted.selected_, fitted.frequencies_ >= fitted.threshold_)
    assert {"bmi", "s5"} <= set(fitted.get_feature_names_out())
    assert not any(name.startswith("noise") for name in fitted.get_feature_names_out())
    assert fitted.transform(table[0]).shape == (442, fitted.n_selected_)
    assert fitted.false_bound_ <= 1


@NONE_TAKEN
def test_of_threshold_number_and_bound_each_follows_from_the_others(table):
    lasso = Lasso(alpha=0.1)
    both = StabilitySelector(lasso, n_features=5, threshold=0.9, n_resamples=10, random_state=0).fit(*table)
    assert both.false_bound_ == bounds.false_selections(5, 0.9, 20, 5, "r-concave")
    number = StabilitySelector(lasso, max_false=2, threshold=0.9, n_resamples=10, random_state=0).fit(*table)
    assert number.n_features_taken_ == bounds.largest_number(2, 0.9, 20, 5, "r-concave")
    threshold = StabilitySelector(lasso, max_false=2, n_features=4, n_resamples=10, random_state=0).fit(*table)
    assert threshold.threshold_ == bounds.smallest_threshold(2, 4, 20, 5, "r-concave")
    careful = StabilitySelector(lasso, max_false=2, n_resamples=10, assumption="none", random_state=0).fit(*table)
    assert careful.n_features_taken_ < bounds.largest_number(2, 0.75, 20, 5, "r-concave")


def test_the_same_seed_gives_the_same_frequencies(table, fitted):
    second = StabilitySelector(LassoNetRegressor(**QUICK, random_state=7), n_resamples=10, random_state=0).fit(*table)
    pd.testing.assert_frame_equal(fitted.path_frequencies_, second.path_frequencies_)
    other = StabilitySelector(LassoNetRegressor(**QUICK), n_resamples=10, random_state=1).fit(*table)
    assert not fitted.path_frequencies_.equals(other.path_frequencies_)


def test_a_frequency_is_that_of_separate_fits(table):
    """Every half is a plain fit of the estimator on its samples."""
    X, y = table
    selector = StabilitySelector(Lasso(alpha=0.5), n_features=3, threshold=0.9, n_resamples=6, random_state=3).fit(X, y)
    rng = np.random.default_rng(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    units, strata = halves.sampling_units(len(X), None, None)
    taken = np.zeros(20)
    for _ in range(3):
        for half in halves.complementary(units, strata, rng):
            size = np.abs(Lasso(alpha=0.5).fit(X.iloc[half], y.iloc[half]).coef_)
            taken[np.argsort(-size)[:3]] += size[np.argsort(-size)[:3]] > 0
    np.testing.assert_allclose(selector.frequencies_, taken / 6)


def test_features_of_importance_zero_are_never_taken():
    rng = np.random.default_rng(0)
    ranks = _ranks(np.array([0.0, 3.0, 0.0, 1.0]), np.arange(4), rng)
    assert ranks.tolist() == [4, 0, 4, 1]
    assert _ranks(np.array([0.0, 3.0, 0.0, 1.0]), np.array([0, 0, 1, 2]), rng).tolist() == [0, 3, 1]
    firsts = [_ranks(np.ones(4), np.arange(4), rng).argmin() for _ in range(100)]
    assert set(firsts) == {0, 1, 2, 3}  # ties are broken at random


def test_a_constant_column_is_never_taken(table):
    X, y = table
    few = X[["bmi", "s5", "bp"]].assign(constant=1.0)
    selector = StabilitySelector(LassoNetRegressor(**QUICK), n_features=4, threshold=0.9, n_resamples=4, random_state=0)
    assert selector.fit(few, y).frequencies_[3] == 0


def test_columns_of_one_group_are_taken_together(table):
    X, y = table
    groups = [
        ["bmi", "noise_0", "noise_1"],
        *([name] for name in X.columns if name not in ("bmi", "noise_0", "noise_1")),
    ]
    estimator = LassoNetRegressor(**QUICK, feature_groups=groups)
    selector = StabilitySelector(estimator, n_features=3, threshold=0.6, n_resamples=6, random_state=0).fit(X, y)
    assert selector.path_frequencies_.shape == (18, 20)
    selected = pd.Series(selector.selected_, X.columns)
    assert selected["bmi"] and selected["noise_0"] and selected["noise_1"]
    by_name = StabilitySelector(
        Lasso(alpha=0.1), feature_groups=groups, n_features=3, threshold=0.6, n_resamples=6, random_state=0
    )
    assert by_name.fit(X, y).get_support()[X.columns.get_loc("noise_0")]


@pytest.mark.parametrize(
    "estimator",
    [
        LassoNetClassifier(**QUICK),
        RandomForestClassifier(n_estimators=10),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["lassonet", "forest", "pipeline"],
)
def test_any_estimator_with_importances_can_be_used(estimator):
    X, y = load_wine(return_X_y=True)
    selector = StabilitySelector(estimator, n_features=4, threshold=0.6, n_resamples=4, random_state=0)
    assert 1 <= selector.fit(X, y, groups=np.arange(len(y)) // 2).n_selected_ <= 6


@NONE_TAKEN
def test_false_selections_stay_under_the_bound_on_average():
    """Independent columns, a few of them true: noise is taken no more often than by chance."""
    false = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 50))
        y = X[:, :5].sum(axis=1) + 2 * rng.normal(size=100)
        selector = StabilitySelector(Lasso(alpha=0.05), max_false=1.5, n_resamples=20, random_state=seed).fit(X, y)
        false.append(selector.selected_[5:].sum())
        assert selector.n_features_taken_ > 5  # noise is taken from some halves
    assert np.mean(false) <= 1.5


def test_a_warning_says_that_nothing_is_stable():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    with pytest.warns(UserWarning, match=r"no feature was taken from 75% of the halves"):
        selector = StabilitySelector(Lasso(alpha=0.01), n_resamples=20, random_state=0).fit(X, y)
    assert not selector.selected_.any()


class Plain(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    "params, message",
    [
        ({"n_resamples": 5}, "even"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"max_false": 0}, "max_false"),
        ({"max_false": 1e-6}, "max_false"),
        ({"threshold": 0.5}, "threshold"),
        ({"threshold": 1.2}, "threshold"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": 21}, "exceeds the 20"),
        ({"n_features": 20}, "cannot be kept with n_features=20"),
        ({"assumption": "hope"}, "assumption"),
        ({"feature_groups": [0, 1]}, "groups"),
        ({"estimator": Plain()}, "neither feature_importances_ nor coef_"),
    ],
)
def test_bad_settings_are_refused(table, params, message):
    with pytest.raises(ValueError, match=message):
        StabilitySelector(**{"estimator": Lasso(), "n_resamples": 10, **params}).fit(*table)


def test_bad_tables_are_refused(table):
    X, y = table
    selector = StabilitySelector(LassoCV(), n_resamples=4, max_false=5)
    with pytest.raises(ValueError, match="NaN"):
        selector.fit(X.assign(bmi=np.nan), y)
    with pytest.raises(ValueError, match="at least 4 groups"):
        selector.fit(X, y, groups=np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="missing entries"):
        selector.fit(X, y, groups=np.where(np.arange(len(y)) < 9, np.nan, np.arange(len(y))))
    with pytest.raises(ValueError, match="one entry for each of the 442 samples"):
        selector.fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="takes no sample_weight"):
        StabilitySelector(make_pipeline(Lasso()), n_resamples=4, max_false=5).fit(X, y, np.ones(len(y)))
    weighted = StabilitySelector(Lasso(alpha=0.5), n_features=2, threshold=0.6, n_resamples=4, random_state=0)
    assert weighted.fit(X, y, np.ones(len(y))).n_selected_ == weighted.fit(X, y).n_selected_


def test_noise_with_many_levels_is_taken_no_more_often_than_noise_in_numbers():
    """On the path alone, a hundred levels of noise leave after nine columns of noise on nearly every half."""
    frequencies = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.standard_normal((300, 11)), columns=list("abcdefghijk"))
        X["town"] = [f"T{i}" for i in rng.integers(0, 100, 300)]
        y = 2 * X["a"] + X["b"] + rng.standard_normal(300)
        selector = StabilitySelector(
            LassoNetRegressor(**with_training(hidden_dims=(10,), path_multiplier=1.2)), n_features=3, n_resamples=10
        )
        found = selector.set_params(random_state=seed).fit(X, y).frequencies_
        assert found[:2].tolist() == [1, 1]
        frequencies.append(found[-1])
    assert np.mean(frequencies) < 0.5
