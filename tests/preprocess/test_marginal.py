"""Screening of columns: a chance that means what it says, bent effects, strengths, and penalty weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from riata.preprocess import expansion
from riata.preprocess.marginal import as_counts, effective, measure, of_groups
from riata.preprocess.samples import penalty_weights

tables = np.random.default_rng(0)
N = 200
X = tables.normal(size=(N, 3))
ones = np.ones(N)


def test_the_chance_of_bins_is_that_of_an_analysis_of_variance(rng):
    """A target that a line cannot see: what is left is one-way analysis of variance on eight equal bins."""
    column = np.linspace(-1, 1, 80)
    target = np.abs(column)[:, None] + rng.normal(size=(80, 1))
    groups = np.split(target[:, 0], 8)
    chance = measure(column[:, None], target, np.ones(80)).p_values[0]
    assert chance == pytest.approx(min(1, 2 * f_oneway(*groups).pvalue))


def test_noise_shows_nothing(rng):
    """A chance below one in a hundred is seen about that often, or less: two tests are corrected for."""
    chances = [measure(rng.normal(size=(100, 50)), rng.normal(size=(100, 2)), np.ones(100)).p_values for _ in range(40)]
    assert np.mean(np.concatenate(chances) < 0.01) < 0.015
    assert np.mean(np.concatenate(chances) < 0.2) > 0.05


def test_penalty_weights_of_columns_go_from_one_with_a_clear_effect_to_two_without_any(rng):
    table = np.hstack([X, rng.normal(size=(N, 47))])
    found = measure(table, X[:, :1] + np.abs(X[:, 1:2]), ones).prices()
    assert found[:2].tolist() == [1, 1]
    assert np.median(found[2:]) > 1.6
    assert found.max() <= 2


def test_noise_has_a_larger_penalty_weight_where_columns_outnumber_samples(rng):
    few, many = (measure(rng.normal(size=(100, d)), rng.normal(size=(100, 1)), np.ones(100)) for d in (60, 200))
    assert few.prices().max() <= 2
    assert 4 < many.prices().max() <= 6


@pytest.mark.parametrize("constant", [1, 0.1, 1.1, 1 / 3, 1e300])
def test_a_constant_target_shows_nothing(constant):
    seen = measure(X, np.full((N, 1), constant), ones)
    assert (seen.p_values == 1).all()
    assert (seen.prices() == 2).all()
    pair = measure(X, np.column_stack([X[:, 0], np.full(N, constant)]), ones)
    assert pair.p_values[0] < 1e-10
    assert pair.p_values[1:].min() > 1e-4


def test_too_few_rows_show_nothing():
    assert (measure(X[:5], X[:5, :1], np.ones(5)).p_values == 1).all()


def test_columns_of_the_largest_numbers_are_judged_like_others():
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


def test_weights_stand_for_as_many_rows_as_they_count_or_kish_says():
    """Weights of a survey are no counts of rows that were seen."""
    assert effective(ones).sum() == N
    assert effective(WEIGHTS["counts"]).sum() == WEIGHTS["counts"].sum()
    for weights in (WEIGHTS["survey"], WEIGHTS["any"]):
        assert effective(weights).sum() == pytest.approx(weights.sum() ** 2 / np.square(weights).sum())


def test_weights_farther_apart_than_numbers_can_tell_stand_for_the_heaviest_rows():
    assert effective(np.array([1e300, 1e-300, 1e300, 0.0])).sum() == pytest.approx(2)


@given(st.lists(st.integers(0, 8), min_size=2, max_size=30).filter(lambda counts: sum(map(bool, counts)) > 1))
def test_as_counts_weights_are_the_smallest_whole_numbers_in_their_ratios(counts):
    weights = np.array(counts, dtype=float)
    assert as_counts(weights / 7).tolist() == (weights / np.gcd.reduce(counts)).tolist()


SIZE = np.where(np.arange(30) == 2, 4.0, 1.0)  # one column in four pieces


def screened(rng):
    """Column 0 is clear, the others are noise, and column 2 has four pieces."""
    table = np.hstack([X, rng.normal(size=(N, 27))])
    learnt = expansion.learn(table, ones, SIZE.astype(int))
    np.testing.assert_array_equal(learnt.size, SIZE)
    return table, measure(table, X[:, :1], ones)


def test_penalty_weights_go_from_the_root_of_the_number_of_columns_to_twice_it(rng):
    """A feature of p columns has √p with a clear effect, and up to 2p without any; p without screening."""
    _, seen = screened(rng)
    assert penalty_weights(SIZE, None).tolist() == SIZE.tolist()
    doubt = np.log2(seen.prices())  # from 0, a clear effect, to 1, none
    np.testing.assert_allclose(penalty_weights(SIZE, seen), np.sqrt(SIZE) * (2 * np.sqrt(SIZE)) ** doubt)
    assert penalty_weights(SIZE, seen)[0] == 1
    clear = seen._replace(chance=np.zeros(30))
    unseen = seen._replace(chance=np.ones(30))
    assert penalty_weights(SIZE, clear)[[1, 2]].tolist() == [1, 2]
    assert penalty_weights(SIZE, unseen)[[1, 2]].tolist() == [2, 8]


def test_a_group_has_one_penalty_weight_that_of_all_its_columns(rng):
    table, seen = screened(rng)
    ids = np.arange(30)
    ids[[10, 0]] = 1  # noise, and the clear column behind it
    ids[3] = 2
    _, ids = np.unique(ids, return_inverse=True)
    together = of_groups(seen, table, X[:, :1], ones, ids)
    found = penalty_weights(SIZE, together, ids)
    assert found[[0, 1, 10]].tolist() == [np.sqrt(3)] * 3
    assert found[2] == found[3] > np.sqrt(5)
    np.testing.assert_allclose(penalty_weights(SIZE, None, ids)[[2, 3]], 5)


def test_columns_that_show_nothing_alone_are_seen_together(rng):
    """Each of eight columns explains little, and their sum everything."""
    table = rng.normal(size=(100, 40))
    target = table[:, :8].sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(100, 1))
    ids = np.append(np.zeros(8, dtype=int), np.arange(1, 33))
    seen = measure(table, target, np.ones(100))
    together = of_groups(seen, table, target, np.ones(100), ids)
    assert together.p_values[0] < 1e-20 < seen.p_values[:8].min()
    np.testing.assert_array_equal(together.p_values[1:], seen.p_values[8:])  # groups of one are columns


def test_groups_of_noise_show_nothing(rng):
    ids = np.repeat(np.arange(10), 5)
    chances = []
    for _ in range(40):
        table, target = rng.normal(size=(100, 50)), rng.normal(size=(100, 2))
        chances.append(of_groups(measure(table, target, np.ones(100)), table, target, np.ones(100), ids).p_values)
    assert np.mean(np.concatenate(chances) < 0.05) < 0.075


def test_strength_is_the_share_of_variance_explained_beyond_noise(rng):
    """Of a target made of three independent columns and noise, each has its share, and other columns about none."""
    table = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(4000, 6))
    target = 2 * table[:, 0] + 2 * np.abs(table[:, 1]) + table[:, 2] + rng.normal(size=4000)
    strength = measure(table, target[:, None], np.ones(4000)).strength
    np.testing.assert_allclose(strength, np.array([4, 1, 1, 0, 0, 0]) / 7, atol=0.02)  # bins lose a 64th to a 16th
    noise = measure(rng.normal(size=(100, 200)), rng.normal(size=(100, 1)), np.ones(100)).strength
    assert noise.min() == 0 and noise.mean() < 0.03


def test_columns_are_bent_whose_effect_a_line_hardly_shows(rng):
    far = rng.normal(size=(800, 12))
    smooth = far[:, 0] ** 2 + far[:, 1] + np.exp(far[:, 2]) + 0.1 * rng.normal(size=800)
    assert np.flatnonzero(measure(far, smooth[:, None], np.ones(800)).nonlinear).tolist() == [0]
    classes = np.eye(3)[np.digitize(np.abs(far[:, 5]), [0.4, 1])]
    assert measure(far, classes, np.ones(800)).nonlinear[5]


def test_about_one_column_of_noise_is_taken_for_a_bent_one(rng):
    noise = [rng.normal(size=(300, 100)) for _ in range(20)]
    marked = [measure(table, rng.normal(size=(300, 1)), np.ones(300)).nonlinear.sum() for table in noise]
    assert 0.2 < np.mean(marked) < 2


def test_weights_count_rows_when_columns_are_judged(rng):
    counts = rng.integers(1, 3, size=N)
    target = np.abs(X[:, :1]) + 0.5 * rng.normal(size=(N, 1))
    rows = np.repeat(np.arange(N), counts)
    one, other = measure(X, target, counts.astype(float)), measure(X[rows], target[rows], np.ones(len(rows)))
    assert np.array_equal(one.nonlinear, other.nonlinear)
    np.testing.assert_allclose(one.p_values, other.p_values)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_effects_do_not_depend_on_units(unit):
    target = np.abs(X[:, :1]) + X[:, 1:2]
    near, far = measure(X, target, ones), measure(X * unit, target * unit, ones)
    assert np.array_equal(near.nonlinear, far.nonlinear)
    np.testing.assert_allclose(near.p_values, far.p_values)


def test_binary_constant_and_tied_columns_are_never_bent():
    table = np.column_stack([X[:, 0] > 0, np.zeros(N), np.ones(N)])
    assert not measure(table, (X[:, :1] > 0).astype(float), ones).nonlinear.any()
