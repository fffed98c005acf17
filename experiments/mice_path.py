"""The path on Mice Protein: how much of the signal a few proteins hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments import ranking
from experiments.cells import Cell, Options, Result, Store
from experiments.data import wanted
from experiments.page import Picture, Section, Table, spread
from experiments.protocol import widths
from riata import LassoNetClassifier

_DATA = "mice_protein"
_SEEDS = 10
_COUNTS = (5, 10, 15, 20, 25, 30, 35, 40, 50)


def cells(options: Options) -> list[Cell]:
    """One cell per split."""
    if not wanted(_DATA, options.data):
        return []
    return [Cell("mice_path", _DATA, "riata", seed) for seed in options.seeds(_SEEDS)]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Follow the path, and test every point of it."""
    parts = ranking.parts(cell)
    model = LassoNetClassifier((widths(parts.fit.X.shape[1])[0],), random_state=cell.seed)
    path = model.path(*parts.fit, X_val=parts.val.X, y_val=parts.val.y)
    return {
        "lambdas": path.lambdas.tolist(),
        "n_selected": path.n_selected.tolist(),
        "val_losses": [point.val_loss for point in path],
        "accuracies": [float(model.load(point).score(*parts.test)) for point in path],
    }


def page(store: Store) -> Section | None:
    """Panels as in the paper, one of the validation loss, and a table at some numbers of features."""
    scores = [result["scores"] for result in store.all("mice_path")]
    if not scores:
        return None
    text = (
        "One line per split: riata's own model along its path, without training again. In the paper, 70 % of the signal are "
        "captured with about 20 % of the features (15), and about 35 are needed for the highest accuracy."
    )
    return Section("The path on Mice Protein", text, [_picture(scores), _table(scores)])


def _picture(scores: Sequence[dict[str, Any]]) -> Picture:
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 2).flat
    sides = (
        ("n_selected", "accuracies"),
        ("lambdas", "accuracies"),
        ("lambdas", "n_selected"),
        ("n_selected", "val_losses"),
    )
    labels = {"n_selected": "features", "lambdas": "λ", "accuracies": "test accuracy", "val_losses": "validation loss"}
    for axes, (x, y) in zip(panels, sides, strict=True):
        for one in scores:
            axes.plot(one[x][1:], one[y][1:], color="tab:blue", alpha=0.5, linewidth=1)
        axes.set(xlabel=labels[x], ylabel=labels[y], xscale="log" if x == "lambdas" else "linear")
    return Picture("mice_path", figure, "The path on Mice Protein")


def _table(scores: Sequence[dict[str, Any]]) -> Table:
    values = [spread([_at_most(one, k) for one in scores]) for k in _COUNTS]
    every = spread([one["accuracies"][0] for one in scores])
    return Table(
        ["features", *map(str, _COUNTS), "all"], [["test accuracy", *values, every]], "At most so many features"
    )


def _at_most(one: dict[str, Any], k: int) -> float:
    """Return the accuracy of the densest point with at most k features."""
    counts = np.array(one["n_selected"])
    return one["accuracies"][int(np.argmax(np.where(counts <= k, counts, -1)))]
