"""Outliers of the target, and rows unlike the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.messages import as_text, counted, first_few, row_numbers

__all__ = ["Seen", "extreme_target", "unlike_training"]


def extreme_target(y: NDArray[np.float64], rows: NDArray[np.int64], name: str) -> str:
    """Return a warning about a few rows that hold nearly all of the target's variation; ``""`` where there are none.

    They hold 90 % of the squared distances from the median, and are at most three rows or 0.2 % of all.

    Parameters
    ----------
    y : array of shape (n,)
        The target.
    rows : array of int of shape (n,)
        Positions of the rows in the file.
    name : str
        Name of the target.
    """
    unit = max(float(np.abs(y).max()), np.finfo(float).tiny)  # squares neither overflow nor vanish
    squares = np.square(y / unit - np.median(y) / unit)
    order = np.argsort(-squares, kind="stable")
    n_few = int(np.argmax(np.cumsum(squares[order]) >= 0.9 * squares.sum())) + 1
    if not squares.any() or n_few > max(3, 0.002 * len(y)) or len(y) <= 2 * n_few:
        return ""
    few, others = np.sort(order[:n_few]), np.sort(y[order[n_few:]])
    values = first_few([as_text(float(value)) for value in dict.fromkeys(y[few])])
    return (
        f"{row_numbers(rows[few])} of {name!r} hold{'s' if n_few == 1 else ''} {values}, where all others lie between "
        f"{as_text(float(others[0]))} and {as_text(float(others[-1]))}: they dominate the squared error. If these are "
        f"mistakes, leave them out: {' '.join(f'--na {value:.15g}' for value in dict.fromkeys(y[few]))}"
    )


@dataclass(frozen=True)
class Seen:
    """What the training rows hold in a column.

    Attributes
    ----------
    name : str
        The column.
    low, high : float or str, optional
        Range of numbers, or of dates in ISO format; None for a category.
    gaps : bool
        Whether values are missing.
    """

    name: str
    low: float | str | None = None
    high: float | str | None = None
    gaps: bool = False

    @classmethod
    def of(cls, column: pd.Series) -> Seen:
        """Return what a column of the training rows holds."""
        name, gaps = str(column.name), bool(column.isna().any())
        if types.is_datetime64_any_dtype(column):
            return cls(name, column.min().isoformat(), column.max().isoformat(), gaps)
        if types.is_numeric_dtype(column) and not isinstance(column.dtype, pd.BooleanDtype):
            return cls(name, float(column.min()), float(column.max()), gaps)
        return cls(name, gaps=gaps)

    @classmethod
    def from_json(cls, value: Any) -> Seen:
        """Return what its attributes are in a model file; raise ValueError for anything else."""
        name, low, high, gaps = value
        pair = (type(low), type(high))
        if (
            not isinstance(name, str)
            or not isinstance(gaps, bool)
            or pair not in ((float,) * 2, (str,) * 2, (type(None),) * 2)
        ):
            raise ValueError(f"{value!r} is no range of a column")
        return cls(name, low, high, gaps)

    @property
    def range(self) -> tuple[Any, Any] | None:
        """The smallest and the largest value."""
        if isinstance(self.low, str) and isinstance(self.high, str):
            return pd.Timestamp(self.low), pd.Timestamp(self.high)
        return None if self.low is None else (self.low, self.high)


def unlike_training(
    X: pd.DataFrame,
    seen: Iterable[Seen],
    levels: Mapping[str, pd.Index],
    rows: NDArray[np.int64],
    *,
    held_out: bool = True,
) -> list[str]:
    """Return warnings about rows that are unlike all training rows, one for each column.

    A value is unlike them if it lies outside their range by more than three times that range, or is a level that none of them
    has, or is missing where none of theirs is.

    Parameters
    ----------
    X : DataFrame
        The rows.
    seen : iterable of Seen
        What the training rows hold in each column.
    levels : mapping of str to Index
        The levels of the columns of categories.
    rows : array of int of shape (n,)
        Positions of the rows of X in the file.
    held_out : bool, default=True
        Whether these rows were held out of the table that the others are from.
    """
    notes = []
    for each in seen:
        new = X[each.name]
        if each.range is not None:
            margin = 3 * (each.range[1] - each.range[0])
            unlike = (new < each.range[0] - margin) | (new > each.range[1] + margin)
        else:
            unlike = new.notna() & ~new.isin(levels[each.name])
        where = np.flatnonzero(unlike.to_numpy())
        if len(where):
            notes.append(_note(each, new.iloc[where], rows[where], held_out=held_out))
        if new.isna().any() and not each.gaps:
            gaps = rows[np.flatnonzero(new.isna().to_numpy())]
            out = ", which were held out," if held_out else ""
            notes.append(f"{each.name!r} is missing in {row_numbers(gaps)}{out} and in no training row")
    return notes


def _note(seen: Seen, new: pd.Series, rows: NDArray[np.int64], *, held_out: bool) -> str:
    values = first_few([as_text(value) for value in dict.fromkeys(new)])
    was = "was" if len(rows) == 1 else "were"
    out = f", which {was} held out," if held_out else ""
    if seen.range is not None:
        between = f"between {as_text(seen.range[0])} and {as_text(seen.range[1])}"
        what = "scores" if held_out else "predictions"
        return (
            f"{seen.name!r} is {values} in {row_numbers(rows)}{out} and {between} in the training rows: {what} may depend on "
            "that. Check it, or mark it as missing with --na"
        )
    return (
        f"{counted(len(rows), 'row')}{f' that {was} held out' if held_out else ''} ({row_numbers(rows)}) "
        f"{'holds a level' if len(rows) == 1 else 'hold levels'} of {seen.name!r} that no training row has: {values}. "
        f"{'It is' if len(rows) == 1 else 'They are'} treated as an average level"
    )
