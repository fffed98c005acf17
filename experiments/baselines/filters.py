"""Methods that look at features without fitting a model of the target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif, f_regression, mutual_info_classif, mutual_info_regression

from experiments.baselines.task import Task, by

_ROWS = 3_000  # that mutual information looks at: its time grows faster than their number


def random(task: Task) -> NDArray[np.int64]:
    """Draw an order: what no method should fall below."""
    return np.random.default_rng(task.seed).permutation(task.d)


def everything(task: Task) -> NDArray[np.int64]:
    """Keep all features: an upper bound."""
    return np.arange(task.d)


def fisher(task: Task) -> NDArray[np.int64]:
    """Variance between classes over variance within (Gu et al., 2012); squared correlation for regression."""
    return by(relevance(task))


def mutual_information(task: Task) -> NDArray[np.int64]:
    """Estimate by nearest neighbours (Ross, 2014), on at most 3,000 rows."""
    rows = np.random.default_rng(task.seed).permutation(len(task.X))[:_ROWS]
    estimate = mutual_info_regression if task.regression else mutual_info_classif
    return by(estimate(task.X[rows], task.y[rows], random_state=task.seed))


def mrmr(task: Task) -> NDArray[np.int64]:
    """Add the feature with the largest F statistic over mean |correlation| with those taken (Ding and Peng, 2005)."""
    scores = np.nan_to_num(relevance(task))
    redundancy = np.zeros(task.d)
    spread = task.X.std(axis=0)
    Z = (task.X - task.X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    order = [int(np.argmax(scores))]
    left = np.ones(task.d, dtype=bool)
    while True:
        left[order[-1]] = False
        if not left.any():
            return np.array(order)
        redundancy += np.abs(Z.T @ Z[:, order[-1]]) / len(Z)
        score = scores / np.maximum(redundancy / len(order), 1e-3)
        order.append(int(np.argmax(np.where(left, score, -np.inf))))


def pfa(task: Task) -> NDArray[np.int64]:
    """Principal feature analysis (Lu et al., 2007): cluster the rows of the loadings of the first k components.

    Each of k clusters gives the feature nearest to its centre; those of large clusters, which stand for many, come first.
    """
    k = min(task.k, task.d, len(task.X))
    loadings = PCA(k, random_state=task.seed).fit(task.X).components_.T  # (d, k)
    clusters = KMeans(k, n_init=3, random_state=task.seed).fit(loadings)
    distances = clusters.transform(loadings)  # (d, k)
    nearest = np.where(clusters.labels_[:, None] == np.arange(k), distances, np.inf).argmin(axis=0)
    return nearest[by(np.bincount(clusters.labels_, minlength=k))]


def relevance(task: Task) -> NDArray[np.float64]:
    """F statistic of each feature: for classes it is the Fisher score times a constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (f_regression if task.regression else f_classif)(task.X.astype(np.float64), task.y)[0]
