"""Training of a network that predicts all columns of a table from some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.completion import soft_impute
from riata.completion.hiding import MAX_FILLS, Completer, Gaps
from riata.completion.points import FilledPoint, as_tensors, evaluate_point
from riata.losses import ReconstructionError
from riata.network.stacked import Network, Weights
from riata.path.points import Point
from riata.path.solve import points
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.solve import SolverState
from riata.solver.stopping import Stopping
from riata.storage import UNSAVED, Checkpoint

__all__ = ["HistoryRow", "Trained", "Trainer", "linear_precision", "train"]

Floats = NDArray[np.float64]
_WIDEST = 2000  # columns up to which training begins with a linear model of all of them
_ITERS_PER_HIDING, _ITERS_PER_EVALUATION = 3, 9
_FILL_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)  # of which the one of lowest validation error is selected


class HistoryRow(NamedTuple):
    """One evaluation during training."""

    n_iters: int  # iterations over the table's copies so far
    loss: float  # mean squared error on the entries hidden last, after the iterations that learnt from them
    val_error: float  # mean squared error on the validation entries, of averaged weights; NaN without any
    n_fills: int  # that gave this error
    change: float  # relative change of the filled entries since the last evaluation


class Trained(NamedTuple):
    """The result of training."""

    weights: Weights
    n_fills: int
    history: list[HistoryRow]


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains networks that predict all columns of a table from some of them."""

    network: Network
    gaps: Gaps
    Q: Floats | None  # of Soft-Impute, see riata.completion.soft_impute; None to start at random
    M: float
    costs: Floats  # (d,)
    ids: NDArray[np.int64] | None  # of groups
    gamma: float
    adaptive: float
    hide: float
    learning_rate: float
    stopping: Stopping
    seeds: tuple[int, int]  # of the entries to hide, and of the initial weights
    on_evaluation: Callable[[HistoryRow], None] | None = None
    saved: Checkpoint = UNSAVED

    def run(self, inputs: NDArray[np.int64], initial: Point | None = None) -> tuple[Completer, Trained]:
        """Train on some columns, given by position, from the linear model or from the weights of a point with these."""
        completer = self._completer(inputs)
        what = f"{inputs.tolist()} {None if initial is None else initial.lambda_.hex()}"
        name = f"trained-{sha256(what.encode()).hexdigest()[:16]}"
        known: tuple[Trained, SolverState] | None = self.saved.read(name)
        if known is not None:
            trained, state = known
            weights = Weights(*(part.to(self.gaps.values) for part in trained.weights))
            completer.restore(state, weights)
            return completer, trained._replace(weights=weights)
        start = self._start(inputs) if initial is None else as_tensors(initial.weights, self.gaps.values)
        completer.active_set = False  # a column without a linear association starts at zero, and must be able to enter
        trained = train(completer, start, self.stopping, self.on_evaluation)
        completer.active_set = True
        self.saved.write(name, (trained, completer.state(trained.weights)))
        return completer, trained

    def point(self, completer: Completer, trained: Trained, lambda_: float = 0.0) -> FilledPoint:
        """Return the result of training as a point of a path."""
        zero = trained.weights.upper.new_zeros(1)
        solution = completer.minimise(trained.weights, zero, Stopping(0, None, 0.0))
        point = points(completer.problem, solution, np.array([lambda_]), np.zeros(1, dtype=np.int64))[0]
        features = completer.columns.cpu().numpy()[point.weights.columns]
        selected = np.zeros(len(self.costs), dtype=bool)
        selected[features] = True
        point = replace(
            point,
            selected=selected,
            n_selected=len(features),
            n_iters=trained.history[-1].n_iters,
            weights=replace(point.weights, columns=features, features=features),
        )
        filled = FilledPoint(**vars(point), n_fills=trained.n_fills)
        return evaluate_point(filled, self.network, self.gaps, (trained.n_fills,))

    def _completer(self, inputs: NDArray[np.int64]) -> Completer:
        """Pose the problem: copies of the table, about 2,048 samples but at most 8 copies, each with other entries hidden."""
        values, observed = self.gaps.values, self.gaps.observed
        n, d = values.shape
        n_samples = n * int(np.clip(np.ceil(2048 / n), 1, 8))
        columns = torch.from_numpy(inputs).to(values.device)
        ids = None if self.ids is None else torch.from_numpy(self.ids[inputs]).to(values.device)
        problem = Problem(
            network=self.network,
            loss=ReconstructionError(max(float(observed.sum()) * (self.hide or 1.0) / n, 1e-12)),
            X=values.new_zeros(n_samples, len(inputs)),
            target=values.new_full((n_samples, d), torch.nan),
            weights=values.new_full((1, n_samples), 1 / n_samples),
            val_weights=None,
            M=values.new_full((1,), self.M),
            costs=torch.from_numpy(self.costs[inputs]).to(values),
            groups=Groups(ids, len(inputs)),
            gamma=self.gamma,
            adaptive=self.adaptive,
        )
        draw = torch.Generator(values.device).manual_seed(self.seeds[0])
        return Completer(problem, self.gaps, columns, hide=self.hide, draw=draw, learning_rate=self.learning_rate)

    def _start(self, inputs: NDArray[np.int64]) -> Weights:
        """Return weights with the linear part of Soft-Impute and random hidden layers whose output is zero.

        Columns whose observed entries are constant start outside the model.
        """
        values = self.gaps.values
        start = self.network.init(len(inputs), [self.seeds[1]], values.dtype, values.device)
        if self.Q is not None:
            linear = torch.from_numpy(soft_impute.regressions(self.Q, inputs))
            start.rows[..., : self.network.n_outputs] = linear.to(values)
            layers = self.network.layers(start)
            layers.matrices[-1].zero_()
            layers.biases[-1].zero_()
        low, high = self.gaps.limits
        start.rows[:, (low == high)[torch.from_numpy(inputs).to(values.device)]] = 0
        return start


@torch.inference_mode()
def train(
    completer: Completer,
    start: Weights,
    stopping: Stopping,
    on_evaluation: Callable[[HistoryRow], None] | None = None,
) -> Trained:
    """Hide entries and descend, until the validation error or the filled entries stop improving.

    The weights are an exponential moving average over hidings, at the evaluation of lowest validation error; without
    validation entries at the last evaluation.
    """
    weights = completer.feasible(start)
    average, best = _copy(weights), _copy(weights)
    n_fills, lowest_error, best_iter, n_iters, loss = MAX_FILLS, np.inf, 0, 0, float("nan")
    history: list[HistoryRow] = []
    filled = completer.gaps.values[~completer.gaps.observed]
    while True:
        error, found_fills, output = _evaluate(completer, average, 4 * n_fills if n_iters else _FILL_COUNTS[-1])
        change, filled = _relative_change(output, filled), output
        history.append(HistoryRow(n_iters, loss, error, found_fills, change))
        if on_evaluation is not None:
            on_evaluation(history[-1])
        if not error >= lowest_error:  # NaN, without validation entries, is accepted as well
            best, n_fills, lowest_error, best_iter = _copy(average), found_fills, error, n_iters
        out_of_patience = stopping.patience is not None and n_iters - best_iter >= stopping.patience
        if n_iters >= stopping.n_iters or out_of_patience or (n_iters and change <= stopping.tol):
            return Trained(best, n_fills, history)
        until = min(n_iters + _ITERS_PER_EVALUATION, stopping.n_iters)
        while n_iters < until:
            few = Stopping(min(_ITERS_PER_HIDING, until - n_iters), None, 0.0)
            solution = completer.minimise(weights, weights.upper.new_zeros(1), few)
            weights, loss = solution.weights, float(solution.evaluation.loss[0])
            _update_average(average, weights)
            n_iters += few.n_iters


def _evaluate(completer: Completer, weights: Weights, max_fills: int) -> tuple[float, int, Tensor]:
    """Return the lowest validation error, the number of fills that has it, and the entries filled in with this number.

    Without validation entries the error is NaN and the number is the largest of training.
    """
    gaps = completer.gaps
    validation = ~gaps.validation.isnan()
    found: dict[int, tuple[float, Tensor]] = {}

    def on_fill(i: int, output: Tensor) -> None:
        if i in _FILL_COUNTS:
            error = float((output[validation] - gaps.validation[validation]).square().mean())
            found[i] = error, output[~gaps.observed]

    validates = bool(validation.any())
    completer.completions(
        weights, max(MAX_FILLS, min(max_fills, _FILL_COUNTS[-1])) if validates else MAX_FILLS, on_fill
    )
    n_fills = min(found, key=lambda i: found[i][0]) if validates else MAX_FILLS
    return found[n_fills][0], n_fills, found[n_fills][1]


def _relative_change(new: Tensor, old: Tensor) -> float:
    """Change of filled entries relative to their norm; NaN, which is below no tolerance, if there are none."""
    size = float(new.square().sum())
    return float((new - old).square().sum() / size) ** 0.5 if size > 0 else float("nan")


def _update_average(average: Weights, weights: Weights) -> None:
    """Update an exponential moving average of about ten hidings: entries hidden at random make each iterate noisy."""
    for mean, new in zip(average, weights, strict=True):
        mean.lerp_(new, 1 - 0.9)


def _copy(weights: Weights) -> Weights:
    return Weights(weights.rows.clone(), weights.upper.clone())


def linear_precision(gaps: Gaps) -> Floats | None:
    """Return Q of Soft-Impute; None for more than 2,000 columns, whose covariances alone would take gigabytes."""
    if gaps.values.shape[1] > _WIDEST:
        return None
    values, validation = (table.cpu().double().numpy() for table in (gaps.values, gaps.validation))
    return soft_impute.precision(values, gaps.observed.cpu().numpy(), validation)
