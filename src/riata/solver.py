"""Minimise the objective at one λ, for R networks at once.

The problem, for every replica r with its own sample weights w, λ and M:

    minimise   Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i  +  λ Σ_j c_j ‖skip_j‖₂  +  γ ‖matrices above the first layer‖²
               + γ_skip ‖skip‖²
    subject to ‖first_j‖∞ ≤ M ‖skip_j‖₂  for every feature (or group of features) j

The update is a proximal heavy-ball step, with one step size α_j per feature so that the closed form of the operator applies
with the threshold α_j λ. Where the iteration rests, the last move is zero and so is the extrapolation: it rests at stationary
points for the stated λ and no other. With full batches the overall size of the steps is found, not given: it grows while the
objective falls and shrinks when it rises, and a bad step is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import Loss
from riata.network import Network, Trace, Weights
from riata.prox import Groups, prox_rows

__all__ = ["Look", "Problem", "Solution", "Solver", "Stopping"]

_MOMENTUM = 0.9  # share of the last move that is made again
_MEMORY = 0.999  # share of the old average in the averaged squared gradient that sets the relative step sizes
_GROW, _SHRINK, _TAKE_BACK = 1.05, 0.5, 0.3  # factors on the size of the steps: objective fell, rose, rose by a tenth
_TINY = 1e-5  # keeps step sizes in bounds where the gradient has all but vanished
_WEAK = 0.1  # size of steps, relative to the first, under which a lack of progress proves nothing
_WINDOW = 20  # the tolerance is held against the fall of the objective over so many updates

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]  # one flag per replica, on the host: the devices do arithmetic, the host decides


@dataclass(frozen=True)
class Problem:
    """What is to be minimised, for R replicas that share X and the target.

    The first ``n_fit`` rows of X are those with a positive weight in some replica; the rest are looked at only.
    """

    network: Network
    loss: Loss
    X: Tensor  # (n, d)
    target: Tensor  # (n, o)
    weights: Tensor  # (R, n_fit), each row sums to 1
    val_weights: Tensor | None  # (R, n), each row sums to 1; None: no validation
    M: Tensor  # (R,)
    costs: Tensor  # (d,)
    groups: Groups
    gamma: float = 0.0
    gamma_skip: float = 0.0
    dropout: float = 0.0

    @property
    def n_replicas(self) -> int:
        """The number R of networks."""
        return self.weights.shape[0]

    @cached_property
    def is_matrix(self) -> Tensor:
        """1 for the entries of ``upper`` that ``gamma`` acts on, 0 for biases."""
        return self.network.is_matrix(self.X)

    def skip(self, rows: Tensor) -> Tensor:
        """The part of rows that leads to the outputs."""
        return rows[..., : self.network.n_outputs]

    def first(self, rows: Tensor) -> Tensor:
        """The part of rows that leads to the first hidden layer."""
        return rows[..., self.network.n_outputs :]

    def selected(self, rows: Tensor) -> Tensor:
        """Which features of which replica are in the model: (R, d). Features that cost nothing always are."""
        return self.groups.spread(self.groups.norm(self.skip(rows)) > 0) | (self.costs == 0)

    def only(self, features: Tensor) -> Problem:
        """The same problem on some of the features, given by position."""
        if len(features) == self.X.shape[1]:
            return self
        return replace(self, X=self.X[:, features], costs=self.costs[features], groups=self.groups.only(features))


@dataclass(frozen=True)
class Stopping:
    """When to leave a λ, and with which iterate.

    Attributes
    ----------
    n_iters : int
        Passes over the training rows at most.
    patience : int or None
        Leave after so many passes without a better validation objective (objective, where there is no validation).
    tol : float
        Leave when the objective has fallen by less than this share of its value on entering; also what counts as better.
    keep_judged : bool
        Keep the iterate with the best validation objective rather than the one with the lowest objective. Right for a model
        that is to predict; on the path it would let the validation rows hold back features that the penalty takes out.
    until_drop : bool
        Leave as soon as a feature is dropped, with the iterate that dropped it.
    """

    n_iters: int
    patience: int | None
    tol: float
    keep_judged: bool = False
    until_drop: bool = False


@dataclass(frozen=True)
class Look:
    """The state of affairs at one iterate; every field but ``val_losses`` has one number per replica."""

    loss: Tensor
    penalty: Tensor  # all terms of the objective but the loss
    val_loss: Tensor | None = None
    val_losses: Tensor | None = None  # (R, n) one per sample

    @property
    def objective(self) -> Tensor:
        """What is minimised."""
        return self.loss + self.penalty

    @property
    def judged(self) -> Tensor:
        """What early stopping watches: the objective with the validation loss, where there is one."""
        return self.objective if self.val_loss is None else self.val_loss + self.penalty


@dataclass(frozen=True)
class Solution:
    """Where the solver ended."""

    weights: Weights
    look: Look
    n_iters: NDArray[np.int64]  # (R,) passes over the data


class Solver:
    """Solves one problem at one λ after another, remembering step sizes in between.

    Parameters
    ----------
    problem : Problem
        What is to be minimised.
    learning_rate : float
        Size of the first steps, relative to the size of the gradient; with mini-batches or dropout, of all steps.
    batch_size : int or None
        Rows per update; None for all.
    draw : torch.Generator, optional
        Source of randomness of batches and dropout, on the device of the data.
    active_set : bool
        Leave features that are out of the model out of the arithmetic, and check them before a solution is accepted.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        draw: torch.Generator | None = None,
        active_set: bool = True,
    ):
        self.problem = problem
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.draw = draw
        self.active_set = active_set
        # A rise of the objective means a step too long only where steps follow the gradient of the whole objective.
        self.deterministic = batch_size is None and not problem.dropout
        X = problem.X
        self._moments = Weights(
            X.new_zeros(problem.n_replicas, X.shape[1]), X.new_zeros(problem.n_replicas, problem.network.n_upper)
        )
        self._narrow = (torch.arange(X.shape[1], device=X.device), problem)

    @torch.inference_mode()
    def minimise(self, start: Weights, lambda_: Tensor, stopping: Stopping, frozen: Mask | None = None) -> Solution:
        """Minimise for one λ per replica, (R,), from a start; replicas marked ``frozen`` stay as they are.

        Descend on the features in the model, check those that are out, take back the ones that want in, descend again.
        """
        weights = self._feasible(start)
        live = np.ones(len(lambda_), dtype=bool) if frozen is None else ~frozen
        active = self.problem.selected(start.rows)
        if not self.active_set:
            active = torch.ones_like(active)
        spent = np.zeros(len(lambda_), dtype=np.int64)
        while live.any():
            budget = np.where(live, stopping.n_iters - spent, 0)
            weights, used = self._descend(weights, active, lambda_, stopping, budget)
            spent += used
            wanted = self._want_in(weights, active, lambda_) & torch.from_numpy(live).to(active.device).unsqueeze(-1)
            active = active | wanted
            live = wanted.any(-1).cpu().numpy() & (spent < stopping.n_iters)
        return Solution(weights, self.look(weights, lambda_), spent)

    @torch.inference_mode()
    def look(self, weights: Weights, lambda_: Tensor) -> Look:
        """Evaluate the objective and the validation loss."""
        problem, narrow = self._restrict(weights, self.problem.selected(weights.rows))
        return _look(problem, problem.network.forward(narrow, problem.X), narrow, lambda_)

    def _feasible(self, weights: Weights) -> Weights:
        """Bring rows that break the hierarchy to the nearest ones that keep it."""
        problem, rows = self.problem, weights.rows
        M = problem.M.unsqueeze(-1).expand(rows.shape[0], problem.groups.n_groups)
        skip, first, _ = prox_rows(problem.skip(rows), problem.first(rows), torch.zeros_like(M), M, problem.groups)
        return Weights(torch.cat([skip, first], -1), weights.upper)

    def _restrict(self, weights: Weights, active: Tensor) -> tuple[Problem, Weights]:
        """Leave out the features that are active in no replica."""
        features = active.any(0).nonzero().squeeze(-1)
        if not torch.equal(features, self._narrow[0]):
            self._narrow = (features, self.problem.only(features))
        return self._narrow[1], Weights(weights.rows[:, features], weights.upper)

    def _want_in(self, weights: Weights, active: Tensor, lambda_: Tensor) -> Tensor:
        """Mark the features left out that would not stay at zero under the operator: ‖g_skip‖ + M‖g_first‖₁ > λ c."""
        if bool(active.all()):
            return torch.zeros_like(active)
        problem, narrow = self._restrict(weights, active)
        trace = problem.network.forward(narrow, problem.X)
        below, _ = problem.network.backward_upper(trace, _slope(problem, trace))
        whole = self.problem
        rows = whole.X[: below.shape[-2]].mT @ below  # (R, d, o + K)
        pull = whole.groups.norm(whole.skip(rows))
        pull = pull + whole.M.unsqueeze(-1) * whole.groups.sum(whole.first(rows).abs().sum(-1))
        slack = 1 + torch.finfo(rows.dtype).eps ** 0.5
        wanted: Tensor = whole.groups.spread(pull) > slack * lambda_.unsqueeze(-1) * whole.costs
        wanted &= ~active
        self._moments.rows[wanted] = 0  # step sizes of long ago mean nothing now
        return wanted

    def _descend(
        self, weights: Weights, active: Tensor, lambda_: Tensor, stopping: Stopping, budget: NDArray[np.int64]
    ) -> tuple[Weights, NDArray[np.int64]]:
        """Update the active features until each replica stops or has used up its budget; return the best iterates."""
        problem, now = self._restrict(weights, active)
        features = self._narrow[0]
        moments = Weights(self._moments.rows[:, features], self._moments.upper)
        stepper = _Stepper(problem, lambda_, active[:, features], moments, self.learning_rate)
        watch = _Watch(now, stopping, budget)
        while True:
            trace = problem.network.forward(now, problem.X)
            look = _look(problem, trace, now, lambda_)
            objective, judged = torch.stack([look.objective, look.judged]).cpu().double().numpy()
            live = watch.see(now, objective, judged, stepper.scale < _WEAK)
            if not live.any():
                break
            if self.deterministic:
                now, moving = stepper.adapt(now, objective, live, watch.restart)
                gradient = _gradient(problem, now, problem.X, trace, _slope(problem, trace))
                now = stepper.step(now, gradient, moving)
            else:
                now = self._epoch(problem, now, stepper, live)
            if stopping.until_drop:
                watch.settle((problem.selected(now.rows) < active[:, features]).any(-1).cpu().numpy(), now)
        self._moments.rows[:, features] = stepper.moments.rows
        self._moments = Weights(self._moments.rows, stepper.moments.upper)
        rows = torch.zeros_like(weights.rows)
        rows[:, features] = watch.best.rows
        return Weights(rows, watch.best.upper), watch.used

    def _epoch(self, problem: Problem, now: Weights, stepper: _Stepper, live: Mask) -> Weights:
        """Pass once over the rows in batches; each batch's gradient is scaled to estimate that of the whole."""
        n = problem.weights.shape[-1]
        order = torch.randperm(n, generator=self.draw, device=problem.X.device)
        for batch in order.split(self.batch_size or n):
            X, target = problem.X[batch], problem.target[batch]
            trace = problem.network.forward(now, X, problem.dropout, self.draw)
            weight = problem.weights[:, batch].unsqueeze(-1) * (n / len(batch))
            slope = weight * problem.loss.gradient(trace.output, target)
            now = stepper.step(now, _gradient(problem, now, X, trace, slope), live)
        return now


def _look(problem: Problem, trace: Trace, weights: Weights, lambda_: Tensor) -> Look:
    losses = problem.loss.per_sample(trace.output, problem.target)  # (R, n)
    loss = (problem.weights * losses[:, : problem.weights.shape[-1]]).sum(-1)
    skip = problem.skip(weights.rows)
    costs = problem.groups.lead(problem.costs)
    penalty = lambda_ * (problem.groups.norm(skip) * costs).sum(-1)
    if problem.gamma:
        penalty = penalty + problem.gamma * (weights.upper.square() @ problem.is_matrix)
    if problem.gamma_skip:
        penalty = penalty + problem.gamma_skip * skip.square().sum((-2, -1))
    if problem.val_weights is None:
        return Look(loss, penalty)
    return Look(loss, penalty, (problem.val_weights * losses).sum(-1), losses)


def _slope(problem: Problem, trace: Trace) -> Tensor:
    """Derivative of the mean loss by the outputs of the rows that train, (R, n_fit, o)."""
    n = problem.weights.shape[-1]
    return problem.weights.unsqueeze(-1) * problem.loss.gradient(trace.output[:, :n], problem.target[:n])


def _gradient(problem: Problem, weights: Weights, X: Tensor, trace: Trace, slope: Tensor) -> Weights:
    rows, upper = problem.network.backward(X[: slope.shape[-2]], trace, slope)
    if problem.gamma:
        upper = upper + 2 * problem.gamma * weights.upper * problem.is_matrix
    if problem.gamma_skip:
        problem.skip(rows).add_(problem.skip(weights.rows), alpha=2 * problem.gamma_skip)
    return Weights(rows, upper)


class _Stepper:
    """The update, and the size of its steps."""

    def __init__(self, problem: Problem, lambda_: Tensor, active: Tensor, moments: Weights, learning_rate: float):
        self.problem = problem
        self.moments = moments
        self.learning_rate = learning_rate
        self.inactive = None if bool(active.all()) else ~active.unsqueeze(-1)
        self.scale = np.ones(len(lambda_))
        self.fresh = np.ones(len(lambda_), dtype=bool)  # replicas that do not repeat their last move
        self.previous: Weights | None = None
        self.before: tuple[Weights, Floats] | None = None  # the last iterate and its objective
        groups = problem.groups
        self.price = lambda_.unsqueeze(-1) * groups.lead(problem.costs)  # (R, G)
        self.M = problem.M.unsqueeze(-1).expand_as(self.price)
        self.rounding = 4 * torch.finfo(lambda_.dtype).eps
        self.norms: Tensor | None = None  # (R, G) of the last skip rows, to start the operator from

    def adapt(self, now: Weights, objective: Floats, live: Mask, restart: Mask) -> tuple[Weights, Mask]:
        """Lengthen the steps after a fall, shorten them after a rise, and take a bad step back.

        Replicas marked ``restart`` go on with steps of the first size. Returns the iterate to go on from and the replicas
        that may move from it now; where a step was taken back the gradient at hand belongs to the iterate that was left, so
        these sit out one turn.
        """
        moving = live
        if self.before is not None:
            last, reached = self.before
            rose = ~(objective <= reached + self.rounding * np.abs(reached))
            bad = ~(objective <= reached + 0.1 * np.abs(reached)) & live
            if bad.any():
                now = _where(bad, last, now)
                objective = np.where(bad, reached, objective)
                moving = live & ~bad
            self.scale *= np.where(bad, _TAKE_BACK, np.where(rose, _SHRINK, _GROW))
            self.scale[restart] = 1
            self.fresh |= rose | restart
        self.before = (now, objective)
        return now, moving

    def step(self, now: Weights, gradient: Weights, moving: Mask) -> Weights:
        """Take one proximal gradient step for the replicas that may move."""
        if self.inactive is not None:
            gradient = Weights(gradient.rows.masked_fill(self.inactive, 0), gradient.upper)
        alpha_rows, alpha_upper = self._sizes(gradient, moving)
        problem = self.problem
        ahead = self._extrapolate(now)
        self.previous = now
        self.fresh &= ~moving
        rows = torch.addcmul(ahead.rows, problem.groups.spread(alpha_rows).unsqueeze(-1), gradient.rows, value=-1)
        skip, first, self.norms = prox_rows(
            problem.skip(rows), problem.first(rows), alpha_rows * self.price, self.M, problem.groups, guess=self.norms
        )
        upper = torch.addcmul(ahead.upper, alpha_upper, gradient.upper, value=-1)
        new = Weights(torch.cat([skip, first], -1), upper)
        return new if moving.all() else _where(moving, new, now)

    def _sizes(self, gradient: Weights, moving: Mask) -> tuple[Tensor, Tensor]:
        """Step sizes from averaged squared gradients: one per group of rows, (R, G), and one per entry above, (R, p)."""
        groups = self.problem.groups
        per_group = groups.mean(gradient.rows.square().mean(-1))
        rows = _blend(self.moments.rows, groups.spread(per_group))
        upper = _blend(self.moments.upper, gradient.upper.square())
        if not moving.all():
            still = ~torch.from_numpy(moving).to(rows.device).unsqueeze(-1)
            rows, upper = torch.where(still, self.moments.rows, rows), torch.where(still, self.moments.upper, upper)
        self.moments = Weights(rows, upper)
        size = torch.from_numpy((1 - _MOMENTUM) * self.learning_rate * self.scale).to(rows).unsqueeze(-1)
        return size / (groups.lead(rows).sqrt() + _TINY), size / (upper.sqrt() + _TINY)

    def _extrapolate(self, now: Weights) -> Weights:
        """Go on in the direction of the last step, except where it has led uphill."""
        if self.previous is None or self.fresh.all():
            return now
        rows = torch.lerp(self.previous.rows, now.rows, 1 + _MOMENTUM)
        ahead = Weights(rows, torch.lerp(self.previous.upper, now.upper, 1 + _MOMENTUM))
        return _where(self.fresh, now, ahead) if self.fresh.any() else ahead


class _Watch:
    """Keeps the best iterate of each replica and says when it has been waited for long enough."""

    def __init__(self, start: Weights, stopping: Stopping, budget: NDArray[np.int64]):
        self.best = start
        self.stopping = stopping
        self.budget = budget
        self.used = np.zeros_like(budget)
        self.live = budget > 0
        self.restart = self.retry = np.zeros(budget.shape, dtype=bool)  # on a second try: from now on, and already
        huge = np.full(budget.shape, np.finfo(np.float64).max)
        self._worth, self._mark = huge, huge
        self._since = np.zeros_like(budget)
        self._lowest, self._window = huge, huge  # lowest objective so far, and at the last check of the tolerance
        self._entry = huge  # objective on entering
        self._age = np.zeros_like(budget)

    def see(self, now: Weights, objective: Floats, judged: Floats, weak: Mask) -> Mask:
        """Record one iterate; return the replicas that are to go on. ``weak`` are those whose steps have become short."""
        worth = judged if self.stopping.keep_judged else objective
        better = (worth < self._worth) & self.live
        if better.any():
            self.best = now if better.all() else _where(better, now, self.best)
            self._worth = np.where(better, worth, self._worth)
        counts = judged < self._mark - self.stopping.tol * np.abs(self._mark)
        self._mark = np.where(counts, judged, self._mark)
        self._since = np.where(counts, 0, self._since + 1)
        self._entry = np.where(self._lowest == np.finfo(np.float64).max, objective, self._entry)
        self._lowest = np.fmin(self._lowest, objective)
        stop = (self.used >= self.budget) | self._stalled(weak)
        if self.stopping.patience is not None:
            stop |= self._since >= self.stopping.patience
        self.live = self.live & ~stop
        self.used = self.used + self.live
        return self.live

    def settle(self, which: Mask, now: Weights) -> None:
        """Stop some replicas where they are."""
        which = which & self.live
        if which.any():
            self.best = _where(which, now, self.best)
            self._worth = np.where(which, -np.inf, self._worth)
            self.live = self.live & ~which

    def _stalled(self, weak: Mask) -> Mask:
        """Hold the fall of the objective against the tolerance; a stall on short steps is given one more try."""
        self._age += 1
        due = self._age > _WINDOW
        stalled = due & ~(self._window - self._lowest > self.stopping.tol * np.abs(self._entry))
        again = stalled & weak & ~self.retry
        if due.any():
            self.retry = np.where(due, again, self.retry)
            self._window = np.where(due, self._lowest, self._window)
            self._age = np.where(due, 1, self._age)
        self.restart = again
        return stalled & ~again


def _where(mask: Mask, yes: Weights, no: Weights) -> Weights:
    """Choose weights replica by replica."""
    which = torch.from_numpy(mask).to(yes.rows.device)
    rows = torch.where(which[:, None, None], yes.rows, no.rows)
    return Weights(rows, torch.where(which[:, None], yes.upper, no.upper))


def _blend(old: Tensor, new: Tensor) -> Tensor:
    """Running average that starts at its first value."""
    return torch.where(old == 0, new, torch.lerp(new, old, _MEMORY))
