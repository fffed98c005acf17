"""One table in all forms that are read block by block."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from riata import Rows, open_rows


class Recorded(Rows):
    """An array that remembers which rows and columns it was asked for."""

    def __init__(self, array: np.ndarray, **how: Any):
        super().__init__(array.shape, **how)
        self.array, self.asked = array, []

    def rows(self, start, stop, columns=None):
        known = np.arange(self.shape[1]) if columns is None else columns
        self.asked.append((start, stop, known))
        return self.array[start:stop, known]


class OnlySlices:
    """A shape and slices of rows, and nothing else."""

    def __init__(self, array: np.ndarray):
        self.shape, self._array = array.shape, array

    def __getitem__(self, rows):
        return self._array[rows]


def as_memmap(array: np.ndarray, folder: Path) -> np.memmap:
    np.save(folder / "table.npy", array)
    return np.load(folder / "table.npy", mmap_mode="r")


def as_columns_first(array: np.ndarray, folder: Path) -> np.memmap:
    return as_memmap(np.asfortranarray(array), folder)


def as_part_of_a_memmap(array: np.ndarray, folder: Path) -> np.memmap:
    wider = np.zeros((len(array) + 5, array.shape[1] + 2), dtype=array.dtype)
    wider[3:-2, 1:-1] = array
    return as_memmap(wider, folder)[3:-2, 1:-1]


def as_zarr(array: np.ndarray, folder: Path) -> Any:
    zarr = pytest.importorskip("zarr")
    found = zarr.create_array(
        str(folder / "table.zarr"), shape=array.shape, chunks=(max(7, len(array) // 40), 3), dtype=array.dtype
    )
    found[:] = array
    return found


def as_hdf(array: np.ndarray, folder: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "table.h5", "w") as file:
        file["X"] = array
    return h5py.File(folder / "table.h5", "r")["X"]


def as_anndata(array: np.ndarray, folder: Path, *, sparse: bool = False) -> Any:
    """Names are objects: this version of anndata cannot write the text of newer versions of pandas."""
    anndata = pytest.importorskip("anndata")
    genes = pd.DataFrame(index=pd.Index([f"gene{j}" for j in range(array.shape[1])], dtype=object))
    cells = pd.DataFrame(index=pd.Index([f"cell{i}" for i in range(len(array))], dtype=object))
    with warnings.catch_warnings(action="ignore"), pd.option_context("future.infer_string", False):
        matrix = csr_matrix(array) if sparse else array
        anndata.AnnData(matrix, cells, genes).write_h5ad(folder / "table.h5ad")
        return anndata.read_h5ad(folder / "table.h5ad", backed="r")


def as_parquet(array: np.ndarray, folder: Path) -> Rows:
    """Three files of several row groups each."""
    (folder / "table").mkdir()
    for i, part in enumerate(np.array_split(array, 3)):
        frame = pd.DataFrame(part, columns=[f"x{j}" for j in range(array.shape[1])])
        frame.to_parquet(folder / "table" / f"part{i}.parquet", row_group_size=11)
    return open_rows(folder / "table")


def as_dataset(array: np.ndarray, folder: Path) -> Any:
    from pyarrow.dataset import dataset

    as_parquet(array, folder)
    return dataset(folder / "table", format="parquet")


FORMS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "memmap": as_memmap,
    "memmap, columns first": as_columns_first,
    "part of a memmap": as_part_of_a_memmap,
    "zarr": as_zarr,
    "hdf": as_hdf,
    "anndata": as_anndata,
    "sparse anndata": partial(as_anndata, sparse=True),
    "parquet": as_parquet,
    "dataset": as_dataset,
    "slices": lambda array, _: OnlySlices(array),
    "own": lambda array, _: Recorded(array),
}
