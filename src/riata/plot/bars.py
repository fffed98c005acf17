"""Features as bars: their importances, and how often each was selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from riata.plot.style import BLUE, GREY, INK, ORANGE, clean, new_axes, shortened

__all__ = ["importance", "stability"]


def importance(
    names: Sequence[str], importances: ArrayLike, selected: ArrayLike, *, ax: Axes | None = None, top: int = 20
) -> Axes:
    """Draw the most important features as bars, the selected ones in colour.

    Parameters
    ----------
    names : sequence of str of length d
        Names of the features.
    importances : array-like of shape (d,)
        For example λ at which each leaves the path.
    selected : bool array-like of shape (d,)
        Which are in the model.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    top : int
        How many features to show at most.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = new_axes() if ax is None else ax
    importances, selected = np.asarray(importances, dtype=float), np.asarray(selected, dtype=bool)
    order = np.argsort(-importances, kind="stable")[:top]
    _bars(ax, [str(names[j]) for j in order], importances[order], selected[order])
    ax.set_xlabel("importance")
    _importance_axis(ax, importances[order])
    return ax


def stability(selector: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the selection frequencies of the most stable features as bars, the selected ones in colour, and the threshold.

    Parameters
    ----------
    selector : StabilitySelector
        Fitted.
    names : sequence of str, optional
        Names of the columns; columns with the same name, such as the levels of one variable, are one bar. By default
        the names the selector was fitted with.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    top : int
        How many features to show at most; those that were never selected are left out.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = new_axes() if ax is None else ax
    if names is None:
        names = list(getattr(selector, "feature_names_in_", [f"x{j}" for j in range(selector.n_features_in_)]))
    frame = pd.DataFrame({"name": list(names), "frequency": selector.frequencies_, "selected": selector.selected_})
    bars = frame.groupby("name", sort=False).agg({"frequency": "max", "selected": "any"})
    bars = bars.sort_values("frequency", ascending=False, kind="stable").head(top)
    bars = bars[bars["frequency"] > 0] if bars["frequency"].any() else bars
    _bars(ax, list(bars.index), bars["frequency"].to_numpy(), bars["selected"].to_numpy())
    ax.set_xlim(0, 1.02)
    ax.axvline(selector.threshold_, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)))
    ax.annotate(
        f"threshold {selector.threshold_:.2g}",
        (selector.threshold_, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        color=ORANGE,
        fontweight="bold",
        ha="center",
        va="bottom",
    )
    ax.set_xlabel(f"share of half-samples (top {selector.n_features_taken_} of each)")
    return ax


def _bars(ax: Axes, names: Sequence[str], lengths: NDArray[np.float64], selected: NDArray[np.bool_]) -> None:
    """Draw bars from the top down, those of selected features in colour, with a legend."""
    ax.barh(np.arange(len(names)), lengths, height=0.72, color=[BLUE if s else GREY for s in selected])
    ax.set_yticks(np.arange(len(names)), [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    clean(ax)
    ax.legend(
        handles=[Patch(color=BLUE, label="selected"), Patch(color=GREY, label="not selected")],
        loc="lower right",
        fontsize=9,
        labelcolor=INK,
        handlelength=1.2,
        edgecolor="none",
        framealpha=0.85,
    )
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _importance_axis(ax: Axes, importances: NDArray[np.float64]) -> None:
    """Begin at zero, or use a logarithmic axis where the shortest bar would be under a fiftieth of the longest."""
    positive = importances[importances > 0]
    if len(positive) and positive.max() > 50 * positive.min():
        ax.set_xscale("log")
        ax.set_xlim(positive.min() / 2, positive.max() * 1.5)
        ax.set_xlabel(f"{ax.get_xlabel()}, logarithmic")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4))
