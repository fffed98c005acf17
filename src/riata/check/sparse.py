"""Sparse tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse


def in_rows(X: Any) -> Any:
    """Return a sparse table by rows, with one entry in each place; a dense one as it is. Missing entries are refused."""
    if not issparse(X):
        return X
    table = csr_array(X)
    if not table.has_canonical_format:
        table = table.copy()  # that of the caller stays as it is
        table.sum_duplicates()
    if np.isnan(table.data).any():
        raise ValueError(
            "Input X contains NaN, and is sparse: missing entries of a sparse table are not filled. Store numbers in their "
            "place, or give a dense array (X.toarray())"
        )
    return table


def no_sparse(X: Any, who: str) -> None:
    """Refuse a sparse table where single columns are looked at, with the remedy."""
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed, but {who} needs dense data: give some samples, such as X[:500].toarray()"
        )
