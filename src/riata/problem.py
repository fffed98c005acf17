"""What is to be minimised, for R networks at once, and what one sees on the way.

For every replica r with its own sample weights w, λ and M:

    minimise   Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i  +  λ Σ_j c_j ‖skip_j‖₂  +  γ ‖matrices above the first layer‖²
               + γ_skip ‖skip‖²
    subject to ‖first_j‖∞ ≤ M ‖skip_j‖₂  for every feature (or group of features) j
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import Loss
from riata.network import Network
from riata.prox import Groups

__all__ = ["Look", "Problem"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """The data and the terms of the objective; replicas share X and the target.

    The first ``n_fit`` rows of X are those with a positive weight in some replica; the rest are looked at only.
    """

    network: Network
    loss: Loss
    X: Tensor  # (n, d)
    target: Tensor  # (n, o)
    weights: Tensor  # (R, n_fit), each row sums to 1
    val_weights: Tensor | None  # (R, n), each row sums to 1; None: no validation
    M: Tensor  # (R,)
    costs: Tensor  # (d,)
    groups: Groups
    gamma: float = 0.0
    gamma_skip: float = 0.0
    dropout: float = 0.0

    @property
    def n_replicas(self) -> int:
        """The number R of networks."""
        return self.weights.shape[0]

    @property
    def n_fit(self) -> int:
        """The number of rows to train on."""
        return self.weights.shape[1]

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

    def selected(self, rows: Tensor) -> Tensor:
        """Which features of which replica are in the model: (R, d). Features that cost nothing always are."""
        return self.groups.spread(self.groups.norm(self.skip(rows)) > 0) | (self.costs == 0)

    def only(self, features: Tensor) -> Problem:
        """The same problem on some of the features, given by position."""
        if len(features) == self.X.shape[1]:
            return self
        return replace(self, X=self.X[:, features], costs=self.costs[features], groups=self.groups.only(features))


@dataclass(frozen=True)
class Look:
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
