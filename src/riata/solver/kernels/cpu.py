"""The update compiled for the CPU: each feature's weights are read once, updated in cache, and written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch

from riata.solver.kernels.constants import GROW, MAX_RISE, MEMORY, MOMENTUM, ROUNDING, SHRINK, SHRINK_REVERTED, TINY
from riata.solver.kernels.state import State

__all__ = ["Update"]

_ADVANCE, _HOLD, _REVERT = 0, 1, 2  # what a replica does in an update
# Sums may be taken in another order, which is what lets them run on vector units; NaN and inf keep their meaning.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, and keep the result on disk where there is a place for it."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder can be written to
        return numba.njit(**_OPTIONS)(function)


def _inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as a part of its caller: a function of its own would go through the compiler twice."""
    inlined: Callable[..., Any] = numba.njit(inline="always", **_OPTIONS)(function)
    return inlined


class Update:
    """The update, bound to the buffers of one state."""

    def __init__(self, state: State):
        self.state = state
        groups, dtype = state.groups, state.loss.dtype
        index = np.arange(state.active.shape[1]) if groups.index is None else groups.index.numpy()
        members = np.argsort(index, kind="stable")  # features, group by group
        starts = np.searchsorted(index[members], np.arange(groups.n_groups + 1))
        rounding = ROUNDING * torch.finfo(dtype).eps if state.adapts_scale else -1.0
        settings = torch.tensor(
            [state.gamma, state.learning_rate, rounding, torch.finfo(dtype).tiny ** 0.5], dtype=dtype
        )
        shared = (state.is_matrix.numpy(), members, starts, state.n_outputs, settings.numpy())
        numbers = [state.loss, state.last_objective, state.scale, state.restarted, state.live, state.M]
        vectors = [state.active, state.lambdas, state.sizes, *state.gradient, *state.moments]
        iterates = [(i.weights.rows, i.weights.upper, i.norms) for i in state.iterates]

        def arguments(r: int, turn: int) -> tuple[Any, ...]:
            own = [*iterates[turn], *iterates[1 - turn], *vectors]
            return (*(part[r].numpy() for part in own), *(part[r : r + 1].numpy() for part in numbers), *shared)

        self._arguments = [[arguments(r, turn) for r in range(len(state.loss))] for turn in (0, 1)]

    def __call__(self) -> None:
        """Take one proximal gradient step in each live replica."""
        for replica in self._arguments[self.state.turn]:
            if _update(*replica):
                for now, last in zip(replica[:3], replica[3:6], strict=True):
                    last[...] = now
        self.state.turn = 1 - self.state.turn


@_compiled
def _update(
    now_rows, now_upper, now_norms, last_rows, last_upper, last_norms,
    active, lambdas, sizes, grad_rows, grad_upper, m_rows, m_upper, loss, last_objective, scale, restarted, live, M,
    is_matrix, members, starts, o, settings,
):  # fmt: skip
    """Take the step of one replica, whose numbers are arrays of length one; return whether it holds instead."""
    mode = _adapt_scale(
        now_upper, now_norms, loss, last_objective, scale, restarted, live, lambdas, is_matrix, settings
    )
    if mode == _ADVANCE:
        restart = restarted[0]
        restarted[0] = False
        size = now_rows.dtype.type((1 - MOMENTUM) * settings[1] * scale[0])
        for g in range(len(starts) - 1):
            begin, end = starts[g], starts[g + 1]
            if active[members[begin]]:
                alpha = _step_size(members, begin, end, sizes[g], grad_rows, m_rows, size)
                norm = _gradient_step(members, begin, end, now_rows, last_rows, grad_rows, alpha, restart, o)
                excess = norm - alpha * lambdas[g]
                beta = _root(members, begin, end, last_rows, excess, M[0], now_norms[g], o)
                _project(members, begin, end, last_rows, norm, beta, M[0], o, settings[3])
                last_norms[g] = beta
        _step_upper(now_upper, last_upper, grad_upper, m_upper, is_matrix, size, restart, settings[0])
    return mode == _HOLD


@_inlined
def _adapt_scale(upper, norms, loss, last_objective, scale, restarted, live, lambdas, is_matrix, settings):
    """Adapt the size of the steps; return whether the replica advances, holds, or reverts."""
    if not live[0]:
        return _HOLD
    rounding = settings[2]
    if rounding < 0:
        return _ADVANCE
    gamma = settings[0]
    objective = loss[0]
    for g in range(len(norms)):
        objective += lambdas[g] * norms[g]
    if gamma:
        total = loss.dtype.type(0)
        for i in range(len(upper)):
            total += upper[i] * upper[i] * is_matrix[i]
        objective += gamma * total
    level = abs(last_objective[0])
    rise = objective - last_objective[0]
    if not rise <= rounding * level:
        restarted[0] = True
        if not rise <= MAX_RISE * level:
            scale[0] *= SHRINK_REVERTED
            return _REVERT
        scale[0] *= SHRINK
    else:
        scale[0] *= GROW
    last_objective[0] = objective
    return _ADVANCE


@_inlined
def _step_size(members, begin, end, n_columns, grad, moments, size):
    """Update the average squared gradient of one group, and return its step size."""
    dtype = grad.dtype.type
    w = grad.shape[1]
    total = dtype(0)
    for i in range(begin, end):
        for c in range(w):
            total += grad[members[i], c] * grad[members[i], c]
    average = total / (n_columns * dtype(w))
    moment = moments[members[begin]]
    moment = average if moment == 0 else average + dtype(MEMORY) * (moment - average)
    for i in range(begin, end):
        moments[members[i]] = moment
    return size / (np.sqrt(moment) + dtype(TINY))


@_inlined
def _gradient_step(members, begin, end, now, last, grad, alpha, restart, o):
    """Overwrite the last weights of one group with those after a gradient step; return the norm of its skip weights."""
    dtype = now.dtype.type
    squares = dtype(0)
    for i in range(begin, end):
        j = members[i]
        for c in range(now.shape[1]):
            before = now[j, c] if restart else last[j, c]  # the last iterate may hold anything
            last[j, c] = now[j, c] + dtype(MOMENTUM) * (now[j, c] - before) - alpha * grad[j, c]
        for c in range(o):
            squares += last[j, c] * last[j, c]
    return abs(last[members[begin], 0]) if o * (end - begin) == 1 else np.sqrt(squares)


@_inlined
def _root(members, begin, end, weights, excess, M, guess, o):
    """Find the norm β of the skip weights by Newton's method from a guess, as :func:`riata.prox.prox_rows` does."""
    dtype = weights.dtype.type
    w = weights.shape[1]
    beta = guess
    last_count = dtype(-1)
    for step in range(w * (end - begin) + 2):
        bound = M * beta
        total, count = dtype(0), dtype(0)
        for i in range(begin, end):
            for c in range(o, w):
                over = abs(weights[members[i], c]) - bound
                total += max(over, dtype(0))
                count += dtype(1) if over > 0 else dtype(0)
        new = beta + (excess - beta + M * total) / (dtype(1) + M * M * count)
        beta = max(new, dtype(0)) if step == 0 else max(new, beta)
        if count == last_count:
            break
        last_count = count
    return beta


@_inlined
def _project(members, begin, end, weights, norm, beta, M, o, tiny):
    """Give the skip weights of one group the norm β, and its first weights the bound M β, in place."""
    dtype = weights.dtype.type
    vanished = norm < tiny and beta > norm
    factor = dtype(0) if vanished or norm == 0 else beta / norm
    bound = M * beta
    for i in range(begin, end):
        j = members[i]
        for c in range(o):
            weights[j, c] *= factor
        for c in range(o, weights.shape[1]):
            weights[j, c] = min(max(weights[j, c], -bound), bound)
    if vanished:
        weights[members[begin], 0] = beta


@_inlined
def _step_upper(now, last, grad, moments, is_matrix, size, restart, gamma):
    dtype = now.dtype.type
    decay = dtype(2) * gamma
    for i in range(len(now)):
        g = grad[i] + decay * now[i] * is_matrix[i]
        square = g * g
        moment = square if moments[i] == 0 else square + dtype(MEMORY) * (moments[i] - square)
        moments[i] = moment
        momentum = dtype(0) if restart else dtype(MOMENTUM) * (now[i] - last[i])
        new = now[i] + momentum - size / (np.sqrt(moment) + dtype(TINY)) * g
        last[i] = dtype(0) if abs(new) <= 1e-25 else new  # denormal numbers are many times slower on a CPU
