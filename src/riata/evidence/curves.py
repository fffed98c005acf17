"""How the predictions of a fitted model change with one feature: rising, falling, or in which levels they stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from riata.preprocess import categories

__all__ = ["Curve", "brief", "effect_curve", "feature_effects"]

Floats = NDArray[np.float64]
_MIDDLE = (0.05, 0.95)  # quantiles between which a curve runs
_PLACES = 11  # along a column of numbers
_LEVELS = 30  # of a column of categories, the commonest
_ENTRIES = 2**19  # of the rows that a curve is a mean over
_ROWS = 500
_BACK = 0.15  # share of its range that a curve may go back and still be said to rise or to fall
_ROUNDING = 1e-12
_LEAST = 0.25  # a mean curve that moves by less than this share of what the curves of single rows do says little


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean prediction of a model where one feature is set to some value in all rows, and the others are as they are.

    Attributes
    ----------
    feature : str
        Its name.
    values : array of shape (m,)
        Increasing numbers or dates, or the commonest levels of a category.
    ordered : bool
        Whether the values have an order.
    prediction : array of shape (m, o)
        In units of the target; for a classifier, the probability of each class.
    shares : array of shape (m,)
        For a category, the share of the rows that have each level.
    outputs : list of str
        Names of the classes, or of the targets where there are several.
    moves : array of shape (o,)
        Mean over rows of how far the prediction for a row goes, from its lowest to its highest.
    """

    feature: str
    values: NDArray[Any]
    ordered: bool
    prediction: Floats
    shares: Floats
    outputs: list[str]
    moves: Floats


def effect_curve(model: Any, X: Any, feature: Any, *, random_state: Any = None) -> Curve:
    """Return how the mean prediction changes with one feature: a partial dependence.

    The curve runs over the middle 90 % of the feature's values in X, or over its commonest levels. It is a mean over rows: of
    a feature that raises predictions for some rows and lowers them for others it shows what is left.

    Parameters
    ----------
    model : classifier or regressor
        Fitted on a data frame or an array with the columns of X.
    X : array-like of shape (n_samples, n_features)
        Rows that the model has not seen. A random part of them, if there are more than some hundreds.
    feature : str or int
        Name or position of a column.
    random_state : int, optional
        Seed of that part.

    Returns
    -------
    Curve
        Values and mean predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from riata.evidence import effect_curve
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> curve = effect_curve(LinearRegression().fit(X, y), X, "bmi")
    >>> bool(curve.prediction[-1] > curve.prediction[0])
    True
    """
    check_is_fitted(model)
    frame = _part(_checked(model, X), random_state)
    j = _position(frame, feature)
    column: pd.Series = frame.iloc[:, j]
    known = getattr(model, "_categories", None)  # of an estimator that was told which columns these are
    ordered = not categories.holds_text(column) and (known is None or j not in known.columns)
    values, shares = _places(column) if ordered else _levels(column)
    rows = frame if hasattr(model, "feature_names_in_") or not isinstance(X, np.ndarray) else frame.to_numpy()
    found = np.stack([_predicted(model, _with(rows, j, column, value)) for value in values])  # (m, n, o)
    moves = np.ptp(found, axis=0).mean(axis=0)
    return Curve(
        str(frame.columns[j]), values, ordered, found.mean(axis=1), shares, _outputs(model, found.shape[2]), moves
    )


def feature_effects(
    model: Any, X: Any, *, features: Sequence[Any] | None = None, random_state: Any = None
) -> pd.DataFrame:
    """Say of every feature in which direction and how far it moves the predictions of a fitted model.

    From the curves of :func:`effect_curve`. For a classifier of two classes predictions are the probability of the second
    one, for more classes that of the class which moves most.

    Parameters
    ----------
    model : classifier or regressor
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows that the model has not seen.
    features : sequence, optional
        Names or positions; by default those in the model (``selected_``), or all columns.
    random_state : int, optional
        Seed of the rows that are used, where there are many.

    Returns
    -------
    DataFrame
        One row for each feature: ``feature``; ``shape``: rises, falls, "rises then falls", "falls then rises", varies (up and
        down more than once), levels (of a category), "depends on others" (a mean that hides what happens to single rows) or
        flat; ``size``: how far the mean prediction goes, in units of the target or of probability, negative where it falls;
        ``towards``: the class; ``text``: all of this in words.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from riata.evidence import feature_effects
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = feature_effects(LinearRegression().fit(X, y), X, features=["bmi", "sex"])
    >>> found["shape"].tolist()
    ['rises', 'falls']
    """
    check_is_fitted(model)
    frame = _checked(model, X)
    if features is None:
        mask = getattr(model, "selected_", None)
        features = list(frame.columns if mask is None else frame.columns[np.asarray(mask)])
    rows = [_described(effect_curve(model, X, feature, random_state=random_state)) for feature in features]
    return pd.DataFrame(rows, columns=["feature", "shape", "size", "towards", "text"])


# ---- curves ---------------------------------------------------------------------------------------------------------


def _checked(model: Any, X: Any) -> pd.DataFrame:
    """Return X as a data frame; it must have the columns that the model was fitted on."""
    frame = categories.as_frame(X)
    known = getattr(model, "n_features_in_", frame.shape[1])
    names = getattr(model, "feature_names_in_", None)
    if frame.shape[1] != known:
        raise ValueError(f"X has {frame.shape[1]} columns; the model was fitted on {known}")
    if names is not None and not isinstance(X, np.ndarray) and list(frame.columns) != list(names):
        raise ValueError("the columns of X must be those that the model was fitted on, in the same order")
    return frame.set_axis(list(names), axis=1) if names is not None else frame


def _position(frame: pd.DataFrame, feature: Any) -> int:
    if feature in frame.columns:
        return list(frame.columns).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < frame.shape[1]:
        return int(feature)
    shown = ", ".join(map(repr, frame.columns[:10]))
    raise ValueError(f"no feature {feature!r}; X has {shown}{' …' if frame.shape[1] > 10 else ''}")


def _part(frame: pd.DataFrame, random_state: Any) -> pd.DataFrame:
    n = max(20, min(_ROWS, _ENTRIES // max(frame.shape[1], 1)))
    if len(frame) <= n:
        return frame
    return frame.iloc[np.sort(check_random_state(random_state).choice(len(frame), n, replace=False))]


def _places(column: pd.Series) -> tuple[NDArray[Any], Floats]:
    """Return values of a column between its quantiles, all of them where there are few."""
    known = column.dropna()
    if not len(known):
        return np.array([np.nan]), np.ones(1)
    distinct = np.sort(known.unique())
    if len(distinct) > _PLACES:
        distinct = known.quantile(np.linspace(*_MIDDLE, _PLACES), interpolation="nearest").unique()
    return np.asarray(distinct), np.full(len(distinct), 1 / len(distinct), dtype=np.float64)


def _levels(column: pd.Series) -> tuple[NDArray[Any], Floats]:
    """Return the commonest levels of a column, and how often each is there."""
    counts = column.value_counts(dropna=True)
    counts = counts[counts > 0].head(_LEVELS)
    if not len(counts):
        return column.iloc[:1].to_numpy(dtype=object), np.ones(1)
    return counts.index.to_numpy(dtype=object), np.asarray(counts / counts.sum(), dtype=np.float64)


def _with(rows: Any, j: int, column: pd.Series, value: Any) -> Any:
    """Return the rows with one value throughout a column."""
    changed = rows.copy()
    if isinstance(changed, np.ndarray):
        changed[:, j] = value
    else:
        changed.isetitem(j, pd.Series([value] * len(changed), changed.index, dtype=column.dtype))
    return changed


def _predicted(model: Any, rows: Any) -> Floats:
    answer = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(answer, dtype=np.float64).reshape(len(rows), -1)


def _outputs(model: Any, n_outputs: int) -> list[str]:
    if is_classifier(model):
        return [str(label) for label in model.classes_]
    return [""] if n_outputs == 1 else [f"target {i}" for i in range(1, n_outputs + 1)]


# ---- words ----------------------------------------------------------------------------------------------------------


def _described(curve: Curve) -> tuple[str, str, float, str, str]:
    """Put a curve into words: its shape, its size, and the output that moves most."""
    two = len(curve.outputs) == 2 and curve.outputs != ["target 1", "target 2"]
    k = 1 if two else int(np.ptp(curve.prediction, axis=0).argmax())
    line, towards = curve.prediction[:, k], curve.outputs[k]
    shape, size = _shape(line, curve.moves[k]) if curve.ordered else ("levels", float(np.ptp(line)))
    if not curve.ordered:
        text = _stand_out(line, curve)
    elif shape in ("rises", "falls"):
        text = f"{shape} by {brief(abs(size))}"
    else:
        text = shape if shape == "flat" else f"{shape}, {brief(size)}"
    return curve.feature, shape, size, towards, text + (f", towards {towards}" if towards else "")


def _shape(line: Floats, moves: float) -> tuple[str, float]:
    """Name the shape of a curve, and say how far it goes."""
    size = float(np.ptp(line))
    if moves <= _ROUNDING * np.abs(line).max():
        return "flat", 0.0
    if size < _LEAST * moves:
        return "depends on others", float(moves)
    back = _BACK * size
    falls, rises = (line[0] - line[-1]), (line[-1] - line[0])
    if rises > 0 and (np.maximum.accumulate(line) - line).max() <= back:
        return "rises", size
    if falls > 0 and (line - np.minimum.accumulate(line)).max() <= back:
        return "falls", -size
    top, low = int(line.argmax()), int(line.argmin())
    if _rises(line[: top + 1], back) and _rises(-line[top:], back):
        return "rises then falls", size
    if _rises(-line[: low + 1], back) and _rises(line[low:], back):
        return "falls then rises", size
    return "varies", size


def brief(value: float, digits: int = 2) -> str:
    """Return a number with a few digits and, unless it is very large or small, without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.10g}" if 1e-4 <= abs(rounded) < 1e9 else f"{rounded:g}"


def _rises(line: Floats, back: float) -> bool:
    return bool((np.maximum.accumulate(line) - line).max() <= back)


def _stand_out(line: Floats, curve: Curve) -> str:
    """Name the two levels that are farthest from the average row, with how far."""
    if not len(line):
        return "flat"
    away = line - curve.shares @ line
    order = np.argsort(-np.abs(away), kind="stable")[:2]
    return ", ".join(f"{curve.values[i]} {'+' if away[i] >= 0 else '−'}{brief(abs(away[i]))}" for i in order)
