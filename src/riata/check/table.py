"""Samples must be a table: what is none is refused before anything is read from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riata.check.naming import some

__all__ = ["as_table"]


def as_table(X: Any, name: str = "X") -> Any:
    """Refuse a file name, a mapping, rows of several lengths, and columns without or with equal names.

    What is masked in a masked array becomes NaN.
    """
    if isinstance(X, str | bytes | os.PathLike):
        raise ValueError(
            f"{name} must be a table; it is the text {str(X)[:80]!r}: read a file with riata.read_table first"
        )
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # one kind of sparse matrix is a mapping
        raise ValueError(
            f"{name} must be a table; it is a {type(X).__name__}: make it a data frame, pandas.DataFrame({name})"
        )
    if isinstance(X, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(X.dtype if X.dtype.kind == "f" else np.float64))
    if isinstance(X, Sequence):
        _check_rows(X, name)
    if isinstance(X, pd.DataFrame):
        _check_names(X, name)
    return X


def _check_rows(X: Sequence[Any], name: str) -> None:
    widths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in X]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        first, other = (f"{w} values" if w >= 0 else "one value" for w in (widths[0], widths[odd]))
        raise ValueError(f"the rows of {name} must have as many values each: row 0 has {first}, row {odd} has {other}")


def _check_names(X: pd.DataFrame, name: str) -> None:
    if not X.shape[1]:
        raise ValueError(f"{name} has no columns: there are no features to fit")
    twice = X.columns[X.columns.duplicated()].unique().tolist()
    if twice:
        raise ValueError(
            f"the columns of {name} must have names that differ; found several of {some(twice)}: rename them"
        )
