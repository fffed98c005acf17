"""Refit: train a point on its features only, without a penalty."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from riata import together
from riata.network.sparse import SparseTable
from riata.network.stacked import Weights
from riata.path.points import Point
from riata.path.solve import enough_threads
from riata.path.solve import points as copied
from riata.solver.descent import Descent
from riata.solver.faults import in_parts, learning_rates, within_memory
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stack import Stack, batches
from riata.solver.stopping import Stopping
from riata.storage import UNSAVED, Checkpoint

__all__ = ["Found", "Plan", "Refit"]

_NOISE = 0.1  # standard deviations of each input
_COARSER = 10  # tolerance of a refit, relative to that of the path: ten thousandths of a loss select nothing
_TRIAL = 5  # iterations from each start
_ITERS = 50  # where nothing tells when to stop


class Plan(NamedTuple):
    """How to refit a point: from which of its starts, and for how many iterations."""

    start: int
    n_iters: int


class Found(NamedTuple):
    """A point after a refit, and what a further one begins with."""

    how: str | bool
    point: Point
    start: Weights  # that it was reached from, on the columns of the point
    plan: Plan


@dataclass(frozen=True, eq=False)
class Refit:
    """Refits points of a path; what was refitted before has no influence.

    A ``warm`` refit begins with the point's weights and with those of the dense model, side by side, and continues with what
    validates better after a few iterations: the point's weights suit the features best, but have fitted the training samples
    for longer. One from ``scratch`` begins with fresh weights.
    """

    solver: Solver  # of the path
    stopping: Stopping
    dense: Point
    fresh: Callable[[], Weights]
    all_weights: Tensor | None = None  # (1, n) weights of all samples, if the last model is to learn from all of them
    plans: Callable[[int], Plan] | None = None  # by number of features, where no sample validates
    saved: Checkpoint = UNSAVED  # where refits are kept while the fit is under way
    _found: dict[float, Found] = field(default_factory=dict)  # by λ

    def __call__(self, point: Point, how: str | bool) -> Point:
        """Return a point with the same features and λ, refitted; the dense point and the empty one are as they are."""
        if not how or not point.n_selected or not point.lambda_:
            return point
        self._find([point], how)
        return self._found[point.lambda_].point

    def ahead(self, points: Sequence[Point], how: str | bool) -> None:
        """Refit points that will be asked for: at once, where many networks take little longer than one."""
        if how and together.pays(self.solver.problem.X.device):
            self._find([point for point in points if point.n_selected and point.lambda_], how)

    def _find(self, points: Sequence[Point], how: str | bool) -> None:
        """Refit the points that have not been refitted in this way."""
        new = [point for point in points if point.lambda_ not in self._found or self._found[point.lambda_].how != how]
        if new:
            name = f"refit-{_digest([how, *(point.lambda_.hex() for point in new)])}"
            found = self.saved.made(name, lambda: together.call(_refitted_lists, [(self, point, how) for point in new]))
            found = [each._replace(start=self._on_device(each.start)) for each in found]
            self._found.update((point.lambda_, each) for point, each in zip(new, found, strict=True))

    def plan(self, point: Point, how: str | bool) -> Plan:
        """Return how a refit of a point was best, by its validation samples."""
        self(point, how)
        return self._found[point.lambda_].plan if point.lambda_ in self._found else Plan(0, 0)

    def finish(self, point: Point, how: str | bool) -> Point:
        """Refit, then once more on training and validation samples, for twice as many iterations as were best.

        Inputs have a little noise, a ridge on the slopes of the network, and weights are averaged over the second half of the
        iterations. Losses stay those of the first refit: no sample was held out from the second.
        """
        refitted = self(point, how)
        if self.all_weights is None or not how or not point.n_selected:
            return refitted
        name = f"finish-{_digest([how, point.lambda_.hex()])}"
        return self.saved.made(name, lambda: self._finished(point, refitted))

    def _finished(self, point: Point, refitted: Point) -> Point:
        n_iters = max(1, refitted.best_iter)
        with enough_threads(self.solver), torch.inference_mode():
            start = self._found[point.lambda_].start if point.lambda_ else self._starts(point, "scratch")
            averaged = within_memory(self.solver, lambda: self._averaged(self._on_all_samples(point), start, n_iters))
        rows, upper = (part[0].cpu().numpy() for part in averaged)
        o = self.solver.problem.network.n_outputs
        return replace(
            refitted,
            weights=replace(point.weights, skip=rows[:, :o], first=rows[:, o:], upper=upper),
            n_iters=2 * refitted.n_iters,
        )

    def _on_all_samples(self, point: Point) -> Problem:
        """Return the problem of a point's features on all samples, with noise."""
        problem, all_weights = self.solver.problem, self.all_weights
        assert all_weights is not None
        is_sparse = isinstance(problem.X, SparseTable)
        if is_sparse:  # few columns of it are a tensor, and have noise like one
            problem = self._narrow(problem, point)
        noise = _NOISE * _deviation(problem, all_weights[0])
        noisy = replace(problem, weights=all_weights, val_weights=None, noise=noise)
        return noisy if is_sparse else self._narrow(noisy, point)

    def _averaged(self, problem: Problem, start: Weights, n_iters: int) -> Weights:
        """Train for twice as many iterations, and average the weights over the second half; with shorter steps if need be."""
        for rate in learning_rates(self.solver.learning_rate):
            averaged = self._average(problem, start, n_iters, rate)
            if all(bool(part.isfinite().all()) for part in averaged):
                return averaged
        raise AssertionError  # learning_rates ends by raising

    def _average(self, problem: Problem, start: Weights, n_iters: int, learning_rate: float) -> Weights:
        given = self.solver
        problem = problem if problem.feed is None else problem.apart()
        draw, batch_size = self._generator(), given.batch_of(problem)
        descent = Descent(problem, learning_rate, batch_size, draw, block_size=given.block_size)
        state = descent.state
        zeros = Weights(*(torch.zeros_like(part) for part in state.moments))
        descent.start(start, zeros, state.scale, problem.selected(start.rows), torch.zeros_like(state.lambdas))
        descent.run(n_iters)
        total = Weights(*(torch.zeros_like(part) for part in start))
        for _ in range(n_iters):
            descent.run(1)
            for part, now in zip(total, state.now.weights, strict=True):
                part.add_(now, alpha=1 / n_iters)
        return Solver(problem).feasible(total)

    def _stopping(self, point: Point, how: str | bool, n_starts: int) -> tuple[int | None, Stopping]:
        """Return which of the starts to refit a point from, None where a trial tells, and when to stop."""
        stopping = replace(self.stopping, tol=min(_COARSER * self.stopping.tol, 0.5))
        if self.solver.problem.val_weights is not None:
            return (None if n_starts > 1 else 0), stopping
        if self.plans is not None:
            start, n_iters = self.plans(point.n_selected)
            return min(start, n_starts - 1), Stopping(n_iters, None, 0.0)
        return 0, replace(stopping, n_iters=_ITERS) if how == "warm" else stopping

    def _generator(self) -> torch.Generator:
        draw = self.solver.draw
        return torch.Generator(self.solver.problem.X.device).manual_seed(0 if draw is None else draw.initial_seed())

    def _on_device(self, weights: Weights) -> Weights:
        return Weights(*(part.to(self.solver.problem.like) for part in weights))

    def _narrow(self, problem: Problem, point: Point) -> Problem:
        return problem.only(torch.from_numpy(point.weights.columns).to(problem.X.device))

    def _starts(self, point: Point, how: str | bool) -> Weights:
        """Return the weights to start from, on the columns of a point, one replica for each start."""
        columns, problem = point.weights.columns, self._narrow(self.solver.problem, point)
        if how == "scratch":
            fresh = self.fresh()
            starts = Weights(fresh.rows[:, columns], fresh.upper)
        else:
            given = [point.weights]
            if self.dense.best_iter >= _TRIAL:  # a dense model that is best before it is trained is no start
                given.append(self.dense.weights)
            rows = np.zeros((len(given), len(columns), problem.network.width), dtype=point.weights.first.dtype)
            for row, weights in zip(rows, given, strict=True):
                known = np.isin(columns, weights.columns)
                here = np.searchsorted(weights.columns, columns[known])
                row[known] = np.concatenate([weights.skip, weights.first], axis=1)[here]
            upper = np.stack([weights.upper for weights in given])
            starts = Weights(*(torch.from_numpy(part).to(problem.like) for part in (rows, upper)))
        return Solver(problem.copies(len(starts.rows))).feasible(starts)


def _digest(what: list[Any]) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _deviation(problem: Problem, share: Tensor) -> Tensor:
    """Return the standard deviation of each column, the unit of its noise; 1 for a sparse table, which has its own."""
    X = problem.X
    if isinstance(X, SparseTable):
        return torch.ones_like(X.offset)
    return problem.total(share @ (X - problem.total(share @ X)).square()).sqrt()


class _Start(NamedTuple):
    """A point to refit, and weights to begin with: one network or several side by side."""

    refit: Refit
    point: Point
    weights: Weights

    def one(self, which: int) -> _Start:
        """Return one of the networks."""
        return self._replace(weights=Weights(*(part[which : which + 1] for part in self.weights)))


def _refitted_lists(given: list[list[tuple[Refit, Point, Any]]]) -> list[list[Found]]:
    """Refit the points of several lists."""
    found = iter(_refitted([each for part in given for each in part]))
    return [[next(found) for _ in part] for part in given]


@torch.inference_mode()
def _refitted(given: list[tuple[Refit, Point, Any]]) -> list[Found]:
    """Refit points from every start for some iterations, and continue with the best; by a plan, where no sample validates."""
    starts = [_Start(refit, point, refit._starts(point, how)) for refit, point, how in given]
    known = [
        refit._stopping(point, how, len(s.weights.rows)) for (refit, point, how), s in zip(given, starts, strict=True)
    ]
    best, trials = [which or 0 for which, _ in known], [0] * len(given)
    open_ = [i for i, (which, _) in enumerate(known) if which is None]
    trial = [min(_TRIAL, known[i][1].n_iters) for i in open_]
    tried = _trained(
        [starts[i] for i in open_],
        [replace(known[i][1], n_iters=n_iters) for i, n_iters in zip(open_, trial, strict=True)],
    )
    for i, n_iters, found in zip(open_, trial, tried, strict=True):
        best[i], trials[i] = int(np.argmin([new.val_loss for new in found])), n_iters
    chosen = [start.one(which) for start, which in zip(starts, best, strict=True)]
    return [
        Found(how, replace(new, n_iters=new.n_iters + 2 * n_trial), start.weights, Plan(which, new.best_iter))
        for (_, _, how), (new,), start, which, n_trial in zip(
            given, _trained(chosen, [stopping for _, stopping in known]), chosen, best, trials, strict=True
        )
    ]


def _trained(starts: list[_Start], stoppings: list[Stopping]) -> list[list[Point]]:
    """Train from all starts, as many side by side as go together."""
    problems = [start.refit.solver.problem for start in starts]
    widths = [len(start.point.weights.columns) for start in starts]
    kinds = [_kind(start.refit.solver, stopping) for start, stopping in zip(starts, stoppings, strict=True)]
    found: dict[int, list[Point]] = {}
    for chosen in batches(problems, kinds, widths):
        with enough_threads(starts[chosen[0]].refit.solver):
            found |= zip(chosen, in_parts(_beside, [(starts[i], stoppings[i]) for i in chosen]), strict=True)
    return [found[i] for i in range(len(starts))]


def _beside(given: Sequence[tuple[_Start, Stopping]]) -> list[list[Point]]:
    """Train the networks of all starts at once; those of a single one in blocks of samples where memory is too small."""
    starts, stoppings = ([*part] for part in zip(*given, strict=True))
    if len(starts) > 1:
        return _side_by_side(starts, stoppings)
    return within_memory(starts[0].refit.solver, lambda: _side_by_side(starts, stoppings))


def _kind(solver: Solver, stopping: Stopping) -> tuple[Any, ...]:
    """What refits that are trained side by side have in common; a network that is done would be computed further."""
    iterations = stopping.n_iters.bit_length()  # within a factor of two
    return replace(stopping, n_iters=0), iterations, solver.learning_rate, solver.batch_size is None


def _side_by_side(starts: list[_Start], stoppings: list[Stopping]) -> list[list[Point]]:
    """Train the networks of all starts at once; return their points, start by start."""
    problems = [start.refit._narrow(start.refit.solver.problem, start.point) for start in starts]
    counts = [len(start.weights.rows) for start in starts]
    if len(starts) == 1:
        problem, weights = problems[0].copies(counts[0]), starts[0].weights
    else:
        each = [start.one(k) for start, count in zip(starts, counts, strict=True) for k in range(count)]
        stack = Stack([problems[i] for i in np.repeat(np.arange(len(starts)), counts)])
        problem, weights = stack.problem, stack.weights([start.weights for start in each])
    given = starts[0].refit.solver
    draws = [starts[i].refit._generator() for i in np.repeat(np.arange(len(starts)), counts)]
    solver = Solver(
        problem,
        learning_rate=given.learning_rate,
        batch_size=given.batch_size,
        draw=draws[0],
        draws=draws if len(starts) > 1 else (),
        block_size=given.block_size,
    )
    most = np.repeat([stopping.n_iters for stopping in stoppings], counts)
    solution = solver.minimise(weights, weights.upper.new_zeros(sum(counts)), stoppings[0], most=most)
    lambdas = np.repeat([start.point.lambda_ for start in starts], counts)
    points = iter(copied(problem, solution, lambdas, np.arange(len(lambdas))))
    return [
        [_on_path(next(points), start.point) for _ in range(count)] for start, count in zip(starts, counts, strict=True)
    ]


def _on_path(refitted: Point, point: Point) -> Point:
    """Return a refitted point with the columns of the table, rather than those of its own features."""
    columns = point.weights.columns[refitted.weights.columns]
    weights = replace(refitted.weights, columns=columns, features=point.weights.features[refitted.weights.columns])
    return replace(refitted, weights=weights, selected=point.selected, n_selected=point.n_selected)
