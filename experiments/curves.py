"""Accuracy against the number of features: the paper's ISOLET figure and those of its appendix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import accuracy, published
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Picture, Section, columns, error, names, style
from experiments.protocol import LEARNERS, N_FEATURES

COUNTS = (5, 10, 20, 30, 40, 50, 60, 75, 100)
_QUICK = (10, 50)
_SEEDS = 3


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method, split and number of features."""
    return [
        accuracy.cell(data, method, seed, k)
        for data in accuracy.data(options)
        for method in accuracy.methods(options)
        for seed in options.seeds(_SEEDS)
        for k in ((N_FEATURES,) if method == "all" else _QUICK if options.quick else COUNTS)
    ]


def page(store: Store) -> Section | None:
    """One figure per data set, with a panel per learner."""
    found = store.all("accuracy", lambda config: config["seed"] < _SEEDS)
    if not found:
        return None
    pictures = [_picture(columns(found, data=data), data) for data in names(found, "data")]
    text = (
        "Mean over up to three splits, the same for every number of features, with standard errors. A dotted line is all "
        "features, a star the paper's LassoNet."
    )
    return Section("Accuracy against the number of features", text, pictures)


def _picture(found: Sequence[Result], data: str) -> Picture:
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(LEARNERS), sharey=True)
    for axes, learner in zip(panels, LEARNERS, strict=True):
        for method in names(found, "method"):
            _line(axes, columns(found, method=method), learner, method)
        star = published.accuracy(learner, data, "lassonet")
        if star is not None:
            axes.plot([N_FEATURES], [star], "k*", markersize=12, label="lassonet, published")
        axes.set(title=learner, xlabel="features")
    panels[0].set_ylabel("accuracy")
    panels[-1].legend(fontsize="x-small", ncols=2)
    return Picture(f"curves_{data}", figure, data)


def _line(axes: Axes, found: Sequence[Result], learner: str, method: str) -> None:
    if method == "all":
        axes.axhline(
            np.mean([result["scores"][learner] for result in found]), color="grey", linestyle=":", label=method
        )
        return
    counts = sorted({result["config"]["k"] for result in found})
    values = [[result["scores"][learner] for result in columns(found, k=k)] for k in counts]
    axes.errorbar(counts, [np.mean(v) for v in values], [error(v) for v in values], **style(method))
