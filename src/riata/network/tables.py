"""Columns of categories as an export writes them down: levels that are all numbers, or all text, and their codes."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riata.preprocess.categories import Categories, Column

__all__ = ["CodeTable", "code_tables"]


@dataclass(frozen=True, eq=False)
class CodeTable:
    """From the levels of one column to their codes; −1 stands for a level that is not known.

    Attributes
    ----------
    position : int
        The column of X.
    name : str
        Its name.
    levels : list
        All numbers or all text.
    codes : array of int
        One for each level.
    missing : int
        The code of a missing value.
    """

    position: int
    name: str
    levels: list[float] | list[str]
    codes: NDArray[np.int64]
    missing: int

    @property
    def is_text(self) -> bool:
        """Whether levels are text."""
        return any(isinstance(level, str) for level in self.levels)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The levels, as numbers."""
        return np.array(self.levels, dtype=np.float64)


def code_tables(categories: Categories | None, name: Callable[[int], str]) -> list[CodeTable]:
    """Return the tables of all columns of categories, or refuse a column whose levels are neither numbers nor text."""
    found = {} if categories is None else categories.columns
    return [
        CodeTable(j, name(j), _levels(column, name(j)), column.codes, column.missing) for j, column in found.items()
    ]


def _levels(column: Column, name: str) -> list[float] | list[str]:
    levels: Sequence[object] = column.levels.tolist()
    if all(isinstance(level, str) for level in levels):
        return [str(level) for level in levels]
    # numpy's bool is not registered as a number.
    if all(isinstance(level, numbers.Real | np.bool_) for level in levels):
        return [float(level) for level in levels]  # type: ignore[arg-type]
    kinds = ", ".join(sorted({type(level).__name__ for level in levels}))
    raise ValueError(
        f"the levels of the column {name!r} are of the types {kinds}, and an export takes columns of numbers or of text: "
        "convert the column before fit, such as with astype(str)"
    )
