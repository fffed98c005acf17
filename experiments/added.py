"""Ordinary tables with columns that add nothing: the benchmark of Cherepanova et al. (NeurIPS 2023).

Three kinds of columns are added, as many as make up a share of all: noise N(0, 1) ("random"); copies of columns, half of each
replaced by noise of the same standard deviation ("corrupted"); products of two standardised columns ("second_order"). All
columns are then shuffled, so that a column's place says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data import load
from experiments.protocol import Part, Split, rows

Draw = np.random.Generator
Floats = NDArray[np.float64]
NONE = "none"  # the table as it is
SHARES = (50, 75)  # per cent of all columns that are added
_KEPT = 0.5  # of a column in its corrupted copy


class Table(NamedTuple):
    """Samples of a table, not scaled, and which columns are its own."""

    parts: Split
    original: NDArray[np.bool_]  # (d,)

    @property
    def training(self) -> Part:
        """Samples that methods learn from: those to fit on and those to validate on."""
        fit, val, _ = self.parts
        return Part(np.concatenate([fit.X, val.X]), np.concatenate([fit.y, val.y]))


def random(X: Floats, n: int, rng: Draw) -> Floats:
    """Draw from N(0, 1)."""
    return rng.standard_normal((len(X), n))


def corrupted(X: Floats, n: int, rng: Draw) -> Floats:
    """Copy columns drawn at random, more than once only where there are too few, and replace half of them by noise."""
    source = X[:, rng.choice(X.shape[1], n, replace=n > X.shape[1])]
    return _KEPT * source + (1 - _KEPT) * source.std(axis=0) * rng.standard_normal(source.shape)


def second_order(X: Floats, n: int, rng: Draw) -> Floats:
    """Multiply pairs of different standardised columns."""
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)
    first = rng.integers(X.shape[1], size=n)
    second = (first + rng.integers(1, max(X.shape[1], 2), size=n)) % X.shape[1]
    return Z[:, first] * Z[:, second]


KINDS = {"random": random, "corrupted": corrupted, "second_order": second_order}


def add(X: NDArray, kind: str, share: int, rng: Draw) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return a table with added columns, shuffled, and which columns are its own."""
    d = X.shape[1]
    n = 0 if kind == NONE else round(d * share / (100 - share))
    added = KINDS[kind](X.astype(np.float64), n, rng) if n else np.empty((len(X), 0))
    order = rng.permutation(d + n)
    return np.hstack([X, added]).astype(np.float32)[:, order], order < d


def draw(name: str, kind: str, share: int, n_rows: int, seed: int) -> Table:
    """Draw at most so many rows of a table, add columns and split; rows and split are the same for all kinds and shares."""
    data = load(name)
    drawn = np.random.default_rng(seed).permutation(len(data.y))[:n_rows]
    y = data.y[drawn] if data.regression else np.unique(data.y[drawn], return_inverse=True)[1]
    X, original = add(data.X[drawn], kind, share, np.random.default_rng([seed, [NONE, *KINDS].index(kind), share]))
    return Table(Split(*(Part(X[part], y[part]) for part in rows(y, seed))), original)
