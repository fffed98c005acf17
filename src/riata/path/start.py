"""Where a path starts from."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from riata.network.sparse import Table
from riata.network.stacked import Architecture, Weights
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping

__all__ = ["draw", "from_associated"]

_SMALL = 0.01  # size of the first weights of inputs without an association, relative to those drawn
_AMPLE = 10  # samples per input from which on a network of all features finds those that only interact


def draw(network: Architecture, seed: int, like: Table, constant: NDArray[np.bool_]) -> Weights:
    """Draw weights for the columns of a table; a constant column carries nothing and starts outside the model."""
    start = network.init(like.shape[1], [seed], like.dtype, like.device)
    start.rows[:, torch.from_numpy(constant).to(like.device)] = 0
    return start


def from_associated(
    solver: Solver, few: Solver, start: Weights, associated: NDArray[np.int64], stopping: Stopping
) -> tuple[Weights, int]:
    """Train on the associated inputs alone; all others start with weights of a hundredth of their usual size.

    Among many columns a network of all of them does not find features that only interact, and fits its training samples with
    others instead.

    Parameters
    ----------
    solver, few : Solver
        Of the problem, and of the same problem on the associated inputs.
    start : Weights
        As they were drawn.
    associated : int array
        Positions of the inputs.
    stopping : Stopping
        Of the dense model.

    Returns
    -------
    weights : Weights
        Where to start.
    n_iters : int
        Iterations after which these were best.
    """
    problem = solver.problem
    columns = torch.from_numpy(associated).to(problem.X.device)
    wider = (problem.X.shape[1] / len(associated)) ** 0.5  # weights are drawn within ±1/√(number of columns)
    drawn = few.feasible(Weights(start.rows[:, columns] * wider, start.upper))
    solution = few.minimise(drawn, torch.zeros_like(problem.M), stopping)
    rows = _SMALL * start.rows
    rows[:, columns] = solution.weights.rows
    return Weights(rows, solution.weights.upper), max(1, int(solution.best_iter[0]))


def ample(solver: Solver) -> bool:
    """Return whether there are samples enough to find features that only interact among all of them."""
    return solver.problem.n_fit_of_all >= _AMPLE * solver.problem.X.shape[1]
