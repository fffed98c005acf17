"""One pass over all rows: which are drawn to learn from, and what must hold for every row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riata.check.naming import named
from riata.sources.rows import Rows, numbers

__all__ = ["Survey", "steps", "survey"]

_ENTRIES = 2**22  # of a block
Ids = NDArray[np.int64]


class Survey(NamedTuple):
    """What one pass found."""

    drawn: NDArray[np.floating]  # the rows that were asked for
    varies: NDArray[np.bool_]  # which columns hold different numbers
    gaps: NDArray[np.bool_]  # which columns lack some


def steps(table: Rows) -> Iterator[tuple[int, int]]:
    """Return blocks of a table one after another, each of a few million entries, as first row and row after the last."""
    most = max(_ENTRIES // max(table.shape[1], 1), 1)
    edges = table.edges(most).tolist()
    for start, stop in pairwise(edges):
        for first in range(start, stop, 4 * most):  # where a block of the file is far larger
            yield first, min(first + 4 * most, stop)


def survey(table: Rows, positions: Ids, *, allow_gaps: bool) -> Survey:
    """Read all rows once; refuse infinite numbers, and missing ones unless they are allowed.

    Parameters
    ----------
    table : Rows
        The table.
    positions : int array
        Increasing positions of the rows to return.
    allow_gaps : bool
        Whether numbers may be missing.
    """
    n_columns = table.shape[1]
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    gaps = np.zeros(n_columns, dtype=bool)
    drawn = None
    for start, stop in steps(table):
        block = table.rows(start, stop)
        known = _Extremes.of(numbers(block))
        _refuse(known, allow_gaps, table, start, stop)
        gaps |= known.gaps
        low, high = np.fmin(low, known.low), np.fmax(high, known.high)
        here = slice(*np.searchsorted(positions, [start, stop]))
        if drawn is None:
            drawn = np.empty((len(positions), n_columns), dtype=numbers(block[:0]).dtype)
        drawn[here] = block[positions[here] - start]
    if drawn is None:
        raise ValueError(f"X has no rows: its shape is {table.shape}")
    found = Survey(drawn, low < high, gaps)
    _warn(found, table)
    return found


class _Extremes(NamedTuple):
    """Of the columns of a block."""

    low: NDArray[Any]
    high: NDArray[Any]
    gaps: NDArray[np.bool_]

    @classmethod
    def of(cls, block: NDArray[np.floating]) -> _Extremes:
        low, high = block.min(axis=0), block.max(axis=0)
        gaps = np.isnan(low)
        if gaps.any():
            low[gaps] = np.fmin.reduce(block[:, gaps], axis=0)
            high[gaps] = np.fmax.reduce(block[:, gaps], axis=0)
        return cls(low, high, gaps)


def _refuse(known: _Extremes, allow_gaps: bool, table: Rows, start: int, stop: int) -> None:
    infinite = np.isinf(known.low) | np.isinf(known.high)
    for what, found in (("infinity", infinite), ("NaN", known.gaps & (not allow_gaps))):
        if found.any():
            columns = _listed(found, table)
            raise ValueError(f"Input X contains {what}: between rows {start:,} and {stop:,}, in column {columns}")


def _warn(found: Survey, table: Rows) -> None:
    """Name the columns that cannot be learnt from."""
    drawn = found.drawn
    lost = found.varies & ~(np.fmin.reduce(drawn, axis=0) < np.fmax.reduce(drawn, axis=0))
    if lost.any():
        columns = _listed(lost, table)
        warnings.warn(
            f"{np.count_nonzero(lost):,} columns hold one number in all of the {len(drawn):,} rows that were drawn to learn "
            f"from, and others so rarely that they cannot be selected: {columns}",
            UserWarning,
            stacklevel=2,
        )


def _listed(columns: NDArray[np.bool_], table: Rows) -> str:
    return named(np.flatnonzero(columns), None if table.names is None else np.array(table.names, dtype=object))
