"""From a table to features and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.columns import Column, ColumnOptions, SurvivalColumns
from riata.files.kinds import kinds, target_kind
from riata.files.messages import TableError, TextTargetError, as_text, counted, first_few, require_column, row_numbers
from riata.files.numeric import are_whole
from riata.files.read import Source
from riata.files.split import split

__all__ = ["MIN_ROWS", "Table", "check_columns", "features", "finite", "missing_notes", "prepare"]

MIN_ROWS = 10  # fewer cannot be split into training, validation and held-out rows


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table ready to fit on.

    Attributes
    ----------
    X : DataFrame
        One column for each feature: numbers, with gaps, levels of categories, or dates, as the estimators take them.
    y : array of shape (n,), or DataFrame
        Floats for regression; whole numbers or text for classification; a data frame of times and events for survival.
    task : str
        ``"classification"``, ``"regression"`` or ``"survival"``.
    target : str
        Name of the column that y comes from; of several, with commas between them.
    columns : tuple of Column
        What every other column of the file holds, and how it is used.
    rows : array of int of shape (n,)
        Positions of the rows in the file.
    file_format : str
        The file's format: separator and encoding of text, for example.
    notes : tuple of str
        Decisions that a user should know.
    survival : SurvivalColumns, optional
        The columns of survival times.
    decimal : str
        The decimal sign of numbers in text.
    na : tuple of str
        Cells that stand for missing values, beside the usual ones.
    sha256 : str
        Of the bytes of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from riata import read_table
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "cells.csv"
    >>> rows = [f"s{i},{i % 7},{'AB'[i % 2]},{i % 3}" for i in range(30)]
    >>> _ = file.write_text(chr(10).join(["name,size,kind,grade", *rows]))
    >>> table = read_table(file, target="grade")
    >>> table.task, list(table.X)
    ('classification', ['size', 'kind'])
    """

    X: pd.DataFrame
    y: Any
    task: str
    target: str
    columns: tuple[Column, ...]
    rows: NDArray[np.int64]
    file_format: str
    notes: tuple[str, ...]
    survival: SurvivalColumns | None = None
    decimal: str = "."
    na: tuple[str, ...] = ()
    sha256: str = ""

    def __repr__(self) -> str:
        shape = f"{len(self.y):,} rows, {self.X.shape[1]:,} features of {len(self.columns):,} columns"
        return f"Table({shape}, target {self.target!r}, {self.task})"

    def y_of(self, rows: NDArray[np.int64]) -> Any:
        """Return the target of some rows.

        Parameters
        ----------
        rows : array of int
            Positions of the rows in ``X``.
        """
        return self.y.iloc[rows] if isinstance(self.y, pd.DataFrame) else self.y[rows]

    def split(self, random_state: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows to fit on and those to hold out, as ``riata select`` does.

        A fifth is held out, and at least one row of every class; events are kept in proportion, and subjects together.

        Parameters
        ----------
        random_state : int
            The seed.

        Returns
        -------
        fit, held_out : array of int
            Positions of rows of X.
        """
        return split(self.y, self.task, random_state)

    @property
    def kinds(self) -> pd.DataFrame:
        """What every column holds, and how it is used: ``name``, ``kind``, ``holds``, ``use``."""
        fields = ["name", "kind", "holds", "use"]
        return pd.DataFrame([[getattr(column, field) for field in fields] for column in self.columns], columns=fields)


def prepare(
    source: Source,
    target: str,
    task: str = "auto",
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 — frozen
) -> Table:
    """Separate the target from the features, and determine what each column holds.

    Parameters
    ----------
    source : Source
        The table, from :func:`read`.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or a quantity.
    options : ColumnOptions
        What a user has decided about columns.

    Returns
    -------
    Table
        Ready to fit on.

    Raises
    ------
    TableError
        If a column cannot be used; the message names it and the remedy.
    """
    frame = source.frame.reset_index(drop=True)
    options = replace(options, beside=source.beside)
    check_columns(frame, [target], options)
    column = target_kind(frame.pop(target), source.decimal)
    column = replace(column, values=column.values.where(finite(column.values)))
    known = column.values.notna()
    if known.sum() < MIN_ROWS:
        n = counted(int(known.sum()), "row")
        raise TableError(f"the table has {n} with a value of {target!r}; at least {MIN_ROWS} are needed")
    y, task, reason = _target(replace(column, values=column.values[known]), task, options)
    X, columns = features(frame, source.decimal, options.without([target]), known)
    rows = np.flatnonzero(known.to_numpy())
    notes = (*missing_notes(column), *filter(None, [reason]))
    how = (source.decimal, source.na, source.sha256)
    return Table(X, y, task, target, columns, rows, source.file_format, notes, None, *how)


def check_columns(frame: pd.DataFrame, targets: Sequence[str], options: ColumnOptions) -> None:
    """Raise an error for a target that does not exist, columns that do not, and too few rows."""
    for target in targets:
        _check_target(target, frame)
        if target in options.drop:
            raise TableError(f"the target {target!r} cannot be dropped")
    options.check(frame.columns.tolist())
    if len(frame) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(frame), 'row')}; at least {MIN_ROWS} are needed")


def features(
    frame: pd.DataFrame, decimal: str, options: ColumnOptions, known: pd.Series[bool]
) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    """Determine what each column holds; return the features of the rows whose target is known, and all columns."""
    columns = [_kept(each) if options.keep_constants else each for each in kinds(frame, decimal, options)]
    used = [each for each in columns if each.used]
    if not used:
        raise TableError(_no_features(columns))
    X = pd.DataFrame({each.name: each.values for each in used})[known].reset_index(drop=True)
    return X, tuple(columns)


def _kept(column: Column) -> Column:
    """Return a constant column of numbers as a feature; any other column as it is."""
    if column.kind != "constant" or not types.is_numeric_dtype(column.values) or column.values.isna().all():
        return column
    return replace(column, kind="number", use="as it is")


def _check_target(target: str, frame: pd.DataFrame) -> None:
    try:
        require_column(target, frame.columns)
    except TableError as error:
        numbers = pd.to_numeric(pd.Series(frame.columns, dtype=object), errors="coerce").notna()
        unnamed = frame.columns.str.startswith("Unnamed: ")
        hint = "; the first row holds numbers: if it has no names, add a row of them" if numbers.mean() > 0.5 else ""
        if unnamed.mean() > 0.3:
            hint = "; columns have no names: if these are below a title, give --skip with the number of rows above them"
        raise TableError(f"{error}{hint}") from None


def _no_features(columns: Sequence[Column]) -> str:
    """Return why no column is a feature, and how to keep one."""
    by_kind: dict[str, list[str]] = {}
    for column in columns:
        by_kind.setdefault(column.kind, []).append(repr(column.name))
    reasons = ", ".join(f"{first_few(names)} ({kind})" for kind, names in by_kind.items()) or "no columns are left"
    remedies = [each.use.partition("keep it with ")[2] for each in columns]
    remedy = next(filter(None, remedies), "")
    return f"no column can be a feature: {reasons}" + (f"; to keep one: {remedy}" if remedy else "")


# ---- the target -----------------------------------------------------------------------------------------------------


def finite(values: pd.Series) -> pd.Series[bool]:
    """Return which values are known, and not infinite."""
    if not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return values.notna()
    return pd.Series(np.isfinite(values.to_numpy(dtype=float, na_value=np.nan)), values.index)


def missing_notes(column: Column) -> list[str]:
    """Return how many rows have no value of a target, and which of its cells could not be read."""
    notes = [f"the target {column.name!r}: {text}" for text in column.use.split("; ")[1:] if not len(column.invalid)]
    n = int(column.values.isna().sum())
    if not n:
        return notes
    note = f"left out {counted(n, 'row')} without a value of {column.name!r}"
    if len(column.invalid):
        cells = first_few([as_text(value) for value in column.invalid.astype(str).unique()])
        note += f"; not numbers: {cells} ({row_numbers(column.invalid.index)})"
    return [*notes, note]


def _target(column: Column, task: str, options: ColumnOptions) -> tuple[NDArray[Any], str, str]:
    """Return the target as an array, the task, and the reason for the task if it was not given."""
    name, is_text = column.name, column.kind == "category"
    if column.kind == "date" and name not in options.categorical:
        raise TableError(
            f"the target {name!r} holds dates; it must be numbers or classes: turn it into a number of days"
        )
    if task == "auto" and name in options.numeric:
        task = "regression"
    elif task == "auto" and name in options.categorical:
        task = "classification"
    values = column.values.astype(str) if is_text else column.values
    if types.is_float_dtype(values) and are_whole(values.to_numpy(dtype=float)):
        values = values.astype("int64")  # only stored as floats because some were missing
    if values.nunique() < 2:
        raise TableError(f"the target {name!r} has only one value ({as_text(values.iloc[0])}): nothing to predict")
    reason = ""
    if task == "auto":
        task, why = _inferred_task(values)
        other = "regression" if task == "classification" else "classification"
        reason = f"task: {task}, as {name!r} {why}" + ("" if is_text else f" (--task {other} otherwise)")
    return (_classes(values, is_text) if task == "classification" else _quantity(values, is_text)), task, reason


def _inferred_task(values: pd.Series) -> tuple[str, str]:
    """Return the task and the reason; whole numbers are classes if at most 20 and a tenth of the rows differ, or two do."""
    if set(values.unique()) == {"True", "False"}:
        return "classification", "is true or false"
    n_distinct = values.nunique()
    if not types.is_numeric_dtype(values):
        return "classification", f"is text with {n_distinct} distinct values"
    if not types.is_integer_dtype(values):
        return "regression", "has numbers with decimals"
    few = n_distinct <= max(2, min(20, len(values) // 10))
    return "classification" if few else "regression", f"has whole numbers with {n_distinct} distinct values"


def _classes(values: pd.Series, is_text: bool) -> NDArray[Any]:
    """Return labels of classes; each needs three rows: for training, for validation and held out."""
    counts = values.value_counts(sort=False).sort_values(ascending=False, kind="stable")
    rare = counts[counts < 3]
    if 2 * len(counts) > len(values):
        remedy = (
            f"such as {first_few([as_text(label) for label in counts.index[:3]])}: merge them into a few, or leave nothing "
            "but the number in each cell if it is a quantity"
            if is_text
            else "if it is a quantity, use --task regression"
        )
        n = len(values)
        raise TableError(
            f"{values.name!r} has {len(counts)} distinct values in {n} rows, too many for classes; {remedy}"
        )
    if len(rare):
        listed = first_few([f"{as_text(label)} ({count})" for label, count in rare.items()])
        raise TableError(
            f"classes of {values.name!r} with fewer than 3 rows: {listed}; merge them with others or remove their rows, as "
            "each needs a row for training, one for validation and one held out for the scores"
        )
    return values.to_numpy(dtype=int) if types.is_integer_dtype(values) else values.astype(str).to_numpy(dtype=object)


def _quantity(values: pd.Series, is_text: bool) -> NDArray[np.float64]:
    if is_text and set(values.unique()) == {"True", "False"}:
        return (values == "True").to_numpy().astype(np.float64)
    if is_text:
        name, example = str(values.name), as_text(values.iloc[0])
        raise TextTargetError(
            f"{name!r} is text such as {example}, which regression cannot predict: use --task classification or, if it is a "
            "quantity, leave nothing but the number in each cell (--na for those without one)",
            name,
            example,
        )
    return values.to_numpy(dtype=float)
