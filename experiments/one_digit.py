"""The pixels from which one digit of MNIST can be reconstructed, at three penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import unsupervised
from experiments.baselines.task import Task
from experiments.baselines.unsupervised import autoencoder
from experiments.cells import Cell, Options, Result, Store
from experiments.data import here, load
from experiments.page import Picture, Section, columns, names
from riata.path import selection

DIGITS = (3, 5, 7)
_COUNTS = {"mnist": (100, 50, 20), "digits": (24, 12, 6)}
_BRIGHTEST = {"mnist": 255, "digits": 16}
_SHADES = 255


def cells(options: Options) -> list[Cell]:
    """One cell per digit."""
    if options.data is not None:
        data = [name for name in _COUNTS if name in options.data]
    else:
        data = ["digits"] if options.quick else [name for name in ("mnist",) if here(name)]
    return [
        Cell("one_digit", name, "riata", seed, (("digit", digit), *unsupervised.size(name)))
        for name in data
        for digit in (DIGITS[:1] if options.quick else DIGITS)
        for seed in options.seeds(1)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Follow the path on the images of one digit, and see which pixels are left at some of its points."""
    data = load(cell.data)
    X = data.X[: cell.config.get("rows", len(data.X))]
    X = X[data.y[: len(X)] == cell["digit"]] / _BRIGHTEST[cell.data]
    model = autoencoder(Task(X, X, X.shape[1], cell.seed))
    points = [model.path_[selection.at_most(model.path_, k)] for k in _COUNTS[cell.data]]
    return {
        "rows": len(X),
        "mean": (_SHADES * X.mean(axis=0)).round().astype(int).tolist(),
        "lambdas": [float(point.lambda_) for point in points],
        "pixels": [np.flatnonzero(point.selected).tolist() for point in points],
    }


def page(store: Store) -> Section | None:
    """Pixels over the mean image, a row per digit and a column per penalty."""
    found = [r for r in store.all("one_digit") if r["config"]["seed"] == 0]
    if not found:
        return None
    most = max(r["scores"]["rows"] for r in found)
    text = (
        "riata without a target on the images of one digit alone, as in the paper: the pixels that are left at three λ, over "
        f"the mean of the images, of which there are up to {most:,}."
    )
    return Section(
        "The pixels of one digit", text, [_picture(columns(found, data=name), name) for name in names(found, "data")]
    )


def _picture(found: Sequence[Result], name: str) -> Picture:
    digits = names(found, "digit")
    n_points = len(found[0]["scores"]["pixels"])
    figure = Figure(figsize=(2.7 * n_points, 2.9 * len(digits)), layout="constrained")
    panels = figure.subplots(len(digits), n_points, squeeze=False)
    for line, digit in zip(panels, digits, strict=True):
        scores = columns(found, digit=digit)[-1]["scores"]
        for axes, lambda_, pixels in zip(line, scores["lambdas"], scores["pixels"], strict=True):
            _pixels(axes, scores["mean"], pixels)
            axes.set_title(f"λ = {lambda_:.3g}, {len(pixels)} pixels", fontsize="medium")
    return Picture(f"one_digit_{name}", figure, f"{name}: pixels of the digits {', '.join(map(str, digits))}")


def _pixels(axes: Axes, mean: Sequence[int], pixels: Sequence[int]) -> None:
    side = round(len(mean) ** 0.5)
    axes.imshow(np.reshape(mean, (side, side)), cmap="gray", vmin=0, vmax=_SHADES)
    row, column = np.divmod(np.array(pixels, dtype=int), side)
    axes.scatter(column, row, s=14, marker="s", color="tab:orange", linewidths=0)
    axes.set_axis_off()
