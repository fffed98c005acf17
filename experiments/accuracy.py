"""How well both learners do on the k best features of a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import ranking
from experiments.baselines import METHODS
from experiments.cells import Cell, Options, Result
from experiments.data import PAPER, STAND_IN, here
from experiments.protocol import score

SEEDS = {"mice_protein": 10, "coil20": 10}  # small data sets need more splits for the same standard error
_SEEDS = 5
_SOME = ("mice_protein", "isolet", "coil20")
SLOW = ("lassonet", "stg", "riata_widths")  # left out of quick runs


def data(options: Options) -> tuple[str, ...]:
    """Return the data sets to run on: the paper's, or two small ones; always some that need no files."""
    if options.data is not None:
        return options.data
    if options.quick:
        return ("mice_protein" if here("mice_protein") else "breast_cancer", "digits")
    return tuple(name for name in (*PAPER, STAND_IN) if here(name)) or ("digits", "breast_cancer")


def some(options: Options) -> tuple[str, ...]:
    """Return a small, a large and a middling data set, for experiments that would take hours on all."""
    return data(options) if options.data or options.quick else tuple(filter(here, _SOME)) or data(options)


def seeds(options: Options, name: str) -> range:
    """Return the splits to run on."""
    return options.seeds(SEEDS.get(name, _SEEDS))


def methods(options: Options) -> tuple[str, ...]:
    """Return the methods to run."""
    return options.among(METHODS, SLOW)


def cell(data: str, method: str, seed: int, k: int) -> Cell:
    """Return the cell for k features; all features are as many whatever k."""
    settings = () if method == "all" else (("k", k),)
    return Cell("accuracy", data, method, seed, settings, (ranking.cell(data, method, seed, k),))


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Train and test both learners."""
    order = needed[0]["scores"]["order"]
    features = np.array(order if cell.method == "all" else order[: cell["k"]])
    return {**score(ranking.parts(cell).only(features), cell.seed), "n_features": len(features)}
