"""Messages about tables."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

_SHOWN = 6  # names in a message before "and … more"


class TableError(ValueError):
    """The table cannot be used as it is; the message says why and what to do."""


def some(names: Sequence[str], separator: str = ", ") -> str:
    """List the first few names."""
    more = len(names) - _SHOWN
    return separator.join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def option(flag: str, names: Iterable[str]) -> str:
    """Return an option with columns to give on the command line, such as ``--drop 'the id'``."""
    return some([f"{flag} {shlex.quote(name)}" for name in names], separator=" ")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shown(value: Any) -> str:
    """Return a value as a reader would write it: text in quotes, numbers without their type."""
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


def rows_of(positions: Iterable[int]) -> str:
    """Name rows of a file by their number; the first after the header is row 1."""
    names = [f"{position + 1:,}" for position in positions]
    return f"row {names[0]}" if len(names) == 1 else f"rows {some(names)}"


def must_exist(name: str, columns: Iterable[str]) -> None:
    """Refuse a name that no column has, and say which may have been meant."""
    columns = list(columns)
    if name in columns:
        return
    lower = {column.lower().strip(): column for column in columns}
    close = [lower[match] for match in difflib.get_close_matches(name.lower().strip(), lower, n=3, cutoff=0.6)]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {some(list(map(repr, columns)))}"
    raise TableError(f"no column {name!r}: {hint}")
