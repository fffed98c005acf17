"""The mean of the target over the plane of two features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from riata.plot.style import SEQUENTIAL, clean, new_axes, shortened

__all__ = ["interaction"]


def interaction(
    first: ArrayLike,
    second: ArrayLike,
    target: ArrayLike,
    *,
    names: Sequence[str] = ("first feature", "second feature", "target"),
    ax: Axes | None = None,
    bins: int = 8,
) -> Axes:
    """Draw the mean of the target over the plane of two features.

    Cells lie between quantiles of the features; a feature with few values, or of text, has one row or column of cells for each
    value. Cells without a sample are empty.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        The features, along the horizontal and the vertical axis.
    target : array-like of shape (n,)
        Numbers, or two classes, of which the share of the second is drawn.
    names : sequence of three str
        Names of the two features and of the target.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    bins : int
        Cells along each axis, at most.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import plot
    >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> ax = plot.interaction(x[:, 0], x[:, 1], x[:, 0] * x[:, 1] > 0)
    >>> ax.get_xlabel()
    'first feature'
    """
    ax = new_axes() if ax is None else ax
    (columns, x_labels), (rows, y_labels) = _cells(first, bins), _cells(second, bins)
    values, label = _numbers(target, names[2])
    shape = len(y_labels), len(x_labels)
    known = (columns >= 0) & (rows >= 0) & np.isfinite(values)
    cell = (rows * shape[1] + columns)[known]
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, values[known], shape[0] * shape[1]).reshape(shape)
    means = np.ma.masked_array(sums / np.maximum(counts, 1), counts == 0)
    mesh = ax.pcolormesh(means, cmap=SEQUENTIAL, edgecolors="white", linewidth=0.5)
    colour_bar = ax.figure.colorbar(mesh, ax=ax, label=label)
    colour_bar.outline.set_visible(False)
    for axis, labels in ((ax.xaxis, x_labels), (ax.yaxis, y_labels)):
        axis.set_ticks(np.arange(len(labels)) + 0.5, labels)
    ax.tick_params(axis="x", labelrotation=45 if max(map(len, x_labels), default=0) > 4 else 0)
    ax.set_xlabel(shortened(str(names[0])), parse_math=False)
    ax.set_ylabel(shortened(str(names[1])), parse_math=False)
    return clean(ax)


def _cells(feature: ArrayLike, bins: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return the cell of each sample along an axis, −1 where the value is missing, and the label of each cell."""
    column = pd.Series(np.asarray(feature))
    if column.nunique() <= bins or not pd.api.types.is_numeric_dtype(column):
        codes, levels = pd.factorize(column, sort=True)
        return np.where(codes < bins, codes, -1), [shortened(f"{level}") for level in levels[:bins]]
    binned, edges = pd.qcut(column, bins, labels=False, retbins=True, duplicates="drop")
    middles = (edges[1:] + edges[:-1]) / 2
    return binned.fillna(-1).to_numpy(dtype=np.int64), [f"{middle:.3g}" for middle in middles]


def _numbers(target: ArrayLike, name: str) -> tuple[NDArray[np.float64], str]:
    """Return the numbers whose mean is drawn, and the label of that mean."""
    values = np.asarray(target)
    levels = pd.unique(values[~pd.isna(values)])
    if len(levels) == 2:
        positive = sorted(levels)[1]
        return np.where(pd.isna(values), np.nan, values == positive).astype(np.float64), f"share of {name} = {positive}"
    if not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"target must hold numbers or two classes; it has {len(levels)}: compare one with the others")
    return values.astype(np.float64), f"mean of {name}"
