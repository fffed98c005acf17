"""Targets of classification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.check.naming import named


def known(y: Any) -> None:
    """Refuse a target with gaps, and say in which rows."""
    if not isinstance(y, pd.Series | pd.DataFrame | np.ndarray):
        return
    missing = np.asarray(pd.isna(y))
    if not missing.any():
        return
    rows = np.flatnonzero(missing.any(axis=1) if missing.ndim == 2 else missing)
    listed = ", ".join(map(str, rows[:6])) + (f" and {len(rows) - 6:,} more" if len(rows) > 6 else "")
    first = np.asarray(y, dtype=object)[missing][0]
    raise ValueError(
        f"Input y contains NaN: {len(rows):,} of its {len(missing):,} values are missing ({first!r}), at positions {listed}; "
        "leave these rows out of X and y"
    )


def plain(y: Any) -> Any:
    """Return a list as an array; refuse a target of which no array can be made."""
    try:
        given = np.asarray(y)
    except ValueError:
        raise ValueError("y must have as many values in each row; it is a list of lists of several lengths") from None
    return given if isinstance(y, list | tuple) else y


def quantities(y: Any, who: str) -> None:
    """Refuse text, dates and other things in the place of numbers."""
    given = np.asarray(y)
    if given.dtype.kind in "mM":
        raise ValueError(f"{who} predicts numbers, and y holds {given.dtype}: turn dates and durations into days")
    if given.dtype.kind not in "USO":
        return
    for value in given.flat:
        try:
            float(value)
        except (TypeError, ValueError):
            what = f"text, such as {str(value)[:40]!r}: use a classifier for classes" if isinstance(value, str) else ""
            what = what or f"a {type(value).__name__}, {str(value)[:40]}: give one number for each sample"
            raise ValueError(f"{who} predicts numbers, and y holds {what}") from None


def comparable(y: Any) -> None:
    """Refuse labels of several types, which have no order."""
    given = np.asarray(y)
    if given.dtype != object or given.ndim != 1:
        return
    try:
        sorted(set(given.tolist()))
    except TypeError as error:
        raise ValueError(f"y must hold labels of one kind, such as text or whole numbers: {error}") from None


def labels(y: NDArray[Any]) -> NDArray[Any]:
    """Refuse words mixed with gaps or with numbers, which have no order."""
    words = [isinstance(v, str) for v in y] if y.dtype == object else []
    if any(words) and not all(words):
        other = y[words.index(False)]
        raise ValueError(f"y must hold labels of one kind, without missing ones; it holds words and {other!r}")
    return y


_MANY_CLASSES = 20  # more numbers than this, with some of a single sample, are a quantity


def class_counts(classes: NDArray[Any], codes: NDArray[np.int64], *, splits: bool) -> None:
    """Refuse labels that cannot be learnt from, or cannot be split into training and validation samples."""
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least two classes; the rows with a weight hold 1 class: {classes.tolist()[0]!r}"
        )
    counts = np.bincount(codes, minlength=len(classes))
    rare = classes[counts < 2]
    if splits and len(rare) and classes.dtype.kind in "iuf" and 2 * len(classes) > min(len(codes), 2 * _MANY_CLASSES):
        raise ValueError(
            f"y holds {len(classes)} different numbers in {len(codes)} rows, {len(rare)} of them once: it looks like a "
            "quantity, which a regressor (LassoNetRegressor) predicts; merge numbers into classes to classify"
        )
    if splits and len(rare):
        raise ValueError(
            f"class {rare.tolist()[0]!r} has only one row, which cannot be both trained on and validated on; drop or merge "
            "rare classes, pass X_val and y_val, or use val_size=0"
        )


def is_table(y: Any) -> bool:
    """Say whether y has several columns."""
    return np.ndim(y) == 2 and np.shape(y)[1] > 1


def indicator(y: Any) -> NDArray[Any]:
    """Check a table of labels that are there, 1, or not, 0."""
    table = np.asarray(y)
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise ValueError(
            f"y has {table.shape[1]} columns and holds other numbers than 0 and 1: a classifier takes one column of classes, "
            "as a 1d array, or a table of 0/1 labels"
        )
    return table


def label_values(table: NDArray[np.float64]) -> None:
    """Refuse labels that all training samples have, or that none has."""
    constant = np.flatnonzero((table == table[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"every label needs rows with and without it to train on; label {named(constant, None)} is "
            f"{table[0, constant[0]]:g} in all of them: drop it, or use another random_state or a smaller val_size"
        )
