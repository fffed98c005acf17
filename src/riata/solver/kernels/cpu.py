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


class Update:
    """The update, bound to the buffers of one state."""

    def __init__(self, state: State):
        self.state = state
        groups = state.groups
        index = np.arange(state.active.shape[1]) if groups.index is None else groups.index.numpy()
        members = np.argsort(index, kind="stable")  # features, group by group
        starts = np.searchsorted(index[members], np.arange(groups.n_groups + 1))
        buffers = [state.loss, state.last_objective, state.scale, state.restarted, state.live, state.active]
        buffers += [state.lambdas, state.M, *state.gradient, *state.moments, state.is_matrix]
        self._fixed = (*(buffer.numpy() for buffer in buffers), state.sizes.numpy(), members, starts)
        iterates = [(i.weights.rows.numpy(), i.weights.upper.numpy(), i.norms.numpy()) for i in state.iterates]
        self._iterates = [(*iterates[turn], *iterates[1 - turn]) for turn in (0, 1)]  # now and last, by turn
        eps = ROUNDING * torch.finfo(state.loss.dtype).eps if state.adapts_scale else -1.0
        tiny = torch.finfo(state.loss.dtype).tiny ** 0.5
        self._settings = (
            state.n_outputs,
            np.array([state.gamma, state.learning_rate, eps, tiny], dtype=self._fixed[0].dtype),
        )

    def __call__(self) -> None:
        """Take one proximal gradient step in each live replica."""
        _update(*self._iterates[self.state.turn], *self._fixed, *self._settings)
        self.state.turn = 1 - self.state.turn


@_compiled
def _update(
    now_rows, now_upper, now_norms, last_rows, last_upper, last_norms,
    loss, last_objective, scale, restarted, live, active, lambdas, M, grad_rows, grad_upper, m_rows, m_upper, is_matrix,
    sizes, members, starts, o, settings,
):  # fmt: skip
    for r in range(len(loss)):
        mode = _adapt_scale(
            r, now_upper, now_norms, loss, last_objective, scale, restarted, live, lambdas, is_matrix, settings
        )
        if mode == _HOLD:
            for j in range(now_rows.shape[1]):
                _copy(now_rows[r, j], last_rows[r, j])
            _copy(now_upper[r], last_upper[r])
            _copy(now_norms[r], last_norms[r])
        if mode != _ADVANCE:
            continue
        restart = restarted[r]
        restarted[r] = False
        size = now_rows.dtype.type((1 - MOMENTUM) * settings[1] * scale[r])
        for g in range(len(starts) - 1):
            features = members[starts[g] : starts[g + 1]]
            if active[r, features[0]]:
                alpha = _step_size(features, sizes[r, g], grad_rows[r], m_rows[r], size)
                norm = _gradient_step(features, now_rows[r], last_rows[r], grad_rows[r], alpha, restart, o)
                last_norms[r, g] = _prox(
                    features, last_rows[r], norm, alpha * lambdas[r, g], M[r], now_norms[r, g], o, settings[3]
                )
        _step_upper(now_upper[r], last_upper[r], grad_upper[r], m_upper[r], is_matrix, size, restart, settings[0])


@_compiled
def _copy(source, target):
    for i in range(len(source)):  # an assignment of arrays takes seconds to compile, for the text of its error
        target[i] = source[i]


@_compiled
def _adapt_scale(r, upper, norms, loss, last_objective, scale, restarted, live, lambdas, is_matrix, settings):
    """Adapt the size of the steps of one replica; return whether it advances, holds, or reverts."""
    if not live[r]:
        return _HOLD
    rounding = settings[2]
    if rounding < 0:
        return _ADVANCE
    gamma = settings[0]
    objective = loss[r]
    for g in range(norms.shape[1]):
        objective += lambdas[r, g] * norms[r, g]
    if gamma:
        total = loss.dtype.type(0)
        for i in range(upper.shape[1]):
            total += upper[r, i] * upper[r, i] * is_matrix[i]
        objective += gamma * total
    level = abs(last_objective[r])
    rise = objective - last_objective[r]
    if not rise <= rounding * level:
        restarted[r] = True
        if not rise <= MAX_RISE * level:
            scale[r] *= SHRINK_REVERTED
            return _REVERT
        scale[r] *= SHRINK
    else:
        scale[r] *= GROW
    last_objective[r] = objective
    return _ADVANCE


@_compiled
def _step_size(features, n_columns, grad, moments, size):
    """Update the average squared gradient of one group, and return its step size."""
    dtype = grad.dtype.type
    w = grad.shape[1]
    total = dtype(0)
    for j in features:
        for c in range(w):
            total += grad[j, c] * grad[j, c]
    average = total / (n_columns * dtype(w))
    moment = moments[features[0]]
    moment = average if moment == 0 else average + dtype(MEMORY) * (moment - average)
    for j in features:
        moments[j] = moment
    return size / (np.sqrt(moment) + dtype(TINY))


@_compiled
def _gradient_step(features, now, last, grad, alpha, restart, o):
    """Overwrite the last weights of one group with those after a gradient step; return the norm of its skip weights."""
    dtype = now.dtype.type
    squares = dtype(0)
    for j in features:
        if restart:  # the last iterate may hold anything
            for c in range(now.shape[1]):
                last[j, c] = now[j, c] - alpha * grad[j, c]
        else:
            for c in range(now.shape[1]):
                last[j, c] = now[j, c] + dtype(MOMENTUM) * (now[j, c] - last[j, c]) - alpha * grad[j, c]
        for c in range(o):
            squares += last[j, c] * last[j, c]
    return abs(last[features[0], 0]) if o * len(features) == 1 else np.sqrt(squares)


@_compiled
def _prox(features, weights, norm, threshold, M, guess, o, tiny):
    """Apply the operator to the weights of one group, in place; return the norm β of its skip weights."""
    dtype = weights.dtype.type
    beta = _root(features, weights, norm - threshold, M, guess, o)
    vanished = norm < tiny and beta > norm
    factor = dtype(0) if vanished or norm == 0 else beta / norm
    bound = M * beta
    for j in features:
        for c in range(o):
            weights[j, c] *= factor
        for c in range(o, weights.shape[1]):
            weights[j, c] = min(max(weights[j, c], -bound), bound)
    if vanished:
        weights[features[0], 0] = beta
    return beta


@_compiled
def _root(features, weights, excess, M, guess, o):
    """Find β by Newton's method from a guess, as :func:`riata.prox.prox_rows` does."""
    dtype = weights.dtype.type
    w = weights.shape[1]
    beta = guess
    last_count = dtype(-1)
    for step in range(w * len(features) + 2):
        bound = M * beta
        total, count = dtype(0), dtype(0)
        for j in features:
            for c in range(o, w):
                over = abs(weights[j, c]) - bound
                total += max(over, dtype(0))
                count += dtype(1) if over > 0 else dtype(0)
        new = beta + (excess - beta + M * total) / (dtype(1) + M * M * count)
        beta = max(new, dtype(0)) if step == 0 else max(new, beta)
        if count == last_count:
            break
        last_count = count
    return beta


@_compiled
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
