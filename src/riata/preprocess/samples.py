"""What a problem is posed from: rows in one order, and what the features cost beside the user's own costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riata.preprocess.marginal import Associations


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, then rows to validate on, with targets as the network sees them."""

    X: NDArray[np.floating]
    target: NDArray[np.float64]  # (n, o), not yet scaled
    weights: NDArray[np.float64]  # to train on: they sum to the number of rows they stand for
    n_fit: int
    split: bool = False  # whether rows to validate on are a random part of those given


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


def penalty_weights(
    size: NDArray[np.float64], seen: Associations | None, ids: NDArray[np.int64] | None = None, *, linear: bool = False
) -> NDArray[np.float64]:
    """Return what multiplies λ for each feature: √p for one of p columns with a clear effect, up to 2p for one without.

    The p columns of noise have a gradient √p times as large as one column's at the linear part, and p times as large at the
    hidden layers, where absolute values add up; an effect that is there has one √p times as large. So √p is fair to features
    with an effect and p to those without; without ``seen`` it is p, or √p in a ``linear`` model, the group lasso's. Features of
    a group count together: ``seen`` is that of groups then.
    """
    if ids is not None:
        return penalty_weights(np.bincount(ids, size).astype(np.float64), seen, linear=linear)[ids]
    root = np.sqrt(size)
    if seen is None:
        return root if linear else size
    return root * seen.prices(root)
