"""Features that are the pixels of an image, as that image."""

from __future__ import annotations

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from numpy.typing import ArrayLike, NDArray

from riata.plot.style import BLUE, DIVERGING, GREY, INK, SEQUENTIAL, new_axes

__all__ = ["pixels"]


def pixels(
    values: ArrayLike,
    image_shape: tuple[int, int],
    *,
    selected: ArrayLike | None = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw one value for each pixel of an image.

    True and false are blue and grey. Numbers of both signs are drawn from violet by white to orange, with zero in the middle,
    others from dark to light. Pixels without a number are grey.

    Parameters
    ----------
    values : array-like of shape (d,)
        Row by row: importances, weights, a sample of X, or a mask such as ``selected_``.
    image_shape : tuple of two int
        Rows and columns; d pixels together.
    selected : bool array-like of shape (d,), optional
        Draw only these pixels; the others are grey.
    label : str
        What the values are, beside the bar of colours. A mask has no bar.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.feature_selection import f_classif
    >>> from riata import plot
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plot.pixels(X.std(axis=0), (8, 8), label="standard deviation")
    >>> ax.images[0].get_array().shape
    (8, 8)
    """
    image = _image(values, image_shape)
    shown = np.ones(image.shape, dtype=bool) if selected is None else _image(selected, image_shape).astype(bool)
    if ax is None:
        ax = new_axes(_size(image.shape))
    if image.dtype == bool:
        ax.imshow(image & shown, cmap=ListedColormap([GREY, BLUE]), vmin=0, vmax=1, interpolation="nearest")
    else:
        _draw_numbers(ax, np.ma.masked_invalid(np.where(shown, image, np.nan)), label)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(GREY)
    return ax


def _image(values: ArrayLike, image_shape: tuple[int, int]) -> NDArray[np.bool_] | NDArray[np.float64]:
    flat = np.asarray(values)
    flat = flat if flat.dtype == bool else flat.astype(np.float64)
    if len(image_shape) != 2 or flat.ndim != 1 or math.prod(image_shape) != len(flat):
        raise ValueError(
            f"image_shape must be (rows, columns) with one pixel for each value; got {image_shape} and values of the shape "
            f"{flat.shape}"
        )
    return flat.reshape(image_shape)


def _size(shape: tuple[int, ...]) -> tuple[float, float]:
    """Return a size in inches in which the image has about its shape."""
    ratio = min(max(shape[0] / shape[1], 0.4), 2.0)
    return 4.8, 4.0 * ratio


def _draw_numbers(ax: Axes, image: np.ma.MaskedArray, label: str) -> None:
    low, high = (float(image.min()), float(image.max())) if image.count() else (0.0, 1.0)
    both = low < 0 < high
    largest = max(-low, high)
    colours = colormaps[DIVERGING if both else SEQUENTIAL].with_extremes(bad=GREY)
    low, high = (-largest, largest) if both else (low, high)
    drawn = ax.imshow(image, cmap=colours, interpolation="nearest", vmin=low, vmax=high)
    bar = ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.85)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.ax.yaxis.label.set_color(INK)
