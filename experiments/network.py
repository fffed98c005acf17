"""The downstream network: several widths of one hidden layer, trained side by side.

Each is what scikit-learn's ``MLPClassifier`` is by default (ReLU, Adam with rate 1e-3, batches of 200, L2 penalty 1e-4,
Glorot weights), but the first layers of all widths are one matrix product, which makes four widths as fast as one. All
data sets get the same number of updates: with the same number of epochs the small ones would be left half trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

UPDATES = 3_500  # 100 epochs of 7,000 rows
_BATCH = 200
_RATE, _BETAS, _EPSILON = 1e-3, (0.9, 0.999), 1e-8
_L2 = 1e-4


@dataclass
class _Layers:
    """Parameters of all networks, and views of them in one flat vector, which makes Adam a few operations."""

    flat: Tensor
    first: Tensor  # (d, Σ widths)
    first_bias: Tensor  # (Σ widths,)
    second: list[Tensor]  # one (width, o) per network
    second_bias: list[Tensor]  # one (o,) per network
    weight: Tensor  # (p,) 1 for weights, 0 for biases

    @classmethod
    def empty(cls, d: int, widths: Sequence[int], o: int) -> _Layers:
        total = sum(widths)
        shapes = [(d, total), (total,), *((width, o) for width in widths), *((o,) for _ in widths)]
        sizes = [int(np.prod(shape)) for shape in shapes]
        flat, weight = torch.zeros(sum(sizes)), torch.zeros(sum(sizes))
        views = [view.view(shape) for view, shape in zip(flat.split(sizes), shapes, strict=True)]
        for view, shape in zip(weight.split(sizes), shapes, strict=True):
            view.fill_(len(shape) == 2)
        n = len(widths)
        return cls(flat, views[0], views[1], views[2 : 2 + n], views[2 + n :], weight)

    def draw(self, widths: Sequence[int], generator: torch.Generator) -> None:
        d, o = len(self.first), self.second[0].shape[1]
        for i, (first, bias) in enumerate(zip(self.first.split(widths, 1), self.first_bias.split(widths), strict=True)):
            for tensors, fans in (
                ((first, bias), d + widths[i]),
                ((self.second[i], self.second_bias[i]), widths[i] + o),
            ):
                for tensor in tensors:
                    tensor.uniform_(-((6 / fans) ** 0.5), (6 / fans) ** 0.5, generator=generator)


class Networks:
    """One hidden layer of each width; ``fit`` trains them all, ``outputs`` gives one array per width."""

    def __init__(self, widths: Sequence[int], seed: int):
        self.widths = list(widths)
        self._generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def fit(self, X: NDArray[np.float32], target: NDArray[np.float32], *, softmax: bool) -> Networks:
        """Minimise the cross-entropy, or half the squared error, with a small L2 penalty."""
        rows, targets = torch.from_numpy(np.ascontiguousarray(X)), torch.from_numpy(target)
        layers, gradient = (_Layers.empty(X.shape[1], self.widths, target.shape[1]) for _ in range(2))
        layers.draw(self.widths, self._generator)
        self._layers = layers
        adam = _Adam(layers.flat)
        order = torch.empty(0, dtype=torch.int64)
        for _ in range(UPDATES):
            if not len(order):
                order = torch.randperm(len(rows), generator=self._generator)
            batch, order = order[:_BATCH], order[_BATCH:]
            self._backward(rows[batch], targets[batch], gradient, softmax)
            gradient.flat.addcmul_(layers.flat, layers.weight, value=_L2 / len(batch))
            adam.step(gradient.flat)
        return self

    def _backward(self, X: Tensor, target: Tensor, gradient: _Layers, softmax: bool) -> None:
        hidden = torch.addmm(self._layers.first_bias, X, self._layers.first).relu_()  # (b, Σ widths)
        back = torch.empty_like(hidden)
        blocks = zip(hidden.split(self.widths, 1), back.split(self.widths, 1), strict=True)
        for i, (h, towards) in enumerate(blocks):
            output = torch.addmm(self._layers.second_bias[i], h, self._layers.second[i])  # (b, o)
            error = ((output.softmax(1) if softmax else output) - target) / len(X)
            torch.mm(h.T, error, out=gradient.second[i])
            torch.sum(error, 0, out=gradient.second_bias[i])
            towards.copy_(error @ self._layers.second[i].T)
        back *= hidden > 0
        torch.mm(X.T, back, out=gradient.first)
        torch.sum(back, 0, out=gradient.first_bias)

    @torch.no_grad()
    def outputs(self, X: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return what each network says, (n, o) each."""
        layers = self._layers
        hidden = torch.addmm(layers.first_bias, torch.from_numpy(np.ascontiguousarray(X)), layers.first).relu_()
        blocks = zip(layers.second_bias, hidden.split(self.widths, 1), layers.second, strict=True)
        return [torch.addmm(bias, h, second).numpy() for bias, h, second in blocks]


class _Adam:
    def __init__(self, flat: Tensor):
        self._flat, self._steps = flat, 0
        self._mean, self._square = torch.zeros_like(flat), torch.zeros_like(flat)

    def step(self, gradient: Tensor) -> None:
        self._steps += 1
        a, b = _BETAS
        self._mean.lerp_(gradient, 1 - a)
        self._square.mul_(b).addcmul_(gradient, gradient, value=1 - b)
        rate = _RATE * (1 - b**self._steps) ** 0.5 / (1 - a**self._steps)
        self._flat.addcdiv_(self._mean, self._square.sqrt().add_(_EPSILON), value=-rate)
