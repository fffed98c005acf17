"""What a figure shows, as plain values that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes


def drawn(ax: Axes) -> list[Any]:
    """Return the data of all lines, bars, areas and images of axes, and all of their text."""
    labels = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()]
    ticks = [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    legend = ax.get_legend()
    named = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    paths = [path.vertices.tolist() for each in ax.collections for path in each.get_paths()]
    return [
        labels + ticks + named + [text.get_text() for text in ax.texts],
        *([*map(str, line.get_xdata())] for line in ax.lines),
        *(np.asarray(line.get_ydata(), dtype=float).tolist() for line in ax.lines),
        *((bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in ax.patches),
        *paths,
        *(image.get_array().tolist() for image in ax.images),
        *(np.asarray(each.get_array()).tolist() for each in ax.collections if each.get_array() is not None),
    ]
