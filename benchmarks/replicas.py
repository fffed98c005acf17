"""Time of many networks at once: one path, a five-fold cross-validated path, and the paths of 50 half-samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from benchmarks import engine, table
from benchmarks.data import Data, load
from benchmarks.paths import Cell
from riata.path.grid import Grid
from riata.preprocess import scaling
from riata.solver.problem import Problem

_FOLDS, _HALVES = 5, 50


def measure(name: str, multiplier: float, device: str) -> Iterator[Cell]:
    """Solve the paths of each scheme, its replicas together on one λ grid."""
    data = load(name)
    folds = _masks(data, StratifiedKFold(_FOLDS, shuffle=True, random_state=0))
    halves = _masks(data, StratifiedShuffleSplit(_HALVES, test_size=0.5, random_state=0))
    schemes = {
        "one path": _single(data, folds[0], device),
        f"{_FOLDS} folds": _problem(data, folds, device),
        f"{_HALVES} half-samples": _problem(data, halves, device),
    }
    for scheme, posed in schemes.items():
        seconds, paths = engine.time_path(posed, Grid(multiplier), *engine.stopping(posed))
        points = max(len(path) for path in paths)
        yield {"data": name, "scheme": scheme, "R": posed.n_replicas, "seconds": seconds, "points": points}


def page(cells: Sequence[Cell]) -> str:
    """Render as a table; the first cell is the single path."""
    header = ["data", "scheme", "R", "time (s)", "points", "of one path", "times faster than R single paths in turn"]
    rows = []
    for cell in cells:
        ratio = cell["seconds"] / cells[0]["seconds"]
        numbers = [table.number(cell["seconds"]), str(cell["points"]), table.number(ratio)]
        rows.append([cell["data"], cell["scheme"], str(cell["R"]), *numbers, table.number(cell["R"] / ratio)])
    return f"{table.markdown(header, rows)}\n\nThe single path is that of the first fold."


def _masks(data: Data, scheme: Any) -> NDArray[np.bool_]:
    """Mark the samples that each replica trains on: (R, n)."""
    masks = np.zeros((scheme.get_n_splits(), len(data.y)), dtype=bool)
    for mask, (fit, _) in zip(masks, scheme.split(data.X, data.y), strict=True):
        mask[fit] = True
    return masks


def _problem(data: Data, masks: NDArray[np.bool_], device: str) -> Problem:
    return engine.problem(_scaled(data), data.y, data.width, masks, ~masks, device=device)


def _single(data: Data, mask: NDArray[np.bool_], device: str) -> Problem:
    """Put the training samples of one replica first, as a plain fit does: the others then take no part in training."""
    order = np.argsort(~mask, kind="stable")
    weights, val_weights = mask[order][None, : mask.sum()], ~mask[order][None]
    return engine.problem(_scaled(data)[order], data.y[order], data.width, weights, val_weights, device=device)


def _scaled(data: Data) -> NDArray[np.float32]:
    return scaling.learn(data.X, np.ones(len(data.X))).apply(data.X, np.float32)
