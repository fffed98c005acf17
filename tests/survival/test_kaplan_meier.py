"""Laws of the Kaplan-Meier estimate: it is scikit-survival's, and weights are numbers of samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.survival.kaplan_meier import at_risk, kaplan_meier

SAMPLES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6), st.booleans(), st.integers(1, 3)), min_size=1, max_size=25
)


def target_of(samples: list[tuple[int, int, bool, int]], *, late: bool) -> np.ndarray:
    """Entry, time and event; without late entries everybody enters before all times."""
    entry, length, event, _ = np.array(samples, dtype=float).T
    return np.column_stack([entry if late else np.full(len(entry), -1.0), entry + length, event])


def sksurv_estimate(target: np.ndarray, **more: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    return nonparametric.kaplan_meier_estimator(target[:, 2] > 0, target[:, 1], conf_type="log-log", **more)


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.sampled_from([0.5, 0.9, 0.95]))
def test_probabilities_and_intervals_are_those_of_scikit_survival(samples, confidence):
    target = target_of(samples, late=False)
    times, survival, interval = sksurv_estimate(target, conf_level=confidence)
    found = kaplan_meier(target, confidence=confidence)
    np.testing.assert_array_equal(found.times, times)
    np.testing.assert_allclose(found.survival, survival, atol=1e-12)
    np.testing.assert_allclose([found.low, found.high], interval, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(SAMPLES)
def test_late_entries_are_those_of_scikit_survival(samples):
    target = target_of(samples, late=True)
    times, survival, interval = sksurv_estimate(target, time_enter=target[:, 0])
    found = kaplan_meier(target)
    ours = np.isin(times, found.times)  # theirs has the entries as well
    np.testing.assert_allclose(found.survival, survival[ours], atol=1e-12)
    np.testing.assert_allclose([found.low, found.high], interval[:, ours], atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(SAMPLES, st.booleans())
def test_a_sample_of_weight_three_is_three_samples(samples, late):
    target, weights = target_of(samples, late=late), np.array([sample[3] for sample in samples])
    weighted, repeated = kaplan_meier(target, weights), kaplan_meier(np.repeat(target, weights, axis=0))
    for values in ("times", "survival", "low", "high"):
        np.testing.assert_allclose(getattr(weighted, values), getattr(repeated, values), atol=1e-12)


def test_without_censoring_it_is_the_share_of_samples_that_live_longer():
    time = np.random.default_rng(0).integers(1, 20, 50).astype(float)
    found = kaplan_meier(np.column_stack([np.full(50, -1.0), time, np.ones(50)]))
    np.testing.assert_allclose(found.survival, [(time > t).mean() for t in found.times], atol=1e-12)


def test_a_subject_in_two_intervals_is_a_subject_in_one():
    draw = np.random.default_rng(1)
    time, event = draw.exponential(size=40), draw.random(40) < 0.6
    whole = np.column_stack([np.zeros(40), time, event])
    first = np.column_stack([np.zeros(40), time / 2, np.zeros(40)])
    split = np.vstack([first, np.column_stack([time / 2, time, event])])
    once, twice = kaplan_meier(whole), kaplan_meier(split)
    np.testing.assert_allclose(np.array(twice.at(time)), np.array(once.at(time)), atol=1e-12)


def test_nothing_is_known_after_the_last_time_unless_nobody_survives_it():
    died = np.array([[-1.0, 2, 1], [-1.0, 4, 1]])
    censored = np.array([[-1.0, 2, 1], [-1.0, 4, 0]])
    assert kaplan_meier(died).at([1, 2, 3, 9])[0].tolist() == [1, 0.5, 0.5, 0]
    np.testing.assert_array_equal(kaplan_meier(censored).at([1, 2, 4, 9])[0], [1, 0.5, 0.5, np.nan])


def test_the_samples_at_risk_have_entered_and_have_not_ended():
    target = np.array([[0.0, 2, 1], [1.0, 3, 0], [2.0, 5, 1]])
    assert at_risk(target, [0, 1, 2, 3, 4, 6]).tolist() == [0, 1, 2, 2, 1, 0]
