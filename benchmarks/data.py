"""Data sets by name, and their splits.

Files are read from the folder in RIATA_DATA (default: ../shared/data). Two names need no files: ``digits`` ships with
scikit-learn, and ``synthetic`` (1,000 x 30,000) or ``synthetic_NxD`` is drawn from a seed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FILES = ("mice_protein", "coil20", "isolet", "mnist_10k", "fashion_mnist_10k")
SYNTHETIC = "synthetic"
_SHAPE = (1_000, 30_000)
_SYNTHETIC_WIDTH = 100
_INFORMATIVE = 10


class Data(NamedTuple):
    """A classification problem, and the width of the hidden layer that is used on it."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    width: int


class Part(NamedTuple):
    """Rows of a split."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]


class Split(NamedTuple):
    """Rows to train on, to validate on and to test on."""

    fit: Part
    val: Part
    test: Part


def load(name: str) -> Data:
    """Find a data set; missing values become the mean of their column."""
    if name.startswith(SYNTHETIC):
        return Data(name, *synthetic(*_shape(name)), _SYNTHETIC_WIDTH)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = _read(name)
    X = X.astype(np.float32)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X).astype(np.float32)
    return Data(name, X, y.astype(np.int64), X.shape[1] // 3)


def here(name: str) -> bool:
    """Say whether the file of a data set is there."""
    return _file(name).exists()


def synthetic(n: int, d: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw four classes: the signs of a linear score and of a sum of products of pairs, on ten informative features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    few = X[:, : min(_INFORMATIVE, d)]
    linear = few.sum(axis=1)
    pairs = (few[:, 0::2][:, : few.shape[1] // 2] * few[:, 1::2]).sum(axis=1) + few[:, 0]
    y = 2 * (linear > 0) + (pairs > np.median(pairs))
    return X[:, rng.permutation(d)], y.astype(np.int64)


def split(data: Data, seed: int) -> Split:
    """Split 70-10-20, stratified, and scale by the training part."""
    X, y = data.X, data.y
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    fit, val = train_test_split(rest, test_size=0.125, stratify=y[rest], random_state=seed)
    scaler = StandardScaler().fit(X[fit])
    return Split(*(Part(scaler.transform(X[rows]), y[rows]) for rows in (fit, val, test)))


def _shape(name: str) -> tuple[int, int]:
    if name == SYNTHETIC:
        return _SHAPE
    try:
        n, d = (int(size) for size in name.removeprefix(f"{SYNTHETIC}_").split("x"))
    except ValueError:
        raise SystemExit(f"{name}: write {SYNTHETIC} or {SYNTHETIC}_NxD, such as {SYNTHETIC}_300x2000") from None
    return n, d


def _file(name: str) -> Path:
    return Path(os.environ.get("RIATA_DATA", "../shared/data")) / f"{name}.npz"


def _read(name: str) -> tuple[NDArray, NDArray]:
    if not here(name):
        raise SystemExit(f"{_file(name)} is not there: set RIATA_DATA to the folder that holds the data sets")
    with np.load(_file(name)) as file:
        return file["X"], file["y"]
