"""A command that torchrun has started in several processes: one fit by all of them, and the first writes and prints."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from riata.cli.options import Job
from riata.estimators import Training
from riata.files import TableError

__all__ = ["one_of_several", "share"]

Rows = NDArray[np.int64]


@contextmanager
def one_of_several(job: Job, *, survival: bool) -> Iterator[Job]:
    """Meet the other processes, where torchrun has started some; the job of all but the first is quiet and writes nothing."""
    n = int(os.environ.get("WORLD_SIZE", "1"))
    if n < 2 or "RANK" not in os.environ:
        yield job
        return
    _refuse(job, survival)
    device, backend = _device()
    dist.init_process_group(backend)
    rank = dist.get_rank()
    try:
        training = Training(distributed=True, device=device)
        yield replace(
            job, training=training, rank=rank, n_ranks=n, quiet=job.quiet or rank > 0, json=job.json and not rank
        )
    finally:
        dist.destroy_process_group()


def share(rows: Rows, job: Job) -> Rows:
    """Return the rows that this process fits: all, or its part of them, in order."""
    return np.array_split(rows, job.n_ranks)[job.rank]


def _refuse(job: Job, survival: bool) -> None:
    if survival:
        raise TableError("--time: a Cox model is fitted by one process: start riata without torchrun")
    if job.checkpoint is not None:
        raise TableError(
            "--checkpoint: a fit by several processes keeps none: leave it out, or start riata without torchrun"
        )
    given = {"--cv": job.cv, "--stability": job.max_false, "--fdr": job.fdr}
    for option, value in given.items():
        if value is not None:
            raise TableError(
                f"{option} makes many fits, each by one process: start riata without torchrun, with --jobs for several at once"
            )


def _device() -> tuple[str, str]:
    """Return where this process trains, and what carries messages: a GPU for each, where there are enough."""
    n_gpus, here = torch.cuda.device_count(), int(os.environ.get("LOCAL_RANK", "0"))
    if not n_gpus:
        return "cpu", "gloo"
    device = f"cuda:{here % n_gpus}"
    torch.cuda.set_device(device)
    enough = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= n_gpus
    return device, "cpu:gloo,cuda:nccl" if enough else "gloo"
