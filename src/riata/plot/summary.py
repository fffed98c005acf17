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
    """
    figure = Figure(figsize=(9, 4.2), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    curves.path(model.path_, model.point_, ax=left)
    bars.importance(model.feature_importances_, model.selected_, names=names, ax=right)
    for ax, title in ((left, "Loss along the path"), (right, "Most important features")):
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
    """
    figure = Figure(figsize=(6, 5), layout="constrained")
    ax = survival_curves.survival(model, X, y, ax=figure.subplots())
    ax.set_title(title, pad=40, **_TITLE)  # above the legend
    ax.set_xlabel(shortened(time), parse_math=False)
    return figure
