"""Methods that fill the gaps of a matrix, each behind ``complete(name, seen, val, seed) -> a matrix without gaps``.

Both matrices have NaN where nothing is known. All learn from ``seen``; ``val`` holds entries that are NaN there, for
methods with something to choose.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # IterativeImputer cannot be had without
from sklearn.impute import IterativeImputer, KNNImputer

from riata import LassoNetImputer

Matrix = NDArray[np.float64]
_N_LAMBDAS, _LARGEST, _SMALLEST = 30, 0.95, 1e-3  # penalties of Soft-Impute, in largest singular values
_TOLERANCE, _MOST = 1e-6, 5_000
_NEIGHBOURS = (1, 2, 3, 5, 10, 20)
_N_TREES = 100
_ROUNDS = {"ridge": 20, "trees": 10}


def column_mean(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Fill with the mean of the column."""
    return np.broadcast_to(_means(seen), seen.shape)


def row_mean(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Fill with the mean of the row, as the paper begins."""
    return np.broadcast_to(_means(seen.T)[:, None], seen.shape)


def _means(seen: Matrix) -> Matrix:
    """Mean of the known entries of each column; 0 where there are none."""
    known = ~np.isnan(seen)
    return np.where(known, seen, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def soft_impute(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Soft-Impute (Mazumder, Hastie and Tibshirani, 2010) on centred columns, the best of 30 penalties."""
    center = _means(seen)
    X = seen - center
    largest = np.linalg.norm(np.nan_to_num(X), 2)
    Z = np.zeros(X.shape)

    def solutions() -> Iterable[Matrix]:
        nonlocal Z
        for share in np.geomspace(_LARGEST, _SMALLEST, _N_LAMBDAS):
            Z = nuclear(X, share * largest, Z)
            yield Z + center

    return _best(solutions(), val)


def nuclear(X: Matrix, lambda_: float, start: Matrix) -> Matrix:
    """Minimise half the squared error on the known entries of X + λ times the sum of singular values.

    Proximal gradient steps of length 1, which is what Soft-Impute does, but with momentum that is dropped when it leads
    uphill (O'Donoghue and Candès, 2015): with small λ they would take many times as long.
    """
    Z, ahead, t = start, start, 1.0
    for _ in range(_MOST):
        U, s, V = np.linalg.svd(np.where(np.isnan(X), ahead, X), full_matrices=False)
        new = (U * np.maximum(s - lambda_, 0)) @ V
        step = new - Z
        t = 1.0 if np.sum((ahead - new) * step) > 0 else t
        faster = (1 + (1 + 4 * t**2) ** 0.5) / 2
        ahead, Z, t = new + (t - 1) / faster * step, new, faster
        if np.linalg.norm(step) <= _TOLERANCE * np.linalg.norm(Z):
            return Z
    warnings.warn(f"Soft-Impute has not converged in {_MOST:,} iterations", ConvergenceWarning, stacklevel=2)
    return Z


def neighbours(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Mean over the nearest rows, the best number and weighting of them."""
    few = [k for k in _NEIGHBOURS if k < len(seen)]
    imputers = (
        KNNImputer(n_neighbors=k, weights=weights, keep_empty_features=True)
        for k in few
        for weights in ("uniform", "distance")
    )
    return _best((imputer.fit_transform(seen) for imputer in imputers), val)


def _best(completed: Iterable[Matrix], val: Matrix) -> Matrix:
    """Return the one with the smallest error on the entries to validate on."""
    there = ~np.isnan(val)
    return min(completed, key=lambda Z: float(np.mean((Z[there] - val[there]) ** 2)))


def iterative_ridge(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Predict each column from all others by Bayesian ridge regression, in rounds."""
    return _in_rounds(seen, None, _ROUNDS["ridge"], seed)


def iterative_forest(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Predict each column from all others by a random forest, in rounds, as missForest does (Stekhoven, 2012)."""
    forest = RandomForestRegressor(_N_TREES, max_features=1 / 3, n_jobs=torch.get_num_threads(), random_state=seed)
    return _in_rounds(seen, forest, _ROUNDS["trees"], seed)


def iterative_extra_trees(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Predict each column from all others by extremely randomised trees, in rounds."""
    trees = ExtraTreesRegressor(_N_TREES, max_features=1 / 3, n_jobs=torch.get_num_threads(), random_state=seed)
    return _in_rounds(seen, trees, _ROUNDS["trees"], seed)


def _in_rounds(seen: Matrix, model: object, rounds: int, seed: int) -> Matrix:
    imputer = IterativeImputer(model, max_iter=rounds, keep_empty_features=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # forests with random splits never settle
        return imputer.fit_transform(seen)


def riata(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Follow the path and take its best point; all by default."""
    return LassoNetImputer(random_state=seed).fit_transform(seen, X_val=val)


def riata_dense(seen: Matrix, val: Matrix, seed: int) -> Matrix:
    """Train the network on all columns: the path ends where it begins."""
    return LassoNetImputer(n_features_to_select=seen.shape[1], random_state=seed).fit_transform(seen, X_val=val)


class Method(NamedTuple):
    """One way to fill gaps."""

    complete: Callable[[Matrix, Matrix, int], Matrix]
    slow: bool = False


METHODS = {
    "riata": Method(riata),
    "riata_dense": Method(riata_dense),
    "soft_impute": Method(soft_impute),
    "neighbours": Method(neighbours),
    "iterative_ridge": Method(iterative_ridge),
    "iterative_forest": Method(iterative_forest, slow=True),
    "iterative_extra_trees": Method(iterative_extra_trees, slow=True),
    "column_mean": Method(column_mean),
    "row_mean": Method(row_mean),
}


def complete(name: str, seen: Matrix, val: Matrix, seed: int = 0) -> Matrix:
    """Fill the gaps; what is known stays as it is."""
    return np.where(np.isnan(seen), METHODS[name].complete(seen, val, seed), seen)
