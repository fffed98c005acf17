"""The problem that is solved at one λ, for R networks at once, and the value of its objective at an iterate.

For every replica r with its own sample weights w, λ and M:

    minimise   Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i  +  λ Σ_j c_j a_j ‖skip_j‖₂  +  γ ‖matrices above the first layer‖²
    subject to ‖first_j‖∞ ≤ M ‖skip_j‖₂  for every feature (or group of features) j

c_j a_j is the penalty weight of feature j: c_j is given with the problem; a_j is 1 or, with an ``adaptive`` penalty, larger for
features whose skip weights were small at the start of the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import Loss
from riata.network.sparse import SparseTable, Table, to_host
from riata.network.stacked import Architecture
from riata.prox import Groups
from riata.ranks import Ranks
from riata.solver.feed import Feed

__all__ = ["Evaluation", "Layout", "Problem"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the columns of each replica are, of replicas that differ in them: −1 stands for a column that a replica lacks."""

    columns: NDArray[np.int64]  # (R, d) positions among the replica's own columns
    source: NDArray[np.int64]  # (R, d) features of the replica

    def only(self, columns: NDArray[np.int64]) -> Layout:
        """The same for some of the columns."""
        return Layout(self.columns[:, columns], self.source[:, columns])

    def holds(self, like: Tensor) -> Tensor:
        """1 for a column that a replica has, 0 for others, (R, d)."""
        return torch.from_numpy(self.columns >= 0).to(like)


@dataclass(frozen=True)
class Problem:
    """The data and the terms of the objective; replicas share X and the target, or have one each.

    The first ``n_fit`` samples are those with a positive weight in some replica; the others only take part in validation. Of
    replicas with an X of their own, some may have fewer samples or columns than others: what is missing has the weight zero
    or holds zeros (:mod:`riata.solver.stack`).

    Where ``ranks`` share a problem, each holds some of its samples; weights sum to 1 over all of them.
    """

    network: Architecture
    loss: Loss
    X: Table  # (n, d), or (R, n, d)
    target: Tensor  # (n, o), or (R, n, o)
    weights: Tensor  # (R, n_fit), those of a replica sum to 1
    val_weights: Tensor | None  # (R, n), those of a replica sum to 1; None: no validation
    M: Tensor  # (R,)
    costs: Tensor  # (d,), or (R, d), the weights c_j
    groups: Groups
    gamma: float = 0.0
    dropout: float = 0.0
    noise: Tensor | None = None  # (d,) standard deviation of the noise added to each column, drawn for every update
    adaptive: float = 0.0  # the exponent of a_j
    embedded: NDArray[np.int64] | None = None  # the feature of each column of X, where several columns encode one
    layout: Layout | None = None  # where replicas differ in their columns
    ranks: Ranks | None = None  # the processes that hold the samples; None: all are here
    feed: Feed | None = None  # further samples to train on, where X holds a part of the table

    @property
    def n_replicas(self) -> int:
        """The number R of networks."""
        return self.weights.shape[0]

    @property
    def n_fit(self) -> int:
        """The number of samples to train on."""
        return self.weights.shape[1]

    @property
    def n_samples(self) -> int:
        """The number of samples, those to validate on included."""
        return self.X.shape[-2]

    @property
    def n_columns(self) -> int:
        """The number d of columns of X."""
        return self.X.shape[-1]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The numbers of samples to train on, and of all samples, of each rank: (ranks, 2)."""
        own = [self.n_fit, self.n_samples]
        return np.array([own] if self.ranks is None else self.ranks.gather(own))

    @property
    def n_fit_of_all(self) -> int:
        """The number of samples to train on, on all ranks."""
        return int(self.counts[:, 0].sum())

    @property
    def n_of_all(self) -> int:
        """The number of all samples, on all ranks."""
        return int(self.counts[:, 1].sum())

    def total(self, part: Tensor) -> Tensor:
        """Return a sum over the samples of all ranks, given that over those of this one."""
        if self.ranks is not None:
            self.ranks.sum_(part)
        return part

    def every(self, step: int) -> Any:
        """Return the inputs of every so many samples to train on, on the host, (·, d); sparse where X is."""
        before = 0 if self.ranks is None else int(self.counts[: self.ranks.rank, 0].sum())
        X, _ = self.samples(-before % step, self.n_fit)
        own = to_host(X)[::step] if isinstance(X, SparseTable) else to_host(X[::step])
        return own if self.ranks is None else self.ranks.concat(own)

    @property
    def dense(self) -> Tensor:
        """X, where it is no sparse table: samples that a feed brings never are."""
        assert not isinstance(self.X, SparseTable)
        return self.X

    @property
    def like(self) -> Tensor:
        """A tensor with the dtype and on the device of X."""
        return self.X.offset if isinstance(self.X, SparseTable) else self.X

    @property
    def n_entries(self) -> int:
        """The number of entries of a sample that a pass multiplies with weights."""
        return len(self.X.values) // self.n_samples if isinstance(self.X, SparseTable) else self.n_columns

    def samples(self, start: int, stop: int) -> tuple[Table, Tensor]:
        """X and the target of some samples in a row."""
        X = self.X.rows(start, stop) if isinstance(self.X, SparseTable) else self.X[..., start:stop, :]
        return X, self.target[..., start:stop, :]

    def batch(self, index: Tensor) -> tuple[Table, Tensor, Tensor]:
        """X, the target and the weights of a mini-batch: the same samples for all replicas, (b,), or those of each, (R, b)."""
        if isinstance(self.X, SparseTable):
            return self.X.take(index), self.target[index], self.weights[..., index]
        if index.ndim == 1:
            # On the CPU this is several times faster than an index.
            X, target = (part.index_select(-2, index) for part in (self.X, self.target))
            return X, target, self.weights.index_select(-1, index)
        replica = torch.arange(len(index), device=index.device).unsqueeze(-1)
        return self.X[replica, index], self.target[replica, index], self.weights[replica, index]

    @property
    def is_random(self) -> bool:
        """Whether an update on all samples draws random numbers."""
        return bool(self.dropout) or self.noise is not None or self.network.is_random

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The user's feature that each column of X encodes, (d,)."""
        return np.arange(self.n_columns) if self.embedded is None else self.embedded

    @cached_property
    def sizes(self) -> Tensor:
        """The number of columns of each group, (G,) or, of each replica, (R, G)."""
        if self.layout is None:
            return self.groups.sum(self.like.new_ones(self.n_columns))
        return self.groups.sum(self.layout.holds(self.like)).clamp_min_(1)

    @cached_property
    def is_matrix(self) -> Tensor:
        """1 for the entries of ``upper`` that ``gamma`` acts on, 0 for biases."""
        return self.network.is_matrix(self.like)

    @cached_property
    def held_out(self) -> list[tuple[NDArray[np.int64], Floats]] | None:
        """Positions of each replica's validation samples, and the weights of those of all ranks, on the host."""
        if self.val_weights is None:
            return None
        weights = self.val_weights.cpu().double().numpy()
        return [(np.flatnonzero(row), self.of_all(row[row > 0])) for row in weights]

    def of_all(self, values: Floats) -> Floats:
        """Return one number for each of some samples of all ranks, given those of this one."""
        return values if self.ranks is None else self.ranks.concat(values)

    def skip(self, rows: Tensor) -> Tensor:
        """The features' weights to the outputs."""
        return rows[..., : self.network.n_outputs]

    def first(self, rows: Tensor) -> Tensor:
        """The features' weights to the first hidden layer."""
        return rows[..., self.network.n_outputs :]

    def units(self, rows: Tensor) -> Tensor:
        """Which groups of which replica are in the model: (R, G). Features without a penalty always are."""
        return (self.groups.norm(self.skip(rows)) > 0) | (self.groups.gather(self.costs) == 0)

    def selected(self, rows: Tensor) -> Tensor:
        """Which columns of which replica are in the model: (R, d)."""
        return self.groups.scatter(self.units(rows))

    def lambdas(self, lambda_: Tensor, rows: Tensor) -> Tensor:
        """λ c_j a_j of each group, (R, G), for one λ per replica and the weights ``rows`` that the solver starts from.

        a_j = (mean norm / norm_j)^adaptive, within [1/20, 20]; the mean is over the groups in the model. For a group that is
        not in the model a_j = 1.
        """
        lambdas = lambda_.unsqueeze(-1) * self.groups.gather(self.costs)
        if not self.adaptive:
            return lambdas
        norms = self.groups.norm(self.skip(rows))
        present = norms > 0
        mean = norms.sum(-1, keepdim=True) / present.sum(-1, keepdim=True).clamp_min(1)
        ratio = torch.where(present, mean / norms.clamp_min(torch.finfo(norms.dtype).tiny), 1.0)
        return lambdas * ratio.pow(self.adaptive).clamp(1 / 20, 20)

    def copies(self, n: int) -> Problem:
        """The same problem for n networks instead of one."""
        val_weights = None if self.val_weights is None else self.val_weights.repeat(n, 1)
        return replace(self, weights=self.weights.repeat(n, 1), val_weights=val_weights, M=self.M.repeat(n))

    def only(self, features: Tensor) -> Problem:
        """The same problem on some of the features, given by position."""
        if len(features) == self.n_columns:
            return self
        X = self.X.only(features) if isinstance(self.X, SparseTable) else self.X[..., features]
        costs, groups = self.costs[..., features], self.groups.only(features)
        noise = None if self.noise is None else self.noise[features]
        known = features.cpu().numpy()
        layout = None if self.layout is None else self.layout.only(known)
        feed = None if self.feed is None else self.feed.only(known)
        few = replace(self, X=X, costs=costs, groups=groups, noise=noise, embedded=self.source[known], layout=layout)
        return replace(few, feed=feed)

    def apart(self, features: Tensor | None = None) -> Problem:
        """The same problem, or that of some of the features, with samples of its own, which a feed may overwrite."""
        few = self if features is None else self.only(features)
        X = few.dense.clone() if few is self else few.X
        return replace(few, X=X, target=few.target.clone(), weights=few.weights.clone())


@dataclass(frozen=True)
class Evaluation:
    """The terms of the objective at one iterate: one number per replica, on the host."""

    loss: Floats
    penalty: Floats  # all terms of the objective but the loss
    val_loss: Floats | None = None
    val_losses: Tensor | None = None  # (R, n) one per sample, on the device

    @property
    def objective(self) -> Floats:
        """The objective: loss and penalty."""
        return self.loss + self.penalty

    @property
    def monitored(self) -> Floats:
        """What early stopping monitors: the objective, with the validation loss where there is one."""
        return self.objective if self.val_loss is None else self.val_loss + self.penalty
