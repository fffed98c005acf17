"""Work on a table a few columns at a time, so that copies stay small, and on several of its blocks at once if it is large."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from joblib import cpu_count

__all__ = ["by_columns", "one_by_one"]

_ENTRIES = 2**18  # of a block
_MOST = 256  # columns of a block
_LARGE = 2**22  # entries of a table that is worth several threads: a second of work

Made = TypeVar("Made")


def by_columns(function: Callable[[slice], Made], n_rows: int, n_columns: int, size: int | None = None) -> list[Made]:
    """Call a function with each block of columns, of ``size`` if given; return what it returns, in the order of the blocks.

    Blocks do not depend on the number of threads, nor does what comes of one on the others. NumPy lets other threads run
    while it sorts and adds. There are as many threads as cores, and no more than ``OMP_NUM_THREADS`` says: in a job that
    joblib runs beside others that is its share.
    """
    size = size or min(max(_ENTRIES // max(n_rows, 1), 1), _MOST)
    blocks = [slice(start, min(start + size, n_columns)) for start in range(0, n_columns, size)]
    n_threads = 1 if getattr(_ordered, "depth", 0) else min(_n_threads(), len(blocks))
    if n_threads < 2 or n_rows * n_columns < _LARGE:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(function, blocks))


@contextmanager
def one_by_one() -> Iterator[None]:
    """Take blocks in their order, where what a function does must come in one order."""
    _ordered.depth = getattr(_ordered, "depth", 0) + 1
    try:
        yield
    finally:
        _ordered.depth -= 1


_ordered = threading.local()


def _n_threads() -> int:
    n_cores, wanted = int(cpu_count()), os.environ.get("OMP_NUM_THREADS", "")
    return min(n_cores, int(wanted)) if wanted.isdigit() else n_cores
