"""Figures of a path and of a selection: data and axes in, axes out."""

from riata.plot.bars import importance, stability
from riata.plot.curves import cv, path
from riata.plot.effects import effect
from riata.plot.heatmap import interaction, surface
from riata.plot.images import pixels
from riata.plot.lines import coefficients
from riata.plot.summary import summary_figure, survival_figure
from riata.plot.survival_curves import calibration, survival

__all__ = [
    "calibration",
    "coefficients",
    "cv",
    "effect",
    "importance",
    "interaction",
    "path",
    "pixels",
    "stability",
    "summary_figure",
    "surface",
    "survival",
    "survival_figure",
]
