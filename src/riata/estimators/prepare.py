"""What a problem is posed from: rows in one order, and what the features cost beside the user's own costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riata.effects import Effects
from riata.embedding import Embedding


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, then rows to validate on, with targets as the network sees them."""

    X: NDArray[np.floating]
    target: NDArray[np.float64]  # (n, o), not yet scaled
    weights: NDArray[np.float64]  # to train on: they sum to the number of rows they stand for
    n_fit: int


def merged(X: NDArray[np.floating], target: NDArray[np.float64], weights: NDArray[np.float64]) -> Rows:
    """Put rows to train on in an order of their own and add up the weights of equal ones.

    A path amplifies the rounding errors of sums. In this form a row of weight two is the row twice to the last bit, and the
    order of the rows says nothing. Counts stay the smallest in their ratios, as they are for weights: all rows twice are
    all rows of weight two, and these are all rows.
    """
    joint = np.ascontiguousarray(np.hstack([X, target]))
    whole = joint.view(np.dtype((np.void, joint.dtype.itemsize * joint.shape[1])))[:, 0]
    _, first, where = np.unique(whole, return_index=True, return_inverse=True)
    summed = np.bincount(where, weights).astype(np.float64)
    if np.all(summed % 1 == 0):
        summed /= np.gcd.reduce(summed.astype(np.int64))
    return Rows(X[first], target[first], summed, len(first))


def prices(embedded: Embedding, seen: Effects | None, ids: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Price features by the pieces or levels they have become and, if effects are to count, by what they show.

    The levels of a column of noise pull √levels as much at the linear part as one column does, and ``levels`` times as much at
    the hidden layers; differences that are there pull √levels as much at these as a straight effect of the same variance. A
    column of L levels therefore costs √L where they clearly differ, and up to √L times more where they do not.
    All features of a group have one price: the mean for their size, times what its clearest feature costs.
    """
    levels = np.sqrt(embedded.n_levels)
    pieces = np.where(levels > 1, levels, embedded.n_pieces)
    shown = np.ones(len(pieces)) if seen is None else seen.prices(levels)
    if ids is None:
        return pieces * shown
    lowest = np.full(ids.max() + 1, np.inf)
    np.minimum.at(lowest, ids, shown)
    sizes = np.maximum(np.bincount(ids), 1)
    return (np.bincount(ids, pieces) / sizes * lowest)[ids]
