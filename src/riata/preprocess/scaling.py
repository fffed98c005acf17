"""Centre and scale columns, with statistics of the weighted training samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata.preprocess import sparse
from riata.preprocess.blocks import by_columns
from riata.preprocess.expansion import Expansion

__all__ = ["FLOOR", "LIMIT", "Scaling", "identity", "learn"]

LIMIT = 5.0  # standard deviations from the mean that a value may be
_FARTHEST = 1e30  # the same where there is no limit, so that no product with weights overflows
FLOOR = 1 / LIMIT  # the same, where it is the scale that gives way


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns become ``(column − center) / scale``, within ±``limit``; a scale of 0 marks a constant column, which becomes 0.

    A missing value becomes 0, the mean.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    limit: float = field(default=np.inf, kw_only=True)

    def apply(
        self,
        X: NDArray[np.floating],
        dtype: type | np.dtype,
        columns: NDArray[np.int64] | None = None,
        embedding: Expansion | None = None,
    ) -> NDArray[Any]:
        """Scale in float64 and cast once; with ``columns``, only those. An embedding comes before."""
        positions = np.arange(len(self.scale)) if columns is None else columns
        out = np.empty((X.shape[0], len(positions)), dtype=dtype)

        def scale_block(here: slice) -> None:
            block = positions[here]
            scale = np.where(self.scale[block] > 0, self.scale[block], np.inf)
            with np.errstate(over="ignore"):  # the limit is finite
                values = (_block(X, block, embedding) - self.center[block]) / scale
            if embedding is not None:
                values[np.isnan(values)] = 0
            if np.isfinite(self.limit):
                np.clip(values, -self.limit, self.limit, out=values)
            out[:, here] = values

        by_columns(scale_block, *out.shape)
        return out


def identity(n_columns: int) -> Scaling:
    """Leave columns as they are."""
    return Scaling(np.zeros(n_columns), np.ones(n_columns))


def learn(
    X: NDArray[np.floating],
    weights: NDArray[np.float64],
    embedding: Expansion | None = None,
    *,
    limit: float = np.inf,
    floor: float = 0.0,
) -> Scaling:
    """Learn the weighted mean and standard deviation of each column, ignoring samples of weight zero and missing values.

    A column that is rarely different from its usual value has a tiny standard deviation, and dividing by it blows up the few
    samples where it differs; so does an outlier that is not in the training samples. ``limit`` is how many standard
    deviations from the mean a value may be; where columns are also reconstructed, the divisor is instead at least the share
    ``floor`` of the largest distance from the mean.
    """
    used = weights > 0
    w = weights[used] / weights[used].sum()
    X = X if used.all() else X[used]
    n_columns = X.shape[1] if embedding is None else embedding.n_columns
    center, scale = np.empty(n_columns), np.empty(n_columns)

    def measure(here: slice) -> None:
        block = np.arange(here.start, here.stop)
        values, weight = _weighted(X, here, embedding, w)
        missing = np.isnan(values)
        values[missing] = 0
        share = weight if not missing.any() else weight[:, None] * ~missing
        total = np.maximum(np.sum(share, axis=0), np.finfo(float).tiny)
        center[block] = _mean(share, values) / total
        values -= center[block]
        values[missing] = 0
        farthest = np.abs(values).max(axis=0)
        rounding = 1e-12 * np.abs(center[block])  # what is left of a constant column after taking off its mean
        varies = farthest > rounding
        values /= np.where(varies, farthest, 1)  # in any unit, squares neither overflow nor vanish
        relative = np.maximum(np.sqrt(_mean(share, np.square(values)) / total), floor)
        scale[block] = np.where(varies, farthest * relative, 0)

    by_columns(measure, X.shape[0], n_columns, sparse.block_size(X))
    if embedding is not None and embedding.marks.any():
        scale = _shared(scale, embedding)
    return Scaling(center, scale, limit=min(limit, _FARTHEST))


def _mean(share: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return share @ values if share.ndim == 1 else (share * values).sum(axis=0)


def _shared(scale: NDArray[np.float64], embedding: Expansion) -> NDArray[np.float64]:
    """Give all levels of a feature the scale of its commonest one: with their own, rare ones would fit noise at no cost."""
    largest = np.zeros(embedding.n_features)
    np.maximum.at(largest, embedding.source, scale)
    return np.where(np.isfinite(embedding.level) & (scale > 0), largest[embedding.source], scale)


def _weighted(
    X: Any, here: slice, embedding: Expansion | None, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return some columns and the shares of their samples; of a sparse table those that are zero are one."""
    if issparse(X):
        found = sparse.some(X, here, np.empty((len(share), 0)), share)
        return found.columns, found.share
    return _block(X, np.arange(here.start, here.stop), embedding), share


def _block(X: NDArray[np.floating], columns: NDArray[np.int64], embedding: Expansion | None) -> NDArray[np.float64]:
    return X[:, columns].astype(np.float64) if embedding is None else embedding.apply(X, columns)
