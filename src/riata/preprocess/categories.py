"""Columns of categories on their way to the network: which they are, and which code each level has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata import check
from riata.preprocess import marginal

__all__ = ["Categories", "as_frame", "candidates", "holds_text", "learn", "numbered"]

FEW_CELLS = 20  # of a column of text; fewer are not worth a warning
FEWEST = 2  # samples of a level; levels with fewer share one code
_TEXT = ("String", "Utf8", "Categorical", "Enum", "Object", "Boolean")  # dtypes of polars
_NO_LEVELS = ("integer", "floating", "mixed-integer-float", "decimal", "complex", "empty")  # objects that are numbers
_DATES = ("date", "time", "period", "interval")


@dataclass(frozen=True, eq=False)
class Column:
    """Levels of a column in the order of their codes; the last of the codes may stand for several."""

    levels: pd.Index
    codes: NDArray[np.int64]
    missing: int  # the code of a missing value

    @property
    def n_levels(self) -> int:
        """Number of codes."""
        return int(max(self.codes.max(initial=-1), self.missing)) + 1

    def encode(self, values: pd.Series) -> NDArray[np.float32]:
        """Return codes; −1 for a level that is not known."""
        found = np.append(self.codes, -1)[self.levels.get_indexer(_objects(values))]
        return np.where(values.isna(), self.missing, found).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Categories:
    """The columns of categories of a table, by position."""

    columns: dict[int, Column]

    def n_levels(self, n_features: int) -> NDArray[np.int64]:
        """Return the number of codes of each column of the table; 0 for a column of numbers."""
        numbers = np.zeros(n_features, dtype=np.int64)
        numbers[list(self.columns)] = [column.n_levels for column in self.columns.values()]
        return numbers

    def encode(self, X: Any) -> pd.DataFrame:
        """Return the table with codes in the place of levels."""
        frame = as_frame(X).copy(deep=False)
        for j, column in self.columns.items():
            frame.isetitem(j, column.encode(frame.iloc[:, j]))
        return frame


def as_frame(X: Any) -> pd.DataFrame:
    """Return a table as a data frame of pandas; an array has positions for names."""
    return X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)


def learn(X: Any, which: Any, sample_weight: Any = None) -> Categories | None:
    """Find the columns of categories, and learn their levels from the samples with a weight; None without any."""
    return numbered(candidates(X, which), which, sample_weight)


def candidates(X: Any, which: Any) -> dict[int, pd.Series]:
    """Return the columns of categories, by position."""
    if which is None or (isinstance(which, str) and which == "from_dtype" and not _may_hold_text(X)):
        return {}
    if issparse(X):
        raise ValueError("categorical_features: a sparse X holds numbers only; give 0/1 columns, with feature_groups")
    if np.ndim(X) != 2 or not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)
        if X.ndim != 2:
            return {}  # whoever checks the shape will say so
    frame = as_frame(X)
    if isinstance(which, str) and which == "from_dtype":
        found = [j for j in range(frame.shape[1]) if holds_text(frame.iloc[:, j])]
    else:
        names = None if frame.columns.inferred_type == "integer" else frame.columns.to_numpy(dtype=object)
        found = check.categorical(which, names, frame.shape[1])
    return {j: frame.iloc[:, j] for j in found}


def numbered(columns: dict[int, pd.Series], which: Any, sample_weight: Any = None) -> Categories | None:
    """Learn the levels of columns from the samples with a weight; None without any column."""
    if not columns:
        return None
    counts = _counts(sample_weight, len(next(iter(columns.values()))))
    learnt = {j: _column(values, counts) for j, values in columns.items()}
    if isinstance(which, str) and which == "from_dtype":
        _warn_of_many_levels(list(columns.values()))
    return Categories(learnt)


def _may_hold_text(X: Any) -> bool:
    if isinstance(X, pd.DataFrame):
        return any(dtype.kind not in "biufc" or isinstance(dtype, pd.BooleanDtype) for dtype in X.dtypes)
    return hasattr(X, "to_pandas") and hasattr(X, "dtypes") and any(str(d).startswith(_TEXT) for d in X.dtypes)


def holds_text(column: pd.Series) -> bool:
    """Say whether a column holds categories, by its type; objects that are numbers are numbers."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype | pd.BooleanDtype):
        return True
    if not pd.api.types.is_object_dtype(dtype):
        return False
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return not kind.startswith(_NO_LEVELS) and not any(date in kind for date in _DATES)


def _warn_of_many_levels(columns: Sequence[pd.Series]) -> None:
    """Warn of text of which most cells occur once: numbers with units, dates or names, of which levels say little.

    Counting levels instead would warn of many towns in a fold or a half-sample, where each occurs a few times.
    """
    many = []
    for column in columns:
        filled = column.dropna()
        asked_for = isinstance(column.dtype, pd.CategoricalDtype)
        if not asked_for and len(filled) > FEW_CELLS and (filled.value_counts() == 1).sum() > len(filled) / 2:
            many.append(f"{column.name!r} (such as {str(filled.iloc[0])!r})")
    if many:
        shown = ", ".join(many[:6]) + (f" and {len(many) - 6} more" if len(many) > 6 else "")
        warnings.warn(
            f"most cells of these columns of text occur once, and each is a level of a category: {shown}. If they hold "
            "numbers or dates, convert them (pandas.to_numeric, pandas.to_datetime), or read the file with riata.read_table, "
            "which reads units, decimal commas and dates; if they name rows, drop them; astype('category') keeps them silently",
            UserWarning,
            stacklevel=2,
        )


def _counts(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Return how often each sample counts; weights that are no counts only say how much a sample matters."""
    weights = check.sample_weight(sample_weight, n)
    counts = marginal.as_counts(weights)
    return (weights > 0).astype(np.float64) if counts is None else counts


def _objects(values: pd.Series) -> pd.Index:
    index: pd.Index = pd.Index(values.astype(object).to_numpy(), dtype=object)
    return index


def _column(values: pd.Series, counts: NDArray[np.float64]) -> Column:
    """Number the levels from the commonest on, equals as they come; their names say nothing."""
    missing = values.isna().to_numpy()
    try:
        codes, levels = pd.factorize(_objects(values[~missing]))
    except TypeError as error:
        kind = type(values[~missing].iloc[0]).__name__
        raise ValueError(
            f"cells of column {values.name!r} hold a {kind}, which cannot be a level of a category ({error}): drop the column, "
            "or give each of its numbers a column of its own"
        ) from None
    frequency = np.append(np.bincount(codes, counts[~missing], len(levels)), counts[missing].sum())
    n_rows, n_present = counts.sum(), np.count_nonzero(frequency)
    if n_present >= n_rows > 2:
        raise ValueError(
            f"column {values.name!r} of categories has another level in each of the {n_rows:g} rows, so it names rows: drop "
            "it, or leave it out of categorical_features if it holds numbers"
        )
    order = np.argsort(-frequency, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    ranks = np.minimum(ranks, np.count_nonzero(frequency >= FEWEST))
    ranks[frequency == 0] = -1
    return Column(levels, ranks[:-1], int(ranks[-1]))
