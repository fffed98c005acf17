"""R residual networks side by side: f(x) = skip(x) + g(x), with g a feed-forward ReLU network.

The weights of feature *j* in replica *r* are one contiguous row ``[skip_j | first_j]`` of length o + K, so that the skip
connection and the first layer are one matrix product forward and one backward. Everything above the first layer, biases
included, is one flat vector per replica. Passes work in buffers of their own, which keep their place in memory.

The solver takes any network with this layout: :class:`Architecture` is what it needs of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from riata.network.products import multiply
from riata.network.sparse import Table, backward, forward

__all__ = ["AnyPass", "Architecture", "Layers", "Network", "Pass", "SparseWeights", "Weights", "linear", "uniform"]


class Weights(NamedTuple):
    """All parameters of R networks, or their gradients."""

    rows: Tensor  # (R, d, o + K) each feature's weights, skip_j and first_j
    upper: Tensor  # (R, p) everything above the first layer's weights


class Layers(NamedTuple):
    """Views of the same numbers, layer by layer."""

    rows: Tensor
    matrices: list[Tensor]  # (R, K_l, K_{l+1}), above the first layer
    biases: list[Tensor]  # (R, 1, K_l), from the first layer on


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """The weights of one network, without those of the features that are not in it."""

    columns: NDArray[np.int64]  # (k,) columns of the expanded table that are in it
    features: NDArray[
        np.int64
    ]  # (k,) the features that these columns encode; the columns themselves where each is a feature
    skip: NDArray[np.floating]  # (k, o)
    first: NDArray[np.floating]  # (k, K)
    upper: NDArray[np.floating]  # (p,)


class AnyPass:
    """Forward and backward over n samples for all replicas, in buffers that are reused.

    Parameters
    ----------
    network : Architecture
        The shape of the networks.
    n_replicas, n_samples : int
        Numbers of networks and of samples.
    like : Tensor
        Has the dtype and the device.
    learns : bool
        Whether there is a backward pass; without one there are no buffers for it.
    """

    def __init__(self, network: Architecture, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True):
        o = network.n_outputs
        self._product = like.new_empty(n_replicas, n_samples, network.width)  # of X and the features' weights
        self._skip, self._first = self._product[..., :o], self._product[..., o:]
        self.output = like.new_empty(n_replicas, n_samples, o)
        self.loss = like.new_zeros(n_replicas)  # for the caller, who evaluates the output
        n_backward = n_samples if learns else 0
        self.product_gradient = like.new_empty(n_replicas, n_backward, network.width)
        self.output_gradient = self.product_gradient[..., :o]  # to be filled before the backward pass
        self._first_gradient = self.product_gradient[..., o:]

    def forward(self, layers: Any, X: Table, dropout: float = 0.0, draw: torch.Generator | None = None) -> Tensor:
        """Run all replicas on the same samples, (n, d), or each on its own, (R, n, d).

        The output, (R, n, o), is valid until the next call.

        With ``draw`` the pass is part of an update, and what is random in the networks is drawn; without, nothing is.
        """
        raise NotImplementedError

    def backward(self, layers: Any, X: Table, gradient: Any) -> None:
        """Write the gradient of Σ output_gradient · output by all parameters into ``gradient``."""
        self.backward_upper(layers, gradient)
        backward(X, self.product_gradient, gradient.rows)

    def backward_upper(self, layers: Any, gradient: Any) -> None:
        """Do the same for everything above the features' weights; the gradient by these is then Xᵀ ``product_gradient``."""
        raise NotImplementedError


class Architecture(Protocol):
    """What the solver needs of the shape of networks; weights are passed in and out."""

    @property
    def n_outputs(self) -> int:
        """Width o of the output."""

    @property
    def width(self) -> int:
        """Number o + K of each feature's weights."""

    @property
    def n_upper(self) -> int:
        """Number of parameters above the first layer, with all biases."""

    @property
    def n_hidden(self) -> int | None:
        """Number of hidden units, where the replicas run side by side; None where they run one after the other."""

    @property
    def is_random(self) -> bool:
        """Whether an update draws random numbers, whatever the dropout."""

    @property
    def recordable(self) -> bool:
        """Whether passes can be recorded on a device and replayed."""

    def init(self, n_features: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device) -> Weights:
        """Weights to start from, one network for each seed."""

    def layers(self, weights: Weights) -> Any:
        """Return views of the weights as passes take them, with an attribute ``rows``."""

    def is_matrix(self, like: Tensor) -> Tensor:
        """Return 1 for the entries of the flat vector that ``gamma`` acts on, 0 for others."""

    def passes(self, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True) -> AnyPass:
        """Make the buffers of a pass; without ``learns`` it is only forward."""

    def module(self, first: Tensor, upper: Tensor) -> nn.Module:
        """Return g as a torch module, with these weights: (d, K) of the first layer, (p,) above it."""


@dataclass(frozen=True)
class Network:
    """The shape of the networks; weights are passed in and out.

    Parameters
    ----------
    n_outputs : int
        Width o of the output.
    hidden_dims : tuple of int
        Widths of the hidden layers of g, the first being K.
    """

    n_outputs: int
    hidden_dims: tuple[int, ...]
    is_random: ClassVar[bool] = False
    recordable: ClassVar[bool] = True

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return sum(self.hidden_dims)

    @cached_property
    def _shapes(self) -> list[tuple[int, int]]:
        """Input and output width of each layer above the first."""
        return list(pairwise((*self.hidden_dims, self.n_outputs)))

    @cached_property
    def _sizes(self) -> list[int]:
        """Lengths of the pieces of ``upper``: the first layer's bias, then a matrix and a bias per layer."""
        return [self.hidden_dims[0], *(size for a, b in self._shapes for size in (a * b, b))]

    @cached_property
    def n_upper(self) -> int:
        """Number of parameters above the first layer, with all biases."""
        return sum(self._sizes)

    @cached_property
    def width(self) -> int:
        """Number o + K of each feature's weights."""
        return self.n_outputs + self.hidden_dims[0]

    def init(self, n_features: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device) -> Weights:
        """Draw each replica's weights uniformly within ±1/√fan-in, as torch's linear layers do, from its own seed."""
        fan_in = [n_features, *(a for a, _ in self._shapes for _ in range(2))]
        rows, upper = [], []
        for seed in seeds:
            draw = torch.Generator().manual_seed(seed)
            rows.append(uniform((n_features, self.width), n_features, draw))
            upper.append(torch.cat([uniform((s,), f, draw) for s, f in zip(self._sizes, fan_in, strict=True)]))
        return Weights(torch.stack(rows).to(device, dtype), torch.stack(upper).to(device, dtype))

    def layers(self, weights: Weights) -> Layers:
        """Return views of the weights layer by layer."""
        pieces = weights.upper.split(self._sizes, dim=-1)
        shaped = zip(pieces[1::2], self._shapes, strict=True)
        matrices = [piece.unflatten(-1, shape) for piece, shape in shaped]
        return Layers(weights.rows, matrices, [piece.unsqueeze(-2) for piece in pieces[::2]])

    def is_matrix(self, like: Tensor) -> Tensor:
        """Return 1 for the entries of the flat vector that belong to matrices, 0 for biases."""
        return torch.cat([like.new_full((size,), i % 2) for i, size in enumerate(self._sizes)])

    def passes(self, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True) -> Pass:
        """Make the buffers of a pass over so many samples."""
        return Pass(self, n_replicas, n_samples, like, learns=learns)

    def module(self, first: Tensor, upper: Tensor) -> nn.Module:
        """Return g as linear layers with ReLU in between."""
        layers = self.layers(Weights(first[None], upper[None]))
        parts: list[nn.Module] = []
        for (matrix,), (bias,) in zip([first[None], *layers.matrices], layers.biases, strict=True):
            parts += [linear(matrix, nn.Parameter(bias[0].clone())), nn.ReLU()]
        return nn.Sequential(*parts[:-1])


class Pass(AnyPass):
    """A pass through ReLU layers, with gradients in closed form."""

    def __init__(self, network: Network, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True):
        super().__init__(network, n_replicas, n_samples, like, learns=learns)
        self._hidden = [like.new_empty(n_replicas, n_samples, size) for size in network.hidden_dims]  # activations
        self._kept: list[Tensor | None] = [None] * len(self._hidden)  # dropout factors: 0, or 1 / (1 - rate)
        upper = [like.new_empty(*self.product_gradient.shape[:2], size) for size in network.hidden_dims[1:]]
        self._hidden_gradients = [self._first_gradient, *upper]  # by each hidden layer before its activation

    def forward(self, layers: Layers, X: Table, dropout: float = 0.0, draw: torch.Generator | None = None) -> Tensor:
        """Run all replicas; see the base class."""
        forward(X, layers.rows, self._product)
        for i, h in enumerate(self._hidden):
            if i:
                multiply(self._hidden[i - 1], layers.matrices[i - 1], h)
            torch.add(h if i else self._first, layers.biases[i], out=h).relu_()
            self._kept[i] = None
            if dropout:
                drawn = torch.rand(h.shape[1:], generator=draw, dtype=h.dtype, device=h.device)  # for all replicas
                self._kept[i] = kept = drawn.ge_(dropout).div_(1 - dropout)
                h.mul_(kept)
        multiply(self._hidden[-1], layers.matrices[-1], self.output)
        return self.output.add_(layers.biases[-1]).add_(self._skip)

    def backward_upper(self, layers: Layers, gradient: Layers) -> None:
        """Write the gradient by everything above the features' weights; see the base class."""
        above = self.output_gradient
        torch.sum(above, -2, keepdim=True, out=gradient.biases[-1])
        for i in reversed(range(len(self._hidden))):
            h, below, kept = self._hidden[i], self._hidden_gradients[i], self._kept[i]
            multiply(h.mT, above, gradient.matrices[i])
            multiply(above, layers.matrices[i].mT, below)
            torch.ops.aten.threshold_backward.grad_input(below, h, 0, grad_input=below)  # 0 also where dropout gave 0
            if kept is not None:
                below.mul_(kept)
            torch.sum(below, -2, keepdim=True, out=gradient.biases[i])
            above = below


def linear(matrix: Tensor, bias: nn.Parameter | None = None) -> nn.Linear:
    """Return a linear layer with these weights, (inputs, outputs), without drawing others first."""
    layer = nn.Linear(matrix.shape[0], matrix.shape[1], bias=False, device="meta")
    layer.weight = nn.Parameter(matrix.mT.clone(memory_format=torch.contiguous_format))
    layer.bias = bias  # type: ignore[assignment]
    return layer


def uniform(shape: tuple[int, ...], fan_in: int, draw: torch.Generator) -> Tensor:
    """Draw within ±1/√fan-in."""
    return (torch.rand(shape, generator=draw, dtype=torch.float64) * 2 - 1) / float(fan_in**0.5)
