"""Rows that decide a result by themselves, and rows unlike those that a model was trained on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.messages import counted, rows_of, shown, some

__all__ = ["extreme_target", "unlike_training"]

_MOST = 0.9  # share of the squares of a target, around its median, that a few rows hold
_FEW = 0.002  # share of rows that are few; three always are
_FAR = 3  # ranges of the training rows beyond their range


def extreme_target(y: NDArray[np.float64], rows: NDArray[np.int64], name: str) -> str:
    """Warn of a few rows that hold nearly all of the target's variation; nothing where there are none.

    Parameters
    ----------
    y : array of shape (n,)
        The target.
    rows : array of int of shape (n,)
        Positions of the rows in the file.
    name : str
        What the target is called.
    """
    unit = max(float(np.abs(y).max()), np.finfo(float).tiny)  # squares neither overflow nor vanish
    squares = np.square(y / unit - np.median(y) / unit)
    order = np.argsort(-squares, kind="stable")
    most = np.cumsum(squares[order]) >= _MOST * squares.sum()
    n_few = int(np.argmax(most)) + 1
    if not squares.any() or n_few > max(3, _FEW * len(y)) or len(y) <= 2 * n_few:
        return ""
    few, others = np.sort(order[:n_few]), np.sort(y[order[n_few:]])
    values = some([shown(float(value)) for value in dict.fromkeys(y[few])])
    return (
        f"{rows_of(rows[few])} of {name!r} hold{'s' if n_few == 1 else ''} {values}, where all others lie between "
        f"{shown(float(others[0]))} and {shown(float(others[-1]))}: squared errors say little of other rows. If these are "
        f"errors, leave them out: {' '.join(f'--na {value:.15g}' for value in dict.fromkeys(y[few]))}"
    )


def unlike_training(
    X: pd.DataFrame, fit: NDArray[np.int64], held_out: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[str]:
    """Warn of held-out rows that are unlike all rows a model was trained on, column by column.

    Parameters
    ----------
    X : DataFrame
        All rows.
    fit, held_out : array of int
        Positions of the rows to train on, and of those to score with.
    rows : array of int of shape (n,)
        Positions of the rows of X in the file.
    """
    notes = []
    for name in X:
        seen, new = X[name].iloc[fit], X[name].iloc[held_out]
        ordered = types.is_numeric_dtype(new) or types.is_datetime64_any_dtype(new)
        found = (_far_off if ordered and not types.is_bool_dtype(new) else _unknown)(seen, new)
        if found.any():
            where = np.flatnonzero(found.to_numpy())
            notes.append(_note(str(name), seen, new.iloc[where], rows[held_out[where]], ordered=ordered))
        if new.isna().any() and not seen.isna().any():
            where = rows[held_out[np.flatnonzero(new.isna().to_numpy())]]
            notes.append(f"{name!r} is missing in {rows_of(where)}, which were held out, and in no row to train on")
    return notes


def _far_off(seen: pd.Series, new: pd.Series) -> pd.Series:
    low, high = seen.min(), seen.max()
    margin = _FAR * (high - low)
    return (new < low - margin) | (new > high + margin)


def _unknown(seen: pd.Series, new: pd.Series) -> pd.Series:
    return new.notna() & ~new.isin(seen)


def _note(name: str, seen: pd.Series, new: pd.Series, rows: NDArray[np.int64], *, ordered: bool) -> str:
    values = some([shown(value) for value in dict.fromkeys(new)])
    if ordered:
        between = f"between {shown(seen.min())} and {shown(seen.max())}"
        return (
            f"{name!r} is {values} in {rows_of(rows)}, which {'was' if len(rows) == 1 else 'were'} held out, and {between} in "
            "the rows to train on: scores may hinge on that. Check it, or mark it as missing with --na"
        )
    return (
        f"{counted(len(rows), 'row')} that {'was' if len(rows) == 1 else 'were'} held out ({rows_of(rows)}) hold levels of "
        f"{name!r} that no row to train on has: {values}. They count as average rows"
    )
