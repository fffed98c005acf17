"""MNIST, 5 against 6: accuracy along the path, and which pixels speak for a 6 in a model with 220 of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.baselines.networks import LASSO
from experiments.cells import Cell, Options, Result, Store
from experiments.data import load, wanted
from experiments.page import Picture, Section, Table, columns, names, spread, style
from experiments.protocol import rows, widths
from riata import LassoNetClassifier

_DATA = "mnist_10k"
_SEEDS = 5
_DIGITS = (5, 6)
_SIDE, _BRIGHTEST = 28, 255
_COUNT = 220  # features of the model to look at
_TOP = 20  # pixels that speak loudest for a 6, to count those in the lower left quarter


def cells(options: Options) -> list[Cell]:
    """One cell per method and split."""
    if not wanted(_DATA, options.data):
        return []
    return [Cell("mnist56", _DATA, method, seed) for method in ("riata", "lasso") for seed in options.seeds(_SEEDS)]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Follow the path, test every point of it, and look at the pixels of one."""
    data = load(_DATA)
    which = np.isin(data.y, _DIGITS)
    X, y = data.X[which], data.y[which]
    fit, val, test = rows(y, cell.seed)
    width, settings = (widths(X.shape[1])[0], {}) if cell.method == "riata" else (1, LASSO)
    model = LassoNetClassifier((width,), random_state=cell.seed, **settings)
    path = model.path(X[fit], y[fit], X_val=X[val], y_val=y[val])
    accuracies = [float(model.load(point).score(X[test], y[test])) for point in path]
    model = model.at(n_features=_COUNT)
    return {
        "n_selected": path.n_selected.tolist(),
        "accuracies": accuracies,
        "at": model.n_selected_,
        "accuracy": float(model.score(X[test], y[test])),
        "importances": np.round(_importances(model, X[test]), 5).tolist(),
        "samples": [X[test][np.argmax(y[test] == digit)].astype(int).tolist() for digit in _DIGITS],
    }


def _importances(model: LassoNetClassifier, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean rise of the probability of a 6 when a pixel is set to its maximum; those not in the model change nothing."""
    before = model.predict_proba(X)[:, 1].mean()
    rises = np.zeros(X.shape[1])
    for pixel in np.flatnonzero(model.selected_):
        lit = X.copy()
        lit[:, pixel] = _BRIGHTEST
        rises[pixel] = model.predict_proba(lit)[:, 1].mean() - before
    return rises


def page(store: Store) -> Section | None:
    """Accuracy along the path, pictures of the pixels, and a table."""
    found = store.all("mnist56")
    if not found:
        return None
    text = (
        f"riata's own model, and the logistic lasso as its special case M = 0, with at most {_COUNT} pixels. The importance of "
        "a pixel is the mean rise of the probability of a 6 on test rows when the pixel is set to its maximum; yellow is "
        "highest. A 5 and a 6 are drawn over it. In the paper, pixels at the lower left are the most important."
    )
    return Section("MNIST, 5 against 6", text, [_picture(found), _table(found)])


def _table(found: Sequence[Result]) -> Table:
    lines = []
    for method in names(found, "method"):
        scores = [result["scores"] for result in columns(found, method=method)]
        top = [_in_lower_left(np.array(one["importances"])) for one in scores]
        at = [float(one["at"]) for one in scores]
        lines.append([method, spread(at, 0), spread([one["accuracy"] for one in scores]), spread(top, 1)])
    return Table(["method", "pixels", "test accuracy", f"of the top {_TOP}, lower left"], lines, f"At {_COUNT} pixels")


def _in_lower_left(importances: NDArray[np.float64]) -> float:
    row, column = np.divmod(np.argsort(-importances)[:_TOP], _SIDE)
    return float(((row >= _SIDE // 2) & (column < _SIDE // 2)).sum())


def _picture(found: Sequence[Result]) -> Picture:
    methods = names(found, "method")
    figure = Figure(figsize=(11, 2.9 * len(methods)), layout="constrained")
    panels = figure.subplot_mosaic(
        [["path", *(f"{m}{digit}" for digit in _DIGITS)] for m in methods], width_ratios=(2, 1, 1)
    )
    for method in methods:
        scores = columns(found, method=method)[0]["scores"]
        # Without the last point: the empty model has no place on a logarithmic axis.
        panels["path"].plot(scores["n_selected"][:-1], scores["accuracies"][:-1], **style(method))
        for digit, sample in zip(_DIGITS, scores["samples"], strict=True):
            _pixels(panels[f"{method}{digit}"], scores["importances"], sample)
            panels[f"{method}{digit}"].set_title(f"{method}, {scores['at']} pixels", fontsize="medium")
    panels["path"].axvline(_COUNT, color="grey", linestyle=":")
    panels["path"].set(xlabel="pixels", ylabel="test accuracy, one split", xscale="log")
    panels["path"].legend()
    return Picture("mnist56", figure, "MNIST, 5 against 6")


def _pixels(axes: Axes, importances: Sequence[float], sample: Sequence[int]) -> None:
    """Draw importances with a digit over them; a few pixels that are hardly ever on may lie beyond the colours."""
    rises = np.reshape(importances, (_SIDE, _SIDE))
    limit = np.quantile(np.abs(rises[rises != 0]), 0.95)
    axes.imshow(rises, cmap="viridis", vmin=-limit, vmax=limit)
    axes.contour(np.reshape(sample, (_SIDE, _SIDE)), [_BRIGHTEST / 2], colors="white", linewidths=1)
    axes.set_axis_off()
