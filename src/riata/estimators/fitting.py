"""The steps of a fit, as functions: prepare what was checked, solve the path, and everything that a fitted model needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray

from riata import threads, together
from riata.losses import JointLoss
from riata.losses.targets import Target
from riata.network import user
from riata.network.constant import constants, with_constants
from riata.network.stacked import Architecture, Network, SparseWeights, Weights
from riata.path import start as starts
from riata.path.grid import Grid
from riata.path.points import Path, Point
from riata.path.refit import Plan, Refit
from riata.path.solve import enough_threads, solve_path
from riata.preprocess.categories import Categories
from riata.preprocess.prepare import ColumnOptions, Preprocessing
from riata.preprocess.prepare import prepare as prepare_columns
from riata.preprocess.redundancy import contributions
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling
from riata.progress import PathProgress
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stack import Stack, batches
from riata.solver.stopping import LONGEST, Stopping, affordable

__all__ = ["Checked", "Prepared", "Settings", "Solved", "iterations", "prepare", "solve"]

Floats = NDArray[np.float64]
_BATCH, _SMALL = 256, 2000  # samples of an update; samples below which an update takes all
_SMALL_JOINT = 20_000  # the same for a loss of all samples together: on a batch it is another loss
_ENTRIES = 2**22  # of the tensors that a block of samples takes on its way forward


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator, checked."""

    columns: ColumnOptions
    network: Any  # widths of the hidden layers, or what the user gave in their place
    grid: Grid
    dense: Stopping
    sparse: Stopping  # n_iters of 0 in either: what suits the table
    M: float
    adaptive: float
    gamma: float
    dropout: float
    learning_rate: float
    batch_size: int | str | None
    dtype: str
    device: torch.device
    until: int  # number of features at which the path ends
    verbose: bool

    def solver(self, problem: Problem, seed: int) -> Solver:
        """Return a solver of a problem, with its own source of randomness."""
        draw = torch.Generator(problem.X.device).manual_seed(seed)
        size = self.batch_size
        if size == "auto":
            small = _SMALL_JOINT if isinstance(problem.loss, JointLoss) else _SMALL
            size = None if problem.n_fit < small else max(_BATCH, problem.n_fit // _BATCH)
        return Solver(problem, learning_rate=self.learning_rate, batch_size=size, draw=draw)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Checked:
    """The data of a fit, checked."""

    samples: Samples
    target: Target
    categories: Categories | None
    costs: Floats  # (n_features,)
    ids: NDArray[np.int64] | None  # (n_features,)
    seeds: tuple[int, int]  # of the solver, and of the weights to start from


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem that can be solved, and what was learnt on the way to it."""

    problem: Problem
    target: Target
    target_scaling: Scaling
    preprocessing: Preprocessing
    strength: Floats  # (n_features,) what each feature explains of the target beside all others
    all_weights: torch.Tensor | None  # (1, n) of all samples, where those to validate on are a part of those given
    seeds: tuple[int, int]

    def start(self) -> Weights:
        """Return weights to start from; always the same."""
        problem = self.problem
        return starts.draw(problem.network, self.seeds[1], problem.X, self.preprocessing.constant)


@threads.one_thread()
def prepare(checked: Checked, settings: Settings) -> Prepared:
    """Learn from the training samples how columns and target are encoded, and pose the problem on the device."""
    samples, target = checked.samples, checked.target
    screened = target.screened(*samples.fit[1:])
    columns = prepare_columns(
        samples,
        settings.columns,
        screened=screened,
        categories=checked.categories,
        costs=checked.costs,
        ids=checked.ids,
        n_informative=target.n_informative(samples.fit[1]),
        device=settings.device,
    )
    learnt, weights = columns.preprocessing, samples.fit[2]
    target_scaling, loss = target.scaled(samples, settings.columns.how is not None, learnt.scaling)
    network = _network(settings, learnt.n_inputs, len(target_scaling.scale), checked.seeds[1])
    network = with_constants(network, target.n_constants)
    tensors = _Tensors(settings.dtype, settings.device)
    groups = Groups(None if columns.ids is None else torch.from_numpy(columns.ids).to(settings.device), learnt.n_inputs)
    problem = Problem(
        network=network,
        loss=loss,
        X=tensors(learnt.inputs(samples.X, settings.dtype)),
        target=tensors(target_scaling.apply(samples.target, np.float64)),
        weights=tensors(weights[None] / weights.sum()),
        val_weights=_validation_weights(samples, tensors),
        M=tensors([settings.M]),
        costs=tensors(columns.penalty_weights),
        groups=groups,
        gamma=settings.gamma,
        dropout=settings.dropout,
        adaptive=settings.adaptive,
        embedded=learnt.expansion.source,
    )
    all_weights = tensors(samples.weights[None] / samples.weights.sum()) if samples.split else None
    strength = np.zeros(learnt.expansion.n_features)
    if screened is not None:
        strength = _strength(problem, screened, weights, learnt)
    return Prepared(problem, target, target_scaling, learnt, strength, all_weights, checked.seeds)


@dataclass(frozen=True)
class _Tensors:
    """Moves arrays to the device."""

    dtype: str
    device: torch.device

    def __call__(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=self.dtype)).to(self.device)


def _validation_weights(samples: Samples, tensors: _Tensors) -> torch.Tensor | None:
    n, n_fit = len(samples.X), samples.n_fit
    if n == n_fit:
        return None
    weights = np.zeros((1, n))
    weights[0, n_fit:] = samples.weights[n_fit:] / samples.weights[n_fit:].sum()
    return tensors(weights)


def _network(settings: Settings, n_inputs: int, n_outputs: int, seed: int) -> Architecture:
    if isinstance(settings.network, tuple):
        return Network(n_outputs, settings.network)
    return user.build(settings.network, n_inputs, n_outputs, seed, getattr(torch, settings.dtype), settings.device)


def _strength(problem: Problem, screened: Floats, weights: Floats, learnt: Preprocessing) -> Floats:
    nonlinear = learnt.screening.strength
    nonlinear = np.zeros(learnt.expansion.n_features) if nonlinear is None else nonlinear
    inputs = problem.X[: problem.n_fit].cpu().numpy()
    return contributions(inputs, screened, weights, learnt.expansion, learnt.scaling.scale, nonlinear)


@dataclass(frozen=True, eq=False)
class Solved:
    """A solved path, and everything that its points need to predict; the training samples only as long as it is in memory."""

    path: Path
    network: Architecture
    target: Target
    target_scaling: Scaling
    preprocessing: Preprocessing
    strength: Floats
    refit: Refit | None  # None in a pickle, which does not hold the training samples
    _refitted: dict[float, Point] = field(default_factory=dict)  # by λ: those that were asked for

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "refit": None}

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing in it changes

    def with_plans(self, plans: Callable[[int], Plan]) -> Solved:
        """Return the same with refits as planned, by number of features, where no sample validates."""
        return self if self.refit is None else replace(self, refit=replace(self.refit, plans=plans))

    def compared(self, how: str | bool) -> Callable[[Point], Point] | None:
        """Return how points are refitted before they are compared."""
        refit = self.refit
        return None if refit is None or not how else lambda point: refit(point, how)

    def knows(self, point: Point, how: str | bool) -> bool:
        """Return whether a point can be used as ``how`` asks for: a pickle cannot refit points that were never asked for."""
        return not how or not point.n_selected or self.refit is not None or point.lambda_ in self._refitted

    def is_refitted(self, point: Point) -> bool:
        """Return whether a point is one after a refit, rather than one of the path."""
        return self._refitted.get(point.lambda_) is point

    @property
    def refitted_points(self) -> list[Point]:
        """The points after a refit that were asked for."""
        return list(self._refitted.values())

    def finished(self, point: Point, how: str | bool) -> Point:
        """Return a point as it is used: refitted on all samples."""
        if not how or not point.n_selected or not self.knows(point, how):
            return point
        if point.lambda_ not in self._refitted and self.refit is not None:
            self._refitted[point.lambda_] = self.refit.finish(point, how)
        return self._refitted[point.lambda_]

    def output(self, weights: SparseWeights, X: NDArray[np.floating]) -> Floats:
        """Return the output of a point for encoded samples on the scale of the target, (n, o), in float64."""
        return self._forward(
            weights, len(X), lambda rows: self.preprocessing.inputs(X[rows], np.float64, weights.columns)
        )

    def output_on_inputs(self, weights: SparseWeights, inputs: Floats) -> Floats:
        """Return the same for samples that are prepared already, (n, n_inputs)."""
        return self._forward(weights, len(inputs), lambda rows: inputs[rows][:, weights.columns])

    def _forward(self, weights: SparseWeights, n: int, inputs: Callable[[slice], Floats]) -> Floats:
        """Pass samples forward in blocks, so that memory does not depend on their number."""
        network, dtype = self.network, np.float64
        rows = torch.from_numpy(np.hstack([weights.skip, weights.first]).astype(dtype))
        upper = torch.from_numpy(weights.upper.astype(dtype))
        output = np.empty((n, network.n_outputs))
        size = max(1, _ENTRIES // (len(rows) + network.width + (network.n_hidden or network.width)))
        with torch.inference_mode(), threads.worth(min(size, n), len(rows), network):
            layers = network.layers(Weights(rows[None], upper[None]))
            sizes = {min(size, n), n % size}
            passes = {m: network.passes(1, m, rows, learns=False) for m in sizes}
            for start in range(0, n, size):
                Z = torch.from_numpy(inputs(slice(start, start + size)))
                output[start : start + size] = passes[len(Z)].forward(layers, Z)[0, :, : network.n_outputs].numpy()
        return output * self.target_scaling.scale + self.target_scaling.center

    def constants(self, weights: SparseWeights) -> Floats:
        """Return the outputs of a point that are the same for all samples, on the scale of training, (n_constants,)."""
        return constants(weights.upper, self.target.n_constants)

    def coefficients(self, weights: SparseWeights) -> Floats:
        """Return the linear weights of a point on the original scale of X and of the target, (o, n_features)."""
        slopes = self.preprocessing.slopes(weights.skip, weights.columns, weights.features)
        return slopes.T * self.target_scaling.scale[:, None]


def solve(prepared: Prepared, settings: Settings) -> Solved:
    """Solve the path of a prepared problem; those of replicas that run together are solved side by side."""
    return together.call(_solve_all, (prepared, settings))


class _Posed(NamedTuple):
    """A problem with everything that it takes to solve its path."""

    prepared: Prepared
    settings: Settings
    solver: Solver
    dense: Stopping
    sparse: Stopping
    start: Weights
    trained: int  # iterations that the start has been trained for

    @property
    def kind(self) -> tuple[Any, ...]:
        """What problems must have in common to be solved side by side, beside what ``stackable`` asks for."""
        settings = self.settings
        in_batches = self.solver.batch_size is not None
        return (settings.grid, self.dense, settings.learning_rate, settings.until, self.trained, in_batches)


def _solve_all(given: list[tuple[Prepared, Settings]]) -> list[Solved]:
    """Solve the paths of several problems, as many side by side as go together and as memory allows."""
    posed = [_pose(prepared, settings) for prepared, settings in given]
    paths: dict[int, Path] = {}
    for chosen in batches([each.solver.problem for each in posed], [each.kind for each in posed]):
        paths |= zip(chosen, _paths([posed[i] for i in chosen]), strict=True)
    return [_solved(each, paths[i]) for i, each in enumerate(posed)]


def _pose(prepared: Prepared, settings: Settings) -> _Posed:
    solver = settings.solver(prepared.problem, prepared.seeds[0])
    dense, sparse = iterations(settings, solver, prepared)
    with enough_threads(solver):
        return _Posed(prepared, settings, solver, dense, sparse, *_start(prepared, settings, solver, dense))


def _paths(posed: list[_Posed]) -> list[Path]:
    """Solve the paths of problems that go together."""
    first = posed[0]
    settings, solver, weights, sparse = first.settings, first.solver, first.start, first.sparse
    if len(posed) > 1:
        stack = Stack([each.solver.problem for each in posed])
        draws = [each.solver.draw for each in posed if each.solver.draw is not None]
        solver = Solver(stack.problem, learning_rate=settings.learning_rate, batch_size=solver.batch_size, draws=draws)
        weights = stack.weights([each.start for each in posed])
        sparse = replace(sparse, n_iters=max(each.sparse.n_iters for each in posed))
    shown = settings.verbose and len(posed) == 1
    with enough_threads(solver), PathProgress(_n_features(first.prepared), until=settings.until, shown=shown) as bar:
        return solve_path(
            solver,
            weights,
            settings.grid,
            first.dense,
            sparse,
            until=settings.until,
            on_point=bar,
            trained=first.trained,
        )


def _solved(posed: _Posed, path: Path) -> Solved:
    prepared, problem = posed.prepared, posed.solver.problem
    # A solver of its own holds the samples, but none of the buffers of the path.
    solver = posed.settings.solver(problem, prepared.seeds[0])
    refit = Refit(solver, posed.dense, path[0], prepared.start, prepared.all_weights)
    return Solved(
        path,
        problem.network,
        prepared.target,
        prepared.target_scaling,
        prepared.preprocessing,
        prepared.strength,
        refit,
    )


def _n_features(prepared: Prepared) -> int:
    return prepared.preprocessing.expansion.n_features


def iterations(settings: Settings, solver: Solver, prepared: Prepared) -> tuple[Stopping, Stopping]:
    """Return when to leave the dense model and other points, with as many iterations as suit the table if none are given."""
    dense, sparse = settings.dense, settings.sparse
    n_batches = 1 if solver.batch_size is None else -(-solver.problem.n_fit // solver.batch_size)
    if not sparse.n_iters:
        suited = affordable(len(solver.problem.X) * _n_features(prepared), n_batches)
        sparse = replace(sparse, n_iters=prepared.target.iters_factor * suited)
    if not dense.n_iters:
        dense = replace(dense, n_iters=LONGEST).in_batches(n_batches)
    return dense, sparse


def _start(prepared: Prepared, settings: Settings, solver: Solver, dense: Stopping) -> tuple[Weights, int]:
    """Return weights to start from, and the iterations that these have been trained for."""
    found, drawn = prepared.preprocessing.screening.interactions, prepared.start()
    if found is None or not found.hidden.any() or starts.ample(solver):
        return drawn, 0
    problem = prepared.problem
    associated = np.flatnonzero(found.clear[problem.source] & ~prepared.preprocessing.constant)
    few = settings.solver(problem.only(torch.from_numpy(associated).to(problem.X.device)), prepared.seeds[0])
    return starts.from_associated(solver, few, drawn, associated, dense)
