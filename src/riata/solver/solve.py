"""Minimise the objective at one λ, for R networks at once: descend on the active features, check the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.network.sparse import SparseTable, Table, backward
from riata.network.stacked import AnyPass, Weights
from riata.prox import Groups, prox_rows
from riata.solver.descent import Descent
from riata.solver.faults import Diverged, learning_rates
from riata.solver.feed import Refill
from riata.solver.problem import Evaluation, Problem
from riata.solver.stopping import Mask, Monitor, Stopping

__all__ = ["Solution", "Solver", "SolverState"]

Floats = NDArray[np.float64]
_CHECK = 10  # iterations between two evaluations
_SHORT = 0.1  # size of steps, relative to the first, below which a lack of progress does not mean convergence
_LONGEST_STEP = 1e6  # size of steps that are carried to the next λ, at most


@dataclass(frozen=True)
class Solution:
    """The weights that the solver found, and their evaluation."""

    weights: Weights
    evaluation: Evaluation
    n_iters: NDArray[np.int64]  # (R,) iterations
    best_iter: NDArray[np.int64]  # (R,) the iteration after which these weights were reached


class SolverState(NamedTuple):
    """What a solver remembers between two problems: with it and the same arguments the next solution is the same."""

    moments: Weights
    scale: Tensor
    features: Tensor | None  # those of the descent
    evaluation: (
        Evaluation | None
    )  # of the weights that the next problem starts from, if they are those of the last pass
    draws: tuple[Tensor, ...]  # states of the sources of randomness
    learning_rate: float
    block_size: int | None


class Solver:
    """Solves one problem at one λ after another, remembering step sizes in between.

    Parameters
    ----------
    problem : Problem
        What is to be minimised.
    learning_rate : float
        Size of the first steps, relative to the size of the gradient; with mini-batches, of all steps.
    batch_size : int or None
        Samples per update; None for all.
    draw : torch.Generator, optional
        Source of randomness of batches and dropout, on the device of the data.
    draws : sequence of torch.Generator
        Instead, one for the batches of each replica, where replicas have data of their own.
    active_set : bool
        Leave features that are not in the model out of the arithmetic; check them once the objective no longer falls.
    block_size : int or None
        Samples whose hidden layers are kept at a time; None for all. See :meth:`shrink`.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        draw: torch.Generator | None = None,
        draws: Sequence[torch.Generator] = (),
        active_set: bool = True,
        block_size: int | None = None,
    ):
        self.problem = problem
        self.learning_rate = learning_rate
        self.batch_size, self.block_size = batch_size, block_size
        self.draw, self.draws = draw, draws
        self.active_set = active_set
        self._forget()

    def _forget(self) -> None:
        """Forget step sizes, and free all buffers."""
        problem = self.problem
        like, R = problem.like, problem.n_replicas
        self._moments = Weights(like.new_zeros(R, problem.n_columns), like.new_zeros(R, problem.network.n_upper))
        self._scale = like.new_ones(R)
        self._features: Tensor | None = None  # those of the descent
        self._descent: Descent | None = None
        self._refill = Refill()
        self._passes: dict[tuple[int, int], AnyPass] = {}
        self._evaluated: Weights | None = None  # the weights that the last pass over all samples was at
        self._evaluation: Evaluation | None = None  # of these

    @torch.inference_mode()
    def minimise(
        self,
        start: Weights,
        lambda_: Tensor,
        stopping: Stopping,
        frozen: Mask | None = None,
        most: NDArray[np.int64] | None = None,
    ) -> Solution:
        """Minimise for one λ per replica, (R,), from a feasible start; replicas marked ``frozen`` keep their weights.

        Descend on the features in the model until the objective no longer falls, add those of the others whose subgradient
        bound is violated, descend again. Features are not checked in a replica that ran out of iterations or of patience: far
        from a solution the gradient says little about which belong in it. ``most`` has a number of iterations for each replica,
        in place of that of ``stopping``. Where the objective does not stay finite, all begin again with shorter steps, which
        the solver keeps.
        """
        for rate in learning_rates(self.learning_rate):
            if rate != self.learning_rate:
                self.learning_rate = rate
                self._forget()
            try:
                return self._minimise(start, lambda_, stopping, frozen, most)
            except Diverged:
                continue
        raise AssertionError  # learning_rates ends by raising

    def _minimise(
        self, start: Weights, lambda_: Tensor, stopping: Stopping, frozen: Mask | None, most: NDArray[np.int64] | None
    ) -> Solution:
        weights, most = start, np.full(len(lambda_), stopping.n_iters) if most is None else most
        live = np.ones(len(lambda_), dtype=bool) if frozen is None else ~frozen
        active = self.problem.selected(start.rows)
        if not self.active_set:
            active = torch.ones_like(active)
        lambdas = self.problem.groups.scatter(self.problem.lambdas(lambda_, start.rows))  # (R, d)
        n_iters = best_iter = np.zeros(len(lambda_), dtype=np.int64)
        while True:
            budget = np.where(live, most - n_iters, 0)
            descent = self._restrict(active)
            restricted, evaluation, monitor = self._descend(descent, weights, active, lambdas, stopping, budget)
            self._evaluated = weights = self._expand(restricted)
            best_iter = np.where(monitor.best > 0, n_iters + monitor.best, best_iter)
            n_iters = n_iters + monitor.used
            live = monitor.converged & (n_iters < most)
            if live.any():
                added = self._violations(descent, active, lambdas) & self._on_device(live).unsqueeze(-1)
                self._moments.rows[added] = 0  # those from when a feature was last active are outdated
                live = added.any(-1).cpu().numpy()
                active = active | added
            if not live.any():
                return Solution(weights, evaluation, n_iters, best_iter)

    def batch_of(self, problem: Problem) -> int | None:
        """Return the samples of an update of a problem, None for all: those of a block at most if networks draw numbers."""
        if self.block_size is None or not (problem.dropout or problem.network.is_random):
            return self.batch_size
        return min(self.batch_size or problem.n_fit, self.block_size)

    @property
    def alone(self) -> bool:
        """Whether no other process takes part in every update."""
        return self.problem.ranks is None

    @property
    def largest(self) -> int:
        """Samples of the largest pass."""
        return max(self.problem.n_fit, self.problem.n_samples - self.problem.n_fit)

    def shrink(self, block_size: int) -> None:
        """Free all buffers, and begin again with blocks of so many samples.

        An update is the same in blocks, but for rounding. Only one with dropout, or of another network that draws numbers, has
        no more samples than a block.
        """
        self.block_size = block_size
        self._forget()
        self.rewind()

    def rewind(self) -> None:
        """Draw the same random numbers again."""
        for draw in (*self.draws, *([] if self.draw is None else [self.draw])):
            draw.manual_seed(draw.initial_seed())

    @torch.inference_mode()
    def feasible(self, weights: Weights) -> Weights:
        """Project the weights on those that satisfy the hierarchy."""
        problem, rows = self.problem, weights.rows
        M = problem.M.unsqueeze(-1).expand(rows.shape[0], problem.groups.n_groups)
        skip, first, _ = prox_rows(problem.skip(rows), problem.first(rows), torch.zeros_like(M), M, problem.groups)
        return Weights(torch.cat([skip, first], -1), weights.upper)

    def state(self, weights: Weights) -> SolverState:
        """Return what is remembered, for a next problem that starts from these weights."""
        evaluation = self._evaluation if weights is self._evaluated else None
        draws = tuple(draw.get_state() for draw in self._sources)
        steps = self.learning_rate, self.block_size
        return SolverState(self._moments, self._scale, self._features, evaluation, draws, *steps)

    @torch.inference_mode()
    def restore(self, state: SolverState, weights: Weights) -> None:
        """Remember what a solver of the same problem did when it was at these weights."""
        X = self.problem.like
        self.learning_rate, self.block_size = state.learning_rate, state.block_size
        self._moments, self._scale = Weights(*(part.to(X) for part in state.moments)), state.scale.to(X)
        for draw, known in zip(self._sources, state.draws, strict=True):
            draw.set_state(known)
        if state.features is None:
            return
        features = state.features.to(X.device)
        descent = self._descend_on(features)
        if state.evaluation is not None:  # the next descent expects the pass over all samples in its buffers
            losses = state.evaluation.val_losses
            descent.set_weights(Weights(weights.rows[:, features], weights.upper))
            self._evaluated = weights
            self._evaluation = replace(state.evaluation, val_losses=None if losses is None else losses.to(X))

    @property
    def _sources(self) -> Sequence[torch.Generator]:
        """The sources of randomness."""
        return self.draws or [draw for draw in [self.draw] if draw is not None]

    def _restrict(self, active: Tensor) -> Descent:
        """Return a descent without features that are active in no replica, the present one if it will do."""
        features = active.any(0).nonzero().squeeze(-1)
        if self._descent is None or self._features is None or not self._covers(self._features, features):
            return self._descend_on(features)
        return self._descent

    def _descend_on(self, features: Tensor) -> Descent:
        """Make a new descent on some of the features."""
        fed = None if self.problem.feed is None else self._fed(features)
        self._features, self._descent = features, None  # free the memory of the old one before making the new one
        restricted = self.problem.only(features) if fed is None else fed
        self._descent = Descent(
            restricted,
            self.learning_rate,
            self.batch_of(self.problem),
            self.draw,
            self._passes,
            self.draws,
            self.block_size,
            self._refill,
        )
        return self._descent

    def _fed(self, features: Tensor) -> Problem:
        """Return the problem on some of the features, with the samples of the present descent where it knows them all."""
        known = self._features
        if self._descent is None or known is None or not bool(torch.isin(features, known, assume_unique=True).all()):
            return self.problem.apart(features)
        return self._descent.problem.only(torch.searchsorted(known, features))

    def _covers(self, known: Tensor, features: Tensor) -> bool:
        """Whether a descent on the known features will do: they must include these, and not too many others.

        These must be 95 % of the known features; 75 % where a new descent costs much: graphs are recorded anew on CUDA, and
        large tables are copied.
        """
        X = self.problem.like
        n_entries = X.numel() * self.problem.n_of_all // self.problem.n_samples  # on all ranks
        costs_much = X.device.type == "cuda" or n_entries > 2**24
        if len(features) < (0.75 if costs_much else 0.95) * len(known):
            return False
        return bool(torch.isin(features, known, assume_unique=True).all())

    def _expand(self, restricted: Weights) -> Weights:
        """Return the weights of all features: zero for those that the descent leaves out."""
        if restricted.rows.shape[1] == self.problem.n_columns:
            return restricted
        rows = restricted.rows.new_zeros(len(restricted.rows), self.problem.n_columns, restricted.rows.shape[-1])
        rows[:, self._features] = restricted.rows
        return Weights(rows, restricted.upper)

    def _violations(self, descent: Descent, active: Tensor, lambdas: Tensor) -> Tensor:
        """Mark the inactive features that violate their subgradient bound at zero, ‖g_skip‖ + M‖g_first‖₁ ≤ λ_j: (R, d)."""
        violates = ~active
        if not bool(violates.any()):
            return violates
        if self.problem.feed is not None and self._features is not None:
            descent.put_back(self.problem, self._features)  # gradients of all features need the same samples
        problem = self.problem
        d, slack = problem.n_columns, 1 + torch.finfo(problem.X.dtype).eps ** 0.5
        at_once = problem.groups.index is not None or isinstance(problem.X, SparseTable)
        size = d if at_once else 1024  # features whose gradients are held at a time
        for block, gradient in self._gradients(descent, size):
            groups = problem.groups if size >= d else Groups(None, gradient.shape[1])
            bound = groups.norm(problem.skip(gradient))
            bound = bound + problem.M.unsqueeze(-1) * groups.sum(problem.first(gradient).abs_().sum(-1))
            violates[:, block] &= groups.scatter(bound) > slack * lambdas[:, block]
        return violates

    def _gradients(self, descent: Descent, size: int) -> Iterator[tuple[slice, Tensor]]:
        """Yield the gradient by the weights of so many features after the others, (R, size, o + K), and which they are."""
        problem, n, total = self.problem, self.problem.n_fit, torch.zeros(())
        X, _ = problem.samples(0, n)
        features = [slice(start, start + size) for start in range(0, problem.n_columns, size)]
        for rows, product_gradient in descent.product_gradients():
            if rows.stop - rows.start == n:
                yield from ((block, problem.total(_gradient(X, block, product_gradient))) for block in features)
                return
            assert not isinstance(X, SparseTable)  # passes over a sparse table are whole
            total = X[..., rows, :].mT @ product_gradient + total
        yield from ((block, total[:, block]) for block in features)

    def _descend(
        self,
        descent: Descent,
        weights: Weights,
        active: Tensor,
        lambdas: Tensor,
        stopping: Stopping,
        budget: NDArray[np.int64],
    ) -> tuple[Weights, Evaluation, Monitor]:
        """Update the active features until each replica stops or has used up its budget; return the best iterates."""
        state = descent.state
        best = Weights(weights.rows[:, self._features], weights.upper.clone())
        evaluation, scale = self._start(descent, weights, best, active, lambdas)
        n_active = state.active.sum(-1)
        monitor, n_iters = Monitor(stopping, budget), 0
        finite = np.isfinite(evaluation.objective)
        at_best = np.ones_like(monitor.live)  # replicas whose present iterate is their best
        while True:
            updated = monitor.live
            better = monitor.record(evaluation.objective, evaluation.monitored, scale < _SHORT, n_iters)
            if stopping.until_drop:
                n_selected = descent.problem.selected(state.now.weights.rows).sum(-1)
                dropped = (n_selected < n_active).cpu().numpy() & updated
                monitor.live = monitor.live & ~dropped
                better = better | dropped
            if n_iters:
                at_best = better | (at_best & ~updated)
                self._keep(better, state.now.weights, best)
            if not monitor.live.any():
                break
            n_iters = self._run(descent, monitor)
            evaluation, scale = descent.evaluate()
            # Where the size of the steps adapts, the next update reverts a step after which the objective is not finite.
            if not state.adapts_scale and not np.isfinite(evaluation.objective[finite & monitor.live]).all():
                raise Diverged
        self._moments.rows[:, self._features] = state.moments.rows
        self._moments.upper.copy_(state.moments.upper)
        self._scale = state.scale.clamp(1, _LONGEST_STEP)
        if not at_best.all():
            descent.set_weights(best)
            evaluation, _ = descent.evaluate()
        if evaluation.val_losses is not None:
            evaluation = replace(evaluation, val_losses=evaluation.val_losses.clone())
        self._evaluation = evaluation
        return best, evaluation, monitor

    def _start(
        self, descent: Descent, weights: Weights, restricted: Weights, active: Tensor, lambdas: Tensor
    ) -> tuple[Evaluation, Floats]:
        """Start a descent from these weights, with what the last one learnt about step sizes; evaluate the objective there."""
        known = self._evaluation if weights is self._evaluated else None
        self._evaluated = None
        moments = Weights(self._moments.rows[:, self._features], self._moments.upper)
        lambdas = descent.problem.groups.gather(lambdas[:, self._features])
        descent.start(restricted, moments, self._scale, active[:, self._features], lambdas, known=known is not None)
        return (descent.with_penalty(known), np.ones_like(known.loss)) if known else descent.evaluate()

    def _run(self, descent: Descent, monitor: Monitor) -> int:
        """Iterate the live replicas until the next evaluation; return the number of iterations."""
        descent.state.live.copy_(self._on_device(monitor.live))
        if monitor.restart.any():
            descent.restart(self._on_device(monitor.restart))
        # The first iterations make what is left a multiple: a replica is evaluated after the same ones whatever the others do.
        left = int((monitor.budget - monitor.used)[monitor.live].min())
        n_iters = (left % _CHECK or _CHECK) if descent.deterministic else 1
        descent.run(n_iters)
        return n_iters

    def _keep(self, which: Mask, better: Weights, best: Weights) -> None:
        """Overwrite the best weights so far in some replicas."""
        if which.all():
            best.rows.copy_(better.rows)
            best.upper.copy_(better.upper)
        elif which.any():
            mask = self._on_device(which)
            torch.where(mask[:, None, None], better.rows, best.rows, out=best.rows)
            torch.where(mask[:, None], better.upper, best.upper, out=best.upper)

    def _on_device(self, mask: Mask) -> Tensor:
        return torch.from_numpy(mask).to(self.problem.X.device)


def _gradient(X: Table, block: slice, product_gradient: Tensor) -> Tensor:
    """Return the gradient by the weights of some features, of a sparse table by those of all: (R, d, o + K)."""
    if not isinstance(X, SparseTable):
        return X[..., block].mT @ product_gradient
    gradient = product_gradient.new_empty(len(product_gradient), X.shape[1], product_gradient.shape[-1])
    backward(X, product_gradient, gradient)
    return gradient
