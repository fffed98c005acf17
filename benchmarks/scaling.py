"""How the time of a path grows with samples n, features d, width K and replicas R.

The λ grid is fixed and so low that no feature leaves, and the number of iterations is fixed: only the arithmetic varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks import engine, table
from benchmarks.data import synthetic
from benchmarks.floor import Work
from benchmarks.paths import Cell
from riata.path.grid import Grid
from riata.solver.stopping import Stopping

_AXES = ("n", "d", "K", "R")
_GRID = Grid(seq=(1e-7, 2e-7, 3e-7, 4e-7))
_STOPPING = Stopping(20, patience=None, tol=0.0)  # the tolerance has no effect before so many iterations


@dataclass(frozen=True)
class Shape:
    """The size of a problem."""

    n: int = 1_000
    d: int = 500
    K: int = 100
    R: int = 1


SMALL = Shape(n=500, d=200, K=64)


def measure(shape: Shape, doublings: int, device: str) -> Iterator[Cell]:
    """Double each axis a few times, the others staying as they are."""
    _seconds(SMALL, device)  # the first path in a process loads and compiles
    for axis in _AXES:
        for power in range(doublings + 1):
            grown = replace(shape, **{axis: getattr(shape, axis) * 2**power})
            seconds, flops = _seconds(grown, device)
            yield {"axis": axis, **asdict(grown), "seconds": seconds, "flops": flops}


def _seconds(shape: Shape, device: str) -> tuple[float, float]:
    """Time of a path, and the operations in its products with X."""
    X, y = synthetic(shape.n, shape.d)
    posed = engine.problem(X, y, shape.K, np.ones((shape.R, shape.n)), device=device)
    # The fastest of three counts: the others were disturbed.
    runs = [engine.time_path(posed, _GRID, _STOPPING, _STOPPING) for _ in range(3)]
    n_iters = sum(point.n_iters for point in runs[0][1][0])
    return min(seconds for seconds, _ in runs), Work.of(posed, shape.d, n_iters).flops


def page(cells: Sequence[Cell]) -> str:
    """Render the curves as a table."""
    header = ["axis", *_AXES, "path (s)", "of half the size", "GFLOP/s in products with X"]
    rows, before = [], None
    for cell in cells:
        doubled = before is not None and before["axis"] == cell["axis"]
        growth = table.number(cell["seconds"] / before["seconds"]) if doubled else ""
        sizes = [f"{cell[axis]:,}" for axis in _AXES]
        rate = table.number(cell["flops"] / cell["seconds"] / 1e9)
        rows.append([cell["axis"], *sizes, table.number(cell["seconds"]), growth, rate])
        before = cell
    points = len(_GRID.seq or ()) + 1
    note = f"{points} points of {_STOPPING.n_iters} iterations each, all features active throughout."
    return f"{table.markdown(header, rows)}\n\n{note}"
