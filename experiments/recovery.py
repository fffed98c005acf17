"""Recovery of known truth: how many of the columns that matter are ranked first, as columns that do not are added."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from experiments import accuracy, baselines
from experiments.baselines import METHODS
from experiments.cells import Cell, Options, Result, Store
from experiments.page import Picture, Section, Table, columns, error, names, spread, style
from experiments.synthetic import N_ROWS, SIGNALS, recovered, sample
from riata.preprocess import scaling

SIZES = tuple(2**power for power in range(4, 14))
_QUICK = (16, 64)
_AT = 64  # columns of the table
_SEEDS, _SEEDS_AT = 5, 10  # the second at that number of columns, and for riata
_FEWER_ROWS = (250, 500)
_PAIRS = ("ring", "xor", "both", "sum", "graph")  # signals that are drawn with fewer rows, too
_SIZES_FEWER = (64, 1024)
_QUICK_METHODS = ("riata", "fisher", "mutual_information", "mrmr", "forest")  # for fewer rows
_LARGEST = {"hsic_lasso": 1024, "pfa": 2048, "lasso": 2048}  # columns beyond which a cell would take too long
_NAMES = {
    "ring": "a ring",
    "xor": "an xor",
    "both": "ring or xor",
    "sum": "ring or xor or linear",
    "graph": "a directed graph",
    "blocks": "three sources, three copies of each",
    "friedman": "Friedman's first (regression)",
}


def cells(options: Options) -> list[Cell]:
    """One cell per signal, number of columns, method and sample; then those with fewer rows."""
    signals = [signal for signal in SIGNALS if options.data is None or signal in options.data]
    methods = [method for method in accuracy.methods(options) if METHODS[method].selects]
    found = [
        Cell("recovery", signal, method, seed, (("p", p),))
        for signal in signals
        for p in (_QUICK if options.quick else SIZES)
        for method in methods
        if p == _AT or (method not in accuracy.SLOW and p <= _LARGEST.get(method, p))
        for seed in options.seeds(_SEEDS_AT if p == _AT or method == "riata" else _SEEDS)
    ]
    if options.quick:
        return found
    return found + [
        Cell("recovery", signal, method, seed, (("n", n), ("p", p)))
        for n in _FEWER_ROWS
        for signal in signals
        if signal in _PAIRS
        for p in _SIZES_FEWER
        for method in methods
        if method in _QUICK_METHODS
        for seed in options.seeds(_SEEDS_AT)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Rank on all rows; methods that validate hold out rows of their own."""
    drawn = sample(cell.data, cell["p"], cell.seed, cell.config.get("n", N_ROWS))
    X = scaling.learn(drawn.X, np.ones(len(drawn.X))).apply(drawn.X, np.float32)
    start = time.perf_counter()
    order = baselines.rank(cell.method, X, drawn.y, len(drawn.truth), cell.seed)
    seconds = round(time.perf_counter() - start, 3)
    return {"recovered": recovered(order, drawn.truth), "seconds": seconds, "n_true": len(drawn.truth)}


def page(store: Store) -> Section | None:
    """Curves over the number of columns, a table at one of them, and one with fewer rows."""
    every = store.all("recovery")
    found = [result for result in every if "n" not in result["config"]]
    if not found:
        return None
    limits = ", ".join(f"{method} up to {p:,}" for method, p in _LARGEST.items())
    text = (
        f"Share of the columns that matter among as many best-ranked ones, with {N_ROWS:,} rows and p columns; of copies of "
        "one source, one is enough. In the graph, causes of the causes and their consequences go along with the label. "
        "Mean over samples, with standard errors. For their time, some methods are not run at "
        f"every p: {limits}; {', '.join(accuracy.SLOW)} at {_AT} only."
    )
    tables = [_table(columns(found, p=_AT)), _sizes(found)]
    fewer = [result for result in every if "n" in result["config"]]
    return Section("Recovery of known truth", text, [_picture(found), *tables, *([_fewer(fewer)] if fewer else [])])


def _sizes(found: Sequence[Result]) -> Table:
    """The numbers behind the curves of riata, and the best other method beside each."""
    sizes = names(found, "p")
    rows = []
    for signal in [signal for signal in SIGNALS if columns(found, data=signal)]:
        here = columns(found, data=signal)
        rows.append([f"{signal}, riata", *(_mean(columns(here, method="riata", p=p)) for p in sizes)])
        rows.append([f"{signal}, best other", *(_best_other(columns(here, p=p)) for p in sizes)])
    return Table(["", *(f"{p:,}" for p in sizes)], rows, "By number of columns")


def _fewer(found: Sequence[Result]) -> Table:
    heads = [(n, p) for n in names(found, "n") for p in names(found, "p")]
    rows = []
    for signal in [signal for signal in SIGNALS if columns(found, data=signal)]:
        for method in names(found, "method"):
            here = columns(found, data=signal, method=method)
            rows.append([signal, method, *(_mean(columns(here, n=n, p=p)) for n, p in heads)])
    return Table(["signal", "method", *(f"{n} rows, {p:,} columns" for n, p in heads)], rows, "Fewer rows")


def _best_other(found: Sequence[Result]) -> str:
    others = [name for name in names(found, "method") if not name.startswith("riata")]
    return max((_mean(columns(found, method=name)) for name in others), default="–")


def _mean(found: Sequence[Result]) -> str:
    return f"{np.mean([result['scores']['recovered'] for result in found]):.2f}" if found else "–"


def _picture(found: Sequence[Result]) -> Picture:
    figure = Figure(figsize=(13, 6.6), layout="constrained")
    panels = figure.subplots(2, 4, sharex=True, sharey=True)
    panels.flat[-1].set_axis_off()
    for axes, signal in zip(panels.flat, SIGNALS, strict=False):
        for method in names(found, "method"):
            _line(axes, columns(found, data=signal, method=method), method)
        axes.set_title(f"{signal}: {_NAMES[signal]}", fontsize="medium")
        axes.set_xscale("log", base=2)
    sizes = names(found, "p")
    panels[0, 0].set_xticks(sizes[::2])
    panels[0, 0].xaxis.set_major_formatter(ScalarFormatter())
    panels[0, 0].xaxis.set_minor_locator(NullLocator())
    panels[0, 0].set_ylim(-0.04, 1.04)
    figure.supxlabel("columns")
    figure.supylabel("share of the true ones that is found")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small")
    return Picture("recovery", figure, "Recovery against the number of columns")


def _line(axes: Axes, found: Sequence[Result], method: str) -> None:
    sizes = sorted({result["config"]["p"] for result in found})
    values = [[result["scores"]["recovered"] for result in columns(found, p=p)] for p in sizes]
    axes.errorbar(sizes, [np.mean(v) for v in values], [error(v) for v in values], marker=".", **style(method))


def _table(found: Sequence[Result]) -> Table:
    signals = [signal for signal in SIGNALS if columns(found, data=signal)]
    rows = []
    for method in names(found, "method"):
        line = [[r["scores"]["recovered"] for r in columns(found, data=s, method=method)] for s in signals]
        rows.append([method, *(f"{spread(v)} ({sum(x == 1 for x in v)}/{len(v)})" if v else "–" for v in line)])
    return Table(["method", *signals], rows, f"At p = {_AT}; in brackets the samples of which all was found")
