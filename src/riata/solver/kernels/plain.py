"""The update in plain tensor operations, on any device and with groups: the reference for the compiled forms."""

from __future__ import annotations

import torch
from torch import Tensor

from riata.prox import prox_rows
from riata.solver.kernels.constants import GROW, MAX_RISE, MEMORY, MOMENTUM, ROUNDING, SHRINK, SHRINK_REVERTED, TINY
from riata.solver.kernels.state import State

__all__ = ["penalty", "update"]


def penalty(state: State) -> Tensor:
    """All terms of the objective but the loss, at the present iterate: (R,)."""
    now = state.now
    total = (state.lambdas * now.norms).sum(-1)
    if state.gamma:
        total = total + state.gamma * (now.weights.upper.square() @ state.is_matrix)
    return total


def update(state: State) -> None:
    """Take one proximal gradient step in each live replica."""
    advance, revert = _adapt_scale(state) if state.adapts_scale else (state.live, torch.zeros_like(state.live))
    size = ((1 - MOMENTUM) * state.learning_rate) * state.scale
    restarted = state.restarted.clone()
    state.restarted &= ~advance
    _step_features(state, size, restarted, advance, revert)
    _step_upper(state, size, restarted, advance, revert)
    state.turn = 1 - state.turn


def _adapt_scale(state: State) -> tuple[Tensor, Tensor]:
    """Lengthen the steps where the objective fell, shorten them where it rose; return which replicas advance, which revert.

    Where a step is reverted the gradient at hand belongs to the rejected iterate, so that this replica takes no step.
    """
    objective = state.loss + penalty(state)
    level = state.last_objective.abs()
    rise = objective - state.last_objective
    rose = ~(rise <= ROUNDING * torch.finfo(level.dtype).eps * level) & state.live
    revert = ~(rise <= MAX_RISE * level) & state.live
    advance = state.live & ~revert
    factor = torch.ones_like(level).masked_fill_(state.live, GROW).masked_fill_(rose, SHRINK)
    state.scale.mul_(factor.masked_fill_(revert, SHRINK_REVERTED))
    state.last_objective.copy_(torch.where(advance, objective, state.last_objective))
    state.restarted |= rose
    return advance, revert


def _step_features(state: State, size: Tensor, restarted: Tensor, advance: Tensor, revert: Tensor) -> None:
    now, last, groups, o = state.now, state.last, state.groups, state.n_outputs
    gradient = torch.where(state.active.unsqueeze(-1), state.gradient.rows, 0.0)
    average = groups.scatter(groups.sum(gradient.square().mean(-1)) / state.sizes)
    moments = _update_average(state.moments.rows, average, advance.unsqueeze(-1) & state.active)
    alpha = size.unsqueeze(-1) / (groups.gather(moments).sqrt() + TINY)  # (R, G)
    ahead = _extrapolate(now.weights.rows, last.weights.rows, restarted[:, None, None])
    rows = torch.addcmul(ahead, groups.scatter(alpha).unsqueeze(-1), gradient, value=-1)
    M = state.M.unsqueeze(-1).expand_as(alpha)
    skip, first, norms = prox_rows(rows[..., :o], rows[..., o:], alpha * state.lambdas, M, groups, guess=now.norms)
    new = torch.where(advance[:, None, None], torch.cat([skip, first], -1), now.weights.rows)
    last.weights.rows.copy_(torch.where(revert[:, None, None], last.weights.rows, new))
    norms = torch.where(advance.unsqueeze(-1), norms, now.norms)
    last.norms.copy_(torch.where(revert.unsqueeze(-1), last.norms, norms))


def _step_upper(state: State, size: Tensor, restarted: Tensor, advance: Tensor, revert: Tensor) -> None:
    now, last = state.now.weights.upper, state.last.weights.upper
    gradient = state.gradient.upper
    if state.gamma:
        gradient = torch.addcmul(gradient, now, state.is_matrix, value=2 * state.gamma)
    moments = _update_average(state.moments.upper, gradient.square(), advance.unsqueeze(-1))
    alpha = size.unsqueeze(-1) / (moments.sqrt() + TINY)
    new = _extrapolate(now, last, restarted.unsqueeze(-1)).addcmul_(alpha, gradient, value=-1)
    new = torch.where(advance.unsqueeze(-1), new, now)
    last.copy_(torch.where(revert.unsqueeze(-1), last, new))


def _extrapolate(now: Tensor, last: Tensor, restarted: Tensor) -> Tensor:
    """Add the momentum, except where the last step raised the objective."""
    return torch.where(restarted, now, torch.add(now, now - last, alpha=MOMENTUM))


def _update_average(average: Tensor, new: Tensor, where: Tensor) -> Tensor:
    """Update in place, where told, a running average that starts at its first value."""
    blended = torch.where(average == 0, new, torch.lerp(new, average, MEMORY))
    return average.copy_(torch.where(where, blended, average))
