"""Time on a device: wait for its work, then read the clock."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def now(device: str) -> float:
    """Seconds, once the device has finished its work."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter()


def best(call: Callable[[], object], device: str, *, repeats: int = 5, calls: int = 5, warm_up: int = 3) -> float:
    """Seconds per call, in the fastest of several repeats: the others were disturbed."""
    for _ in range(warm_up):
        call()
    seconds = []
    for _ in range(repeats):
        start = now(device)
        for _ in range(calls):
            call()
        seconds.append((now(device) - start) / calls)
    return min(seconds)
