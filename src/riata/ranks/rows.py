"""A table of which every rank holds some of the rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.ranks.group import Ranks

__all__ = ["SharedRows"]

Ids = NDArray[np.int64]


class SharedRows:
    """The rows of all ranks, those of the first rank first; an index of rows gives another such table.

    Columns are gathered when they are asked for, ``table[:, columns]``, which all ranks do together. So what is learnt from
    columns, a few at a time, is learnt from the rows of all ranks, and none ever holds all of the table.

    Parameters
    ----------
    local : array of shape (n_local, d)
        The rows of this rank.
    ranks : Ranks
        All processes.
    """

    ndim = 2

    def __init__(self, local: NDArray[Any], ranks: Ranks):
        self._ranks, self._local, self.dtype = ranks, local, local.dtype
        counts = ranks.gather(len(local))
        self._owner = np.repeat(np.arange(ranks.size), counts)  # (n,) the rank that has each row
        self._place = np.concatenate([np.arange(count) for count in counts])  # (n,) and where among its rows

    def __len__(self) -> int:
        return len(self._owner)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, of all ranks, and of columns."""
        return len(self), self._local.shape[1]

    def __getitem__(self, key: Any) -> Any:
        """Return some of the rows, as another such table, or some of the columns as an array."""
        if isinstance(key, tuple):
            _, columns = key  # of all rows: nothing asks for a part of both
            return self._columns(columns)
        chosen = object.__new__(SharedRows)
        chosen._ranks, chosen._local, chosen.dtype = self._ranks, self._local, self.dtype
        chosen._owner, chosen._place = self._owner[key], self._place[key]
        return chosen

    @cached_property
    def here(self) -> Ids:
        """Which of the rows this rank holds, by position."""
        return np.flatnonzero(self._owner == self._ranks.rank)

    def local(self) -> NDArray[Any]:
        """Return the rows that this rank holds."""
        place = self._place[self.here]
        whole = len(place) == len(self._local) and (np.diff(place) == 1).all()
        return self._local if whole else self._local[place]

    def above(self, other: SharedRows) -> SharedRows:
        """Return the rows of this table, then those of another."""
        joint = SharedRows(np.vstack([self.local(), other.local()]), self._ranks)
        first, second = _order(self._owner), _order(other._owner)
        counts = np.bincount(self._owner, minlength=self._ranks.size)
        joint._owner = np.concatenate([self._owner, other._owner])
        joint._place = np.concatenate([first, counts[other._owner] + second])
        return joint

    def _columns(self, columns: Any) -> NDArray[Any]:
        found = self._ranks.concat(self._local[:, columns][self._place[self.here]])
        ordered = np.empty_like(found)
        ordered[self._by_rank] = found
        return ordered

    @cached_property
    def _by_rank(self) -> Ids:
        """The positions of the rows of the first rank, of the second, and so on."""
        return np.argsort(self._owner, kind="stable")


def _order(owner: Ids) -> Ids:
    """Return the position of each row among those of its owner."""
    place = np.empty(len(owner), dtype=np.int64)
    for rank in np.unique(owner):
        mine = owner == rank
        place[mine] = np.arange(np.count_nonzero(mine))
    return place
