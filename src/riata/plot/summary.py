"""The path and the importances of a fitted model in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from riata.plot import bars, curves, survival_curves
from riata.plot.style import INK, shortened

__all__ = ["summary_figure", "survival_figure"]

_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11, "fontweight": "bold", "color": INK}


def summary_figure(model: Any, names: Sequence[str]) -> Figure:
    """Draw the path and the importances of a fitted model side by side.

    Parameters
    ----------
    model : LassoNetClassifier or LassoNetRegressor
        Fitted.
    names : sequence of str
        Names of the features.

    Returns
    -------
    Figure
        Nine inches wide, not attached to any window.

    Examples
    --------
    >>> from riata import LassoNetClassifier, plot
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LassoNetClassifier((5,), random_state=0).fit(X, y)
    >>> [ax.get_title("left") for ax in plot.summary_figure(model, X.columns).axes]
    ['Loss along the path', 'Selected features']
    """
    figure = Figure(figsize=(9, 4.2), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    curves.path(model.path_, model.point_, ax=left)
    bars.importance(model.feature_importances_, model.selected_, names=names, ax=right)
    for ax, title in ((left, "Loss along the path"), (right, "Selected features")):
        ax.set_title(title, pad=10, **_TITLE)
    return figure


def survival_figure(model: Any, X: Any, y: Any, *, title: str, time: str = "time") -> Figure:
    """Draw the survival curves of samples by predicted risk, with a title.

    Parameters
    ----------
    model : LassoNetCoxRegressor
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : structured array, array or data frame
        Their times and events, as for ``fit``.
    title : str
        Above the figure.
    time : str
        Name of the axis of times.

    Returns
    -------
    Figure
        Six inches wide, not attached to any window.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetCoxRegressor, plot
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), rng.random(200) < 0.7])
    >>> model = LassoNetCoxRegressor((5,), n_features_to_select=1, random_state=0).fit(X[:150], y[:150])
    >>> plot.survival_figure(model, X[150:], y[150:], title="Held-out samples", time="years").axes[0].get_xlabel()
    'years'
    """
    figure = Figure(figsize=(6, 5), layout="constrained")
    ax = survival_curves.survival(model, X, y, ax=figure.subplots())
    ax.set_title(title, pad=40, parse_math=False, **_TITLE)  # above the legend
    ax.set_xlabel(shortened(time), parse_math=False)
    return figure
