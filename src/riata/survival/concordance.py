"""Concordance: how often, of two samples, the one with the higher predicted risk has its event first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["concordance"]

Floats = NDArray[np.float64]
_QUERY, _POINT = 0, 1


def concordance(target: Floats, risk: Floats, weights: Floats | None = None) -> float:
    """Return the share of comparable pairs that are ranked rightly; of equal risks half a pair is.

    A pair is comparable if one sample has an event while the other is at risk: in the same stratum, entered before the event,
    and under observation after it, or censored at the same time. A pair counts with the product of the weights. O(n log n).

    Parameters
    ----------
    target : array of shape (n, ≥ 4)
        Entry, time, event and stratum.
    risk : array of shape (n,)
        Higher for samples whose events come earlier.
    weights : array of shape (n,), optional
        Weights of the samples.
    """
    weights = np.ones(len(target)) if weights is None else np.asarray(weights, dtype=np.float64)
    entry, time, event, stratum = target[:, :4].T
    # Risks are compared within strata: those of a later stratum are all higher, so that they never count as lower.
    rank = np.unique(np.column_stack([stratum, risk]), axis=0, return_inverse=True)[1].ravel()
    events = event > 0
    queries = (stratum[events], time[events], rank[events])
    pairs = _right(queries, (stratum, time, rank, weights), np.where(events, -1.0, 1.0))
    if (entry >= time[events].min(initial=np.inf)).any():  # those that enter at the time of an event or after it
        pairs -= _right(queries, (stratum, entry, rank, weights), np.ones(len(target)))
    right, comparable = (pairs * weights[events]).sum(axis=1)
    if comparable <= 0:
        raise ValueError("no two samples are comparable: an event is needed while another sample is at risk")
    return float(right / comparable)


def _right(
    queries: tuple[Floats, Floats, NDArray[np.int64]],
    points: tuple[Floats, Floats, NDArray[np.int64], Floats],
    side: Floats,
) -> Floats:
    """Return, for each query, the weights of later points of its stratum: of lower rank (equal ones by half), and of all.

    A point at the time of a query is later if its ``side`` is 1.
    """
    n, m = len(queries[0]), len(points[0])
    stratum, time, rank = (np.concatenate([q, p]) for q, p in zip(queries, points[:3], strict=True))
    weights = np.concatenate([np.zeros(n), points[3]])
    order = np.lexsort([np.concatenate([np.zeros(n), side]), time, stratum])
    rank, weights, stratum = rank[order], weights[order], stratum[order]
    later = np.cumsum(weights[::-1])[::-1]
    ends = np.searchsorted(stratum, stratum, side="right")
    found = np.array([_lower_later(rank, weights), later - np.append(later, 0.0)[ends]])
    place = np.empty(n + m, dtype=np.int64)
    place[order] = np.arange(n + m)
    return found[:, place[:n]]


def _lower_later(rank: NDArray[np.int64], weights: Floats) -> Floats:
    """Return for each position the weights of later positions with a lower rank, and half of those with an equal one.

    Positions are merged in blocks of 1, 2, 4, …: in each pair of blocks, sorted by rank, those on the left count those on
    the right.
    """
    found, by_rank = np.zeros(len(rank)), np.argsort(rank, kind="stable")
    for level in range(max(len(rank) - 1, 0).bit_length()):
        order = by_rank[np.argsort(by_rank >> (level + 1), kind="stable")]
        right = (order >> level) & 1
        total = np.append(0.0, np.cumsum(weights[order] * right))
        pair = order >> (level + 1)
        starts = np.searchsorted(pair, pair)
        changes = np.flatnonzero(np.diff(pair) | np.diff(rank[order])) + 1
        run = np.zeros(len(order), dtype=np.int64)
        run[changes] = 1
        run = np.cumsum(run)
        first, last = np.append(0, changes)[run], np.append(changes, len(order))[run]
        counted = (total[first] + total[last]) / 2 - total[starts]
        left = right == 0
        found[order[left]] += counted[left]
    return found
