"""Columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.evidence.curves import brief
from riata.files.columns import Column, invalid_cells, make_column, nearly_all_valid
from riata.files.convert import to_numbers, unit_of
from riata.files.messages import TableError, as_text, flags

__all__ = ["are_whole", "from_text", "number_column", "read_numbers", "target_numbers"]

Floats = NDArray[np.float64]


def from_text(column: pd.Series, decimal: str) -> Column | None:
    """Read text as numbers if nearly all cells are, with the decimal sign of the file or the other one; else None.

    Digits with a leading zero are codes, not numbers.
    """
    if column.dropna().str.fullmatch(r"0\d+").any():
        return None
    column, unit = _without_unit(column)
    filled = column.dropna()
    for sign in (decimal, "," if decimal == "." else "."):
        invalid = filled[np.isnan(_converted(filled, partial(to_numbers, decimal=sign)))]
        if nearly_all_valid(len(filled), len(invalid), invalid.str.strip().nunique()):
            found = number_column(column, sign)
            return replace(found, use=f"{found.use}; the unit {unit!r} is ignored", unit=unit) if unit else found
    return None


def number_column(column: pd.Series, decimal: str, *, on_request: bool = False) -> Column:
    """Return a column of numbers, with missing values where a cell is no number.

    On request (``--numeric``) it is neither an identifier nor without any number.
    """
    name = str(column.name)
    if types.is_timedelta64_dtype(column):
        column = column.dt.total_seconds() / 86_400  # days
    if types.is_bool_dtype(column):
        return make_column(column.astype(bool), "number", "true or false")
    unit = ""
    if on_request and not types.is_numeric_dtype(column):
        column, unit = _without_unit(column.astype(object).map(str, na_action="ignore"))
    values = _floats(column, decimal)
    invalid = column[np.isnan(values) & column.notna().to_numpy()]
    if on_request and np.isnan(values).all():
        example = as_text(column.dropna().iloc[0]) if column.notna().any() else "nothing"
        raise TableError(f"--numeric {name}: no cell of it is a number; the first holds {example}")
    known = values[~np.isnan(values)]
    integers = types.is_integer_dtype(column) and not column.isna().any() and not len(invalid)
    stored = column if integers else pd.Series(values, column.index, name=name)
    if not on_request and are_whole(known) and _identifies_rows(known, name):
        return make_column(
            stored, "identifier", f"{len(known):,} different numbers", f"keep it with {flags('--numeric', [name])}"
        )
    n_distinct = len(np.unique(known))
    if n_distinct == 1 and len(known) == len(values):
        return make_column(stored, "constant", f"every cell is {as_text(known[0])}")
    holds = f"{n_distinct:,} different, {brief(known.min(), 4)} to {brief(known.max(), 4)}" if n_distinct else ""
    remark = "; ".join(filter(None, (invalid_cells(invalid, "a number"), _missing_code(known))))
    return replace(make_column(stored, "number", holds, remark, invalid), unit=unit)


def read_numbers(column: pd.Series, decimal: str, unit: str = "") -> pd.Series:
    """Read cells as numbers, with the decimal sign of the file or the other one; missing where a cell is none."""
    if types.is_timedelta64_dtype(column):
        column = column.dt.total_seconds() / 86_400  # days
    if types.infer_dtype(column, skipna=True) == "boolean":
        column = column.astype(object).map({True: 1.0, False: 0.0})
    if types.is_numeric_dtype(column):
        return pd.Series(_floats(column, decimal), column.index, name=column.name)
    cells = column.astype(object).map(lambda cell: str(cell).strip().removesuffix(unit).rstrip(), na_action="ignore")
    found = [_floats(cells, sign) for sign in (decimal, "," if decimal == "." else ".")]
    best = min(found, key=lambda values: int(np.isnan(values).sum()))  # of equals that of the file
    return pd.Series(best, column.index, name=column.name)


def target_numbers(column: pd.Series) -> Column:
    """Return a target that is stored as numbers."""
    floats = column.to_numpy(dtype=float, na_value=np.nan)
    return make_column(column, "number", "", _missing_code(floats[np.isfinite(floats)]))


def are_whole(values: Floats) -> bool:
    """Whether there are values and all are whole numbers below 2^53, up to which every whole number is a float."""
    return bool(len(values)) and bool((values % 1 == 0).all()) and bool(np.abs(values).max() < 2**53)


def _without_unit(column: pd.Series) -> tuple[pd.Series, str]:
    """Remove the unit that at least 95 % of the cells share, such as mg, and return it; ``""`` where there is none."""
    units = column.dropna().map(unit_of)
    common = units.value_counts().index[0] if len(units) else ""
    if not common or common == "%" or (units == common).mean() < 0.95:
        return column, ""
    return column.map(lambda cell: str(cell).removesuffix(common).rstrip(), na_action="ignore"), common


def _missing_code(known: Floats) -> str:
    """Report an extreme number, such as -99, that may stand for missing values.

    It occurs at least twice, and lies farther from the others (of which five or more differ) than their range.
    """
    for extreme in (known.min(), known.max()) if len(known) else ():
        others, n = known[known != extreme], int((known == extreme).sum())
        if n < 2 or len(np.unique(others)) < 5:
            continue
        if np.abs(others - extreme).min() > np.ptp(others):
            code = as_text(extreme)
            return f"{n:,} cells are {code}, far from all others: if that stands for missing, --na {code}"
    return ""


def _floats(column: pd.Series, decimal: str) -> Floats:
    """Return numbers; NaN for missing, invalid and infinite cells."""
    if types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        text = column.astype(object).map(str, na_action="ignore")
        values = np.full(len(text), np.nan)
        known = text.notna().to_numpy()
        values[known] = _converted(text[known], partial(to_numbers, decimal=decimal))
    return np.where(np.isfinite(values), values, np.nan)


def _converted(cells: pd.Series, convert: Callable[[Sequence[str]], Any]) -> Any:
    """Convert every distinct cell once."""
    codes, levels = pd.factorize(cells)
    return np.asarray(convert([str(level) for level in levels]))[codes]


def _identifies_rows(known: Floats, name: str) -> bool:
    """Whether distinct whole numbers only identify rows: consecutive ones, or in a column named id, index and so on."""
    steps = np.diff(np.sort(known))
    named = re.fullmatch(r"(?i)(.*[ _.-])?(id|uuid|guid|index|row|rowid|record)|unnamed: \d+|.*[a-z](Id|ID)|", name)
    return len(known) > 2 and bool((steps > 0).all()) and (bool((steps == 1).all()) or bool(named))
