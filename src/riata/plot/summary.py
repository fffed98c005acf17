"""The path and the importances of a fitted model in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from riata.plot import bars, curves
from riata.plot.style import INK

__all__ = ["summary_figure"]


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
    bars.importance(names, model.feature_importances_, model.selected_, ax=right)
    for ax, title in ((left, "Loss along the path"), (right, "Most important features")):
        ax.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=10)
    return figure
