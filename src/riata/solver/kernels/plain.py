"""The update in plain tensor operations, on any device and with groups: what the compiled forms are held against."""

from __future__ import annotations

import torch
from torch import Tensor

from riata.prox import prox_rows
from riata.solver.kernels.constants import GROW, MEMORY, MOMENTUM, ROUNDING, SHRINK, TAKE_BACK, TINY, TOO_HIGH
from riata.solver.kernels.state import State

__all__ = ["advance", "penalty"]


def penalty(state: State) -> Tensor:
    """All terms of the objective but the loss, at the present iterate: (R,)."""
    now = state.now
    total = (state.price * now.norms).sum(-1)
    if state.gamma:
        total = total + state.gamma * (now.weights.upper.square() @ state.is_matrix)
    return total


def advance(state: State) -> None:
    """Take one proximal gradient step for the replicas that may move."""
    moving, back = _judge(state) if state.seeking else (state.live, torch.zeros_like(state.live))
    size = ((1 - MOMENTUM) * state.learning_rate) * state.scale
    fresh = state.fresh.clone()
    state.fresh &= ~moving
    _step_rows(state, size, fresh, moving, back)
    _step_upper(state, size, fresh, moving, back)
    state.turn = 1 - state.turn


def _judge(state: State) -> tuple[Tensor, Tensor]:
    """Lengthen the steps after a fall of the objective, shorten them after a rise; say who may move and who goes back.

    Where a step is taken back the gradient at hand belongs to the iterate that is left, so that replica sits out one turn.
    """
    objective = state.loss + penalty(state)
    level = state.reached.abs()
    rise = objective - state.reached
    rose = ~(rise <= ROUNDING * torch.finfo(level.dtype).eps * level) & state.live
    bad = ~(rise <= TOO_HIGH * level) & state.live
    moving = state.live & ~bad
    factor = torch.ones_like(level).masked_fill_(state.live, GROW).masked_fill_(rose, SHRINK)
    state.scale.mul_(factor.masked_fill_(bad, TAKE_BACK))
    state.reached.copy_(torch.where(moving, objective, state.reached))
    state.fresh |= rose
    return moving, bad


def _step_rows(state: State, size: Tensor, fresh: Tensor, moving: Tensor, back: Tensor) -> None:
    now, last, groups, o = state.now, state.last, state.groups, state.n_outputs
    gradient = torch.where(state.active.unsqueeze(-1), state.gradient.rows, 0.0)
    average = groups.scatter(groups.mean(gradient.square().mean(-1)))
    moments = _blend(state.moments.rows, average, moving.unsqueeze(-1) & state.active)
    alpha = size.unsqueeze(-1) / (groups.gather(moments).sqrt() + TINY)  # (R, G)
    ahead = _extrapolate(now.weights.rows, last.weights.rows, fresh[:, None, None])
    rows = torch.addcmul(ahead, groups.scatter(alpha).unsqueeze(-1), gradient, value=-1)
    M = state.M.unsqueeze(-1).expand_as(alpha)
    skip, first, norms = prox_rows(rows[..., :o], rows[..., o:], alpha * state.price, M, groups, guess=now.norms)
    new = torch.where(moving[:, None, None], torch.cat([skip, first], -1), now.weights.rows)
    last.weights.rows.copy_(torch.where(back[:, None, None], last.weights.rows, new))
    norms = torch.where(moving.unsqueeze(-1), norms, now.norms)
    last.norms.copy_(torch.where(back.unsqueeze(-1), last.norms, norms))


def _step_upper(state: State, size: Tensor, fresh: Tensor, moving: Tensor, back: Tensor) -> None:
    now, last = state.now.weights.upper, state.last.weights.upper
    gradient = state.gradient.upper
    if state.gamma:
        gradient = torch.addcmul(gradient, now, state.is_matrix, value=2 * state.gamma)
    moments = _blend(state.moments.upper, gradient.square(), moving.unsqueeze(-1))
    alpha = size.unsqueeze(-1) / (moments.sqrt() + TINY)
    new = _extrapolate(now, last, fresh.unsqueeze(-1)).addcmul_(alpha, gradient, value=-1)
    new = torch.where(moving.unsqueeze(-1), new, now)
    last.copy_(torch.where(back.unsqueeze(-1), last, new))


def _extrapolate(now: Tensor, last: Tensor, fresh: Tensor) -> Tensor:
    """Go on in the direction of the last step, except where it has led uphill."""
    return torch.where(fresh, now, torch.add(now, now - last, alpha=MOMENTUM))


def _blend(average: Tensor, new: Tensor, where: Tensor) -> Tensor:
    """Update a running average that starts at its first value, in place, where it is to be."""
    blended = torch.where(average == 0, new, torch.lerp(new, average, MEMORY))
    return average.copy_(torch.where(where, blended, average))
