"""Minimise the objective at one λ, for R networks at once: descend on the active features, check the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.network.stacked import AnyPass, Weights
from riata.prox import Groups, prox_rows
from riata.solver.descent import Descent
from riata.solver.problem import Evaluation, Problem
from riata.solver.stopping import Mask, Monitor, Stopping

__all__ = ["Solution", "Solver"]

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
    ):
        self.problem = problem
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.draw, self.draws = draw, draws
        self.active_set = active_set
        X, R = problem.X, problem.n_replicas
        self._moments = Weights(X.new_zeros(R, problem.n_columns), X.new_zeros(R, problem.network.n_upper))
        self._scale = X.new_ones(R)
        self._features: Tensor | None = None  # those of the descent
        self._descent: Descent | None = None
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
        in place of that of ``stopping``.
        """
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

    @torch.inference_mode()
    def feasible(self, weights: Weights) -> Weights:
        """Project the weights on those that satisfy the hierarchy."""
        problem, rows = self.problem, weights.rows
        M = problem.M.unsqueeze(-1).expand(rows.shape[0], problem.groups.n_groups)
        skip, first, _ = prox_rows(problem.skip(rows), problem.first(rows), torch.zeros_like(M), M, problem.groups)
        return Weights(torch.cat([skip, first], -1), weights.upper)

    def _restrict(self, active: Tensor) -> Descent:
        """Return a descent without features that are active in no replica, the present one if it will do."""
        features = active.any(0).nonzero().squeeze(-1)
        if self._descent is None or self._features is None or not self._covers(self._features, features):
            self._features, self._descent = features, None  # free the memory of the old one before making the new one
            restricted = self.problem.only(features)
            self._descent = Descent(
                restricted, self.learning_rate, self.batch_size, self.draw, self._passes, self.draws
            )
        return self._descent

    def _covers(self, known: Tensor, features: Tensor) -> bool:
        """Whether a descent on the known features will do: they must include these, and not too many others.

        These must be 95 % of the known features; 75 % where a new descent costs much: graphs are recorded anew on CUDA, and
        large tables are copied.
        """
        X = self.problem.X
        costs_much = X.device.type == "cuda" or X.numel() // X.shape[-2] * int(self.problem.counts[:, 1].sum()) > 2**24
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
        problem, product_gradient = self.problem, descent.product_gradient()
        X, _ = problem.samples(0, problem.n_fit)
        d, slack = problem.n_columns, 1 + torch.finfo(product_gradient.dtype).eps ** 0.5
        size = 1024 if problem.groups.index is None else d  # features whose gradients are held at a time
        for block in (slice(start, start + size) for start in range(0, d, size)):
            groups = problem.groups if size >= d else Groups(None, X[..., block].shape[-1])
            gradient = problem.total(X[..., block].mT @ product_gradient)  # (R, size, o + K)
            bound = groups.norm(problem.skip(gradient))
            bound = bound + problem.M.unsqueeze(-1) * groups.sum(problem.first(gradient).abs_().sum(-1))
            violates[:, block] &= groups.scatter(bound) > slack * lambdas[:, block]
        return violates

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
