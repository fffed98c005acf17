"""Further samples to train on: a share of those in memory is replaced between two iterations, and the next is read ahead.

An iteration is one pass over the samples in memory, so that the time of a path does not depend on how many there are in all.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Feed", "Refill", "Serving"]


class Serving(NamedTuple):
    """Samples as a problem has them, on the host."""

    X: NDArray[np.floating]  # (b, d)
    target: NDArray[np.floating]  # (b, o)
    weights: NDArray[np.floating]  # (b,) 1 on average


class Feed(Protocol):
    """Samples in an endless order, a serving at a time. What is in a serving depends on its number only."""

    @property
    def columns(self) -> NDArray[np.int64]:
        """Which inputs are wanted, increasing."""
        ...

    def serving(self, k: int) -> Serving:
        """Return the samples with number k; called from another thread."""
        ...

    def only(self, columns: NDArray[np.int64]) -> Feed:
        """Return the same samples with some of the columns, given by position."""
        ...


class Refill:
    """How far a feed has been used, and the serving that is read ahead.

    Samples take the place of those that have been there for longest. Which take which does not depend on time.
    """

    def __init__(self) -> None:
        self._k = 0
        self._place = 0
        self._ahead: _Ahead | None = None

    def __call__(self, feed: Feed, X: Tensor, target: Tensor, weights: Tensor) -> None:
        """Replace some of the samples to train on, which are the first of X and target, and all of weights, (R, n)."""
        served, n = self._next(feed), weights.shape[-1]
        held = X, target, weights
        rows, targets, counts = (torch.from_numpy(part[:n]).to(like) for part, like in zip(served, held, strict=True))
        slots = (self._place + torch.arange(len(rows), device=X.device)) % n
        X[slots], target[slots], weights[:, slots] = rows, targets, counts / n
        self._place = (self._place + len(rows)) % n

    def _next(self, feed: Feed) -> Serving:
        """Return the next serving, and begin to read the one after it."""
        k, ahead = self._k, self._ahead
        self._k, self._ahead = k + 1, None
        served = None if ahead is None else ahead.with_columns(feed.columns)
        served = feed.serving(k) if served is None else served
        self._ahead = _Ahead(feed, k + 1)
        self._ahead.start()
        return served


class _Ahead(threading.Thread):
    """Reads a serving while others are trained on."""

    def __init__(self, feed: Feed, k: int):
        super().__init__(name="riata-feed")
        self._feed, self._k = feed, k
        self._served: Serving | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Read it."""
        try:
            self._served = self._feed.serving(self._k)
        except BaseException as error:
            self._error = error

    def with_columns(self, columns: NDArray[np.int64]) -> Serving | None:
        """Return the serving with some of the columns; None where it lacks one of them."""
        self.join()
        if self._error is not None:
            raise self._error
        assert self._served is not None
        known = self._feed.columns
        if len(known) == len(columns):
            return self._served if np.array_equal(known, columns) else None
        if not np.isin(columns, known, assume_unique=True).all():
            return None
        return self._served._replace(X=self._served.X[:, np.searchsorted(known, columns)])
