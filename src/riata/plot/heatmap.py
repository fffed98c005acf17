"""The mean of the target, or of predictions, over the plane of two features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from riata.plot.effects import are_probabilities, mean_of
from riata.plot.style import INK, SEQUENTIAL, clean, new_axes, shortened

__all__ = ["SurfaceLike", "interaction", "surface"]

Floats = NDArray[np.float64]


class SurfaceLike(Protocol):
    """What a figure needs of the effect of two features."""

    @property
    def features(self) -> tuple[str, str]:
        """Their names."""
        ...

    @property
    def values(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Values of each."""
        ...

    @property
    def prediction(self) -> Floats:
        """Mean predictions, (m1, m2, o)."""
        ...

    @property
    def outputs(self) -> list[str]:
        """Names of the classes or targets."""
        ...

    @property
    def interaction(self) -> Floats:
        """Size of the interaction, (o,)."""
        ...


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
    of its most common values. Cells without a sample are empty.

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
    return _draw_cells(ax, means, (x_labels, y_labels), (names[0], names[1]), label)


def surface(surface: SurfaceLike, *, output: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the mean prediction over the plane of two features.

    Parameters
    ----------
    surface : Surface
        What :func:`riata.effect_surface` returns.
    output : str, optional
        Which of ``surface.outputs`` to draw. By default the second of two classes, and of more outputs the one with the largest
        interaction.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from riata import effect_surface, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, y)
    >>> ax = plot.surface(effect_surface(model, X, "bmi", "s5"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('bmi', 's5')
    """
    k = _output(surface, output)
    ax = new_axes() if ax is None else ax
    labels = [_label(value) for value in surface.values[0]], [_label(value) for value in surface.values[1]]
    name = mean_of(surface.prediction, surface.outputs, k)
    return _draw_cells(ax, surface.prediction[:, :, k].T, labels, surface.features, name)


def _output(surface: SurfaceLike, output: str | None) -> int:
    """Return the position of the output to draw."""
    names = list(surface.outputs)
    if output is not None:
        if output not in names:
            raise ValueError(f"output must be one of {', '.join(map(repr, names))}; got {output!r}")
        return names.index(output)
    if len(names) == 2 and are_probabilities(surface.prediction, names):
        return 1
    return int(surface.interaction.argmax())


def _label(value: Any) -> str:
    """Return a number, a day or a level as text."""
    if isinstance(value, np.datetime64 | pd.Timestamp):
        return str(pd.Timestamp(value).date())
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return f"{value:.3g}"
    return shortened(str(value))


def _draw_cells(ax: Axes, means: Floats, labels: tuple[list[str], list[str]], names: Sequence[str], name: str) -> Axes:
    """Draw a colour for each cell, (rows, columns), with the labels of columns and rows, and a bar of colours with a name."""
    mesh = ax.pcolormesh(means, cmap=SEQUENTIAL, edgecolors="white", linewidth=0.5)
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.set_label(name, color=INK, parse_math=False)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9)
    for axis, texts in zip((ax.xaxis, ax.yaxis), labels, strict=True):
        axis.set_ticks(np.arange(len(texts)) + 0.5, texts, parse_math=False)
    if max(map(len, labels[0]), default=0) > 4:
        for tick in ax.get_xticklabels():
            tick.set(rotation=45, rotation_mode="anchor", horizontalalignment="right")
    ax.set_xlabel(shortened(str(names[0])), parse_math=False)
    ax.set_ylabel(shortened(str(names[1])), parse_math=False)
    return clean(ax)


def _cells(feature: ArrayLike, bins: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return the cell of each sample along an axis, −1 where the value is missing, and the label of each cell."""
    column = pd.Series(np.asarray(feature))
    if column.nunique() <= bins or not pd.api.types.is_numeric_dtype(column):
        _, levels = pd.factorize(column.value_counts().index[:bins], sort=True)  # sorts numbers and text together, too
        levels = pd.Index(levels)
        return levels.get_indexer(pd.Index(column)).astype(np.int64), [_label(level) for level in levels]
    binned, edges = pd.qcut(column, bins, labels=False, retbins=True, duplicates="drop")
    middles = (edges[1:] + edges[:-1]) / 2
    return binned.fillna(-1).to_numpy(dtype=np.int64), [f"{middle:.3g}" for middle in middles]


def _numbers(target: ArrayLike, name: str) -> tuple[Floats, str]:
    """Return the numbers whose mean is drawn, and the label of that mean."""
    values = np.asarray(target)
    levels = pd.unique(values[~pd.isna(values)])
    if len(levels) == 2:
        positive = sorted(levels)[1]
        return np.where(pd.isna(values), np.nan, values == positive).astype(
            np.float64
        ), f"share of {shortened(name)} = {shortened(str(positive))}"
    if not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"target must hold numbers or two classes; it has {len(levels)}: compare one with the others")
    return values.astype(np.float64), f"mean of {shortened(name)}"
