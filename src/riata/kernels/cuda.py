"""The update compiled for CUDA: one kernel judges, one moves the rows through the operator, one moves everything above.

Each row is read once and written once; all passes of the operator over it happen in registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from riata.kernels import constants
from riata.kernels.state import State

__all__ = ["Advance"]

MOVE, STAY, BACK = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
MOMENTUM, MEMORY = tl.constexpr(constants.MOMENTUM), tl.constexpr(constants.MEMORY)
GROW, SHRINK = tl.constexpr(constants.GROW), tl.constexpr(constants.SHRINK)
TAKE_BACK, TOO_HIGH = tl.constexpr(constants.TAKE_BACK), tl.constexpr(constants.TOO_HIGH)
TINY = tl.constexpr(constants.TINY)
_TILE = 512  # entries of rows that one warp holds in registers
_BLOCK = 1024
_WIDE = 8192  # numbers of a replica that one program adds up


class Advance:
    """The update, bound to the buffers of one state without groups of features."""

    def __init__(self, state: State):
        self.state = state
        R, d = state.active.shape
        self._shape = R, d, state.gradient.upper.shape[1]
        self._outputs = state.now.layers.biases[-1].shape[-1]
        self._hidden = state.gradient.rows.shape[-1] - self._outputs
        self._size, self._momentum = torch.empty_like(state.scale), torch.empty_like(state.scale)
        self._mode = torch.zeros(R, dtype=torch.int32, device=state.scale.device)
        limits = torch.finfo(state.loss.dtype)
        rate = (1 - constants.MOMENTUM) * state.learning_rate
        numbers = [state.gamma, state.gamma_skip, rate, constants.ROUNDING * limits.eps, limits.tiny**0.5]
        self._settings = state.scale.new_tensor(numbers)  # as arguments they would be rounded to single precision
        self._tile_outputs = triton.next_power_of_2(self._outputs)
        self._tile_hidden = triton.next_power_of_2(self._hidden)
        self._tile_rows = max(1, _TILE // max(self._tile_hidden, self._tile_outputs))
        self._warps = min(32, max(1, max(self._tile_hidden, self._tile_outputs) // _TILE))
        self._extra = torch.zeros_like(state.scale)  # the penalty on the rows, where they are too many for one program

    def __call__(self) -> None:
        """Take one proximal gradient step for the replicas that may move."""
        state = self.state
        now, last, (R, d, p) = state.now, state.last, self._shape
        if state.adaptive and d > _WIDE:
            torch.sum((state.price + state.gamma_skip * now.norms) * now.norms, -1, out=self._extra)
        _judge[(R,)](
            state.loss, state.reached, state.scale, state.fresh, state.live, state.price, now.norms, now.weights.upper,
            state.is_matrix, self._extra, self._settings, self._size, self._momentum, self._mode, d, p,
            ADAPTIVE=state.adaptive, ROWS=d <= _WIDE, BLOCK=min(_WIDE, triton.next_power_of_2(max(d, p))), num_warps=8,
        )  # fmt: skip
        _move_rows[(triton.cdiv(d, self._tile_rows), R)](
            now.weights.rows, last.weights.rows, state.gradient.rows, state.moments.rows, now.norms, last.norms,
            state.active, state.price, state.M, self._settings, self._size, self._momentum, self._mode,
            d, self._outputs, self._hidden,
            ROWS=self._tile_rows, OUTPUTS=self._tile_outputs, HIDDEN=self._tile_hidden, num_warps=self._warps,
        )  # fmt: skip
        _move_upper[(triton.cdiv(p, _BLOCK), R)](
            now.weights.upper, last.weights.upper, state.gradient.upper, state.moments.upper, state.is_matrix,
            self._settings, self._size, self._momentum, self._mode, p, BLOCK=_BLOCK,
        )  # fmt: skip
        state.turn = 1 - state.turn


@triton.jit
def _judge(
    loss, reached, scale, fresh, live, price, norms, upper, is_matrix, extra, settings, size, momentum, mode,
    d, p, ADAPTIVE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Adapt the size of the steps of one replica; say whether it moves, stays, or goes back."""
    r = tl.program_id(0)
    alive = tl.load(live + r) != 0
    repeat = tl.load(fresh + r) == 0
    step = tl.load(scale + r)
    one = tl.full((), 1, step.dtype)
    gamma, gamma_skip, rate = tl.load(settings), tl.load(settings + 1), tl.load(settings + 2)
    bad = alive & (step != step)
    if ADAPTIVE:
        lane = tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], loss.dtype.element_ty)
        if ROWS:
            inside = lane < d
            norm = tl.load(norms + r * d + lane, mask=inside, other=0)
            total += (tl.load(price + r * d + lane, mask=inside, other=0) + gamma_skip * norm) * norm
        for start in range(0, p, BLOCK):
            inside = start + lane < p
            weight = tl.load(upper + r * p + start + lane, mask=inside, other=0)
            total += gamma * weight * weight * tl.load(is_matrix + start + lane, mask=inside, other=0)
        objective = tl.load(loss + r) + tl.load(extra + r) + tl.sum(total)
        before = tl.load(reached + r)
        level = tl.abs(before)
        rise = objective - before
        rose = alive & ((rise <= tl.load(settings + 3) * level) == 0)  # also where it is not a number
        bad = alive & ((rise <= TOO_HIGH * level) == 0)
        factor = tl.where(bad, one * TAKE_BACK, tl.where(rose, one * SHRINK, one * GROW))
        step = tl.where(alive, step * factor, step)
        tl.store(scale + r, step)
        tl.store(reached + r, tl.where(alive & (bad == 0), objective, before))
        repeat = repeat & (rose == 0)
    moves = alive & (bad == 0)
    tl.store(fresh + r, (repeat == 0) & (moves == 0))
    tl.store(momentum + r, tl.where(repeat, one * MOMENTUM, one * 0))
    tl.store(size + r, rate * step)
    tl.store(mode + r, tl.where(moves, MOVE, tl.where(alive, BACK, STAY)))


@triton.jit
def _move_rows(
    now, last, gradient, moments, now_norms, last_norms, active, price, M, settings, size, momentum, mode,
    d, outputs, hidden,
    ROWS: tl.constexpr, OUTPUTS: tl.constexpr, HIDDEN: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(1)
    what = tl.load(mode + r)
    if what != BACK:
        j = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        row = r * d + j
        on = (j < d) & (tl.load(active + row, mask=j < d, other=0) != 0)
        at = row.to(tl.int64)[:, None] * (outputs + hidden)
        o, k = tl.arange(0, OUTPUTS)[None, :], tl.arange(0, HIDDEN)[None, :]
        here_o, here_k = on[:, None] & (o < outputs), on[:, None] & (k < hidden)
        skip = tl.load(now + at + o, mask=here_o, other=0)
        first = tl.load(now + at + outputs + k, mask=here_k, other=0)
        beta = tl.load(now_norms + row, mask=on, other=0)
        if what == MOVE:
            g_skip = tl.load(gradient + at + o, mask=here_o, other=0) + 2 * tl.load(settings + 1) * skip
            g_first = tl.load(gradient + at + outputs + k, mask=here_k, other=0)
            square = (tl.sum(g_skip * g_skip, 1) + tl.sum(g_first * g_first, 1)) / (outputs + hidden)
            old = tl.load(moments + row, mask=on, other=0)
            moment = tl.where(old == 0, square, square + MEMORY * (old - square))
            tl.store(moments + row, moment, mask=on)
            alpha = tl.load(size + r) / (tl.sqrt(moment) + TINY)
            again = tl.load(momentum + r)
            before = tl.load(last + at + o, mask=here_o, other=0)
            skip += tl.where(again > 0, again * (skip - before), 0.0) - alpha[:, None] * g_skip
            old_first = tl.load(last + at + outputs + k, mask=here_k, other=0)
            first += tl.where(again > 0, again * (first - old_first), 0.0) - alpha[:, None] * g_first
            if OUTPUTS == 1:  # noqa: SIM108 - the compiler takes a branch on a constant, not an expression
                norm = tl.sum(tl.abs(skip), 1)
            else:
                norm = tl.sqrt(tl.sum(skip * skip, 1))
            m = tl.load(M + r)
            beta = _root(tl.abs(first), norm - alpha * tl.load(price + row, mask=on, other=0), m, beta)
            lost = (norm < tl.load(settings + 4)) & (beta > norm)
            factor = tl.where(lost | (norm == 0), 0.0, beta / tl.where(norm == 0, 1.0, norm))
            skip = tl.where(lost[:, None] & (o == 0), beta[:, None], skip * factor[:, None])
            bound = (m * beta)[:, None]
            first = tl.minimum(tl.maximum(first, -bound), bound)
        tl.store(last + at + o, skip, mask=here_o)
        tl.store(last + at + outputs + k, first, mask=here_k)
        tl.store(last_norms + row, beta, mask=on)


@triton.jit
def _root(first, excess, m, beta):
    """Find β by Newton's method from a guess, for a few rows at once; see the plain form in the room of the operator."""
    over = tl.maximum(first - (m * beta)[:, None], 0.0)
    count = tl.sum((over > 0).to(first.dtype), 1)
    beta = tl.maximum(beta + (excess - beta + m * tl.sum(over, 1)) / (1 + m * m * count), 0.0)
    changes = 1
    while changes > 0:
        over = tl.maximum(first - (m * beta)[:, None], 0.0)
        fewer = tl.sum((over > 0).to(first.dtype), 1)
        beta = tl.maximum(beta + (excess - beta + m * tl.sum(over, 1)) / (1 + m * m * fewer), beta)
        changes = tl.max((fewer != count).to(tl.int32), 0)
        count = fewer
    return beta


@triton.jit
def _move_upper(now, last, gradient, moments, is_matrix, settings, size, momentum, mode, p, BLOCK: tl.constexpr):
    r = tl.program_id(1)
    what = tl.load(mode + r)
    if what != BACK:
        lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = lane < p
        at = r * p + lane
        weight = tl.load(now + at, mask=inside, other=0)
        if what == MOVE:
            g = tl.load(gradient + at, mask=inside, other=0)
            g += 2 * tl.load(settings) * weight * tl.load(is_matrix + lane, mask=inside, other=0)
            old = tl.load(moments + at, mask=inside, other=0)
            moment = tl.where(old == 0, g * g, g * g + MEMORY * (old - g * g))
            tl.store(moments + at, moment, mask=inside)
            alpha = tl.load(size + r) / (tl.sqrt(moment) + TINY)
            again = tl.load(momentum + r)
            before = tl.load(last + at, mask=inside, other=0)
            weight += tl.where(again > 0, again * (weight - before), 0.0) - alpha * g
        tl.store(last + at, weight, mask=inside)
