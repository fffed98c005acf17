"""Tables of which most entries are the same in each column: their products with weights, and parts of them.

A table is 1 zᵀ + S: ``offset`` z holds the value that a column has where nothing is stored, and S, in rows, what the stored
entries add to it. Products take S and z apart, and no table is made of both until few columns are left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import embedding_bag

from riata.network.products import multiply

__all__ = ["LARGEST", "SparseTable", "Table", "backward", "block", "forward", "of_scipy", "to_host"]

LARGEST = 2**24  # entries up to which a table of all entries is faster than a sparse one, and small


@dataclass(frozen=True, eq=False)
class SparseTable:
    """n samples of d columns; where a tensor would do, so does this.

    Parameters
    ----------
    starts : Tensor of shape (n + 1,)
        Where the entries of each row begin, and where those of the last end.
    columns : Tensor of shape (nnz,)
        The column of each entry.
    values : Tensor of shape (nnz,)
        What each adds to the offset.
    offset : Tensor of shape (d,)
        What every entry of a column begins with.
    """

    starts: Tensor
    columns: Tensor
    values: Tensor
    offset: Tensor

    @property
    def shape(self) -> torch.Size:
        """Numbers of samples and of columns."""
        return torch.Size((len(self.starts) - 1, len(self.offset)))

    @property
    def dtype(self) -> torch.dtype:
        """That of the entries."""
        return self.offset.dtype

    @property
    def device(self) -> torch.device:
        """Where the entries are."""
        return self.offset.device

    def numel(self) -> int:
        """Return the number of entries, stored or not."""
        return self.shape.numel()

    def element_size(self) -> int:
        """Return the bytes of an entry."""
        return self.offset.element_size()

    @cached_property
    def _rows(self) -> Tensor:
        """The row of each entry, (nnz,)."""
        return torch.repeat_interleave(self.starts.diff(), output_size=len(self.values))

    @cached_property
    def _transposed(self) -> Tensor:
        """Sᵀ, (d, n), as products with it take it."""
        indices = torch.stack([self.columns, self._rows])
        return torch.sparse_coo_tensor(indices, self.values, self.shape[::-1], check_invariants=False)

    def rows(self, start: int, stop: int) -> SparseTable:
        """Return some samples in a row, without a copy of their entries."""
        starts = self.starts[start : stop + 1]
        first, last = int(starts[0]), int(starts[-1])
        return replace(self, starts=starts - first, columns=self.columns[first:last], values=self.values[first:last])

    def take(self, index: Tensor) -> SparseTable:
        """Return the samples at these positions."""
        sizes = self.starts.diff()[index]
        starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        at = torch.arange(int(starts[-1]), device=self.device)
        at += torch.repeat_interleave(self.starts[index] - starts[:-1], sizes, output_size=len(at))
        return replace(self, starts=starts, columns=self.columns[at], values=self.values[at])

    def only(self, columns: Tensor) -> SparseTable | Tensor:
        """Return some of the columns, with all entries if these are few."""
        return self.dense(columns) if self.shape[0] * len(columns) <= LARGEST else self._only(columns)

    def dense(self, columns: Tensor) -> Tensor:
        """Return all entries of some of the columns, (n, k)."""
        few = self._only(columns)
        table = few.offset.repeat(len(self.starts) - 1, 1)
        table[few._rows, few.columns] += few.values
        return table

    def noisy(self, size: Tensor, draw: torch.Generator | None) -> SparseTable:
        """Multiply each stored entry with 1 + size ε, where size, (d,), is relative to the column's standard deviation.

        The variance that a column gets, averaged over samples, is about that of noise on all entries.
        """
        drawn = torch.randn(self.values.shape, generator=draw, dtype=self.dtype, device=self.device)
        return replace(self, values=torch.addcmul(self.values, self.values, drawn.mul_(size[self.columns])))

    def scipy(self) -> csr_array:
        """Return S, in float64 and on the host."""
        parts = (part.cpu().numpy() for part in (self.values.double(), self.columns, self.starts))
        return csr_array(tuple(parts), shape=tuple(self.shape))

    def forward(self, rows: Tensor, out: Tensor) -> None:
        """Write the product with the features' weights, (R, d, k), into ``out``, (R, n, k)."""
        for weights, product in zip(rows, out, strict=True):
            stored = embedding_bag(self.columns, weights, self.starts[:-1], mode="sum", per_sample_weights=self.values)
            torch.add(stored, self.offset @ weights, out=product)

    def backward(self, gradient: Tensor, out: Tensor) -> None:
        """Write the product of the transposed table with ``gradient``, (R, n, k), into ``out``, (R, d, k)."""
        for above, product in zip(gradient, out, strict=True):
            torch.mul(self.offset[:, None], above.sum(0), out=product)
            torch.addmm(product, self._transposed, above, out=product)

    def _only(self, columns: Tensor) -> SparseTable:
        place = torch.full((len(self.offset),), -1, device=self.device)
        place[columns] = torch.arange(len(columns), device=self.device)
        places = place[self.columns]
        kept = (places >= 0).nonzero().squeeze(-1)
        starts = torch.searchsorted(kept, self.starts)
        return SparseTable(starts, places[kept], self.values[kept], self.offset[columns])


Table = Tensor | SparseTable


def of_scipy(stored: csr_array, offset: np.ndarray[Any, Any], dtype: torch.dtype, device: torch.device) -> SparseTable:
    """Return a table of what its entries add to an offset, by rows."""
    starts, columns = (torch.from_numpy(part.astype(np.int64)).to(device) for part in (stored.indptr, stored.indices))
    values, common = (torch.from_numpy(part).to(device, dtype) for part in (stored.data, offset))
    return SparseTable(starts, columns, values, common)


def to_host(X: Table) -> Any:
    """Return a table as an array, or what is stored of it as a sparse one."""
    return X.scipy() if isinstance(X, SparseTable) else X.cpu().numpy()


def block(X: Table, rows: slice, columns: Tensor) -> Tensor:
    """Return all entries of some rows and columns."""
    if isinstance(X, SparseTable):
        return X.rows(*rows.indices(X.shape[0])[:2]).dense(columns)
    return X[rows][:, columns]


def forward(X: Table, rows: Tensor, out: Tensor) -> None:
    """Write X @ rows of all replicas, (R, d, k), into ``out``, (R, n, k); X is shared, or has a part for each."""
    if isinstance(X, SparseTable):
        X.forward(rows, out)
    else:
        multiply(_of_replicas(X, rows), rows, out)


def backward(X: Table, gradient: Tensor, out: Tensor) -> None:
    """Write Xᵀ @ gradient of all replicas, (R, n, k), into ``out``, (R, d, k)."""
    if isinstance(X, SparseTable):
        X.backward(gradient, out)
    else:
        multiply(_of_replicas(X, out).mT, gradient, out)


def _of_replicas(X: Tensor, rows: Tensor) -> Tensor:
    """Return the samples of each replica, (R, n, d)."""
    return X if X.ndim == 3 else X.expand(len(rows), *X.shape)
