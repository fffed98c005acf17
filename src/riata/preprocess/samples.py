"""Checked samples in the order in which everything below uses them: those to train on, then those to validate on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata.preprocess import sparse

__all__ = ["Samples", "merged"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples to train on, then samples to validate on, with targets encoded for the network."""

    X: Any  # (n, d) array; NaN where a number is missing, codes of categories. Or sparse, in rows
    target: NDArray[np.float64]  # (n, o), not yet scaled
    weights: NDArray[np.float64]  # (n,); those to train on sum to the number of samples that they stand for
    n_fit: int
    split: bool = False  # whether those to validate on are a random part of what was given
    order: NDArray[np.int64] | None = None  # where each was in what was given, if they were split

    @property
    def fit(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """X, target and weights of the samples to train on."""
        return self.X[: self.n_fit], self.target[: self.n_fit], self.weights[: self.n_fit]


def merged(X: Any, target: NDArray[np.float64], weights: NDArray[np.float64]) -> Samples:
    """Put samples to train on in an order of their own and add up the weights of equal ones.

    A path amplifies the rounding errors of sums. In this form a sample of weight two is the sample twice to the last bit, and
    the order of the samples does not matter. Counts stay the smallest in their ratios, as they are for weights: all samples
    twice are all samples of weight two, and these are all samples.
    """
    if issparse(X):
        whole: NDArray[Any] = sparse.keys(X, target)
    else:
        joint = np.ascontiguousarray(np.hstack([X, target]))
        whole = joint.view(np.dtype((np.void, joint.dtype.itemsize * joint.shape[1])))[:, 0]
    _, first, where = np.unique(whole, return_index=True, return_inverse=True)
    summed = np.bincount(where, weights).astype(np.float64)
    if np.all(summed % 1 == 0):
        summed /= np.gcd.reduce(summed.astype(np.int64))
    return Samples(X[first], target[first], summed, len(first))
