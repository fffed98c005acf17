"""The order in which the rows of a table are read for training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Order"]

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Order:
    """An endless sequence of rows: all blocks in random order, then all again in another one.

    What is at a place of the sequence depends on the seed alone.
    """

    edges: Ids  # where blocks begin, and the number of rows
    seed: int
    _known: dict[int, tuple[Ids, Ids]] = field(default_factory=dict)  # of the last round

    def ranges(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Return the rows from one place of the sequence to another, as first row and row after the last."""
        n_rows = int(self.edges[-1])
        while start < stop:
            turn, place = divmod(start, n_rows)
            blocks, ends = self._round(turn)
            i = int(np.searchsorted(ends, place, side="right"))
            after = int(self.edges[blocks[i] + 1])
            first = after - (int(ends[i]) - place)
            last = min(after, first + stop - start)
            yield first, last
            start += last - first

    def _round(self, turn: int) -> tuple[Ids, Ids]:
        """Return the blocks of a round, and the place in it after each."""
        if turn not in self._known:
            self._known.clear()
            blocks = np.random.default_rng([self.seed, turn]).permutation(len(self.edges) - 1)
            self._known[turn] = blocks, np.cumsum(np.diff(self.edges)[blocks])
        return self._known[turn]
