"""What the tests of interactions use of a feature: a few bounded functions of its ranks, and bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riata.preprocess.blocks import by_columns

__all__ = ["Basis", "expand"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_LEVELS = 8  # commonest levels of a category that have a basis column
_RARE = 0.15  # least standard deviation that a basis column is divided by, as a share of its range


class Basis(NamedTuple):
    """Basis columns, standardised, those of one feature side by side."""

    columns: NDArray[np.float32]  # (n, m)
    source: Ids  # (m,), the feature that each is of, in order
    spread: Floats  # (m,), what each was divided by
    marks: NDArray[np.bool_]  # (m,), whether it marks a level of a category

    def of(self, feature: int) -> Floats:
        """Return the columns of one feature, of a number its ranks first."""
        return self.columns[:, self._where(feature)].astype(np.float64)

    def only(self, kept: NDArray[np.bool_]) -> Basis:
        """Return some of the columns."""
        return Basis(self.columns[:, kept], self.source[kept], self.spread[kept], self.marks[kept])

    def bins(self, feature: int, n_bins: int) -> Ids:
        """Sort the samples into bins of equal size, equal values into one; those of a category are its levels."""
        here = self._where(feature)
        if here.start == here.stop:
            return np.zeros(len(self.columns), dtype=np.int64)
        if self.marks[here.start]:
            marked: Ids = np.argmax(np.hstack([np.zeros((len(self.columns), 1)), self.of(feature)]), axis=1)
            return marked
        ranks = self.columns[:, here.start] * self.spread[here.start] + 0.5
        bins: Ids = np.clip((ranks * n_bins).astype(np.int64), 0, n_bins - 1)
        return bins

    def _where(self, feature: int) -> slice:
        start, stop = np.searchsorted(self.source, [feature, feature + 1]).tolist()
        return slice(start, stop)


def expand(X: NDArray[np.floating], weights: Floats, n_levels: Ids | None) -> Basis:
    """Return the first two orthogonal polynomials of the ranks of each number, and marks of the levels of each category.

    A missing number has the value 0, the mean. Functions that do not vary are left out.
    """
    share = weights / weights.sum()
    levels = np.zeros(X.shape[1], dtype=np.int64) if n_levels is None else n_levels
    parts = [_standardised(np.empty((len(X), 0)), share, np.empty(0, dtype=np.int64), mark=False)]

    def ranked(here: slice) -> list[Basis]:
        numbers = here.start + np.flatnonzero(levels[here] <= 2)
        pair = _polynomials(X[:, numbers].astype(np.float64), share)
        return [_standardised(part, share, numbers, mark=False) for part in pair]

    parts += [part for pair in by_columns(ranked, *X.shape) for part in pair]
    for j in np.flatnonzero(levels > 2):
        marks = X[:, [j]] == np.arange(min(levels[j], _LEVELS))
        parts.append(_standardised(marks - share @ marks, share, np.full(marks.shape[1], j), mark=True))
    columns, source, spread, mark = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    order = np.argsort(source, kind="stable")
    order = order[spread[order] > 0]
    return Basis(np.ascontiguousarray(columns[:, order]), source[order], spread[order], mark[order])


def _standardised(columns: Floats, share: Floats, source: Ids, *, mark: bool) -> Basis:
    """Divide centred columns by their standard deviations, or by a share of their range where that is larger."""
    spread = np.maximum(np.sqrt(share @ np.square(columns)), _RARE * np.ptp(columns, axis=0))
    scaled = (columns / np.where(spread > 0, spread, 1)).astype(np.float32)
    return Basis(scaled, source, spread, np.full(len(source), mark))


def _polynomials(X: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return a line and a square of the ranks of each column, centred and orthogonal; 0 where a value is missing.

    They are 0 throughout where there are none: both of a constant column, the square of a column of two values.
    """
    known = ~np.isnan(X)
    mass = share[:, None] * known
    total = mass.sum(axis=0)
    mass /= np.where(total > 0, total, 1)
    line = np.where(known, _mid_ranks(X, mass) - 0.5, 0)  # the mean of mid-ranks is 1/2
    variance = (mass * np.square(line)).sum(axis=0)
    constant = variance < 1e-12
    line[:, constant], variance[constant] = 0, 0
    square = np.where(known, np.square(line) - variance, 0)
    square -= (mass * square * line).sum(axis=0) / np.where(variance > 0, variance, 1) * line
    square[:, (mass * np.square(square)).sum(axis=0) <= 1e-3 * np.square(variance)] = 0
    return line, square


def _mid_ranks(X: Floats, mass: Floats) -> Floats:
    """Return, for each entry, the mass of smaller ones of its column and half of that of equal ones."""
    order = np.argsort(X, axis=0, kind="stable")  # missing values come last and have no mass
    ordered, mass = np.take_along_axis(X, order, axis=0), np.take_along_axis(mass, order, axis=0)
    differs = ordered[1:] != ordered[:-1]
    edge = np.ones((1, X.shape[1]), dtype=bool)
    up_to = np.cumsum(mass, axis=0)
    below = np.maximum.accumulate(np.where(np.vstack([edge, differs]), up_to - mass, 0), axis=0)
    through = np.minimum.accumulate(np.where(np.vstack([differs, edge]), up_to, np.inf)[::-1], axis=0)[::-1]
    ranks = np.empty_like(X)
    np.put_along_axis(ranks, order, (below + through) / 2, axis=0)
    return ranks
