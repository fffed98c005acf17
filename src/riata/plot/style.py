"""What all figures share: colours, kinds of lines, axes without a frame, and names that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

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
    "name_in_legend",
    "new_axes",
    "shortened",
]

# Blue and orange are those of Okabe and Ito (2008). The others differ in lightness, too: all six can be told apart without the
# cones for red, green or blue, and have a contrast of 3 with white, which their green, amber and sky blue do not have at once.
BLUE, ORANGE, GREEN, PINK, VIOLET, BROWN = "#0072b2", "#d55e00", "#005c3a", "#d0709f", "#44157a", "#a08a5a"
LINES = (BLUE, ORANGE, GREEN, PINK, VIOLET, BROWN)
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
    return Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)).subplots()


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
    """Return a name on one line and with at most 28 characters, the last of which is an ellipsis where it was cut."""
    line = " ".join(name.split())
    return line if len(line) <= 28 else f"{line[:27]}…"


def name_in_legend(ax: Axes, drawn: Sequence[Artist], names: Sequence[str], **how: Any) -> None:
    """Name what was drawn as it is: without mathematics in dollar signs, and names that begin with an underscore, too."""
    legend = ax.legend(drawn, ["name"] * len(drawn), fontsize=9, labelcolor=INK, **how)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=shortened(name), parse_math=False)
