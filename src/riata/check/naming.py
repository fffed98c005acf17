"""Parts of messages: what was given, in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_list(name: str, value: Any, like: str) -> list[Any]:
    """Return the entries of a sequence that is given as a parameter."""
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise ValueError(f"{name} must be a sequence such as {like}; got {value!r}")
    return list(value)


def some(names: Sequence[Any]) -> str:
    """Name the first ten."""
    return ", ".join(map(repr, names[:10])) + (" …" if len(names) > 10 else "")


def named(columns: Any, names: NDArray[np.object_] | None) -> str:
    """Name the first ten columns, or give their positions."""
    shown = [str(j if names is None else names[j]) for j in columns[:10]]
    return ", ".join(shown) + (" …" if len(columns) > 10 else "")
