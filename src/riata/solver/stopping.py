"""When to leave a λ, and with which iterate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "Mask", "Stopping", "Watch", "affordable"]

LONGEST = 1000  # passes of the dense model where no number is given
_MOST = 14  # passes at each λ where no number is given
_UPDATES = 100  # at each λ, with mini-batches
_PATIENCE, _IN_ALL = 300, 12_000  # updates without a better validation objective, and in all, with mini-batches
_PASSES = 5  # that they are at least
_SMALL = 2**20  # entries of a table that can afford the most
_WINDOW = 20  # the tolerance is held against the fall of the objective over so many passes

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]  # one flag per replica, on the host: the devices do arithmetic, the host decides


@dataclass(frozen=True)
class Stopping:
    """When to leave a λ, and with which iterate.

    Attributes
    ----------
    n_iters : int
        Passes over the training rows at most.
    patience : int or None
        Leave after so many passes without a better validation objective (objective, where there is no validation).
    tol : float
        Leave when the objective has fallen, over 20 passes, by less than this share of its value on entering; also what
        counts as better.
    keep_validated : bool
        Keep the iterate with the best validation objective rather than the one with the lowest objective. Right for a model
        that is to predict; on the path it would let the validation rows hold back features that the penalty takes out.
    until_drop : bool
        Leave as soon as a feature is dropped, with the iterate that dropped it.
    """

    n_iters: int
    patience: int | None
    tol: float
    keep_validated: bool = False
    until_drop: bool = False

    def in_batches(self, n_batches: int) -> Stopping:
        """Return the same for passes of so many updates each, of which fewer are enough."""
        if n_batches == 1:
            return self
        patience = None if self.patience is None else min(self.patience, max(_PASSES, _PATIENCE // n_batches))
        return replace(self, n_iters=min(self.n_iters, max(10 * _PASSES, _IN_ALL // n_batches)), patience=patience)


def affordable(n_entries: int, n_batches: int = 1) -> int:
    """Passes at each λ: 14, or those of 100 updates with mini-batches; down to half for tables of over a million entries."""
    share = np.clip(np.sqrt(_SMALL / max(1, n_entries)), 0.5, 1.0)
    return int(share * _MOST) if n_batches == 1 else int(np.clip(np.ceil(share * _UPDATES / n_batches), 1, _MOST))


class Watch:
    """Says which iterates are the best so far, and when a replica has been waited for long enough.

    Parameters
    ----------
    stopping : Stopping
        The rules.
    budget : int array of shape (R,)
        Passes that each replica may still make.
    """

    def __init__(self, stopping: Stopping, budget: NDArray[np.int64]):
        self.stopping = stopping
        self.budget = budget
        self.used = np.zeros_like(budget)
        self.best = np.zeros_like(budget)  # passes after which the best iterate so far was reached
        self.live = budget > 0
        self.settled = np.zeros(budget.shape, dtype=bool)  # stopped because the objective falls no longer
        self.restart = self._retry = np.zeros(budget.shape, dtype=bool)  # on a second try: from now on, and already
        huge = np.full(budget.shape, np.finfo(np.float64).max)
        self._worth, self._mark = huge, huge
        self._since = np.zeros_like(budget)
        self._lowest, self._window = huge, huge  # lowest objective so far, and at the last check of the tolerance
        self._entry: Floats | None = None  # objective on entering
        self._age = np.zeros_like(budget)

    def see(self, objective: Floats, judged: Floats, weak: Mask, passes: int) -> Mask:
        """Record the iterates after so many further passes; return which of them are the best so far.

        ``weak`` are the replicas whose steps have become short. Afterwards ``live`` says which are to go on.
        """
        stopping = self.stopping
        self.used = self.used + passes * self.live
        worth = judged if stopping.keep_validated else objective
        better = (worth < self._worth) & self.live
        self._worth = np.where(better, worth, self._worth)
        self.best = np.where(better, self.used, self.best)
        counts = judged < self._mark - stopping.tol * np.abs(self._mark)
        self._mark = np.where(counts, judged, self._mark)
        self._since = np.where(counts, 0, self._since + passes)
        if self._entry is None:
            self._entry = np.abs(objective)
        self._lowest = np.fmin(self._lowest, objective)
        stalled = self._stalled(self._entry, weak, passes) & self.live
        self.settled = self.settled | stalled
        stop = (self.used >= self.budget) | stalled
        if stopping.patience is not None:
            stop |= self._since >= stopping.patience
        self.live = self.live & ~stop
        return better

    def _stalled(self, entry: Floats, weak: Mask, passes: int) -> Mask:
        """Hold the fall of the objective against the tolerance; a stall on short steps is given one more try."""
        if not passes:
            self._window = self._lowest
            return np.zeros_like(self.live)
        self._age += passes
        due = self._age >= _WINDOW
        stalled = due & ~(self._window - self._lowest > self.stopping.tol * entry)
        again = stalled & weak & ~self._retry
        if due.any():
            self._retry = np.where(due, again, self._retry)
            self._window = np.where(due, self._lowest, self._window)
            self._age = np.where(due, 0, self._age)
        self.restart = again
        return stalled & ~again
