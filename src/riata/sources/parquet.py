"""Parquet files, one or a folder of them, through datasets of pyarrow."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riata.check.naming import some
from riata.sources.rows import Rows

__all__ = ["ParquetRows", "column_of"]

_BATCH = 2**20  # entries of a batch
Ids = NDArray[np.int64]


class _Reading(NamedTuple):
    """An open row group: batches from some row on."""

    group: int
    columns: tuple[str, ...]
    row: int  # of the table, of the first row that was not handed out
    left: NDArray[Any]  # what was read and not handed out
    batches: Iterator[Any]


class ParquetRows(Rows):
    """Columns of numbers of a dataset; only those that are asked for are read, row group by row group."""

    def __init__(self, dataset: Any, columns: Sequence[str] | None = None, target: Any = None):
        names = list(dataset.schema.names if columns is None else columns)
        self._dtype = _common_type(dataset.schema, names)
        self._schema = dataset.schema
        self._groups = [part for fragment in dataset.get_fragments() for part in _row_groups(fragment)]
        self._ends = np.cumsum([_n_rows(part) for part in self._groups], dtype=np.int64)
        super().__init__((int(self._ends[-1]) if len(self._ends) else 0, len(names)), names, target)
        self._open: _Reading | None = None
        self._lock = threading.Lock()

    def edges(self, size: int) -> Ids:
        """Return where row groups begin; small ones are joined."""
        found = [0]
        for end in self._ends.tolist():
            if end - found[-1] >= size or end == self.shape[0]:
                found.append(end)
        return np.array(found)

    def rows(self, start: int, stop: int, columns: Ids | None = None) -> NDArray[Any]:
        """Return some rows; those that follow the last ones are read fastest."""
        assert self.names is not None
        chosen = self.names if columns is None else tuple(self.names[j] for j in columns)
        out = np.empty((stop - start, len(chosen)), dtype=self._dtype)
        with self._lock:
            done = start
            while done < stop:
                part = self._next(done, stop, chosen)
                out[done - start : done - start + len(part)] = part
                done += len(part)
        return out

    def _next(self, start: int, stop: int, columns: tuple[str, ...]) -> NDArray[Any]:
        """Return rows from ``start`` on, up to the end of a batch."""
        group = int(np.searchsorted(self._ends, start, side="right"))
        reading = self._open
        if reading is None or reading[:2] != (group, columns) or reading.row > start:
            first = int(self._ends[group - 1]) if group else 0
            reading = _Reading(group, columns, first, np.empty((0, len(columns))), self._batches(group, columns))
        while reading.row + len(reading.left) <= start:
            row = reading.row + len(reading.left)
            reading = reading._replace(row=row, left=self._array(next(reading.batches)))
        here = slice(start - reading.row, min(stop - reading.row, len(reading.left)))
        self._open = reading._replace(row=reading.row + here.stop, left=reading.left[here.stop :])
        return reading.left[here]

    def _batches(self, group: int, columns: tuple[str, ...]) -> Iterator[Any]:
        from pyarrow.dataset import ParquetFragmentScanOptions

        plain = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        batches: Iterator[Any] = self._groups[group].to_batches(
            schema=self._schema,
            columns=list(columns),
            batch_size=max(_BATCH // len(columns), 1),
            batch_readahead=0,
            fragment_readahead=0,
            fragment_scan_options=plain,
            use_threads=False,
        )
        return batches

    def _array(self, batch: Any) -> NDArray[Any]:
        out = np.empty((batch.num_rows, batch.num_columns), dtype=self._dtype)
        for j, column in enumerate(batch.columns):
            out[:, j] = column.to_numpy(zero_copy_only=False)
        return out


def column_of(dataset: Any, names: Sequence[str] | str) -> NDArray[Any]:
    """Return one column of a dataset, (n,), or several, (n, ·)."""
    _require(dataset.schema, [names] if isinstance(names, str) else names)
    table = dataset.to_table(columns=[names] if isinstance(names, str) else list(names)).to_pandas()
    found: NDArray[Any] = (table[names] if isinstance(names, str) else table).to_numpy()
    return found


def _row_groups(fragment: Any) -> list[Any]:
    split = getattr(fragment, "split_by_row_group", None)
    if split is None:
        raise ValueError(
            f"a dataset of {type(fragment).__name__} is not read block by block: write it as Parquet first"
        )
    return [part for part in split() if _n_rows(part)]


def _n_rows(part: Any) -> int:
    return sum(int(group.num_rows) for group in part.row_groups)


def _require(schema: Any, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise ValueError(f"the table has no column {some(unknown)}; it has {some(schema.names)}")


def _common_type(schema: Any, names: Sequence[str]) -> np.dtype:
    """Return a type of numbers that holds all columns, missing ones included."""
    from pyarrow import types

    _require(schema, names)
    if not names:
        raise ValueError("the table has no columns to select from: give columns=")
    kinds = [schema.field(name).type for name in names]
    others = [
        name
        for name, kind in zip(names, kinds, strict=True)
        if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind))
    ]
    if others:
        raise ValueError(
            f"columns of a table that is read block by block must hold numbers; others are {some(others)}: leave them out with "
            "columns=, or write them as numbers first"
        )
    small = (types.is_boolean, types.is_float16, types.is_float32, types.is_int8, types.is_uint8, types.is_int16)
    exact = all(any(is_kind(kind) for is_kind in (*small, types.is_uint16)) for kind in kinds)
    return np.dtype(np.float32 if exact else np.float64)
