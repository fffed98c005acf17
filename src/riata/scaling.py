"""Centre and scale columns, with statistics of the weighted training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riata.embedding import Embedding

__all__ = ["Scaling", "identity", "learn", "learn_known"]

LONGEST = 5.0  # no training value lies farther than this from the mean after scaling
_BLOCK = 512  # columns handled at a time, so that float64 copies stay small


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns become ``(column − center) / scale``; a scale of 0 marks a constant column, which becomes 0."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    def apply(
        self,
        X: NDArray[np.floating],
        dtype: type | np.dtype,
        columns: NDArray[np.int64] | None = None,
        embedding: Embedding | None = None,
    ) -> NDArray:
        """Scale in float64 and cast once; with ``columns``, only those. An embedding comes before."""
        positions = np.arange(len(self.scale)) if columns is None else columns
        out = np.empty((len(X), len(positions)), dtype=dtype)
        for start in range(0, len(positions), _BLOCK):
            block = positions[start : start + _BLOCK]
            scale = np.where(self.scale[block] > 0, self.scale[block], np.inf)
            out[:, start : start + _BLOCK] = (_block(X, block, embedding) - self.center[block]) / scale
        return out


def identity(n_columns: int) -> Scaling:
    """Leave columns as they are."""
    return Scaling(np.zeros(n_columns), np.ones(n_columns))


def learn(
    X: NDArray[np.floating],
    weights: NDArray[np.float64],
    embedding: Embedding | None = None,
    longest: float = LONGEST,
) -> Scaling:
    """Learn the weighted mean and standard deviation of each column, ignoring rows of weight zero.

    A column that is rarely different from its usual value has a tiny standard deviation, and dividing by it would blow up the
    few rows where it differs. The divisor is therefore at least the largest deviation from the mean over ``longest``: this
    leaves bell-shaped columns alone and, unlike a fixed floor, does not depend on the column's unit.
    """
    used = weights > 0
    w = weights[used] / weights[used].sum()
    X = X if used.all() else X[used]
    n_columns = X.shape[1] if embedding is None else embedding.n_columns
    center, scale = np.empty(n_columns), np.empty(n_columns)
    for start in range(0, n_columns, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, n_columns))
        values = _block(X, block, embedding)
        center[block] = w @ values
        values -= center[block]
        farthest = np.abs(values).max(axis=0)
        rounding = 1e-12 * np.abs(center[block])  # what is left of a constant column after taking off its mean
        varies = farthest > rounding
        values /= np.where(varies, farthest, 1)  # in any unit, squares neither overflow nor vanish
        relative = np.maximum(np.sqrt(w @ np.square(values)), 1 / longest)
        scale[block] = np.where(varies, farthest * relative, 0)
    if embedding is not None and embedding.marks.any():
        scale = _shared(scale, embedding)
    return Scaling(center, scale)


def _shared(scale: NDArray[np.float64], embedding: Embedding) -> NDArray[np.float64]:
    """Give all levels of a feature the scale of its commonest one: with their own, rare ones would fit noise at no cost."""
    largest = np.zeros(embedding.n_features)
    np.maximum.at(largest, embedding.source, scale)
    return np.where(embedding.marks & (scale > 0), largest[embedding.source], scale)


def learn_known(X: NDArray[np.floating], known: NDArray[np.bool_], longest: float = LONGEST) -> Scaling:
    """Do the same for a table with gaps, from its known entries; a column without any is one of zeros."""
    counts = np.maximum(known.sum(axis=0), 1)
    values = np.where(known, X, 0).astype(np.float64)
    center = values.sum(axis=0) / counts
    values = np.where(known, values - center, 0)
    farthest = np.abs(values).max(axis=0, initial=0)
    varies = farthest > 1e-12 * np.abs(center)
    values /= np.where(varies, farthest, 1)
    relative = np.maximum(np.sqrt(np.square(values).sum(axis=0) / counts), 1 / longest)
    return Scaling(center, np.where(varies, farthest * relative, 0))


def _block(X: NDArray[np.floating], columns: NDArray[np.int64], embedding: Embedding | None) -> NDArray[np.float64]:
    return X[:, columns].astype(np.float64) if embedding is None else embedding.apply(X, columns)
