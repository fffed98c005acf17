"""Updates at one λ on the active features: forward, backward, gradient step, operator, in buffers that stay in place.

The update is a proximal heavy-ball step, with one step size α_j per feature so that the closed form of the operator applies
with the threshold α_j λ. At a fixed point the last step is zero and so is the momentum: the fixed points are the stationary
points for the stated λ and no other. With full batches the overall size of the steps is adapted: it grows while the objective
falls and shrinks when it rises, and a step that raises it by much is reverted; with dropout the objective is that of the whole
network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import evaluator
from riata.losses.loss import slopes
from riata.network.blocked import BlockedPass
from riata.network.sparse import SparseTable, Table
from riata.network.stacked import AnyPass, Weights
from riata.ranks import RankError
from riata.solver.feed import Refill
from riata.solver.kernels import Iterate, Recorded, State, bind, compiled
from riata.solver.kernels.plain import penalty
from riata.solver.problem import Evaluation, Problem

__all__ = ["Descent"]


class Descent:
    """The iterates of R networks, and the updates from one to the next.

    Parameters
    ----------
    problem : Problem
        What is to be minimised. One with a feed has samples of its own (``Problem.apart``): they are overwritten.
    learning_rate, batch_size, draw
        As for the solver.
    passes : dict, optional
        Passes by the first and last of their samples, to be shared with other descents on the same samples.
    draws : sequence of torch.Generator
        As for the solver.
    block_size : int, optional
        As for the solver; with dropout a mini-batch may have no more samples.
    refill : Refill, optional
        Where a feed has got to in other descents.
    """

    def __init__(
        self,
        problem: Problem,
        learning_rate: float,
        batch_size: int | None = None,
        draw: torch.Generator | None = None,
        passes: dict[tuple[int, int], AnyPass] | None = None,
        draws: Sequence[torch.Generator] = (),
        block_size: int | None = None,
        refill: Refill | None = None,
    ):
        self.problem = problem
        self._refill = refill or Refill()
        self._draw, self._draws = (draws[0] if draws else draw), draws
        # Only where all samples are in every update does a rise of the objective show that a step was too long.
        adapts_scale = batch_size is None
        self.deterministic = adapts_scale and not problem.is_random
        like, R, n = problem.like, problem.n_replicas, problem.n_fit
        network = problem.network
        self._sizes = _batch_sizes(problem, batch_size)
        sizes = {*self._sizes}
        passes = {} if passes is None else passes
        n_all = problem.n_samples
        block_size = block_size or max(n_all, 1)
        for start, stop in {(0, n), *((0, size) for size in sizes), (n, n_all)} - passes.keys():
            in_blocks = stop - start > block_size and not isinstance(problem.X, SparseTable)
            make = partial(BlockedPass, network, block=block_size) if in_blocks else network.passes
            passes[start, stop] = make(R, stop - start, like, learns=start < n)
        self._fit_pass, self._val_pass = passes[0, n], passes[n, n_all]
        self._batch_passes = {m: passes[0, m] for m in sizes}
        self._X, target = problem.samples(0, n)
        self._fit_loss = evaluator(problem.loss, target, problem.weights)
        self._val_fit_loss = self._val_loss = self._fit_loss
        if problem.val_weights is not None:
            self._val_fit_loss = evaluator(problem.loss, target, problem.val_weights[:, :n])
            self._X_val, target = problem.samples(n, n_all)
            self._val_loss = evaluator(problem.loss, target, problem.val_weights[:, n:])
        self._order = torch.arange(n, device=like.device)
        if len({each.initial_seed() for each in draws}) > 1:
            self._order = self._order.repeat(R, 1)
        self._batches = self._order.split(self._sizes, dim=-1)

        self.state = _state(problem, self._fit_pass.loss, learning_rate, adapts_scale=adapts_scale)
        self._gradient = network.layers(self.state.gradient)
        self._update: Callable[[], None] = bind(self.state)
        self._measured = like.new_zeros(4, R)  # loss, penalty, validation loss, size of the steps
        # With mini-batches that have buffers of their own, an iteration does not end with a pass over all samples.
        self._skips_fit_pass = not adapts_scale and len(self._sizes) > 1
        self._outdated = False  # whether the buffers of the pass over all samples are those of an earlier iterate
        self._losses = like.new_zeros(R, n_all if problem.val_weights is not None else 0)
        iteration = self._iterate if self.deterministic else self._iterate_in_batches
        recordable = network.recordable and not isinstance(problem.X, SparseTable)
        alone = problem.ranks is None  # messages between ranks are not recorded
        self._iteration = Recorded(iteration, self.state, draw, enabled=recordable and alone and compiled(self.state))
        self._refresh = Recorded(self._forward, self.state, enabled=recordable)
        self._evaluation = Recorded(self._evaluate, self.state, enabled=recordable)
        self._backward = Recorded(self._backward_upper, self.state, enabled=recordable)

    def start(
        self, weights: Weights, moments: Weights, scale: Tensor, active: Tensor, lambdas: Tensor, *, known: bool = False
    ) -> None:
        """Start from these weights at the λ of each group, (R, G), with these averages of squared gradients and size of steps.

        ``known`` says that the last pass over all samples was at these weights, and need not be repeated.
        """
        state = self.state
        state.lambdas.copy_(lambdas)
        state.active.copy_(active)
        state.moments.rows.copy_(moments.rows)
        state.moments.upper.copy_(moments.upper)
        state.last_objective.fill_(torch.inf)
        state.scale.copy_(scale)
        state.restarted.fill_(True)
        self.set_weights(weights, known=known)

    def set_weights(self, weights: Weights, *, known: bool = False) -> None:
        """Make these weights the present iterate."""
        norms = self.problem.groups.norm(self.problem.skip(weights.rows))
        for iterate in self.state.iterates:
            iterate.weights.rows.copy_(weights.rows)
            iterate.weights.upper.copy_(weights.upper)
            iterate.norms.copy_(norms)
        self._outdated = not known
        self._update_fit_pass()

    def restart(self, replicas: Tensor) -> None:
        """Continue with steps of the first size and without momentum."""
        self.state.scale.masked_fill_(replicas, 1)
        self.state.restarted |= replicas

    def run(self, n_iters: int) -> None:
        """Iterate: pass over the training samples so many times."""
        self._outdated = self._skips_fit_pass
        for _ in range(n_iters):
            if self.problem.feed is not None:
                self._refill(self.problem.feed, self.problem.dense, self.problem.target, self.problem.weights)
            if not self.deterministic:
                self._shuffle()
            self._iteration()

    def _shuffle(self) -> None:
        """Draw the order of the samples of an iteration; where replicas have samples of their own, an order for each."""
        orders, draws = ([self._order], [self._draw]) if self._order.ndim == 1 else (self._order, self._draws)
        for order, draw in zip(orders, draws, strict=True):
            torch.randperm(len(order), generator=draw, out=order)

    def put_back(self, problem: Problem, features: Tensor) -> None:
        """Train on the samples of the problem of all features again, in the place of those that a feed has brought."""
        torch.index_select(problem.dense, -1, features, out=self.problem.dense)
        self.problem.target.copy_(problem.target)
        self.problem.weights.copy_(problem.weights)
        self._outdated = True

    def with_penalty(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation of the present iterate at another λ with the penalty at this one."""
        return replace(evaluation, penalty=penalty(self.state).cpu().double().numpy())

    def evaluate(self) -> tuple[Evaluation, NDArray[np.float64]]:
        """Evaluate the objective and the validation loss at the present iterate; also return the size of the steps.

        ``val_losses`` are valid until the next evaluation.
        """
        self._update_fit_pass()
        self._evaluation()
        loss, penalty, val_loss, scale = self._of_all(self._measured.to("cpu", torch.float64, copy=True).numpy())
        if self.problem.val_weights is None:
            return Evaluation(loss, penalty), scale
        return Evaluation(loss, penalty, val_loss, self._losses), scale

    def _of_all(self, measured: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what was measured on the samples of all ranks, given that on those of this one; weights must be the same."""
        ranks = self.problem.ranks
        if ranks is None:
            return measured
        each = ranks.stack(measured)  # (ranks, 4, R)
        if any(not np.array_equal(other[1::2], measured[1::2], equal_nan=True) for other in each):
            raise RankError(
                "the ranks have come to different weights: they need processors of one kind, the same number of threads and "
                "the same versions of riata and its dependencies"
            )
        measured[::2] = each[:, ::2].sum(axis=0)
        return measured

    def product_gradients(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield the gradient of the loss by the product of X and the features' weights, at the present iterate.

        Usually for all samples at once, (R, n_fit, o + K), else for one block of rows after the other.
        """
        self._update_fit_pass()
        if isinstance(self._fit_pass, BlockedPass):
            yield from self._fit_pass.product_gradients(self.state.now.layers, self._X, self._gradient)
            return
        self._backward()
        yield slice(0, self.problem.n_fit), self._fit_pass.product_gradient

    def _update_fit_pass(self) -> None:
        if self._outdated:
            self._refresh()
            self._outdated = False

    def _backward_upper(self) -> None:
        self._fit_pass.backward_upper(self.state.now.layers, self._gradient)

    def _evaluate(self) -> None:
        """Write the terms of the objective, and the losses of all samples, into buffers."""
        problem, state = self.problem, self.state
        val_loss = state.loss
        if problem.val_weights is not None:
            n = problem.n_fit
            self._losses[:, :n] = self._val_fit_loss(self._fit_pass.output)[0]
            if n < problem.n_samples:
                self._losses[:, n:] = self._val_loss(self._val_pass.forward(state.now.layers, self._X_val))[0]
            val_loss = (problem.val_weights * self._losses).sum(-1)
        torch.stack([state.loss, penalty(state), val_loss, state.scale], out=self._measured)

    def _forward(self) -> None:
        """Pass forward over all samples at the present iterate: the loss, and its gradient by the outputs."""
        problem = self.problem
        losses, gradient = self._fit_loss(self._fit_pass.forward(self.state.now.layers, self._X))
        torch.sum(losses.mul_(problem.weights), -1, out=self.state.loss)
        torch.mul(gradient, problem.weights.unsqueeze(-1), out=self._fit_pass.output_gradient)

    def _iterate(self) -> None:
        """Update once with all samples, the forward pass at the present iterate being done; end with that at the next."""
        self._fit_pass.backward(self.state.now.layers, self._X, self._gradient)
        self._add_up()
        self._update()
        self._forward()

    def _add_up(self) -> None:
        """Add up the gradient over all ranks and, where step sizes depend on it, the loss.

        From a pass forward to the next update the loss is that of the samples of this rank.
        """
        state, ranks = self.state, self.problem.ranks
        if ranks is not None:
            ranks.sum_(state.gradient.rows, state.gradient.upper, *([state.loss] if state.adapts_scale else []))

    def _shuffled(self) -> Iterable[tuple[Table, Tensor, Tensor]]:
        """Return X, the target and the weights of every mini-batch."""
        if self._order.device.type != "cuda" or isinstance(self.problem.X, SparseTable):
            return map(self.problem.batch, self._batches)  # on the CPU a copy of few samples stays in cache
        X, target, weights = self.problem.batch(self._order)
        assert isinstance(X, Tensor)
        sizes = self._sizes
        return zip(X.split(sizes, -2), target.split(sizes, -2), weights.split(sizes, -1), strict=True)

    def _iterate_in_batches(self) -> None:
        """Update once with every mini-batch; its gradient is scaled to estimate that of all samples."""
        problem, n = self.problem, self.problem.n_fit
        for X, target, weights in self._shuffled():
            if problem.noise is not None:
                X = _noisy(X, problem.noise, self._draw)
            size = X.shape[-2]
            batch_pass, layers = self._batch_passes[size], self.state.now.layers
            output = batch_pass.forward(layers, X, problem.dropout, self._draw)
            gradient = slopes(problem.loss, output, target, weights)
            torch.mul(gradient, weights.unsqueeze(-1) * (n / size), out=batch_pass.output_gradient)
            batch_pass.backward(layers, X, self._gradient)
            self._add_up()
            self._update()
        if not self._skips_fit_pass:
            self._forward()


def _batch_sizes(problem: Problem, batch_size: int | None) -> list[int]:
    """Return the numbers of samples of this rank in each update of an iteration; all ranks make as many updates."""
    n = problem.n_fit
    if problem.ranks is None or batch_size is None:
        size = min(batch_size or n, n)
        return [size] * (n // size) + [n % size] * (n % size > 0)
    n_batches, fewest = -(-problem.n_fit_of_all // batch_size), int(problem.counts[:, 0].min())
    if fewest < n_batches:
        raise ValueError(
            f"a rank has {fewest} of the {problem.n_fit_of_all:,} samples to train on, fewer than the {n_batches:,} updates of "
            "an iteration: give all ranks about as many rows, or raise Training(batch_size=...)"
        )
    return [(n + i) // n_batches for i in reversed(range(n_batches))]


def _noisy(X: Table, deviation: Tensor, draw: torch.Generator | None) -> Table:
    """Add noise of these standard deviations, (d,); of a sparse table they are relative to each entry."""
    if isinstance(X, SparseTable):
        return X.noisy(deviation, draw)
    return X.addcmul(torch.randn(X.shape, generator=draw, dtype=X.dtype, device=X.device), deviation)


def _state(problem: Problem, loss: Tensor, learning_rate: float, *, adapts_scale: bool) -> State:
    """Make the buffers of an update."""
    X, R, G = problem.like, problem.n_replicas, problem.groups.n_groups
    d, network = problem.n_columns, problem.network

    def weights() -> Weights:
        return Weights(X.new_zeros(R, d, network.width), X.new_zeros(R, network.n_upper))

    def iterate() -> Iterate:
        buffers = weights()
        return Iterate(buffers, network.layers(buffers), X.new_zeros(R, G))

    def flags(*shape: int) -> Tensor:
        return torch.ones(shape, dtype=torch.bool, device=X.device)

    return State(
        iterates=(iterate(), iterate()),
        gradient=weights(),
        moments=Weights(X.new_zeros(R, d), X.new_zeros(R, network.n_upper)),
        loss=loss,
        last_objective=X.new_zeros(R),
        scale=X.new_ones(R),
        restarted=flags(R),
        live=flags(R),
        active=flags(R, d),
        lambdas=X.new_zeros(R, G),
        M=problem.M.contiguous(),
        is_matrix=problem.is_matrix,
        n_outputs=network.n_outputs,
        groups=problem.groups,
        sizes=problem.sizes.expand(R, G).contiguous(),
        gamma=problem.gamma,
        learning_rate=learning_rate,
        adapts_scale=adapts_scale,
    )
