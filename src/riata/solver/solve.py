"""Minimise the objective at one λ, for R networks at once: descend on the features in play, check the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.network.stacked import AnyPass, Weights
from riata.prox import Groups, prox_rows
from riata.solver.descent import Descent
from riata.solver.problem import Evaluation, Problem
from riata.solver.stopping import Mask, Stopping, Watch

__all__ = ["Solution", "Solver"]

_ROUND = 10  # passes between two decisions of the host
_COMPACT, _COMPACT_LATE = 0.95, 0.75  # share of features still in play under which the others are left out
_LARGE = 2**24  # entries of X from which on a second copy of most of it is to be avoided
_BLOCK = 1024  # features left out that are checked at a time
_WEAK = 0.1  # size of steps, relative to the first, under which a lack of progress proves nothing
_LONG = 1e6  # and over which they are not carried to the next λ


@dataclass(frozen=True)
class Solution:
    """Where the solver ended."""

    weights: Weights
    evaluation: Evaluation
    n_iters: NDArray[np.int64]  # (R,) passes over the data
    best_iter: NDArray[np.int64]  # (R,) the pass after which these weights were reached


class Solver:
    """Solves one problem at one λ after another, remembering step sizes in between.

    Parameters
    ----------
    problem : Problem
        What is to be minimised.
    learning_rate : float
        Size of the first steps, relative to the size of the gradient; with mini-batches, of all steps.
    batch_size : int or None
        Rows per update; None for all.
    draw : torch.Generator, optional
        Source of randomness of batches and dropout, on the device of the data.
    active_set : bool
        Leave features that are out of the model out of the arithmetic, and check them where the objective falls no longer.
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
        X, R = problem.X, problem.n_replicas
        self._moments = Weights(X.new_zeros(R, X.shape[1]), X.new_zeros(R, problem.network.n_upper))
        self._scale = X.new_ones(R)
        self._features: Tensor | None = None  # those that the descent at hand knows
        self._descent: Descent | None = None
        self._passes: dict[tuple[int, int], AnyPass] = {}
        self._known: Weights | None = None  # the weights that the last pass over all rows was at
        self._look: Evaluation | None = None  # at these

    @torch.inference_mode()
    def minimise(self, start: Weights, lambda_: Tensor, stopping: Stopping, frozen: Mask | None = None) -> Solution:
        """Minimise for one λ per replica, (R,), from a feasible start; replicas marked ``frozen`` stay as they are.

        Descend on the features in the model until the objective falls no longer, check those that are out, take back the ones
        that want in, descend again. A replica that ran out of passes or of patience is left as it is: far from a solution a
        gradient says little about who belongs in it.
        """
        weights = start
        live = np.ones(len(lambda_), dtype=bool) if frozen is None else ~frozen
        active = self.problem.selected(start.rows)
        if not self.active_set:
            active = torch.ones_like(active)
        price = self.problem.groups.scatter(self.problem.lambdas(lambda_, start.rows))  # (R, d)
        spent = best = np.zeros(len(lambda_), dtype=np.int64)
        while True:
            budget = np.where(live, stopping.n_iters - spent, 0)
            descent = self._restrict(active)
            narrow, look, watch = self._descend(descent, weights, active, price, stopping, budget)
            self._known = weights = self._widen(narrow)
            best = np.where(watch.best > 0, spent + watch.best, best)
            spent = spent + watch.used
            live = watch.settled & (spent < stopping.n_iters)
            if live.any():
                wanted = self._want_in(descent, active, price) & self._on_device(live).unsqueeze(-1)
                self._moments.rows[wanted] = 0  # step sizes of long ago mean nothing now
                live = wanted.any(-1).cpu().numpy()
                active = active | wanted
            if not live.any():
                return Solution(weights, look, spent, best)

    @torch.inference_mode()
    def feasible(self, weights: Weights) -> Weights:
        """Bring rows that break the hierarchy to the nearest ones that keep it."""
        problem, rows = self.problem, weights.rows
        M = problem.M.unsqueeze(-1).expand(rows.shape[0], problem.groups.n_groups)
        skip, first, _ = prox_rows(problem.skip(rows), problem.first(rows), torch.zeros_like(M), M, problem.groups)
        return Weights(torch.cat([skip, first], -1), weights.upper)

    def _restrict(self, active: Tensor) -> Descent:
        """Leave out the features that are active in no replica."""
        features = active.any(0).nonzero().squeeze(-1)
        if self._descent is None or self._features is None or not self._fits(features):
            self._features, self._descent = features, None  # the old one goes before the new one comes
            narrow = self.problem.only(features)
            self._descent = Descent(narrow, self.learning_rate, self.batch_size, self.draw, self._passes)
        return self._descent

    def _fits(self, features: Tensor) -> bool:
        """Say whether the descent at hand will do: it must know these features, and not too many others."""
        known, X = self._features, self.problem.X
        late = X.device.type == "cuda" or X.numel() > _LARGE  # where graphs are recorded anew, or much is copied
        if known is None or len(features) < (_COMPACT_LATE if late else _COMPACT) * len(known):
            return False
        return bool(torch.isin(features, known, assume_unique=True).all())

    def _widen(self, narrow: Weights) -> Weights:
        """Put the rows of the features in play back among all."""
        if narrow.rows.shape[1] == self.problem.X.shape[1]:
            return narrow
        rows = narrow.rows.new_zeros(len(narrow.rows), self.problem.X.shape[1], narrow.rows.shape[-1])
        rows[:, self._features] = narrow.rows
        return Weights(rows, narrow.upper)

    def _want_in(self, descent: Descent, active: Tensor, price: Tensor) -> Tensor:
        """Mark the features left out that would not stay at zero under the operator: ‖g_skip‖ + M‖g_first‖₁ > price."""
        out = ~active
        if not bool(out.any()):
            return out
        whole, pull = self.problem, descent.pull()
        X, slack = whole.X[: whole.n_fit], 1 + torch.finfo(pull.dtype).eps ** 0.5
        d = X.shape[1]
        size = _BLOCK if whole.groups.index is None else d
        for some in (slice(start, start + size) for start in range(0, d, size)):
            groups = whole.groups if size >= d else Groups(None, X[:, some].shape[1])
            rows = X[:, some].mT @ pull  # (R, some, o + K)
            force = groups.norm(whole.skip(rows))
            force = force + whole.M.unsqueeze(-1) * groups.sum(whole.first(rows).abs_().sum(-1))
            out[:, some] &= groups.scatter(force) > slack * price[:, some]
        return out

    def _descend(
        self,
        descent: Descent,
        weights: Weights,
        active: Tensor,
        price: Tensor,
        stopping: Stopping,
        budget: NDArray[np.int64],
    ) -> tuple[Weights, Evaluation, Watch]:
        """Update the active features until each replica stops or has used up its budget; go to the best iterates."""
        features, state = self._features, descent.state
        best = Weights(weights.rows[:, features], weights.upper.clone())
        moments = Weights(self._moments.rows[:, features], self._moments.upper)
        known = self._look if weights is self._known else None
        self._known = None
        price = descent.problem.groups.gather(price[:, features])
        descent.enter(best, moments, self._scale, active[:, features], price, known=known is not None)
        look, scale = (descent.priced(known), np.ones_like(known.loss)) if known else descent.evaluate()
        full = state.active.sum(-1)
        watch, passes = Watch(stopping, budget), 0
        there = np.ones_like(watch.live)  # replicas whose present iterate is their best
        while True:
            moved = watch.live
            better = watch.see(look.objective, look.judged, scale < _WEAK, passes)
            if stopping.until_drop:
                dropped = (descent.problem.selected(state.now.weights.rows).sum(-1) < full).cpu().numpy() & moved
                watch.live = watch.live & ~dropped
                better = better | dropped
            if passes:
                there = better | (there & ~moved)
                self._keep(better, state.now.weights, best)
            if not watch.live.any():
                break
            state.live.copy_(self._on_device(watch.live))
            if watch.restart.any():
                descent.restart(self._on_device(watch.restart))
            # A shorter round comes first, so that a replica is looked at after the same passes whatever the others do.
            left = int((watch.budget - watch.used)[watch.live].min())
            passes = (left % _ROUND or _ROUND) if descent.deterministic else 1
            descent.run(passes)
            look, scale = descent.evaluate()
        self._moments.rows[:, features] = state.moments.rows
        self._moments.upper.copy_(state.moments.upper)
        self._scale = state.scale.clamp(1, _LONG)
        if not there.all():
            descent.place(best)
            look, _ = descent.evaluate()
        if look.val_losses is not None:
            look = replace(look, val_losses=look.val_losses.clone())
        self._look = look
        return best, look, watch

    def _keep(self, which: Mask, better: Weights, best: Weights) -> None:
        """Overwrite the best weights so far of some replicas."""
        if which.all():
            best.rows.copy_(better.rows)
            best.upper.copy_(better.upper)
        elif which.any():
            mask = self._on_device(which)
            torch.where(mask[:, None, None], better.rows, best.rows, out=best.rows)
            torch.where(mask[:, None], better.upper, best.upper, out=best.upper)

    def _on_device(self, mask: Mask) -> Tensor:
        return torch.from_numpy(mask).to(self.problem.X.device)
