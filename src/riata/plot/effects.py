"""Effect of one feature on predictions, as a curve, or as points for the levels of a category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from riata.plot.style import GREY, SLATE, clean, line_of, name_in_legend, new_axes, shortened

__all__ = ["CurveLike", "are_probabilities", "effect", "mean_of"]

Floats = NDArray[np.float64]
_BINS, _HEIGHT = 30, 0.18  # of the histogram; its height is a share of that of the axes
_MOST_LINES, _MOST_LEVELS = 6, 20


class CurveLike(Protocol):
    """What a figure needs of the effect of a feature."""

    @property
    def feature(self) -> str:
        """Its name."""
        ...

    @property
    def values(self) -> NDArray[Any]:
        """Values of the feature, (m,)."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether they have an order."""
        ...

    @property
    def prediction(self) -> Floats:
        """Mean predictions, (m, o)."""
        ...

    @property
    def shares(self) -> Floats:
        """Share of the samples that have each level of a category, (m,)."""
        ...

    @property
    def outputs(self) -> list[str]:
        """Names of the classes or targets."""
        ...


def effect(
    curve: CurveLike,
    *,
    data: ArrayLike | None = None,
    outputs: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean prediction as a function of one feature.

    Numbers and dates are the horizontal axis of a line. The levels of a category are points one above the other, the most
    common on top, with the share of samples that have it; the dashed line is the mean over samples.

    Parameters
    ----------
    curve : Curve
        What :func:`riata.effect_curve` returns.
    data : array-like of shape (n,), optional
        Values of the feature, drawn as a histogram at the foot of a line.
    outputs : sequence of str, optional
        Which of ``curve.outputs`` to draw. By default the second of two classes, and of more outputs the six that change most.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from riata import effect_curve, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> ax = plot.effect(effect_curve(LinearRegression().fit(X, y), X, "bmi"), data=X["bmi"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('bmi', 'mean prediction')
    """
    ax = new_axes() if ax is None else ax
    shown = _shown(curve, outputs)
    draw = _draw_lines if curve.ordered else _draw_levels
    drawn = draw(ax, curve, shown)
    if curve.ordered and data is not None:
        _draw_histogram(ax, data, curve.values)
    label = mean_of(curve.prediction, curve.outputs, shown[0] if len(shown) == 1 else None)
    feature = shortened(curve.feature)
    ax.set_xlabel(feature if curve.ordered else label, parse_math=False)
    ax.set_ylabel(label if curve.ordered else feature, parse_math=False)
    clean(ax)
    if not curve.ordered:
        ax.tick_params(axis="y", length=0)
    if len(shown) > 1:  # above the axes, where nothing is drawn
        where = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "frameon": False, "borderaxespad": 0.2}
        name_in_legend(ax, drawn, [curve.outputs[k] for k in shown], ncols=3, columnspacing=1.2, **where)
    return ax


def are_probabilities(prediction: Floats, outputs: Sequence[str]) -> bool:
    """Return whether predictions are those of classes, which sum to 1."""
    return len(outputs) > 1 and bool(np.allclose(prediction.sum(axis=-1), 1, atol=1e-4))


def mean_of(prediction: Floats, outputs: Sequence[str], k: int | None) -> str:
    """Name a mean over samples: of one output, or of several."""
    label = "mean probability" if are_probabilities(prediction, outputs) else "mean prediction"
    return label if k is None or not outputs[k] else f"{label} of {shortened(outputs[k])}"


def _shown(curve: CurveLike, outputs: Sequence[str] | None) -> list[int]:
    """Return the positions of the outputs to draw."""
    names = list(curve.outputs)
    if outputs is not None:
        asked = [outputs] if isinstance(outputs, str) else [str(name) for name in outputs]
        unknown = [name for name in asked if name not in names]
        if unknown or not asked:
            raise ValueError(f"outputs must be among {', '.join(map(repr, names))}; got {outputs!r}")
        return [names.index(name) for name in asked]
    if len(names) == 2 and are_probabilities(curve.prediction, names):
        return [1]
    order = np.argsort(-np.ptp(curve.prediction, axis=0), kind="stable")[:_MOST_LINES]
    return sorted(int(k) for k in order)


def _draw_lines(ax: Axes, curve: CurveLike, shown: list[int]) -> list[Line2D]:
    lines = []
    for i, k in enumerate(shown):
        colour, dashes, marker = line_of(i)
        lines += ax.plot(curve.values, curve.prediction[:, k], color=colour, linestyle=dashes, linewidth=1.8)
        lines[-1].set(marker=marker, markersize=3.6)
    ax.margins(y=0.08)
    if curve.values.dtype.kind == "M":
        ax.tick_params(axis="x", labelrotation=30)
        for tick in ax.get_xticklabels():
            tick.set_horizontalalignment("right")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(6))
    return lines


def _draw_histogram(ax: Axes, data: ArrayLike, values: NDArray[Any]) -> None:
    """Draw counts as bars at the foot of the axes, and make space for them; the tails beyond 1 % are left out."""
    column = pd.Series(np.asarray(data)).dropna()
    if values.dtype.kind == "M":
        column = pd.to_datetime(column)
    low, high = column.quantile(0.01), column.quantile(0.99)
    kept = column[(column >= low) & (column <= high)]
    if kept.nunique() < 2:
        return
    dates = values.dtype.kind == "M"
    numbers = date2num(kept.to_numpy()) if dates else kept.to_numpy(dtype=np.float64)  # type: ignore[no-untyped-call]
    counts, edges = np.histogram(numbers, bins=_BINS)
    bottom, top = ax.get_ylim()
    ticks = [tick for tick in ax.get_yticks() if bottom <= tick <= top]
    ax.set_ylim(bottom - _HEIGHT * 1.15 / (1 - _HEIGHT * 1.15) * (top - bottom), top)
    ax.set_yticks(ticks)  # none beside the histogram, where a probability would be negative
    ax.bar(
        edges[:-1],
        counts / counts.max() * _HEIGHT,
        width=np.diff(edges),
        align="edge",
        color=GREY,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        zorder=0,
    )


def _draw_levels(ax: Axes, curve: CurveLike, shown: list[int]) -> list[Line2D]:
    """Draw a point for each level."""
    points = []
    kept = np.argsort(-curve.shares, kind="stable")[:_MOST_LEVELS]
    places = np.arange(len(kept))
    for i, k in enumerate(shown):
        colour, _, marker = line_of(i)
        line = curve.prediction[kept, k]
        mean = float(curve.shares @ curve.prediction[:, k])
        ax.axvline(mean, color=colour if len(shown) > 1 else SLATE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        ax.hlines(places, mean, line, color=GREY, linewidth=1.4, zorder=1)
        points += ax.plot(line, places, linestyle="", color=colour, marker=marker, markersize=7)
    names = [f"{shortened(str(curve.values[i]))} ({100 * curve.shares[i]:.0f} %)" for i in kept]
    ax.set_yticks(places, names, parse_math=False)
    ax.set_ylim(len(kept) - 0.5, -0.5)
    ax.margins(x=0.08)
    return points
