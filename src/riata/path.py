"""The path from the dense model to the empty one: points, the λ grid and the warm-started loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from numpy.typing import NDArray

from riata.network import Weights
from riata.solver import Solution, Solver
from riata.stopping import Stopping

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Grid",
    "Path",
    "Point",
    "SparseWeights",
    "Stride",
    "debias",
    "first_lambda",
    "follow",
    "mean_and_error",
    "points",
]

Floats = NDArray[np.float64]
_LONGEST_STRIDE = 2.0  # ratio of two neighbouring λ, unless the multiplier itself is larger
_EARLY = 0.3  # the path begins at this share of the first λ that takes a feature out in one stay
_FEW = 25  # one in so many features may leave in one stride
_TRIALS = 40  # enough to bracket and bisect any λ between 1e-12 and 1e12


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """The weights of one network, holding only the rows of the features that are in it."""

    columns: NDArray[np.int64]  # (k,) positions of these rows' columns in the expanded table
    features: NDArray[np.int64]  # (k,) the features they belong to; the columns themselves where there is no embedding
    skip: NDArray[np.floating]  # (k, o)
    first: NDArray[np.floating]  # (k, K)
    upper: NDArray[np.floating]  # (p,)


@dataclass(frozen=True, eq=False)
class Point:
    """One solution on the path.

    Attributes
    ----------
    lambda_ : float
        The penalty; 0 for the dense model.
    selected : bool array of shape (d,)
        The features in the model.
    n_selected : int
        Their number.
    loss, val_loss : float
        Mean training and validation loss, on the scale the network was trained on (for regression with
        ``standardize=True`` that of the standardised target). ``val_loss`` is NaN without validation rows.
    val_loss_se : float
        Standard error of ``val_loss``.
    penalty, objective : float
        All other terms of what is minimised, and the sum of ``loss`` and ``penalty``.
    n_iters : int
        Passes over the training rows that were spent here.
    best_iter : int
        The pass after which the weights that were kept had been reached.
    """

    lambda_: float
    selected: NDArray[np.bool_]
    n_selected: int
    loss: float
    val_loss: float
    val_loss_se: float
    penalty: float
    objective: float
    n_iters: int
    weights: SparseWeights
    val_losses: Floats | None = None  # one per validation row
    best_iter: int = 0

    def __repr__(self) -> str:
        return (
            f"Point(lambda_={self.lambda_:.4g}, n_selected={self.n_selected}, loss={self.loss:.4g}, "
            f"val_loss={self.val_loss:.4g})"
        )


class Path(Sequence[Point]):
    """The points of a path, from dense to sparse.

    A sequence of :class:`Point` with a few views of all of them at once.

    Attributes
    ----------
    points : tuple of Point
        In the order of λ.
    multiplier : float
        Smallest ratio of one λ to the last where the grid was found automatically.
    val_weights : array or None
        Weight of each validation row, summing to 1, in the order of ``Point.val_losses``.
    visited : array
        Every λ after the dense model on the way, those whose points were not kept among them. Given as ``lambda_seq`` it
        leads another fit the same way.
    """

    def __init__(
        self,
        points: Sequence[Point],
        *,
        multiplier: float = 1.02,
        val_weights: Floats | None = None,
        visited: Sequence[float] | Floats | None = None,
    ):
        self.points = tuple(points)
        self.multiplier = multiplier
        self.val_weights = val_weights
        self.visited = self.lambdas[self.lambdas > 0] if visited is None else np.asarray(visited, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Path: ...
    def __getitem__(self, index: int | slice) -> Point | Path:
        if isinstance(index, slice):
            return Path(
                self.points[index], multiplier=self.multiplier, val_weights=self.val_weights, visited=self.visited
            )
        return self.points[index]

    def __repr__(self) -> str:
        if not self.points:
            return "Path(empty)"
        first, last = self.points[0], self.points[-1]
        return (
            f"Path({len(self)} points, {first.n_selected} to {last.n_selected} features, "
            f"lambda_ {first.lambda_:.3g} to {last.lambda_:.3g})"
        )

    @property
    def lambdas(self) -> Floats:
        """λ of every point."""
        return np.array([p.lambda_ for p in self.points])

    @property
    def n_selected(self) -> NDArray[np.int64]:
        """Number of features of every point."""
        return np.array([p.n_selected for p in self.points])

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Masks of all points, (points, d)."""
        return np.array([p.selected for p in self.points])

    def to_frame(self) -> pd.DataFrame:
        """One row per point, without the masks."""
        import pandas as pd

        columns = ("lambda_", "n_selected", "loss", "val_loss", "val_loss_se", "penalty", "objective", "n_iters")
        return pd.DataFrame({name: [getattr(p, name) for p in self.points] for name in columns})

    def skip_norms(self) -> Floats:
        """Norm of each feature's skip row at every point, (points, d); zero where it is out."""
        norms = np.zeros((len(self), len(self.points[0].selected)))
        for norm, point in zip(norms, self.points, strict=True):
            np.add.at(norm, point.weights.features, np.square(point.weights.skip, dtype=np.float64).sum(axis=1))
        return np.sqrt(norms)

    def importances(self) -> Floats:
        """Return the λ at which each feature leaves for good, strictly ordered.

        Features that never leave get the last λ times the multiplier. Features that leave between the same two points are
        spread over the interval between their λ by the norm of their skip rows at the last point where both were in.
        """
        selected, lambdas = self.selected, self.lambdas
        edges = np.append(lambdas, lambdas[-1] * self.multiplier if lambdas[-1] > 0 else 1.0)
        last = len(self) - 1 - selected[::-1].argmax(axis=0)  # the last point with the feature
        last[~selected.any(axis=0)] = -1
        norms = self.skip_norms()
        importances = np.zeros(selected.shape[1])
        for i in np.unique(last):
            leaving = np.flatnonzero(last == i)
            order = leaving[np.argsort(norms[i, leaving], kind="stable")] if i >= 0 else leaving
            # Features that were never in come before those that only the dense model has.
            low, high = (edges[i], edges[i + 1]) if i > 0 else (edges[1] * (i + 1) / 2, edges[1] * (i + 2) / 2)
            importances[order] = low + (high - low) * np.arange(1, len(order) + 1) / len(order)
        return importances


@dataclass(frozen=True)
class Grid:
    """Which λ to visit after the dense model.

    Either ``seq``, or from ``start`` (None: somewhat below the first λ that removes a feature) by ``multiplier`` until no
    feature is left.
    A ``falling`` grid visits ``seq`` from its end to its beginning, and the dense model last.
    """

    multiplier: float = 1.02
    start: float | None = None
    seq: tuple[float, ...] | None = None
    falling: bool = False

    @property
    def opening(self) -> float:
        """The λ to begin with."""
        return self.seq[-1] if self.falling and self.seq else 0.0


def follow(
    solver: Solver,
    weights: Weights,
    grid: Grid,
    dense: Stopping,
    sparse: Stopping,
    *,
    until: int = 0,
    shared: bool = True,
    on_point: Callable[[Point], None] | None = None,
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
        Called with each new point of the first replica.

    Returns
    -------
    list of Path
        One per replica, in the order of λ. An interrupt from the keyboard ends the loop, and the points so far are returned
        with a warning.
    """
    problem = solver.problem
    floor = max(until, len(np.unique(problem.source[(problem.costs == 0).cpu().numpy()])))
    tracks: list[list[Point]] = [[] for _ in range(problem.n_replicas)]
    visited: list[list[float]] = [[] for _ in range(problem.n_replicas)]
    arrived = np.zeros(problem.n_replicas, dtype=bool)
    automatic = grid.seq is None and grid.start is None

    def record(solution: Solution, lambda_: Floats) -> Weights:
        replicas = np.flatnonzero(~arrived)
        for r, point in zip(replicas, points(solver, solution, lambda_, replicas), strict=True):
            track = tracks[r]
            if len(track) > 1 and automatic and point.n_selected == track[0].n_selected == track[-1].n_selected:
                track.pop()  # of the points before the first departure only the last is of interest
            track.append(point)
            visited[r] += [point.lambda_] * (point.lambda_ > 0)
            arrived[r] = point.n_selected <= floor and point.lambda_ > 0 and not grid.falling
        if on_point is not None:
            on_point(tracks[0][-1])
        return solution.weights

    try:
        lambda_ = np.full(problem.n_replicas, grid.opening)
        opening = replace(dense, keep_judged=False) if grid.falling else dense
        weights = record(solver.minimise(solver.feasible(weights), _tensor(solver, lambda_), opening), lambda_)
        stride = Stride(grid, _first(solver, weights, grid, sparse, shared))
        for lambda_ in stride:
            stopping = sparse if lambda_.any() else dense
            solution = solver.minimise(weights, _tensor(solver, lambda_), stopping, arrived.copy())
            before, after = (problem.units(w.rows) for w in (weights, solution.weights))
            if stride.accepts(int((before ^ after).sum()), int(before.sum())):
                weights = record(solution, lambda_)
            if arrived.all():
                break
    except KeyboardInterrupt:
        if not all(tracks):
            raise
        warnings.warn(
            f"interrupted: the path ends at lambda_={tracks[0][-1].lambda_:.4g} with {tracks[0][-1].n_selected} features",
            RuntimeWarning,
            stacklevel=2,
        )
    held_out = problem.held_out
    return [
        Path(
            track[::-1] if grid.falling else track,
            multiplier=grid.multiplier,
            val_weights=None if held_out is None else held_out[r][1],
            visited=sorted(visited[r]),
        )
        for r, track in enumerate(tracks)
    ]


def debias(solver: Solver, point: Point, stopping: Stopping, fresh: Weights | None) -> Point:
    """Train again on the features of a point only, without a penalty.

    Starts from the point's own weights or, where given, from ``fresh`` ones. The point keeps its λ.
    """
    if not point.n_selected:
        return point
    whole = solver.problem
    columns = torch.from_numpy(point.weights.columns).to(whole.X.device)
    refitter = Solver(
        whole.only(columns), learning_rate=solver.learning_rate, batch_size=solver.batch_size, draw=solver.draw
    )
    if fresh is None:
        rows = np.concatenate([point.weights.skip, point.weights.first], axis=1)
        start = Weights(
            torch.from_numpy(rows)[None].to(whole.X), torch.from_numpy(point.weights.upper)[None].to(whole.X)
        )
    else:
        start = Weights(fresh.rows[:, columns], fresh.upper)
    solution = refitter.minimise(refitter.feasible(start), start.upper.new_zeros(1), stopping)
    refitted = points(refitter, solution, np.array([point.lambda_]), np.zeros(1, dtype=np.int64))[0]
    weights = replace(refitted.weights, columns=point.weights.columns[refitted.weights.columns])
    return replace(refitted, weights=weights, selected=point.selected, n_selected=point.n_selected)


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
    found = _EARLY * first_lambda(solver, dense, sparse)
    return found.min() * ones if shared else found


class Stride:
    """Proposes one λ after another, in longer strides where hardly anything changes.

    Strides are powers of the multiplier. A stride doubles, up to a limit, after a point that changed none or hardly any of the
    features; a long one that changes more than one in 25, and more than one, is gone back on and taken again in single
    steps, so that few departures are jumped over while many features are left, and none at the end. Replicas on one grid are
    counted together.
    """

    def __init__(self, grid: Grid, first: Floats):
        self._seq = (*grid.seq[-2::-1], 0.0) if grid.falling and grid.seq else grid.seq
        self._multiplier = grid.multiplier
        self._next = first
        self._here = first
        self._power = 1
        self._limit = max(1, int(np.log(_LONGEST_STRIDE) / np.log(grid.multiplier)))

    def __iter__(self) -> Iterator[Floats]:
        if self._seq is not None:
            yield from (value * np.ones_like(self._next) for value in self._seq)
            return
        while True:
            yield self._next

    def accepts(self, n_changed: int, n_features: int) -> bool:
        """Say whether to keep the point at the proposed λ, given how many features it changed out of how many."""
        if self._seq is not None:
            return True
        few = max(1, n_features // _FEW)
        if n_changed > few and self._power > 1:
            self._power = 1
            self._next = self._here * self._multiplier
            return False
        self._power = min(2 * self._power, self._limit) if 2 * n_changed <= few else 1
        self._here = self._next
        self._next = self._here * self._multiplier**self._power
        return True


def first_lambda(solver: Solver, dense: Weights, stopping: Stopping) -> Floats:
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
        done = high <= low * _LONGEST_STRIDE
        if done.all():
            break
        between = np.sqrt(low * np.where(np.isinf(high), 1, high))
        trial = np.where(np.isinf(high), 8 * low, np.where(low == 0, high / 8, between))
    return np.where(low > 0, low, high)


def points(solver: Solver, solution: Solution, lambda_: Floats, replicas: NDArray[np.int64]) -> list[Point]:
    """Bring the solutions of some replicas to the host, in few transfers for all of them."""
    problem, look = solver.problem, solution.look
    if not np.isfinite(look.objective[replicas]).all():
        r = replicas[~np.isfinite(look.objective[replicas])][0]
        raise FloatingPointError(
            f"the objective is not finite at lambda_={lambda_[r]:.4g}; scale the columns (standardize=True), or use a "
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
        losses, val_loss, se = _validation(solver, val_losses, r)
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


def _validation(solver: Solver, val_losses: Floats | None, r: int) -> tuple[Floats | None, float, float]:
    """Losses of a replica's validation rows, their mean and its standard error."""
    if val_losses is None or solver.problem.held_out is None:
        return None, float("nan"), float("nan")
    rows, weights = solver.problem.held_out[r]
    losses = val_losses[r, rows]
    return losses, *mean_and_error(losses, weights)


def mean_and_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and its standard error; ``weights`` sum to 1."""
    mean = float(values @ weights)
    n = len(values)
    return mean, float(np.sqrt(np.square(weights * (values - mean)).sum() * n / (n - 1))) if n > 1 else float("inf")
