"""The step of a fit that solves the path, and what a fitted model needs of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata import threads, together
from riata.estimators.fitting import Prepared, Settings
from riata.losses.targets import Target
from riata.network.constant import constants
from riata.network.sparse import Table, block
from riata.network.stacked import Architecture, SparseWeights, Weights
from riata.path import start as starts
from riata.path.points import Path, Point
from riata.path.refit import Plan, Refit
from riata.path.solve import enough_threads, solve_path
from riata.preprocess.prepare import Preprocessing
from riata.preprocess.scaling import Scaling
from riata.progress import PathProgress
from riata.solver.faults import in_parts, within_memory
from riata.solver.solve import Solver
from riata.solver.stack import Stack, batches
from riata.solver.stopping import LONGEST, Stopping, affordable
from riata.storage import UNSAVED, Checkpoint

__all__ = ["Solved", "iterations", "solve"]

Floats = NDArray[np.float64]
_ENTRIES = 2**22  # of the tensors that a block of samples takes on its way forward


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

    def output(self, weights: SparseWeights, X: Any) -> Floats:
        """Return the output of a point for encoded samples on the scale of the target, (n, o), in float64."""
        return self._forward(
            weights, X.shape[0], lambda rows: self.preprocessing.inputs(_rows(X, rows), np.float64, weights.columns)
        )

    def output_on_inputs(self, weights: SparseWeights, inputs: Table) -> Floats:
        """Return the same for samples that are prepared already, (n, n_inputs)."""
        columns = torch.from_numpy(weights.columns).to(inputs.device)
        return self._forward(weights, inputs.shape[0], lambda rows: block(inputs, rows, columns).cpu().double().numpy())

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


def _rows(X: Any, rows: slice) -> Any:
    """Return some samples, of a sparse table in the form from which columns are taken."""
    return X[rows].tocsc() if issparse(X) else X[rows]


def solve(prepared: Prepared, settings: Settings, saved: Checkpoint = UNSAVED) -> Solved:
    """Solve the path of a prepared problem; those of replicas that run together are solved side by side."""
    return together.call(_solve_all, (prepared, settings, saved))


class _Posed(NamedTuple):
    """A problem with everything that it takes to solve its path."""

    prepared: Prepared
    settings: Settings
    solver: Solver
    dense: Stopping
    sparse: Stopping
    start: Weights
    trained: int  # iterations that the start has been trained for
    saved: Checkpoint

    @property
    def kind(self) -> tuple[Any, ...]:
        """What problems must have in common to be solved side by side, beside what ``stackable`` asks for."""
        settings = self.settings
        in_batches = self.solver.batch_size is not None
        return (settings.grid, self.dense, settings.learning_rate, settings.until, self.trained, in_batches)


def _solve_all(given: list[tuple[Prepared, Settings, Checkpoint]]) -> list[Solved]:
    """Solve the paths of several problems, as many side by side as go together and as memory allows."""
    posed = [_pose(*each) for each in given]
    paths: dict[int, Path] = {}
    for chosen in batches([each.solver.problem for each in posed], [each.kind for each in posed]):
        paths |= zip(chosen, in_parts(_paths, [posed[i] for i in chosen]), strict=True)
    return [_solved(each, paths[i]) for i, each in enumerate(posed)]


def _pose(prepared: Prepared, settings: Settings, saved: Checkpoint) -> _Posed:
    solver = settings.solver(prepared.problem, prepared.seeds[0])
    dense, sparse = iterations(settings, solver, prepared)
    with enough_threads(solver):
        start, trained = _start(prepared, settings, solver, dense, saved)
    return _Posed(prepared, settings, solver, dense, sparse, start, trained, saved)


def _paths(posed: Sequence[_Posed]) -> list[Path]:
    """Solve the paths of problems that go together; that of a single one in blocks of samples where memory is too small."""
    return _side_by_side(posed) if len(posed) > 1 else within_memory(posed[0].solver, lambda: _side_by_side(posed))


def _side_by_side(posed: Sequence[_Posed]) -> list[Path]:
    first = posed[0]
    settings, solver, weights, sparse = first.settings, first.solver, first.start, first.sparse
    for each in posed:
        each.solver.rewind()  # memory may have been too small before
    if len(posed) > 1:
        stack = Stack([each.solver.problem for each in posed])
        draws = [each.solver.draw for each in posed if each.solver.draw is not None]
        solver = Solver(stack.problem, learning_rate=settings.learning_rate, batch_size=solver.batch_size, draws=draws)
        weights = stack.weights([each.start for each in posed])
        sparse = replace(sparse, n_iters=max(each.sparse.n_iters for each in posed))
    shown = settings.verbose and len(posed) == 1 and (settings.ranks is None or settings.ranks.rank == 0)
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
            saved=first.saved,
        )


def _solved(posed: _Posed, path: Path) -> Solved:
    prepared, problem = posed.prepared, posed.solver.problem
    # A solver of its own holds the samples, but none of the buffers of the path.
    solver = posed.settings.solver(problem, prepared.seeds[0])
    solver.block_size = posed.solver.block_size
    refit = Refit(solver, posed.dense, path[0], prepared.start, prepared.all_weights, saved=posed.saved)
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
    n_batches = 1 if solver.batch_size is None else -(-solver.problem.n_fit_of_all // solver.batch_size)
    if not sparse.n_iters:
        suited = affordable(solver.problem.n_of_all * _n_features(prepared), n_batches)
        sparse = replace(sparse, n_iters=prepared.target.iters_factor * suited)
    if not dense.n_iters:
        dense = replace(dense, n_iters=LONGEST).in_batches(n_batches)
    return dense, sparse


def _start(
    prepared: Prepared, settings: Settings, solver: Solver, dense: Stopping, saved: Checkpoint
) -> tuple[Weights, int]:
    """Return weights to start from, and the iterations that these have been trained for."""
    found, drawn = prepared.preprocessing.screening.interactions, prepared.start()
    if found is None or not found.hidden.any() or starts.ample(solver):
        return drawn, 0
    problem = prepared.problem
    associated = np.flatnonzero(found.clear[problem.source] & ~prepared.preprocessing.constant)

    def train() -> tuple[Weights, int]:
        few = settings.solver(problem.only(torch.from_numpy(associated).to(problem.X.device)), prepared.seeds[0])
        return within_memory(few, lambda: starts.from_associated(solver, few, drawn, associated, dense))

    weights, n_iters = saved.made("start", train)
    return Weights(*(part.to(problem.like) for part in weights)), n_iters
