"""Problems of which the truth is known: a few columns matter, in ways that differ in how they can be seen.

Ring and xor are those of a published comparison (Passemiers et al., 2023), with columns uniform on [0, 1]. No column of an
xor says anything by itself; one of a ring does, but no straight line shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_ROWS = 1_000
_COPIES, _COPY_NOISE = 3, 0.3  # of each source of the blocks
_STRENGTHS = (1.0, 0.8, 0.6)  # of these sources: all copies of the first look better than any of the last

Draw = np.random.Generator
Columns = NDArray[np.float64]


class Sample(NamedTuple):
    """Rows of a problem, and the columns that matter."""

    X: NDArray[np.float32]
    y: NDArray  # classes 0 and 1, or numbers
    truth: tuple[tuple[int, ...], ...]  # what is to be found; of several columns that say the same, one


class Signal(NamedTuple):
    """What matters in a problem."""

    draw: Callable[[Draw, int], tuple[Columns, NDArray]]  # what is to be found, copies side by side, others; the target
    n_true: int
    n_copies: int = 1
    silent: Callable[[Draw, tuple[int, int]], Columns] = Draw.random  # columns that say nothing


def ring(x: Columns) -> NDArray[np.bool_]:
    """Say which points of the unit square are near a circle around its centre; half of them are."""
    return np.abs(np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5) - 0.35) <= 0.1151


def xor(x: Columns) -> NDArray[np.bool_]:
    """Say which points of the unit square have both coordinates in the same half."""
    return (x[:, 0] - 0.5) * (x[:, 1] - 0.5) >= 0


def _square(n_true: int, label: Callable[[Columns], NDArray[np.bool_]]) -> Signal:
    """Columns uniform on [0, 1] and a label without noise."""

    def draw(rng: Draw, n: int) -> tuple[Columns, NDArray]:
        x = rng.random((n, n_true))
        return x, label(x).astype(np.int64)

    return Signal(draw, n_true)


def _blocks(rng: Draw, n: int) -> tuple[Columns, NDArray]:
    """Three sources, of which only noisy copies are seen; the label is a noisy linear one of the sources."""
    sources = rng.standard_normal((n, len(_STRENGTHS)))
    copies = np.repeat(sources, _COPIES, axis=1)
    signal = sources @ np.array(_STRENGTHS) + 0.3 * rng.standard_normal(n)
    return copies + _COPY_NOISE * rng.standard_normal(copies.shape), (signal > 0).astype(np.int64)


def _friedman(rng: Draw, n: int) -> tuple[Columns, NDArray]:
    """Friedman's first problem (1991), a regression with one interaction and one bent effect."""
    x = rng.random((n, 5))
    smooth = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, smooth + rng.standard_normal(n)


def _graph(rng: Draw, n: int) -> tuple[Columns, NDArray]:
    """A directed graph: four causes of the label, then three causes of these and four of their consequences.

    Two of the causes act only together, one adds up, one acts in both directions. All others merely go along with them.
    """
    e = rng.standard_normal((n, 11))
    root = e[:, :3]
    cause = np.column_stack(
        [
            0.6 * root[:, 0] + 0.8 * e[:, 3],
            0.6 * root[:, 1] + 0.8 * e[:, 4],
            0.6 * root[:, 0] - 0.5 * root[:, 2] + 0.6 * e[:, 5],
            0.8 * np.tanh(root[:, 1] * root[:, 2]) + 0.8 * e[:, 6],
        ]
    )
    consequence = 0.7 * cause + 0.7 * e[:, 7:]
    score = 1.5 * cause[:, 0] * cause[:, 1] + cause[:, 2] + 1.2 * (np.abs(cause[:, 3]) - 0.7)
    return np.hstack([cause, root, consequence]), (score + 0.5 * rng.logistic(size=n) > 0).astype(np.int64)


SIGNALS = {
    "ring": _square(2, ring),
    "xor": _square(2, xor),
    "both": _square(4, lambda x: ring(x) | xor(x[:, 2:])),
    "sum": _square(6, lambda x: ring(x) | xor(x[:, 2:]) | (x[:, 4] + x[:, 5] > 1.4)),
    "graph": Signal(_graph, 4, silent=Draw.standard_normal),
    "blocks": Signal(_blocks, len(_STRENGTHS), _COPIES, Draw.standard_normal),
    "friedman": Signal(_friedman, 5),
}


def sample(name: str, p: int, seed: int, n: int = N_ROWS) -> Sample:
    """Draw a problem with p columns, in an order of its own."""
    signal = SIGNALS[name]
    rng = np.random.default_rng([seed, p, *name.encode()])
    x, y = signal.draw(rng, n)
    place = rng.permutation(p)  # where each column goes
    X = np.empty((n, p), dtype=np.float32)
    X[:, place] = np.hstack([x, signal.silent(rng, (n, p - x.shape[1]))])
    truth = place[: signal.n_true * signal.n_copies].reshape(signal.n_true, signal.n_copies)
    return Sample(X, y, tuple(tuple(columns) for columns in truth.tolist()))


def recovered(order: NDArray[np.integer], truth: tuple[tuple[int, ...], ...]) -> float:
    """Return the share of what is to be found that is among as many best-ranked columns."""
    top = set(np.asarray(order)[: len(truth)].tolist())
    return float(np.mean([bool(top & set(columns)) for columns in truth]))
