"""Device work that is recorded once and replayed, so that the device does not wait for the host."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import cache
from weakref import WeakMethod

import torch

from riata.solver.kernels.state import State

__all__ = ["Recorded"]


class Recorded:
    """A function of the buffers of a state: recorded and replayed on CUDA, called elsewhere.

    The function may not allocate what outlives it, nor copy from the device to the host. Its first call at each ``turn`` of the
    state runs as it is, which compiles what is to be compiled; the second records.

    Parameters
    ----------
    function : bound method
        Held weakly: the owner of the buffers owns this object too.
    state : State
        Whose ``turn`` the function may change.
    draw : torch.Generator, optional
        Source of randomness that the function uses.
    enabled : bool
        Whether the function can be recorded.
    """

    def __init__(
        self, function: Callable[[], None], state: State, draw: torch.Generator | None = None, *, enabled: bool = True
    ):
        self._method = WeakMethod(function)
        self._state = state
        self._draw = draw
        self._enabled = enabled and state.loss.device.type == "cuda"
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, int] | None] = {}

    def __call__(self) -> None:
        """Call, record or replay the function."""
        turn = self._state.turn
        if not self._enabled or turn not in self._graphs:
            self._graphs[turn] = None
            self._function()
            return
        recorded = self._graphs[turn]
        if recorded is None:
            recorded = self._graphs[turn] = self._record(self._state.loss.device)
        recorded[0].replay()
        self._state.turn = recorded[1]

    def _function(self) -> None:
        function = self._method()
        assert function is not None
        function()

    def _record(self, device: torch.device) -> tuple[torch.cuda.CUDAGraph, int]:
        with _recording:
            return self._recorded(device)

    def _recorded(self, device: torch.device) -> tuple[torch.cuda.CUDAGraph, int]:
        graph = torch.cuda.CUDAGraph()
        if self._draw is not None:
            graph.register_generator_state(self._draw)
        stream = _stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        collecting = gc.isenabled()
        gc.disable()  # no graph may be freed while one is recorded
        try:
            with torch.cuda.stream(stream):
                graph.capture_begin(capture_error_mode="thread_local")
                try:
                    self._function()
                finally:
                    graph.capture_end()
        finally:
            if collecting:
                gc.enable()
        torch.cuda.current_stream(device).wait_stream(stream)
        return graph, self._state.turn


_recording = threading.Lock()  # threads of a process share the stream


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """One stream per device to record on: each costs a workspace of its own."""
    return torch.cuda.Stream(device)
