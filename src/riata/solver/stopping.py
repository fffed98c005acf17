"""When to stop at a λ, and which iterate to keep.

An iteration is one pass over the training samples: one update, or one for every mini-batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "Mask", "Monitor", "Stopping", "affordable"]

LONGEST = 1000  # iterations of the dense model where no number is given
_MOST = 14  # iterations at each λ where no number is given
_WINDOW = 20  # iterations over which the fall of the objective is compared with the tolerance

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]  # one flag per replica, on the host: the devices do arithmetic, the host decides


@dataclass(frozen=True)
class Stopping:
    """When to stop at a λ, and which iterate to keep.

    Attributes
    ----------
    n_iters : int
        Maximal number of iterations.
    patience : int or None
        Stop after so many iterations without a better validation objective (objective, where there is no validation).
    tol : float
        Stop when the objective has fallen, over 20 iterations, by less than this share of its value at the start; also the
        share by which a monitored value must fall to count as better.
    keep_validated : bool
        Keep the iterate with the best validation objective rather than the one with the lowest objective. Right for a model
        that is to predict; on the path it would let the validation samples keep features that the penalty removes.
    until_drop : bool
        Stop as soon as a feature is dropped, with the iterate that dropped it.
    """

    n_iters: int
    patience: int | None
    tol: float
    keep_validated: bool = False
    until_drop: bool = False

    def in_batches(self, n_batches: int) -> Stopping:
        """Return the same for mini-batches, where an iteration is many updates and fewer iterations are enough.

        At most max(50, 12,000 / n_batches) iterations, and a patience of at most max(5, 300 / n_batches).
        """
        if n_batches == 1:
            return self
        patience = None if self.patience is None else min(self.patience, max(5, 300 // n_batches))
        return replace(self, n_iters=min(self.n_iters, max(50, 12_000 // n_batches)), patience=patience)


def affordable(n_entries: int, n_batches: int = 1) -> int:
    """Iterations at each λ where no number is given: 14 s, or with mini-batches those of 100 s updates, between 1 and 14.

    s = √(2²⁰ / n_entries), within [½, 1]: tables of over a million entries get fewer.
    """
    share = np.clip(np.sqrt(2**20 / max(1, n_entries)), 0.5, 1.0)
    return int(share * _MOST) if n_batches == 1 else int(np.clip(np.ceil(share * 100 / n_batches), 1, _MOST))


class Monitor:
    """Records the objective of the iterates; says which are the best so far, and which replicas stop.

    Parameters
    ----------
    stopping : Stopping
        The rules.
    budget : int array of shape (R,)
        Iterations that each replica may still make.
    """

    def __init__(self, stopping: Stopping, budget: NDArray[np.int64]):
        self.stopping = stopping
        self.budget = budget
        self.used = np.zeros_like(budget)
        self.best = np.zeros_like(budget)  # iterations after which the best iterate so far was reached
        self.live = budget > 0  # replicas that go on
        self.converged = np.zeros(budget.shape, dtype=bool)  # stopped because the objective no longer falls
        # Replicas that are to go on with steps of the first size, and those that have been restarted already.
        self.restart = self._restarted = np.zeros(budget.shape, dtype=bool)
        highest = np.full(budget.shape, np.finfo(np.float64).max)
        self._best_value, self._better_than = highest, highest  # with `better_than` the tolerance counts
        self._n_not_better = np.zeros_like(budget)  # iterations since the monitored value fell below `better_than`
        self._lowest, self._lowest_before = highest, highest  # objective so far, and at the start of the window
        self._initial: Floats | None = None  # size of the objective at the start
        self._n_in_window = np.zeros_like(budget)

    def record(self, objective: Floats, monitored: Floats, short_steps: Mask, n_iters: int) -> Mask:
        """Record the iterates after so many further iterations; return which of them are the best so far.

        Afterwards ``live`` says which replicas go on.
        """
        stopping = self.stopping
        self.used = self.used + n_iters * self.live
        value = monitored if stopping.keep_validated else objective
        best = (value < self._best_value) & self.live
        self._best_value = np.where(best, value, self._best_value)
        self.best = np.where(best, self.used, self.best)
        better = monitored < self._better_than - stopping.tol * np.abs(self._better_than)
        self._better_than = np.where(better, monitored, self._better_than)
        self._n_not_better = np.where(better, 0, self._n_not_better + n_iters)
        if self._initial is None:
            self._initial = np.abs(objective)
        self._lowest = np.fmin(self._lowest, objective)
        converged = self._no_progress(self._initial, short_steps, n_iters) & self.live
        self.converged = self.converged | converged
        stop = (self.used >= self.budget) | converged
        if stopping.patience is not None:
            stop |= self._n_not_better >= stopping.patience
        self.live = self.live & ~stop
        return best

    def _no_progress(self, initial: Floats, short_steps: Mask, n_iters: int) -> Mask:
        """Compare the fall of the objective with the tolerance; where steps are short, restart them once before stopping."""
        if not n_iters:
            self._lowest_before = self._lowest
            return np.zeros_like(self.live)
        self._n_in_window += n_iters
        due = self._n_in_window >= _WINDOW
        stalled = due & ~(self._lowest_before - self._lowest > self.stopping.tol * initial)
        restart = stalled & short_steps & ~self._restarted
        if due.any():
            self._restarted = np.where(due, restart, self._restarted)
            self._lowest_before = np.where(due, self._lowest, self._lowest_before)
            self._n_in_window = np.where(due, 0, self._n_in_window)
        self.restart = restart
        return stalled & ~restart
