"""The order in which a method ranks the features of a data set: found once, used for every number of features."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from experiments import baselines
from experiments.cells import Cell, Result
from experiments.data import load
from experiments.protocol import N_FEATURES, Split, split


def cell(data: str, method: str, seed: int, k: int) -> Cell:
    """Return the cell that ranks k features or more; methods that need not know k have one for all."""
    return Cell("ranking", data, method, seed, (("k", k if baselines.METHODS[method].per_k else N_FEATURES),))


def parts(cell: Cell) -> Split:
    """Return the rows of a cell: every method sees the same ones."""
    data = load(cell.data)
    return split(data.X, data.y, cell.seed)


def run(cell: Cell, needed: Sequence[Result]) -> dict[str, Any]:
    """Rank, on training and validation rows."""
    rows = parts(cell)
    k = min(cell["k"], rows.fit.X.shape[1])
    start = time.perf_counter()
    order = baselines.rank(cell.method, *rows.fit, k, cell.seed, X_val=rows.val.X, y_val=rows.val.y)
    return {"order": order.tolist(), "seconds": round(time.perf_counter() - start, 3)}
