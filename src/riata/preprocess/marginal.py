"""Marginal association of each feature with the target, on training samples: how clear, how strong, and whether linear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fdist

from riata.preprocess import sparse
from riata.preprocess.blocks import by_columns

__all__ = ["Associations", "as_counts", "effective", "measure", "of_groups"]

Floats = NDArray[np.float64]
_BINS = 8  # of a column, between which the mean of the target is compared
_NONLINEAR = 1 / 10  # an effect is nonlinear if a straight line explains less than this share of it
_ROUNDING = 1e-13  # relative to a column's largest entry, under which it is constant
_REPEATS = 10  # times a sample may count on average, up to which weights are taken for counts of samples
_WHOLE = 1e-6  # relative rounding of a whole number, also of weights in single precision


class Associations(NamedTuple):
    """One entry per feature."""

    n_samples: float  # that it was measured on
    p_values: Floats  # corrected for the tests of one feature, not for the number of features
    nonlinear: NDArray[np.bool_]  # there is an effect, and a straight line explains hardly any of it
    strength: Floats  # share of the target's variance that it explains, beyond what noise would


def as_counts(weights: Floats) -> Floats | None:
    """Return weights as the smallest whole numbers in their ratios, or None if there are none of at most 10 on average.

    Equal weights are counts of 1. What comes of weights does not depend on a factor common to all.
    """
    relative = weights / weights.max()
    lightest, n = relative[relative > 0].min(), np.count_nonzero(relative)
    for count in range(1, _REPEATS + 1):  # of the lightest sample, which counts no more than the average one
        if relative.sum() * count > _REPEATS * n * lightest:
            return None
        counts = relative / lightest * count
        if np.all(np.abs(counts - np.rint(counts)) <= _WHOLE * counts):
            whole: Floats = np.rint(counts)
            return whole
    return None


def effective(weights: Floats) -> Floats:
    """Scale weights to sum to the number of samples they stand for: their sum as counts, or else Kish's (Σw)² / Σw²."""
    counts = as_counts(weights)
    if counts is not None:
        return counts
    weights = weights / weights.max()  # squares neither overflow nor vanish
    scaled: Floats = weights * (weights.sum() / np.square(weights).sum())
    return scaled


def measure(
    X: NDArray[np.floating], target: Floats, weights: Floats, n_levels: NDArray[np.int64] | None = None
) -> Associations:
    """Compare, for every column, the means of the target, (n, o), in eight bins of the column, and fit a line.

    The bins say how much of the variance of the target the column explains, the line how much of that is straight. By
    chance about one column of a table is taken for a nonlinear one with an effect. Weights sum to the number of samples they
    stand for (:func:`effective`). A column of codes, with more than two levels, is compared between its levels.
    """
    n = float(weights.sum())
    share = weights / weights.sum()
    target = _centred(target, share)
    total = share @ np.square(target)
    target, total = target[:, total > 0], total[total > 0, None]
    d = X.shape[1]
    chance, nonlinear, strength = np.ones(d), np.zeros(d, dtype=bool), np.zeros(d)
    if n <= _BINS or not len(total):
        return Associations(n, chance, nonlinear, strength)

    def judge(here: slice) -> None:
        block, y, w = sparse.some(X, here, target, share)
        missing = np.isnan(block)
        if missing.any():
            known = w[:, None] * ~missing
            means = (known * np.where(missing, 0, block)).sum(axis=0) / np.maximum(known.sum(axis=0), 1e-300)
            block = np.where(missing, means, block)
        straight, binned, n_bins = _explained(_centred(block, w), missing, y, w)  # (o, b) twice, (b,)
        by_bins, by_line = _chance(binned, total, n_bins, n), _chance(straight, total, np.full_like(n_bins, 2), n)
        strength[here] = _beyond_noise(binned, total, n_bins, n)
        nonlinear[here] = (by_bins * d < 1) & (straight.sum(axis=0) < _NONLINEAR * strength[here] * total.sum())
        chance[here] = np.minimum(2 * np.minimum(by_bins, by_line), 1)

    by_columns(judge, X.shape[0], d, sparse.block_size(X))
    for j in [] if n_levels is None else np.flatnonzero(n_levels > 2):
        chance[j], strength[j] = _between_levels(X[:, j].astype(np.int64), target, total, share, n)
        nonlinear[j] = False
    return Associations(n, chance, nonlinear, strength)


def of_groups(
    seen: Associations, X: NDArray[np.floating], target: Floats, weights: Floats, ids: NDArray[np.int64]
) -> Associations:
    """Judge groups of columns: each by its clearest column, and by a regression on all of them."""
    share, n = weights / weights.sum(), seen.n_samples
    target = _centred(target, share)
    total = share @ np.square(target)
    target, total = target[:, total > 0], total[total > 0, None]
    sizes = np.bincount(ids)
    found = np.full(len(sizes), np.inf)
    np.minimum.at(found, ids, seen.p_values)
    found = np.minimum(found * sizes, 1)
    for g in np.flatnonzero((sizes > 1) & (sizes < n / 4)) if len(total) else []:
        block, y, w = sparse.some(X, np.flatnonzero(ids == g), target, share)
        block = _centred(np.where(np.isnan(block), 0, block), w) * np.sqrt(w)[:, None]
        basis, spectrum, _ = np.linalg.svd(block, full_matrices=False)
        basis = basis[:, spectrum > 1e-9 * spectrum.max(initial=0)]
        explained = np.square(basis.T @ (y * np.sqrt(w)[:, None])).sum(axis=0)[:, None]
        joint = _chance(explained, total, np.array([basis.shape[1] + 1]), n)[0]
        found[g] = min(2 * min(found[g], joint), 1)
    return Associations(n, found, np.zeros(len(found), dtype=bool), np.zeros(len(found)))


def _between_levels(
    codes: NDArray[np.int64], target: Floats, total: Floats, share: Floats, n: float
) -> tuple[float, float]:
    """Return the chance of such differences between levels, and their strength."""
    weight = np.bincount(codes, share)
    sums = np.array([np.bincount(codes, share * column) for column in target.T])  # (o, levels)
    explained = np.sum(np.square(sums) / np.where(weight > 0, weight, np.inf), axis=1, keepdims=True)
    n_means = np.array([np.count_nonzero(weight)])
    if n <= n_means[0]:
        return 1.0, 0.0
    chance, strength = (judge(explained, total, n_means, n)[0] for judge in (_chance, _beyond_noise))
    return min(float(chance), 1.0), float(strength)


def _beyond_noise(explained: Floats, total: Floats, n_means: NDArray[np.int64], n: float) -> Floats:
    """Return the share of the variance explained, less what noise would explain."""
    noise = np.maximum(total - explained, 0) * (n_means - 1) / np.maximum(n - n_means, 1)
    strength: Floats = np.maximum(explained - noise, 0).sum(axis=0) / total.sum()
    return strength


def _chance(explained: Floats, total: Floats, n_means: NDArray[np.int64], n: float) -> Floats:
    """Return the chance of so much variance explained by noise, the smallest of all targets, times their number."""
    freedom, left = np.maximum(n_means - 1, 1), np.maximum(total - explained, 1e-12 * total)
    ratio = explained / left * (n - n_means) / freedom
    p_values: Floats = fdist.sf(ratio, freedom, np.maximum(n - n_means, 1)).min(axis=0) * len(total)
    return p_values


def _centred(table: Floats, share: Floats) -> Floats:
    """Take off the mean and the unit of each column: in any unit, squares neither overflow nor vanish.

    What is left of a constant column is rounding, which would pass for an effect.
    """
    largest = np.abs(table).max(axis=0)
    table = np.ldexp(table, -np.frexp(largest)[1] - 1)  # exact
    centred = table - share @ table
    farthest = np.abs(centred).max(axis=0)
    return np.where(farthest > _ROUNDING, centred / np.where(farthest > 0, farthest, 1), 0)


def _explained(
    X: Floats, missing: NDArray[np.bool_], target: Floats, share: Floats
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return how much of the variance of each target each column explains, by a line and by bins, and the number of bins.

    Missing values have a bin of their own.
    """
    variance = share @ np.square(X)
    straight = np.square((share[:, None] * target).T @ X) / np.where(variance > 0, variance, np.inf)
    bins = np.where(missing, _BINS, _bins(X, share))
    binned, n_bins = np.zeros_like(straight), np.zeros(X.shape[1], dtype=np.int64)
    for k in range(_BINS + bool(missing.any())):
        inside = (bins == k) * share[:, None]  # (n, b)
        weight = inside.sum(axis=0)
        binned += np.square(target.T @ inside) / np.where(weight > 0, weight, np.inf)
        n_bins += weight > 0
    return straight, binned, n_bins


def _bins(X: Floats, share: Floats) -> NDArray[np.int64]:
    """Sort the entries of each column into bins of equal weight; equal entries share a bin."""
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    below = np.cumsum(share[order], axis=0) - share[order]
    repeats = np.zeros(X.shape, dtype=bool)
    repeats[1:] = ordered[1:] == ordered[:-1]
    below = np.maximum.accumulate(np.where(repeats, 0, below), axis=0)
    bins = np.empty(X.shape, dtype=np.int64)
    np.put_along_axis(bins, order, np.minimum((below * _BINS + 1e-9).astype(np.int64), _BINS - 1), axis=0)
    return bins
