"""What the commands print and write: text and tables, errors, and files that are whole or absent."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import riata
from riata.files import TableError
from riata.jobs import ReplicaError
from riata.ranks import RankError
from riata.storage import UnwritableError, write_whole

SHOWN = 15  # rows of a printed table; the files hold all


# ---- printing -------------------------------------------------------------------------------------------------------


def print_text(console: Console, text: str) -> None:
    """Print text without markup or line breaks."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def number_table(title: str, first: str, numbers: list[str]) -> RichTable:
    """Return a table to print, without rows yet: a column of names, and columns of numbers."""
    printed = RichTable(first, *numbers, title=title, title_justify="left", box=None)
    for column in printed.columns[1:]:
        column.justify = "right"
    return printed


def mention_rest(printed: RichTable, n: int, where: str = "") -> None:
    """Add a caption with the number of rows, of n, that are not printed, and the file that holds them."""
    if n > printed.row_count:
        printed.caption = Text(f" … and {n - printed.row_count} more{where and f' in {where}'}")
        printed.caption_justify = "left"


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Print an error as one message, and exit with 2, or with 130 after an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        print_text(Console(stderr=True), "interrupted")
        raise typer.Exit(130) from None
    except (ValueError, FloatingPointError, torch.OutOfMemoryError, ReplicaError, RankError, UnwritableError) as error:
        text = " ".join(str(error).split()) if isinstance(error, ReplicaError) else str(error)
        text = f"{error.filename}: {error.strerror}" if isinstance(error, UnwritableError) else text
        rank = os.environ.get("RANK", "0")
        print_text(Console(stderr=True), f"{f'rank {rank}: ' if rank != '0' else ''}error: {text}")
        raise typer.Exit(2) from None


# ---- files ----------------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return {
        "riata": riata.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def print_json(contents: bytes) -> None:
    """Print the contents of a JSON file on standard output."""
    sys.stdout.write(contents.decode())


def as_json(value: Any) -> bytes:
    """Return the contents of a JSON file."""
    return (json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Convert to types of JSON; a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def make_folder(path: Path) -> None:
    """Make the folder and write to it once, before time is spent on the fit."""
    probe = path / f".riata-{os.getpid()}.tmp"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise TableError(f"cannot write to {path} ({error.strerror}): choose another folder with --out") from None


def write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files under temporary names, then rename them, so that none is ever incomplete."""
    try:
        write_whole(folder, contents)
    except OSError as error:
        raise TableError(f"cannot write to {folder}: {error.strerror}") from None
