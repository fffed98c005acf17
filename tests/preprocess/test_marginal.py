"""Marginal associations: p-values at their nominal level, nonlinear effects, and strengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from riata.preprocess.marginal import as_counts, effective, measure, of_groups

tables = np.random.default_rng(0)
N = 200
X = tables.normal(size=(N, 3))
ones = np.ones(N)


def test_the_p_value_of_bins_is_that_of_an_analysis_of_variance(rng):
    """A target without a linear part: what is left is one-way analysis of variance on eight equal bins."""
    column = np.linspace(-1, 1, 80)
    target = np.abs(column)[:, None] + rng.normal(size=(80, 1))
    groups = np.split(target[:, 0], 8)
    p_value = measure(column[:, None], target, np.ones(80)).p_values[0]
    assert p_value == pytest.approx(min(1, 2 * f_oneway(*groups).pvalue))


def test_p_values_of_noise_are_at_their_nominal_level_or_above(rng):
    """About one in a hundred is below 0.01, or fewer: two tests are corrected for."""
    tables = ((rng.normal(size=(100, 50)), rng.normal(size=(100, 2))) for _ in range(40))
    p_values = np.concatenate([measure(table, target, np.ones(100)).p_values for table, target in tables])
    assert np.mean(p_values < 0.01) < 0.015
    assert np.mean(p_values < 0.2) > 0.05


@pytest.mark.parametrize("constant", [1, 0.1, 1.1, 1 / 3, 1e300])
def test_nothing_is_associated_with_a_constant_target(constant):
    found = measure(X, np.full((N, 1), constant), ones)
    assert (found.p_values == 1).all()
    pair = measure(X, np.column_stack([X[:, 0], np.full(N, constant)]), ones)
    assert pair.p_values[0] < 1e-10
    assert pair.p_values[1:].min() > 1e-4


def test_too_few_samples_have_no_associations():
    assert (measure(X[:5], X[:5, :1], np.ones(5)).p_values == 1).all()


def test_columns_of_the_largest_numbers_are_tested_like_others():
    far = X.copy()
    far[:, 0] = np.where(X[:, 0] > 0, 1, -1) * np.finfo(float).max
    assert np.isfinite(measure(far, X[:, :1], ones).p_values).all()


FACTORS = [1e-3, 0.3, 1000, 1000.5, np.pi, np.float32(0.1), 1e300]
WEIGHTS = {
    "equal": ones,
    "counts": tables.integers(0, 5, size=N).astype(float),
    "survey": tables.integers(900, 60_000, size=N).astype(float),
    "any": tables.uniform(0.1, 3, size=N),
}


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_a_factor_common_to_all_weights_changes_nothing(weights, factor):
    np.testing.assert_allclose(effective(weights * factor), effective(weights), rtol=1e-12)


def test_weights_stand_for_as_many_samples_as_they_count_or_for_the_effective_number_of_kish():
    """Weights of a survey are no counts of observed samples."""
    assert effective(ones).sum() == N
    assert effective(WEIGHTS["counts"]).sum() == WEIGHTS["counts"].sum()
    for weights in (WEIGHTS["survey"], WEIGHTS["any"]):
        assert effective(weights).sum() == pytest.approx(weights.sum() ** 2 / np.square(weights).sum())


def test_weights_farther_apart_than_floats_can_add_stand_for_the_heaviest_samples():
    assert effective(np.array([1e300, 1e-300, 1e300, 0.0])).sum() == pytest.approx(2)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=30).filter(lambda counts: sum(map(bool, counts)) > 1))
def test_as_counts_weights_are_the_smallest_whole_numbers_in_their_ratios(counts):
    weights = np.array(counts, dtype=float)
    assert as_counts(weights / 7).tolist() == (weights / np.gcd.reduce(counts)).tolist()


def test_columns_without_clear_associations_have_a_clear_one_as_a_group(rng):
    """Each of eight columns explains little, and their sum everything."""
    table = rng.normal(size=(100, 40))
    target = table[:, :8].sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(100, 1))
    ids = np.append(np.zeros(8, dtype=int), np.arange(1, 33))
    alone = measure(table, target, np.ones(100))
    together = of_groups(alone, table, target, np.ones(100), ids)
    assert together.p_values[0] < 1e-20 < alone.p_values[:8].min()
    np.testing.assert_array_equal(together.p_values[1:], alone.p_values[8:])  # groups of one are columns


def test_p_values_of_groups_of_noise_are_at_their_nominal_level_or_above(rng):
    ids = np.repeat(np.arange(10), 5)
    p_values = []
    for _ in range(40):
        table, target = rng.normal(size=(100, 50)), rng.normal(size=(100, 2))
        p_values.append(of_groups(measure(table, target, np.ones(100)), table, target, np.ones(100), ids).p_values)
    assert np.mean(np.concatenate(p_values) < 0.05) < 0.075


def test_strength_is_the_share_of_variance_explained_beyond_noise(rng):
    """Of a target made of three independent columns and noise, each has its share, and other columns about none."""
    table = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(4000, 6))
    target = 2 * table[:, 0] + 2 * np.abs(table[:, 1]) + table[:, 2] + rng.normal(size=4000)
    strength = measure(table, target[:, None], np.ones(4000)).strength
    np.testing.assert_allclose(strength, np.array([4, 1, 1, 0, 0, 0]) / 7, atol=0.02)  # bins lose a 64th to a 16th
    noise = measure(rng.normal(size=(100, 200)), rng.normal(size=(100, 1)), np.ones(100)).strength
    assert noise.min() == 0 and noise.mean() < 0.03


def test_columns_are_nonlinear_whose_effect_a_straight_line_hardly_explains(rng):
    far = rng.normal(size=(800, 12))
    smooth = far[:, 0] ** 2 + far[:, 1] + np.exp(far[:, 2]) + 0.1 * rng.normal(size=800)
    assert np.flatnonzero(measure(far, smooth[:, None], np.ones(800)).nonlinear).tolist() == [0]
    classes = np.eye(3)[np.digitize(np.abs(far[:, 5]), [0.4, 1])]
    assert measure(far, classes, np.ones(800)).nonlinear[5]


def test_about_one_column_of_noise_is_taken_for_a_nonlinear_one(rng):
    noise = [rng.normal(size=(300, 100)) for _ in range(20)]
    marked = [measure(table, rng.normal(size=(300, 1)), np.ones(300)).nonlinear.sum() for table in noise]
    assert 0.2 < np.mean(marked) < 2


def test_weights_count_samples_when_columns_are_tested(rng):
    counts = rng.integers(1, 3, size=N)
    target = np.abs(X[:, :1]) + 0.5 * rng.normal(size=(N, 1))
    rows = np.repeat(np.arange(N), counts)
    one, other = measure(X, target, counts.astype(float)), measure(X[rows], target[rows], np.ones(len(rows)))
    assert np.array_equal(one.nonlinear, other.nonlinear)
    np.testing.assert_allclose(one.p_values, other.p_values)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_associations_do_not_depend_on_units(unit):
    target = np.abs(X[:, :1]) + X[:, 1:2]
    near, far = measure(X, target, ones), measure(X * unit, target * unit, ones)
    assert np.array_equal(near.nonlinear, far.nonlinear)
    np.testing.assert_allclose(near.p_values, far.p_values)


def test_binary_constant_and_tied_columns_are_never_nonlinear():
    table = np.column_stack([X[:, 0] > 0, np.zeros(N), np.ones(N)])
    assert not measure(table, (X[:, :1] > 0).astype(float), ones).nonlinear.any()
