"""Figures of a path and of a selection: data and axes in, axes out."""

from riata.plot.bars import importance, stability
from riata.plot.curves import cv, path, score_name
from riata.plot.heatmap import interaction
from riata.plot.summary import summary_figure, survival_figure
from riata.plot.survival_curves import calibration, survival

__all__ = [
    "calibration",
    "cv",
    "importance",
    "interaction",
    "path",
    "score_name",
    "stability",
    "summary_figure",
    "survival",
    "survival_figure",
]
