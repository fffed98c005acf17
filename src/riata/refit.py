"""Refit: train a point on its features only, without a penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from riata.follow import points as brought
from riata.network import Weights
from riata.path import Point
from riata.solver import Solver
from riata.stopping import Stopping

__all__ = ["Refit"]

_PASSES = 50  # over the training samples, where no validation samples say when to stop


@dataclass(frozen=True, eq=False)
class Refit:
    """Refits points of a path: ``warm``, from the point's own weights, or from ``scratch``, from fresh ones."""

    solver: Solver  # of the path
    stopping: Stopping
    fresh: Callable[[], Weights]
    everyone: Tensor | None = None  # (1, n) weights of all samples, if the last model is to learn from all of them

    def __call__(self, point: Point, how: str | bool) -> Point:
        """Return a point with the same features and λ, refitted; the dense point and the empty one are as they are."""
        if not how or not point.n_selected or not point.lambda_:
            return point
        stopping = self.stopping
        if self.solver.problem.val_weights is None and how == "warm":
            stopping = replace(stopping, n_iters=_PASSES)
        return self._trained(point, how, self.solver, stopping)

    def finish(self, point: Point, how: str | bool) -> Point:
        """Refit, then once more on training and validation samples, for as many passes as were best.

        Losses stay those of the first refit: no sample was held out from the second.
        """
        refitted, given = self(point, how), self.solver
        if self.everyone is None or refitted is point or not refitted.best_iter:
            return refitted
        problem = replace(given.problem, weights=self.everyone, val_weights=None)
        solver = Solver(problem, learning_rate=given.learning_rate, batch_size=given.batch_size, draw=given.draw)
        last = self._trained(point, how, solver, Stopping(refitted.best_iter, None, 0.0))
        return replace(refitted, weights=last.weights)

    def _trained(self, point: Point, how: str | bool, given: Solver, stopping: Stopping) -> Point:
        columns = torch.from_numpy(point.weights.columns).to(given.problem.X.device)
        problem = given.problem.only(columns)
        draw = torch.Generator(problem.X.device).manual_seed(0 if given.draw is None else given.draw.initial_seed())
        solver = Solver(problem, learning_rate=given.learning_rate, batch_size=given.batch_size, draw=draw)
        if how == "scratch":
            fresh = self.fresh()
            start = Weights(fresh.rows[:, columns], fresh.upper)
        else:
            own = np.concatenate([point.weights.skip, point.weights.first], axis=1), point.weights.upper
            start = Weights(*(torch.from_numpy(part[None]).to(problem.X) for part in own))
        solution = solver.minimise(solver.feasible(start), start.upper.new_zeros(1), stopping)
        (new,) = brought(problem, solution, np.array([point.lambda_]), np.arange(1))
        weights = replace(new.weights, columns=point.weights.columns[new.weights.columns])
        return replace(new, weights=weights, selected=point.selected, n_selected=point.n_selected)
