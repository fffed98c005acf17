"""What an update reads and writes: buffers that keep their place in memory, so that it can be compiled or captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from riata.network.stacked import Weights
from riata.prox import Groups

__all__ = ["Iterate", "State"]


@dataclass
class Iterate:
    """One set of weights."""

    weights: Weights
    layers: Any  # views of the same numbers, for passes
    norms: Tensor  # (R, G) norm of the skip weights of each group


@dataclass
class State:
    """R networks between two updates.

    An update takes the gradient at the present iterate and overwrites the iterate before it with the next one; then the two
    swap roles (``turn``).
    """

    iterates: tuple[Iterate, Iterate]
    gradient: Weights  # at the present iterate, of the loss alone
    moments: Weights  # running averages of squared gradients: (R, d) one per feature, (R, p)
    loss: Tensor  # (R,) at the present iterate
    last_objective: Tensor  # (R,) at the last iterate that was not reverted
    scale: Tensor  # (R,) size of the steps relative to the learning rate
    restarted: Tensor  # (R,) bool: the next step is without momentum
    live: Tensor  # (R,) bool: replicas to update
    active: Tensor  # (R, d) bool: features that may be in the model
    lambdas: Tensor  # (R, G) λ times the penalty weight of each group
    M: Tensor  # (R,)
    is_matrix: Tensor  # (p,) 1 for the entries that gamma acts on
    n_outputs: int  # o: the first so many weights of a feature are its skip weights
    groups: Groups
    sizes: Tensor  # (R, G) columns of each group
    gamma: float
    learning_rate: float
    adapts_scale: bool  # whether the scale follows the objective, or stays as it is
    turn: int = 0

    @property
    def now(self) -> Iterate:
        """The present iterate."""
        return self.iterates[self.turn]

    @property
    def last(self) -> Iterate:
        """The iterate before, which the next one overwrites."""
        return self.iterates[1 - self.turn]
