"""Effect of one feature on the predictions of a fitted model: the partial dependence, and its shape in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.preprocess import categories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Curve",
    "brief",
    "checked",
    "described",
    "effect_curve",
    "feature_effects",
    "from_average",
    "grid",
    "has_order",
    "levels",
    "main_output",
    "output_names",
    "position",
    "predicted",
    "subsample",
    "with_margin",
    "with_value",
]

Floats = NDArray[np.float64]
_MAX_REVERSAL = 0.15  # of the range of a curve that rises or falls
_MIN_COMMON_SHARE = 0.25  # range of the mean curve / mean range of the curves of single samples


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean prediction of a model where one feature is set to a value in all samples, and the others are unchanged.

    Attributes
    ----------
    feature : str
        Its name.
    values : array of shape (m,)
        Increasing numbers or dates, or the most common levels of a category.
    ordered : bool
        Whether the values have an order.
    prediction : array of shape (m, o)
        In units of the target: for a classifier the probability of each class, for Cox's model the logarithm of the hazard, and
        for times in intervals the median time.
    shares : array of shape (m,)
        For a category, the share of the samples that have each level.
    outputs : list of str
        Names of the classes, or of the targets where there are several.
    mean_range : array of shape (o,)
        Range of the prediction for one sample (its largest less its smallest value), averaged over samples.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, effect_curve
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressor((10,), n_features_to_select=3, random_state=0).fit(X[:300], y[:300])
    >>> curve = effect_curve(model, X[300:], "bmi")
    >>> bool(curve.prediction[-1, 0] > curve.prediction[0, 0])
    True
    """

    feature: str
    values: NDArray[Any]
    ordered: bool
    prediction: Floats
    shares: Floats
    outputs: list[str]
    mean_range: Floats

    def plot(
        self, *, data: ArrayLike | None = None, outputs: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the curve, or a point for each level of a category.

        Parameters
        ----------
        data : array-like of shape (n,), optional
            Values of the feature, drawn as a histogram at the foot of a line.
        outputs : sequence of str, optional
            Which of ``outputs`` to draw. By default the second of two classes, and of more outputs the six that change most.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.effect`.
        """
        from riata import plot  # matplotlib takes a second to import

        return plot.effect(self, data=data, outputs=outputs, ax=ax)


def effect_curve(model: Any, X: Any, feature: Any, *, random_state: Any = None) -> Curve:
    """Return the mean prediction as a function of one feature: its partial dependence.

    The curve covers the middle 90 % of the feature's values in X, or its most common levels. It is a mean over samples: where a
    feature raises the predictions for some samples and lowers them for others, these effects cancel.

    Parameters
    ----------
    model : classifier, regressor or survival model
        Fitted on a data frame or an array with the columns of X.
    X : array-like of shape (n_samples, n_features)
        Samples that the model was not fitted on. A random part of them is used, if there are more than some hundreds.
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
    frame = checked(model, X)
    frame = subsample(frame, random_state, max(20, min(500, 2**19 // max(frame.shape[1], 1))))
    j = position(frame, feature)
    column: pd.Series = frame.iloc[:, j]
    ordered = has_order(model, column, j)
    values, shares = grid(column) if ordered else levels(column)
    samples = frame if hasattr(model, "feature_names_in_") or not isinstance(X, np.ndarray) else frame.to_numpy()
    found = np.stack([predicted(model, with_value(samples, j, column, value)) for value in values])  # (m, n, o)
    return Curve(
        feature=str(frame.columns[j]),
        values=values,
        ordered=ordered,
        prediction=found.mean(axis=1),
        shares=shares,
        outputs=output_names(model, found.shape[2]),
        mean_range=np.ptp(found, axis=0).mean(axis=0),
    )


def feature_effects(
    model: Any, X: Any, *, features: Sequence[Any] | None = None, random_state: Any = None
) -> pd.DataFrame:
    """Describe in which direction and how much each feature changes the predictions of a fitted model.

    From the curves of :func:`effect_curve`. For a classifier of two classes predictions are the probability of the second
    one, for more classes that of the class which changes most; for Cox's model they are logarithms of hazards, and for times in
    intervals median times.

    Parameters
    ----------
    model : classifier, regressor or survival model
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples that the model was not fitted on.
    features : sequence, optional
        Names or positions; by default those in the model (``selected_``), or all columns.
    random_state : int, optional
        Seed of the samples that are used, where there are many.

    Returns
    -------
    DataFrame
        One row for each feature: ``feature``; ``shape``: rises, falls, "rises then falls", "falls then rises", varies (up and
        down more than once), levels (of a category), "depends on others" (the mean is flat, the curves of single samples are
        not) or flat; ``size``: range of the mean prediction, in its units, negative where it falls;
        ``towards``: the class; ``text``: all of this in words, for levels how much they differ from the average over samples.

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
    frame = checked(model, X)
    if features is None:
        mask = getattr(model, "selected_", None)
        features = list(frame.columns if mask is None else frame.columns[np.asarray(mask)])
    rows = [described(effect_curve(model, X, feature, random_state=random_state)) for feature in features]
    return pd.DataFrame(rows, columns=["feature", "shape", "size", "towards", "text"])


# ---- curves ---------------------------------------------------------------------------------------------------------


def checked(model: Any, X: Any) -> pd.DataFrame:
    """Return X as a data frame; it must have the columns that the model was fitted on."""
    check.no_sparse(X, "a curve of predictions")
    frame = categories.as_frame(X)
    known = getattr(model, "n_features_in_", frame.shape[1])
    names = getattr(model, "feature_names_in_", None)
    if frame.shape[1] != known:
        raise ValueError(f"X has {frame.shape[1]} columns; the model was fitted on {known}")
    if names is not None and not isinstance(X, np.ndarray) and list(frame.columns) != list(names):
        raise ValueError("the columns of X must be those that the model was fitted on, in the same order")
    return frame.set_axis(list(names), axis=1) if names is not None else frame


def position(frame: pd.DataFrame, feature: Any) -> int:
    """Return the position of a column that is given by name or by position."""
    if feature in frame.columns:
        return list(frame.columns).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < frame.shape[1]:
        return int(feature)
    shown = ", ".join(map(repr, frame.columns[:10]))
    raise ValueError(f"no feature {feature!r}; X has {shown}{' …' if frame.shape[1] > 10 else ''}")


def has_order(model: Any, column: pd.Series, j: int) -> bool:
    """Return whether a column holds numbers or dates, for a model, rather than categories."""
    known = getattr(model, "_categories", None)  # of an estimator that was given categorical_features
    return not categories.holds_text(column) and (known is None or j not in known.columns)


def subsample(frame: pd.DataFrame, random_state: Any, n: int) -> pd.DataFrame:
    """Return at most so many of the samples."""
    if len(frame) <= n:
        return frame
    return frame.iloc[np.sort(check_random_state(random_state).choice(len(frame), n, replace=False))]


def grid(column: pd.Series, n_values: int = 11) -> tuple[NDArray[Any], Floats]:
    """Return quantiles of a column, from 5 % to 95 %, or all of its values where there are few."""
    known = column.dropna()
    if not len(known):
        return np.array([np.nan]), np.ones(1)
    distinct = np.sort(known.unique())
    if len(distinct) > n_values:
        distinct = known.quantile(np.linspace(0.05, 0.95, n_values), interpolation="nearest").unique()
    return np.asarray(distinct), np.full(len(distinct), 1 / len(distinct), dtype=np.float64)


def levels(column: pd.Series) -> tuple[NDArray[Any], Floats]:
    """Return the most common levels of a column, 30 at most, and their shares."""
    counts = column.value_counts(dropna=True)
    counts = counts[counts > 0].head(30)
    if not len(counts):
        return column.iloc[:1].to_numpy(dtype=object), np.ones(1)
    return counts.index.to_numpy(dtype=object), np.asarray(counts / counts.sum(), dtype=np.float64)


def with_value(samples: Any, j: int, column: pd.Series, value: Any) -> Any:
    """Return the samples with one value throughout a column."""
    changed = samples.copy()
    if isinstance(changed, np.ndarray):
        changed[:, j] = value
    else:
        changed.isetitem(j, pd.Series([value] * len(changed), changed.index, dtype=column.dtype))
    return changed


def predicted(model: Any, samples: Any) -> Floats:
    """Return predictions, (n, o): probabilities of classes, or numbers."""
    found = model.predict_proba(samples) if is_classifier(model) else model.predict(samples)
    return np.asarray(found, dtype=np.float64).reshape(len(samples), -1)


def output_names(model: Any, n_outputs: int) -> list[str]:
    """Return the names of the classes, or of the targets where there are several."""
    if is_classifier(model):
        return [str(label) for label in model.classes_]
    return [""] if n_outputs == 1 else [f"target {i}" for i in range(1, n_outputs + 1)]


# ---- words ----------------------------------------------------------------------------------------------------------


def brief(value: float, digits: int = 2) -> str:
    """Return a number with a few digits and, unless it is very large or small, without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.10g}" if 1e-4 <= abs(rounded) < 1e9 else f"{rounded:g}"


def with_margin(value: float, margin: float) -> str:
    """Return a number and its margin, of two digits, with as many decimals as the margin; alone if there is no margin."""
    if not np.isfinite(margin) or not np.isfinite(value):
        return brief(value, 3)
    if not 1e-4 <= margin < 1e6:
        return f"{brief(value, 3)} ± {brief(margin)}"
    decimals = max(0, 1 - int(f"{margin:.1e}".partition("e")[2]))
    return f"{round(value, decimals) + 0.0:,.{decimals}f} ± {margin:,.{decimals}f}"  # + 0.0, as there is no −0


def described(curve: Curve, named: Callable[[str], str] = str) -> tuple[str, str, float, str, str]:
    """Return the feature, the shape and the size of its curve, the output that changes most, and all of these in words.

    ``named`` returns the name of a level or a class as it is to stand in a sentence.
    """
    k = main_output(curve)
    line, towards = curve.prediction[:, k], curve.outputs[k]
    shape, size = _shape(line, curve.mean_range[k]) if curve.ordered else ("levels", float(np.ptp(line)))
    text = _change(shape, size) if curve.ordered else _largest_differences(curve, k, named)
    if towards:
        text = f"{towards if _are_targets(curve.outputs) else f'probability of {named(towards)}'} {text}"
    return curve.feature, shape, size, towards, text


def main_output(curve: Curve) -> int:
    """Return the output that is described: of two classes the second, of more outputs that which changes most."""
    two_classes = len(curve.outputs) == 2 and not _are_targets(curve.outputs)
    return 1 if two_classes else int(np.ptp(curve.prediction, axis=0).argmax())


def _are_targets(outputs: Sequence[str]) -> bool:
    """Return whether outputs are targets of a regression, which have no names, rather than classes."""
    return list(outputs) == [f"target {i}" for i in range(1, len(outputs) + 1)]


def _change(shape: str, size: float) -> str:
    """Say how the mean prediction changes, and by how much."""
    if shape == "flat":
        return "does not change"
    if shape == "depends on others":
        return f"depends on other features, by {brief(size)} for one sample"
    if shape == "varies":
        return f"goes up and down by {brief(size)}"
    return f"{shape} by {brief(abs(size))}"


def _shape(line: Floats, mean_range: float) -> tuple[str, float]:
    """Name the shape of a curve, and return its size.

    A curve depends on other features if its range is below ``_MIN_COMMON_SHARE`` times the mean range of the curves of single
    samples. It rises if it ends higher than it starts and never falls by more than ``_MAX_REVERSAL`` times its range.
    """
    size = float(np.ptp(line))
    if mean_range <= 1e-12 * np.abs(line).max():  # rounding
        return "flat", 0.0
    if size < _MIN_COMMON_SHARE * mean_range:
        return "depends on others", float(mean_range)
    reversal = _MAX_REVERSAL * size
    if line[-1] > line[0] and _rises(line, reversal):
        return "rises", size
    if line[-1] < line[0] and _rises(-line, reversal):
        return "falls", -size
    top, low = int(line.argmax()), int(line.argmin())
    if _rises(line[: top + 1], reversal) and _rises(-line[top:], reversal):
        return "rises then falls", size
    if _rises(-line[: low + 1], reversal) and _rises(line[low:], reversal):
        return "falls then rises", size
    return "varies", size


def _rises(line: Floats, reversal: float) -> bool:
    return bool((np.maximum.accumulate(line) - line).max() <= reversal)


def from_average(curve: Curve, k: int) -> Floats:
    """Return by how much each level of a category differs from the average over samples, (m,)."""
    line = curve.prediction[:, k]
    difference: Floats = line - curve.shares @ line
    return difference


def _largest_differences(curve: Curve, k: int, named: Callable[[str], str]) -> str:
    """Name the two levels that differ most from the average over samples, with their differences."""
    difference = from_average(curve, k)
    if not len(difference):
        return "does not change"
    order = np.argsort(-np.abs(difference), kind="stable")[:2]
    changes = [f"{'+' if difference[i] >= 0 else '−'}{brief(abs(difference[i]))}" for i in order]
    listed = [f"{change} for {named(str(curve.values[i]))}" for i, change in zip(order, changes, strict=True)]
    return f"{', '.join(listed)}, against the average"
