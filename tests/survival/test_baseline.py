"""The baseline hazard: Breslow's estimate, in strata, with entries and weights."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.survival.baseline import breslow

SMALL = settings(max_examples=100, deadline=None)
ROUNDING = {"rtol": 1e-9, "atol": 1e-12}  # a dozen samples in float64, hazards e³ apart at most

ROW = st.tuples(
    st.integers(0, 3),  # entry
    st.integers(1, 4),  # time after entry
    st.booleans(),  # event
    st.integers(0, 1),  # stratum
    st.floats(-3, 3),  # logarithm of the hazard
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),  # weight
)
ROWS = st.lists(ROW, min_size=1, max_size=12)
TIMES = np.arange(1.0, 8.0)  # rank k is the time k


def parts(rows):
    """Ranks, (n, 4), weights and logarithms of hazards."""
    entry, length, event, stratum, log_hazard, weights = np.array(rows, dtype=float).T
    return np.column_stack([entry, entry + length, event, stratum]), weights, log_hazard


def slow(ranks, weights, log_hazard):
    entry, time, event, stratum = ranks.T
    hazard = np.zeros((2, len(TIMES)))
    for s in range(2):
        for k, t in enumerate(TIMES):
            risk = (stratum == s) & (entry < t) & (time >= t)
            events = weights[(stratum == s) & (time == t) & (event > 0)].sum()
            if events:
                hazard[s, k] = events / (weights * np.exp(log_hazard))[risk].sum()
    return hazard.cumsum(axis=1)


@SMALL
@given(rows=ROWS)
def test_the_hazard_rises_by_events_over_the_risk_at_their_time(rows):
    ranks, weights, log_hazard = parts(rows)
    baseline = breslow(ranks, TIMES, weights, log_hazard, 2)
    np.testing.assert_array_equal(baseline.times, TIMES)
    np.testing.assert_allclose(baseline.cumulative, slow(ranks, weights, log_hazard), **ROUNDING)


@SMALL
@given(rows=ROWS, constant=st.floats(-600, 600))
def test_a_constant_in_the_log_hazards_is_taken_off_the_baseline(rows, constant):
    ranks, weights, log_hazard = parts(rows)
    one = breslow(ranks, TIMES, weights, log_hazard, 2)
    other = breslow(ranks, TIMES, weights, log_hazard + constant, 2)
    stratum = ranks[:, 3].astype(int)
    np.testing.assert_allclose(
        other.cumulative_hazard(log_hazard + constant, stratum),
        one.cumulative_hazard(log_hazard, stratum),
        rtol=1e-9,  # log_hazard + constant is rounded at the size of 600
    )


@SMALL
@given(rows=ROWS, factor=st.floats(1e-6, 1e6))
def test_only_ratios_of_weights_count(rows, factor):
    ranks, weights, log_hazard = parts(rows)
    one = breslow(ranks, TIMES, weights, log_hazard, 2)
    other = breslow(ranks, TIMES, weights * factor, log_hazard, 2)
    np.testing.assert_allclose(other.cumulative, one.cumulative, **ROUNDING)


@SMALL
@given(rows=ROWS)
def test_as_many_events_are_expected_as_take_place(rows):
    ranks, weights, log_hazard = parts(rows)
    entry, time, event, _ = ranks.T
    stratum = ranks[:, 3].astype(int)
    hazard = breslow(ranks, TIMES, weights, log_hazard, 2).cumulative_hazard(log_hazard, stratum)
    at = np.column_stack([np.zeros(len(hazard)), hazard])
    each = np.arange(len(hazard))
    expected = at[each, time.astype(int)] - at[each, entry.astype(int)]
    np.testing.assert_allclose((weights * expected).sum(), (weights * event).sum(), **ROUNDING)
