"""The update compiled for CUDA: one kernel adapts the size of the steps, another takes them and applies the operator.

Here a row is the weights of one feature in one replica. It is read once and written once; the operator's iterations over it
happen in registers.
"""

from __future__ import annotations

from math import gcd

import torch
import triton
import triton.language as tl

from riata.solver.kernels import constants
from riata.solver.kernels.state import State

__all__ = ["Update"]

ADVANCE, HOLD, REVERT = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
MOMENTUM, MEMORY = tl.constexpr(constants.MOMENTUM), tl.constexpr(constants.MEMORY)
GROW, SHRINK = tl.constexpr(constants.GROW), tl.constexpr(constants.SHRINK)
SHRINK_REVERTED, MAX_RISE = tl.constexpr(constants.SHRINK_REVERTED), tl.constexpr(constants.MAX_RISE)
TINY = tl.constexpr(constants.TINY)
_TILE = 256  # weights that one warp holds in registers; twice as many of long rows and where loads are wide
_SUM = 8192  # numbers of a replica that one program adds up


class Update:
    """The update, bound to the buffers of one state."""

    def __init__(self, state: State):
        self.state = state
        R, d = state.active.shape
        self._shape = R, d, state.gradient.upper.shape[1]
        self._outputs = state.n_outputs
        self._hidden = state.gradient.rows.shape[-1] - self._outputs
        self._size, self._momentum = torch.empty_like(state.scale), torch.empty_like(state.scale)
        self._mode = torch.zeros(R, dtype=torch.int32, device=state.scale.device)
        limits = torch.finfo(state.loss.dtype)
        rate = (1 - constants.MOMENTUM) * state.learning_rate
        settings = [state.gamma, rate, constants.ROUNDING * limits.eps, limits.tiny**0.5]
        self._settings = state.scale.new_tensor(settings)  # as arguments they would be rounded to single precision
        self._tile_outputs = triton.next_power_of_2(self._outputs)
        self._tile_hidden = triton.next_power_of_2(self._hidden)
        self._align = gcd(self._outputs, self._hidden, 4)  # rows begin at multiples of it: so wide may the loads be
        width = max(self._tile_hidden, self._tile_outputs)
        tile = 2 * _TILE if width * self._align >= (_TILE if self._align > 1 else 2 * _TILE) else _TILE
        self._tile_rows = 32 if width <= 16 else max(1, tile // width)
        self._warps = min(32, max(1, width // tile))
        few = self._tile_rows <= 2 and self._warps <= 16 and state.scale.dtype == torch.float32
        pays = few and self._align < 4 and torch.version.hip is None
        self._limit = {"maxnreg": 80} if pays else {}  # without a limit the compiler may postpone loads
        self._extra = torch.zeros_like(state.scale)  # the penalty of the groups, where one program cannot add it up
        self._groups: tuple[torch.Tensor, torch.Tensor] | None = (
            None  # features, group by group, and where each group begins
        )
        if state.groups.index is not None:
            members = torch.argsort(state.groups.index, stable=True)
            starts = torch.nn.functional.pad(state.groups.sizes.cumsum(0), (1, 0))
            self._groups = members.int(), starts.int()
            self._tile_members = triton.next_power_of_2(int(state.groups.sizes.max()))

    def __call__(self) -> None:
        """Take one proximal gradient step in each live replica."""
        state = self.state
        now, last, (R, d, p), G = state.now, state.last, self._shape, state.groups.n_groups
        if state.adapts_scale and G > _SUM:
            torch.sum(state.lambdas * now.norms, -1, out=self._extra)
        _adapt_scale[(R,)](
            state.loss, state.last_objective, state.scale, state.restarted, state.live, state.lambdas,
            now.norms, now.weights.upper, state.is_matrix, self._extra, self._settings,
            self._size, self._momentum, self._mode, G, p,
            ADAPTS_SCALE=state.adapts_scale, NORMS=G <= _SUM, BLOCK=min(_SUM, triton.next_power_of_2(max(G, p))),
            num_warps=8,
        )  # fmt: skip
        block = 256 * self._warps  # parameters above the first layer that one program updates
        n_tiles = 0 if self._groups else triton.cdiv(d, self._tile_rows)
        _step[(triton.cdiv(p, block) + n_tiles, R)](
            now.weights.rows, last.weights.rows, state.gradient.rows, state.moments.rows, now.norms, last.norms,
            state.active, state.lambdas, state.M,
            now.weights.upper, last.weights.upper, state.gradient.upper, state.moments.upper, state.is_matrix,
            self._settings, self._size, self._momentum, self._mode,
            d, p, self._outputs // self._align, self._hidden // self._align,
            FEATURES=n_tiles > 0,
            ROWS=self._tile_rows, OUTPUTS=self._tile_outputs, HIDDEN=self._tile_hidden, ALIGN=self._align, BLOCK=block,
            num_warps=self._warps, **self._limit,
        )  # fmt: skip
        if self._groups:
            width = self._outputs + self._hidden
            tile = self._tile_members, triton.next_power_of_2(width)
            _step_groups[(G, R)](
                now.weights.rows, last.weights.rows, state.gradient.rows, state.moments.rows, now.norms, last.norms,
                state.active, state.lambdas, state.M, state.sizes, self._settings, self._size, self._momentum, self._mode,
                *self._groups, d, G, self._outputs, width,
                MEMBERS=tile[0], WIDTH=tile[1], num_warps=min(16, max(1, tile[0] * tile[1] // (2 * _TILE))),
            )  # fmt: skip
        state.turn = 1 - state.turn


@triton.jit(do_not_specialize=["G", "p"])  # they change as features leave
def _adapt_scale(
    loss, last_objective, scale, restarted, live, lambdas, norms, upper, is_matrix, extra, settings,
    size, momentum, mode, G, p, ADAPTS_SCALE: tl.constexpr, NORMS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Adapt the size of the steps of one replica; write whether it advances, holds, or reverts."""
    r = tl.program_id(0)
    alive = tl.load(live + r) != 0
    with_momentum = tl.load(restarted + r) == 0
    step = tl.load(scale + r)
    one = tl.full((), 1, step.dtype)
    gamma, rate = tl.load(settings), tl.load(settings + 1)
    revert = alive & (step != step)
    if ADAPTS_SCALE:
        lane = tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], loss.dtype.element_ty)
        if NORMS:
            inside = lane < G
            norm = tl.load(norms + r * G + lane, mask=inside, other=0)
            total += tl.load(lambdas + r * G + lane, mask=inside, other=0) * norm
        for start in range(0, p, BLOCK):
            inside = start + lane < p
            weight = tl.load(upper + r * p + start + lane, mask=inside, other=0)
            total += gamma * weight * weight * tl.load(is_matrix + start + lane, mask=inside, other=0)
        objective = tl.load(loss + r) + tl.load(extra + r) + tl.sum(total)
        before = tl.load(last_objective + r)
        level = tl.abs(before)
        rise = objective - before
        rose = alive & ((rise <= tl.load(settings + 2) * level) == 0)  # also where it is not a number
        revert = alive & ((rise <= MAX_RISE * level) == 0)
        factor = tl.where(revert, one * SHRINK_REVERTED, tl.where(rose, one * SHRINK, one * GROW))
        step = tl.where(alive, step * factor, step)
        tl.store(scale + r, step)
        tl.store(last_objective + r, tl.where(alive & (revert == 0), objective, before))
        with_momentum = with_momentum & (rose == 0)
    advance = alive & (revert == 0)
    tl.store(restarted + r, (with_momentum == 0) & (advance == 0))
    tl.store(momentum + r, tl.where(with_momentum, one * MOMENTUM, one * 0))
    tl.store(size + r, rate * step)
    tl.store(mode + r, tl.where(advance, ADVANCE, tl.where(alive, REVERT, HOLD)))


@triton.jit(do_not_specialize=["d", "p", "outputs", "hidden"])
def _step(
    now, last, gradient, moments, now_norms, last_norms, active, lambdas, M,
    now_upper, last_upper, gradient_upper, moments_upper, is_matrix,
    settings, size, momentum, mode, d, p, outputs, hidden,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr, OUTPUTS: tl.constexpr, HIDDEN: tl.constexpr, ALIGN: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Update some rows of one replica, or a block of the parameters above the first layer."""
    r, block = tl.program_id(1), tl.program_id(0) - tl.cdiv(p, BLOCK)
    if block < 0:
        _step_upper(
            now_upper + r * p, last_upper + r * p, gradient_upper + r * p, moments_upper + r * p, is_matrix, settings,
            size + r, momentum + r, mode + r, tl.program_id(0) * BLOCK, p, BLOCK,
        )  # fmt: skip
    elif FEATURES:  # else groups are updated by a kernel of their own, and this one need not be compiled for them
        _step_features(
            now, last, gradient, moments, now_norms, last_norms, active, lambdas, M + r, settings,
            size + r, momentum + r, mode + r, r * d + block * ROWS, r * d + d, outputs * ALIGN, hidden * ALIGN,
            ROWS, OUTPUTS, HIDDEN,
        )  # fmt: skip


@triton.jit
def _step_features(
    now, last, gradient, moments, now_norms, last_norms, active, lambdas, M, settings, size, momentum, mode,
    start, stop, outputs, hidden,
    ROWS: tl.constexpr, OUTPUTS: tl.constexpr, HIDDEN: tl.constexpr,
):  # fmt: skip
    """Update a few rows; all loads come before the first use of any, so that the device waits for memory once."""
    action, mu, rate, m = tl.load(mode), tl.load(momentum), tl.load(size), tl.load(M)
    tiny = tl.load(settings + 3)
    row = start + tl.arange(0, ROWS)
    on = (row < stop) & (tl.load(active + row, mask=row < stop, other=0) != 0)
    if action != REVERT:
        at = row.to(tl.int64) * (outputs + hidden)
        o, k = tl.arange(0, OUTPUTS)[None, :], tl.arange(0, HIDDEN)[None, None, :]  # (ROWS, o), (1, ROWS, K): see _sum
        at_o, at_k = at[:, None] + o, (at + outputs)[None, :, None] + k
        here_o, here_k = on[:, None] & (o < outputs), on[None, :, None] & (k < hidden)
        first = tl.load(now + at_k, mask=here_k, other=0)
        skip = tl.load(now + at_o, mask=here_o, other=0)
        beta = tl.load(now_norms + row, mask=on, other=0)
        if action == ADVANCE:
            g_first = tl.load(gradient + at_k, mask=here_k, other=0)
            g_skip = tl.load(gradient + at_o, mask=here_o, other=0)
            old = tl.load(moments + row, mask=on, other=0)
            lambda_ = tl.load(lambdas + row, mask=on, other=0)
            l_first = tl.load(last + at_k, mask=here_k & (mu > 0), other=0)  # read only where it is needed
            l_skip = tl.load(last + at_o, mask=here_o & (mu > 0), other=0)
            square = (tl.sum(g_skip * g_skip, 1) + _sum(g_first * g_first)) / (outputs + hidden)
            moment = tl.where(old == 0, square, square + MEMORY * (old - square))
            tl.store(moments + row, moment, mask=on)  # here: the compiler may not postpone the loads past it
            alpha = rate / (tl.sqrt(moment) + TINY)
            skip += tl.where(mu > 0, mu * (skip - l_skip), 0.0) - alpha[:, None] * g_skip
            first += tl.where(mu > 0, mu * (first - l_first), 0.0) - alpha[None, :, None] * g_first
            if OUTPUTS == 1:  # noqa: SIM108 - the compiler takes a branch on a constant, not an expression
                norm = tl.sum(tl.abs(skip), 1)
            else:
                norm = tl.sqrt(tl.sum(skip * skip, 1))
            beta = _root(tl.abs(first), norm - alpha * lambda_, m, beta)
            vanished = (norm < tiny) & (beta > norm)
            factor = tl.where(vanished | (norm == 0), 0.0, beta / tl.where(norm == 0, 1.0, norm))
            skip = tl.where(vanished[:, None] & (o == 0), beta[:, None], skip * factor[:, None])
            bound = (m * beta)[None, :, None]
            first = tl.minimum(tl.maximum(first, -bound), bound)
        tl.store(last + at_o, skip, mask=here_o)
        tl.store(last + at_k, first, mask=here_k)
        tl.store(last_norms + row, beta, mask=on)


@triton.jit
def _root(first, excess, m, beta):
    """Find β by Newton's method from a guess, for a few rows at once, as :func:`riata.prox.prox_rows` does."""
    over = tl.maximum(first - (m * beta)[None, :, None], 0.0)
    count = _sum((over > 0).to(tl.int32))  # whole numbers: a warp adds them up in one instruction
    beta = tl.maximum(beta + (excess - beta + m * _sum(over)) / (1 + m * m * count), 0.0)
    changes = 1
    while changes > 0:
        over = tl.maximum(first - (m * beta)[None, :, None], 0.0)
        fewer = _sum((over > 0).to(tl.int32))
        beta = tl.maximum(beta + (excess - beta + m * _sum(over)) / (1 + m * m * fewer), beta)
        changes = tl.max((fewer != count).to(tl.int32), 0)
        count = fewer
    return beta


@triton.jit(do_not_specialize=["d", "G"])
def _step_groups(
    now, last, gradient, moments, now_norms, last_norms, active, lambdas, M, sizes, settings, size, momentum, mode,
    members, starts, d, G, outputs, width, MEMBERS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Update the rows of one group of one replica, which the operator takes as one."""
    g, r = tl.program_id(0), tl.program_id(1)
    action, mu, rate, m = tl.load(mode + r), tl.load(momentum + r), tl.load(size + r), tl.load(M + r)
    begin, end = tl.load(starts + g), tl.load(starts + g + 1)
    first_row = r * d + tl.load(members + begin)
    on = tl.load(active + first_row) != 0
    if (action != REVERT) & on:
        i, c = tl.arange(0, MEMBERS)[:, None], tl.arange(0, WIDTH)[None, :]
        row = r * d + tl.load(members + begin + i, mask=begin + i < end, other=0)
        here = (begin + i < end) & (c < width)
        at = row.to(tl.int64) * width + c
        is_skip = here & (c < outputs)
        tile = tl.load(now + at, mask=here, other=0)
        beta = tl.load(now_norms + r * G + g)
        if action == ADVANCE:
            slope = tl.load(gradient + at, mask=here, other=0)
            before = tl.load(last + at, mask=here & (mu > 0), other=0)
            square = tl.sum(slope * slope) / (tl.load(sizes + r * G + g) * width)
            old = tl.load(moments + first_row)
            moment = tl.where(old == 0, square, square + MEMORY * (old - square))
            tl.store(moments + row + 0 * c, tl.zeros_like(tile) + moment, mask=here & (c == 0))
            alpha = rate / (tl.sqrt(moment) + TINY)
            tile += tl.where(mu > 0, mu * (tile - before), 0.0) - alpha * slope
            skip = tl.where(is_skip, tile, 0.0)
            single = (end - begin) * outputs == 1  # its norm needs no squares, which may underflow
            norm = tl.where(single, tl.sum(tl.abs(skip)), tl.sqrt(tl.sum(skip * skip)))
            first = tl.where(is_skip, 0.0, tl.abs(tile))
            beta = _root_of_group(first, norm - alpha * tl.load(lambdas + r * G + g), m, beta)
            vanished = (norm < tl.load(settings + 3)) & (beta > norm)
            factor = tl.where(vanished | (norm == 0), 0.0, beta / tl.where(norm == 0, 1.0, norm))
            tile = tl.where(is_skip, tile * factor, tl.minimum(tl.maximum(tile, -m * beta), m * beta))
            tile = tl.where(vanished & (i == 0) & (c == 0), beta, tile)
        tl.store(last + at, tile, mask=here)
        tl.store(last_norms + r * G + g, beta)


@triton.jit
def _root_of_group(first, excess, m, beta):
    """Find β as above, for one group."""
    over = tl.maximum(first - m * beta, 0.0)
    count = tl.sum((over > 0).to(tl.int32))
    beta = tl.maximum(beta + (excess - beta + m * tl.sum(over)) / (1 + m * m * count), 0.0)
    before = -1
    while count != before:
        before = count
        over = tl.maximum(first - m * beta, 0.0)
        count = tl.sum((over > 0).to(tl.int32))
        beta = tl.maximum(beta + (excess - beta + m * tl.sum(over)) / (1 + m * m * count), beta)
    return beta


@triton.jit
def _sum(tile):
    """Add up each row of a tile (1, ROWS, K); the axis of one keeps the compiler from moving tiles between threads."""
    return tl.sum(tl.sum(tile, 0), 1)


@triton.jit
def _step_upper(
    now, last, gradient, moments, is_matrix, settings, size, momentum, mode, start, p, BLOCK: tl.constexpr
):  # fmt: skip
    action, mu = tl.load(mode), tl.load(momentum)
    if action != REVERT:
        at = start + tl.arange(0, BLOCK)
        inside = at < p
        weight = tl.load(now + at, mask=inside, other=0)
        if action == ADVANCE:
            g = tl.load(gradient + at, mask=inside, other=0)
            old = tl.load(moments + at, mask=inside, other=0)
            before = tl.load(last + at, mask=inside & (mu > 0), other=0)
            g += 2 * tl.load(settings) * weight * tl.load(is_matrix + at, mask=inside, other=0)
            moment = tl.where(old == 0, g * g, g * g + MEMORY * (old - g * g))
            tl.store(moments + at, moment, mask=inside)
            alpha = tl.load(size) / (tl.sqrt(moment) + TINY)
            weight += tl.where(mu > 0, mu * (weight - before), 0.0) - alpha * g
        tl.store(last + at, weight, mask=inside)
