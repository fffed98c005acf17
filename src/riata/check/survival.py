"""Targets of survival models: times under observation, and whether they end with the event."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from riata.check.targets import plain

__all__ = ["SURVIVAL_FORMS", "no_survival", "numbers", "refuse", "right_censored", "survival", "survival_strata"]

Floats = NDArray[np.float64]

SURVIVAL_FORMS = (
    "a structured array with a boolean field for the event and a field for the time (scikit-survival's Surv), an array with "
    "the columns time and event or entry, time and event, or a data frame with columns time and event and, where they apply, "
    "entry, strata and id"
)
_NAMES = ("entry", "time", "event", "strata", "id")
_EARLY = 1.0  # before the earliest time, where no entry is given


class _Columns(NamedTuple):
    time: Any
    event: Any
    entry: Any = None
    strata: Any = None
    id: Any = None


def survival(y: Any) -> Floats:
    """Check a target of survival times; return entry, time, event, and codes of stratum and subject, (n, 5).

    What is returned is accepted, too. Codes are positions of the sorted labels; a subject that is not known is −1.
    """
    if _is_checked(y):
        return np.asarray(y, dtype=np.float64)
    columns = _columns(y)
    time, event = _times(columns), _events(columns.event)
    earliest = min(time.min(initial=0.0), 0.0) - _EARLY
    entry = np.full(len(time), earliest) if columns.entry is None else numbers(columns.entry, "entry")
    refuse(entry >= time, entry, "entry", "a sample must enter before its time ends: entry < time")
    codes = [_codes(labels, name, len(time)) for name, labels in (("strata", columns.strata), ("id", columns.id))]
    checked = np.column_stack([entry, time, event, *codes])
    if not event.any():
        raise ValueError("y holds no event: every sample is censored, so that nothing can be learnt about hazards")
    return checked


def right_censored(y: Any) -> tuple[Floats, Floats]:
    """Check a target of times that are all observed from the start and in one stratum; return times and events."""
    columns = _columns(y)
    more = [name for name in ("entry", "strata", "id") if getattr(columns, name) is not None]
    if more:
        raise ValueError(
            f"y has a column {more[0]!r}, which this model does not take: leave it out, or use Cox's model"
        )
    return _times(columns), _events(columns.event)


def survival_strata(y: Any) -> NDArray[Any] | None:
    """Return the labels of the strata that a target holds, in the order of their codes; None without strata."""
    if _is_checked(y):
        highest = int(np.max(np.asarray(y)[:, 3], initial=0))  # some of the strata may have no sample here
        return np.arange(highest + 1) if highest else None
    strata = _columns(y).strata
    return None if strata is None else _labels(strata, "strata")[0]


def no_survival(y: Any, who: str) -> None:
    """Refuse survival times as the target of a model of numbers or classes."""
    structured = isinstance(y, np.ndarray) and bool(y.dtype.names)
    names = [str(name) for name in (y.dtype.names if structured else getattr(y, "columns", ()))]
    if structured or {"time", "event"} <= set(names) <= set(_NAMES):
        raise ValueError(
            f"y has the columns {', '.join(map(repr, names))}, as survival times have, and {who} takes numbers or classes: use "
            "LassoNetCoxRegressor or LassoNetIntervalRegressor or, if these are several targets, give an array of numbers"
        )


def _is_checked(y: Any) -> bool:
    """Return whether a target is what :func:`survival` returns."""
    plain(y)
    if hasattr(y, "columns") or np.ndim(y) != 2 or np.shape(y)[1] != len(_NAMES):
        return False
    table = np.asarray(y)
    if table.dtype.kind != "f" or not len(table):
        return False
    entry, time, event, *codes = table.T
    whole = [(labels >= low).all() and (labels % 1 == 0).all() for labels, low in zip(codes, (0, -1), strict=True)]
    return bool((entry < time).all() and np.isin(event, (0, 1)).all() and all(whole))


def _columns(y: Any) -> _Columns:
    """Find the columns of a target in any of its forms."""
    if isinstance(y, np.ndarray) and y.dtype.names:
        return _named({name: y[name] for name in y.dtype.names})
    if hasattr(y, "columns"):
        return _named({str(name): np.asarray(y[name]) for name in y.columns})
    table = np.asarray(y)
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise ValueError(f"y must be {SURVIVAL_FORMS}; got shape {table.shape}")
    *entry, time, event = table.T
    return _Columns(time, event, entry[0] if entry else None)


def _named(columns: dict[str, NDArray[Any]]) -> _Columns:
    unknown = [name for name in columns if name not in _NAMES]
    if not unknown and "time" in columns and "event" in columns:
        return _Columns(**columns)
    flags = [name for name, values in columns.items() if values.dtype.kind == "b"]
    if len(columns) == 2 and len(flags) == 1:
        (time,) = (values for name, values in columns.items() if name != flags[0])
        return _Columns(time, columns[flags[0]])
    if len(columns) == 2 and np.isin(list(columns.values())[1], (0, 1)).all():
        return _Columns(*columns.values())
    remedy = ": bounds of times are for LassoNetIntervalRegressor" if {"lower", "upper"} & set(columns) else ""
    raise ValueError(f"y must be {SURVIVAL_FORMS}; it has the columns {', '.join(map(repr, columns))}{remedy}")


def _times(columns: _Columns) -> Floats:
    time = numbers(columns.time, "time")
    refuse(time < 0, time, "time", "a time cannot be negative: use the time since the start of observation")
    return time


def numbers(values: Any, name: str, remedy: str = "leave out samples without it", *, infinite: bool = False) -> Floats:
    """Return a column as numbers; refuse missing ones, and infinite ones unless they are allowed."""
    given = column_or_1d(np.asarray(values))
    try:
        if given.dtype.kind in "bmM":  # flags, durations and dates would turn into numbers of a unit that nobody chose
            raise TypeError
        column: Floats = given.astype(np.float64)
    except (TypeError, ValueError):
        held = given.dtype if given.dtype.kind in "mM" else repr(given.tolist()[0])
        raise ValueError(
            f"column {name!r} of y must hold numbers, such as days since the start; it holds {held}"
        ) from None
    refuse(np.isnan(column), column, name, remedy)
    if not infinite:
        refuse(np.isinf(column), column, name, "it must be finite")
    return column


def _events(values: Any) -> Floats:
    event = column_or_1d(np.asarray(values))
    missing = pd.isna(event)
    if missing.any():
        raise ValueError(f"column 'event' of y is missing in row {int(missing.argmax())}: leave out samples without it")
    known = pd.Series(event).isin([False, True]).to_numpy()
    if not known.all():
        raise ValueError(
            "column 'event' of y must be boolean, or 1 for an event and 0 for a censored time; it holds "
            f"{event[~known].tolist()[0]!r}. In an array the columns are time, event, or entry, time, event"
        )
    flags: Floats = event.astype(np.float64)
    return flags


def _codes(labels: Any, name: str, n: int) -> Floats:
    """Return codes of labels; without labels one stratum, 0, and −1 for subjects that are not known."""
    if labels is None:
        return np.full(n, -1.0) if name == "id" else np.zeros(n)
    return _labels(labels, name)[1].astype(np.float64)


def _labels(values: Any, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted labels, and the position of each sample's."""
    labels = column_or_1d(np.asarray(values))
    missing = pd.isna(labels)
    if missing.any():
        raise ValueError(f"column {name!r} of y is missing in row {int(missing.argmax())}: give every sample one")
    try:
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError(f"column {name!r} of y mixes labels that have no order: make all of them text") from None
    return found, codes


def refuse(wrong: NDArray[np.bool_], values: Floats, name: str, remedy: str) -> None:
    """Raise for the first row that is wrong."""
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"column {name!r} of y holds {values[row]:g} in row {row}: {remedy}")
