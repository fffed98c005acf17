"""Checkpoints: a folder into which a run writes what is complete, and from which it continues.

Every file is an archive of JSON and arrays with their checksums, and is whole or absent. ``about.checkpoint`` says what the run
is of; the others hold what it has made so far. A run is deterministic, so that what is missing is made again, and is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from riata.storage.store import ABOUT, CheckpointError, Store, clear, is_draft, locked, writing
from riata.storage.values import Kind

__all__ = ["UNSAVED", "Checkpoint", "Fingerprint", "Part", "finished"]

_LONGEST = 60  # letters of a value that an error shows
Made = TypeVar("Made")


class Fingerprint(NamedTuple):
    """What a run depends on, by name, as text."""

    must: dict[str, str]  # with another value it is another run
    may: dict[str, str]  # with another value the last bits may be others


class _About(NamedTuple):
    """The first file of a checkpoint."""

    must: dict[str, str]
    may: dict[str, str]
    seed: int | None  # where the user gave none
    finished: bool


_OWN = {"About": Kind(_About)}


@dataclass(frozen=True)
class Part:
    """A job of a run: its result is a file in the folder of the run, and until then it has a checkpoint of its own.

    Parameters
    ----------
    folder : str
        Of that checkpoint.
    run : str
        As for :class:`Store`.
    """

    folder: str
    run: str

    def beside(self, name: str) -> Part:
        """Return one more checkpoint of the same job."""
        return Part(f"{self.folder}-{name}", self.run)

    def made(self, make: Callable[[], Made], kinds: Mapping[str, Kind]) -> Made:
        """Return the result, from the file if there is one.

        A process whose parent was killed may still be at work on the same job: its result is waited for.
        """
        folder = Path(self.folder)
        store = Store(folder.parent, kinds, self.run)
        with locked(folder.with_name(f"{folder.name}.lock"), waits=True):
            found = store.readable(folder.name)
            if found is None:
                found = make()
                store.write({folder.name: found})
            for each in list(folder.parent.iterdir()):
                if each.name == folder.name or each.name.startswith(f"{folder.name}-"):
                    clear(each)
        return found  # type: ignore[no-any-return]


class Checkpoint:
    """The checkpoint of a run that is under way; without a store it keeps nothing.

    Parameters
    ----------
    store : Store, optional
        Where to keep what is made.
    resume : bool
        Whether to continue what is there.
    """

    def __init__(self, store: Store | None = None, *, resume: bool = False):
        self._store = store
        self._resume = resume
        self._about = None if store is None else _known(store.folder)
        self._seed: int | None = None
        if self._about is not None and not self._about.finished and not resume:
            raise CheckpointError(
                f"{store.folder if store else ''} holds a fit that is not finished: fit(..., resume=True) continues it; delete "
                "the folder to begin anew"
            )

    @property
    def store(self) -> Store | None:
        """Where things are kept; None for nowhere."""
        return self._store

    def seed(self, random_state: Any) -> Any:
        """Return the random state to use: where a user gave none, a seed that is the same when the run is continued."""
        if random_state is not None or self._store is None:
            return random_state
        known = self._about.seed if self._resume and self._about is not None else None
        self._seed = int(np.random.default_rng().integers(2**31)) if known is None else known
        return self._seed

    def begin(self, fingerprint: Callable[[], Fingerprint]) -> None:
        """Begin a run, or continue it: refuse one that depended on other values."""
        if self._store is None:
            return
        now, folder = fingerprint(), self._store.folder
        if self._about is not None and self._resume:
            self._compare(self._about, now)
        else:
            clear(folder, but=ABOUT)
            self._about = _About(now.must, now.may, self._seed, finished=False)
            Store(folder, _OWN).write({ABOUT: self._about})
        text = json.dumps([self._about.must, self._about.seed], sort_keys=True)
        self._store = replace(self._store, run=hashlib.sha256(text.encode()).hexdigest()[:16])

    def _compare(self, before: _About, now: Fingerprint) -> None:
        assert self._store is not None
        folder = self._store.folder
        changed = _changes(before.must, now.must)
        if changed:
            raise CheckpointError(
                f"{folder} is of another fit: {'; '.join(changed)}. Give what it was begun with, or delete the folder to begin "
                "anew"
            )
        changed = _changes(before.may, now.may)
        if changed:
            text = (
                f"{folder} continues under other conditions, and the last bits may differ from those of an unbroken run"
            )
            warnings.warn(f"{text}: {'; '.join(changed)}", UserWarning, stacklevel=2)

    def made(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what was made under this name, or make and keep it."""
        found: Made | None = self.read(name)
        if found is None:
            found = make()
            self.write(name, found)
        return found

    def read(self, name: str) -> Any:
        """Return what was kept under this name; None if nothing was, or if it is damaged."""
        return None if self._store is None else self._store.readable(name)

    def write(self, name: str, value: Any) -> None:
        """Keep a value."""
        if self._store is not None:
            self._store.write({name: value})

    def part(self, name: str, number: int) -> Part | None:
        """Return where a job keeps what it makes; None for nowhere."""
        if self._store is None:
            return None
        return Part(str(self._store.folder / f"{name}-{number:04d}"), self._store.run)

    def finish(self) -> None:
        """Mark the run as finished."""
        if self._store is None or self._about is None:
            return
        folder = self._store.folder
        for file in folder.glob("*.lock"):
            file.unlink(missing_ok=True)
        if not self._about.finished:
            Store(folder, _OWN).write({ABOUT: self._about._replace(finished=True)})

    def close(self) -> None:
        """Keep nothing from now on."""
        self._store = None

    @classmethod
    @contextmanager
    def opened(cls, folder: Any, kinds: Mapping[str, Kind], *, resume: bool) -> Iterator[Checkpoint]:
        """Open the checkpoint in a folder, which is made; for None, one that keeps nothing. A part is always continued.

        When the block ends without an error the run is finished.
        """
        if folder is None:
            if resume:
                raise ValueError('resume=True continues a checkpoint: also set checkpoint="folder/"')
            yield UNSAVED
            return
        if not isinstance(folder, str | os.PathLike | Part):
            raise ValueError(f"checkpoint must be the path of a folder, or None; got {folder!r}")
        resume = resume or isinstance(folder, Part)
        path = Path(folder.folder if isinstance(folder, Part) else folder).absolute()  # workers may be elsewhere
        if path.exists() and not path.is_dir():
            raise CheckpointError(f"checkpoint={str(path)!r} is a file: give a folder")
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        _known(path)  # before anything is written into it
        with locked(path / "lock", waits=False):
            checkpoint = cls(Store(path, kinds), resume=resume)
            for each in list(path.iterdir()):
                if is_draft(each):
                    each.unlink(missing_ok=True)
            try:
                yield checkpoint
                checkpoint.finish()
            finally:
                checkpoint.close()


UNSAVED = Checkpoint()


def finished(folder: Path) -> bool | None:
    """Say whether the run in a folder is finished; None where none has begun."""
    about = _known(folder) if folder.is_dir() else None
    return None if about is None else about.finished


def _known(folder: Path) -> _About | None:
    """Return what a folder is the checkpoint of, None if it is empty; raise an error for anything else."""
    try:
        about = Store(folder, _OWN).read(ABOUT)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; without it {folder} cannot be continued: delete it to begin anew") from None
    if about is None and any(each.name != "lock" and not each.name.startswith(".") for each in folder.iterdir()):
        raise CheckpointError(f"{folder} holds files and no checkpoint: give a new or an empty folder")
    if about is not None and not isinstance(about, _About):
        raise CheckpointError(f"{folder} holds no checkpoint of riata: give a new or an empty folder")
    return about


def _changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Say in what two fingerprints differ."""
    found = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, "not there"), now.get(name, "not there")
        if old != new:
            shown = max(len(old), len(new)) <= _LONGEST and "sha256:" not in old + new
            found.append(f"{name} was {old} and is {new}" if shown else f"{name} has changed")
    return found
