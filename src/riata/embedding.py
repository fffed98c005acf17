"""Expand columns into piecewise-linear pieces, so that an effect that rises and falls has a main effect to be seen by.

Between two neighbouring knots a piece rises from 0 to 1; before and after it is flat, except that the first and the last go on
as they are. A linear function of the pieces is any continuous function of the column that bends at the knots only.

A column of categories, which holds codes from 0 on, becomes one column of zeros and ones for each level; two levels need but
one. The row of weights that such a column leads to is the embedding of its level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedding", "affordable_pieces", "identity", "learn"]

Floats = NDArray[np.float64]
_PIECES = 6  # of one column, where there are rows enough
_ROWS = 50  # training rows that each piece of a column should have


@dataclass(frozen=True, eq=False)
class Embedding:
    """Column i of the expanded table is feature ``source[i]``, less ``low[i]``, over ``width[i]``, kept within limits.

    Or it marks a level: it is 1 where the feature is ``level[i]``, 0 where it is another, and ``share[i]``, as in an average
    row, where the code is negative: a level that is not known.
    """

    n_features: int
    source: NDArray[np.int64]
    low: Floats
    width: Floats
    floor: Floats
    ceiling: Floats
    level: Floats  # NaN for a piece
    share: Floats  # of the level in the training rows

    @property
    def n_columns(self) -> int:
        """Width of the expanded table."""
        return len(self.source)

    @property
    def n_pieces(self) -> NDArray[np.int64]:
        """Number of columns that each feature has become."""
        return np.bincount(self.source, minlength=self.n_features)

    @property
    def trivial(self) -> bool:
        """Whether every feature is left as it is."""
        return self.n_columns == self.n_features and not self.marks.any()

    @property
    def marks(self) -> NDArray[np.bool_]:
        """Which columns mark a level."""
        return ~np.isnan(self.level)

    @property
    def n_levels(self) -> Floats:
        """Number of levels of each feature, of which a rare one counts as its variance is to the commonest's; else 1."""
        marks = self.marks
        source, variance = self.source[marks], (self.share * (1 - self.share))[marks]
        largest = np.zeros(self.n_features)
        np.maximum.at(largest, source, variance)
        total = np.bincount(source, variance, self.n_features)
        return np.maximum(total / np.where(largest > 0, largest, 1), 1)

    def apply(self, X: NDArray[np.floating], columns: NDArray[np.int64]) -> Floats:
        """Return some columns of the expanded table, in float64."""
        values = X[:, self.source[columns]].astype(np.float64)
        if not self.trivial:
            values -= self.low[columns]
            values /= self.width[columns]
            np.clip(values, self.floor[columns], self.ceiling[columns], out=values)
            marks = self.marks[columns]
            if marks.any():
                codes, at = values[:, marks], columns[marks]
                values[:, marks] = np.where(codes < 0, self.share[at], codes == self.level[at])
        return values


def affordable_pieces(n_rows: int) -> int:
    """Return how many pieces a column of so many rows can afford."""
    return int(np.clip(n_rows // _ROWS, 1, _PIECES))


def identity(n_features: int) -> Embedding:
    """Leave features as they are."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    source, infinite = np.arange(n_features), np.full(n_features, np.inf)
    return Embedding(n_features, source, zeros, ones, -infinite, infinite, zeros + np.nan, zeros)


def learn(
    X: NDArray[np.floating],
    weights: Floats,
    pieces: int,
    columns: NDArray[np.bool_] | None = None,
    n_levels: NDArray[np.int64] | None = None,
) -> Embedding:
    """Put knots at weighted quantiles of each column, or of some; few distinct values give fewer pieces, or none.

    A column with a number of levels, others than 0, holds their codes.
    """
    if not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    levels = np.linspace(0, 1, pieces + 1)
    expand = np.ones(X.shape[1], dtype=bool) if columns is None else columns
    coded = np.zeros(X.shape[1], dtype=np.int64) if n_levels is None else n_levels
    parts = [
        _levels(X[:, j], weights, coded[j])
        if coded[j]
        else _pieces(_quantiles(X[:, j], weights, levels) if expand[j] else np.empty(0))
        for j in range(X.shape[1])
    ]
    source = np.repeat(np.arange(X.shape[1]), [len(part[0]) for part in parts])
    return Embedding(X.shape[1], source, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _quantiles(column: NDArray[np.floating], weights: Floats, levels: Floats) -> Floats:
    """Return values that occur in the column: the first whose cumulated weight reaches each level."""
    order = np.argsort(column, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, levels * reached[-1] * (1 - 1e-12))
    return column[order[np.minimum(at, len(order) - 1)]].astype(np.float64)


def _pieces(quantiles: Floats) -> tuple[Floats, ...]:
    """Return all but the sources of the pieces between quantiles."""
    knots = np.unique(quantiles)
    if len(knots) <= 2:
        return _plain(np.full(1, np.nan), np.zeros(1))
    floor, ceiling = np.zeros(len(knots) - 1), np.ones(len(knots) - 1)
    floor[0], ceiling[-1] = -np.inf, np.inf
    return knots[:-1], np.diff(knots), floor, ceiling, np.full(len(floor), np.nan), np.zeros(len(floor))


def _levels(codes: NDArray[np.floating], weights: Floats, n_levels: int) -> tuple[Floats, ...]:
    """Return all but the sources of the columns that mark levels; the second of two says it all."""
    share = np.bincount(codes.astype(np.int64), weights, n_levels) / weights.sum()
    marked = np.arange(1, 2) if n_levels == 2 else np.arange(n_levels)
    return _plain(marked.astype(np.float64), share[marked])


def _plain(level: Floats, share: Floats) -> tuple[Floats, ...]:
    zeros, infinite = np.zeros(len(level)), np.full(len(level), np.inf)
    return zeros, zeros + 1, -infinite, infinite, level, share
