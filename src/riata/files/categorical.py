"""Columns of text: categories, and text that identifies or describes rows."""

from __future__ import annotations

import re

import pandas as pd

from riata.files.columns import Column, make_column
from riata.files.messages import as_text, counted, first_few, flags

__all__ = ["category_column", "n_distinct", "names_rows", "pair_of_numbers", "rarely_repeated", "stripped", "words"]

_PAIR = re.compile(r"\d{1,4}([.,]\d+)?\s*[/x×]\s*\d{1,4}([.,]\d+)?")
_FEW_PAIRS = 20  # levels, such as sizes 2x4: up to so many are a category


def category_column(column: pd.Series) -> Column:
    """Return a column of categories; levels that differ in capitals only are remarked."""
    filled = column.dropna()
    n = n_distinct(filled)
    levels = filled.value_counts().index
    example = first_few([as_text(value) for value in levels[:3]])
    folded = pd.Series([str(level).casefold() for level in levels])
    alike = [as_text(level) for level in levels[folded.duplicated(keep=False).to_numpy()]]
    remark = f"{first_few(alike)} differ in capitals only and are separate levels" if alike else ""
    return make_column(column, "category", f"{counted(n, 'level')}: {example}{' …' if n > 3 else ''}", remark)


def rarely_repeated(column: pd.Series, n: int) -> Column | None:
    """Return text with n distinct cells as an identifier or as prose if n is above two and half of the cells; else None.

    It is prose if an average cell has more than 40 characters.
    """
    filled = column.dropna().astype(str)
    if n <= 0.5 * len(filled) or n <= 2:
        return None
    kind = "text" if filled.str.len().mean() > 40 else "identifier"
    holds = f"{n:,} different cells in {counted(len(filled), 'row')}"
    remark = "" if names_rows(n, len(filled)) else f"keep it with {flags('--categorical', [str(column.name)])}"
    return make_column(column, kind, holds, remark)


def names_rows(n: int, n_filled: int) -> bool:
    """Whether so many of the cells differ that they name rows: a category of them says nothing about other rows."""
    return n > 0.9 * n_filled and n > 2


def pair_of_numbers(column: pd.Series, n: int) -> Column | None:
    """Return text with two numbers in nearly all of its cells, such as 120/80, as a column to split; else None."""
    filled = column.dropna().astype(str)
    if n <= _FEW_PAIRS or filled.str.fullmatch(_PAIR).mean() < 0.95:
        return None
    holds = f"two numbers in a cell, such as {as_text(filled.iloc[0])}"
    return make_column(column, "text", holds, "split it into two columns of numbers")


def n_distinct(filled: pd.Series) -> int:
    """Return how many of the cells, none of which is missing, differ."""
    return int(filled.astype(str).nunique() if filled.dtype == object else filled.nunique())


def stripped(column: pd.Series) -> pd.Series:
    """Return text without spaces around it."""
    return column.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore")


def words(text: pd.Series) -> pd.Series:
    """Return text with the type of text; before pandas 3 that type turns gaps into the word nan."""
    return text.astype("str").where(text.notna())
