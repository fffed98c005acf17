"""Which objects are tables that are read block by block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from riata.sources.limits import n_held
from riata.sources.parquet import ParquetRows, column_of
from riata.sources.rows import ArrayRows, Rows, SparseRows, ZarrRows

__all__ = ["in_memory", "open_rows", "recognised"]

Names = Sequence[str]


def open_rows(source: Any, *, columns: Names | None = None, target: str | Names | None = None) -> Rows:
    """Open a table that need not fit into memory, for ``fit``, ``predict``, ``transform`` and ``score`` of an estimator.

    Estimators take memmaps, arrays of Zarr and h5py, datasets of pyarrow and AnnData as they are; this function is for
    Parquet files by name, for some of the columns, and for objects of other kinds.

    Parameters
    ----------
    source : str, Path or object
        A Parquet file or a folder of them; or anything with a ``shape`` that is sliced by rows.
    columns : sequence of str, optional
        The columns of a Parquet table to select from; all but the target by default.
    target : str or sequence of str, optional
        Its column or columns to predict, which are read into memory.

    Returns
    -------
    Rows
        The table, with the target as ``target``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> import riata
    >>> from sklearn.datasets import load_diabetes
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "diabetes.parquet"
    >>> load_diabetes(as_frame=True).frame.to_parquet(file)
    >>> X = riata.open_rows(file, target="target")
    >>> X.shape, X.target.shape
    ((442, 10), (442,))
    >>> model = riata.LassoNetRegressor((10,), n_features_to_select=4, random_state=0).fit(X, X.target)
    >>> model.predict(X).shape
    (442,)
    """
    if isinstance(source, str | os.PathLike):
        from pyarrow.dataset import dataset

        source = dataset(os.fspath(source), format="parquet")
    if _is_dataset(source):
        found = None if target is None else column_of(source, target)
        left_out = [target] if isinstance(target, str) else list(target or ())
        if columns is None:
            columns = [name for name in source.schema.names if name not in left_out]
        return ParquetRows(source, columns, found)
    if columns is not None or target is not None:
        raise ValueError(
            "columns and target are names of columns of a Parquet table; slice other tables, and give y to fit"
        )
    rows = recognised(source)
    if rows is not None:
        return rows
    if not _is_matrix(source):
        raise ValueError(f"a table has a shape of rows and columns; got {type(source).__name__}")
    return ArrayRows(source)


def recognised(X: Any) -> Rows | None:
    """Return X as a table that is read block by block, if it is one; None for arrays, data frames and all else in memory."""
    if isinstance(X, Rows):
        return X
    if isinstance(X, np.ndarray):
        return ArrayRows(X) if _is_mapped(X) else None
    if isinstance(X, pd.DataFrame) or sparse.issparse(X):
        return None
    if _is_dataset(X):
        return ParquetRows(X)
    if all(hasattr(X, name) for name in ("obs_names", "var_names", "X")):  # AnnData
        return (SparseRows if _is_sparse_file(X.X) else ArrayRows)(X.X, X.var_names)
    if not _is_matrix(X):
        return None
    if _is_sparse_file(X):
        return SparseRows(X)
    package = type(X).__module__.split(".")[0]
    if package == "zarr":
        return ZarrRows(X)
    return ArrayRows(X) if package == "h5py" or _is_sliced_only(X) else None


def in_memory(X: Any, who: str) -> Any:
    """Return X as something in memory, for what needs all rows at once; memmaps stay what they are.

    Parameters
    ----------
    X : object
        Whatever was given.
    who : str
        For the error, where the table is too large.
    """
    table = None if isinstance(X, np.ndarray) else recognised(X)
    if table is None:
        return X
    n_rows = table.shape[0]
    if n_held(*table.shape) < n_rows:
        raise ValueError(
            f"{who} needs all rows in memory, and X has {n_rows:,} of {table.shape[1]:,} columns: give it an array of some of "
            "them, for instance with the features that LassoNetClassifier or LassoNetRegressor selects, which read such tables "
            "block by block"
        )
    found = table.rows(0, n_rows)
    return found if table.names is None else pd.DataFrame(found, columns=list(table.names))


def _is_mapped(X: np.ndarray[Any, Any]) -> bool:
    """Whether an array is a file of the user: joblib hands large arrays to its workers as files of its own."""
    file = str(getattr(X, "filename", None) or "")
    return isinstance(X, np.memmap) and X.ndim == 2 and "joblib_memmapping_folder" not in file


def _is_matrix(X: Any) -> bool:
    shape = getattr(X, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")


def _is_sparse_file(X: Any) -> bool:
    return hasattr(X, "group") and isinstance(getattr(X, "format", None), str)


def _is_sliced_only(X: Any) -> bool:
    """Whether an object can be sliced, but has none of the ways in which arrays and data frames are converted."""
    others = (
        "__array__",
        "__array_interface__",
        "__dataframe__",
        "to_pandas",
        "__cuda_array_interface__",
        "__dlpack__",
    )
    return hasattr(X, "__getitem__") and not any(hasattr(X, name) for name in others)
