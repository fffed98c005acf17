"""From a table to features and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.columns import Asked, Column, kinds, target_kind, to_frame
from riata.files.messages import TableError, counted, must_exist, option, rows_of, shown, some
from riata.files.read import Reading, Source, read

__all__ = ["MIN_ROWS", "Table", "prepare", "read_table"]

MIN_ROWS = 10  # fewer cannot be split into rows to train on, to validate on and to score with
MIN_PER_CLASS = 3  # a row to train on, one to validate on and one to score with
MANY_CLASSES = 20  # whole numbers with more values than this are quantities


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table ready to fit on.

    Attributes
    ----------
    X : DataFrame
        One column for each feature: numbers, with gaps, levels of categories, or dates, as the estimators take them.
    y : array of shape (n,)
        Floats for regression; whole numbers or text for classification.
    task : str
        ``"classification"`` or ``"regression"``.
    target : str
        Name of the column that y comes from.
    columns : tuple of Column
        What every other column of the file holds, and what was done about it.
    rows : array of int of shape (n,)
        Positions of the rows in the file.
    how : str
        What the file is written in.
    notes : tuple of str
        What was decided on the way, for the user to read.
    """

    X: pd.DataFrame
    y: NDArray
    task: str
    target: str
    columns: tuple[Column, ...]
    rows: NDArray[np.int64]
    how: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        shape = f"{len(self.y):,} rows, {self.X.shape[1]:,} features of {len(self.columns):,} columns"
        return f"Table({shape}, target {self.target!r}, {self.task})"

    @property
    def kinds(self) -> pd.DataFrame:
        """What every column holds, and what was done about it: ``name``, ``kind``, ``holds``, ``use``."""
        return to_frame(self.columns)


def read_table(
    path: str | Path,
    target: str,
    *,
    task: str = "auto",
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    dates: Sequence[str] = (),
    drop: Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    na: Sequence[str] = (),
    skip: int = 0,
) -> Table:
    r"""Read a table from a file as ``riata select`` does, and say what each of its columns holds.

    Parameters
    ----------
    path : str or Path
        A csv, tsv, txt, parquet, feather or xlsx file; text may be compressed with gzip, ``-`` is standard input.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or a quantity.
    categorical, numeric, dates : sequence of str
        Columns to take as categories, as numbers or as dates, whatever they look like.
    drop : sequence of str
        Columns to leave out.
    sep, decimal : str, optional
        What separates fields, and what stands before decimals; told from the file by default.
    na : sequence of str
        Cells that stand for missing values, beside the usual ones such as ``NA``.
    skip : int
        Rows above the names, such as a title.

    Returns
    -------
    Table
        ``X`` and ``y`` to fit on, and ``kinds``, what became of each column.

    Raises
    ------
    TableError
        A ValueError; if the file cannot be read or used, with the remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import riata
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = file.write_text("id;size;town;price\n" + "".join(f"{i};{i % 7},5;T{i % 3};{i % 5}\n" for i in range(30)))
    >>> riata.read_table(file, "price").kinds[["name", "kind"]].to_numpy().tolist()
    [['id', 'identifier'], ['size', 'number'], ['town', 'category']]
    """
    given = [(names,) if isinstance(names, str) else tuple(names) for names in (categorical, numeric, dates, drop, na)]
    return prepare(read(Path(path), Reading(sep, decimal, given.pop(), skip)), target, task, Asked(*given))


def prepare(source: Source, target: str, task: str = "auto", asked: Asked = Asked()) -> Table:  # noqa: B008 — frozen
    """Separate the target from the features, and settle what each column holds.

    Parameters
    ----------
    source : Source
        What :func:`read` returned.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or a quantity.
    asked : Asked
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
    _must_have(target, frame)
    if target in asked.drop:
        raise TableError(f"the target {target!r} cannot be dropped")
    asked.check(frame.columns.tolist())
    if len(frame) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(frame), 'row')}; at least {MIN_ROWS} are needed")
    column = target_kind(frame.pop(target), source.decimal)
    column = replace(column, values=column.values.where(_finite(column.values)))
    known = column.values.notna()
    notes = _target_notes(column)
    if known.sum() < MIN_ROWS:
        n = counted(int(known.sum()), "row")
        raise TableError(f"the table has {n} with a value of {target!r}; at least {MIN_ROWS} are needed")
    mine = replace(asked, **{name: tuple(n for n in getattr(asked, name) if n != target) for name in vars(asked)})
    y, task, reason = _target(replace(column, values=column.values[known]), task, asked)
    notes += [reason] if reason else []
    columns = kinds(frame, source.decimal, mine)
    used = [each for each in columns if each.used]
    if not used:
        left = option("--categorical", [each.name for each in columns if each.kind in ("identifier", "text")][:1])
        raise TableError(
            "no column can be a feature: "
            + (_why(columns) if columns else "no columns are left")
            + (f"; to keep one: {left}" if left else "")
        )
    X = pd.DataFrame({each.name: each.values for each in used})[known].reset_index(drop=True)
    rows = np.flatnonzero(known.to_numpy())
    return Table(X, y, task, target, tuple(columns), rows, source.how, tuple(notes))


def _must_have(target: str, frame: pd.DataFrame) -> None:
    try:
        must_exist(target, frame.columns)
    except TableError as error:
        numbers = pd.to_numeric(pd.Series(frame.columns, dtype=object), errors="coerce").notna()
        unnamed = frame.columns.str.startswith("Unnamed: ")
        hint = "; the first row holds numbers: if it has no names, add a row of them" if numbers.mean() > 0.5 else ""
        if unnamed.mean() > 0.3:
            hint = (
                "; columns have no names: if these stand below a title, give --skip with the number of rows above them"
            )
        raise TableError(f"{error}{hint}") from None


def _why(columns: Sequence[Column]) -> str:
    by_kind: dict[str, list[str]] = {}
    for column in columns:
        by_kind.setdefault(column.kind, []).append(repr(column.name))
    return ", ".join(f"{some(names)} ({kind})" for kind, names in by_kind.items())


# ---- the target -----------------------------------------------------------------------------------------------------


def _finite(values: pd.Series) -> pd.Series:
    if not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return values.notna()
    return pd.Series(np.isfinite(values.to_numpy(dtype=float, na_value=np.nan)), values.index)


def _target_notes(column: Column) -> list[str]:
    """Say which rows have no target, and which cells of it could not be read."""
    notes = [f"the target {column.name!r}: {remark}" for remark in column.use.split("; ")[1:] if not len(column.bad)]
    missing = column.values.isna()
    n = int(missing.sum())
    if not n:
        return notes
    note = f"left out {counted(n, 'row')} without a value of {column.name!r}"
    if len(column.bad):
        cells = some([shown(value) for value in column.bad.astype(str).unique()])
        note += f"; not numbers: {cells} ({rows_of(column.bad.index)})"
    return [*notes, note]


def _target(column: Column, task: str, asked: Asked) -> tuple[NDArray, str, str]:
    """Return the target as an array, the task, and why that task if it was not given."""
    name, values = column.name, column.values
    if column.kind == "date" and name not in asked.categorical:
        raise TableError(
            f"the target {name!r} holds dates; it must be numbers or classes: turn it into a number of days"
        )
    if name in asked.categorical and task == "auto":
        task = "classification"
    if name in asked.numeric and task == "auto":
        task = "regression"
    words = column.kind == "category"
    values = values.astype(str) if words else values
    if (
        types.is_float_dtype(values)
        and bool((values % 1 == 0).all())
        and np.abs(values.to_numpy(dtype=float)).max() < 2**53
    ):
        values = values.astype("int64")  # only stored as floats because some were missing
    distinct = values.nunique()
    if distinct < 2:
        raise TableError(f"the target {name!r} has only one value ({shown(values.iloc[0])}): nothing to predict")
    reason = ""
    if task == "auto":
        task, why = _guess(values, distinct)
        other = "regression" if task == "classification" else "classification"
        reason = f"task: {task}, as {name!r} {why}" + ("" if words else f" (--task {other} otherwise)")
    return (_classes(values, words) if task == "classification" else _quantity(values, words)), task, reason


def _guess(values: pd.Series, distinct: int) -> tuple[str, str]:
    if set(values.unique()) == {"True", "False"}:
        return "classification", "is true or false"
    if not types.is_numeric_dtype(values):
        return "classification", f"is text with {distinct} distinct values"
    if not types.is_integer_dtype(values):
        return "regression", "has numbers with decimals"
    few = distinct <= max(2, min(MANY_CLASSES, len(values) // 10))
    return "classification" if few else "regression", f"has whole numbers with {distinct} distinct values"


def _classes(values: pd.Series, words: bool) -> NDArray:
    counts = values.value_counts()
    rare = counts[counts < MIN_PER_CLASS]
    if 2 * len(counts) > len(values):
        remedy = (
            f"such as {some([shown(label) for label in counts.index[:3]])}: merge them into a few, or leave nothing but the "
            "number in each cell if it is a quantity"
            if words
            else "if it is a quantity, use --task regression"
        )
        n = len(values)
        raise TableError(
            f"{values.name!r} has {len(counts)} distinct values in {n} rows, too many for classes; {remedy}"
        )
    if len(rare):
        listed = some([f"{shown(label)} ({count})" for label, count in rare.items()])
        raise TableError(
            f"classes of {values.name!r} with fewer than {MIN_PER_CLASS} rows: {listed}; merge them with others or remove "
            "their rows, as each needs a row to train on, one to validate on and one to score with"
        )
    return values.to_numpy(dtype=int) if types.is_integer_dtype(values) else values.astype(str).to_numpy(dtype=object)


def _quantity(values: pd.Series, words: bool) -> NDArray:
    if words and set(values.unique()) == {"True", "False"}:
        return (values == "True").to_numpy(dtype=float)
    if words:
        raise TableError(
            f"{values.name!r} is text such as {shown(values.iloc[0])}, which regression cannot predict: use --task "
            "classification or, if it is a quantity, leave nothing but the number in each cell (--na for those without one)"
        )
    return values.to_numpy(dtype=float)
