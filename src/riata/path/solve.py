"""Solve the path from the dense model to the empty one, each point from the solution of the one before."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from riata import threads
from riata.network.stacked import SparseWeights, Weights
from riata.path.grid import LONGEST_STRIDE, Grid, Stride
from riata.path.points import Path, Point, mean_and_error
from riata.path.saved import PathState, SavedPath, with_zeros, without_zeros
from riata.solver.problem import Problem
from riata.solver.solve import Solution, Solver
from riata.solver.stopping import Stopping
from riata.storage import UNSAVED, Checkpoint

__all__ = ["enough_threads", "points", "solve_path"]

Floats = NDArray[np.float64]
_EARLY = 0.3  # the path begins at this share of the first λ that removes a feature
_TRIALS = 40  # enough to bracket and bisect any λ between 1e-12 and 1e12


def solve_path(
    solver: Solver,
    weights: Weights,
    grid: Grid,
    dense: Stopping,
    sparse: Stopping,
    *,
    until: int = 0,
    on_point: Callable[[Point], None] | None = None,
    trained: int = 0,
    saved: Checkpoint = UNSAVED,
) -> list[Path]:
    """Solve the path of every replica from the dense model to at most ``until`` features, warm-starting each point.

    Parameters
    ----------
    solver : Solver
        Holds the problem.
    weights : Weights
        Where the dense model starts from.
    grid : Grid
        The grid of λ.
    dense, sparse : Stopping
        When to leave the dense model and every other point.
    until : int
        A replica is done when at most so many features are left, or only those without a penalty.
    on_point : callable, optional
        Called with each new point of the first replica.
    trained : int
        Iterations that the start has been trained for, if it is the dense model already.
    saved : Checkpoint, optional
        Where to keep the path of one replica after each point, and to continue it from; then ``weights`` do not matter.

    Returns
    -------
    list of Path
        One per replica, in the order of λ.
    """
    problem = solver.problem
    record = _Record(solver, grid, until, on_point, SavedPath(saved))
    known = record.last()
    if known is None:
        lambda_ = np.zeros(problem.n_replicas)
        first = replace(dense, n_iters=0) if trained else dense
        solution = solver.minimise(solver.feasible(weights), _tensor(solver, lambda_), first)
        solution = replace(solution, n_iters=solution.n_iters + trained, best_iter=solution.best_iter + trained)
        known = record.add(solution, lambda_), []
        record.save(*known)
    weights, strides = known
    strides = strides or [Stride(grid, first) for first in _start(solver, weights, grid, sparse)]
    for proposed in () if record.done.all() else zip(*strides, strict=True):
        lambda_ = np.array(proposed)
        solution = solver.minimise(weights, _tensor(solver, lambda_), sparse, record.done.copy())
        before, after = (problem.units(w.rows) for w in (weights, solution.weights))
        counts = torch.stack([(before ^ after).sum(-1), before.sum(-1)]).cpu().numpy()
        accepted = np.array([stride.accepts(*pair) for stride, pair in zip(strides, counts.T.tolist(), strict=True)])
        weights = _where(accepted, record.add(solution, lambda_, accepted), weights)
        record.save(weights, strides)
        if record.done.all():
            break
    return record.paths()


def _where(accepted: NDArray[np.bool_], new: Weights, old: Weights) -> Weights:
    """Return the new weights of the replicas that accept them, and the old ones of all others."""
    if accepted.all() or not accepted.any():
        return new if accepted.all() else old
    mask = torch.from_numpy(accepted).to(new.rows.device)
    return Weights(
        torch.where(mask[:, None, None], new.rows, old.rows), torch.where(mask[:, None], new.upper, old.upper)
    )


def enough_threads(solver: Solver) -> AbstractContextManager[None]:
    """Work on one thread, or on more where the passes of a solver are long enough."""
    problem = solver.problem
    largest = int(problem.counts[:, 0].max())  # of any rank: all use as many threads
    n = min(solver.batch_size or largest, largest)
    return threads.worth(n, problem.n_entries, problem.network)


class _Record:
    """The points so far of every replica, and which replicas are done."""

    def __init__(
        self, solver: Solver, grid: Grid, until: int, on_point: Callable[[Point], None] | None, saved: SavedPath
    ):
        problem = solver.problem
        self._solver, self._grid, self._on_point, self._saved = solver, grid, on_point, saved
        free = (problem.costs == 0).cpu().numpy()
        self._fewest = max(until, len(np.unique(problem.source[free if free.ndim == 1 else free.any(0)])))
        self._visited: list[list[float]] = [[] for _ in range(problem.n_replicas)]
        self._points: list[list[Point]] = [[] for _ in range(problem.n_replicas)]
        self.done = np.zeros(problem.n_replicas, dtype=bool)

    def add(self, solution: Solution, lambda_: Floats, accepted: NDArray[np.bool_] | bool = True) -> Weights:
        """Record a point for each replica that accepts it and is not done; return the weights of all."""
        replicas = np.flatnonzero(~self.done & accepted)
        automatic = self._grid.seq is None and self._grid.start is None
        for r, point in zip(replicas, points(self._solver.problem, solution, lambda_, replicas), strict=True):
            found = self._points[r]
            if len(found) > 1 and automatic and point.n_selected == found[0].n_selected == found[-1].n_selected:
                found.pop()  # of the points with all features only the dense one and the last are of interest
            found.append(point)
            self._visited[r] += [point.lambda_] * (point.lambda_ > 0)
            self.done[r] = point.n_selected <= self._fewest and point.lambda_ > 0
        if self._on_point is not None and 0 in replicas:
            self._on_point(self._points[0][-1])
        return solution.weights

    def save(self, weights: Weights, strides: list[Stride]) -> None:
        """Keep where one replica is, if anything is kept."""
        if not self._saved.keeps:
            return
        (found,), (visited,), (done,) = self._points, self._visited, self.done
        lambdas, stride = tuple(point.lambda_ for point in found), strides[0].state if strides else None
        now, n_threads = self._solver.state(weights), torch.get_num_threads()
        state = PathState(lambdas, tuple(visited), bool(done), stride, *without_zeros(weights), now, n_threads)
        self._saved.add(state, found)

    def last(self) -> tuple[Weights, list[Stride]] | None:
        """Go to where one replica was when it was last kept; return its weights and its stride, if it has one."""
        known = self._saved.last()
        if known is None:
            return None
        state, found = known
        if state.threads != torch.get_num_threads():
            warnings.warn(
                f"the path was begun on {state.threads} threads and continues on {torch.get_num_threads()}: the last bits may "
                "differ from those of an unbroken run",
                UserWarning,
                stacklevel=3,
            )
        self._points, self._visited, self.done = [found], [list(state.visited)], np.array([state.done])
        weights = with_zeros(state.columns, state.weights, self._solver.problem.like)
        self._solver.restore(state.solver, weights)
        if self._on_point is not None:
            self._on_point(found[-1])
        return weights, [Stride.at(self._grid, state.stride)] if state.stride else []

    def paths(self) -> list[Path]:
        """Return the points as paths."""
        held_out = self._solver.problem.held_out
        return [
            Path(
                found,
                multiplier=self._grid.multiplier,
                val_weights=None if held_out is None else held_out[r][1],
                visited=sorted(visited),
            )
            for r, (found, visited) in enumerate(zip(self._points, self._visited, strict=True))
        ]


def _tensor(solver: Solver, lambda_: Floats) -> torch.Tensor:
    return torch.from_numpy(lambda_).to(solver.problem.like)


def _start(solver: Solver, dense: Weights, grid: Grid, sparse: Stopping) -> Floats:
    """Return the first λ of each replica after the dense model: 0.3 of the first that removes a feature.

    The features of a dense model are about equally strong. Where none leaves yet, the loss and the penalty weights set them
    apart; without this they would arrive at zero together, in an order that is chance.
    """
    given = grid.start if grid.seq is None else grid.seq[0]
    if given is not None:
        return np.full(solver.problem.n_replicas, given)
    return _EARLY * _first_lambda(solver, dense, sparse)


def _first_lambda(solver: Solver, dense: Weights, stopping: Stopping) -> Floats:
    """Find, roughly, the largest λ at which all features of the dense model stay for as many iterations as a point has.

    Each replica brackets its own: from a guess by factors of eight, then by bisection, every trial from the dense model.
    """
    R = solver.problem.n_replicas
    full = solver.problem.selected(dense.rows).sum(-1)
    low, high = np.zeros(R), np.full(R, np.inf)
    trial = np.full(R, 0.1)
    stopping = replace(stopping, until_drop=True)
    done = np.zeros(R, dtype=bool)
    for _ in range(_TRIALS):
        solution = solver.minimise(dense, _tensor(solver, trial), stopping, done)
        keeps = (solver.problem.selected(solution.weights.rows).sum(-1) == full).cpu().numpy()
        low, high = np.where(keeps & ~done, trial, low), np.where(keeps | done, high, trial)
        done = high <= low * LONGEST_STRIDE
        if done.all():
            break
        between = np.sqrt(low * np.where(np.isinf(high), 1, high))
        trial = np.where(np.isinf(high), 8 * low, np.where(low == 0, high / 8, between))
    return np.where(low > 0, low, high)


def points(problem: Problem, solution: Solution, lambda_: Floats, replicas: NDArray[np.int64]) -> list[Point]:
    """Copy the solutions of some replicas to the host, in few transfers for all of them."""
    _check_finite(solution, lambda_, replicas)
    selected = problem.selected(solution.weights.rows)
    anywhere = selected.any(0).nonzero().squeeze(-1)
    rows, upper = solution.weights.rows[:, anywhere].cpu().numpy(), solution.weights.upper.cpu().numpy()
    masks, known = selected.cpu().numpy(), anywhere.cpu().numpy()
    val_losses = (
        None if solution.evaluation.val_losses is None else solution.evaluation.val_losses.cpu().double().numpy()
    )
    found = []
    for r in replicas:
        here = masks[r, known]
        if problem.layout is not None:
            here = _in_order(here, problem.layout.columns[r, known])
        alone = len(replicas) == 1 and problem.layout is None and here.all()
        own = rows[r] if alone else rows[r, here]
        weights = _sparse(problem, r, known[here], own, upper[r].copy())
        found.append(_point(problem, solution, weights, float(lambda_[r]), r, val_losses))
    return found


def _in_order(here: NDArray[np.bool_], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the marked columns are that a replica has, in its own order."""
    found = np.flatnonzero(here & (columns >= 0))
    return found[np.argsort(columns[found])]


def _check_finite(solution: Solution, lambda_: Floats, replicas: NDArray[np.int64]) -> None:
    finite = np.isfinite(solution.evaluation.objective[replicas])
    if not finite.all():
        raise FloatingPointError(
            f"the objective is not finite at lambda_={lambda_[replicas[~finite][0]]:.4g}; scale the columns "
            "(preprocessing='auto'), or use a smaller learning_rate"
        )


def _sparse(
    problem: Problem, r: int, columns: NDArray[np.int64], rows: NDArray[np.floating], upper: NDArray[np.floating]
) -> SparseWeights:
    o, layout = problem.network.n_outputs, problem.layout
    source = problem.source[columns] if layout is None else layout.source[r, columns]
    columns = columns if layout is None else layout.columns[r, columns]
    return SparseWeights(columns, source, rows[:, :o], rows[:, o:], upper)


def _point(
    problem: Problem, solution: Solution, weights: SparseWeights, lambda_: float, r: int, val_losses: Floats | None
) -> Point:
    chosen = np.zeros((problem.source if problem.layout is None else problem.layout.source).max() + 1, dtype=bool)
    chosen[weights.features] = True
    evaluation = solution.evaluation
    losses, val_loss, val_loss_se = _validation(problem, val_losses, r)
    return Point(
        lambda_=lambda_,
        selected=chosen,
        n_selected=int(chosen.sum()),
        loss=float(evaluation.loss[r]),
        val_loss=val_loss,
        val_loss_se=val_loss_se,
        penalty=float(evaluation.penalty[r]),
        objective=float(evaluation.objective[r]),
        n_iters=int(solution.n_iters[r]),
        best_iter=int(solution.best_iter[r]),
        weights=weights,
        val_losses=losses,
    )


def _validation(problem: Problem, val_losses: Floats | None, r: int) -> tuple[Floats | None, float, float]:
    """Return the losses of a replica's validation samples, their mean and its standard error."""
    if val_losses is None or problem.held_out is None:
        return None, float("nan"), float("nan")
    samples, weights = problem.held_out[r]
    losses = problem.of_all(val_losses[r, samples])
    return losses, *mean_and_error(losses, weights)
