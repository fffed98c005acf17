"""What an update reads and writes: buffers that stay where they are, so that it can be compiled or captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from riata.network.stacked import Weights
from riata.prox import Groups

__all__ = ["Iterate", "State"]


@dataclass
class Iterate:
    """One point in the space of weights."""

    weights: Weights
    layers: Any  # views of the same numbers, for passes
    norms: Tensor  # (R, G) of the skip rows of each group


@dataclass
class State:
    """R networks between two updates.

    An update takes the gradient at the present iterate and puts the new iterate in the place of the one before; then the two
    change roles (``turn``).
    """

    iterates: tuple[Iterate, Iterate]
    gradient: Weights  # at the present iterate, of the loss alone
    moments: Weights  # running averages of squared gradients: (R, d) one per row, (R, p)
    loss: Tensor  # (R,) at the present iterate
    reached: Tensor  # (R,) objective that the next one is held against
    scale: Tensor  # (R,) size of the steps relative to the learning rate
    fresh: Tensor  # (R,) bool: does not repeat its last move
    live: Tensor  # (R,) bool: may move at all
    active: Tensor  # (R, d) bool: features that may be in the model
    price: Tensor  # (R, G) λ times the cost of each group
    M: Tensor  # (R,)
    is_matrix: Tensor  # (p,) 1 for the entries that gamma acts on
    n_outputs: int  # o: the first so many entries of a row are its skip part
    groups: Groups
    gamma: float
    learning_rate: float
    seeking: bool  # whether the size of the steps is found or stays
    turn: int = 0

    @property
    def now(self) -> Iterate:
        """The present iterate."""
        return self.iterates[self.turn]

    @property
    def last(self) -> Iterate:
        """The iterate before, whose place the next one takes."""
        return self.iterates[1 - self.turn]
