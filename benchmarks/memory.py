"""Peak memory of a fit beyond what was allocated before it, in a new process."""

from __future__ import annotations

import contextlib
import gc
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import torch

from benchmarks.data import load, split
from benchmarks.libraries import LIBRARIES, Settings, warm_up

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(data: str, library: str, settings: Settings) -> int:
    """Bytes: of the device on CUDA, of the process elsewhere."""
    # The reference keeps no weights along the path: its first points already have its peak.
    settings = replace(settings, stop_after=3)
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (data, library, settings))


def _peak(data: str, library: str, settings: Settings) -> int:
    parts = split(load(data), settings.seed)
    warm_up(library, settings.device)
    gc.collect()
    if settings.device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(settings.device)
        before = torch.cuda.memory_allocated(settings.device)
        LIBRARIES[library](parts, settings)
        return torch.cuda.max_memory_allocated(settings.device) - before
    reset_peak()
    before = kilobytes("VmRSS")
    LIBRARIES[library](parts, settings)
    return 1024 * (kilobytes("VmHWM") - before)


def reset_peak() -> None:
    """Forget the process's peak so far; where that cannot be done, the peak of loading the data counts too."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")


def kilobytes(name: str) -> int:
    """Read a field of the process's status; unlike ru_maxrss these leave out the parent process."""
    lines = _STATUS.read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
