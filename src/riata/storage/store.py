"""Values in files of a folder, each whole or absent, with what becomes of them when a process is killed or a disk is full."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from re import fullmatch
from typing import Any

from riata.storage.archive import CHECKPOINT, ModelFileError, pack, unpack
from riata.storage.disk import write_whole
from riata.storage.values import Kind, Reader, Writer

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["ABOUT", "CheckpointError", "Store", "UnwritableError", "clear", "is_draft", "locked", "writing"]

ABOUT = "about"  # the name of what a checkpoint is of
ENDING = ".checkpoint"


class CheckpointError(ValueError):
    """A checkpoint that cannot be continued; the message says why.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import CheckpointError, LassoNetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor((5,), n_features_to_select=2, random_state=0, checkpoint=tempfile.mkdtemp()).fit(X, y)
    >>> try:
    ...     model.set_params(M=1.0).fit(X, y, resume=True)
    ... except CheckpointError as error:
    ...     print(error)
    ... is of another fit: M was 10 and is 1. Give what it was begun with, or delete the folder to begin anew
    """


class UnwritableError(OSError):
    """A checkpoint that cannot be written to: a disk that is full, or no permission."""


@dataclass(frozen=True)
class Store:
    """Values in the files of a folder.

    Parameters
    ----------
    folder : Path
        Where they are.
    kinds : mapping of str to Kind
        The classes whose objects they may hold.
    run : str
        What every file is marked with, so that one of another run is refused.
    """

    folder: Path
    kinds: Mapping[str, Kind]
    run: str = ""

    def write(self, values: Mapping[str, Any]) -> None:
        """Write values under their names, in their order, each whole or not at all."""
        contents = {}
        for name, value in values.items():
            writer = Writer(self.kinds)
            tree = {"run": self.run, "name": name, "value": writer.write(value, name)}
            contents[name + ENDING] = pack(tree, writer.arrays, CHECKPOINT)
        with writing(self.folder):
            write_whole(self.folder, contents)

    def read(self, name: str) -> Any:
        """Return a value; None if there is none. Raise an error if it is damaged."""
        file = self.folder / (name + ENDING)
        try:
            tree, arrays = unpack(file.read_bytes(), CHECKPOINT)
            if (tree["run"], tree["name"]) != (self.run, name):
                raise ModelFileError("it belongs to another fit, or had another name")
            return Reader(self.kinds, arrays).read(tree["value"])
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"cannot read {file}: {error.strerror}") from None
        except (ModelFileError, KeyError, TypeError) as error:
            raise CheckpointError(f"cannot use {file}: {error}") from None

    def readable(self, name: str) -> Any:
        """Return a value; None, with a warning, if it is damaged."""
        try:
            return self.read(name)
        except CheckpointError as error:
            warnings.warn(f"{error}; it is made again", UserWarning, stacklevel=2)
            return None

    def names(self) -> set[str]:
        """Return the names of all values."""
        return {file.name.removesuffix(ENDING) for file in self.folder.glob(f"[!.]*{ENDING}")}

    def remove(self, names: set[str]) -> None:
        """Remove values."""
        for name in names:
            (self.folder / (name + ENDING)).unlink(missing_ok=True)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say what to do where a folder cannot be written to."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "make room" if full else "give a folder that can be written to"
        text = f"cannot write the checkpoint ({error.strerror}); what was complete is kept: {remedy}, and resume"
        raise UnwritableError(error.errno, text, str(folder)) from error


@contextmanager
def locked(file: Path, *, waits: bool) -> Iterator[None]:
    """Hold a lock, which the system releases when a process ends, however it ends."""
    with writing(file.parent):
        handle = file.open("a")
    with handle:
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            raise CheckpointError(f"{file.parent} is in use: give each fit a folder of its own") from None
        except OSError:
            pass  # a file system without locks
        yield


def is_draft(file: Path) -> bool:
    """Whether a file was being written when its process was killed."""
    return file.name.startswith(".") and f"{ENDING}-" in file.name and file.suffix == ".tmp"


def clear(folder: Path, but: str = "") -> None:
    """Remove the files of a checkpoint and of its parts, and what is then empty; nothing else. What it is of goes last."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for each in sorted(folder.iterdir(), key=lambda each: each.name == ABOUT + ENDING):
        own = each.suffix == ENDING or is_draft(each) or (each.suffix == ".lock" and not but)
        if each.is_dir() and fullmatch(r"[a-z]+-\d{4,}(-[a-z]+)?", each.name):
            clear(each)
        elif own and each.name != but + ENDING and not each.is_dir():
            each.unlink(missing_ok=True)
    if not but:
        (folder / "lock").unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
