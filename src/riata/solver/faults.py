"""What goes wrong while a problem is solved, and what is tried before it is an error: steps too long, memory too small."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import torch

__all__ = ["Diverged", "in_parts", "learning_rates", "within_memory"]

_TENFOLD = 6  # how often a learning rate is divided by ten
_SMALLEST = 16  # samples of a block

Made = TypeVar("Made")
Item = TypeVar("Item")


class Diverged(Exception):
    """The objective was finite at the start and is no longer."""


def learning_rates(first: float) -> Iterator[float]:
    """Yield a learning rate, and for as long as the caller asks for another one a tenth of it, with a warning.

    Raises
    ------
    FloatingPointError
        Where a millionth is too large.
    """
    rate = first
    yield rate
    for _ in range(_TENFOLD):
        warnings.warn(
            f"the objective did not stay finite with learning_rate={rate:.3g}: the network begins again from its last good "
            f"weights with {rate / 10:.3g}; set a smaller one with Training(learning_rate=...)",
            UserWarning,
            stacklevel=2,
        )
        rate /= 10
        yield rate
    raise FloatingPointError(
        f"the objective does not stay finite, even with learning_rate={rate:.3g}: scale the columns (preprocessing='auto') and "
        "the target, or use a loss that does not overflow"
    )


class Shrinking(Protocol):
    """What works on samples in blocks."""

    @property
    def block_size(self) -> int | None:
        """Samples of a block; None for all."""

    @property
    def alone(self) -> bool:
        """Whether it can begin again without others."""

    @property
    def largest(self) -> int:
        """Samples of a block that is no restriction."""

    def shrink(self, block_size: int) -> None:
        """Free what is there, and begin again with blocks of so many samples."""


def within_memory(solver: Shrinking, work: Callable[[], Made]) -> Made:
    """Return the result of work with a solver; where memory is too small, the solver works in smaller blocks.

    Raises
    ------
    torch.OutOfMemoryError
        Where the smallest blocks are too large, and where other processes go on with the work, who do not know of it.
    """
    while True:
        try:
            return work()
        except torch.OutOfMemoryError as error:
            if not solver.alone:
                raise
            reason = str(error)  # the error itself holds the tensors of its frames
        size = (solver.block_size or solver.largest) // 2
        if size < _SMALLEST:
            raise torch.OutOfMemoryError(
                f"the memory of the device is too small, even for blocks of {2 * size} samples: use Training(device='cpu'), "
                f"narrower hidden_dims, or fewer columns. {reason}"
            )
        solver.shrink(size)
        _release()
        _warn(f"the memory of the device is too small: the fit goes on in blocks of {size} samples, which takes longer")


def in_parts(work: Callable[[Sequence[Item]], list[Made]], items: Sequence[Item]) -> list[Made]:
    """Return the results of work on all items at once; where memory is too small, on one half and then on the other."""
    if len(items) < 2:
        return work(items)
    try:
        return work(items)
    except torch.OutOfMemoryError:
        pass
    _release()
    half = (len(items) + 1) // 2
    _warn(f"the memory of the device is too small for {len(items)} problems side by side: they are solved in two parts")
    return in_parts(work, items[:half]) + in_parts(work, items[half:])


def _release() -> None:
    """Return freed memory to the device."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
