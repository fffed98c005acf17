"""Messages about tables."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


class TableError(ValueError):
    """The table cannot be used as it is; the message says why and what to do."""


class TextTargetError(TableError):
    """The target holds text, and was to be a quantity.

    Attributes
    ----------
    name : str
        The column.
    example : str
        One of its cells.
    """

    def __init__(self, message: str, name: str, example: str):
        super().__init__(message)
        self.name, self.example = name, example


def first_few(names: Sequence[str], separator: str = ", ") -> str:
    """List the first six names and the number of the others."""
    more = len(names) - 6
    return separator.join(names[:6]) + (f" and {more} more" if more > 0 else "")


def flags(flag: str, names: Iterable[str]) -> str:
    """Return a flag of the command line with each of some columns, such as ``--drop 'the id'``."""
    return first_few([f"{flag} {shlex.quote(name)}" for name in names], separator=" ")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_text(value: Any) -> str:
    """Return a value as a reader would write it: text in quotes, numbers without their type."""
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


def row_numbers(positions: Iterable[int]) -> str:
    """Name rows of a file by their number; the first after the header is row 1."""
    names = [f"{position + 1:,}" for position in positions]
    return f"row {names[0]}" if len(names) == 1 else f"rows {first_few(names)}"


def require_column(name: str, columns: Iterable[str]) -> None:
    """Raise an error that suggests similar names if no column has this name."""
    columns = list(columns)
    if name in columns:
        return
    known = first_few(list(map(repr, columns)))
    raise TableError(f"no column {name!r}: {did_you_mean(name, columns) or f'there are {known}'}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the known names that resemble one; ``""`` where none does."""
    lower = {each.lower().strip(): each for each in known}
    close = [lower[match] for match in difflib.get_close_matches(name.lower().strip(), lower, n=3, cutoff=0.6)]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""
