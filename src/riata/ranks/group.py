"""What the processes of one fit tell each other: sums, and what each of them has.

Every call is made by all ranks in the same order. Sums are the same on all of them, to the last bit, so that all decide alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["RankError", "Ranks", "join"]

SECONDS = 30.0  # to wait for the other ranks, where no number is given


class RankError(RuntimeError):
    """Another process of a distributed fit ended, does not answer, or has come to other weights; or there is none.

    A fit fails on all ranks then, and leaves an estimator that is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, RankError, Training
    >>> X, y = load_diabetes(return_X_y=True)
    >>> try:
    ...     LassoNetRegressor(training=Training(distributed=True)).fit(X, y)
    ... except RankError as error:
    ...     print(error)
    Training(distributed=True) needs a process group: start the script with torchrun, and call
    torch.distributed.init_process_group() before fit
    """


class Ranks:
    """The processes of one fit.

    Parameters
    ----------
    host : ProcessGroup
        Carries what is in the memory of the host.
    device : ProcessGroup or None
        Carries what is on a GPU; None: what carries the rest.
    seconds : float
        How long to wait for an answer.
    """

    def __init__(self, host: dist.ProcessGroup, device: dist.ProcessGroup | None, seconds: float):
        self._host, self._device, self._seconds = host, device, seconds
        self.rank, self.size = dist.get_rank(host), dist.get_world_size(host)

    def sum_(self, *tensors: Tensor) -> None:
        """Add up each of some tensors over all ranks, in place, in one message."""
        joined = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with self._answering():
            dist.all_reduce(joined, group=self._device if joined.is_cuda and self._device is not None else self._host)
        for tensor, total in zip(tensors, joined.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def stack(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the arrays of all ranks, of one shape, along a new first axis."""
        own = torch.from_numpy(array)
        found = [torch.empty_like(own) for _ in range(self.size)]
        with self._answering():
            dist.all_gather(found, own, group=self._host)
        return torch.stack(found).numpy()

    def gather(self, value: Any) -> list[Any]:
        """Return what each rank has."""
        found: list[Any] = [None] * self.size
        with self._answering():
            dist.all_gather_object(found, value, group=self._host)
        return found

    def concat(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the arrays of all ranks, one after another."""
        return np.concatenate(self.gather(array))

    def of_first(self, value: Any) -> Any:
        """Return what the first rank has."""
        box = [value]
        with self._answering():
            dist.broadcast_object_list(box, src=0, group=self._host)
        return box[0]

    def check_same(self, known: Mapping[str, Any]) -> None:
        """Refuse to go on where ranks differ in what all must have in common, by its name."""
        each = self.gather(dict(known))
        for name in known:
            for rank, other in enumerate(each):
                if other[name] != each[0][name]:
                    one, two = _difference(each[0][name], other[name])
                    raise ValueError(f"{name} must be the same on all ranks: rank 0 has {one}, rank {rank} has {two}")

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Fail on all ranks where a block fails on one of them; there may be no message between ranks inside."""
        error: Exception | None = None
        try:
            yield
        except Exception as raised:
            error = raised
        texts = self.gather(None if error is None else str(error))
        if error is not None and len(set(texts)) == 1:
            raise error  # which is that of all
        failed = [f"rank {rank}: {text}" for rank, text in enumerate(texts) if text is not None]
        if failed:
            raise ValueError("; ".join(failed)) from error

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Meet anew the next time where a block fails: the others, who do not know why, do so too."""
        try:
            yield
        except BaseException:
            _forget()
            raise

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Say in plain words that another rank does not answer."""
        if not dist.is_initialized():
            raise RankError(
                f"the model was fitted by {self.size} processes, and their process group is gone: another point is refitted "
                "by all of them, before destroy_process_group(); at(..., refit=False) needs none"
            )
        try:
            yield
        except RuntimeError as error:
            _forget()
            who = f"rank {1 - self.rank}" if self.size == 2 else f"one of the ranks beside {self.rank}"
            raise RankError(
                f"{who} ended or did not answer for {self._seconds:g} s: {_reason(error)}. Start "
                "all ranks again; all must make the same calls of fit and at; Training(distributed=seconds) waits longer"
            ) from None


_joined: tuple[Any, float, Ranks] | None = None  # the process group of torch, the time to wait, and what came of both


def join(seconds: float | None = None) -> Ranks:
    """Meet all other processes of the process group of torch.

    Parameters
    ----------
    seconds : float, optional
        How long to wait for an answer, once all are there; 30 by default. For that as long as the process group says.
    """
    global _joined
    seconds = SECONDS if seconds is None else seconds
    if not (dist.is_available() and dist.is_initialized()):
        raise RankError(
            "Training(distributed=True) needs a process group: start the script with torchrun, and call "
            "torch.distributed.init_process_group() before fit"
        )
    world = dist.group.WORLD
    try:
        dist.barrier()
        if _joined is None or _joined[0] is not world or _joined[1] != seconds:
            host = dist.new_group(backend="gloo", timeout=timedelta(seconds=seconds))
            fast = "nccl" in str(dist.get_backend_config())
            _joined = (world, seconds, Ranks(host, world if fast else None, seconds))
    except RuntimeError as error:
        raise RankError(f"not all ranks came to fit: {_reason(error)}") from None
    return _joined[2]


def _forget() -> None:
    """Meet anew the next time."""
    global _joined
    _joined = None


def _reason(error: Exception) -> str:
    """Return what went wrong, without the place in the source of torch and without advice."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^\[\S*:\d+\] ", "", lines[0]).partition(". This is typically")[0].rstrip(".")


def _difference(one: Any, two: Any) -> tuple[str, str]:
    """Show where two values differ: of sequences of equal length the first entry that does."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        if len(one) != len(two):
            return f"{len(one)} of them", f"{len(two)}"
        i = next(i for i, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1])
        return f"{one[i]!r} at position {i}", f"{two[i]!r}"
    return repr(one), repr(two)
