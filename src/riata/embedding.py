"""Expand columns into piecewise-linear pieces, so that an effect that rises and falls has a main effect to be seen by.

Between two neighbouring knots a piece rises from 0 to 1; before and after it is flat, except that the first and the last go on
as they are. A linear function of the pieces is any continuous function of the column that bends at the knots only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fdist

__all__ = ["Embedding", "bent", "identity", "learn", "n_pieces"]

Floats = NDArray[np.float64]
_PIECES = 6  # of one column, where there are rows enough
_ROWS = 50  # training rows that each piece of a column should have
_BINS = 8  # of a column, between which the mean of the target is compared
_BENT = 1 / 3  # a column is bent if a straight line shows less than this share of its effect
_BLOCK = 256  # columns judged at a time


@dataclass(frozen=True, eq=False)
class Embedding:
    """Column i of the expanded table is feature ``source[i]``, less ``low[i]``, over ``width[i]``, kept within limits."""

    n_features: int
    source: NDArray[np.int64]
    low: Floats
    width: Floats
    floor: Floats
    ceiling: Floats

    @property
    def n_columns(self) -> int:
        """Width of the expanded table."""
        return len(self.source)

    @property
    def trivial(self) -> bool:
        """Whether every feature is left as it is."""
        return self.n_columns == self.n_features

    def apply(self, X: NDArray[np.floating], columns: NDArray[np.int64]) -> Floats:
        """Return some columns of the expanded table, in float64."""
        values = X[:, self.source[columns]].astype(np.float64)
        if not self.trivial:
            values -= self.low[columns]
            values /= self.width[columns]
            np.clip(values, self.floor[columns], self.ceiling[columns], out=values)
        return values


def n_pieces(n_rows: int) -> int:
    """Return how many pieces a column of so many rows can afford."""
    return int(np.clip(n_rows // _ROWS, 1, _PIECES))


def identity(n_features: int) -> Embedding:
    """Leave features as they are."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    return Embedding(n_features, np.arange(n_features), zeros, ones, zeros - np.inf, ones + np.inf)


def learn(X: NDArray[np.floating], weights: Floats, pieces: int, columns: NDArray[np.bool_] | None = None) -> Embedding:
    """Put knots at weighted quantiles of each column, or of some; few distinct values give fewer pieces, or none."""
    if not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    levels = np.linspace(0, 1, pieces + 1)
    expand = np.ones(X.shape[1], dtype=bool) if columns is None else columns
    parts = [_pieces(_quantiles(X[:, j], weights, levels) if expand[j] else np.empty(0)) for j in range(X.shape[1])]
    source = np.repeat(np.arange(X.shape[1]), [len(part[0]) for part in parts])
    return Embedding(X.shape[1], source, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def bent(X: NDArray[np.floating], target: Floats, weights: Floats) -> NDArray[np.bool_]:
    """Mark the columns with an effect on the target, (n, o), that a straight line hardly shows.

    The means of the target in eight bins of a column say how much of its variance the column explains, and a regression line
    how much of that is straight. By chance about one column of a table is taken for one with an effect.
    """
    n, share = weights.sum(), weights / weights.sum()
    target = _centred(target, share)
    total = share @ np.square(target)
    target, total = target[:, total > 0], total[total > 0]
    marked = np.zeros(X.shape[1], dtype=bool)
    for start in range(0, X.shape[1], _BLOCK):
        block = _centred(X[:, start : start + _BLOCK].astype(np.float64), share)
        straight, binned, n_bins = _explained(block, target, share)  # (o, b) twice, (b,)
        freedom = np.maximum(n_bins - 1, 1)
        left = np.maximum(total[:, None] - binned, 1e-12 * total[:, None])
        chance = fdist.sf(binned / left * (n - n_bins) / freedom, freedom, np.maximum(n - n_bins, 1)).min(axis=0)
        fair = np.maximum(binned - left * freedom / np.maximum(n - n_bins, 1), 0).sum(axis=0)
        marked[start : start + _BLOCK] = (chance * X.shape[1] * len(total) < 1) & (straight.sum(axis=0) < _BENT * fair)
    return marked & (n > _BINS)


def _centred(table: Floats, share: Floats) -> Floats:
    """Take off the mean and the unit of each column: in any unit, squares neither overflow nor vanish."""
    centred = table - share @ table
    farthest = np.abs(centred).max(axis=0)
    return centred / np.where(farthest > 0, farthest, 1)


def _explained(X: Floats, target: Floats, share: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return how much of the variance of each target each column explains, by a line and by bins, and the number of bins."""
    variance = share @ np.square(X)
    straight = np.square((share[:, None] * target).T @ X) / np.where(variance > 0, variance, np.inf)
    bins = _bins(X, share)
    binned, n_bins = np.zeros_like(straight), np.zeros(X.shape[1], dtype=np.int64)
    for k in range(_BINS):
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


def _quantiles(column: NDArray[np.floating], weights: Floats, levels: Floats) -> Floats:
    """Return values that occur in the column: the first whose cumulated weight reaches each level."""
    order = np.argsort(column, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, levels * reached[-1] * (1 - 1e-12))
    return column[order[np.minimum(at, len(order) - 1)]].astype(np.float64)


def _pieces(quantiles: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return low, width, floor and ceiling of the pieces between quantiles."""
    knots = np.unique(quantiles)
    if len(knots) <= 2:
        return np.zeros(1), np.ones(1), np.full(1, -np.inf), np.full(1, np.inf)
    floor, ceiling = np.zeros(len(knots) - 1), np.ones(len(knots) - 1)
    floor[0], ceiling[-1] = -np.inf, np.inf
    return knots[:-1], np.diff(knots), floor, ceiling
