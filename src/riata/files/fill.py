"""From a table with gaps to numbers to impute, and back to the table with its gaps filled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.columns import Column, ColumnOptions
from riata.files.convert import decimal_of
from riata.files.kinds import kinds
from riata.files.messages import TableError, as_text, counted, first_few, flags
from riata.files.read import Source
from riata.files.table import MIN_ROWS

__all__ = ["Fillable", "prepare_to_fill"]

# What is before the number of a cell, the number, and what is behind it.
_NUMBER = re.compile(r"([^-+\u2212\d.,]*)([-+\u2212]?[\d.,'\s]*\d(?:[eE][-+]?\d+)?)(.*)")
_EPOCH = pd.Timestamp("1970-01-01")


@dataclass(frozen=True, eq=False)
class Fillable:
    """A table whose numbers, dates and flags have gaps.

    Attributes
    ----------
    frame : DataFrame
        The table as it was read.
    columns : tuple of Column
        Its columns and their kinds.
    X : DataFrame
        Columns of numbers, of dates (as days) and of true and false (as 1 and 0), as floats; NaN where there is a gap.
    decimal, sep : str
        The decimal sign, and the separator of fields, in text.
    empty : tuple of str
        Columns without a single value.
    unused : tuple of str
        Columns that are neither filled nor used to fill others.
    notes : tuple of str
        Decisions that a user should know.
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    X: pd.DataFrame
    decimal: str
    sep: str
    empty: tuple[str, ...]
    unused: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def n_gaps(self) -> int:
        """How many entries can be filled."""
        return int(self.gaps.to_numpy().sum())

    @property
    def gaps(self) -> pd.DataFrame:
        """Which entries are to be filled: those of empty cells. An invalid cell stays as it is."""
        gaps = self.X.isna()
        for column in self.columns:
            if column.name in gaps:
                gaps.loc[column.invalid.index, column.name] = False
        return gaps

    def filled(self, estimates: NDArray[np.float64], text: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the table with its gaps filled and everything else as it is.

        Whole numbers are filled with whole numbers, true and false with true or false, and dates with dates.

        Parameters
        ----------
        estimates : array with the shape of X
            An estimate of every entry; only those of gaps are used.
        text : DataFrame, optional
            The same table as text, see :func:`riata.files.read_text`. Then text is returned, and every other cell stays as it
            was written: ``1.50`` does not become ``1.5``.

        Returns
        -------
        DataFrame
            Columns as they were, without gaps.
        """
        result = (self.frame if text is None else text).copy()
        positions, all_gaps = {column.name: j for j, column in enumerate(self.columns)}, self.gaps
        for name, estimate in zip(self.X.columns, estimates.T, strict=True):
            gaps = all_gaps[name].to_numpy()
            if not gaps.any():
                continue
            column, j = self.columns[positions[name]], positions[name]
            values = _of_its_kind(column, estimate[gaps])
            if text is None and column.unit:
                cells = self.frame.iloc[:, j].to_numpy(dtype=object).copy()
                cells[gaps] = _written(column, values, cells[column.values.notna()], self.decimal)
                result.isetitem(j, cells)
            elif text is None and len(column.invalid):
                result.isetitem(j, _filled_text(self.frame.iloc[:, j], values, gaps))
            elif text is None:
                result.isetitem(j, _filled(column, self.frame.iloc[:, j], values, gaps))
            else:
                cells = text.iloc[:, j].to_numpy(dtype=object).copy()
                cells[gaps] = _written(column, values, cells[column.values.notna()], self.decimal)
                result.isetitem(j, cells)
        return result


def _is_flag(column: Column) -> bool:
    return types.infer_dtype(column.values, skipna=True) == "boolean"


def _is_whole(column: Column) -> bool:
    return column.kind == "number" and bool((column.values.dropna() % 1 == 0).all())


def _of_its_kind(column: Column, estimates: NDArray[np.float64]) -> NDArray[Any]:
    """Turn estimates into values of the column's kind."""
    if _is_flag(column):
        return estimates >= 0.5
    if column.kind == "date":
        known = column.values.dropna()
        unit = "D" if (known == known.dt.normalize()).all() else "s"
        return np.array(list((_EPOCH + pd.to_timedelta(estimates, unit="D")).round(unit)), dtype=object)
    return np.rint(estimates) if _is_whole(column) else estimates


def _filled(column: Column, given: pd.Series, values: NDArray[Any], gaps: NDArray[np.bool_]) -> Any:
    """Return a column without gaps, with the type it had where that type holds the values."""
    full = column.values.astype(object).reset_index(drop=True)
    full[gaps] = values
    if _is_flag(column):
        dtype: Any = "boolean" if isinstance(given.dtype, pd.BooleanDtype) else bool
    elif column.kind == "date":
        dtype = column.values.dtype
    else:
        dtype = given.dtype if types.is_float_dtype(given) or types.is_integer_dtype(given) else float
    return pd.Series(full.to_list(), given.index, dtype=dtype, name=given.name)


def _filled_text(given: pd.Series, values: NDArray[Any], gaps: NDArray[np.bool_]) -> Any:
    """Return a column that holds text beside its numbers without gaps, as text."""
    cells = given.to_numpy(dtype=object).copy()
    cells[gaps] = [str(value) for value in values]
    return cells


def _written(column: Column, values: NDArray[Any], known: NDArray[np.object_], decimal: str) -> list[str]:
    """Write values in the format of the known cells."""
    if _is_flag(column):
        filled = column.values.dropna().astype(bool).to_numpy()
        words = {
            flag: str(known[np.argmax(filled == flag)]) if (filled == flag).any() else str(flag)
            for flag in (True, False)
        }
        return [words[bool(value)] for value in values]
    if column.kind == "date":
        return pd.DatetimeIndex(values).strftime(_format_of(column, known) or "%Y-%m-%d").tolist()
    written = [match for cell in known if (match := _NUMBER.fullmatch(str(cell)))]
    before, behind = _around(written)
    if _is_whole(column) and not any("." in match[2] or "," in match[2] for match in written):
        return [f"{before}{int(value)}{behind}" for value in values]
    decimal = decimal_of([match[2] for match in written], decimal)
    digits = max((len(match[2].partition(decimal)[2]) for match in written), default=6)
    return [f"{before}{f'{value:.{digits}f}'.replace('.', decimal)}{behind}" for value in values.tolist()]


def _around(written: Sequence[re.Match[str]]) -> tuple[str, str]:
    """Return what most cells have before and behind their number, such as a currency and a unit."""
    common = Counter((match[1], match[3]) for match in written).most_common(1)
    return common[0][0] if common and not set("()") & set("".join(common[0][0])) else ("", "")


def _format_of(column: Column, known: NDArray[np.object_]) -> str | None:
    """Return the format in which all dates of a column are written; None where it is none of the usual ones."""
    dates = column.values.dropna().dt
    formats = (
        date + time
        for time in ("", " %H:%M:%S", "T%H:%M:%S", " %H:%M")
        for date in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
    )
    return next((format_ for format_ in formats if (dates.strftime(format_).to_numpy() == known).all()), None)


# ---- preparing ------------------------------------------------------------------------------------------------------


def prepare_to_fill(
    source: Source,
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 — frozen
    text: pd.DataFrame | None = None,
) -> Fillable:
    """Find the numbers, dates and flags of a table and their gaps.

    Parameters
    ----------
    source : Source
        The table, from :func:`riata.files.read`.
    options : ColumnOptions
        What a user has decided about columns; those to drop are passed through.
    text : DataFrame, optional
        The same table as text, to which it will be written back.

    Returns
    -------
    Fillable
        The numbers, and how to write them back.

    Raises
    ------
    TableError
        If there is nothing to learn from; the message says what to do.
    """
    columns = kinds(source.frame, source.decimal, options)
    given = [source.frame.iloc[:, j] for j in range(len(columns))]
    numbers = {
        column.name: _numbers(column, given[j]) for j, column in enumerate(columns) if _can_fill(column, text, j)
    }
    X = pd.DataFrame(numbers)
    empty = [column.name for column in columns if column.kind == "constant" and column.values.isna().all()]
    if X.shape[1] == 0:
        raise TableError("no column holds numbers, and only numbers can be filled in: turn text into numbers first")
    unused = [column for column in columns if column.name not in numbers and column.name not in empty]
    table = Fillable(
        source.frame,
        tuple(columns),
        X,
        source.decimal,
        source.sep,
        tuple(empty),
        tuple(column.name for column in unused),
        (*_unused_notes(unused), *_empty_notes(empty), *_invalid_notes(columns)),
    )
    if table.n_gaps:
        _check_enough(X)
    return table


def _can_fill(column: Column, text: pd.DataFrame | None, j: int) -> bool:
    if column.kind == "date" and text is not None and column.values.isna().any():
        return _format_of(column, text.iloc[:, j].to_numpy(dtype=object)[column.values.notna()]) is not None
    constant = column.kind == "constant" and column.values.notna().any() and types.is_numeric_dtype(column.values)
    return column.kind in ("number", "date") or constant or (column.kind == "category" and _is_flag(column))


def _numbers(column: Column, given: pd.Series) -> NDArray[np.float64]:
    """Return a column as floats: days since 1970, 1 and 0 for true and false."""
    if column.kind == "date":
        return np.asarray((column.values - _EPOCH) / pd.Timedelta(days=1), dtype=np.float64)
    values = column.values.astype(object) if _is_flag(column) else column.values
    floats = pd.Series(values).to_numpy(dtype=float, na_value=np.nan)
    if types.is_integer_dtype(given) and np.isnan(floats).any() and (np.abs(floats) > 2**53).any():
        raise TableError(
            f"{column.name!r} has gaps and whole numbers beyond 2^53, which floats cannot hold: "
            f"leave it out: {flags('--drop', [column.name])}"
        )
    return floats


def _check_enough(X: pd.DataFrame) -> None:
    if len(X) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(X), 'row')}; at least {MIN_ROWS} are needed to learn from")
    if X.shape[1] < 2:
        raise TableError(
            f"only {X.columns[0]!r} holds numbers: its gaps can be filled from other columns of numbers, and there are "
            "none; turn text into numbers first, or leave out fewer columns"
        )


def _unused_notes(columns: Sequence[Column]) -> list[str]:
    """List the columns that are neither filled nor used to fill others."""
    names = []
    for column in columns:
        gaps = int(column.values.isna().sum())
        unfilled = f", {counted(gaps, 'gap')} not filled" if gaps else ""
        names.append(f"{column.name!r} ({column.kind}{unfilled})")
    return [f"passed through, neither filled nor used to fill others: {first_few(names)}"] if names else []


def _empty_notes(names: Sequence[str]) -> list[str]:
    return [f"no value of {first_few(list(map(repr, names)))} is known: left empty"] if names else []


def _invalid_notes(columns: Sequence[Column]) -> list[str]:
    """List cells that cannot be read as the kind of their column."""
    return [
        f"{column.name!r} holds {counted(len(column.invalid), 'cell')} that cannot be read and "
        f"{'stays as it is' if len(column.invalid) == 1 else 'stay as they are'}: "
        f"{first_few([as_text(cell) for cell in column.invalid.astype(str).unique()])}; to fill such cells, --na TEXT"
        for column in columns
        if len(column.invalid)
    ]
