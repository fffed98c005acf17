"""The update of the solver, gradient step and operator in one, compiled for the device where that is possible.

All forms give the same result up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from riata.solver.kernels import plain
from riata.solver.kernels.graph import Recorded
from riata.solver.kernels.state import Iterate, State

__all__ = ["Iterate", "Recorded", "State", "bind", "compiled"]


def compiled(state: State) -> bool:
    """Whether there is a compiled form of the update for this state."""
    device = state.loss.device.type
    if device == "cuda":
        return find_spec("triton") is not None and _fits(state)
    return device == "cpu" and find_spec("numba") is not None


def _fits(state: State) -> bool:
    """Whether the weights of a group fit into the registers of one program."""
    largest = 1 if state.groups.index is None else int(state.groups.sizes.max())
    return largest == 1 or largest * state.gradient.rows.shape[-1] <= 2**13  # entries


def bind(state: State) -> Callable[[], None]:
    """Return the update as a function without arguments, bound to the buffers of a state."""
    if not compiled(state):
        return partial(plain.update, state)
    if state.loss.device.type == "cuda":
        from riata.solver.kernels import cuda

        return cuda.Update(state)
    from riata.solver.kernels import cpu

    return cpu.Update(state)
