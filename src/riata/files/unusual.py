"""Outliers of the target, and held-out rows unlike the training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.messages import as_text, counted, first_few, row_numbers

__all__ = ["extreme_target", "unlike_training"]


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


def unlike_training(
    X: pd.DataFrame, fit: NDArray[np.int64], held_out: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[str]:
    """Return warnings about held-out rows that are unlike all training rows, one for each column.

    A value is unlike them if it lies outside their range by more than three times that range, or is a level that none of them
    has, or is missing where none of theirs is.

    Parameters
    ----------
    X : DataFrame
        All rows.
    fit, held_out : array of int
        Positions of the training rows, and of the held-out rows.
    rows : array of int of shape (n,)
        Positions of the rows of X in the file.
    """
    notes = []
    for name in X:
        known, new = X[name].iloc[fit], X[name].iloc[held_out]
        ordered = types.is_numeric_dtype(new) or types.is_datetime64_any_dtype(new)
        unlike = (
            _far_outside(known, new) if ordered and not types.is_bool_dtype(new) else new.notna() & ~new.isin(known)
        )
        if unlike.any():
            where = np.flatnonzero(unlike.to_numpy())
            notes.append(_note(str(name), known, new.iloc[where], rows[held_out[where]], ordered=ordered))
        if new.isna().any() and not known.isna().any():
            where = rows[held_out[np.flatnonzero(new.isna().to_numpy())]]
            notes.append(f"{name!r} is missing in {row_numbers(where)}, which were held out, and in no training row")
    return notes


def _far_outside(known: pd.Series, new: pd.Series) -> pd.Series[bool]:
    low, high = known.min(), known.max()
    margin = 3 * (high - low)
    outside: pd.Series[bool] = (new < low - margin) | (new > high + margin)
    return outside


def _note(name: str, known: pd.Series, new: pd.Series, rows: NDArray[np.int64], *, ordered: bool) -> str:
    values = first_few([as_text(value) for value in dict.fromkeys(new)])
    if ordered:
        between = f"between {as_text(known.min())} and {as_text(known.max())}"
        return (
            f"{name!r} is {values} in {row_numbers(rows)}, which {'was' if len(rows) == 1 else 'were'} held out, and "
            f"{between} in the training rows: scores may depend on that. Check it, or mark it as missing with --na"
        )
    return (
        f"{counted(len(rows), 'row')} that {'was' if len(rows) == 1 else 'were'} held out ({row_numbers(rows)}) hold levels of "
        f"{name!r} that no training row has: {values}. They are treated as an average level"
    )
