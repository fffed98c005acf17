"""The kind of each column of a table: number, category, date, or nothing that can be a feature."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from riata.files import dates, numeric
from riata.files.categorical import (
    category_column,
    n_distinct,
    names_rows,
    pair_of_numbers,
    rarely_repeated,
    stripped,
    words,
)
from riata.files.columns import Column, ColumnOptions, make_column
from riata.files.messages import TableError, as_text, flags

__all__ = ["kinds", "target_kind"]


def kinds(
    frame: pd.DataFrame,
    decimal: str = ".",
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 — frozen
) -> list[Column]:
    """Determine what each column of a table holds, and convert text to numbers and dates where it holds these.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    decimal : str
        The decimal sign of numbers in text.
    options : ColumnOptions
        What a user has decided.

    Returns
    -------
    list of Column
        One for each, in order.
    """
    options.check([str(name) for name in frame.columns])
    frame = frame.reset_index(drop=True)
    return [_kind(frame.iloc[:, j].rename(str(name)), decimal, options) for j, name in enumerate(frame.columns)]


def target_kind(column: pd.Series, decimal: str = ".") -> Column:
    """Determine whether a target holds numbers, dates or classes; it is used whatever it holds."""
    if types.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return category_column(column)
    if types.is_datetime64_any_dtype(column):
        return dates.date_column(column)
    if types.is_numeric_dtype(column):
        return numeric.target_numbers(column)
    inferred = types.infer_dtype(column.dropna())
    if inferred.startswith("date"):
        return dates.date_column(column)
    text = stripped(column)
    found = None if inferred == "boolean" else numeric.from_text(text, decimal)
    return found or dates.from_text(text) or category_column(words(text))


def _kind(column: pd.Series, decimal: str, options: ColumnOptions) -> Column:
    """Apply the user's decision, or else infer the kind from the cells."""
    name = str(column.name)
    if name in options.drop:
        return make_column(column, "left out", "", "as asked for")
    if name in options.categorical:
        _refuse_names_of_rows(column)
        if isinstance(column.dtype, pd.CategoricalDtype):
            return category_column(column)
        text = types.infer_dtype(column, skipna=True) == "string"
        return category_column((stripped(column) if text else column).astype("category"))  # numbers are levels by value
    if name in options.numeric:
        return numeric.number_column(column, decimal, on_request=True)
    if name in options.dates:
        return dates.date_column(column)
    if name in options.beside:
        return make_column(column, "left out", "", f"in obs; to use it: {flags('--categorical', [name])}, or --numeric")
    return _inferred(column, decimal)


def _refuse_names_of_rows(column: pd.Series) -> None:
    filled = column.dropna()
    n = n_distinct(filled)
    if names_rows(n, len(filled)):
        raise TableError(
            f"--categorical {column.name}: {n:,} of its {len(filled):,} cells differ, so that it names rows and says nothing "
            f"about others: leave it out, {flags('--drop', [str(column.name)])}"
        )


def _inferred(column: pd.Series, decimal: str) -> Column:
    """Infer the kind of a column from its type, and from its cells where the type does not determine it."""
    filled = column.dropna()
    if not len(filled):
        return make_column(column, "constant", "no cell holds anything")
    if len(filled) == len(column) and n_distinct(filled) == 1:
        return make_column(column, "constant", f"every cell is {as_text(filled.iloc[0])}")
    if types.is_bool_dtype(column) and len(filled) < len(column):
        return category_column(column)  # true, false or missing
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column) or types.is_timedelta64_dtype(column):
        return numeric.number_column(column, decimal)
    if types.is_datetime64_any_dtype(column) or isinstance(column.dtype, pd.PeriodDtype):
        return dates.date_column(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return rarely_repeated(column, n_distinct(filled)) or category_column(column)
    return _inferred_from_objects(column, decimal)


def _inferred_from_objects(column: pd.Series, decimal: str) -> Column:
    """Infer the kind of a column of text, or of Python objects."""
    filled = column.dropna()
    inferred = types.infer_dtype(filled)
    if inferred == "boolean":
        return category_column(column)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return numeric.number_column(column, decimal)
    if inferred in ("date", "datetime", "datetime64", "timedelta"):
        return dates.date_column(column)
    if not all(isinstance(value, str | bool | int | float | np.number) for value in filled):
        raise TableError(
            f"{column.name!r} holds {inferred} values, neither numbers nor text nor dates: turn them into these, or leave "
            f"the column out: {flags('--drop', [str(column.name)])}"
        )
    text = stripped(column)
    return (
        numeric.from_text(text, decimal)
        or dates.from_text(text)
        or pair_of_numbers(text, n_distinct(filled))
        or rarely_repeated(text, n_distinct(filled))
        or category_column(words(text))
    )
