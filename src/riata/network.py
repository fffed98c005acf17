"""R residual networks side by side: f(x) = skip(x) + g(x), with g a feed-forward ReLU network.

Feature *j* of replica *r* owns one contiguous row ``[skip_j | first_j]`` of length o + K, so that the skip connection and the
first layer are one matrix product forward and one backward. Everything above the first layer, biases included, lies in one
flat vector per replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Network", "Trace", "Weights"]


class Weights(NamedTuple):
    """All parameters of R networks, or their gradients."""

    rows: Tensor  # (R, d, o + K)
    upper: Tensor  # (R, p)


class Trace(NamedTuple):
    """What a forward pass leaves behind for the backward pass."""

    output: Tensor  # (R, n, o)
    hidden: list[Tensor]  # (R, n, K_l) activations of each hidden layer, after dropout
    kept: list[Tensor | None]  # dropout factors: 0, or 1 / (1 - rate)
    matrices: list[Tensor]  # (R, K_l, K_{l+1}) views of the weights


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

    @cached_property
    def _layers(self) -> list[tuple[int, int]]:
        """Input and output width of each layer above the first."""
        return list(pairwise((*self.hidden_dims, self.n_outputs)))

    @cached_property
    def _sizes(self) -> list[int]:
        """Lengths of the pieces of ``upper``: the first layer's bias, then a matrix and a bias per layer."""
        return [self.hidden_dims[0], *(size for a, b in self._layers for size in (a * b, b))]

    @cached_property
    def n_upper(self) -> int:
        """Number of parameters above the first layer, with all biases."""
        return sum(self._sizes)

    def init(self, n_features: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device) -> Weights:
        """Draw each replica's weights uniformly within ±1/√fan-in, as torch's linear layers do, from its own seed."""
        width = self.n_outputs + self.hidden_dims[0]
        fan_in = [n_features, *(a for a, _ in self._layers for _ in range(2))]
        rows, upper = [], []
        for seed in seeds:
            draw = torch.Generator().manual_seed(seed)
            rows.append(_uniform((n_features, width), n_features, draw))
            upper.append(torch.cat([_uniform((s,), f, draw) for s, f in zip(self._sizes, fan_in, strict=True)]))
        return Weights(torch.stack(rows).to(device, dtype), torch.stack(upper).to(device, dtype))

    def matrices(self, upper: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Views of the flat vector: matrices (R, in, out) above the first layer, and biases (R, 1, out) from the first on."""
        pieces = upper.split(self._sizes, dim=-1)
        shaped = zip(pieces[1::2], self._layers, strict=True)
        return [p.unflatten(-1, ab) for p, ab in shaped], [p.unsqueeze(-2) for p in pieces[::2]]

    def is_matrix(self, like: Tensor) -> Tensor:
        """Mark, over the flat vector, the entries that belong to matrices (those that ``gamma`` acts on) with 1."""
        return torch.cat([like.new_full((size,), i % 2) for i, size in enumerate(self._sizes)])

    def forward(self, weights: Weights, X: Tensor, dropout: float = 0.0, draw: torch.Generator | None = None) -> Trace:
        """Run all replicas on the same rows of X, (n, d) or one block per replica, (R, n, d)."""
        matrices, biases = self.matrices(weights.upper)
        below = X @ weights.rows  # (R, n, o + K)
        output, z = below[..., : self.n_outputs], below[..., self.n_outputs :]
        hidden: list[Tensor] = []
        kept: list[Tensor | None] = []
        for matrix, bias in zip(matrices, biases[:-1], strict=True):
            h = (z + bias).relu_()
            factor = None
            if dropout:
                factor = (
                    torch.rand(h.shape, generator=draw, dtype=h.dtype, device=h.device).ge_(dropout).div_(1 - dropout)
                )
                h = h * factor
            hidden.append(h)
            kept.append(factor)
            z = h @ matrix
        return Trace(output + z + biases[-1], hidden, kept, matrices)

    def backward(self, X: Tensor, trace: Trace, slope: Tensor) -> Weights:
        """Gradient of Σ slope · output by all parameters, in closed form; X and ``slope`` may cover only the first rows."""
        below, upper = self.backward_upper(trace, slope)
        return Weights(X.mT @ below, upper)

    def backward_upper(self, trace: Trace, slope: Tensor) -> tuple[Tensor, Tensor]:
        """Gradient by the product of X and the rows, (R, n, o + K), and by ``upper``, (R, p)."""
        n = slope.shape[-2]
        pieces: list[Tensor] = [slope.sum(-2)]
        above = slope  # (R, n, K_{l+1}) gradient by the layer's output
        for matrix, h, factor in zip(trace.matrices[::-1], trace.hidden[::-1], trace.kept[::-1], strict=True):
            h = h[..., :n, :]
            pieces.append((h.mT @ above).flatten(-2))
            above = (above @ matrix.mT) * h.sign()  # ReLU leaves h >= 0, and dropout's zeros pass nothing on
            if factor is not None:
                above = above * factor[..., :n, :]
            pieces.append(above.sum(-2))
        return torch.cat([slope, above], -1), torch.cat(pieces[::-1], -1)


def _uniform(shape: tuple[int, ...], fan_in: int, draw: torch.Generator) -> Tensor:
    return (torch.rand(shape, generator=draw, dtype=torch.float64) * 2 - 1) / float(fan_in**0.5)
