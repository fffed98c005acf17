"""From a table with gaps to numbers to fill, and back to the table with the gaps filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.tables.columns import MIN_ROWS, describe, kind_of, numbers, odd_levels, row_number_notes
from riata.tables.wording import TableError, counted, drop_option, must_exist, some

_EXACT = 2**53  # whole numbers beyond this are not all floats


@dataclass(frozen=True, eq=False)
class Fillable:
    """A table whose numbers have gaps.

    Attributes
    ----------
    frame : DataFrame
        The table as it was read.
    X : DataFrame
        Its columns of numbers that hold any, as floats; NaN where there is a gap.
    empty : tuple of str
        Columns without a single value.
    passed : tuple of str
        Columns that are neither filled nor looked at.
    notes : tuple of str
        What was decided on the way, for the user to read.
    """

    frame: pd.DataFrame
    X: pd.DataFrame
    empty: tuple[str, ...]
    passed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def n_gaps(self) -> int:
        """How many entries can be filled."""
        return int(self.X.isna().to_numpy().sum())

    def filled(self, estimates: NDArray[np.float64], text: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the table with its gaps filled and everything else as it is.

        Parameters
        ----------
        estimates : array with the shape of X
            What to write into the gaps; other entries are not looked at.
        text : DataFrame, optional
            The same table as text, see :func:`riata.tables.files.read_text`. Then text is returned, and what was in a cell
            stays as it was written: ``1.50`` does not become ``1.5``.

        Returns
        -------
        DataFrame
            Columns with gaps hold floats, all others what they held.
        """
        result = (self.frame if text is None else text).copy()
        places = {name: place for place, name in enumerate(self.frame.columns)}
        for j, name in enumerate(self.X.columns):
            gaps = self.X[name].isna().to_numpy()
            if gaps.any():
                column = self.frame[name]
                values = np.where(gaps, estimates[:, j], self.X[name])
                if text is None:
                    result[name] = _like(column, values)
                else:
                    cells = text.iloc[:, places[name]].to_numpy()
                    result.isetitem(places[name], _written(column, values, gaps, cells))
        return result


def _like(column: pd.Series, values: NDArray[np.float64]) -> pd.Series:
    """Return floats in the precision of the column, if it holds floats."""
    return pd.Series(values, column.index, dtype=column.dtype if types.is_float_dtype(column) else float)


def _written(
    column: pd.Series, values: NDArray[np.float64], gaps: NDArray[np.bool_], cells: NDArray[np.object_]
) -> NDArray[np.object_]:
    new = np.array([repr(value) for value in values.tolist()], dtype=object)
    return new if _is_flag(column) else np.where(gaps, new, cells)  # 0.7 beside True would be text


def _is_flag(column: pd.Series) -> bool:
    return types.infer_dtype(column, skipna=True) == "boolean"


# ---- preparing ------------------------------------------------------------------------------------------------------


def prepare_to_fill(frame: pd.DataFrame, drop: Sequence[str] = ()) -> Fillable:
    """Find the numbers of a table and their gaps.

    Parameters
    ----------
    frame : DataFrame
        What :func:`riata.tables.read` returned.
    drop : sequence of str
        Columns not to look at.

    Returns
    -------
    Fillable
        The numbers, and how to put them back.

    Raises
    ------
    TableError
        If there is nothing to learn from; the message says what to do.
    """
    for name in drop:
        must_exist(name, frame.columns)
    kinds = {str(name): "left out" if name in drop else kind_of(frame[name]) for name in frame}
    X = pd.DataFrame({name: _finite(frame[name]) for name, kind in kinds.items() if kind == "number"})
    empty = [name for name in X.columns if X[name].isna().all()]
    X = X.drop(columns=empty)
    if X.shape[1] == 0:
        raise TableError("no column holds numbers, and only numbers can be filled in: turn text into numbers first")
    passed = [name for name, kind in kinds.items() if kind != "number"]
    notes = _passed_notes(frame[passed], kinds) + _empty_notes(empty) + _number_notes(frame, X)
    table = Fillable(frame, X, tuple(empty), tuple(passed), tuple(notes))
    if table.n_gaps:
        _refuse_too_little(X)
    return table


def _finite(column: pd.Series) -> NDArray[np.float64]:
    values = numbers(column)
    if types.is_integer_dtype(column) and np.isnan(values).any() and (np.abs(values) > _EXACT).any():
        raise TableError(
            f"{column.name!r} has gaps and whole numbers beyond 2^53, which cannot stand beside decimals as they are: "
            f"leave it out: {drop_option([str(column.name)])}"
        )
    return values


def _refuse_too_little(X: pd.DataFrame) -> None:
    if len(X) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(X), 'row')}; at least {MIN_ROWS} are needed to learn from")
    if X.shape[1] < 2:
        raise TableError(
            f"only {X.columns[0]!r} holds numbers: its gaps can be filled from other columns of numbers, and there are "
            "none; turn text into numbers first, or leave out fewer columns"
        )


def _passed_notes(frame: pd.DataFrame, kinds: dict[str, str]) -> list[str]:
    """Say which columns are neither filled nor looked at, and which of them may have been meant to be numbers."""
    notes, names = [], []
    for name, column in frame.items():
        kind, gaps = kinds[str(name)], int(column.isna().sum())
        unfilled = f", {counted(gaps, 'gap')} not filled" if gaps else ""
        names.append(f"{name!r} ({describe(column) if kind == 'other' else kind}{unfilled})")
        odd = odd_levels(column.dropna().astype(str).unique().tolist()) if kind == "text" else []
        if odd:
            because = some(list(map(repr, odd)))
            notes.append(f"{name!r} is text because of {because} among its numbers; leave cells empty that are gaps")
    return [f"passed through, neither filled nor looked at: {some(names)}", *notes] if names else []


def _empty_notes(names: Sequence[str]) -> list[str]:
    return [f"nothing is known of {some(list(map(repr, names)))}: left empty"] if names else []


def _number_notes(frame: pd.DataFrame, X: pd.DataFrame) -> list[str]:
    """Point out columns that number the rows, and gaps among whole numbers."""
    notes, whole = [], []
    for name, values in X.items():
        notes += row_number_notes(frame[name], values.to_numpy())
        if values.isna().any() and (values.dropna() % 1 == 0).all():
            whole.append(repr(name))
    return notes + ([f"gaps among whole numbers are filled with decimals: {some(whole)}"] if whole else [])
