"""Figures of a path, as ``lassonet.plot`` draws them: on a new figure of pyplot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from riata.compat.lassonet.history import HistoryItem
from riata.compat.lassonet.utils import confidence_interval, eval_on_path
from riata.plot.style import BLUE, GREY, ORANGE, clean

__all__ = ["plot_cv", "plot_path"]

Score = Callable[[Any, Any], float] | None
_DOTS = {"marker": ".", "linewidth": 1.2}


def plot_path(model: Any, X_test: Any, y_test: Any, *, score_function: Score = None) -> None:
    """Draw score and number of features along a path. The model stays where it was.

    Parameters
    ----------
    model : estimator
        Any of :mod:`riata.compat.lassonet`, after ``path`` or ``fit``.
    X_test, y_test : array-like
        Samples to score.
    score_function : callable, optional
        Of target and prediction; the model's own score by default.
    """
    score = _scores(model, X_test, y_test, score_function)
    n_selected, lambda_ = _counts(model.path_), [item.lambda_ for item in model.path_]
    _, axes = plt.subplots(3, 1, figsize=(16, 16), layout="tight")
    axes[0].plot(n_selected, score, color=BLUE, **_DOTS)
    _label(axes[0], "number of selected features", "score")
    axes[1].plot(lambda_, score, color=BLUE, **_DOTS)
    _label(axes[1], "lambda", "score")
    axes[2].plot(lambda_, n_selected, color=BLUE, **_DOTS)
    _label(axes[2], "lambda", "number of selected features")


def plot_cv(model: Any, X_test: Any, y_test: Any, *, score_function: Score = None) -> None:
    """Draw the scores of cross-validation, and score and number of features of the final path. The model stays where it was.

    Parameters
    ----------
    model : estimator
        One with cross-validation, after ``path`` or ``fit``.
    X_test, y_test : array-like
        Samples to score.
    score_function : callable, optional
        Of target and prediction, for the final path; the model's own score by default.
    """
    score = _scores(model, X_test, y_test, score_function)
    lambda_ = [item.lambda_ for item in model.path_]
    folds = [[item.lambda_ for item in path] for path in model.raw_paths_]
    _, (above, below) = plt.subplots(2, 1, figsize=(16, 16), layout="tight")
    for i, (lambdas, scores, path) in enumerate(zip(folds, model.raw_scores_, model.raw_paths_, strict=True)):
        label = None if i else "cross-validation"
        above.plot(lambdas, scores, color=GREY, label=label, **_DOTS)
        below.plot(lambdas, _counts(path), color=GREY, label=label, **_DOTS)
    mean, half = model.interp_scores_.mean(axis=1), confidence_interval(model.interp_scores_)
    above.fill_between(model.lambdas_, mean - half, mean + half, color=ORANGE, alpha=0.15)
    above.plot(model.lambdas_, mean, color=ORANGE, label="average cv with 95% CI")
    above.plot(lambda_, score, color=BLUE, label="test", **_DOTS)
    below.plot(lambda_, _counts(model.path_), color=BLUE, label="all samples", **_DOTS)
    _label(above, "lambda", "score")
    _label(below, "lambda", "number of selected features")
    for ax in (above, below):
        ax.legend()


def _scores(model: Any, X_test: Any, y_test: Any, score_function: Score) -> list[float]:
    here = model.model.cpu_state_dict()
    try:
        return eval_on_path(model, model.path_, X_test, y_test, score_function=score_function)
    finally:
        model.load(here)


def _counts(path: Sequence[HistoryItem]) -> list[int]:
    return [int(item.selected.sum()) for item in path]


def _label(ax: Axes, x: str, y: str) -> None:
    if x == "lambda":
        ax.set_xscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(visible=True, color=GREY, alpha=0.5)
    clean(ax)
