"""Text columns of pure noise beside two numbers that matter: does any option of the command line fall for them?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.cells import Cell, Options, Result, Store
from experiments.page import Section, Table, columns, names
from riata import cli

# Text columns of so many levels each, beside twenty numbers of which a and b matter; y = 2a + b + noise, 500 rows.
DESIGNS = {"site": (30,), "towns": (60, 80, 100), "classes": (30, 60, 100)}
WAYS: dict[str, tuple[str, ...]] = {
    "select": (),
    "k": ("--k", "2"),
    "cv": ("--cv", "5"),
    "stability": ("--stability",),
    "fdr": ("--fdr", "0.1"),
}
_TRUE = {"a": 2.0, "b": 1.0}
_MANY = dict.fromkeys("abcdefghijkl", 1.0)  # for knockoffs, which never select fewer than ten at a rate of 0.1
_SEEDS = 10
_ROWS = 500


def cells(options: Options) -> list[Cell]:
    """One cell for each design, option and seed."""
    data = [name for name in DESIGNS if options.data is None or name in options.data]
    ways = ("select",) if options.quick else tuple(WAYS)
    return [
        Cell("levels", name, "riata", seed, (("way", way),))
        for name in data
        for way in ways
        for seed in options.seeds(_SEEDS)
    ]


def slopes(way: str) -> dict[str, float]:
    """Return the slopes of the numbers that matter."""
    return _MANY if way == "fdr" else _TRUE


def table(design: str, way: str, seed: int) -> pd.DataFrame:
    """Draw a table."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(draw.standard_normal((_ROWS, 20)), columns=list("abcdefghijklmnopqrst"))
    for n_levels in DESIGNS[design]:
        frame[f"text{n_levels}"] = [f"level {i}" for i in draw.integers(0, n_levels, _ROWS)]
    frame["target"] = sum(slope * frame[name] for name, slope in slopes(way).items()) + draw.standard_normal(_ROWS)
    if design == "classes":
        frame["target"] = np.where(frame["target"] > 0, "yes", "no")
    return frame


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Give a file to the command line and read what it selects."""
    way = cell["way"]
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "data.csv", Path(folder) / "out"
        table(cell.data, way, cell.seed).to_csv(file, index=False)
        options = ["select", str(file), "--target", "target", "--seed", str(cell.seed), "--out", str(out), "--quiet"]
        cli.app([*options, *WAYS[way]], standalone_mode=False)
        summary = json.loads((out / "summary.json").read_text("utf-8"))
    found = {"stability": summary["stability"], "fdr": summary["knockoffs"]}.get(way) or summary
    chosen = set(found["selected"])
    return {
        "selected": sorted(chosen),
        "words": sum(name.startswith("text") for name in chosen),
        "missed": len(slopes(way).keys() - chosen),
        "false": len(chosen - slopes(way).keys()),
    }


def page(store: Store) -> Section | None:
    """How many seeds are right, one row for each design."""
    found = store.all("levels")
    if not found:
        return None
    rows = []
    for name in names(found, "data"):
        cells = []
        for way in WAYS:
            scores = [result["scores"] for result in columns(found, data=name, way=way)]
            right = sum(not each["missed"] and not each["words"] for each in scores)
            exact = sum(not each["missed"] and not each["false"] for each in scores)
            cells.append(f"{right} / {exact} of {len(scores)}" if scores else "")
        rows.append([f"{name}: text of {', '.join(map(str, DESIGNS[name]))} levels", *cells])
    text = (
        "Twenty numbers, of which a and b matter, and text columns of noise; 500 rows, the target is 2a + b + noise of "
        "variance 1, or whether that is positive. For knockoffs, at a rate of 0.1, twelve numbers matter, with slopes of 1. "
        "Seeds in which all of these are found and no text column is / in which nothing else is found."
    )
    return Section("Text columns of noise", text, [Table(["table", *WAYS], rows, "Seeds that are right")])
