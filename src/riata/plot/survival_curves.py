"""Survival curves of groups of samples by predicted risk, and predicted probabilities against observed ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from riata import check
from riata.plot.style import BLUE, INK, ORANGE, SLATE, clean, new_axes
from riata.survival.groups import of_equal_size
from riata.survival.kaplan_meier import KaplanMeier, at_risk, kaplan_meier

__all__ = ["calibration", "survival"]

Floats = NDArray[np.float64]
_DASHES = (0, (4, 2))
_GRID = 200  # times of a predicted curve, and places of censoring marks, at most
_MAX_ENTRIES = 2**23  # of predicted probabilities at once


@dataclass(frozen=True, eq=False)
class _Group:
    """Samples with about the same prediction."""

    name: str
    colour: str
    samples: NDArray[np.bool_]  # (n,)
    estimate: KaplanMeier


def survival(
    model: Any, X: Any, y: Any, *, n_groups: int = 3, confidence: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw Kaplan-Meier curves of samples in groups of predicted risk, with the model's mean predicted survival of each group.

    The groups are equally large, except that samples with the same risk stay together. Below the axis are the numbers at risk:
    the samples that have entered and are still under observation. Ticks on the curves are censored samples, bands are
    pointwise confidence intervals. Where curve and prediction of a group agree, the model is calibrated.

    Parameters
    ----------
    model : LassoNetCoxRegressor
        Fitted; or another model with ``predict`` (higher for a higher risk), ``predict_survival_function`` and
        ``unique_times_``.
    X : array-like of shape (n_samples, n_features)
        Samples, best those that the model was not fitted on.
    y : structured array, array or data frame
        Their times and events, as for ``fit``; late entries are respected.
    n_groups : int
        Groups of predicted risk.
    confidence : float
        Pointwise coverage of the bands.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetCoxRegressor, plot
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), rng.random(200) < 0.7])
    >>> model = LassoNetCoxRegressor((5,), n_features_to_select=1, random_state=0).fit(X[:150], y[:150])
    >>> plot.survival(model, X[150:], y[150:]).get_ylabel()
    'survival probability'
    """
    ax = new_axes((6, 4.8)) if ax is None else ax
    _check_model(model, "survival")
    target = check.survival(y)
    groups = _groups(np.asarray(model.predict(X), dtype=np.float64), target, n_groups, confidence)
    last = float(target[:, 1].max())
    times = np.linspace(0, last, _GRID)
    predicted = _predicted(model, X, y, times)  # (n, times)
    for group in groups:
        _draw_estimate(ax, group, target[group.samples])
        known = times <= group.estimate.times[-1]
        mean = predicted[group.samples].mean(axis=0)[known]
        ax.plot(times[known], mean, color=group.colour, linewidth=1, linestyle=_DASHES)
    ax.set_xlim(0, last * 1.02)
    ax.set_ylim(0, 1.02)
    ticks = [tick for tick in MaxNLocator(6).tick_values(0, last) if 0 <= tick <= last]
    ax.set_xticks(ticks)
    ax.set_xlabel("time")
    ax.set_ylabel("survival probability")
    _draw_legend(ax, groups)
    _write_numbers_at_risk(ax, groups, target, ticks)
    return clean(ax)


def calibration(
    model: Any,
    X: Any,
    y: Any,
    time: float,
    *,
    n_groups: int = 5,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw predicted against observed probabilities of survival at a time, in groups of the prediction.

    A group lies at its mean prediction and at its Kaplan-Meier estimate, with an interval of its own. On the diagonal they are
    equal; above it samples live longer than predicted. A group of which nobody is under observation until the time is left
    out.

    Parameters
    ----------
    model : LassoNetCoxRegressor
        Fitted; or another model with ``predict_survival_function`` and ``unique_times_``.
    X : array-like of shape (n_samples, n_features)
        Samples, best those that the model was not fitted on.
    y : structured array, array or data frame
        Their times and events, as for ``fit``; late entries are respected.
    time : float
        When, on the scale of y.
    n_groups : int
        Groups of the predicted probability, equally large except that equal predictions stay together.
    confidence : float
        Coverage of the intervals.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetCoxRegressor, plot
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), rng.random(200) < 0.7])
    >>> model = LassoNetCoxRegressor((5,), n_features_to_select=1, random_state=0).fit(X[:150], y[:150])
    >>> plot.calibration(model, X[150:], y[150:], time=0.5).get_xlabel()
    'predicted probability of survival at 0.5'
    """
    ax = new_axes((4.2, 4.2)) if ax is None else ax
    _check_model(model, "calibration")
    target = check.survival(y)
    last = float(target[:, 1].max())
    if not 0 < time <= last:
        raise ValueError(f"time must lie above 0 and up to the last time of y, {last:g}; got {time:g}")
    predicted = _predicted(model, X, y, np.array([float(time)]))[:, 0]
    groups = _groups(-predicted, target, n_groups, confidence)
    means = np.array([predicted[group.samples].mean() for group in groups])
    observed = np.array([group.estimate.at(time) for group in groups])  # (groups, 3)
    ax.plot([0, 1], [0, 1], color=SLATE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.vlines(means, observed[:, 1], observed[:, 2], color=BLUE, linewidth=1.4, alpha=0.6)
    ax.plot(means, observed[:, 0], "o", color=BLUE, markersize=6, markeredgecolor="white")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel(f"predicted probability of survival at {time:g}")
    ax.set_ylabel(f"observed (Kaplan-Meier, {100 * confidence:g} % interval)")
    return clean(ax)


# ---- predictions ----------------------------------------------------------------------------------------------------


def _check_model(model: Any, caller: str) -> None:
    if not hasattr(model, "predict_survival_function"):
        raise ValueError(
            f"plot.{caller} needs a survival model, such as LassoNetCoxRegressor; got {type(model).__name__}"
        )


def _groups(risk: Floats, target: Floats, n_groups: int, confidence: float) -> list[_Group]:
    """Divide samples into groups of about the same size, from low risk to high."""
    groups = of_equal_size(risk, check.whole("n_groups", n_groups, 1))
    return [
        _Group(name, colour, samples, kaplan_meier(target[samples], confidence=confidence))
        for (name, samples), colour in zip(groups, _colours(len(groups)), strict=True)
    ]


def _colours(n: int) -> list[str]:
    """Return colours from blue by a dark grey to orange; up to five can be told apart without seeing red, green or blue."""
    if n == 1:
        return [BLUE]
    colours = LinearSegmentedColormap.from_list("risk", [BLUE, INK, ORANGE], N=257)
    return [to_hex(colours(i / (n - 1))) for i in range(n)]


def _predicted(model: Any, X: Any, y: Any, times: Floats) -> Floats:
    """Return each sample's predicted probabilities of survival at some times, (n, times)."""
    rows = X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)
    labels, codes = check.survival_strata(y), check.survival(y)[:, 3].astype(np.int64)
    strata = None if labels is None or getattr(model, "strata_", None) is None else labels[codes]
    place = np.searchsorted(model.unique_times_, times, side="right")
    size = max(1, _MAX_ENTRIES // len(model.unique_times_))
    found = []
    for start in range(0, len(codes), size):
        part = slice(start, start + size)
        given = () if strata is None else (strata[part],)
        values = np.asarray(model.predict_survival_function(rows[part], *given, return_array=True))
        found.append(np.column_stack([np.ones(len(values)), values])[:, place])
    return np.concatenate(found)


def _thinned(values: Floats) -> Floats:
    """Return at most so many of the values as a figure can show."""
    if len(values) <= _GRID:
        return values
    return values[np.linspace(0, len(values) - 1, _GRID).round().astype(np.int64)]


# ---- what is drawn --------------------------------------------------------------------------------------------------


def _draw_estimate(ax: Axes, group: _Group, target: Floats) -> None:
    """Draw the curve of a group with its band, and a tick where samples are censored."""
    estimate, start = group.estimate, max(0.0, float(target[:, 0].min()))
    times = np.append(start, estimate.times)
    survival, low, high = (np.append(1.0, each) for each in (estimate.survival, estimate.low, estimate.high))
    ax.fill_between(times, low, high, step="post", color=group.colour, alpha=0.13, linewidth=0)
    ax.plot(times, survival, drawstyle="steps-post", color=group.colour, linewidth=1.8)
    censored = _thinned(np.unique(target[target[:, 2] == 0, 1]))
    heights = estimate.at(censored)[0]
    ax.plot(censored, heights, linestyle="", marker="|", markersize=5, markeredgewidth=0.8, color=group.colour)


def _draw_legend(ax: Axes, groups: list[_Group]) -> None:
    """Name colours, in a first row, and lines, in a second one, above the axes, where nothing is drawn."""
    blank = Line2D([], [], linestyle="", label="")
    colours = [Line2D([], [], color=group.colour, linewidth=1.8, label=group.name) for group in groups]
    lines = [
        Line2D([], [], color=INK, linewidth=1.8, label="Kaplan-Meier"),
        Line2D([], [], color=INK, linestyle="", marker="|", markersize=6, label="censored"),
        Line2D([], [], color=INK, linewidth=1, linestyle=_DASHES, label="predicted"),
    ]
    columns = zip_longest(colours, lines, fillvalue=blank)  # a legend is filled column by column
    ax.legend(
        handles=[handle for column in columns for handle in column],
        loc="lower center",
        bbox_to_anchor=(0.45, 1.0),
        ncols=max(len(colours), len(lines)),
        fontsize=9,
        labelcolor=INK,
        frameon=False,
        handlelength=1.5,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def _write_numbers_at_risk(ax: Axes, groups: list[_Group], target: Floats, ticks: list[float]) -> None:
    """Write the number at risk of each group at each tick below the axis; at 0 are those that have entered by then."""
    where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "center"}
    asked = np.where(np.array(ticks) > 0, ticks, np.nextafter(0, 1))
    ax.annotate("at risk", (0, 0), xytext=(-24, -33), ha="right", fontsize=9, color=INK, **where)
    for row, group in enumerate(groups):
        height = -48 - 13 * row
        ax.annotate(group.name, (0, 0), xytext=(-24, height), ha="right", fontsize=9, color=group.colour, **where)
        for tick, number in zip(ticks, at_risk(target[group.samples], asked), strict=True):
            ax.annotate(
                f"{number:,.0f}", (tick, 0), xytext=(0, height), ha="center", fontsize=9, color=group.colour, **where
            )
