"""Replicas that meet: each runs in a thread of its own, and what all of them come to is done once, for all at once.

On a GPU many networks side by side take little longer than one. :func:`call` is where replicas meet: outside :func:`run` it is
a call like any other; inside, it waits until every replica has come to such a call or has ended, and then each function is
called once with the arguments of all that came to it. What a replica gets depends on the arguments and their order only, not
on when threads ran.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import torch

__all__ = ["call", "pays", "run"]

_MOST = 64  # replicas at once
Given = TypeVar("Given")
Made = TypeVar("Made")


def pays(device: torch.device) -> bool:
    """Whether many networks side by side take little longer than one."""
    return device.type == "cuda"


class _Stopped(BaseException):
    """The run was interrupted: replicas end where they next meet."""


class _Outcome(NamedTuple):
    """What came of a call: a value, or an error to raise."""

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class _Request(NamedTuple):
    """The call at which a replica waits."""

    function: Callable[[list[Any]], list[Any]]
    argument: Any


_here = threading.local()


def call(function: Callable[[list[Given]], list[Made]], argument: Given) -> Made:
    """Return what a function of many arguments makes of this one.

    Parameters
    ----------
    function : callable
        Takes a list of arguments, and returns one value for each.
    argument
        That of this replica.
    """
    meeting: _Meeting | None = getattr(_here, "meeting", None)
    if meeting is None:
        return function([argument])[0]
    made: Made = meeting.wait(_here.replica, _Request(function, argument))
    return made


def run(works: Sequence[Callable[[], Made]]) -> Iterator[Made]:
    """Do work of many replicas, of up to 64 at once; yield what each returns, in their order.

    Parameters
    ----------
    works : sequence of callable
        Called without arguments, each in a thread of its own.
    """
    for start in range(0, len(works), _MOST):
        yield from _Meeting(works[start : start + _MOST]).outcomes()


class _Meeting:
    """Some replicas, and who of them waits for what."""

    def __init__(self, works: Sequence[Callable[[], Any]]):
        self._works = works
        self._changed = threading.Condition()
        self._cores = threading.Semaphore(os.cpu_count() or 1)
        self._n_running = len(works)
        self._waiting: dict[int, _Request] = {}
        self._answers: dict[int, _Outcome] = {}
        self._ended: dict[int, _Outcome] = {}
        self._stopped = False

    def outcomes(self) -> Iterator[Any]:
        """Run to the end."""
        threads = [threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(len(self._works))]
        for thread in threads:
            thread.start()
        try:
            while len(self._ended) < len(self._works):
                with self._changed:
                    self._changed.wait_for(lambda: self._n_running == 0)
                    waiting, self._waiting = self._waiting, {}
                self._answer(waiting)
        except BaseException:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            raise
        for i in range(len(self._works)):
            yield self._ended[i].get()

    def wait(self, replica: int, request: _Request) -> Any:
        """Wait, in the thread of a replica, for the answer to its request."""
        self._cores.release()
        with self._changed:
            self._waiting[replica] = request
            self._n_running -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: replica in self._answers or self._stopped)
            answer = self._answers.pop(replica, _Outcome(error=_Stopped()))
        self._cores.acquire()
        return answer.get()

    def _run(self, replica: int) -> None:
        """Do the work of a replica."""
        _here.meeting, _here.replica = self, replica
        with self._cores:
            try:
                outcome = _Outcome(self._works[replica]())
            except BaseException as error:
                outcome = _Outcome(error=error)
        with self._changed:
            self._ended[replica] = outcome
            self._n_running -= 1
            self._changed.notify_all()

    def _answer(self, waiting: dict[int, _Request]) -> None:
        """Call each function once, with the arguments of all that wait for it."""
        functions = dict.fromkeys(request.function for request in waiting.values())
        answers: dict[int, _Outcome] = {}
        for function in functions:
            replicas = sorted(i for i, request in waiting.items() if request.function is function)
            arguments = [waiting[i].argument for i in replicas]
            answers |= zip(replicas, _called(function, arguments), strict=True)
        self._deliver(answers)

    def _deliver(self, answers: dict[int, _Outcome]) -> None:
        with self._changed:
            self._answers |= answers
            self._n_running += len(answers)
            self._changed.notify_all()


def _called(function: Callable[[list[Any]], list[Any]], arguments: list[Any]) -> list[_Outcome]:
    """Call a function; where it fails for all arguments at once, for each of them alone, to see whose error it is."""
    try:
        return [_Outcome(value) for value in function(arguments)]
    except Exception as error:
        if len(arguments) == 1:
            return [_Outcome(error=error)]
        return [outcome for argument in arguments for outcome in _called(function, [argument])]
