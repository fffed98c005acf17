"""From a table in a file to numbers to fit on."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

__all__ = ["Table", "TableError", "prepare", "read"]

MIN_ROWS = 10  # fewer cannot be split into rows to train on, to validate on and to score with
MIN_PER_CLASS = 3  # one row for each of those
MANY_CLASSES = 20  # whole numbers with more values than this are quantities
_SHOWN = 6  # names in a message before "and … more"


class TableError(ValueError):
    """The table cannot be used as it is; the message says why and what to do."""


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


# ---- reading --------------------------------------------------------------------------------------------------------


def read(path: Path) -> pd.DataFrame:
    """Read a csv or parquet file.

    Parameters
    ----------
    path : Path
        A ``.csv`` file (``.csv.gz`` too; separated by comma, semicolon or tab) or a ``.parquet`` file.

    Returns
    -------
    DataFrame
        As stored, with text for column names.

    Raises
    ------
    TableError
        If it cannot be read, or two columns have the same name.
    """
    kinds = {".csv": _read_csv, ".csv.gz": _read_csv, ".parquet": _read_parquet, ".pq": _read_parquet}
    reader = next((kinds[kind] for kind in kinds if path.name.lower().endswith(kind)), None)
    if reader is None:
        raise TableError(f"{path} is neither .csv nor .parquet: save it as one of these")
    try:
        frame = reader(path)
    except TableError:
        raise
    except UnicodeDecodeError:
        raise TableError(f"cannot read {path}: it is not UTF-8 text; save it with that encoding") from None
    except ImportError:
        raise TableError("reading parquet needs pyarrow: pip install 'riata[parquet]'") from None
    except (OSError, EOFError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise TableError(f"cannot read {path}: {reason}") from None
    frame.columns = frame.columns.map(str)
    _refuse_duplicates(frame.columns)
    return frame


def _read_csv(path: Path) -> pd.DataFrame:
    def header(separator: str) -> list[str]:
        top = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, sep=separator)
        return top.iloc[0].tolist()

    separator = max(",;\t", key=lambda s: len(header(s)))
    _refuse_duplicates(name for name in header(separator) if name)  # pandas would rename them without a word
    frame = pd.read_csv(path, sep=separator, low_memory=False)
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError(f"cannot read {path}: its rows have more fields than the header has names; name every column")
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)


def _refuse_duplicates(names: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    twice = [f"{name!r} ({count} times)" for name, count in seen.items() if count > 1]
    if twice:
        raise TableError(f"column names must differ; found {_some(twice)}: rename or remove the copies")


# ---- preparing ------------------------------------------------------------------------------------------------------


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
        _must_exist(name, frame.columns)
    if target in drop:
        raise TableError(f"the target {target!r} cannot be dropped")
    known = frame[target].notna()
    n_dropped = int((~known).sum())
    frame = frame[known].drop(columns=list(dict.fromkeys(drop))).reset_index(drop=True)
    notes = [f"left out {_count(n_dropped, 'row')} without a value of {target!r}"] if n_dropped else []
    if len(frame) < MIN_ROWS:
        raise TableError(f"the table has {_count(len(frame), 'row')} with a target; at least {MIN_ROWS} are needed")
    y, task, reason = _target(frame.pop(target), task, cast=n_dropped > 0)
    notes += [reason] if reason else []
    X, sources = _encode(frame, notes)
    return Table(X, y, task, sources, n_dropped, tuple(notes))


def _must_exist(name: str, columns: Iterable[str]) -> None:
    columns = list(columns)
    if name in columns:
        return
    lower = {column.lower().strip(): column for column in columns}
    close = [lower[match] for match in difflib.get_close_matches(name.lower().strip(), lower, n=3, cutoff=0.6)]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {_some(list(map(repr, columns)))}"
    raise TableError(f"no column {name!r}: {hint}")


def _target(column: pd.Series, task: str, *, cast: bool) -> tuple[NDArray, str, str]:
    """Return the target as an array, the task, and why that task if it was not given."""
    kind = _kind(column)
    if kind == "other":
        raise TableError(f"the target {column.name!r} holds {_describe(column)}; it must be numbers or text")
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
        shown = _some([f"{label!r} ({count})" for label, count in rare.items()])
        raise TableError(
            f"classes of {values.name!r} with fewer than {MIN_PER_CLASS} rows: {shown}; merge them with others or "
            "remove their rows, as each needs a row to train on, one to validate on and one to score with"
        )
    return values.to_numpy(dtype=int) if types.is_integer_dtype(values) else values.astype(str).to_numpy(dtype=object)


def _quantity(values: pd.Series) -> NDArray:
    if not (types.is_numeric_dtype(values) or types.is_bool_dtype(values) or _kind(values) == "number"):
        raise TableError(f"{values.name!r} is text, which regression cannot predict: use --task classification")
    numbers = values.to_numpy(dtype=float)
    if not np.isfinite(numbers).all():
        raise TableError(f"the target {values.name!r} has infinite values: remove their rows")
    return numbers


def _encode(frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Turn features into numbers, and say which column each comes from."""
    kinds = {str(name): _kind(frame[name]) for name in frame}
    _refuse_missing(frame)
    _refuse_types(frame, kinds)
    encoded: dict[str, NDArray] = {}
    sources: dict[str, str] = {}
    for name, kind in kinds.items():
        parts = _levels(frame[name], notes) if kind == "text" else _numbers(frame[name], notes)
        clash = encoded.keys() & parts.keys()
        if clash:
            raise TableError(f"encoding {name!r} gives {_some(sorted(clash))}, which is a column already: rename one")
        encoded |= parts
        sources |= dict.fromkeys(parts, name)
    if not any((values != values[0]).any() for values in encoded.values()):
        raise TableError("no usable features: " + ("every column is constant" if encoded else "no columns are left"))
    return pd.DataFrame(encoded), sources


def _refuse_missing(frame: pd.DataFrame) -> None:
    counts = frame.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        shown = _some([f"{name!r} ({count} of {len(frame)})" for name, count in counts.items()])
        raise TableError(
            f"missing values in {shown}.\nFill them in first (scikit-learn's SimpleImputer or KNNImputer, or fillna in "
            f"pandas), remove their rows (dropna), or leave columns out: {_drop_option(counts.index)}"
        )


def _refuse_types(frame: pd.DataFrame, kinds: Mapping[str, str]) -> None:
    others = [name for name, kind in kinds.items() if kind == "other"]
    if others:
        shown = _some([f"{name!r} ({_describe(frame[name])})" for name in others])
        raise TableError(f"neither numbers nor text: {shown}; turn into numbers, or leave out: {_drop_option(others)}")
    texts = [name for name, kind in kinds.items() if kind == "text"]
    unique = [name for name in texts if frame[name].astype(str).nunique() == len(frame)]
    if unique:
        raise TableError(
            f"text with a different value in each of the {len(frame)} rows, so an identifier and no feature: "
            f"{_some(list(map(repr, unique)))}; leave out: {_drop_option(unique)}"
        )


def _numbers(column: pd.Series, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return the column under its own name."""
    name, values = str(column.name), column.to_numpy(dtype=float)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise TableError(
            f"{name!r} has {_count(infinite, 'infinite value')}: replace them, or leave it out: {_drop_option([name])}"
        )
    if types.is_integer_dtype(column) and (np.diff(np.sort(values)) == 1).all():
        notes.append(f"{name!r} numbers the rows; if it is no feature, leave it out: {_drop_option([name])}")
    return {name: values}


def _levels(column: pd.Series, notes: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return one column of zeros and ones for every level."""
    codes, levels = pd.factorize(column.astype(str), sort=True)
    numeric = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce").notna()
    if 2 * numeric.sum() > len(levels) and not numeric.all():
        odd = _some([repr(level) for level in levels[~numeric.to_numpy()]])
        notes.append(f"{column.name!r} is encoded as text with {len(levels)} levels because of {odd} among its numbers")
    elif 2 * len(levels) > len(column):
        notes.append(f"{column.name!r} is text with {len(levels)} levels in {len(column)} rows: is it a feature?")
    return {f"{column.name}={level}": (codes == i).astype(float) for i, level in enumerate(levels)}


def _kind(column: pd.Series) -> str:
    """Return whether a column holds a ``number``, ``text`` or something ``other``."""
    if isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype):
        return "text"
    if types.is_bool_dtype(column) or (types.is_numeric_dtype(column) and not types.is_complex_dtype(column)):
        return "number"
    if not types.is_object_dtype(column):
        return "other"
    inferred = types.infer_dtype(column, skipna=True)
    if inferred in ("boolean", "integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return "number"
    return "text" if inferred == "string" or _only_text_and_numbers(column) else "other"


def _only_text_and_numbers(column: pd.Series) -> bool:
    return all(isinstance(value, str | bool | int | float | np.number) for value in column.dropna())


def _describe(column: pd.Series) -> str:
    inferred = types.infer_dtype(column, skipna=True)
    return "dates" if inferred.startswith(("date", "timedelta")) else f"values of type {column.dtype}"


def _some(names: Sequence[str], separator: str = ", ") -> str:
    more = len(names) - _SHOWN
    return separator.join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _drop_option(names: Iterable[str]) -> str:
    return _some([f"--drop {shlex.quote(name)}" for name in names], separator=" ")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
