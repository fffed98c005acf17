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
    importances: ArrayLike | pd.DataFrame,
    selected: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    top: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw the most important features as bars.

    Parameters
    ----------
    importances : array-like of shape (d,) or DataFrame
        For example λ at which each feature leaves the path; or the table of :func:`riata.permutation_importance`, of which the
        intervals are drawn, too.
    selected : bool array-like of shape (d,), optional
        Which are in the model: only these are drawn, as importances of a path merely order the others.
    names : sequence of str of length d, optional
        Names of the features; by default those of the table, or x0, x1 and so on.
    top : int
        How many features to show at most.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressor((10,), n_features_to_select=3, random_state=0).fit(X, y)
    >>> ax = plot.importance(model.feature_importances_, model.selected_, names=X.columns)
    >>> len(ax.patches)
    3
    """
    ax = new_axes() if ax is None else ax
    intervals = None
    if isinstance(importances, pd.DataFrame):
        names = importances["feature"].tolist() if names is None else names
        intervals = importances[["low", "high"]].to_numpy(dtype=float)
        importances = importances["importance"]
    lengths = np.asarray(importances, dtype=float)
    labels = [f"x{j}" for j in range(len(lengths))] if names is None else [str(name) for name in names]
    if len(labels) != len(lengths):
        raise ValueError(f"names must hold one name for each of the {len(lengths)} features; got {len(labels)}")
    order = np.argsort(-lengths, kind="stable")
    if selected is not None:
        order = order[np.asarray(selected, dtype=bool)[order]]
    order = order[:top]
    _bars(ax, [labels[j] for j in order], lengths[order])
    ax.set_xlabel("importance" if intervals is None else "rise of the loss without the feature")
    if intervals is None:
        _importance_axis(ax, lengths[order])
    else:
        _draw_intervals(ax, intervals[order])
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

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LassoCV
    >>> from riata import StabilitySelector, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = StabilitySelector(LassoCV(), n_features=4, n_resamples=20, random_state=0).fit(X, y)
    >>> plot.stability(selector).get_xlabel()
    'share of half-samples (top 4 of each)'
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


def _bars(
    ax: Axes, names: Sequence[str], lengths: NDArray[np.float64], selected: NDArray[np.bool_] | None = None
) -> None:
    """Draw bars from the top down, those of selected features in colour, with a legend."""
    colours = [BLUE if each else GREY for each in (selected if selected is not None else np.ones(len(names), bool))]
    if not len(names):
        ax.text(0.5, 0.5, "no feature is selected", transform=ax.transAxes, color=INK, ha="center", va="center")
    ax.barh(np.arange(len(names)), lengths, height=0.72, color=colours)
    ax.set_yticks(np.arange(len(names)), [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    clean(ax)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    if selected is None or selected.all():
        return
    kinds = {"selected": BLUE, "not selected": GREY}
    ax.legend(
        handles=[Patch(color=colour, label=kind) for kind, colour in kinds.items()],
        loc="lower right",  # where bars are short
        fontsize=9,
        labelcolor=INK,
        handlelength=1.2,
        edgecolor="none",
        framealpha=0.85,
    )


def _draw_intervals(ax: Axes, intervals: NDArray[np.float64]) -> None:
    """Draw the interval of each bar, and a line at zero."""
    ax.hlines(np.arange(len(intervals)), intervals[:, 0], intervals[:, 1], color=INK, linewidth=1.2)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(5))


def _importance_axis(ax: Axes, importances: NDArray[np.float64]) -> None:
    """Begin at zero, or use a logarithmic axis where the shortest bar would be under a fiftieth of the longest."""
    positive = importances[importances > 0]
    if len(positive) and positive.max() > 50 * positive.min():
        ax.set_xscale("log")
        ax.set_xlim(positive.min() / 2, positive.max() * 1.5)
        ax.set_xlabel(f"{ax.get_xlabel()}, logarithmic")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4))
