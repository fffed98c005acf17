"""Data sets by name, and their splits.

Data sets, and which samples are split off, are those of ``experiments``; ``synthetic`` (1,000 x 30,000) or ``synthetic_NxD``
is drawn from a seed and needs no file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

import experiments.data
from experiments.data import here
from experiments.protocol import Part, Split, rows

__all__ = ["FILES", "SYNTHETIC", "Data", "Part", "Split", "here", "load", "split", "synthetic"]

FILES = ("mice_protein", "coil20", "isolet", "mnist_10k", "fashion_mnist_10k")
SYNTHETIC = "synthetic"


class Data(NamedTuple):
    """A classification problem, and the width of the hidden layer that is used on it."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    width: int


def load(name: str) -> Data:
    """Find a data set; missing values become the mean of their column."""
    if name.startswith(SYNTHETIC):
        return Data(name, *synthetic(*_shape(name)), width=100)
    _, X, y = experiments.data.load(name)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X).astype(np.float32)
    return Data(name, X, y.astype(np.int64), X.shape[1] // 3)


def synthetic(n: int, d: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw four classes: the signs of a linear score and of a sum of products of pairs, on ten informative features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    few = X[:, :10]
    linear = few.sum(axis=1)
    pairs = (few[:, 0::2][:, : few.shape[1] // 2] * few[:, 1::2]).sum(axis=1) + few[:, 0]
    y = 2 * (linear > 0) + (pairs > np.median(pairs))
    return X[:, rng.permutation(d)], y.astype(np.int64)


def split(data: Data, seed: int) -> Split:
    """Split 70-10-20, stratified, and scale by the training part."""
    parts = rows(data.y, seed)
    scaler = StandardScaler().fit(data.X[parts[0]])
    return Split(*(Part(scaler.transform(data.X[part]), data.y[part]) for part in parts))


def _shape(name: str) -> tuple[int, int]:
    if name == SYNTHETIC:
        return 1_000, 30_000
    try:
        n, d = (int(size) for size in name.removeprefix(f"{SYNTHETIC}_").split("x"))
    except ValueError:
        raise SystemExit(f"{name}: write {SYNTHETIC} or {SYNTHETIC}_NxD, such as {SYNTHETIC}_300x2000") from None
    return n, d
