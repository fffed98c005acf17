"""Boston housing with as many columns of noise: the paths, what they find, and why they go from dense to sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.baselines.task import by
from experiments.cells import Cell, Options, Result, Store
from experiments.data import load, wanted
from experiments.directions import PATHS
from experiments.page import Picture, Section, Table, columns, error, names, number, spread, style
from experiments.protocol import split
from experiments.published import BOSTON
from riata.path import selection

_DATA = "boston"
_REAL = 13  # the columns of the data set come first, those of noise after them
_SEEDS, _QUICK_SEEDS = 10, 2


def cells(options: Options) -> list[Cell]:
    """One cell per method and split."""
    if not wanted(_DATA, options.data):
        return []
    return [Cell("boston", _DATA, method, seed) for method in PATHS for seed in options.seeds(_SEEDS, _QUICK_SEEDS)]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Follow a path, and see what is in it and how well it predicts."""
    data = load(_DATA)
    noise = np.random.default_rng(cell.seed).standard_normal((len(data.y), _REAL))
    parts = split(np.hstack([data.X, noise]), data.y, cell.seed)
    path, predict = PATHS[cell.method](parts, cell.seed)
    errors = [float(np.mean((predict(point, parts.test.X) - parts.test.y) ** 2)) for point in path]

    def at(index: int) -> dict[str, float]:
        return {**_content(path[index].selected), "lambda": path[index].lambda_, "error": errors[index]}

    first = np.isin(np.arange(2 * _REAL), by(path.importances())[:_REAL])
    return {
        "first": _content(first),
        "best": at(selection.best(path)),
        "one_se": at(selection.one_standard_error(path)),
        "errors": [errors[selection.at_most(path, k)] for k in range(2 * _REAL + 1)],  # with at most 0, 1, … features
        "lambdas": path.lambdas.tolist(),
        "n_selected": path.n_selected.tolist(),
        "norms": np.round(path.skip_norms(), 4).tolist(),
    }


def _content(selected: NDArray[np.bool_]) -> dict[str, int]:
    return {"real": int(selected[:_REAL].sum()), "noise": int(selected[_REAL:].sum())}


def page(store: Store) -> Section | None:
    """Coefficient paths of one split beside the errors of all, and a table of what was found."""
    found = store.all("boston")
    if not found:
        return None
    text = (
        f"The {_REAL} columns of Boston housing and {_REAL} of Gaussian noise. The paper's model of lowest test error has "
        f"{BOSTON['real']} real features and {BOSTON['noise']} of noise. Here points are chosen on validation rows: "
        "the best, and the sparsest within one standard error of it. Mean over splits ± standard error; errors are mean "
        "squared ones on test rows, in (1,000 dollars)²."
    )
    return Section("Boston housing with noise", text, [_picture(found), _table(found)])


def _table(found: Sequence[Result]) -> Table:
    rows = []
    for method in names(found, "method"):
        scores = [result["scores"] for result in columns(found, method=method)]
        row = [method, spread([s["first"]["real"] for s in scores], 1)]
        for point in ("best", "one_se"):
            digits = {"real": 1, "noise": 1, "error": 2}
            row += [spread([s[point][key] for s in scores], n) for key, n in digits.items()]
        row.append(spread([float(np.mean(s["errors"][1:])) for s in scores], 2))
        rows.append(row)
    published = ["–", str(BOSTON["real"]), str(BOSTON["noise"]), "–", "–", "–", "–", "–"]
    rows.append(["(LassoNet, published, lowest test error)", *published])
    header = ["method", f"real in the first {_REAL}", "best: real", "noise", "error"]
    header += ["one standard error: real", "noise", "error", "error, mean over 1 to 26 features"]
    return Table(header, rows, "What the paths find")


def _picture(found: Sequence[Result]) -> Picture:
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    riata = columns(found, method="riata")
    if riata:
        _paths(left, riata[0]["scores"])
    lowest = []
    for method in names(found, "method"):
        errors = np.array([result["scores"]["errors"] for result in columns(found, method=method)])[:, 1:]
        counts = np.arange(1, errors.shape[1] + 1)
        right.errorbar(counts, errors.mean(axis=0), [error(list(e)) for e in errors.T], **style(method))
        lowest.append(errors.mean(axis=0).min())
    right.set(xlabel="features", ylabel="mean squared error, test rows", ylim=(0.9 * min(lowest), 3 * min(lowest)))
    right.set_title("Two directions, and the lasso", fontsize="medium")
    right.legend()
    return Picture("boston", figure, "Boston housing with 13 columns of noise")


def _paths(axes: Axes, scores: dict[str, Any]) -> None:
    """Draw the norm of each feature's linear weights at every point, with the numbers of features along the top.

    Most features leave within a small range of λ, so that points are drawn at equal distances.
    """
    lambdas, counts = np.array(scores["lambdas"]), np.array(scores["n_selected"])
    norms = np.array(scores["norms"])
    axes.plot(norms[:, :_REAL], linewidth=1.2)
    axes.plot(norms[:, _REAL:], "--", color="grey", linewidth=0.8)
    axes.axvline(np.searchsorted(lambdas, scores["best"]["lambda"]), color="black", linestyle=":")
    axes.set_yscale("symlog", linthresh=0.003)
    axes.set_ylim(0)
    shown = np.arange(0, len(lambdas), -(-len(lambdas) // 8))
    axes.set_xticks(shown, [number(value) for value in lambdas[shown]])
    axes.set(xlabel="λ", ylabel="norm of linear weights")
    axes.secondary_xaxis("top").set_xticks(shown, counts[shown])
    axes.set_title("One path, features along the top; broken: noise, dotted: best", fontsize="medium")
