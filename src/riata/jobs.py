"""Replicas as jobs: one after another, on many cores, or on many machines, with the same results.

Every replica (a fold, a resample, a value of a grid, a draw) is a job of its own on one core. What a job computes depends on
its arguments only, never on how many others there are or where they run; on one kind of processor that holds to the last bit.
Jobs go through joblib: ``n_jobs`` says how many run at once, and ``joblib.parallel_config`` where, Dask and Ray included. On a
GPU, where ``n_jobs`` is not given, they run as threads of one process and train their networks side by side.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, cast

from joblib import Parallel, delayed, effective_n_jobs

from riata import together
from riata.progress import JobProgress
from riata.storage import UnwritableError
from riata.threads import one_thread

__all__ = ["Job", "ReplicaError", "beside", "run"]


class ReplicaError(ValueError, RuntimeError):
    """One of many replicas failed; the message names it and says why.

    Bad input mostly, hence a ValueError.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressorCV, ReplicaError
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def broken(model, X, y):
    ...     raise ZeroDivisionError("no score today")
    >>> try:
    ...     LassoNetRegressorCV(hidden_dims=(5,), cv=2, scoring=broken, random_state=0).fit(X, y)
    ... except ReplicaError as error:
    ...     print(error)
    fold 1 of 2 with M=10, hidden_dims=(5,): ZeroDivisionError: no score today
    """


class Job(NamedTuple):
    """One replica: its name, for people, and the arguments of the work."""

    name: str
    arguments: tuple[Any, ...]


def beside(n_jobs: int | None, on_gpu: bool) -> bool:
    """Return whether replicas are to train their networks side by side: on a GPU, unless jobs were asked for.

    Parameters
    ----------
    n_jobs : int, optional
        As for :func:`run`.
    on_gpu : bool
        Whether their networks are trained there.
    """
    return on_gpu and n_jobs is None and effective_n_jobs(None) == 1


def run(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    *,
    n_jobs: int | None = None,
    side_by_side: bool = False,
    title: str = "",
    shown: bool = False,
) -> list[Any]:
    """Do the same work on the arguments of every job.

    Parameters
    ----------
    work : callable
        Called with the arguments of a job. A function of a module: jobs may run in other processes.
    jobs : sequence of Job
        What to do.
    n_jobs : int, optional
        How many to run at once; -1 for as many as there are cores. None is 1, or what ``joblib.parallel_config`` says.
    side_by_side : bool
        Whether replicas train their networks side by side on one device; see :func:`beside`.
    title : str
        What the progress bar is called.
    shown : bool
        Whether to show one.

    Returns
    -------
    list
        What the work returned, in the order of the jobs.

    Raises
    ------
    ReplicaError
        Where a job fails.
    """
    with one_thread(), JobProgress(title, len(jobs), shown=shown) as progress:
        done = []
        if side_by_side and len(jobs) > 1:
            results: Iterable[Any] = together.run([partial(_guarded, work, job, os.getpid()) for job in jobs])
        else:
            results = _started(_parallel(n_jobs), [delayed(_guarded)(work, job, os.getpid()) for job in jobs])
        for result in results:
            done.append(result)
            progress.advance()
    return done


def _parallel(n_jobs: int | None) -> Parallel:
    """Hand results out one by one where the backend can."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)


def _started(parallel: Parallel, calls: list[Any]) -> Iterable[Any]:
    """Start the jobs, in processes that leave Ctrl-C, which reaches all processes of a terminal, to the caller.

    Processes take over which signals are held back. Raised while one of them compiles, an interrupt would print a traceback;
    the caller ends its workers in any case.
    """
    lazy = getattr(parallel, "return_generator", False)
    if not lazy or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        return cast(Iterable[Any], parallel(calls))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return cast(Iterable[Any], parallel(calls))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _guarded(work: Callable[..., Any], job: Job, home: int) -> Any:
    """Work on one core, which the caller has ensured in its own process, and say whose error it was."""
    try:
        with nullcontext() if os.getpid() == home else one_thread():
            return work(*job.arguments)
    except UnwritableError:  # says what to do, and is no fault of the job
        raise
    except Exception as error:
        raise ReplicaError(f"{job.name}: {type(error).__name__}: {error}") from error
