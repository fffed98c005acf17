"""From a table with gaps to numbers to fill, and back to the table with the gaps filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.columns import Asked, Column, kinds
from riata.files.messages import TableError, counted, option, shown, some
from riata.files.read import Source
from riata.files.table import MIN_ROWS

__all__ = ["Fillable", "prepare_to_fill"]

_EXACT = 2**53  # whole numbers beyond this are not all floats
_DAY = pd.Timedelta(days=1)
_EPOCH = pd.Timestamp("1970-01-01")
_FORMATS = tuple(
    date + time
    for time in ("", " %H:%M:%S", "T%H:%M:%S", " %H:%M")
    for date in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
)


@dataclass(frozen=True, eq=False)
class Fillable:
    """A table whose numbers, dates and flags have gaps.

    Attributes
    ----------
    frame : DataFrame
        The table as it was read.
    columns : tuple of Column
        What each of its columns holds.
    X : DataFrame
        Columns of numbers, of dates (as days) and of true and false (as 1 and 0), as floats; NaN where there is a gap.
    decimal, sep : str
        What stands before decimals, and between fields, in text.
    empty : tuple of str
        Columns without a single value.
    passed : tuple of str
        Columns that are neither filled nor used to fill others.
    notes : tuple of str
        What was decided on the way, for the user to read.
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    X: pd.DataFrame
    decimal: str
    sep: str
    empty: tuple[str, ...]
    passed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def n_gaps(self) -> int:
        """How many entries can be filled."""
        return int(self.gaps.to_numpy().sum())

    @property
    def gaps(self) -> pd.DataFrame:
        """Which entries are to be filled: those without a cell. What stands in a cell stays, even if it is no number."""
        gaps = self.X.isna()
        for column in self.columns:
            if column.name in gaps:
                gaps.loc[column.bad.index, column.name] = False
        return gaps

    def filled(self, estimates: NDArray[np.float64], text: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the table with its gaps filled and everything else as it is.

        Whole numbers are filled with whole numbers, true and false with true or false, and dates with dates.

        Parameters
        ----------
        estimates : array with the shape of X
            What is believed of every entry; only those of gaps count.
        text : DataFrame, optional
            The same table as text, see :func:`riata.files.read_text`. Then text is returned, and what was in a cell stays as it
            was written: ``1.50`` does not become ``1.5``.

        Returns
        -------
        DataFrame
            Columns as they were, without gaps.
        """
        result = (self.frame if text is None else text).copy()
        places, open_ = {column.name: j for j, column in enumerate(self.columns)}, self.gaps
        for name, estimate in zip(self.X.columns, estimates.T, strict=True):
            gaps = open_[name].to_numpy()
            if not gaps.any():
                continue
            column, j = self.columns[places[name]], places[name]
            values = _of_its_kind(column, estimate[gaps])
            if text is None and len(column.bad):
                result.isetitem(j, _beside(self.frame.iloc[:, j], values, gaps))
            elif text is None:
                result.isetitem(j, _typed(column, self.frame.iloc[:, j], values, gaps))
            else:
                cells = text.iloc[:, j].to_numpy(dtype=object).copy()
                cells[gaps] = _written(column, values, cells[column.values.notna()], self.decimal)
                result.isetitem(j, cells)
        return result


def _is_flag(column: Column) -> bool:
    return types.infer_dtype(column.values, skipna=True) == "boolean"


def _is_whole(column: Column) -> bool:
    return column.kind == "number" and bool((column.values.dropna() % 1 == 0).all())


def _days(dates: pd.Series) -> pd.Series:
    return (dates - _EPOCH) / _DAY


def _of_its_kind(column: Column, estimates: NDArray[np.float64]) -> NDArray:
    """Turn estimates into what the column holds."""
    if _is_flag(column):
        return estimates >= 0.5
    if column.kind == "date":
        known = column.values.dropna()
        unit = "D" if (known == known.dt.normalize()).all() else "s"
        return np.array(list((_EPOCH + pd.to_timedelta(estimates, unit="D")).round(unit)), dtype=object)
    return np.rint(estimates) if _is_whole(column) else estimates


def _typed(column: Column, given: pd.Series, values: NDArray, gaps: NDArray[np.bool_]) -> Any:
    """Return a column as it was stored, without gaps."""
    full = column.values.astype(object).reset_index(drop=True)
    full[gaps] = values
    if _is_flag(column):
        dtype: Any = "boolean" if isinstance(given.dtype, pd.BooleanDtype) else bool
    elif column.kind == "date":
        dtype = column.values.dtype
    else:
        dtype = given.dtype if types.is_float_dtype(given) or types.is_integer_dtype(given) else float
    return pd.Series(full.to_list(), given.index, dtype=dtype, name=given.name)


def _beside(given: pd.Series, values: NDArray, gaps: NDArray[np.bool_]) -> Any:
    """Return a column of text with numbers in its gaps, as text."""
    cells = given.to_numpy(dtype=object).copy()
    cells[gaps] = [str(value) for value in values]
    return cells


def _written(column: Column, values: NDArray, known: NDArray[np.object_], decimal: str) -> list[str]:
    """Write values in the way of the cells that are known."""
    if _is_flag(column):
        filled = column.values.dropna().astype(bool).to_numpy()
        words = {
            flag: str(known[np.argmax(filled == flag)]) if (filled == flag).any() else str(flag)
            for flag in (True, False)
        }
        return [words[bool(value)] for value in values]
    if column.kind == "date":
        return pd.DatetimeIndex(values).strftime(_format_of(column, known) or "%Y-%m-%d").tolist()
    if _is_whole(column) and not any("." in str(cell) or "," in str(cell) for cell in known):
        return [str(int(value)) for value in values]
    digits = max((len(str(cell).partition(decimal)[2]) for cell in known), default=6)
    return [f"{value:.{digits}f}".replace(".", decimal) for value in values.tolist()]


def _format_of(column: Column, known: NDArray[np.object_]) -> str | None:
    """Return how the dates of a column are written; None where no usual way writes all of them so."""
    dates = column.values.dropna().dt
    return next((way for way in _FORMATS if (dates.strftime(way).to_numpy() == known).all()), None)


# ---- preparing ------------------------------------------------------------------------------------------------------


def prepare_to_fill(source: Source, asked: Asked = Asked(), text: pd.DataFrame | None = None) -> Fillable:  # noqa: B008
    """Find the numbers, dates and flags of a table and their gaps.

    Parameters
    ----------
    source : Source
        What :func:`riata.files.read` returned.
    asked : Asked
        What a user has decided about columns; those to drop are passed through.
    text : DataFrame, optional
        The same table as text, to which it will be written back.

    Returns
    -------
    Fillable
        The numbers, and how to put them back.

    Raises
    ------
    TableError
        If there is nothing to learn from; the message says what to do.
    """
    columns = kinds(source.frame, source.decimal, asked)
    given = [source.frame.iloc[:, j] for j in range(len(columns))]
    numbers = {
        column.name: _numbers(column, given[j]) for j, column in enumerate(columns) if _can_fill(column, text, j)
    }
    X = pd.DataFrame(numbers)
    empty = [column.name for column in columns if column.kind == "constant" and column.values.isna().all()]
    if X.shape[1] == 0:
        raise TableError("no column holds numbers, and only numbers can be filled in: turn text into numbers first")
    passed = [column for column in columns if column.name not in numbers and column.name not in empty]
    bad = [
        f"{column.name!r} holds {counted(len(column.bad), 'cell')} that cannot be read and "
        f"{'stays as it is' if len(column.bad) == 1 else 'stay as they are'}: "
        f"{some([shown(cell) for cell in column.bad.astype(str).unique()])}; to fill such cells, --na TEXT"
        for column in columns
        if len(column.bad)
    ]
    notes = [*_passed_notes(passed), *_empty_notes(empty), *bad]
    frame = source.frame
    table = Fillable(
        frame,
        tuple(columns),
        X,
        source.decimal,
        source.sep,
        tuple(empty),
        tuple(column.name for column in passed),
        tuple(notes),
    )
    if table.n_gaps:
        _refuse_too_little(X)
    return table


def _can_fill(column: Column, text: pd.DataFrame | None, j: int) -> bool:
    if column.kind == "date" and text is not None and column.values.isna().any():
        return _format_of(column, text.iloc[:, j].to_numpy(dtype=object)[column.values.notna()]) is not None
    constant = column.kind == "constant" and column.values.notna().any() and types.is_numeric_dtype(column.values)
    return column.kind in ("number", "date") or constant or (column.kind == "category" and _is_flag(column))


def _numbers(column: Column, given: pd.Series) -> NDArray[np.float64]:
    if column.kind == "date":
        return _days(column.values).to_numpy(dtype=float)
    values = column.values.astype(object) if _is_flag(column) else column.values
    floats = pd.Series(values).to_numpy(dtype=float, na_value=np.nan)
    if types.is_integer_dtype(given) and np.isnan(floats).any() and (np.abs(floats) > _EXACT).any():
        raise TableError(
            f"{column.name!r} has gaps and whole numbers beyond 2^53, which cannot stand beside decimals as they are: "
            f"leave it out: {option('--drop', [column.name])}"
        )
    return floats


def _refuse_too_little(X: pd.DataFrame) -> None:
    if len(X) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(X), 'row')}; at least {MIN_ROWS} are needed to learn from")
    if X.shape[1] < 2:
        raise TableError(
            f"only {X.columns[0]!r} holds numbers: its gaps can be filled from other columns of numbers, and there are "
            "none; turn text into numbers first, or leave out fewer columns"
        )


def _passed_notes(columns: Sequence[Column]) -> list[str]:
    """Say which columns are neither filled nor used to fill others."""
    names = []
    for column in columns:
        gaps = int(column.values.isna().sum())
        unfilled = f", {counted(gaps, 'gap')} not filled" if gaps else ""
        names.append(f"{column.name!r} ({column.kind}{unfilled})")
    return [f"passed through, neither filled nor used to fill others: {some(names)}"] if names else []


def _empty_notes(names: Sequence[str]) -> list[str]:
    return [f"nothing is known of {some(list(map(repr, names)))}: left empty"] if names else []
