"""What it costs to know the best 10, 20, …, 100 features: one run where a method ranks, one run per k where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments import accuracy, ranking
from experiments.baselines import METHODS
from experiments.cells import Cell, Options, Result, Store
from experiments.data import load
from experiments.page import Section, Table, columns, mean, names, number

COUNTS = tuple(range(10, 101, 10))
_QUICK = (10, 20)
_SEEDS = 1  # seconds hardly differ between splits


def cells(options: Options) -> list[Cell]:
    """One cell per data set, method and split, made of the rankings that it takes."""
    return [
        _cell(data, method, seed, _QUICK if options.quick else COUNTS)
        for data in accuracy.some(options)
        for method in accuracy.methods(options)
        if METHODS[method].selects
        for seed in options.seeds(_SEEDS)
    ]


def _cell(data: str, method: str, seed: int, counts: Sequence[int]) -> Cell:
    d = _n_features(data)
    wanted = [k for k in counts if k < d] or [d]
    needs = dict.fromkeys(ranking.cell(data, method, seed, k) for k in wanted)
    return Cell("cost", data, method, seed, (("largest", wanted[-1]),), tuple(needs))


def _n_features(data: str) -> int:
    """Return the number of features; if data cannot be had, enough for every count: the rankings will fail and say why."""
    try:
        return load(data).X.shape[1]
    except (OSError, ValueError):
        return COUNTS[-1] + 1


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Add up the seconds of the rankings."""
    seconds = [result["scores"]["seconds"] for result in needed]
    return {"seconds": round(sum(seconds), 3), "runs": len(seconds), "threads": needed[0]["threads"]}


def page(store: Store) -> Section | None:
    """One table of seconds."""
    found = store.all("cost")
    if not found:
        return None
    data = names(found, "data")
    rows = []
    for method in names(found, "method"):
        one = columns(found, method=method)
        runs = max(result["scores"]["runs"] for result in one)
        seconds = [mean([result["scores"]["seconds"] for result in columns(one, data=name)]) for name in data]
        rows.append([method, str(runs), *(number(value) for value in seconds)])
    text = (
        "Seconds to know the best k features for every k of 10, 20, …, 100 (or as many as there are), on the machine as it "
        "was, with whatever else ran on it."
    )
    return Section("The cost of every number of features", text, [Table(["method", "runs", *data], rows, "Seconds")])
