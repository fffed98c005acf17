"""What is to be minimised, for R networks at once, and what one sees on the way.

For every replica r with its own sample weights w, λ and M:

    minimise   Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i  +  λ Σ_j c_j a_j ‖skip_j‖₂  +  γ ‖matrices above the first layer‖²
    subject to ‖first_j‖∞ ≤ M ‖skip_j‖₂  for every feature (or group of features) j

c_j are the prices of the features, the user's costs among them; a_j is 1 or, with an ``adaptive`` penalty, larger for
features that were weak where the solver started from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import Loss
from riata.network.stacked import Architecture
from riata.prox import Groups

__all__ = ["Evaluation", "Problem"]

Floats = NDArray[np.float64]
_DEAREST = 20.0  # an adaptive penalty makes a feature at most so many times dearer, or cheaper, than its cost


@dataclass(frozen=True)
class Problem:
    """The data and the terms of the objective; replicas share X and the target.

    The first ``n_fit`` rows of X are those with a positive weight in some replica; the rest are looked at only.
    """

    network: Architecture
    loss: Loss
    X: Tensor  # (n, d)
    target: Tensor  # (n, o)
    weights: Tensor  # (R, n_fit), each row sums to 1
    val_weights: Tensor | None  # (R, n), each row sums to 1; None: no validation
    M: Tensor  # (R,)
    costs: Tensor  # (d,)
    groups: Groups
    gamma: float = 0.0
    dropout: float = 0.0
    noise: Tensor | None = None  # (d,) standard deviations of what is added to each column, anew in every update
    adaptive: float = 0.0
    embedded: NDArray[np.int64] | None = None  # the feature behind each column of X, where that is not the column

    @property
    def n_replicas(self) -> int:
        """The number R of networks."""
        return self.weights.shape[0]

    @property
    def n_fit(self) -> int:
        """The number of rows to train on."""
        return self.weights.shape[1]

    @property
    def is_random(self) -> bool:
        """Whether an update on all rows draws something."""
        return bool(self.dropout) or self.noise is not None or self.network.is_random

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The user's feature behind each column of X, (d,)."""
        return np.arange(self.X.shape[1]) if self.embedded is None else self.embedded

    @cached_property
    def is_matrix(self) -> Tensor:
        """1 for the entries of ``upper`` that ``gamma`` acts on, 0 for biases."""
        return self.network.is_matrix(self.X)

    @cached_property
    def held_out(self) -> list[tuple[NDArray[np.int64], Floats]] | None:
        """Positions and weights of each replica's validation rows, on the host."""
        if self.val_weights is None:
            return None
        weights = self.val_weights.cpu().double().numpy()
        return [(np.flatnonzero(row), row[row > 0]) for row in weights]

    def skip(self, rows: Tensor) -> Tensor:
        """The part of rows that leads to the outputs."""
        return rows[..., : self.network.n_outputs]

    def first(self, rows: Tensor) -> Tensor:
        """The part of rows that leads to the first hidden layer."""
        return rows[..., self.network.n_outputs :]

    def units(self, rows: Tensor) -> Tensor:
        """Which groups of which replica are in the model: (R, G). Features that cost nothing always are."""
        return (self.groups.norm(self.skip(rows)) > 0) | (self.groups.gather(self.costs) == 0)

    def selected(self, rows: Tensor) -> Tensor:
        """Which columns of which replica are in the model: (R, d)."""
        return self.groups.scatter(self.units(rows))

    def lambdas(self, lambda_: Tensor, rows: Tensor) -> Tensor:
        """λ c_j a_j of each group, (R, G), for one λ per replica and the rows that the solver starts from.

        a_j = (mean norm / norm_j) to the power of ``adaptive``, with the norms of the groups in the model. One that is out
        costs as much as an average one.
        """
        price = lambda_.unsqueeze(-1) * self.groups.gather(self.costs)
        if not self.adaptive:
            return price
        norms = self.groups.norm(self.skip(rows))
        present = norms > 0
        mean = norms.sum(-1, keepdim=True) / present.sum(-1, keepdim=True).clamp_min(1)
        ratio = torch.where(present, mean / norms.clamp_min(torch.finfo(norms.dtype).tiny), 1.0)
        return price * ratio.pow(self.adaptive).clamp(1 / _DEAREST, _DEAREST)

    def copies(self, n: int) -> Problem:
        """The same problem for n networks instead of one."""
        val_weights = None if self.val_weights is None else self.val_weights.repeat(n, 1)
        return replace(self, weights=self.weights.repeat(n, 1), val_weights=val_weights, M=self.M.repeat(n))

    def only(self, features: Tensor) -> Problem:
        """The same problem on some of the features, given by position."""
        if len(features) == self.X.shape[1]:
            return self
        X, costs, groups = self.X[:, features], self.costs[features], self.groups.only(features)
        noise = None if self.noise is None else self.noise[features]
        source = self.source[features.cpu().numpy()]
        return replace(self, X=X, costs=costs, groups=groups, noise=noise, embedded=source)


@dataclass(frozen=True)
class Evaluation:
    """The state of affairs at one iterate: one number per replica, on the host."""

    loss: Floats
    penalty: Floats  # all terms of the objective but the loss
    val_loss: Floats | None = None
    val_losses: Tensor | None = None  # (R, n) one per sample, on the device

    @property
    def objective(self) -> Floats:
        """What is minimised."""
        return self.loss + self.penalty

    @property
    def judged(self) -> Floats:
        """What early stopping watches: the objective with the validation loss, where there is one."""
        return self.objective if self.val_loss is None else self.val_loss + self.penalty
