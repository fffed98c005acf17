"""What a column of a table holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.tables.wording import TableError, counted, drop_option

MIN_ROWS = 10  # fewer cannot be split into rows to train on, to validate on and to score with


def kind_of(column: pd.Series) -> str:
    """Return whether a column holds a ``number``, ``text`` or something ``other``."""
    if isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype):
        return "text"
    if types.is_bool_dtype(column) or (types.is_numeric_dtype(column) and not types.is_complex_dtype(column)):
        return "number"
    if not types.is_object_dtype(column):
        return "other"
    inferred = types.infer_dtype(column, skipna=True)
    if inferred in ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return "number"
    return "text" if inferred == "string" or _only_text_and_numbers(column) else "other"


def _only_text_and_numbers(column: pd.Series) -> bool:
    return all(isinstance(value, str | bool | int | float | np.number) for value in column.dropna())


def describe(column: pd.Series) -> str:
    """Say what a column holds that is neither numbers nor text."""
    inferred = types.infer_dtype(column, skipna=True)
    return "dates" if inferred.startswith(("date", "timedelta")) else f"values of type {column.dtype}"


def numbers(column: pd.Series) -> NDArray[np.float64]:
    """Return a column's numbers, NaN for gaps; infinite ones are refused."""
    values = column.to_numpy(dtype=float, na_value=np.nan)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise TableError(
            f"{column.name!r} has {counted(infinite, 'infinite value')}: replace them, or leave it out: "
            f"{drop_option([str(column.name)])}"
        )
    return values


def row_number_notes(column: pd.Series, values: NDArray[np.float64]) -> list[str]:
    """Point out a column that only numbers the rows."""
    if not types.is_integer_dtype(column) or not (np.diff(np.sort(values)) == 1).all():
        return []
    name = str(column.name)
    return [f"{name!r} numbers the rows; if it is no feature, leave it out: {drop_option([name])}"]


def odd_levels(levels: Sequence[str]) -> list[str]:
    """Return the levels that are no numbers, if most of the others are."""
    numeric = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce").notna().to_numpy()
    return (
        [level for level, number in zip(levels, numeric, strict=True) if not number]
        if 2 * numeric.sum() > len(levels)
        else []
    )
