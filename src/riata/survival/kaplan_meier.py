"""The Kaplan-Meier estimate: survival probabilities of a group of samples, without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from riata.survival.step_function import StepFunction

__all__ = ["KaplanMeier", "at_risk", "kaplan_meier"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Survival probabilities at the times of a group of samples, with pointwise confidence intervals.

    Attributes
    ----------
    times : array of shape (n_times,)
        The different times of the samples, events and censored ones, increasing.
    survival, low, high : array of shape (n_times,)
        Probabilities of survival beyond each time, and the ends of their intervals.
    """

    times: Floats
    survival: Floats
    low: Floats
    high: Floats

    def at(self, time: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return survival, low and high at times; NaN after the last one, unless nobody survives it."""
        asked = np.asarray(time, dtype=np.float64)
        known = (asked <= self.times[-1]) | (self.survival[-1] == 0)
        survival, low, high = (
            np.where(known, StepFunction(self.times, values, 1.0)(asked), np.nan)
            for values in (self.survival, self.low, self.high)
        )
        return survival, low, high


def kaplan_meier(target: Floats, weights: Floats | None = None, *, confidence: float = 0.95) -> KaplanMeier:
    """Estimate survival probabilities: the product, over the times of events, of the share at risk without an event.

    Intervals are those of log(−log S), with Greenwood's variance. Where samples enter late, the probabilities are conditional
    on survival up to the first entry, and can be unstable early on, where few samples are at risk.

    Parameters
    ----------
    target : array of shape (n, ≥ 3)
        Entry, time and event. A sample is at risk at t if entry < t ≤ time.
    weights : array of shape (n,), optional
        Numbers of samples that each one stands for.
    confidence : float, default=0.95
        Pointwise coverage of the intervals.
    """
    weights = np.ones(len(target)) if weights is None else np.asarray(weights, dtype=np.float64)
    time, event = target[:, 1], target[:, 2]
    times, place = np.unique(time, return_inverse=True)
    events = np.bincount(place, weights * event, len(times))
    number = np.where(events > 0, np.maximum(at_risk(target, times, weights), events), 1.0)  # sums may be rounded
    survival: Floats = np.cumprod(1 - events / number, dtype=np.float64)
    left = number - events
    variance = np.cumsum(np.divide(events, number * left, out=np.zeros(len(times)), where=left > 0))
    return KaplanMeier(times, survival, *_intervals(survival, variance, confidence))


def at_risk(target: Floats, times: ArrayLike, weights: Floats | None = None) -> Floats:
    """Return the weight of the samples at risk at each time: entry < t ≤ time."""
    weights = np.ones(len(target)) if weights is None else weights
    asked = np.asarray(times, dtype=np.float64)
    entered, ended = (_weight_before(target[:, column], weights, asked) for column in (0, 1))
    return entered - ended


def _weight_before(when: Floats, weights: Floats, times: Floats) -> Floats:
    """Return the weight of the samples whose moment lies before each time."""
    order = np.argsort(when, kind="stable")
    total = np.append(0.0, np.cumsum(weights[order]))
    before: Floats = total[np.searchsorted(when[order], times, side="left")]
    return before


def _intervals(survival: Floats, variance: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return exp(−exp(log(−log S) ± z σ)), with σ² = Var(log S) / (log S)²; S itself where it is 0 or 1."""
    inside = (survival > 0) & (survival < 1)
    log = np.log(np.where(inside, survival, 0.5))
    margin = norm.isf((1 - confidence) / 2) * np.sqrt(variance) / -log
    low, high = (np.where(inside, np.exp(log * np.exp(sign * margin)), survival) for sign in (1, -1))
    return low, high
