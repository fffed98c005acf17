"""False discovery rate: whether knockoff filters keep it, and how many of the true columns they find."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import designs
from experiments.baselines import knockoffs
from experiments.baselines.knockoffs import METHODS, N_DRAWS, PEERS, installed
from experiments.cells import Cell, Options, Result, Store
from experiments.designs import TITLES, false_share, power
from experiments.page import Picture, Section, Table, columns, error, mean, number, spread

FDR = 0.1
_SEEDS, _QUICK_SEEDS = 100, 2
_FEWER = {"riata_draws": 20}  # samples, where each takes a minute
_COLOURS = {
    "riata": "tab:blue",
    "riata_draws": "lightskyblue",
    "lasso": "tab:orange",
    "lasso_riata": "tab:olive",
    "deeppink": "tab:red",
}


def cells(options: Options) -> list[Cell]:
    """One cell per design, method and sample; methods whose package is not there only if they are asked for."""
    methods = options.among(METHODS, slow=[name for name in METHODS if METHODS[name].slow])
    return [
        Cell("discoveries", data, method, seed)
        for data in designs.wanted(options.data, options.quick, (*designs.FULL, *designs.PAIRS))
        for method in methods
        if options.methods is not None or installed(METHODS[method].package)
        for seed in options.seeds(_FEWER.get(method, _SEEDS), _QUICK_SEEDS)
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Select, and compare with the truth."""
    X, y, truth = designs.draw(cell.data, cell.seed)
    start = time.perf_counter()
    selected = knockoffs.select(cell.method, X, y, FDR, cell.seed)
    seconds = round(time.perf_counter() - start, 3)
    return {
        "false_share": false_share(selected, truth),
        "power": power(selected, truth),
        "n_selected": int(selected.sum()),
        "seconds": seconds,
    }


def page(store: Store) -> Section | None:
    """Rates and powers, as a figure and as a table."""
    found = store.all("discoveries")
    if not found:
        return None
    text = (
        f"Columns are selected with a false discovery rate of at most {FDR:g} asked for. {designs.text(found)} `riata` is "
        f"`KnockoffSelector(LassoNetRegressor())`, `riata_draws` the same with {N_DRAWS} draws of knockoffs, and `lasso_riata` "
        f"that with scikit-learn's `LassoCV`; `lasso` and `deeppink` are those of the package {PEERS}. All are at their "
        "defaults and estimate the covariance of the columns from the rows. Where nothing is selected, the false share is 0. "
        f"The rate counts as kept if it is at most {FDR:g} + 2 standard errors.{_not_run(found)}"
    )
    return Section("False discovery rate", text, [_picture(found), _table(found)])


def _not_run(found: Sequence[Result]) -> str:
    """Say which methods could not be run."""
    absent = [name for name in _missing(found) if not installed(METHODS[name].package)]
    if not absent:
        return ""
    return f" Not run: {' and '.join(absent)}, for want of the package {PEERS} (`pip install 'riata[peers]'`)."


def _missing(found: Sequence[Result]) -> list[str]:
    return [name for name in METHODS if not columns(found, method=name)]


def _values(found: Sequence[Result], data: str, method: str, key: str) -> list[float]:
    return [result["scores"][key] for result in columns(found, data=data, method=method)]


def kept(shares: Sequence[float]) -> bool:
    """Say whether a mean of false discovery proportions is not above the rate asked for, but for chance."""
    return float(np.mean(shares)) <= FDR + 2 * error(shares)


def _table(found: Sequence[Result]) -> Table:
    rows = []
    for data in designs.found(found):
        for method in METHODS:
            shares = _values(found, data, method, "false_share")
            if shares:
                rows.append([TITLES[data], method, *_row(found, data, method, shares)])
    header = ["design", "method", "FDR", "kept", "power", "selected", "nothing selected", "seconds", "samples"]
    return Table(
        header, rows, f"False discovery rate ({FDR:g} asked for) and power, mean over samples ± standard error"
    )


def _row(found: Sequence[Result], data: str, method: str, shares: Sequence[float]) -> list[str]:
    sizes = _values(found, data, method, "n_selected")
    return [
        spread(shares),
        "yes" if kept(shares) else "**no**",
        spread(_values(found, data, method, "power")),
        f"{np.mean(sizes):.1f}",
        str(sum(size == 0 for size in sizes)),
        number(mean(_values(found, data, method, "seconds"))),
        str(len(shares)),
    ]


def _picture(found: Sequence[Result]) -> Picture:
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, key, title in zip(panels, ("false_share", "power"), ("false discovery rate", "power"), strict=True):
        _points(axes, found, key)
        axes.set_title(title, fontsize="medium")
    panels[0].axhline(FDR, color="black", linestyle=":", label=f"asked for: {FDR:g}")
    panels[0].set_ylim(-0.1 * FDR, max(2.5 * FDR, panels[0].get_ylim()[1]))
    panels[1].set_ylim(-0.04, 1.04)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize="small")
    return Picture("discoveries", figure, "False discovery rate and power; lines: two standard errors")


def _points(axes: Axes, found: Sequence[Result], key: str) -> None:
    """Draw the methods of a design side by side."""
    data, methods = designs.found(found), [name for name in METHODS if name not in _missing(found)]
    for i, method in enumerate(methods):
        there = [(at, _values(found, name, method, key)) for at, name in enumerate(data)]
        there = [(at + 0.13 * (i - (len(methods) - 1) / 2), values) for at, values in there if values]
        axes.errorbar(
            [at for at, _ in there],
            [np.mean(values) for _, values in there],
            [2 * error(values) for _, values in there],
            fmt="o",
            capsize=2,
            color=_COLOURS[method],
            label=method,
        )
    axes.set_xticks(range(len(data)), [TITLES[name].replace(", ", "\n") for name in data])
    axes.set_xlim(-0.5, len(data) - 0.5)
