"""What goes into a fit, checked, and the step that prepares it: from data to a problem on the device."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata import threads
from riata.estimators import sharing
from riata.losses import JointLoss
from riata.losses.targets import Target
from riata.network import sparse, user
from riata.network.constant import with_constants
from riata.network.stacked import Architecture, Network, Weights
from riata.path import start as starts
from riata.path.grid import Grid
from riata.preprocess.blocks import one_by_one
from riata.preprocess.categories import Categories
from riata.preprocess.prepare import ColumnOptions, Preprocessing
from riata.preprocess.prepare import prepare as prepare_columns
from riata.preprocess.redundancy import contributions, stride
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling
from riata.prox import Groups
from riata.ranks import Ranks
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping

__all__ = ["Checked", "Prepared", "Settings", "prepare"]

Floats = NDArray[np.float64]
_BATCH, _SMALL = 256, 2000  # samples of an update; samples below which an update takes all
_SMALL_JOINT = 20_000  # the same for a loss of all samples together: on a batch it is another loss


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
    ranks: Ranks | None = None  # the processes that hold the samples; None: all are here

    def solver(self, problem: Problem, seed: int) -> Solver:
        """Return a solver of a problem, with its own source of randomness."""
        own = 0 if problem.ranks is None else problem.ranks.rank
        draw = torch.Generator(problem.X.device).manual_seed(seed + own)
        size = self.batch_size
        if size == "auto":
            small = _SMALL_JOINT if isinstance(problem.loss, JointLoss) else _SMALL
            n = problem.n_fit_of_all
            all_at_once = n < small and problem.feed is None
            size = None if all_at_once else max(_BATCH, n // _BATCH)
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
        drawn = starts.draw(problem.network, self.seeds[1], problem.X, self.preprocessing.constant)
        if problem.ranks is None:
            return drawn
        return Weights(*(part.to(problem.like) for part in problem.ranks.of_first(tuple(part.cpu() for part in drawn))))


@threads.one_thread()
def prepare(checked: Checked, settings: Settings) -> Prepared:
    """Learn from the training samples how columns and target are encoded, and pose the problem on the device."""
    samples, target, ranks = checked.samples, checked.target, settings.ranks
    screened = target.screened(*samples.fit[1:])
    with nullcontext() if ranks is None else one_by_one():  # columns are gathered in one order on all ranks
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
    if ranks is not None:
        columns = ranks.of_first(columns)  # where processors differ, so may the last bits
    learnt, weights = columns.preprocessing, samples.fit[2]
    own = sharing.here(samples)
    target_scaling, loss = target.scaled(samples, settings.columns.how is not None, learnt.scaling)
    network = _network(settings, learnt.n_inputs, len(target_scaling.scale), checked.seeds[1])
    network = with_constants(network, target.n_constants)
    tensors = _Tensors(settings.dtype, settings.device)
    groups = Groups(None if columns.ids is None else torch.from_numpy(columns.ids).to(settings.device), learnt.n_inputs)
    problem = Problem(
        network=network,
        loss=loss,
        X=_inputs(own.X, learnt, tensors),
        target=tensors(target_scaling.apply(own.target, np.float64)),
        weights=tensors(own.fit[2][None] / weights.sum()),
        val_weights=_validation_weights(samples, own, tensors),
        M=tensors([settings.M]),
        costs=tensors(columns.penalty_weights),
        groups=groups,
        gamma=settings.gamma,
        dropout=settings.dropout,
        adaptive=settings.adaptive,
        embedded=learnt.expansion.source,
        ranks=ranks,
    )
    all_weights = tensors(own.weights[None] / samples.weights.sum()) if samples.split else None
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


def _inputs(X: Any, learnt: Preprocessing, tensors: _Tensors) -> sparse.Table:
    """Return what the network gets of all samples, as a sparse table where X is one and all entries would be many."""
    if not issparse(X):
        return tensors(learnt.inputs(X, tensors.dtype))
    if X.shape[0] * learnt.n_inputs <= sparse.LARGEST:
        return tensors(learnt.inputs(X.tocsc(), tensors.dtype))
    return sparse.of_scipy(*learnt.implicit(X), getattr(torch, tensors.dtype), tensors.device)


def _validation_weights(samples: Samples, own: Samples, tensors: _Tensors) -> torch.Tensor | None:
    if len(samples.target) == samples.n_fit:
        return None
    weights = np.zeros((1, len(own.target)))
    weights[0, own.n_fit :] = own.weights[own.n_fit :] / samples.weights[samples.n_fit :].sum()
    return tensors(weights)


def _network(settings: Settings, n_inputs: int, n_outputs: int, seed: int) -> Architecture:
    if isinstance(settings.network, tuple):
        return Network(n_outputs, settings.network)
    return user.build(settings.network, n_inputs, n_outputs, seed, getattr(torch, settings.dtype), settings.device)


def _strength(problem: Problem, screened: Floats, weights: Floats, learnt: Preprocessing) -> Floats:
    nonlinear = learnt.screening.strength
    nonlinear = np.zeros(learnt.expansion.n_features) if nonlinear is None else nonlinear
    inputs = problem.every(stride(problem.n_fit_of_all))
    return contributions(inputs, screened, weights, learnt.expansion, learnt.scaling.scale, nonlinear)
