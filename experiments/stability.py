"""Stability selection: how many selections are false, against the bound, and whether another seed selects the same."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments import designs
from experiments.baselines.task import by
from experiments.cells import Cell, Options, Result, Store
from experiments.designs import TITLES, jaccard
from experiments.page import Picture, Section, Table, columns, error, number, spread
from riata import LassoNetRegressor, StabilitySelector, Training

_SEEDS, _QUICK_SEEDS = 100, 2
_BLOCK, _PAIRED = 100, 20  # the first 20 samples of a hundred are selected from with two seeds
_HALVES, _QUICK_HALVES = 100, 6
_HALF = {
    "hidden_dims": (20,),
    "training": Training(path_multiplier=1.2),
}  # on halves only the order counts
_WAYS = {"stable": "stability selection", "single": "one path", "top": "one path, cut to as many"}
_COLOURS = {"stable": "tab:blue", "single": "tab:grey", "top": "silver"}


def cells(options: Options) -> list[Cell]:
    """One cell per design, sample and seed of the selector."""
    halves = _QUICK_HALVES if options.quick else _HALVES
    return [
        Cell("stability", data, method, seed, (("draw", draw), ("halves", halves)))
        for data in designs.wanted(options.data, options.quick)
        for method in options.among(["riata"])
        for seed in options.seeds(_SEEDS, _QUICK_SEEDS)
        for draw in (0, 1)
        if draw == 0 or seed % _BLOCK < _PAIRED
    ]


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Select from many halves and, with the same seed, from one path on all rows."""
    X, y, truth = designs.draw(cell.data, cell.seed)
    seed = 2 * cell.seed + cell["draw"]
    start = time.perf_counter()
    stable = _stable(X, y, cell["halves"], seed)
    seconds = round(time.perf_counter() - start, 3)
    single = LassoNetRegressor(random_state=seed).fit(X, y)
    found = {
        "stable": np.flatnonzero(stable.selected_),
        "single": np.flatnonzero(single.selected_),
        "top": np.sort(by(single.feature_importances_)[: stable.n_selected_]),
    }
    return {
        **{way: {"features": where.tolist(), **_counts(where, truth)} for way, where in found.items()},
        "bound": stable.false_bound_,
        "taken": stable.n_features_taken_,
        "threshold": stable.threshold_,
        "seconds": seconds,
    }


def _stable(X: NDArray, y: NDArray, halves: int, seed: int) -> StabilitySelector:
    estimator = LassoNetRegressor(**_HALF)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no feature was taken", UserWarning)  # which is a result here
        return StabilitySelector(estimator, n_resamples=halves, random_state=seed).fit(X, y)


def _counts(where: NDArray[np.integer], truth: NDArray[np.bool_]) -> dict[str, int]:
    return {"true": int(truth[where].sum()), "false": int((~truth[where]).sum())}


def page(store: Store) -> Section | None:
    """What is selected, and how alike two selections are."""
    found = store.all("stability")
    if not found:
        return None
    halves = max(result["config"]["halves"] for result in found)
    found = columns(found, halves=halves)
    settings = ", ".join(f"{name}={value}" for name, value in _HALF.items())
    text = (
        f"`StabilitySelector(LassoNetRegressor({settings}))` with {halves} halves of the rows and, as by default, "
        f"at most one false selection allowed for on average. {designs.text(found)} Beside it is one path of "
        "`LassoNetRegressor()` on all rows: at the point it chooses by itself, and cut to its most important features, as "
        "many as are stable. Some samples are selected from twice, with two seeds: the Jaccard index is the share of the "
        "features in either selection that are in both. Two empty selections count as the same."
    )
    return Section("Stability selection", text, [_picture(found), _counted(found), _alike(found)])


def _each(found: Sequence[Result], data: str, way: str, what: str) -> list[int]:
    """Return a number of selections for each sample, with the first seed."""
    return [result["scores"][way][what] for result in columns(found, data=data, draw=0)]


def within(false: Sequence[float], bound: float) -> bool:
    """Say whether a mean number of false selections is not above a bound, but for chance."""
    return float(np.mean(false)) <= bound + 2 * error(false)


def _counted(found: Sequence[Result]) -> Table:
    rows = []
    for data in designs.found(found):
        false, bound = _each(found, data, "stable", "false"), _bound(found, data)
        seconds = [result["scores"]["seconds"] for result in columns(found, data=data)]
        others = [
            f"{np.mean(_each(found, data, way, what)):.1f}" for way in ("single", "top") for what in ("false", "true")
        ]
        kept = "yes" if within(false, bound) else "**no**"
        row = [TITLES[data], spread(false, 2), f"{bound:.2f}", kept, spread(_each(found, data, "stable", "true"), 1)]
        rows.append([*row, *others, number(float(np.mean(seconds))), str(len(false))])
    header = [
        "design",
        "false",
        "bound",
        "kept",
        "true",
        "one path: false",
        "one path: true",
        "cut: false",
        "cut: true",
    ]
    caption = "False and true selections, mean over samples ± standard error; kept: false ≤ bound + 2 standard errors"
    return Table([*header, "seconds", "samples"], rows, caption)


def _bound(found: Sequence[Result], data: str) -> float:
    """Return the bound, which follows from the numbers of rows, columns and halves; they are the same in all samples."""
    return max(result["scores"]["bound"] for result in columns(found, data=data, draw=0))


def pairs(found: Sequence[Result], data: str, way: str) -> list[tuple[set[int], set[int]]]:
    """Return what two seeds select, for each sample that was selected from twice."""
    one, other = (
        {r["config"]["seed"]: set(r["scores"][way]["features"]) for r in columns(found, data=data, draw=draw)}
        for draw in (0, 1)
    )
    return [(one[seed], other[seed]) for seed in sorted(one.keys() & other.keys())]


def _jaccards(found: Sequence[Result], data: str, way: str) -> list[float]:
    return [jaccard(*pair) for pair in pairs(found, data, way)]


def _alike(found: Sequence[Result]) -> Table:
    rows = []
    for data in designs.found(found):
        both = pairs(found, data, "stable")
        empty = sum(not (one or other) for one, other in both)
        rows.append([TITLES[data], *(spread(_jaccards(found, data, way)) for way in _WAYS), str(empty), str(len(both))])
    header = ["design", *_WAYS.values(), "both empty (stability selection)", "samples"]
    return Table(header, rows, "Jaccard index of two seeds, mean over samples ± standard error")


def _picture(found: Sequence[Result]) -> Picture:
    data = designs.found(found)
    figure = Figure(figsize=(12, 3.9), layout="constrained")
    panels = figure.subplots(1, 3)
    _bars(panels[0], [[_each(found, name, way, "false") for name in data] for way in _WAYS])
    _bars(panels[1], [[_each(found, name, way, "true") for name in data] for way in _WAYS])
    _bars(panels[2], [[_jaccards(found, name, way) for name in data] for way in _WAYS])
    bounds = [_bound(found, name) for name in data]
    panels[0].hlines(bounds, np.arange(len(data)) - 0.42, np.arange(len(data)) + 0.42, "black", ":", label="bound")
    panels[2].set_ylim(0, 1.04)
    for axes, title in zip(panels, ("false selections", "true selections", "Jaccard index of two seeds"), strict=True):
        axes.set_title(title, fontsize="medium")
        axes.set_xticks(range(len(data)), [TITLES[name].replace(", ", "\n") for name in data], fontsize="small")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return Picture("stability", figure, "Stability selection beside one path; lines: two standard errors")


def _bars(axes: Axes, values: Sequence[Sequence[Sequence[float]]]) -> None:
    """Draw the ways to select side by side, for each design; nothing where there are no values."""
    for i, (way, designs_) in enumerate(zip(_WAYS, values, strict=True)):
        places = np.arange(len(designs_)) + 0.28 * (i - 1)
        heights = [np.mean(v) if v else 0.0 for v in designs_]
        lines = [2 * error(v) for v in designs_]
        axes.bar(places, heights, 0.26, yerr=lines, capsize=2, color=_COLOURS[way], label=_WAYS[way])
