"""Concordance: scikit-survival's index, and the definition pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sksurv.metrics import concordance_index_censored

from riata.survival.concordance import concordance

ROUNDING = 1e-12  # sums of at most a few thousand halves and weights
SMALL = settings(max_examples=200, deadline=None)

ROW = st.tuples(
    st.integers(0, 4),  # entry
    st.integers(1, 4),  # time after entry
    st.booleans(),  # event
    st.integers(0, 2),  # stratum
    st.integers(-2, 2),  # risk
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),  # weight
)


def parts(rows, *, entries=True, strata=True):
    """Target, (n, 4), risk and weights."""
    entry, length, event, stratum, risk, weight = np.array(rows, dtype=float).T
    entry, stratum = entry * entries, stratum * strata
    return np.column_stack([entry, entry + length, event, stratum]), risk, weight


def slow(target, risk, weights):
    """Go through all pairs; return the weight of those ranked rightly, and of all."""
    right = comparable = 0.0
    for (_, t, event, stratum), r, w in zip(target, risk, weights, strict=True):
        for (entry, time, other_event, other_stratum), other, v in zip(target, risk, weights, strict=True):
            later = time > t or (time == t and not other_event)
            if event and stratum == other_stratum and entry < t and later:
                comparable += w * v
                right += w * v * (1.0 if r > other else 0.5 * (r == other))
    return right, comparable


@SMALL
@given(rows=st.lists(ROW, min_size=2, max_size=15), entries=st.booleans(), strata=st.booleans())
def test_concordance_is_the_share_of_comparable_pairs_ranked_rightly(rows, entries, strata):
    target, risk, weights = parts(rows, entries=entries, strata=strata)
    right, comparable = slow(target, risk, weights)
    assume(comparable > 0)
    assert concordance(target, risk, weights) == pytest.approx(right / comparable, abs=ROUNDING)


@pytest.mark.parametrize(("n", "n_times", "n_risks"), [(30, 5, 4), (300, 10_000, 10_000), (1000, 20, 7), (2, 2, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_concordance_is_that_of_scikit_survival(n, n_times, n_risks, seed):
    rng = np.random.default_rng(seed)
    time, risk = 1.0 + rng.permutation(n) % n_times, rng.integers(0, n_risks, n) / 7
    event = rng.random(n) < 0.6
    event[time.argmin()] = True
    target = np.column_stack([np.zeros(n), time, event, np.zeros(n)])
    expected = concordance_index_censored(event, time, risk)[0]
    assert concordance(target, risk) == pytest.approx(expected, abs=ROUNDING)


@SMALL
@given(rows=st.lists(ROW, min_size=2, max_size=15), data=st.data())
def test_the_order_of_the_samples_and_the_scale_of_the_risks_change_nothing(rows, data):
    target, risk, weights = parts(rows)
    assume(slow(target, risk, weights)[1] > 0)
    found = concordance(target, risk, weights)
    order = data.draw(st.permutations(range(len(rows))))
    again = concordance(target[order], np.exp(risk[order]) * 1e3, weights[order])
    assert again == pytest.approx(found, abs=ROUNDING)
    assert concordance(target, -risk, weights) == pytest.approx(1 - found, abs=ROUNDING)


@SMALL
@given(rows=st.lists(ROW, min_size=2, max_size=12), counts=st.data())
def test_weights_are_repetitions(rows, counts):
    target, risk, _ = parts(rows)
    times = counts.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    many = np.repeat(np.arange(len(rows)), times)
    assume(slow(target[many], risk[many], np.ones(len(many)))[1] > 0)
    found = concordance(target, risk, np.array(times))
    assert found == pytest.approx(concordance(target[many], risk[many]), abs=ROUNDING)


@SMALL
@given(rows=st.lists(ROW, min_size=2, max_size=12), cut=st.floats(0.1, 0.9))
def test_a_row_in_pieces_is_the_row(rows, cut):
    target, risk, weights = parts(rows)
    assume(slow(target, risk, weights)[1] > 0)
    entry, time, _, stratum = target[0]
    cut = entry + cut * (time - entry)
    later = target.copy()
    later[0, 0] = cut
    pieces = np.vstack([later, [entry, cut, 0.0, stratum]]), np.append(risk, risk[0]), np.append(weights, weights[0])
    assert concordance(*pieces) == pytest.approx(concordance(target, risk, weights), abs=ROUNDING)


@pytest.mark.parametrize(
    "target",
    [
        [[0, 1, 0, 0], [0, 2, 0, 0]],  # no event
        [[0, 1, 0, 0], [0, 2, 1, 0]],  # nobody left at the event
        [[0, 1, 1, 0], [0, 1, 1, 0]],  # tied events
        [[0, 1, 1, 0], [0, 2, 0, 1]],  # in another stratum
        [[0, 1, 1, 0], [1, 2, 0, 0]],  # enters after the event
    ],
)
def test_without_a_comparable_pair_there_is_no_concordance(target):
    with pytest.raises(ValueError, match="no two samples are comparable"):
        concordance(np.array(target, dtype=float), np.arange(2.0))
