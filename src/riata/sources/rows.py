"""The protocol of a table that is read a few rows at a time, and objects that are sliced like arrays."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.sources.limits import n_held

__all__ = ["ArrayRows", "Rows", "SparseRows", "ZarrRows", "numbers"]

Ids = NDArray[np.int64]


class Rows(ABC):
    """A table of numbers that is read a few rows at a time, and need not fit into memory.

    :func:`riata.open_rows` returns one, and ``fit``, ``predict``, ``transform`` and ``score`` take it in place of an array.
    Subclass it for a format of your own: ``rows`` is all that is needed.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and of columns.
    names : sequence of str, optional
        Names of the columns.
    target : array of shape (n_rows,) or (n_rows, n_outputs), optional
        The column or columns to predict, where they came with the table.

    Examples
    --------
    >>> import numpy as np
    >>> import riata
    >>> class Squares(riata.Rows):
    ...     def rows(self, start, stop, columns=None):
    ...         block = np.arange(start, stop)[:, None] ** np.arange(self.shape[1])
    ...         return block if columns is None else block[:, columns]
    >>> Squares((10, 3)).rows(2, 4)
    array([[1, 2, 4],
           [1, 3, 9]])
    """

    def __init__(self, shape: tuple[int, int], names: Sequence[str] | None = None, target: Any = None):
        self.shape = (int(shape[0]), int(shape[1]))
        self.names = None if names is None else tuple(map(str, names))
        self.target = target
        if self.names is not None and len(self.names) != self.shape[1]:
            raise ValueError(f"names must have one name for each of the {self.shape[1]} columns; got {len(self.names)}")

    @abstractmethod
    def rows(self, start: int, stop: int, columns: Ids | None = None) -> NDArray[Any]:
        """Return the rows from ``start`` to ``stop``, (stop − start, n_columns), of any type of numbers.

        Parameters
        ----------
        start, stop : int
            The first row, and the one after the last.
        columns : int array, optional
            Increasing positions of the columns to return; None for all. Others need not be read.

        Returns
        -------
        array
            The numbers.
        """

    def edges(self, size: int) -> Ids:
        """Return where blocks of about so many rows begin that are read fast, and the number of rows at the end.

        Parameters
        ----------
        size : int
            Rows of a block.

        Returns
        -------
        int array
            Increasing, from 0 to the number of rows.
        """
        return np.append(np.arange(0, self.shape[0], size), self.shape[0])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if n_held(*self.shape) < self.shape[0]:
            raise ValueError(
                f"the table of {self.shape[0]:,} rows and {self.shape[1]:,} columns is larger than what is held in memory: "
                "LassoNetClassifier and LassoNetRegressor read it block by block; give all else an array of some of its rows"
            )
        found = self.rows(0, self.shape[0])
        return found if dtype is None else found.astype(dtype, copy=False)


class ArrayRows(Rows):
    """Anything that has a shape and is sliced by rows; what a slice returns may be sparse."""

    def __init__(self, array: Any, names: Sequence[str] | None = None, target: Any = None):
        super().__init__(array.shape, names, target)
        self._array = array

    def rows(self, start: int, stop: int, columns: Ids | None = None) -> NDArray[Any]:
        """Return some rows: all columns are read, unless they are rows of a mapped file that span many pages."""
        block = self._array[start:stop]
        block = block.toarray() if hasattr(block, "toarray") else block
        block = block if columns is None else block[:, columns]
        found = np.array(block) if isinstance(block, np.memmap) else np.asarray(block)
        self._release()
        return found

    def edges(self, size: int) -> Ids:
        """Return where chunks of the file begin, if it has any."""
        chunks = getattr(self._array, "chunks", None)
        chunk = chunks[0] if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int) else 1
        return super().edges(max(size // chunk, 1) * chunk)

    def _release(self) -> None:
        """Hand the pages of a mapped file back, which would count as memory of the process; they stay in the cache."""
        mapped = getattr(self._array, "_mmap", None)
        private = getattr(self._array, "mode", None) == "c"  # its pages may hold what is not in the file
        if isinstance(mapped, mmap.mmap) and not private and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


class ZarrRows(ArrayRows):
    """An array in chunks, of which only those are read that hold something of what is asked for."""

    def rows(self, start: int, stop: int, columns: Ids | None = None) -> NDArray[Any]:
        """Return some rows, from the chunks that hold them."""
        if columns is None:
            return np.asarray(self._array[start:stop])
        return np.asarray(self._array.oindex[start:stop, columns])


class SparseRows(Rows):
    """A sparse matrix in a file, row by row (CSR): of AnnData in backed mode. Each block becomes dense when it is read."""

    def __init__(self, matrix: Any, names: Sequence[str] | None = None, target: Any = None):
        super().__init__(matrix.shape, names, target)
        if matrix.format != "csr":
            raise ValueError(
                f"a sparse matrix in a file is read by rows, and this one is stored as {matrix.format}: write it as csr, such "
                "as adata.X = adata.X.tocsr()"
            )
        self._group = matrix.group

    def rows(self, start: int, stop: int, columns: Ids | None = None) -> NDArray[Any]:
        """Return some rows."""
        ends = np.asarray(self._group["indptr"][start : stop + 1])
        data, indices = (np.asarray(self._group[name][ends[0] : ends[-1]]) for name in ("data", "indices"))
        block = np.zeros((stop - start, self.shape[1]), dtype=data.dtype)
        block[np.repeat(np.arange(stop - start), np.diff(ends)), indices] = data
        return block if columns is None else block[:, columns]


def numbers(block: NDArray[Any]) -> NDArray[np.floating]:
    """Return a block in single precision where that holds all numbers of its type, else in double precision."""
    if block.dtype.kind not in "biuf" or block.dtype.itemsize > 8:
        raise ValueError(
            f"X holds {block.dtype}, and a table that is read block by block must hold real numbers: leave such columns out, "
            "or encode them first"
        )
    exact = block.dtype.itemsize <= (4 if block.dtype.kind == "f" else 2)
    return block.astype(np.float32 if exact else np.float64, copy=False)
