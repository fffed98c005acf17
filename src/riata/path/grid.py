"""The grid of λ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST_STRIDE", "Grid", "Stride"]

Floats = NDArray[np.float64]
LONGEST_STRIDE = 2.0  # ratio of two neighbouring λ, unless the multiplier itself is larger
_FEW = 25  # one in so many features may leave in one stride


@dataclass(frozen=True)
class Grid:
    """The grid of λ after the dense model.

    Either ``seq``, or from ``start`` (None: somewhat below the first λ that removes a feature) by ``multiplier`` until no
    feature is left.
    """

    multiplier: float = 1.02
    start: float | None = None
    seq: tuple[float, ...] | None = None


class Stride:
    """Proposes one λ after another, in longer strides where hardly any feature leaves.

    Strides are powers of the multiplier. A stride doubles, up to a limit, after a point that changed none or hardly any of the
    features; a long one that changes more than one in 25, and more than one, is rejected and replaced with single steps. So
    few departures are skipped while many features are left, and none at the end.
    """

    def __init__(self, grid: Grid, first: float):
        self._seq = grid.seq
        self._multiplier = grid.multiplier
        self._next = first
        self._here = first
        self._power = 1
        self._n_done = 0  # of a given sequence
        self._limit = max(1, int(np.log(LONGEST_STRIDE) / np.log(grid.multiplier)))

    def __iter__(self) -> Iterator[float]:
        if self._seq is not None:
            yield from self._seq[self._n_done :]
            return
        while True:
            yield self._next

    def accepts(self, n_changed: int, n_features: int) -> bool:
        """Return whether to keep the point at the proposed λ, given how many of the features it changed."""
        if self._seq is not None:
            self._n_done += 1
            return True
        few = max(1, n_features // _FEW)
        if n_changed > few and self._power > 1:
            self._power = 1
            self._next = self._here * self._multiplier
            return False
        self._power = min(2 * self._power, self._limit) if 2 * n_changed <= few else 1
        self._here = self._next
        self._next = self._here * self._multiplier**self._power
        return True

    @property
    def state(self) -> tuple[float, float, int, int]:
        """Where it is."""
        return self._next, self._here, self._power, self._n_done

    @classmethod
    def at(cls, grid: Grid, state: tuple[float, float, int, int]) -> Self:
        """Return one that is where another was."""
        stride = cls(grid, state[0])
        stride._next, stride._here, stride._power, stride._n_done = state
        return stride
