"""Sparse tables on their way to the network: what is learnt of their columns without writing out the zeros."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse, vstack

__all__ = ["Implicit", "Some", "block_size", "dense", "keys", "scaled", "some", "stacked"]

Floats = NDArray[np.float64]
_ENTRIES = 2**13  # of a block of columns without the samples that are zero in all of them: sorting it stays in cache
_MOST = 256  # columns of a block


class Some(NamedTuple):
    """Some columns of weighted samples."""

    columns: Floats  # (m, k)
    target: Floats  # (m, o)
    share: Floats  # (m,), sums to 1


class Implicit(NamedTuple):
    """A table as what is stored of it, and the values of its columns where nothing is."""

    stored: csr_array  # (n, d), what entries add to these values
    offset: Floats  # (d,)


def some(X: Any, which: slice | NDArray[np.int64], target: Floats, share: Floats) -> Some:
    """Return some columns of a table with the target and the shares of its samples.

    Of a sparse one, all samples that are zero in these columns are one, with their share in sum and their mean target: means
    over samples, their order and their bins are the same.
    """
    if not issparse(X):
        return Some(X[:, which].astype(np.float64), target, share)
    block = csc_array(X[:, which])
    used, at = np.unique(block.indices, return_inverse=True)
    values = np.zeros((len(used) + 1, block.shape[1]))
    values[at, np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))] = block.data
    if len(used) == len(share):
        return Some(values[:-1], target, share)
    rest = 1 - share[used].sum()
    mean = (share @ target - share[used] @ target[used]) / rest
    return Some(values, np.vstack([target[used], mean]), np.append(share[used], rest))


def block_size(X: Any) -> int | None:
    """Return how many columns of a sparse table to work on at once; None for a dense one."""
    if not issparse(X):
        return None
    return int(np.clip(np.sqrt(_ENTRIES * X.shape[1] / max(X.nnz, 1)), 1, _MOST))


def dense(X: Any) -> NDArray[Any]:
    """Return a table with all of its entries."""
    table: NDArray[Any] = X.toarray() if issparse(X) else X
    return table


def stacked(X: Any, more: Any) -> Any:
    """Return the samples of two tables, sparse if the first is."""
    return vstack([X, csr_array(more)], format="csr") if issparse(X) else np.vstack([X, dense(more)])


def scaled(X: Any, center: Floats, scale: Floats) -> Implicit:
    """Return (X − center) / scale; a scale of 0 stands for a constant column, which becomes 0.

    The offset of a column that is mostly zero is at most 1 in size, so that the table is as exact in single precision as one
    of all entries. Of a column with a larger one, all entries are stored, and its offset is 0.
    """
    divisor = np.where(scale > 0, scale, np.inf)
    columns = csc_array(X)
    data = columns.data / np.repeat(divisor, np.diff(columns.indptr))
    stored = csc_array((data, columns.indices, columns.indptr), shape=columns.shape)
    offset = -center / divisor
    full = np.flatnonzero(np.abs(offset) > 1)
    if len(full):
        written = csc_array((columns[:, full].toarray() - center[full]) / divisor[full])
        rest = np.flatnonzero(np.abs(offset) <= 1)
        order = np.argsort(np.concatenate([rest, full]))
        stored = hstack([stored[:, rest], written], format="csc")[:, order]
        offset[full] = 0
    return Implicit(csr_array(stored), offset)


def keys(X: Any, target: Floats) -> NDArray[np.object_]:
    """Return the bytes of each sample, in the order of those of a table of all entries.

    Of two samples the larger is the one with an entry in the first column in which just one has any, or with the larger one.
    """
    joint = csr_array(hstack([X, csr_array(target)], format="csr"), dtype=np.float64)
    joint.sort_indices()
    entries = np.empty(joint.nnz, dtype=[("column", ">u4"), ("value", "V8")])
    entries["column"] = np.iinfo(np.uint32).max - joint.indices.astype(np.int64)
    entries["value"] = joint.data.view("V8")
    whole, ends = entries.tobytes(), joint.indptr * entries.dtype.itemsize
    found = np.empty(joint.shape[0], dtype=object)
    found[:] = [whole[start:stop] for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    return found
