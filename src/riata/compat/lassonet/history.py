"""What a path is in ``lassonet``: a list of items with a λ, a network as a state dict, and losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from riata.network.constant import constants
from riata.network.stacked import Network, SparseWeights, Weights

__all__ = ["HistoryItem", "NonFiniteLossError", "feature_importances", "state_dict"]

State = dict[str, Tensor]


class NonFiniteLossError(AssertionError):
    """The training loss became NaN or infinite."""


@dataclass(eq=False)
class HistoryItem:
    """One point of a path.

    Attributes
    ----------
    lambda_ : float
        The penalty in the convention of ``lassonet``; 0 for the dense model.
    loss, val_loss : float
        The criterion on training and validation samples.
    objective, val_objective : float
        The same plus ``lambda_`` times ``regularization``.
    regularization : float
        Sum over features of the norms of their linear weights.
    l2_regularization, l2_regularization_skip : Tensor
        Sum of squared weights above the first layer, and the norm of all linear weights.
    selected : BoolTensor of shape (n_features,)
        The features in the model.
    n_iters : int
        Iterations at this λ.
    """

    lambda_: float
    objective: float
    loss: float
    val_objective: float
    val_loss: float
    regularization: float
    l2_regularization: Tensor
    l2_regularization_skip: Tensor
    selected: Tensor
    n_iters: int
    _weights: SparseWeights = field(repr=False)
    _hidden_dims: tuple[int, ...] = field(repr=False)

    @property
    def state_dict(self) -> State:
        """The network, for ``load_state_dict`` of :class:`LassoNet`."""
        return state_dict(self._weights, self._hidden_dims, len(self.selected))

    def log(self) -> None:
        """Print one line."""
        print(
            f"{self.n_iters} epochs, val_objective {self.val_objective:.2e}, val_loss {self.val_loss:.2e}, "
            f"regularization {self.regularization:.2e}, l2_regularization {float(self.l2_regularization):.2e}"
        )


def state_dict(weights: SparseWeights, hidden_dims: tuple[int, ...], n_features: int) -> State:
    """Return the weights of a point as those of a :class:`LassoNet`; a constant of the target is ``log_sigma``."""
    network = Network(weights.skip.shape[1], hidden_dims)
    skip, first = torch.zeros(n_features, network.n_outputs), torch.zeros(n_features, hidden_dims[0])
    skip[weights.columns], first[weights.columns] = torch.from_numpy(weights.skip), torch.from_numpy(weights.first)
    upper = torch.tensor(weights.upper)[: network.n_upper]
    layers = network.layers(Weights(first[None], upper[None]))
    state = {}
    for i, (matrix, bias) in enumerate(zip([layers.rows, *layers.matrices], layers.biases, strict=True)):
        state[f"layers.{i}.weight"] = matrix[0].T.contiguous()
        state[f"layers.{i}.bias"] = bias[0, 0].clone()
    state["skip.weight"] = skip.T.contiguous()
    for value in constants(weights.upper, len(weights.upper) - network.n_upper):
        state["log_sigma"] = torch.tensor(value, dtype=torch.float32)
    return state


def feature_importances(path: Sequence[HistoryItem]) -> Tensor:
    """Return the λ at which each feature is out for the first time; infinity for those that never are."""
    importances = torch.full((len(path[0].selected),), float("inf"))
    for item in reversed(path[1:]):
        importances[~item.selected] = item.lambda_
    return importances
