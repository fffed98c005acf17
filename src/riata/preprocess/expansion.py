"""Turn columns into inputs that a network can use: heavy tails tamed, nonlinear effects visible, categories and gaps coded.

A heavy-tailed column x becomes arcsinh((x − median) / unit), so that far-off values do not drown the others.

A column may be expanded into piecewise-linear pieces between its quantiles, so that an effect that rises and falls has a main
effect. Between two neighbouring knots a piece rises from 0 to 1; before and after it is flat, except that the
first and the last go on as they are. A linear function of the pieces is any continuous function of the column with its
kinks at the knots.

A column of categories, which holds codes from 0 on, becomes one column of zeros and ones for each level; two levels need but
one. A column with missing values gets one more column, which marks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riata.preprocess import sparse
from riata.preprocess.blocks import by_columns

__all__ = ["FARTHEST", "Expansion", "affordable_pieces", "identity", "learn"]

Floats = NDArray[np.float64]
_PIECES = 6  # of one column at most
_ROWS = 50  # training samples for each piece of a column, at least
_CROWD = 5  # training samples for each piece of all columns together, at least
_HEAVY = (
    0.8  # squared correlation of a column with its arcsinh under which it is heavy-tailed; lognormal 0.7, normal 0.97
)
_FAR = (
    10.0  # units of a column, its median distance from the median, over which a standard deviation is that of outliers
)
FARTHEST = 1e300  # number that is told apart from infinity
_MISSING = np.inf  # the level of a missing number


@dataclass(frozen=True, eq=False)
class Expansion:
    """Column i of the expanded table is feature ``source[i]``, less ``low[i]``, over ``width[i]``, kept within limits.

    Or it marks a level: it is 1 where the feature is ``level[i]``, 0 where it is another, and ``share[i]``, as in an average
    sample, where the code is negative: a level that is not known. The level of a missing number is infinite.
    Heavy-tailed features have a finite ``unit`` and are replaced with arcsinh((feature − median) / unit) first.
    """

    n_features: int
    source: NDArray[np.int64]
    low: Floats
    width: Floats
    floor: Floats
    ceiling: Floats
    level: Floats  # NaN for a piece
    share: Floats  # of the level in the training samples
    median: Floats  # (n_features,)
    unit: Floats  # (n_features,)

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
        return self.n_columns == self.n_features and not self.marks.any() and not np.isfinite(self.unit).any()

    @property
    def marks(self) -> NDArray[np.bool_]:
        """Which columns mark a level."""
        return ~np.isnan(self.level)

    @property
    def size(self) -> Floats:
        """Number of columns of each feature; a rare level counts for less, as its variance is to the commonest one's."""
        marks = self.marks
        variance = np.where(marks, self.share * (1 - self.share), 0)
        largest = np.zeros(self.n_features)
        np.maximum.at(largest, self.source, variance)
        largest = largest[self.source]
        counted = np.where(marks, variance / np.where(largest > 0, largest, 1), 1)
        return np.maximum(np.bincount(self.source, counted, self.n_features), 1)

    @property
    def run(self) -> Floats:
        """Distance over which each column rises by 1, in the unit of the feature; at the median if that is heavy-tailed."""
        unit, pieces = self.unit[self.source], self.n_pieces[self.source]
        inner = np.where(np.isfinite(unit) & (pieces > 1), self.low, 0)
        outer = np.where(np.isfinite(unit) & (pieces > 1), self.low + self.width, 0)
        bent = np.where(pieces > 1, np.sinh(outer) - np.sinh(inner), 1)
        return np.where(np.isfinite(unit), np.where(np.isfinite(unit), unit, 1) * bent, self.width)

    def apply(self, X: NDArray[np.floating], columns: NDArray[np.int64]) -> Floats:
        """Return some columns of the expanded table, in float64; a missing number stays NaN."""
        source = self.source[columns]
        values = sparse.dense(X[:, source]).astype(np.float64)
        if self.trivial:
            return values
        heavy = np.isfinite(self.unit[source])
        values[:, heavy] = _tamed(values[:, heavy], self.median[source[heavy]], self.unit[source[heavy]])
        marks = self.marks[columns]
        if marks.any():
            codes, at = np.where(np.isnan(values[:, marks]), _MISSING, values[:, marks]), columns[marks]
            unknown = (codes < 0) & (self.level[at] != _MISSING)
            values[:, marks] = np.where(unknown, self.share[at], codes == self.level[at])
        values -= self.low[columns]
        values /= self.width[columns]
        return np.clip(values, self.floor[columns], self.ceiling[columns], out=values)


def affordable_pieces(n_samples: int, n_features: int = 1) -> int:
    """Return how many pieces of each column so many samples can afford."""
    return int(np.clip(n_samples // max(_ROWS, _CROWD * n_features), 1, _PIECES))


def identity(n_features: int) -> Expansion:
    """Leave features as they are."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    source, infinite = np.arange(n_features), np.full(n_features, np.inf)
    return Expansion(n_features, source, zeros, ones, -infinite, infinite, zeros + np.nan, zeros, zeros, infinite)


def learn(
    X: NDArray[np.floating],
    weights: Floats,
    pieces: NDArray[np.int64] | int,
    n_levels: NDArray[np.int64] | None = None,
    *,
    tame: bool = False,
    mark_missing: bool = True,
) -> Expansion:
    """Learn how to expand each column into so many pieces, with knots at its weighted quantiles.

    Few distinct values give fewer pieces. A column with a number of levels, others than 0, holds their codes. With ``tame``
    heavy-tailed columns are transformed first; with ``mark_missing`` a column that has missing values gets a mark of them.
    """
    if not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    d = X.shape[1]
    pieces = np.broadcast_to(pieces, d)
    coded = np.zeros(d, dtype=np.int64) if n_levels is None else n_levels
    median, unit = np.zeros(d), np.full(d, np.inf)

    def expanded(here: slice) -> list[list[Floats]]:
        block = X[:, here].astype(np.float64)
        if tame:
            median[here], unit[here] = _tails(block, weights)
            unit[here][coded[here] > 0] = np.inf
        return [column(j, values) for j, values in enumerate(block.T, start=here.start)]

    def column(j: int, values: Floats) -> list[Floats]:
        if coded[j]:
            return _levels(values, weights, coded[j])
        if np.isfinite(unit[j]):
            values = _tamed(values, median[j], unit[j])
        return _pieces(values, weights, pieces[j], mark_missing)

    parts = [part for block in by_columns(expanded, *X.shape) for part in block]
    source = np.repeat(np.arange(d), [len(part[0]) for part in parts])
    low, width, floor, ceiling, level, share = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Expansion(d, source, low, width, floor, ceiling, level, share, median, unit)


def _tamed(values: Floats, median: Floats | float, unit: Floats | float) -> Floats:
    with np.errstate(over="ignore"):
        return np.arcsinh(np.clip(values / unit - median / unit, -FARTHEST, FARTHEST))


def _tails(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the median of each column and the unit of its arcsinh, infinite where its tails are not heavy.

    The unit is the median distance from the median, among the samples that differ from it: most entries of a column of counts
    or of pixels may be the same.
    """
    known = ~np.isnan(X)
    largest = np.abs(X).max(axis=0, initial=0, where=known)
    largest = np.where(largest > 0, largest, 1)
    X = X / largest  # squares neither overflow nor vanish
    median = _weighted_median(X, weights, known)
    distance = np.abs(X - median)
    unit = _weighted_median(distance, weights, known & (distance > 0))
    bent = _tamed(X, median, np.where(unit > 0, unit, np.inf))
    share = weights[:, None] * known
    share /= np.maximum(share.sum(axis=0), np.finfo(float).tiny)
    one, other = (np.where(known, table, 0) for table in (X - median, bent))
    one, other = one - (share * one).sum(axis=0), other - (share * other).sum(axis=0)
    shared, first, second = ((share * a * b).sum(axis=0) for a, b in ((one, other), (one, one), (other, other)))
    heavy = (np.square(shared) < _HEAVY * first * second) | (np.sqrt(first) > _FAR * unit)
    return median * largest, np.where(heavy, unit * largest, np.inf)


def _weighted_median(X: Floats, weights: Floats, there: NDArray[np.bool_]) -> Floats:
    """Return the median of each column over the samples marked; 0 where there are none."""
    if (weights == weights[0]).all():
        ordered, n = np.sort(np.where(there, X, np.inf), axis=0), there.sum(axis=0)
        middle = np.stack([np.maximum(n - 1, 0) // 2, np.minimum(n // 2, len(X) - 1)])
        return np.where(n > 0, np.take_along_axis(ordered, middle, axis=0).mean(axis=0), 0.0)
    half = np.array([0.5])
    found = [
        _quantiles(column[mask], weights[mask], half)[0] if mask.any() else 0.0
        for column, mask in zip(X.T, there.T, strict=True)
    ]
    return np.array(found)


def _quantiles(column: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return values that occur in the column: the first whose cumulated weight reaches each level."""
    order = np.argsort(column, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, levels * reached[-1] * (1 - 1e-12))
    found: Floats = column[order[np.minimum(at, len(order) - 1)]]
    return found


def _pieces(column: Floats, weights: Floats, pieces: int, mark_missing: bool) -> list[Floats]:
    """Return all but the sources of the pieces of a column, and of the mark of its missing values."""
    missing = np.isnan(column)
    knots = np.empty(0)
    if pieces > 1 and not missing.all():
        levels = np.linspace(0, 1, pieces + 1)
        knots = np.unique(_quantiles(column[~missing], weights[~missing], levels))
    if len(knots) <= 2:
        found = _plain(np.full(1, np.nan), np.zeros(1))
    else:
        floor, ceiling = np.zeros(len(knots) - 1), np.ones(len(knots) - 1)
        floor[0], ceiling[-1] = -np.inf, np.inf
        found = [knots[:-1], np.diff(knots), floor, ceiling, np.full(len(floor), np.nan), np.zeros(len(floor))]
    if mark_missing and missing.any():
        share = weights[missing].sum() / weights.sum()
        found = [np.append(a, b) for a, b in zip(found, _plain(np.array([_MISSING]), np.array([share])), strict=True)]
    return found


def _levels(codes: Floats, weights: Floats, n_levels: int) -> list[Floats]:
    """Return all but the sources of the columns that mark levels; the second of two says it all."""
    share = np.bincount(codes.astype(np.int64), weights, n_levels) / weights.sum()
    marked = np.arange(1, 2) if n_levels == 2 else np.arange(n_levels)
    return _plain(marked.astype(np.float64), share[marked])


def _plain(level: Floats, share: Floats) -> list[Floats]:
    zeros, infinite = np.zeros(len(level)), np.full(len(level), np.inf)
    return [zeros, zeros + 1, -infinite, infinite, level, share]
