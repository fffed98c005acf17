"""Methods that rank columns without a target, each behind ``rank(name, task) -> positions, best first``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import kneighbors_graph

from experiments.baselines import filters
from experiments.baselines.task import Task, by
from riata import LassoNetAutoencoder

_ROWS, _NEIGHBOURS = 2_000, 5  # of the graph of the Laplacian score


def autoencoder(task: Task) -> LassoNetAutoencoder:
    """Follow the path from all columns to none, all by default but the scale: columns stay as they are."""
    model = LassoNetAutoencoder(preprocessing=None, random_state=task.seed)
    return model.fit(task.X, X_val=task.X_val)


def riata(task: Task) -> NDArray[np.int64]:
    """Rank by when columns leave the path."""
    return by(autoencoder(task).feature_importances_)


def greedy(task: Task) -> NDArray[np.int64]:
    """Add the column with which a linear map of those taken explains most of all columns (Farahat et al., 2011)."""
    rest = np.cov(task.X, rowvar=False)  # of what the columns taken do not explain
    floor = 1e-6 * np.diag(rest).max()
    order: list[int] = []
    while len(order) < task.d:
        own = np.diag(rest)
        gain = np.where(own > floor, (rest**2).sum(axis=0) / np.maximum(own, floor), -1.0)
        gain[order] = -np.inf
        order.append(int(np.argmax(gain)))
        if own[order[-1]] > floor:
            rest = rest - np.outer(rest[:, order[-1]], rest[order[-1]]) / own[order[-1]]
    return np.array(order)


def laplacian(task: Task) -> NDArray[np.int64]:
    """Laplacian score (He, Cai and Niyogi, 2005): first the columns that differ least between neighbouring rows.

    Weights of the graph fall with the squared distance over its mean between neighbours. Columns are compared with their own
    variance, and constant ones come last.
    """
    rows = np.random.default_rng(task.seed).permutation(len(task.X))[:_ROWS]
    X = task.X[rows].astype(np.float64)
    graph = kneighbors_graph(X, min(_NEIGHBOURS, len(X) - 1), mode="distance")
    graph.data = np.exp(-(graph.data**2) / max(np.mean(graph.data**2), 1e-12))
    W = graph.maximum(graph.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    X = X - degree @ X / degree.sum()
    spread = degree @ X**2
    differ = spread - np.einsum("ij,ij->j", X, W @ X)
    return by(np.where(spread > 1e-12 * len(X), -differ / np.maximum(spread, 1e-300), np.nan))


def variance(task: Task) -> NDArray[np.int64]:
    """Rank by variance."""
    return by(task.X.var(axis=0))


class Method(NamedTuple):
    """One way to rank columns."""

    rank: Callable[[Task], NDArray[np.integer]]
    per_k: bool = False  # another number of columns is another run


METHODS = {
    "riata": Method(riata),
    "greedy": Method(greedy),
    "pfa": Method(filters.pfa, per_k=True),
    "laplacian": Method(laplacian),
    "variance": Method(variance),
    "random": Method(filters.random),
}
