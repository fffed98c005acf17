"""Training a point again on its features only, without a penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray

from riata.descent import Descent
from riata.follow import points as brought
from riata.network import Weights
from riata.path import Point
from riata.problem import Problem
from riata.solver import Solution, Solver
from riata.stopping import Stopping

__all__ = ["WAYS", "Again", "alike"]

WAYS = ("warm", "scratch", "noisy")
_NOISE, _DROPOUT = 0.5, 0.1  # on the columns, in their standard deviations, and of hidden units
_ROWS = 128  # of a batch of noisy training
_PASSES, _FEWEST_PASSES = 40, 15  # of noisy training: as many, or
_UPDATES, _FEWEST_UPDATES = 2000, 500  # as these allow, but no fewer
_SIZE = 3.0  # of noisy steps, relative to the learning rate
_ALIKE, _SMALL = 0.7, 32  # networks are trained together if all have this share of the largest's columns, or that few
_ENTRIES = 2**27  # of hidden units, of all rows and all networks that are trained together


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

    def __call__(self, points: Sequence[Point], way: str | bool) -> list[Point]:
        """Return points with the same features and λ, trained again in this way if there is one."""
        found = list(points)
        there = [i for i, point in enumerate(points) if way and point.n_selected]
        if way != "noisy":
            for i in there:
                (found[i],) = self._trained([points[i]], way)
            return found
        first: dict[bytes, int] = {}
        firsts = [first.setdefault(points[i].selected.tobytes(), i) for i in there]  # of those with the same features
        for some in self._together(list(first.values()), points):
            for i, point in zip(some, self._trained([points[i] for i in some], way), strict=True):
                found[i] = point
        for i, same in zip(there, firsts, strict=True):
            found[i] = replace(found[same], lambda_=points[i].lambda_)
        return found

    def _together(self, which: list[int], points: Sequence[Point]) -> list[list[int]]:
        """Group points, given by position, whose networks are trained at once.

        They share the batches and what is drawn for them, and none is filled up with many zeros.
        """
        n_hidden = self.solver.problem.network.n_hidden
        most = 1 if n_hidden is None else max(1, _ENTRIES // (len(self.solver.problem.X) * max(1, n_hidden)))
        groups: list[list[int]] = []
        for i in sorted(which, key=lambda i: -len(points[i].weights.columns)):
            if not groups or len(groups[-1]) == most or not alike(points[groups[-1][0]], points[i]):
                groups.append([])
            groups[-1].append(i)
        return groups

    def _trained(self, points: Sequence[Point], way: str | bool) -> list[Point]:
        """Train networks side by side, each on its features, whatever was drawn before."""
        given = self.solver
        columns = np.unique(np.concatenate([point.weights.columns for point in points]))
        problem = given.problem.only(torch.from_numpy(columns).to(given.problem.X.device)).copies(len(points))
        draw = torch.Generator(problem.X.device).manual_seed(0 if given.draw is None else given.draw.initial_seed())
        if way == "noisy":
            solution = _noisy(_noised(problem), given.learning_rate, draw, _own(problem, points, columns))
            return _named(points, columns, problem, solution)
        if way == "scratch":
            fresh, stopping = self.fresh(), self.stopping
            start = Weights(fresh.rows[:, columns], fresh.upper)
        else:
            start = _own(problem, points, columns)
            stopping = replace(self.stopping, n_iters=self.warm_passes or self.stopping.n_iters)
        solver = Solver(problem, learning_rate=given.learning_rate, batch_size=given.batch_size, draw=draw)
        solution = solver.minimise(solver.feasible(start), start.upper.new_zeros(len(points)), stopping)
        return _named(points, columns, problem, solution)


def alike(large: Point, small: Point) -> bool:
    """Say whether two networks are of similar sizes, so that it pays to train them together."""
    of_large, of_small = (len(point.weights.columns) for point in (large, small))
    return of_small >= _ALIKE * of_large or of_large <= _SMALL


def _own(problem: Problem, points: Sequence[Point], columns: NDArray[np.int64]) -> Weights:
    """Return the weights of points as those of the replicas of a problem on these columns."""
    rows = np.zeros((len(points), len(columns), problem.network.width), dtype=points[0].weights.first.dtype)
    for own, point in zip(rows, points, strict=True):
        here = np.searchsorted(columns, point.weights.columns)
        own[here] = np.concatenate([point.weights.skip, point.weights.first], axis=1)
    upper = np.stack([point.weights.upper for point in points])
    return Weights(*(torch.from_numpy(part).to(problem.X) for part in (rows, upper)))


def _noised(problem: Problem) -> Problem:
    """Return the problem with noise on its columns, in proportion to their standard deviations, and with dropout."""
    X, share = problem.X[: problem.n_fit], problem.weights[0]
    variance = share @ (X - share @ X).square()
    return replace(problem, noise=_NOISE * variance.sqrt(), dropout=max(problem.dropout, _DROPOUT))


@torch.inference_mode()
def _noisy(problem: Problem, learning_rate: float, draw: torch.Generator, start: Weights) -> Solution:
    """Descend for a set number of updates, and average the later iterates, every one of which is for another problem."""
    n_batches = ceil(problem.n_fit / _ROWS)
    n_passes = max(min(_PASSES, _UPDATES // n_batches), _FEWEST_PASSES, ceil(_FEWEST_UPDATES / n_batches))
    descent = Descent(problem, learning_rate, _ROWS, draw)
    state = descent.state
    moments = Weights(torch.zeros_like(state.moments.rows), torch.zeros_like(state.moments.upper))
    scale = torch.full_like(state.scale, _SIZE)
    descent.enter(start, moments, scale, problem.selected(start.rows), torch.zeros_like(state.price))
    descent.run(n_passes // 2)
    total = Weights(torch.zeros_like(start.rows), torch.zeros_like(start.upper))
    for _ in range(late := n_passes - n_passes // 2):
        descent.run(1)
        total.rows.add_(state.now.weights.rows, alpha=1 / late)
        total.upper.add_(state.now.weights.upper, alpha=1 / late)
    weights = Solver(problem).feasible(total)
    descent.place(weights)
    look, _ = descent.look()
    return Solution(weights, look, *(np.full(len(start.rows), n_passes) for _ in range(2)))


def _named(points: Sequence[Point], columns: NDArray[np.int64], problem: Problem, solution: Solution) -> list[Point]:
    """Return what was found as points with the λ and the features of those it began with."""
    lambdas = np.array([point.lambda_ for point in points])
    found = brought(problem, solution, lambdas, np.arange(len(points)))
    return [
        replace(
            new,
            weights=replace(new.weights, columns=columns[new.weights.columns]),
            selected=point.selected,
            n_selected=point.n_selected,
        )
        for point, new in zip(points, found, strict=True)
    ]
