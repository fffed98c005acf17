"""What the commands share: options, notes and errors, and files that are whole or absent."""

from __future__ import annotations

import json
import math
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import sklearn
import torch
import typer
from rich.console import Console
from rich.table import Table as RichTable

import riata
from riata.files import ColumnOptions, ReadOptions, TableError
from riata.jobs import ReplicaError

SHOWN = 15  # rows of a printed table; the files hold all
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A csv, tsv, txt, parquet, feather or xlsx file, one row per sample; - for standard input."
    ),
]
Names = list[str] | None
Drop = Annotated[Names, typer.Option("--drop", metavar="COL", help="A column to leave out; may be repeated.")]
Categorical = Annotated[
    Names, typer.Option("--categorical", metavar="COL", help="A column to take as categories; may be repeated.")
]
Numeric = Annotated[
    Names, typer.Option("--numeric", metavar="COL", help="A column to take as numbers; may be repeated.")
]
Dates = Annotated[Names, typer.Option("--dates", metavar="COL", help="A column to take as dates; may be repeated.")]
Missing = Annotated[
    Names, typer.Option("--na", metavar="TEXT", help="Cells that stand for missing values, beside NA; may be repeated.")
]
Separator = Annotated[
    str | None,
    typer.Option("--sep", metavar="SIGN", help="What separates fields: , ; | tab or space; told by default."),
]
Skip = Annotated[int, typer.Option("--skip", min=0, metavar="N", help="Rows above the names, such as a title.")]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="SIGN", help="What stands before decimals: . or , ; told by default.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same result.")]
Hidden = Annotated[str, typer.Option("--hidden", help="Widths of the hidden layers, such as 100 or 100,50.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


@dataclass(frozen=True)
class Job:
    """What was asked for on the command line."""

    out: Path
    seed: int
    k: int | None = None
    M: float = 10.0
    hidden: tuple[int, ...] = (100,)
    quiet: bool = False
    cv: int | None = None  # folds
    max_false: float | None = None  # bound of a stability selection; None for no such selection
    fdr: float | None = None  # false discovery rate of a selection with knockoffs; None for no such selection
    n_jobs: int = 1

    @property
    def console(self) -> Console:
        """Where results go."""
        return Console(quiet=self.quiet)

    def note(self, text: str) -> None:
        """Tell the user something beside the result."""
        say(Console(stderr=True, quiet=self.quiet), f"note: {text}")

    @contextmanager
    def noting_warnings(self, wording: Mapping[str, str] | None = None) -> Iterator[list[str]]:
        """Tell the user of warnings, once each, when the work is done.

        Words of the library are replaced by those of the command line. What was told is in the list.
        """
        told: list[str] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield told
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            for word, own in (wording or {}).items():
                text = text.replace(word, own)
            told.append(text)
            self.note(text)


# ---- arguments and errors -------------------------------------------------------------------------------------------


@contextmanager
def telling_errors() -> Iterator[None]:
    """Print what cannot be done as one message, and exit with 2, or with 130 after an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        say(Console(stderr=True), "interrupted")
        raise typer.Exit(130) from None
    except (ValueError, FloatingPointError, ReplicaError) as error:
        text = " ".join(str(error).split()) if isinstance(error, ReplicaError) else str(error)
        say(Console(stderr=True), f"error: {text}")
        raise typer.Exit(2) from None


def at_most(k: int | None, n: int, what: str) -> int | None:
    """Check a number of features or columns."""
    if k is not None and not 1 <= k <= n:
        raise TableError(f"--k must be between 1 and the number of {what}, {n}; got {k}")
    return k


def reading(sep: str | None, decimal: str | None, na: Names, skip: int) -> ReadOptions:
    """Check how a file is to be read."""
    words = {"tab": "\t", "\\t": "\t", "space": r"\s+", "comma": ",", "semicolon": ";"}
    if decimal not in (None, ".", ","):
        raise TableError(f"--decimal must be . or , and nothing else; got {decimal!r}")
    return ReadOptions(sep if sep is None else words.get(sep, sep), decimal, tuple(na or ()), skip)


def asked(categorical: Names, numeric: Names, dates: Names, drop: Names) -> ColumnOptions:
    """Return what a user says of columns."""
    return ColumnOptions(*(tuple(names or ()) for names in (categorical, numeric, dates, drop)))


def widths(text: str) -> tuple[int, ...]:
    """Read the widths of hidden layers."""
    try:
        read = tuple(int(part) for part in text.split(","))
    except ValueError:
        read = ()
    if not read or min(read) < 1:
        raise TableError(f"--hidden must be widths of at least 1, such as 100 or 100,50; got {text!r}")
    return read


def workers(jobs: int) -> int:
    """Check how many jobs may run at once."""
    if jobs < 1 and jobs != -1:
        raise TableError(f"--jobs must be at least 1, or -1 for all cores; got {jobs}")
    return jobs


# ---- printing -------------------------------------------------------------------------------------------------------


def say(console: Console, text: str) -> None:
    """Print text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def number_table(title: str, first: str, numbers: list[str]) -> RichTable:
    """Return a table to print, without rows yet: a column of names, and columns of numbers."""
    printed = RichTable(first, *numbers, title=title, title_justify="left", box=None)
    for column in printed.columns[1:]:
        column.justify = "right"
    return printed


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


def as_json(value: Any) -> bytes:
    """Return the contents of a JSON file."""
    return (json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Turn into what JSON knows; a number that is not finite becomes null."""
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
    """Make the folder and try it, before time is spent on the fit."""
    probe = path / f".riata-{os.getpid()}.tmp"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise TableError(f"cannot write to {path} ({error.strerror}): choose another folder with --out") from None


def write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files beside their final names, then rename them, so that none is ever half there."""
    drafts = {name: folder / f".{name}-{os.getpid()}.tmp" for name in contents}
    try:
        for name, data in contents.items():
            with drafts[name].open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for name, draft in drafts.items():
            draft.replace(folder / name)
    except OSError as error:
        raise TableError(f"cannot write to {folder}: {error.strerror}") from None
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
