"""Networks with constants: outputs that are the same for all samples, such as the scale of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from riata.network.sparse import Table
from riata.network.stacked import AnyPass, Architecture, Weights

__all__ = ["ConstantPass", "WithConstants", "constants", "with_constants"]

# A constant is so many times its entry of the flat vector. An update changes all entries about equally. An output changes by
# the sum of what many weights do to it, and a constant that had one entry alone would lag behind, at the scale of an earlier
# network. Measured at 1, 5, 10 and 20.
_FACTOR = 10.0


class _Layers(NamedTuple):
    """Views of the weights."""

    rows: Tensor
    network: Any  # layers of the network itself
    entries: Tensor  # (R, c) the constants, but for the factor


def with_constants(network: Architecture, n_constants: int) -> Architecture:
    """Return a network with so many constants, for 0 the network itself."""
    return WithConstants(network, n_constants) if n_constants else network


def constants(upper: NDArray[np.floating], n_constants: int) -> NDArray[np.float64]:
    """Return the constants of one network from its flat vector, (c,)."""
    return _FACTOR * upper[len(upper) - n_constants :].astype(np.float64)


@dataclass(frozen=True)
class WithConstants:
    """A network, and numbers that do not depend on X; see :class:`riata.network.stacked.Architecture`.

    A pass returns the outputs of the network and after them the constants, (R, n, o + c). Constants start at 0, are the last
    entries of the flat vector, divided by ten, and have no penalty. Features have weights to the o outputs only: ``n_outputs``
    is o.

    Parameters
    ----------
    network : Architecture
        The network itself.
    n_constants : int
        Their number c.
    """

    network: Architecture
    n_constants: int

    @property
    def n_outputs(self) -> int:
        """Width of the network's output."""
        return self.network.n_outputs

    @property
    def width(self) -> int:
        """Number of each feature's weights."""
        return self.network.width

    @property
    def n_upper(self) -> int:
        """Number of parameters above the first layer, with the constants."""
        return self.network.n_upper + self.n_constants

    @property
    def n_hidden(self) -> int | None:
        """Number of hidden units, where the replicas run side by side."""
        return self.network.n_hidden

    @property
    def is_random(self) -> bool:
        """Whether an update draws random numbers."""
        return self.network.is_random

    @property
    def recordable(self) -> bool:
        """Whether passes can be recorded on a device and replayed."""
        return self.network.recordable

    def init(self, n_features: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device) -> Weights:
        """Start from the network's weights, and from 0."""
        rows, upper = self.network.init(n_features, seeds, dtype, device)
        return Weights(rows, torch.cat([upper, upper.new_zeros(len(upper), self.n_constants)], -1))

    def layers(self, weights: Weights) -> _Layers:
        """Return views of the weights."""
        upper, entries = weights.upper.split([self.network.n_upper, self.n_constants], dim=-1)
        return _Layers(weights.rows, self.network.layers(Weights(weights.rows, upper)), entries)

    def is_matrix(self, like: Tensor) -> Tensor:
        """Return 0 for constants, as for biases."""
        return torch.cat([self.network.is_matrix(like), like.new_zeros(self.n_constants)])

    def passes(self, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True) -> ConstantPass:
        """Make the buffers of a pass over so many samples."""
        return ConstantPass(self.network.passes(n_replicas, n_samples, like, learns=learns), self.n_constants)

    def module(self, first: Tensor, upper: Tensor) -> nn.Module:
        """Return g of the network itself."""
        return self.network.module(first, upper[: self.network.n_upper])


class ConstantPass(AnyPass):
    """A pass of the network itself, with the constants put beside its output.

    Parameters
    ----------
    inner : AnyPass
        Of the network itself.
    n_constants : int
        Number of constants.
    """

    def __init__(self, inner: AnyPass, n_constants: int):
        self._inner = inner
        self.loss = inner.loss
        self.product_gradient = inner.product_gradient
        self.output = _wider(inner.output, n_constants)
        self.output_gradient = _wider(inner.output_gradient, n_constants)
        self._o = inner.output.shape[-1]

    def forward(self, layers: _Layers, X: Table, dropout: float = 0.0, draw: torch.Generator | None = None) -> Tensor:
        """Run all replicas on the same samples; see the base class."""
        self.output[..., : self._o].copy_(self._inner.forward(layers.network, X, dropout, draw))
        self.output[..., self._o :].copy_(layers.entries.unsqueeze(-2)).mul_(_FACTOR)
        return self.output

    def backward_upper(self, layers: _Layers, gradient: _Layers) -> None:
        """Write the gradient by everything above the features' weights; see the base class."""
        self._inner.output_gradient.copy_(self.output_gradient[..., : self._o])
        self._inner.backward_upper(layers.network, gradient.network)
        torch.sum(self.output_gradient[..., self._o :], -2, out=gradient.entries).mul_(_FACTOR)


def _wider(buffer: Tensor, n_columns: int) -> Tensor:
    return buffer.new_empty(*buffer.shape[:-1], buffer.shape[-1] + n_columns)
