"""Targets of interval-censored times: a lower and an upper bound for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.check.survival import numbers, refuse, right_censored
from riata.check.targets import plain

__all__ = ["intervals"]

Floats = NDArray[np.float64]

_FORMS = (
    "an array with the columns lower and upper, a data frame with these columns, or, for right-censored times, a structured "
    "array or data frame with time and event. lower == upper is an exact time, upper = inf right-censored, lower = 0 "
    "left-censored"
)
_ENCODED = 4


def intervals(y: Any) -> Floats:
    """Check a target of intervals; return lower and upper time, and whether each is known, (n, 4).

    A bound that is not known is 0. What is returned is accepted, too.
    """
    lower, upper = _bounds(y)
    refuse(lower < 0, lower, "lower", "a time cannot be negative; 0 is the lower time of a left-censored sample")
    refuse(np.isinf(lower), lower, "lower", "it must be finite")
    refuse(lower > upper, lower, "lower", "it exceeds the upper time; for times and events give a data frame")
    says_nothing = (lower == 0) & np.isinf(upper)
    refuse(says_nothing, upper, "upper", "together with a lower time of 0 this says nothing: leave the sample out")
    refuse(upper == 0, upper, "upper", "an exact time must be positive: give the interval from 0 to a later time")
    finite = np.isfinite(upper)
    return np.column_stack([lower, np.where(finite, upper, 0.0), lower > 0, finite])


def _bounds(y: Any) -> tuple[Floats, Floats]:
    """Return lower and upper times, (n,) each, from a target in any of its forms."""
    plain(y)
    if isinstance(y, np.ndarray) and y.dtype.names:
        return _named(y, y.dtype.names)
    if hasattr(y, "columns"):
        return _named(y, [str(name) for name in y.columns])
    table = np.asarray(y)
    if table.ndim == 2 and table.shape[1] == _ENCODED and np.isin(table[:, 2:], (0, 1)).all():
        lower, upper, _, known = table.T.astype(np.float64)
        return lower, np.where(known > 0, upper, np.inf)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"y must be {_FORMS}; got shape {table.shape}")
    if len(table) and np.all(table[:, 1] == 1):
        raise ValueError(
            "the second column of y is 1 in every row, as if it said which times are events: give a data frame with the "
            "columns time and event or, if these are upper times, lower and upper"
        )
    return _numbers(table[:, 0], "lower"), _numbers(table[:, 1], "upper")


def _named(y: Any, names: Any) -> tuple[Floats, Floats]:
    if set(names) == {"lower", "upper"}:
        return _numbers(y["lower"], "lower"), _numbers(y["upper"], "upper")
    if {"lower", "upper"} & set(names):
        raise ValueError(f"y must be {_FORMS}; it has the columns {', '.join(map(repr, names))}")
    time, event = right_censored(y)
    return time, np.where(event > 0, time, np.inf)


def _numbers(values: Any, name: str) -> Floats:
    remedy = "use 0 as the lower time of a left-censored sample, and inf as the upper one of a right-censored sample"
    return numbers(values, name, remedy, infinite=True)
