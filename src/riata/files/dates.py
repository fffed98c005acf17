"""Columns of dates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.api import types

from riata.files.columns import Column, invalid_cells, make_column, nearly_all_valid
from riata.files.convert import to_dates
from riata.files.messages import TableError

__all__ = ["date_column", "from_text", "read_dates"]


def from_text(column: pd.Series) -> Column | None:
    """Read text as dates if nearly all cells are; else None."""
    filled = column.dropna()
    sample = filled.iloc[:: max(1, len(filled) // 200)]
    if to_dates(sample.tolist()).unknown.mean() > 0.5:  # most text is no date, and need not be read as a whole
        return None
    levels = np.asarray(pd.unique(filled), dtype=object)
    invalid = set(levels[to_dates(levels.tolist()).unknown])
    valid = nearly_all_valid(len(filled), int(filled.isin(invalid).sum()), len(invalid))
    return date_column(column) if valid else None


def date_column(column: pd.Series) -> Column:
    """Return a column of dates, with missing values where a cell is no date."""
    name = str(column.name)
    values, remark, day_first = read_dates(column)
    if not values.notna().any():
        raise TableError(f"--dates {name}: no cell of it is a date such as 2026-01-31 or 31.1.2026")
    invalid = column[values.isna() & column.notna()]
    first, last = values.min(), values.max()
    if first == last and values.notna().all():
        return make_column(values, "constant", f"every cell is {first}")
    remark = "; ".join(filter(None, (remark, invalid_cells(invalid, "a date"))))
    found = make_column(values, "date", f"{first:%Y-%m-%d} to {last:%Y-%m-%d}", remark, invalid)
    return replace(found, day_first=day_first)


def read_dates(column: pd.Series, day_first: bool | None = None) -> tuple[pd.Series, str, bool | None]:
    """Return dates without a zone; of text, how day and month were told apart, and whether the day comes first."""
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp(), "", None
    if types.is_datetime64_any_dtype(column):
        return (column.dt.tz_convert(None) if column.dt.tz is not None else column), "", None
    if types.infer_dtype(column, skipna=True).startswith("date"):
        return pd.to_datetime(column), "", None
    whole = types.is_numeric_dtype(column) and bool((column.dropna() % 1 == 0).all())
    cells = column.dropna().astype("int64") if whole else column.dropna()
    codes, levels = pd.factorize(cells)
    found = to_dates([str(level) for level in levels], digits=True, day_first=day_first)
    values = pd.Series(pd.NaT, column.index, name=str(column.name), dtype=found.values.dtype)
    values.loc[cells.index] = found.values[codes]
    return values, found.remark, found.day_first
