"""What columns show by themselves: a chance that means what it says, bent effects, and prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f_oneway

from riata import embedding
from riata.effects import as_counts, effective, measure
from riata.estimators.prepare import prices

tables = np.random.default_rng(0)
N = 200
X = tables.normal(size=(N, 3))
ones = np.ones(N)


def test_the_chance_of_bins_is_that_of_an_analysis_of_variance(rng):
    """A target that a line cannot see: what is left is one-way analysis of variance on eight equal bins."""
    column = np.linspace(-1, 1, 80)
    target = np.abs(column)[:, None] + rng.normal(size=(80, 1))
    groups = np.split(target[:, 0], 8)
    chance = measure(column[:, None], target, np.ones(80)).chance[0]
    assert chance == pytest.approx(min(1, 2 * f_oneway(*groups).pvalue))


def test_noise_shows_nothing(rng):
    """A chance below one in a hundred is seen about that often, or less: two tests are corrected for."""
    chances = [measure(rng.normal(size=(100, 50)), rng.normal(size=(100, 2)), np.ones(100)).chance for _ in range(40)]
    assert np.mean(np.concatenate(chances) < 0.01) < 0.015
    assert np.mean(np.concatenate(chances) < 0.2) > 0.05


def test_prices_go_from_one_with_a_clear_effect_to_two_without_any(rng):
    table = np.hstack([X, rng.normal(size=(N, 47))])
    prices = measure(table, X[:, :1] + np.abs(X[:, 1:2]), ones).prices()
    assert prices[:2].tolist() == [1, 1]
    assert np.median(prices[2:]) > 1.6
    assert prices.max() <= 2


def test_noise_is_dearer_where_columns_outnumber_rows(rng):
    few, many = (measure(rng.normal(size=(100, d)), rng.normal(size=(100, 1)), np.ones(100)) for d in (60, 200))
    assert few.prices().max() <= 2
    assert 4 < many.prices().max() <= 6


@pytest.mark.parametrize("constant", [1, 0.1, 1.1, 1 / 3, 1e300])
def test_a_constant_target_shows_nothing(constant):
    seen = measure(X, np.full((N, 1), constant), ones)
    assert (seen.chance == 1).all()
    assert (seen.prices() == 2).all()
    pair = measure(X, np.column_stack([X[:, 0], np.full(N, constant)]), ones)
    assert pair.chance[0] < 1e-10
    assert pair.chance[1:].min() > 1e-4


def test_too_few_rows_show_nothing():
    assert (measure(X[:5], X[:5, :1], np.ones(5)).chance == 1).all()


def test_columns_of_the_largest_numbers_are_judged_like_others():
    far = X.copy()
    far[:, 0] = np.where(X[:, 0] > 0, 1, -1) * np.finfo(float).max
    assert np.isfinite(measure(far, X[:, :1], ones).chance).all()


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


def test_a_group_has_one_price_that_of_its_clearest_feature_times_its_mean_number_of_pieces(rng):
    table = np.hstack([X, rng.normal(size=(N, 27))])
    seen = measure(table, X[:, :1], ones)
    pieces = embedding.learn(table, ones, 4, np.arange(30) == 2)  # one column in four pieces
    groups = np.arange(30)
    groups[[10, 0]] = 1  # noise, and the clear column behind it
    groups[3] = 2
    _, groups = np.unique(groups, return_inverse=True)
    alone, together = prices(pieces, seen, None), prices(pieces, seen, groups)
    assert alone[0] == 1 < alone[10]
    assert together[[0, 1, 10]].tolist() == [1, 1, 1]
    assert alone[2] == pytest.approx(4 * seen.prices()[2])
    assert together[2] == together[3] == pytest.approx(2.5 * seen.prices()[2:4].min())
    assert prices(pieces, None, None)[:4].tolist() == [1, 1, 4, 1]


def test_columns_are_bent_whose_effect_a_line_hardly_shows(rng):
    far = rng.normal(size=(800, 12))
    smooth = far[:, 0] ** 2 + far[:, 1] + np.exp(far[:, 2]) + 0.1 * rng.normal(size=800)
    assert np.flatnonzero(measure(far, smooth[:, None], np.ones(800)).bent).tolist() == [0]
    classes = np.eye(3)[np.digitize(np.abs(far[:, 5]), [0.4, 1])]
    assert measure(far, classes, np.ones(800)).bent[5]


def test_about_one_column_of_noise_is_taken_for_a_bent_one(rng):
    noise = [rng.normal(size=(300, 100)) for _ in range(20)]
    marked = [measure(table, rng.normal(size=(300, 1)), np.ones(300)).bent.sum() for table in noise]
    assert 0.2 < np.mean(marked) < 2


def test_weights_count_rows_when_columns_are_judged(rng):
    counts = rng.integers(1, 3, size=N)
    target = np.abs(X[:, :1]) + 0.5 * rng.normal(size=(N, 1))
    rows = np.repeat(np.arange(N), counts)
    one, other = measure(X, target, counts.astype(float)), measure(X[rows], target[rows], np.ones(len(rows)))
    assert np.array_equal(one.bent, other.bent)
    np.testing.assert_allclose(one.chance, other.chance)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_effects_do_not_depend_on_units(unit):
    target = np.abs(X[:, :1]) + X[:, 1:2]
    near, far = measure(X, target, ones), measure(X * unit, target * unit, ones)
    assert np.array_equal(near.bent, far.bent)
    np.testing.assert_allclose(near.chance, far.chance)


def test_binary_constant_and_tied_columns_are_never_bent():
    table = np.column_stack([X[:, 0] > 0, np.zeros(N), np.ones(N)])
    assert not measure(table, (X[:, :1] > 0).astype(float), ones).bent.any()
