"""From a table to features and a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.tables.columns import MIN_ROWS, describe, kind_of, numbers, odd_levels, row_number_notes
from riata.tables.wording import TableError, counted, drop_option, must_exist, some

MIN_PER_CLASS = 3  # a row to train on, one to validate on and one to score with
MANY_CLASSES = 20  # whole numbers with more values than this are quantities


@dataclass(frozen=True, eq=False)
class Table:
    """A table ready to fit on.

    Attributes
    ----------
    X : DataFrame
        Numbers without gaps; a text column has become one column of zeros and ones per level, named ``column=level``.
    y : array of shape (n,)
        Floats for regression; whole numbers or text for classification.
    task : str
        ``"classification"`` or ``"regression"``.
    sources : dict
        For every column of X, the column of the file that it comes from.
    n_dropped : int
        Rows left out because the target was missing.
    notes : tuple of str
        What was decided on the way, for the user to read.
    """

    X: pd.DataFrame
    y: NDArray
    task: str
    sources: dict[str, str]
    n_dropped: int
    notes: tuple[str, ...]

    @property
    def groups(self) -> list[list[str]] | None:
        """Columns of X that come from the same column of the file; None if all stand alone."""
        groups: dict[str, list[str]] = {}
        for name, source in self.sources.items():
            groups.setdefault(source, []).append(name)
        return None if len(groups) == len(self.sources) else list(groups.values())


def prepare(frame: pd.DataFrame, target: str, task: str = "auto", drop: Sequence[str] = ()) -> Table:
    """Separate the target from the features and turn the features into numbers.

    Parameters
    ----------
    frame : DataFrame
        What :func:`read` returned.
    target : str
        The column to predict.
    task : {"auto", "classification", "regression"}
        Whether the target holds classes or a quantity.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    Table
        Ready to fit on.

    Raises
    ------
    TableError
        If a column cannot be used; the message names it and the remedy.
    """
    for name in (target, *drop):
        must_exist(name, frame.columns)
    if target in drop:
        raise TableError(f"the target {target!r} cannot be dropped")
    known = frame[target].notna()
    n_dropped = int((~known).sum())
    frame = frame[known].drop(columns=list(dict.fromkeys(drop))).reset_index(drop=True)
    notes = [f"left out {counted(n_dropped, 'row')} without a value of {target!r}"] if n_dropped else []
    if len(frame) < MIN_ROWS:
        raise TableError(f"the table has {counted(len(frame), 'row')} with a target; at least {MIN_ROWS} are needed")
    y, task, reason = _target(frame.pop(target), task, cast=n_dropped > 0)
    notes += [reason] if reason else []
    X, sources = _encode(frame, notes)
    return Table(X, y, task, sources, n_dropped, tuple(notes))


def _target(column: pd.Series, task: str, *, cast: bool) -> tuple[NDArray, str, str]:
    """Return the target as an array, the task, and why that task if it was not given."""
    kind = kind_of(column)
    if kind == "other":
        raise TableError(f"the target {column.name!r} holds {describe(column)}; it must be numbers or text")
    values = column.astype(str) if kind == "text" else column.infer_objects()
    if cast and types.is_float_dtype(values) and (values % 1 == 0).all():
        values = values.astype(int)  # they were only stored as floats because some were missing
    distinct = values.nunique()
    if distinct < 2:
        raise TableError(f"the target {column.name!r} has only one value ({values.iloc[0]!r}): nothing to predict")
    reason = ""
    if task == "auto":
        task, why = _guess(values, distinct)
        other = "regression" if task == "classification" else "classification"
        reason = f"task: {task}, as {column.name!r} {why}" + (f" (--task {other} otherwise)" if kind != "text" else "")
    return (_classes(values) if task == "classification" else _quantity(values)), task, reason


def _guess(values: pd.Series, distinct: int) -> tuple[str, str]:
    if types.is_bool_dtype(values):
        return "classification", "is true or false"
    if not types.is_numeric_dtype(values):
        return "classification", f"is text with {distinct} distinct values"
    if not types.is_integer_dtype(values):
        return "regression", "has numbers with decimals"
    few = distinct <= max(2, min(MANY_CLASSES, len(values) // 10))
    return "classification" if few else "regression", f"has whole numbers with {distinct} distinct values"


def _classes(values: pd.Series) -> NDArray:
    counts = values.value_counts()
    rare = counts[counts < MIN_PER_CLASS]
    if 2 * len(counts) > len(values):
        raise TableError(
            f"{values.name!r} has {len(counts)} distinct values in {len(values)} rows, too many for classes; "
            "if it is a quantity, use --task regression"
        )
    if len(rare):
        shown = some([f"{label!r} ({count})" for label, count in rare.items()])
        raise TableError(
            f"classes of {values.name!r} with fewer than {MIN_PER_CLASS} rows: {shown}; merge them with others or "
            "remove their rows, as each needs a row to train on, one to validate on and one to score with"
        )
    return values.to_numpy(dtype=int) if types.is_integer_dtype(values) else values.astype(str).to_numpy(dtype=object)


def _quantity(values: pd.Series) -> NDArray:
    if not (types.is_numeric_dtype(values) or types.is_bool_dtype(values) or kind_of(values) == "number"):
        raise TableError(f"{values.name!r} is text, which regression cannot predict: use --task classification")
    quantity = values.to_numpy(dtype=float)
    if not np.isfinite(quantity).all():
        raise TableError(f"the target {values.name!r} has infinite values: remove their rows")
    return quantity


def _encode(frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Turn features into numbers, and say which column each comes from."""
    kinds = {str(name): kind_of(frame[name]) for name in frame}
    _refuse_missing(frame)
    _refuse_types(frame, kinds)
    encoded: dict[str, NDArray] = {}
    sources: dict[str, str] = {}
    for name, kind in kinds.items():
        parts = _levels(frame[name], notes) if kind == "text" else _numbers(frame[name], notes)
        clash = encoded.keys() & parts.keys()
        if clash:
            raise TableError(f"encoding {name!r} gives {some(sorted(clash))}, which is a column already: rename one")
        encoded |= parts
        sources |= dict.fromkeys(parts, name)
    if not any((values != values[0]).any() for values in encoded.values()):
        raise TableError("no usable features: " + ("every column is constant" if encoded else "no columns are left"))
    return pd.DataFrame(encoded), sources


def _refuse_missing(frame: pd.DataFrame) -> None:
    counts = frame.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        shown = some([f"{name!r} ({count} of {len(frame)})" for name, count in counts.items()])
        raise TableError(
            f"missing values in {shown}.\nFill them in first (riata impute, scikit-learn's SimpleImputer, or fillna in "
            f"pandas), remove their rows (dropna), or leave columns out: {drop_option(counts.index)}"
        )


def _refuse_types(frame: pd.DataFrame, kinds: Mapping[str, str]) -> None:
    others = [name for name, kind in kinds.items() if kind == "other"]
    if others:
        shown = some([f"{name!r} ({describe(frame[name])})" for name in others])
        raise TableError(f"neither numbers nor text: {shown}; turn into numbers, or leave out: {drop_option(others)}")
    texts = [name for name, kind in kinds.items() if kind == "text"]
    unique = [name for name in texts if frame[name].astype(str).nunique() == len(frame)]
    if unique:
        raise TableError(
            f"text with a different value in each of the {len(frame)} rows, so an identifier and no feature: "
            f"{some(list(map(repr, unique)))}; leave out: {drop_option(unique)}"
        )


def _numbers(column: pd.Series, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return the column under its own name."""
    values = numbers(column)
    notes.extend(row_number_notes(column, values))
    return {str(column.name): values}


def _levels(column: pd.Series, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return one column of zeros and ones for every level."""
    codes, levels = pd.factorize(column.astype(str), sort=True)
    odd = odd_levels(levels.tolist())
    if odd:
        because = some(list(map(repr, odd)))
        notes.append(
            f"{column.name!r} is encoded as text with {len(levels)} levels because of {because} among its numbers"
        )
    elif 2 * len(levels) > len(column):
        notes.append(f"{column.name!r} is text with {len(levels)} levels in {len(column)} rows: is it a feature?")
    return {f"{column.name}={level}": (codes == i).astype(float) for i, level in enumerate(levels)}
