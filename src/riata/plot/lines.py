"""Weights of features as lines over λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from riata.plot.style import GREY, INK, ORANGE, clean, line_of, name_in_legend, new_axes

__all__ = ["coefficients"]

Floats = NDArray[np.float64]


def coefficients(
    lambdas: ArrayLike,
    coefficients: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    at: float | None = None,
    top: int = 8,
    label: str = "coefficient",
    ax: Axes | None = None,
) -> Axes:
    """Draw the weight of each feature over λ, on a logarithmic axis, with the number of features above it.

    The features that stay longest have colours and names, the others are thin grey lines.

    Parameters
    ----------
    lambdas : array-like of shape (m,)
        λ of each point of a path, increasing. A point with λ = 0, the dense model, is not drawn.
    coefficients : array-like of shape (m, d)
        Weights at each point, such as coefficients or ``path.skip_norms()``; 0 where a feature is out.
    names : sequence of str of length d, optional
        Names of the features; by default x0, x1 and so on.
    at : float, optional
        A λ to mark with a vertical line.
    top : int
        How many features to name; of two that leave at the same λ the one with the larger weight comes first.
    label : str
        Name of the vertical axis.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import lasso_path
    >>> from riata import plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> alphas, coef, _ = lasso_path(X, y)
    >>> ax = plot.coefficients(alphas[::-1], coef.T[::-1], names=list(X.columns), top=3)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['bmi', 's5', 'bp']
    """
    at_points, weights = _checked(lambdas, coefficients)
    d = weights.shape[1]
    labels = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
    if len(labels) != d:
        raise ValueError(f"names must hold one name for each of the {d} features; got {len(labels)}")
    beside = ax is None  # the axes have space for a legend at their side
    ax = new_axes((6.6, 4.2)) if ax is None else ax
    named = _longest(weights)[:top]
    others = np.setdiff1d(np.flatnonzero(weights.any(axis=0)), named)
    grey = [np.column_stack([at_points, weights[:, j]]) for j in others]
    ax.add_collection(LineCollection(grey, colors=GREY, linewidths=0.8, zorder=1))  # quick, however many they are
    lines = []
    for i, j in enumerate(named):
        colour, dashes, _ = line_of(i)
        lines += ax.plot(at_points, weights[:, j], color=colour, linestyle=dashes, linewidth=1.8)
    ax.axhline(0, color=INK, linewidth=0.6, zorder=0)
    if at is not None:
        ax.axvline(max(at, at_points[0]), color=ORANGE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    _lambda_axis(ax, at_points)
    ax.set_ylabel(label)
    clean(ax)
    _count_axis(ax, at_points, np.count_nonzero(weights, axis=1))
    if lines:
        where: dict[str, Any] = (
            {"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {"loc": _emptier_corner(weights)}
        )
        where |= {"edgecolor": "none", "framealpha": 0.85, "handlelength": 2.2}
        name_in_legend(ax, lines, [labels[j] for j in named], **where)
    return ax


def _checked(lambdas: ArrayLike, coefficients: ArrayLike) -> tuple[Floats, Floats]:
    """Return λ above zero and the weights there."""
    along, weights = np.asarray(lambdas, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    if along.ndim != 1 or weights.ndim != 2 or len(along) != len(weights):
        raise ValueError(
            "lambdas must have the shape (m,), and coefficients (m, d), a row for each λ; "
            f"got {along.shape} and {weights.shape}"
        )
    positive = along > 0
    if not positive.any():
        raise ValueError("no λ lies above 0: the path holds the dense model only, and there is nothing to draw")
    return along[positive], weights[positive]


def _longest(weights: Floats) -> NDArray[np.int64]:
    """Return the features that are ever in, those that leave last first, of equals those with the larger weight."""
    is_in = weights != 0
    last = np.where(is_in.any(axis=0), len(weights) - 1 - is_in[::-1].argmax(axis=0), -1)
    size = np.abs(weights)[np.maximum(last, 0), np.arange(weights.shape[1])]
    order = np.lexsort([-size, -last])
    found: NDArray[np.int64] = order[last[order] >= 0]
    return found


def _lambda_axis(ax: Axes, lambdas: Floats) -> None:
    """Set a logarithmic axis with labels on a range of any length."""
    low, high = lambdas.min(), lambdas.max()
    margin = (high / low) ** 0.02 if high > low else 2
    ax.set_xlim(low / margin, high * margin)  # before the scale, which refuses limits that are equal
    ax.set_xscale("log")
    decades = np.log10(high / low)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0) if decades > 0.8 else "all"))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("λ")


def _count_axis(ax: Axes, lambdas: Floats, counts: NDArray[np.int64]) -> None:
    """Write the number of features at some λ above the axes."""
    low, high = np.log(lambdas.min()), np.log(lambdas.max())
    wanted = np.exp(np.linspace(low, high, 6))
    places = np.unique(np.abs(np.log(lambdas)[:, None] - np.log(wanted)).argmin(axis=0))
    above = ax.secondary_xaxis("top")
    above.set_xticks(lambdas[places], [f"{counts[i]:,}" for i in places])
    above.xaxis.set_minor_locator(NullLocator())
    above.tick_params(colors=INK, labelsize=9, length=3)
    above.spines["top"].set_visible(False)
    above.set_xlabel("number of features", color=INK, fontsize=9)


def _emptier_corner(weights: Floats) -> str:
    """Return the corner on the right, where most weights are zero, that has more space."""
    right = weights[len(weights) // 2 :]
    return "upper right" if right.max() <= -right.min() * 1.5 or right.min() >= 0 else "lower right"
