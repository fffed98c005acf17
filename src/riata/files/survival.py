"""From a table to features and survival times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from pandas.api import types

from riata.files.categorical import stripped
from riata.files.columns import Column, ColumnOptions, SurvivalColumns
from riata.files.dates import date_column
from riata.files.kinds import target_kind
from riata.files.messages import TableError, as_text, counted, first_few, flags, require_column, row_numbers
from riata.files.numeric import number_column
from riata.files.read import Source
from riata.files.table import MIN_ROWS, Table, check_columns, features, finite, missing_notes

__all__ = ["MIN_EVENTS", "prepare_survival", "strata_labels", "survival_target"]

MIN_EVENTS = 5  # with fewer, a fifth of the rows may hold none
_EVENT = {"1", "true", "yes", "y", "t", "dead", "died", "death", "deceased", "event", "failed", "failure"}
_CENSORED = {"0", "false", "no", "n", "f", "alive", "living", "censored", "censor", "no event"}


def prepare_survival(
    source: Source,
    names: SurvivalColumns,
    options: ColumnOptions = ColumnOptions(),  # noqa: B008 — frozen
) -> Table:
    """Separate survival times from the features, and determine what each other column holds.

    Parameters
    ----------
    source : Source
        The table, from :func:`read`.
    names : SurvivalColumns
        Columns that make up the target.
    options : ColumnOptions
        What a user has decided about columns.

    Returns
    -------
    Table
        Ready to fit on: ``y`` is a data frame with the columns time and event and, where they apply, entry, strata and id.

    Raises
    ------
    TableError
        If a column cannot be used; the message names it and the remedy.
    """
    frame = source.frame.reset_index(drop=True)
    options = replace(options, beside=source.beside)
    y, known, given, notes = survival_target(frame, source.decimal, names, options)
    X, columns = features(frame.drop(columns=list(given)), source.decimal, options.without(given), known)
    rows, y = np.flatnonzero(known.to_numpy()), y.reset_index(drop=True)
    how = (source.decimal, source.na, source.sha256)
    return Table(X, y, "survival", ", ".join(given), columns, rows, source.file_format, notes, names, *how)


def survival_target(
    frame: pd.DataFrame, decimal: str, names: SurvivalColumns, options: ColumnOptions
) -> tuple[pd.DataFrame, pd.Series[bool], list[str], tuple[str, ...]]:
    """Return survival times of the rows where they are known, which these are, the columns that hold them, and notes."""
    event, level = _event_column(names.event, frame.columns.tolist())
    given = {role: name for role, name in vars(replace(names, event=event)).items() if name is not None}
    _check(frame, given, options)
    timed = [role for role in given if role in ("time", "entry")]
    moments = {role: _moment(frame[given[role]], decimal, options) for role in timed}
    y = pd.DataFrame({"event": _events(frame[event], level)})
    y = y.assign(**{role: strata_labels(frame[given[role]]) for role in ("strata", "id") if role in given})
    known = y.notna().all(axis=1) & pd.concat([column.values for column in moments.values()], axis=1).notna().all(
        axis=1
    )
    if known.sum() < MIN_ROWS:
        listed = first_few([repr(name) for name in given.values()])
        raise TableError(f"{counted(int(known.sum()), 'row')} have values of all of {listed}; {MIN_ROWS} are needed")
    y = y[known].astype({"event": bool})
    times, remark = _times({role: column.values[known] for role, column in moments.items()}, y.get("id"))
    y = pd.concat([times, y], axis=1)
    notes = (*_missing(moments, frame, given), *remark, _counts(frame.loc[known, event], y["event"]))
    return y, known, list(given.values()), notes


# ---- checks ---------------------------------------------------------------------------------------------------------


def _check(frame: pd.DataFrame, given: dict[str, str], options: ColumnOptions) -> None:
    """Raise an error for columns that do not exist, are given twice, or are to be used in another way."""
    role_of: dict[str, str] = {}
    for role, name in given.items():
        if name in role_of:
            raise TableError(f"{name!r} is given with --{role_of[name]} and with --{role}: give two columns")
        role_of[name] = role
    check_columns(frame, list(given.values()), options)
    for role in ("time", "entry"):
        if given.get(role) in options.categorical:
            raise TableError(
                f"{given[role]!r} is given with --{role}, so that it cannot be a category: drop one of them"
            )


# ---- times ----------------------------------------------------------------------------------------------------------


def _moment(column: pd.Series, decimal: str, options: ColumnOptions) -> Column:
    """Read a column of numbers or dates."""
    name = str(column.name)
    if name in options.dates:
        return date_column(column)
    found = number_column(column, decimal, on_request=True) if name in options.numeric else target_kind(column, decimal)
    if found.kind == "category":
        example = as_text(column.dropna().iloc[0]) if column.notna().any() else "nothing"
        raise TableError(f"{name!r} must hold times, numbers or dates; it holds {example}")
    return replace(found, values=found.values.where(finite(found.values)))


def _times(moments: dict[str, pd.Series], subjects: pd.Series | None) -> tuple[pd.DataFrame, list[str]]:
    """Return times and, where some rows enter late, entries; and a note on how these come from dates."""
    if any(types.is_datetime64_any_dtype(values) for values in moments.values()):
        times, notes = _from_dates(moments["time"], moments.get("entry"), subjects)
    else:
        times, notes = pd.DataFrame({role: values.astype(float) for role, values in moments.items()}), []
    negative, name = times.index[times["time"] < 0], repr(moments["time"].name)
    if len(negative):
        example = as_text(float(times["time"].loc[negative[0]]))
        raise TableError(
            f"{name} is negative in {row_numbers(negative)} ({example}): give the time since the start of observation, or "
            "empty these cells to leave their rows out"
        )
    late = times.index[times["entry"] >= times["time"]] if "entry" in times else times.index[:0]
    if len(late):
        raise TableError(
            f"{name} is not after {str(moments['entry'].name)!r} in {row_numbers(late)}: a row must end after it begins; "
            "correct these cells, or empty them to leave their rows out"
        )
    return times, notes


def _from_dates(time: pd.Series, entry: pd.Series | None, subjects: pd.Series | None) -> tuple[pd.DataFrame, list[str]]:
    """Return days since the entry, or since the first entry of each subject; entries only where a subject has a later one."""
    if entry is None:
        raise TableError(
            f"{time.name!r} holds dates: give the column with the dates at which observation begins, --entry COL, or turn it "
            "into a number of days"
        )
    for one, other in ((time, entry), (entry, time)):
        if not types.is_datetime64_any_dtype(one):
            raise TableError(
                f"{other.name!r} holds dates and {one.name!r} numbers: both must be dates, or both numbers"
            )
    before = time.index[time < entry]
    if len(before):
        raise TableError(
            f"{time.name!r} is before {entry.name!r} in {row_numbers(before)}: correct these dates, or empty them to leave "
            "their rows out"
        )
    origin = entry if subjects is None else entry.groupby(subjects).transform("min")
    days = pd.DataFrame({"time": _days(time - origin), "entry": _days(entry - origin)})
    first = "" if subjects is None else ", the first of each subject,"
    note = f"times are days from {entry.name!r}{first} to {time.name!r}"
    return (days if (days["entry"] > 0).any() else days[["time"]]), [note]


def _days(difference: pd.Series) -> pd.Series:
    days: pd.Series = difference.dt.total_seconds() / 86_400
    return days


# ---- events and labels ----------------------------------------------------------------------------------------------


def _event_column(text: str, columns: Sequence[str]) -> tuple[str, str | None]:
    """Separate the level from the column in ``status=dead``; a column may have such a name itself."""
    if text in columns:
        return text, None
    parts = [(text[:i].strip(), text[i + 1 :].strip()) for i, sign in enumerate(text) if sign == "="]
    for name, level in parts:
        if name in columns:
            return name, level
    require_column(parts[0][0] if parts else text, columns)
    raise AssertionError("unreachable")  # the column does not exist


def _events(column: pd.Series, level: str | None) -> pd.Series:
    """Return 1.0 for an event, 0.0 for a censored row, and NaN where it is not known."""
    levels = _level_names(column)
    known = sorted(levels.dropna().unique())
    if level is not None:
        if level not in known:
            raise TableError(f"{column.name!r} never is {level!r}; it is {first_few(list(map(repr, known)))}")
        return levels.eq(level).where(levels.notna()).astype(float)
    meaning = {each: _meaning(each) for each in known}
    if None in meaning.values():
        raise TableError(_unclear(column, levels, known))
    return levels.map(meaning, na_action="ignore").astype(float)


def _level_names(column: pd.Series) -> pd.Series:
    """Return cells as text, whole numbers without decimals."""
    if types.is_float_dtype(column):
        column = column.where(finite(column))
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        return column.map(lambda value: f"{value:.15g}", na_action="ignore").astype(object)
    return stripped(column)


def _meaning(level: str) -> bool | None:
    """Whether a level is an event, if that is clear from its name; ``1:DECEASED`` is."""
    word = re.sub(r"^[01]\s*:\s*", "", level.casefold())
    return True if word in _EVENT else False if word in _CENSORED else None


def _unclear(column: pd.Series, levels: pd.Series, known: Sequence[str]) -> str:
    name = str(column.name)
    if len(known) > 10:
        return (
            f"{name!r} has {len(known)} different values; the column of --event says whether a row ends with the event, such "
            "as 1 or 0, yes or no"
        )
    counts = levels.value_counts()
    listed = first_few([f"{level!r} ({counts[level]:,})" for level in known])
    ways = " or ".join(flags("--event", [f"{name}={level}"]) for level in known[:2])
    which = ways if len(known) == 2 else f"such as {ways}"
    return f"{name!r} holds {listed}: name the level that is the event, {which}"


def strata_labels(column: pd.Series) -> pd.Series:
    """Return labels of strata or subjects: numbers as they are, anything else as text."""
    return column if types.is_numeric_dtype(column) else stripped(column)


# ---- notes ----------------------------------------------------------------------------------------------------------


def _missing(moments: dict[str, Column], frame: pd.DataFrame, given: dict[str, str]) -> list[str]:
    """Return how many rows have no time, event, stratum or subject."""
    notes = [note for column in moments.values() for note in missing_notes(column)]
    for name in (given[role] for role in ("event", "strata", "id") if role in given):
        n = int(frame[name].isna().sum())
        if n:
            notes.append(f"left out {counted(n, 'row')} without a value of {name!r}")
    return notes


def _counts(cells: pd.Series, event: pd.Series) -> str:
    """Return what counts as an event, and how many there are; at least five are needed."""
    levels = _level_names(cells)
    n = int(event.sum())
    if n < MIN_EVENTS:
        few = f"{n} of {counted(len(event), 'row')} end with an event" if n else "no row ends with an event"
        raise TableError(f"{few} ({cells.name!r}); at least {MIN_EVENTS} are needed")
    ends, censored = (first_few(sorted(levels[event == each].unique())) for each in (True, False))
    others = f"; censored where it is {censored}" if censored else "; none is censored"
    return f"{n:,} of {counted(len(event), 'row')} end with the event: {cells.name!r} is {ends}{others}"
