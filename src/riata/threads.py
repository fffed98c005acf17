"""How many threads share the arithmetic: one, unless there is so much of it that more of them pay.

Sums depend on how many threads share them, and a path on every bit of a sum. Threads also wait for each other after every
operation: where operations are short, and other processes keep the cores busy, a fit takes many times as long with two.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch
from threadpoolctl import ThreadpoolController

from riata.network.stacked import Architecture

__all__ = ["one_thread", "worth"]

# Products of two numbers in one forward pass. A thread that has to wait for a core is some 4 ms late after every operation: on
# two cores of which another process used one, a fit of 6e7 took 20 s with two threads and 3.2 s with one, and one of 5e7
# 251 and 28 s. From this number on an operation itself takes about as long; on quiet cores a second thread saves a third.
_PAYING = 5e8


def worth(n_rows: int, n_columns: int, network: Architecture) -> AbstractContextManager[None]:
    """Work on one thread, or on those of the caller if passes over so many rows and columns are worth them.

    A forked process always works on one: OpenMP waits for threads that only its parent has.
    """
    n_products = n_rows * (n_columns * network.width + network.n_upper)
    return nullcontext() if n_products >= _PAYING and not _limit.forked else one_thread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Work on one thread, and give the caller back those there were before."""
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """What is inside the context manager, in all threads of Python.

    torch and OpenMP have a number for each of these, which a new one takes over from whoever set it last; the libraries of
    linear algebra have one for the process. The first to come says what is to be restored.
    """

    def __init__(self, *, forked: bool = False) -> None:
        self.forked = forked
        self._lock = threading.Lock()
        self._n_inside = 0
        self._own = threading.local()

    def enter(self) -> None:
        """Lower the numbers, unless this thread of Python has done so already."""
        self._own.depth = getattr(self._own, "depth", 0) + 1
        if self._own.depth > 1:
            return
        with self._lock:
            before = (
                torch.get_num_threads()
            )  # asked first in any case: only then does a new thread have a number of its own
            if not self._n_inside:
                self._before, self._algebra = before, _pools().limit(limits=1, user_api="blas")
            self._n_inside += 1
            self._own.openmp = _pools().limit(limits=1, user_api="openmp")
            torch.set_num_threads(1)

    def leave(self) -> None:
        """Restore them."""
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._algebra.restore_original_limits()
            self._own.openmp.restore_original_limits()
            torch.set_num_threads(self._before)


_limit = _Limit()


def _begin_in_child() -> None:
    """Forget what threads of the parent were doing when it forked."""
    global _limit
    _limit = _Limit(forked=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


@cache
def _pools() -> ThreadpoolController:
    """Find the libraries of linear algebra, which takes half a millisecond."""
    return ThreadpoolController()
