"""Following a path from the dense model to the empty one, each point from the last."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from riata.network.stacked import SparseWeights, Weights
from riata.path.grid import LONGEST_STRIDE, Grid, Stride
from riata.path.points import Path, Point, mean_and_error
from riata.solver.problem import Problem
from riata.solver.solve import Solution, Solver
from riata.solver.stopping import Stopping

__all__ = ["follow", "points"]

Floats = NDArray[np.float64]
_EARLY = 0.3  # the path begins at this share of the first λ that takes a feature out in one stay
_TRIALS = 40  # enough to bracket and bisect any λ between 1e-12 and 1e12


def follow(
    solver: Solver,
    weights: Weights,
    grid: Grid,
    dense: Stopping,
    sparse: Stopping,
    *,
    until: int = 0,
    shared: bool = True,
    on_point: Callable[[Point], bool | None] | None = None,
    keep: bool = False,
    trained: int = 0,
) -> list[Path]:
    """Follow the path of every replica from the dense model to at most ``until`` features, warm-starting each point.

    A falling grid is followed to its end, from the penalised model to the dense one; nothing found there comes from the
    dense model.

    Parameters
    ----------
    solver : Solver
        Holds the problem.
    weights : Weights
        Where the first model starts from.
    grid : Grid
        Which λ to visit.
    dense, sparse : Stopping
        When to leave the dense model and every other point; the first point is always left as late as the dense model.
    until : int
        Stop a replica when at most so many features are left. Features that cost nothing do not leave: a replica with
        nothing else has arrived as well.
    shared : bool
        Whether an automatic grid is the same for all replicas, or each has its own.
    on_point : callable, optional
        Called with each new point of the first replica; the path ends there if it says so.
    keep : bool
        Whether an interrupt from the keyboard only ends the path: the points so far are returned with a warning. Otherwise,
        and before the first point, it is raised.
    trained : int
        Passes that the start has been trained for, if it is the dense model already.

    Returns
    -------
    list of Path
        One per replica, in the order of λ.
    """
    problem = solver.problem
    log = _Log(solver, grid, until, on_point)
    try:
        lambda_ = np.full(problem.n_replicas, grid.opening)
        opening = replace(dense, keep_validated=False) if grid.falling else dense
        if trained:
            opening = replace(opening, n_iters=0)
        solution = solver.minimise(solver.feasible(weights), _tensor(solver, lambda_), opening)
        solution = replace(solution, n_iters=solution.n_iters + trained, best_iter=solution.best_iter + trained)
        weights = log.add(solution, lambda_)
        stride = Stride(grid, _first(solver, weights, grid, sparse, shared))
        for lambda_ in stride:
            stopping = sparse if lambda_.any() else dense
            solution = solver.minimise(weights, _tensor(solver, lambda_), stopping, log.arrived.copy())
            before, after = (problem.units(w.rows) for w in (weights, solution.weights))
            if stride.accepts(int((before ^ after).sum()), int(before.sum())):
                weights = log.add(solution, lambda_)
            if log.arrived.all():
                break
    except KeyboardInterrupt:
        if not keep or not all(log.tracks):
            raise
        last = log.tracks[0][-1]
        warnings.warn(
            f"interrupted: the path ends at lambda_={last.lambda_:.4g} with {last.n_selected} features",
            RuntimeWarning,
            stacklevel=2,
        )
    return log.paths()


class _Log:
    """The points so far of every replica, and which replicas have arrived."""

    def __init__(self, solver: Solver, grid: Grid, until: int, on_point: Callable[[Point], bool | None] | None):
        problem = solver.problem
        self._solver, self._grid, self._on_point = solver, grid, on_point
        self._floor = max(until, len(np.unique(problem.source[(problem.costs == 0).cpu().numpy()])))
        self._visited: list[list[float]] = [[] for _ in range(problem.n_replicas)]
        self.tracks: list[list[Point]] = [[] for _ in range(problem.n_replicas)]
        self.arrived = np.zeros(problem.n_replicas, dtype=bool)

    def add(self, solution: Solution, lambda_: Floats) -> Weights:
        """Note what was found at a λ for each replica that has not arrived; return the weights to go on from."""
        replicas = np.flatnonzero(~self.arrived)
        automatic = self._grid.seq is None and self._grid.start is None
        for r, point in zip(replicas, points(self._solver.problem, solution, lambda_, replicas), strict=True):
            track = self.tracks[r]
            if len(track) > 1 and automatic and point.n_selected == track[0].n_selected == track[-1].n_selected:
                track.pop()  # of the points before the first departure only the last is of interest
            track.append(point)
            self._visited[r] += [point.lambda_] * (point.lambda_ > 0)
            self.arrived[r] = point.n_selected <= self._floor and point.lambda_ > 0 and not self._grid.falling
        if self._on_point is not None and self._on_point(self.tracks[0][-1]):
            self.arrived[:] = True
        return solution.weights

    def paths(self) -> list[Path]:
        """Return the points as paths, in the order of λ."""
        held_out = self._solver.problem.held_out
        return [
            Path(
                track[::-1] if self._grid.falling else track,
                multiplier=self._grid.multiplier,
                val_weights=None if held_out is None else held_out[r][1],
                visited=sorted(visited),
            )
            for r, (track, visited) in enumerate(zip(self.tracks, self._visited, strict=True))
        ]


def _tensor(solver: Solver, lambda_: Floats) -> torch.Tensor:
    return torch.from_numpy(lambda_).to(solver.problem.X)


def _first(solver: Solver, dense: Weights, grid: Grid, sparse: Stopping, shared: bool) -> Floats:
    """Return the first λ after the dense model, one number per replica.

    The dense model's features are about equally strong. Where nothing leaves yet, the loss and the prices set them apart;
    without this they arrive at zero together, and most of the ranking is left to chance.
    """
    ones = np.ones(solver.problem.n_replicas)
    if grid.seq is not None:
        return grid.seq[0] * ones
    if grid.start is not None:
        return grid.start * ones
    found = _EARLY * _first_lambda(solver, dense, sparse)
    return found.min() * ones if shared else found


def _first_lambda(solver: Solver, dense: Weights, stopping: Stopping) -> Floats:
    """Find, roughly, the largest λ that keeps all features of the dense model for one dwell.

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
    """Bring the solutions of some replicas to the host, in few transfers for all of them."""
    look = solution.evaluation
    if not np.isfinite(look.objective[replicas]).all():
        r = replicas[~np.isfinite(look.objective[replicas])][0]
        raise FloatingPointError(
            f"the objective is not finite at lambda_={lambda_[r]:.4g}; scale the columns (preprocessing='auto'), or use a "
            "smaller learning_rate"
        )
    selected = problem.selected(solution.weights.rows)
    anywhere = selected.any(0).nonzero().squeeze(-1)
    rows, upper = solution.weights.rows[:, anywhere].cpu().numpy(), solution.weights.upper.cpu().numpy()
    masks, known, source = selected.cpu().numpy(), anywhere.cpu().numpy(), problem.source
    val_losses = None if look.val_losses is None else look.val_losses.cpu().double().numpy()
    found = []
    for r in replicas:
        here = masks[r, known]
        own = rows[r] if len(replicas) == 1 and here.all() else rows[r, here]
        chosen = np.zeros(source.max() + 1, dtype=bool)
        chosen[source[known[here]]] = True
        losses, val_loss, se = _validation(problem, val_losses, r)
        found.append(
            Point(
                lambda_=float(lambda_[r]),
                selected=chosen,
                n_selected=int(chosen.sum()),
                loss=float(look.loss[r]),
                val_loss=val_loss,
                val_loss_se=se,
                penalty=float(look.penalty[r]),
                objective=float(look.objective[r]),
                n_iters=int(solution.n_iters[r]),
                best_iter=int(solution.best_iter[r]),
                weights=SparseWeights(
                    known[here],
                    source[known[here]],
                    own[:, : problem.network.n_outputs],
                    own[:, problem.network.n_outputs :],
                    upper[r].copy(),
                ),
                val_losses=losses,
            )
        )
    return found


def _validation(problem: Problem, val_losses: Floats | None, r: int) -> tuple[Floats | None, float, float]:
    """Losses of a replica's validation rows, their mean and its standard error."""
    if val_losses is None or problem.held_out is None:
        return None, float("nan"), float("nan")
    rows, weights = problem.held_out[r]
    losses = val_losses[r, rows]
    return losses, *mean_and_error(losses, weights)
