"""Matrix completion: the paper's comparison with Soft-Impute on Mice Protein, and matrices of which the structure is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments import matrices
from experiments.baselines.completion import METHODS, complete
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Picture, Section, Table, columns, error, mean, names, number, spread

_PAPER = "mice_protein"
_TRIALS = {_PAPER: 25}
_FEW = 5  # trials on other matrices
_SLOW_TRIALS = 3
_SLOW = tuple(name for name in METHODS if METHODS[name].slow)
_MEANS = ("column_mean", "row_mean")
REFERENCE = "soft_impute"


def cells(options: Options) -> list[Cell]:
    """One cell per matrix, method and trial."""
    return [
        cell(data, method, seed)
        for data in matrices.wanted(options.data, options.quick)
        for method in options.among(METHODS, slow=(*_SLOW, "riata_dense"))
        for seed in options.seeds(_SLOW_TRIALS if method in _SLOW else _TRIALS.get(data, _FEW))
    ]


def cell(data: str, method: str, seed: int) -> Cell:
    """Return the cell of one trial."""
    return Cell("completion", data, method, seed)


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Complete the matrix, and test it on entries that the method has not seen."""
    gaps = matrices.load(cell.data, cell.seed)
    start = time.perf_counter()
    completed = complete(cell.method, gaps.seen, gaps.val, cell.seed)
    seconds = round(time.perf_counter() - start, 3)
    return {"mse": matrices.error(completed, gaps.test), "seconds": seconds, "noise": gaps.noise}


def page(store: Store) -> Section | None:
    """Tables of errors, of ratios and of seconds, and the paper's bars."""
    found = store.all("completion")
    if not found:
        return None
    text = (
        "Mean squared error on test entries, which no method has seen; columns are scaled to variance 1 by all known "
        "entries, so that the mean of a column has an error of about 1. Of Mice Protein, 80 % of the known entries are "
        "learnt from, 10 % are for choosing settings and for stopping, and 10 % test; of the drawn matrices, 70, 15 and "
        "15 %. A trial has a split (and a matrix, where it is drawn) and a seed of its own. Soft-Impute and neighbours have "
        "their settings chosen on the validation entries. riata is the best point of the path on validation entries, "
        "riata_dense the network on all columns, without a path; both with their defaults. For their time, "
        f"{' and '.join(_SLOW)} were run in {_SLOW_TRIALS} trials only: ratios are over the trials that both methods were "
        "run in. In the paper, the error of LassoNet before selecting features is about 30 % below that of Soft-Impute."
    )
    blocks = [_errors(found), _ratios(found), _seconds(found)]
    return Section(
        "Matrix completion", text, [*blocks, *([_bars(paper)] if (paper := columns(found, data=_PAPER)) else [])]
    )


def _data(found: Sequence[Result]) -> list[str]:
    return [name for name in matrices.NAMES if columns(found, data=name)]


def _errors(found: Sequence[Result]) -> Table:
    data = _data(found)
    best = {name: _lowest(columns(found, data=name)) for name in data}
    rows = []
    for method in names(found, "method"):
        texts = [spread(_values(found, name, method, "mse"), 4) for name in data]
        rows.append([method, *(f"**{t}**" if best[name] == method else t for name, t in zip(data, texts, strict=True))])
    noise = [[r["scores"]["noise"] for r in columns(found, data=name)] for name in data]
    rows.append(["(noise alone)", *("–" if None in values else f"{np.mean(values):.4f}" for values in noise)])
    rows.append(["trials", *(str(len({r["config"]["seed"] for r in columns(found, data=name)})) for name in data)])
    return Table(["method", *data], rows, "Mean squared error on test entries ± standard error")


def _lowest(found: Sequence[Result]) -> str:
    return min(names(found, "method"), key=lambda m: np.mean([r["scores"]["mse"] for r in columns(found, method=m)]))


def _values(found: Sequence[Result], data: str, method: str, key: str) -> list[float]:
    return [result["scores"][key] for result in columns(found, data=data, method=method)]


def _ratios(found: Sequence[Result]) -> Table:
    data = _data(found)
    rows = [
        [method, *(spread(ratios(found, name, method)) for name in data)]
        for method in names(found, "method")
        if method != REFERENCE
    ]
    return Table(["method", *data], rows, f"Error over that of {REFERENCE}, mean over trials ± standard error")


def ratios(found: Sequence[Result], data: str, method: str) -> list[float]:
    """Return the error over that of Soft-Impute in each trial that both were run in."""
    one, other = (
        {r["config"]["seed"]: r["scores"]["mse"] for r in columns(found, data=data, method=name)}
        for name in (method, REFERENCE)
    )
    return [one[seed] / other[seed] for seed in sorted(one.keys() & other.keys())]


def _seconds(found: Sequence[Result]) -> Table:
    data = _data(found)
    rows = [
        [method, *(number(mean(_values(found, name, method, "seconds"))) for name in data)]
        for method in names(found, "method")
    ]
    return Table(["method", *data], rows, "Seconds, with the choice of settings, and with the path where there is one")


def _bars(found: Sequence[Result]) -> Picture:
    """Draw means and standard deviations, from 0; but not those of means, beside which all others would look alike."""
    methods = [method for method in names(found, "method") if method not in _MEANS]
    values = [_values(found, _PAPER, method, "mse") for method in methods]
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(
        methods, [np.mean(v) for v in values], xerr=[len(v) ** 0.5 * error(v) for v in values], color="tab:blue"
    )
    labels = [f"{np.mean(v):.3f} ({len(v)} trial{'s' if len(v) > 1 else ''})" for v in values]
    axes.bar_label(bars, labels, padding=4)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlim(0)
    axes.set_xlabel("mean squared error, test entries; lines: standard deviation over trials")
    return Picture("completion", figure, "Completion of Mice Protein")
