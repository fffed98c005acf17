"""A pass in blocks of samples, for devices whose memory does not hold what a pass over all of them keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from riata.network.sparse import SparseTable, Table
from riata.network.stacked import AnyPass, Architecture

__all__ = ["BlockedPass"]


class BlockedPass(AnyPass):
    """Forward and backward over n samples, of which the hidden layers are kept for one block at a time.

    The outputs of all samples are kept, as losses may need them together. On the way back every block passes forward once more,
    which takes half as long again as a plain pass; the results differ from its by rounding. Dropout would have to be drawn
    twice, so there is none.

    Parameters
    ----------
    network, n_replicas, n_samples, like, learns
        As for any pass.
    block : int
        Samples of a block.
    """

    def __init__(
        self,
        network: Architecture,
        n_replicas: int,
        n_samples: int,
        like: Tensor,
        *,
        block: int,
        learns: bool = True,
    ):
        self._rows = [slice(start, min(start + block, n_samples)) for start in range(0, n_samples, block)]
        sizes = {rows.stop - rows.start for rows in self._rows}
        self._passes = {m: network.passes(n_replicas, m, like, learns=learns) for m in sizes}
        width = next(iter(self._passes.values())).output.shape[-1]
        self.output = like.new_empty(n_replicas, n_samples, width)
        self.output_gradient = like.new_empty(n_replicas, n_samples if learns else 0, width)
        self.loss = like.new_zeros(n_replicas)

    def forward(self, layers: Any, X: Table, dropout: float = 0.0, draw: torch.Generator | None = None) -> Tensor:
        """Run all replicas, block by block; see the base class."""
        assert not dropout
        for rows in self._rows:
            self.output[:, rows] = self._of(rows).forward(layers, _part(X, rows))
        return self.output

    def backward(self, layers: Any, X: Table, gradient: Any) -> None:
        """Write the gradient by all parameters; see the base class."""
        written = list(_tensors(gradient))
        total = [torch.zeros_like(part) for part in written]
        for rows in self._rows:
            self._prepared(layers, X, rows).backward(layers, _part(X, rows), gradient)
            for part, new in zip(total, written, strict=True):
                part.add_(new)
        for part, new in zip(written, total, strict=True):
            part.copy_(new)

    def product_gradients(self, layers: Any, X: Table, gradient: Any) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows of every block, and its gradient by the product of X and the features' weights; write ``gradient``."""
        for rows in self._rows:
            inner = self._prepared(layers, X, rows)
            inner.backward_upper(layers, gradient)
            yield rows, inner.product_gradient

    def _of(self, rows: slice) -> AnyPass:
        return self._passes[rows.stop - rows.start]

    def _prepared(self, layers: Any, X: Table, rows: slice) -> AnyPass:
        """Return the pass of a block after its way forward, with the gradient by its output."""
        inner = self._of(rows)
        inner.forward(layers, _part(X, rows))
        inner.output_gradient.copy_(self.output_gradient[:, rows])
        return inner


def _part(X: Table, rows: slice) -> Tensor:
    assert not isinstance(X, SparseTable)  # passes over a sparse table are whole
    return X[..., rows, :]


def _tensors(parts: Any) -> Iterator[Tensor]:
    """Return the tensors of views of weights, each once."""
    seen: set[int] = set()

    def walk(part: Any) -> Iterator[Tensor]:
        if not isinstance(part, Tensor):
            for each in part:
                yield from walk(each)
        elif id(part) not in seen:
            seen.add(id(part))
            yield part

    return walk(parts)
