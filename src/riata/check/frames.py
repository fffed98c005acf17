"""Data frames become tables of numbers: dates into days, objects into floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.check.naming import some
from riata.check.table import as_table


def numeric_frame(X: Any, who: str, *, dates: bool = True) -> Any:
    """Turn the columns of a data frame into numbers: dates into days since 1970, and objects such as pd.NA into floats.

    Columns that hold other things are named in the error; without ``dates``, these are among them.
    """
    X = as_table(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and _holds_words(X):
        raise ValueError(
            f"{who} needs numbers; X is an array with text: give a data frame, whose columns of text are categories where it "
            "takes them, or encode them first"
        )
    if hasattr(X, "to_pandas") and holds_dates(X):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    columns = {i: X.iloc[:, i] for i in _not_numbers(X)}
    odd = [f"{X.columns[i]!r} ({column.dtype})" for i, column in columns.items() if _is_odd(column)]
    if odd:
        raise ValueError(
            f"{who} needs numbers; there are cells of another kind in {', '.join(odd[:10])}: drop or convert them"
        )
    when = [i for i, column in columns.items() if _is_date(column)]
    if when and not dates:
        found = some([X.columns[i] for i in when])
        raise ValueError(f"{who} needs numbers; there are dates in {found}: drop these columns, or turn them into days")
    numeric, others = {i: _days(columns[i]) for i in when}, []
    for i, column in columns.items():
        if i not in numeric and str(column.dtype).startswith(("object", "str", "category")):
            try:
                numeric[i] = column.astype(object).where(column.notna(), math.nan).astype(np.float64)
            except (TypeError, ValueError):
                others.append(X.columns[i])
    if others:
        raise ValueError(
            f"{who} needs numbers; there is text in {some(others)}: drop these columns, or encode them first"
        )
    return _replaced(X, numeric) if numeric else X


def holds_dates(X: Any) -> bool:
    """Say whether a data frame, of pandas or polars, has columns of dates."""
    if isinstance(X, pd.DataFrame):
        return any(_is_date(X.iloc[:, i]) for i in _not_numbers(X))
    return hasattr(X, "to_pandas") and any(str(dtype).startswith(("Date", "Duration")) for dtype in X.dtypes)


def _is_odd(column: pd.Series) -> bool:
    return column.dtype.kind == "c" or isinstance(column.dtype, pd.IntervalDtype)


def _not_numbers(X: pd.DataFrame) -> list[int]:
    """Return the positions of columns that are not of a plain type of numbers; looking into each would take long."""
    return [i for i, dtype in enumerate(X.dtypes) if dtype.kind not in "biuf"]


def _is_date(column: pd.Series) -> bool:
    objects = pd.api.types.is_object_dtype(column.dtype)
    kind = pd.api.types.infer_dtype(column, skipna=True) if objects else str(column.dtype)
    return kind.startswith(("date", "timedelta", "period"))


def _days(column: Any) -> pd.Series:
    """Return dates as days since the beginning of 1970, in UTC where they have a zone, and durations as days."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if pd.api.types.is_object_dtype(column.dtype):
        lasts = pd.api.types.infer_dtype(column, skipna=True).startswith("timedelta")
        column = pd.to_timedelta(column) if lasts else pd.to_datetime(column)
    if not pd.api.types.is_timedelta64_dtype(column):
        column = (column.dt.tz_convert(None) if column.dt.tz is not None else column) - pd.Timestamp("1970-01-01")
    days: pd.Series = (column / pd.Timedelta(days=1)).astype(np.float64)
    return days


def _replaced(X: pd.DataFrame, columns: Mapping[int, Any]) -> pd.DataFrame:
    X = X.copy(deep=False)
    for i, column in columns.items():
        X.isetitem(i, column)
    return X


def _holds_words(X: NDArray[Any]) -> bool:
    return X.dtype.kind in "US" or (X.dtype.kind == "O" and any(isinstance(value, str) for value in X.flat))
