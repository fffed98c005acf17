"""Runs that break off and are continued: their options, and where each fit of a run keeps what is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from riata.cli.options import Job
from riata.files import TableError
from riata.storage import finished

Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", metavar="FOLDER", help="Folder for what is complete, so that a run that breaks off can go on."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="With --checkpoint: continue the run in its folder.")]


def check_resume(checkpoint: Path | None, resume: bool) -> bool:
    """Check that there is something to continue from."""
    if resume and checkpoint is None:
        raise TableError("--resume continues what is in a folder: also give --checkpoint FOLDER")
    return resume


def check_begun(job: Job, fits: Sequence[str]) -> None:
    """Refuse to begin anew where a run has begun and not all of its fits are finished."""
    if job.checkpoint is None or job.resume:
        return
    states = [finished(job.checkpoint / name) for name in fits]
    if any(state is not None for state in states) and not all(states):
        raise TableError(
            f"{job.checkpoint} holds a run that is not finished: --resume continues it; delete the folder to begin anew"
        )


def kept(job: Job, name: str) -> dict[str, Any]:
    """Return the parameter that tells a fit where to keep what is complete."""
    return {} if job.checkpoint is None else {"checkpoint": str(job.checkpoint / name)}


def resumed(job: Job) -> dict[str, bool]:
    """Return the argument of ``fit`` that continues what is kept."""
    return {"resume": True} if job.resume else {}
