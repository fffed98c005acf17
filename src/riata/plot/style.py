"""What all figures share: colours, kinds of lines, axes without a frame, and names that fit."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "DIVERGING",
    "GREY",
    "INK",
    "LINES",
    "ORANGE",
    "SEQUENTIAL",
    "SLATE",
    "Line",
    "clean",
    "line_of",
    "new_axes",
    "shortened",
]

# The palette of Okabe and Ito (2008), which can be told apart without the cones for red, green or blue. Black and yellow are
# left out: the one is the colour of text, the other can hardly be seen on white.
BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
LINES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY)
GREY, INK = "#c9ced6", "#30363d"
SLATE = "#6b7480"  # a grey for lines and text, between GREY and INK
SEQUENTIAL, DIVERGING = "cividis", "PuOr_r"  # the first is perceptually uniform, the second darkens to either side

_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P")


class Line(NamedTuple):
    """How one of several lines is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[float, ...]]
    marker: str


def line_of(i: int) -> Line:
    """Return how the i-th of several lines is drawn: after six lines the colours are repeated with other dashes.

    Markers change with the colour, so that lines with markers do not depend on colours at all.
    """
    n = len(LINES)
    return Line(LINES[i % n], _DASHES[i // n % len(_DASHES)], _MARKERS[i % n])


def new_axes(size: tuple[float, float] = (5, 4)) -> Axes:
    """Return the axes of a new figure of a size in inches, which is not attached to any window."""
    return Figure(figsize=size, layout="constrained").subplots()


def clean(ax: Axes) -> Axes:
    """Remove the upper and right spines, and colour the others, ticks and labels."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(INK)
    ax.tick_params(colors=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax


def shortened(name: str) -> str:
    """Cut a name to at most 28 characters, the last of which is then an ellipsis."""
    return name if len(name) <= 28 else f"{name[:27]}…"
