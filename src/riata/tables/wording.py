"""Messages about tables."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence

_SHOWN = 6  # names in a message before "and … more"


class TableError(ValueError):
    """The table cannot be used as it is; the message says why and what to do."""


def some(names: Sequence[str], separator: str = ", ") -> str:
    """List the first few names."""
    more = len(names) - _SHOWN
    return separator.join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def drop_option(names: Iterable[str]) -> str:
    """Return the options that leave out columns."""
    return some([f"--drop {shlex.quote(name)}" for name in names], separator=" ")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def must_exist(name: str, columns: Iterable[str]) -> None:
    """Refuse a name that no column has, and say which may have been meant."""
    columns = list(columns)
    if name in columns:
        return
    lower = {column.lower().strip(): column for column in columns}
    close = [lower[match] for match in difflib.get_close_matches(name.lower().strip(), lower, n=3, cutoff=0.6)]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {some(list(map(repr, columns)))}"
    raise TableError(f"no column {name!r}: {hint}")
