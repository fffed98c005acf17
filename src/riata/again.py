"""Training a point again on its features only, without a penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import torch

from riata.descent import Descent
from riata.follow import points
from riata.network import Weights
from riata.path import Point
from riata.problem import Problem
from riata.solver import Solution, Solver
from riata.stopping import Stopping

__all__ = ["WAYS", "Again"]

WAYS = ("warm", "scratch", "noisy")
_NOISE, _DROPOUT = 0.5, 0.1  # on the columns, in their standard deviations, and of hidden units
_ROWS, _UPDATES, _PASSES = 128, 500, 15  # rows of a batch of noisy training; updates and passes, at least
_SIZE = 3.0  # of noisy steps, relative to the learning rate


@dataclass(frozen=True)
class Again:
    """Trains points of a path again.

    A way to do so is ``warm``, from the point's own weights; ``scratch``, from ``fresh`` ones; or ``noisy``, from the point's
    own with noise on the columns. A network gains from columns that say the same as others, since their errors average out;
    noise makes it rely on all that is left when these are gone.
    """

    solver: Solver  # of the path
    stopping: Stopping
    fresh: Callable[[], Weights]
    warm_passes: int | None = None  # instead of those that ``stopping`` allows

    def __call__(self, point: Point, way: str | bool) -> Point:
        """Return a point with the same features and λ, trained again in this way if there is one."""
        if not way or not point.n_selected:
            return point
        columns = torch.from_numpy(point.weights.columns).to(self.solver.problem.X.device)
        problem = self.solver.problem.only(columns)
        if way == "noisy":
            return _named(point, problem, _noisy(_noised(problem), self.solver, _own(problem, point)))
        if way == "scratch":
            fresh, stopping = self.fresh(), self.stopping
            start = Weights(fresh.rows[:, columns], fresh.upper)
        else:
            start = _own(problem, point)
            stopping = replace(self.stopping, n_iters=self.warm_passes or self.stopping.n_iters)
        given = self.solver
        solver = Solver(problem, learning_rate=given.learning_rate, batch_size=given.batch_size, draw=given.draw)
        return _named(point, problem, solver.minimise(solver.feasible(start), start.upper.new_zeros(1), stopping))


def _own(problem: Problem, point: Point) -> Weights:
    """Return the weights of a point as those of the one replica of a problem on its features."""
    rows = np.concatenate([point.weights.skip, point.weights.first], axis=1)
    return Weights(*(torch.from_numpy(part)[None].to(problem.X) for part in (rows, point.weights.upper)))


def _noised(problem: Problem) -> Problem:
    """Return the problem with noise on its columns, in proportion to their standard deviations, and with dropout."""
    X, share = problem.X[: problem.n_fit], problem.weights[0]
    variance = share @ (X - share @ X).square()
    return replace(problem, noise=_NOISE * variance.sqrt(), dropout=max(problem.dropout, _DROPOUT))


@torch.inference_mode()
def _noisy(problem: Problem, of_path: Solver, start: Weights) -> Solution:
    """Descend for a set number of updates, and average the later iterates, every one of which is for another problem."""
    own = torch.Generator(problem.X.device).manual_seed(0 if of_path.draw is None else of_path.draw.initial_seed())
    n_passes = max(_PASSES, ceil(_UPDATES / ceil(problem.n_fit / _ROWS)))
    descent = Descent(problem, of_path.learning_rate, _ROWS, own)
    state = descent.state
    moments = Weights(torch.zeros_like(state.moments.rows), torch.zeros_like(state.moments.upper))
    scale = torch.full_like(state.scale, _SIZE)
    descent.enter(start, moments, scale, state.active, torch.zeros_like(state.price))
    descent.run(n_passes // 2)
    total = Weights(torch.zeros_like(start.rows), torch.zeros_like(start.upper))
    for _ in range(late := n_passes - n_passes // 2):
        descent.run(1)
        total.rows.add_(state.now.weights.rows, alpha=1 / late)
        total.upper.add_(state.now.weights.upper, alpha=1 / late)
    weights = Solver(problem).feasible(total)
    descent.place(weights)
    look, _ = descent.look()
    return Solution(weights, look, *(np.full(1, n_passes) for _ in range(2)))


def _named(point: Point, problem: Problem, solution: Solution) -> Point:
    """Return what was found as a point with the λ and the features of the one it began with."""
    found = points(problem, solution, np.array([point.lambda_]), np.zeros(1, dtype=np.int64))[0]
    weights = replace(found.weights, columns=point.weights.columns[found.weights.columns])
    return replace(found, weights=weights, selected=point.selected, n_selected=point.n_selected)
