"""Matrices with gaps: the paper's, and some of which the structure is known.

The columns of a roll are functions of a sheet that is rolled up in three dimensions: linear ones, where low rank is right,
or waves, whose matrix has no low rank although two numbers say where on the sheet a row lies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import data

Matrix = NDArray[np.float64]
Draw = np.random.Generator
_MICE = "mice_protein"
_MICE_SHARES, _DRAWN_SHARES = (0.8, 0.1), (0.7, 0.15)  # of the known entries, to see and to validate on; the rest tests


class Gaps(NamedTuple):
    """A matrix in three parts of its shape: an entry that is known is in one of them, and NaN in the others."""

    seen: Matrix
    val: Matrix
    test: Matrix
    noise: float | None  # error of whoever knows all but the noise, where that is known


def _low_rank(rng: Draw, n: int, d: int, rank: int, noise: float) -> tuple[Matrix, Matrix]:
    factors = rng.standard_normal((n, rank)), rng.standard_normal((rank, d))
    return factors[0] @ factors[1] / rank**0.5, noise * rng.standard_normal((n, d))


def _roll(rng: Draw, n: int, d: int, noise: float, waves: bool) -> tuple[Matrix, Matrix]:
    angle, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    roll = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    X = (roll - roll.mean(axis=0)) / roll.std(axis=0) @ rng.standard_normal((3, d))
    X = np.sin(1.5 * X + 2 * np.pi * rng.random(d)) if waves else X
    return X / X.std(axis=0), noise * rng.standard_normal((n, d))


_DRAWN: dict[str, Callable[[Draw], tuple[Matrix, Matrix]]] = {  # signal and noise
    "low_rank": partial(_low_rank, n=500, d=50, rank=5, noise=0.05),
    "low_rank_noisy": partial(_low_rank, n=500, d=50, rank=5, noise=0.3),
    "roll_linear": partial(_roll, n=1_000, d=50, noise=0.05, waves=False),
    "roll_waves": partial(_roll, n=1_000, d=50, noise=0.05, waves=True),
    "roll_small": partial(_roll, n=100, d=8, noise=0.05, waves=False),
}
FULL = (_MICE, "low_rank", "low_rank_noisy", "roll_linear", "roll_waves")
QUICK = ("roll_small",)
NAMES = (*FULL, *QUICK)


def wanted(asked: tuple[str, ...] | None, quick: bool) -> tuple[str, ...]:
    """Return the matrices to run on: those asked for, or all that need no files that are not here."""
    if asked is not None:
        return tuple(name for name in NAMES if name in asked)
    return QUICK if quick else tuple(name for name in FULL if name in _DRAWN or data.here(name))


def load(name: str, seed: int) -> Gaps:
    """Find or draw a matrix, scale its columns by all known entries, and split these."""
    rng = np.random.default_rng([seed, *name.encode()])
    if name == _MICE:
        X, noise, shares = data.load(name).X.astype(np.float64), None, _MICE_SHARES
    else:
        signal, noise = _DRAWN[name](rng)
        X, shares = signal + noise, _DRAWN_SHARES
    scale = np.nanstd(X, axis=0)
    parts = split((X - np.nanmean(X, axis=0)) / scale, shares, rng)
    return Gaps(*parts, None if noise is None else float(np.mean((noise / scale) ** 2)))


def split(X: Matrix, shares: tuple[float, float], rng: Draw) -> tuple[Matrix, Matrix, Matrix]:
    """Deal the known entries out to three matrices."""
    known = rng.permutation(np.flatnonzero(~np.isnan(X)))
    ends = np.round(np.cumsum(shares) * len(known)).astype(int)
    return tuple(_only(X, part) for part in np.split(known, ends))


def _only(X: Matrix, entries: NDArray[np.integer]) -> Matrix:
    kept = np.full(X.shape, np.nan)
    kept.flat[entries] = X.flat[entries]
    return kept


def error(completed: Matrix, part: Matrix) -> float:
    """Mean squared error on the entries of a part."""
    there = ~np.isnan(part)
    return float(np.mean((completed[there] - part[there]) ** 2))
