"""What all figures share: colours, axes without a frame, and names that fit."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "INK", "ORANGE", "SLATE", "clean", "new_axes", "shortened"]

BLUE, ORANGE, GREY, INK = "#2563a8", "#d9641e", "#c9ced6", "#30363d"
SLATE = "#6b7480"  # a grey for lines and text, between GREY and INK


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
