"""riata below its estimators: problems with many replicas, and the time of solving their paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

import riata
from benchmarks.clock import now
from riata.losses import CrossEntropy
from riata.network.stacked import Network, Weights
from riata.path.grid import Grid
from riata.path.points import Path
from riata.path.solve import solve_path
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stopping import LONGEST, Stopping, affordable

ESTIMATOR, TRAINING = riata.LassoNetClassifier(), riata.Training()


def problem(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    width: int,
    weights: NDArray[np.floating],
    val_weights: NDArray[np.floating] | None = None,
    *,
    device: str = "cpu",
) -> Problem:
    """Make a classification problem with one hidden layer, one replica per row of ``weights``, (R, n_fit)."""
    target = np.eye(y.max() + 1, dtype=np.float32)[y]

    def tensor(array: NDArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(device)

    def shares(array: NDArray) -> torch.Tensor:
        return tensor(array / array.sum(axis=1, keepdims=True))

    return Problem(
        network=Network(target.shape[1], (width,)),
        loss=CrossEntropy(),
        X=tensor(X),
        target=tensor(target),
        weights=shares(weights),
        val_weights=None if val_weights is None else shares(val_weights),
        M=tensor(np.full(len(weights), ESTIMATOR.M)),
        costs=tensor(np.ones(X.shape[1])),
        groups=Groups(None, X.shape[1]),
        gamma=TRAINING.gamma,
    )


def start(posed: Problem) -> Weights:
    """Draw weights to start from, each replica its own."""
    return posed.network.init(posed.X.shape[1], range(posed.n_replicas), posed.X.dtype, posed.X.device)


def stopping(posed: Problem) -> tuple[Stopping, Stopping]:
    """Return the rules of the estimators: when to stop at the dense model, and at each point after it."""
    dense, sparse = TRAINING.stopping(ESTIMATOR._stages)
    return replace(dense, n_iters=dense.n_iters or LONGEST), replace(sparse, n_iters=affordable(posed.X.numel()))


def time_path(posed: Problem, grid: Grid, dense: Stopping, sparse: Stopping) -> tuple[float, list[Path]]:
    """Solve the paths of all replicas together; return the seconds it took and the paths."""
    device = str(posed.X.device)
    draw = torch.Generator(posed.X.device).manual_seed(0)
    begin = now(device)
    solver = Solver(posed, learning_rate=TRAINING.learning_rate, draw=draw)
    paths = solve_path(solver, start(posed), grid, dense, sparse)
    return now(device) - begin, paths
