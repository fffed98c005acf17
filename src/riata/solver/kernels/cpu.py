"""The update compiled for the CPU: each row is read once, brought through the operator in cache, and written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch

from riata.solver.kernels.constants import GROW, MEMORY, MOMENTUM, ROUNDING, SHRINK, TAKE_BACK, TINY, TOO_HIGH, VANISHED
from riata.solver.kernels.state import State

__all__ = ["Advance"]

_MOVE, _STAY, _BACK = 0, 1, 2
# Sums may be taken in another order, which is what lets them run on vector units; NaN and inf keep their meaning.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, and keep the result on disk where there is a place for it."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder can be written to
        return numba.njit(**_OPTIONS)(function)


class Advance:
    """The update, bound to the buffers of one state."""

    def __init__(self, state: State):
        self.state = state
        groups = state.groups
        index = np.arange(state.active.shape[1]) if groups.index is None else groups.index.numpy()
        members = np.argsort(index, kind="stable")  # rows, group by group
        starts = np.searchsorted(index[members], np.arange(groups.n_groups + 1))
        numbers = [state.loss, state.reached, state.scale, state.fresh, state.live, state.active, state.price, state.M]
        numbers += [*state.gradient, *state.moments, state.is_matrix]
        self._fixed = (*(n.numpy() for n in numbers), members, starts)
        places = [(i.weights.rows.numpy(), i.weights.upper.numpy(), i.norms.numpy()) for i in state.iterates]
        self._places = [(*places[turn], *places[1 - turn]) for turn in (0, 1)]
        eps = ROUNDING * torch.finfo(state.loss.dtype).eps if state.seeking else -1.0
        tiny = torch.finfo(state.loss.dtype).tiny ** 0.5
        self._settings = (
            state.n_outputs,
            np.array([state.gamma, state.learning_rate, eps, tiny], dtype=self._fixed[0].dtype),
        )

    def __call__(self) -> None:
        """Take one proximal gradient step for the replicas that may move."""
        _advance(*self._places[self.state.turn], *self._fixed, *self._settings)
        self.state.turn = 1 - self.state.turn


@_compiled
def _advance(
    now_rows,
    now_upper,
    now_norms,
    last_rows,
    last_upper,
    last_norms,
    loss,
    reached,
    scale,
    fresh,
    live,
    active,
    price,
    M,
    grad_rows,
    grad_upper,
    m_rows,
    m_upper,
    is_matrix,
    members,
    starts,
    o,
    settings,
):
    for r in range(len(loss)):
        mode = _judge(r, now_upper, now_norms, loss, reached, scale, fresh, live, price, is_matrix, settings)
        if mode == _STAY:
            last_rows[r] = now_rows[r]
            last_upper[r] = now_upper[r]
            last_norms[r] = now_norms[r]
        if mode != _MOVE:
            continue
        was_fresh = fresh[r]
        fresh[r] = False
        size = now_rows.dtype.type((1 - MOMENTUM) * settings[1] * scale[r])
        for g in range(len(starts) - 1):
            rows = members[starts[g] : starts[g + 1]]
            if active[r, rows[0]]:
                alpha = _size_of_step(rows, grad_rows[r], m_rows[r], size)
                norm = _move(rows, now_rows[r], last_rows[r], grad_rows[r], alpha, was_fresh, o)
                last_norms[r, g] = _shrink(
                    rows, last_rows[r], norm, alpha * price[r, g], M[r], now_norms[r, g], o, settings[3]
                )
        _step_upper(now_upper[r], last_upper[r], grad_upper[r], m_upper[r], is_matrix, size, was_fresh, settings[0])


@_compiled
def _judge(r, upper, norms, loss, reached, scale, fresh, live, price, is_matrix, settings):
    """Adapt the size of the steps of one replica; say whether it moves, stays, or goes back."""
    if not live[r]:
        return _STAY
    rounding = settings[2]
    if rounding < 0:
        return _MOVE
    gamma = settings[0]
    objective = loss[r]
    for g in range(norms.shape[1]):
        objective += price[r, g] * norms[r, g]
    if gamma:
        total = loss.dtype.type(0)
        for i in range(upper.shape[1]):
            total += upper[r, i] * upper[r, i] * is_matrix[i]
        objective += gamma * total
    level = abs(reached[r])
    rise = objective - reached[r]
    if not rise <= rounding * level:
        fresh[r] = True
        if not rise <= TOO_HIGH * level:
            scale[r] *= TAKE_BACK
            return _BACK
        scale[r] *= SHRINK
    else:
        scale[r] *= GROW
    reached[r] = objective
    return _MOVE


@_compiled
def _size_of_step(rows, grad, moments, size):
    """Update the average squared gradient of one group, and return the step size of its rows."""
    dtype = grad.dtype.type
    w = grad.shape[1]
    total = dtype(0)
    for j in rows:
        for c in range(w):
            total += grad[j, c] * grad[j, c]
    average = total / dtype(len(rows) * w)
    moment = moments[rows[0]]
    moment = average if moment == 0 else average + dtype(MEMORY) * (moment - average)
    for j in rows:
        moments[j] = moment
    return size / (np.sqrt(moment) + dtype(TINY))


@_compiled
def _move(rows, now, last, grad, alpha, fresh, o):
    """Put the rows of one group after a gradient step in the place of the last; return the norm of their skip parts."""
    dtype = now.dtype.type
    squares = dtype(0)
    for j in rows:
        if fresh:  # the last iterate may hold anything
            for c in range(now.shape[1]):
                last[j, c] = now[j, c] - alpha * grad[j, c]
        else:
            for c in range(now.shape[1]):
                last[j, c] = now[j, c] + dtype(MOMENTUM) * (now[j, c] - last[j, c]) - alpha * grad[j, c]
        for c in range(o):
            squares += last[j, c] * last[j, c]
    return abs(last[rows[0], 0]) if o * len(rows) == 1 else np.sqrt(squares)


@_compiled
def _shrink(rows, moved, norm, threshold, M, guess, o, tiny):
    """Apply the operator to the rows of one group, in place; return the norm β of their skip parts."""
    dtype = moved.dtype.type
    beta = _root(rows, moved, norm - threshold, M, guess, o)
    lost = norm < tiny and beta > norm
    factor = dtype(0) if lost or norm == 0 else beta / norm
    bound = M * beta
    for j in rows:
        for c in range(o):
            moved[j, c] *= factor
        for c in range(o, moved.shape[1]):
            moved[j, c] = min(max(moved[j, c], -bound), bound)
    if lost:
        moved[rows[0], 0] = beta
    return beta


@_compiled
def _root(rows, row, excess, M, guess, o):
    """Find β by Newton's method from a guess; see the plain form in the room of the operator."""
    dtype = row.dtype.type
    w = row.shape[1]
    beta = guess
    before = dtype(-1)
    for step in range(w * len(rows) + 2):
        bound = M * beta
        total, count = dtype(0), dtype(0)
        for j in rows:
            for c in range(o, w):
                over = abs(row[j, c]) - bound
                total += max(over, dtype(0))
                count += dtype(1) if over > 0 else dtype(0)
        new = beta + (excess - beta + M * total) / (dtype(1) + M * M * count)
        beta = max(new, dtype(0)) if step == 0 else max(new, beta)
        if count == before:
            break
        before = count
    return beta


@_compiled
def _step_upper(now, last, grad, moments, is_matrix, size, fresh, gamma):
    dtype = now.dtype.type
    decay = dtype(2) * gamma
    for i in range(len(now)):
        g = grad[i] + decay * now[i] * is_matrix[i]
        square = g * g
        moment = square if moments[i] == 0 else square + dtype(MEMORY) * (moments[i] - square)
        moments[i] = moment
        again = dtype(0) if fresh else dtype(MOMENTUM) * (now[i] - last[i])
        moved = now[i] + again - size / (np.sqrt(moment) + dtype(TINY)) * g
        last[i] = dtype(0) if abs(moved) <= VANISHED else moved
