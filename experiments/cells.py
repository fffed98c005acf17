"""A cell is one small job with one JSON file as its result: what was run, what came out, on what, in how many seconds."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

Result = dict[str, Any]
_PACKAGES = ("riata", "torch", "numpy", "scikit-learn", "lassonet", "pyHSICLasso", "stg", "knockpy", "lightgbm")
_PACKAGES += ("scikit-survival", "SurvSet")
_FIELDS = ("config", "scores", "error", "seconds")


@dataclass(frozen=True)
class Cell:
    """One job. Its kind names the module of this package whose ``run`` does it."""

    kind: str
    data: str
    method: str
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()
    needs: tuple[Cell, ...] = field(default=(), compare=False)  # cells whose results ``run`` is given

    @property
    def name(self) -> str:
        """Name of the file, without folder and ending."""
        words = [self.data, self.method, f"seed{self.seed}", *(f"{key}{value}" for key, value in self.settings)]
        return "-".join(words)

    @property
    def config(self) -> dict[str, Any]:
        """All that says what the job is."""
        known = {"kind": self.kind, "data": self.data, "method": self.method, "seed": self.seed}
        return {**known, **dict(self.settings)}

    def __getitem__(self, key: str) -> Any:
        return self.config[key]


@dataclass(frozen=True)
class Options:
    """What the user asked for; None leaves it to the experiment."""

    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    n_seeds: int | None = None
    first_seed: int = 0
    quick: bool = False

    def seeds(self, default: int, quick: int = 1) -> range:
        """Return the seeds to run."""
        n_seeds = self.n_seeds or (quick if self.quick else default)
        return range(self.first_seed, self.first_seed + n_seeds)

    def among(self, known: Iterable[str], slow: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the methods of an experiment to run: those asked for, or all; without the slow ones in a quick run."""
        if self.methods is not None:
            return tuple(name for name in known if name in self.methods)
        return tuple(name for name in known if not (self.quick and name in slow))


class Store:
    """A folder with one file per cell."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        """Where the result of a cell is, or will be."""
        return self.folder / cell.kind / f"{cell.name}.json"

    def read(self, cell: Cell) -> Result | None:
        """Return what is known of a cell; nothing if the file is missing, damaged or of another job."""
        result = _parse(self.path(cell))
        return result if result is not None and result["config"] == cell.config else None

    def done(self, cell: Cell) -> bool:
        """Say whether there is a result that is not an error: what failed once is tried again."""
        result = self.read(cell)
        return result is not None and result["error"] is None

    def write(self, cell: Cell, result: Result) -> None:
        """Write in one step, so that whatever happens there is a whole file or none."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.part")
        unfinished.write_text(_json(result))
        unfinished.replace(path)

    def all(self, kind: str, where: Callable[[dict[str, Any]], bool] = lambda config: True) -> list[Result]:
        """Return the results of one kind that did not fail, in the order of their names."""
        return [result for result in self._parsed(kind) if result["error"] is None and where(result["config"])]

    def failed(self) -> list[Result]:
        """Return the results that are errors."""
        kinds = sorted(path.name for path in self.folder.glob("*") if path.is_dir())
        return [result for kind in kinds for result in self._parsed(kind) if result["error"] is not None]

    def _parsed(self, kind: str) -> list[Result]:
        results = map(_parse, sorted((self.folder / kind).glob("*.json")))
        return [result for result in results if result is not None]


def _json(result: Result) -> str:
    """Write with an entry per line, but a list of numbers as one: rankings are long."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\[[^\[\]{}\"]*\]", lambda found: " ".join(found[0].split()), text) + "\n"


def _parse(path: Path) -> Result | None:
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and all(name in result for name in _FIELDS) else None


@cache
def facts() -> dict[str, Any]:
    """Say what ran where."""
    return {
        "versions": {name: _version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "commit": _commit(),
        "hardware": _hardware(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _hardware() -> str:
    cores = f"{os.cpu_count()} cores, {platform.machine()}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cores += f" ({next(line.split(':')[1].strip() for line in lines if line.startswith('model name'))})"
    except (OSError, StopIteration):
        pass
    return f"{cores}, {torch.cuda.get_device_name()}" if torch.cuda.is_available() else cores
