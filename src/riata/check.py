"""User input becomes clean arrays here, or a ValueError that says what to do. Nothing else validates."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "categorical",
    "class_counts",
    "class_weights",
    "costs",
    "groups",
    "hidden_dims",
    "holds_dates",
    "indicator",
    "is_table",
    "label_values",
    "labels",
    "lambda_seq",
    "no_class_weight",
    "number",
    "numeric_frame",
    "per_stage",
    "reachable",
    "sample_weight",
    "whole",
]


def number(name: str, value: Any, low: float = 0.0, high: float = math.inf, *, above: bool = False) -> float:
    """Check a real number in [low, high], or in (low, high] with ``above``."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not real or not (low < value if above else low <= value) or value > high:
        interval = f"{'(' if above else '['}{low:g}, {high:g}{']' if math.isfinite(high) else ')'}"
        raise ValueError(f"{name} must be a finite number in {interval}; got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int = 0) -> int:
    """Check an integer of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}; got {value!r}")
    return int(value)


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Check a choice."""
    if not any(value is a or (isinstance(value, type(a)) and value == a) for a in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value


def per_stage(name: str, value: Any, low: int, *, optional: bool = False) -> tuple[Any, Any]:
    """Check an integer, or a pair of them for the dense model and for each point after it; with ``optional``, or None."""
    pair = tuple(value) if isinstance(value, Sequence) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one number or a pair (dense model, every other point); got {value!r}")
    dense, sparse = (None if optional and v is None else whole(name, v, low) for v in pair)
    return dense, sparse


def tolerance(value: Any) -> float:
    """Check ``tol``, which other packages give another meaning."""
    if isinstance(value, numbers.Real) and float(value) >= 0.5:
        raise ValueError(
            f"tol={value!r} is not a relative tolerance: leave a point when the objective falls by less than this share "
            "(such as 1e-4); a factor on the objective, as in the lassonet package, would be 1 - tol here"
        )
    return number("tol", value)


def hidden_dims(value: Any) -> tuple[int, ...]:
    """Check the widths of the hidden layers."""
    widths = (value,) if isinstance(value, numbers.Integral) else _listed("hidden_dims", value, "(100,)")
    if not widths:
        raise ValueError("hidden_dims must name at least one hidden layer, such as (100,); for a linear model use M=0")
    return tuple(whole("hidden_dims", w, 1) for w in widths)


def lambda_seq(value: Any) -> tuple[float, ...] | None:
    """Check an explicit sequence of λ."""
    if value is None:
        return None
    seq = tuple(number("lambda_seq", v, above=True) for v in _listed("lambda_seq", value, "(0.1, 1, 10)"))
    falls = [i for i in range(1, len(seq)) if seq[i] <= seq[i - 1]]
    if not seq or falls:
        at = f"; it falls from {seq[falls[0] - 1]:g} to {seq[falls[0]]:g}" if falls else ""
        raise ValueError(
            f"lambda_seq must be a non-empty, strictly increasing sequence, as the path goes dense to sparse{at}"
        )
    return seq


def sample_weight(value: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Check one non-negative weight per row; None for equal ones."""
    if value is None:
        return np.ones(n_samples)
    weights = np.asarray(value, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight must have one number per row, shape ({n_samples},); got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and non-negative; use 0 to leave a row out")
    if np.count_nonzero(weights) < 2:
        found = "1 row only" if weights.any() else "no row: it is zero for every row"
        raise ValueError(f"sample_weight must be positive for at least two rows; it is for {found}")
    return weights


def numeric_frame(X: Any, who: str, *, dates: bool = True) -> Any:
    """Turn the columns of a data frame into numbers: dates into days since 1970, and objects such as pd.NA into floats.

    Columns that hold other things are named in the error; without ``dates``, these are among them.
    """
    if isinstance(X, np.ndarray) and X.ndim == 2 and _holds_words(X):
        raise ValueError(
            f"{who} needs numbers; X is an array with text: give a data frame, whose columns of text are categories where it "
            "takes them, or encode them first"
        )
    if hasattr(X, "to_pandas") and holds_dates(X):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    columns = [X.iloc[:, i] for i in range(X.shape[1])]
    when = [i for i, column in enumerate(columns) if _is_date(column)]
    if when and not dates:
        found = _some([X.columns[i] for i in when])
        raise ValueError(f"{who} needs numbers; there are dates in {found}: drop these columns, or turn them into days")
    numeric, others = {i: _days(columns[i]) for i in when}, []
    for i, column in enumerate(columns):
        if i not in numeric and str(column.dtype).startswith(("object", "str", "category")):
            try:
                numeric[i] = column.astype(object).where(column.notna(), math.nan).astype(np.float64)
            except (TypeError, ValueError):
                others.append(X.columns[i])
    if others:
        raise ValueError(
            f"{who} needs numbers; there is text in {_some(others)}: drop these columns, or encode them first"
        )
    return _replaced(X, numeric) if numeric else X


def holds_dates(X: Any) -> bool:
    """Say whether a data frame, of pandas or polars, has columns of dates."""
    if isinstance(X, pd.DataFrame):
        return any(_is_date(X.iloc[:, i]) for i in range(X.shape[1]))
    return hasattr(X, "to_pandas") and any(str(dtype).startswith(("Date", "Duration")) for dtype in X.dtypes)


def _is_date(column: pd.Series) -> bool:
    objects = pd.api.types.is_object_dtype(column.dtype)
    kind = pd.api.types.infer_dtype(column, skipna=True) if objects else str(column.dtype)
    return kind.startswith(("date", "timedelta", "period"))


def _days(column: Any) -> pd.Series:
    """Return dates as days since the beginning of 1970, in UTC where they have a zone, and durations as days."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if pd.api.types.is_object_dtype(column.dtype):
        lasts = pd.api.types.infer_dtype(column, skipna=True).startswith("timedelta")
        column = pd.to_timedelta(column) if lasts else pd.to_datetime(column)
    if not pd.api.types.is_timedelta64_dtype(column):
        column = (column.dt.tz_convert(None) if column.dt.tz is not None else column) - pd.Timestamp("1970-01-01")
    days: pd.Series = (column / pd.Timedelta(days=1)).astype(np.float64)
    return days


def _replaced(X: pd.DataFrame, columns: Mapping[int, Any]) -> pd.DataFrame:
    X = X.copy(deep=False)
    for i, column in columns.items():
        X.isetitem(i, column)
    return X


def _holds_words(X: NDArray[Any]) -> bool:
    return X.dtype.kind in "US" or (X.dtype.kind == "O" and any(isinstance(value, str) for value in X[:1].flat))


def positions(columns: Any, names: NDArray[np.object_] | None, n_features: int, what: str) -> list[int]:
    """Turn column names or positions into positions."""
    columns = _listed(what, columns, "[0, 2]")
    lookup = {} if names is None else {name: i for i, name in enumerate(names)}
    found = []
    for column in columns:
        if isinstance(column, numbers.Integral) and not isinstance(column, bool):
            if not 0 <= int(column) < n_features:
                raise ValueError(f"{what}: there is no column {column}; X has {n_features} columns, from 0 on")
            found.append(int(column))
        elif column in lookup:
            found.append(lookup[column])
        else:
            known = (
                "X has no column names; use positions" if names is None else f"X has {', '.join(map(str, names[:10]))}"
            )
            raise ValueError(f"{what}: unknown column {column!r} ({known}{' …' if len(lookup) > 10 else ''})")
    return found


def categorical(value: Any, names: NDArray[np.object_] | None, n_features: int) -> list[int]:
    """Turn names or positions of columns, or a mask over all of them, into positions."""
    what = "categorical_features"
    listed = _listed(what, value, '["colour", "city"], or "from_dtype", or None')
    if listed and all(isinstance(v, bool | np.bool_) for v in listed):
        if len(listed) != n_features:
            raise ValueError(f"{what}: a mask needs one entry for each of the {n_features} columns; got {len(listed)}")
        return np.flatnonzero(listed).tolist()
    return sorted(set(positions(listed, names, n_features, what)))


def groups(value: Any, names: NDArray[np.object_] | None, n_features: int) -> NDArray[np.int64] | None:
    """Turn groups, as one label per feature or as lists of columns (a mapping of names to lists), into ids per feature."""
    if value is None:
        return None
    mapped = isinstance(value, Mapping)
    members = list(value.values()) if mapped else _listed("groups", value, "[0, 0, 1]")
    listed = [isinstance(m, Iterable) and not isinstance(m, str) for m in members]
    if not all(listed):
        if mapped or any(listed) or len(members) != n_features:
            raise ValueError(
                f"groups must hold one label per feature ({n_features}), or lists of columns only; got {value!r}"
            )
        return np.unique(np.asarray(members), return_inverse=True)[1].astype(np.int64)
    ids = np.full(n_features, -1, dtype=np.int64)
    for g, columns in enumerate(members):
        for j in positions(columns, names, n_features, "groups"):
            if ids[j] >= 0:
                raise ValueError(f"groups must cover each feature once; repeated: {_named([j], names)}")
            ids[j] = g
    if (ids < 0).any():
        raise ValueError(f"groups must cover each feature once; missing: {_named(np.flatnonzero(ids < 0), names)}")
    return ids


def costs(
    value: Any, names: NDArray[np.object_] | None, n_features: int, ids: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Turn costs, one per feature or a mapping from columns (others cost 1), into an array; one cost per group."""
    if value is None:
        return np.ones(n_features)
    if isinstance(value, Mapping):
        array = np.ones(n_features)
        array[positions(value.keys(), names, n_features, "feature_costs")] = list(value.values())
    else:
        array = np.asarray(value, dtype=np.float64)
    if array.shape != (n_features,):
        raise ValueError(f"feature_costs must have one number per feature, shape ({n_features},); got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError("feature_costs must be finite and non-negative; 0 keeps a feature always")
    if not array.any():
        raise ValueError("feature_costs are all 0: every feature would always be kept, and there is nothing to select")
    if ids is not None:
        mixed = [j for j in range(n_features) if array[j] != array[np.argmax(ids == ids[j])]]
        if mixed:
            raise ValueError(f"feature_costs must be equal within a group; they differ at {_named(mixed, names)}")
    return array


def reachable(n_features_to_select: int | None, costs: NDArray[np.float64], ids: NDArray[np.int64] | None) -> None:
    """Refuse a number of features that the free ones, or the smallest group, exceed."""
    if n_features_to_select is None:
        return
    free = int(np.count_nonzero(costs == 0))
    smallest = 1 if ids is None else int(np.bincount(ids).min())
    if n_features_to_select < max(free, smallest):
        reason = f"{free} features that cost nothing and are always kept" if free else f"smallest group, of {smallest}"
        raise ValueError(f"n_features_to_select={n_features_to_select} is less than the {reason}")


def labels(y: NDArray[Any]) -> NDArray[Any]:
    """Refuse words mixed with gaps or with numbers, which have no order."""
    words = [isinstance(v, str) for v in y] if y.dtype == object else []
    if any(words) and not all(words):
        other = y[words.index(False)]
        raise ValueError(f"y must hold labels of one kind, without missing ones; it holds words and {other!r}")
    return y


def class_weights(per_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse weights that turn a class off or against itself."""
    if not np.isfinite(per_class).all() or (per_class <= 0).any():
        raise ValueError(f"class_weight must be finite and positive; got {per_class.tolist()} for the classes in order")
    return per_class


_MANY_CLASSES = 20  # more numbers than this, with some of a single row, are a quantity


def class_counts(classes: NDArray[Any], codes: NDArray[np.int64], *, splits: bool) -> None:
    """Refuse labels that cannot be learnt from, or cannot be split into training and validation rows."""
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least two classes; the rows with a weight hold 1 class: {classes.tolist()[0]!r}"
        )
    counts = np.bincount(codes, minlength=len(classes))
    rare = classes[counts < 2]
    if splits and len(rare) and classes.dtype.kind in "iuf" and 2 * len(classes) > min(len(codes), 2 * _MANY_CLASSES):
        raise ValueError(
            f"y holds {len(classes)} different numbers in {len(codes)} rows, {len(rare)} of them once: it looks like a "
            "quantity, which a regressor (LassoNetRegressor) predicts; merge numbers into classes to classify"
        )
    if splits and len(rare):
        raise ValueError(
            f"class {rare.tolist()[0]!r} has only one row, which cannot be both trained on and validated on; drop or merge "
            "rare classes, pass X_val and y_val, or use val_size=0"
        )


def is_table(y: Any) -> bool:
    """Say whether y has several columns."""
    return np.ndim(y) == 2 and np.shape(y)[1] > 1


def indicator(y: Any) -> NDArray[Any]:
    """Check a table of labels that are there, 1, or not, 0."""
    table = np.asarray(y)
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise ValueError(
            f"y has {table.shape[1]} columns and holds other numbers than 0 and 1: a classifier takes one column of classes, "
            "as a 1d array, or a table of 0/1 labels"
        )
    return table


def label_values(table: NDArray[np.float64]) -> None:
    """Refuse labels that all rows to train on have, or that none has."""
    constant = np.flatnonzero((table == table[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"every label needs rows with and without it to train on; label {_named(constant, None)} is "
            f"{table[0, constant[0]]:g} in all of them: drop it, or use another random_state or a smaller val_size"
        )


def no_class_weight(class_weight: Any) -> None:
    """Refuse weights of classes where rows have several."""
    if class_weight is not None:
        raise ValueError(
            "class_weight weighs rows by their class, and a row of a table of labels has several: use sample_weight"
        )


def _listed(name: str, value: Any, like: str) -> list[Any]:
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise ValueError(f"{name} must be a sequence such as {like}; got {value!r}")
    return list(value)


def _some(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:10])) + (" …" if len(names) > 10 else "")


def _named(columns: Any, names: NDArray[np.object_] | None) -> str:
    shown = [str(j if names is None else names[j]) for j in columns[:10]]
    return ", ".join(shown) + (" …" if len(columns) > 10 else "")
