"""Bounds on the expected number of false selections of stability selection.

Shah and Samworth, Variable selection with error control: another look at stability selection, JRSS B 75 (2013). Of p features,
the first q are taken from each half of B complementary pairs of half-samples, and those taken from a share τ of the 2B halves
are selected. θ = q / p is the probability with which a random choice would take a feature.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

__all__ = ["ASSUMPTIONS", "false_selections", "largest_number", "smallest_threshold"]

Floats = NDArray[np.float64]
ASSUMPTIONS = ("none", "unimodal", "r-concave")


def false_selections(n_features: float, threshold: float, p: int, n_pairs: int, assumption: str) -> float:
    """Bound the expected number of selected features whose selection probability is at most q / p.

    Parameters
    ----------
    n_features : float
        q, the number taken from each half.
    threshold : float
        τ, above one half.
    p : int
        Number of features.
    n_pairs : int
        B.
    assumption : {"none", "unimodal", "r-concave"}
        What is assumed of the distribution of the share of pairs (of halves) from which a feature is taken.
    """
    q, tau, B, theta = n_features, threshold, n_pairs, n_features / p
    bound = q * theta / (2 * tau - 1)
    if assumption == "unimodal" and theta <= 1 / math.sqrt(3):
        if tau <= 3 / 4:
            valid = tau > min(1 / 2 + theta**2, 1 / 2 + 1 / (2 * B) + 3 / 4 * theta**2)
            factor = 1 / (2 * (2 * tau - 1 - 1 / (2 * B))) if valid and 2 * tau - 1 > 1 / (2 * B) else math.inf
        else:
            factor = 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
        bound = min(bound, factor * theta * q)
    elif assumption == "r-concave":
        rounding = 1e-9  # τ is a multiple of 1 / 2B, up to rounding
        pairs = _tail(theta**2, math.ceil((2 * tau - 1) * B - rounding), B, -1 / 2)
        halves = _tail(theta, math.ceil(2 * tau * B - rounding), 2 * B, -1 / 4)
        bound = min(bound, p * pairs, p * halves)
    return min(bound, float(p))


def largest_number(max_false: float, threshold: float, p: int, n_pairs: int, assumption: str) -> int:
    """Return the largest q for which the bound is at most ``max_false``; 0 if there is none."""
    low, high = 0, p + 1  # low is small enough, high is too large
    while high - low > 1:
        middle = (low + high) // 2
        if false_selections(middle, threshold, p, n_pairs, assumption) <= max_false:
            low = middle
        else:
            high = middle
    return low


def smallest_threshold(max_false: float, n_features: float, p: int, n_pairs: int, assumption: str) -> float | None:
    """Return the smallest τ above one half for which the bound is at most ``max_false``; None if there is none."""
    for taken in range(n_pairs + 1, 2 * n_pairs + 1):
        if false_selections(n_features, taken / (2 * n_pairs), p, n_pairs, assumption) <= max_false:
            return taken / (2 * n_pairs)
    return None


@lru_cache(maxsize=4096)
def _tail(mean: float, t: int, B: int, r: float) -> float:
    """Largest P(X ≥ t / B) of r-concave distributions on 0, 1/B, …, 1 with a mean of at most ``mean``.

    It is attained by a distribution proportional to (a + i)^(1/r) up to some i = k, with the remaining mass at k + 1. For
    every k, a lies between the value at which no mass remains and the one at which k + 1 continues the curve.
    """
    mu = mean * B
    if t <= 2 * mu + 1:
        return 1.0
    steps, highest = np.arange(B + 1), 0.0

    def curve(a: float, k: int) -> Floats:
        return (1 + steps[: k + 1] / a) ** (1 / r)

    def excess(a: float, k: int) -> float:
        weights = curve(a, k)
        return float(steps[: k + 1] @ weights / weights.sum()) - mu

    def probability(a: float, k: int) -> float:
        weights = curve(a, k)
        share = (k + 1 - mu) / ((k + 1 - steps[: k + 1]) @ weights)
        return float(1 - share * float(weights[:t].sum()))

    upper = brentq(excess, 1e-9, 1e9, args=(t - 1,))
    for k in range(t - 1, B):
        lower = brentq(excess, 1e-9, upper, args=(k + 1,))
        found = minimize_scalar(lambda a, k=k: -probability(a, k), bounds=(lower, upper), method="bounded")
        highest = max(highest, -float(found.fun), probability(lower, k), probability(upper, k))
        upper = lower
    return min(highest, 1.0)
