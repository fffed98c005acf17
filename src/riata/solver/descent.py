"""Updates at one λ on the features that are in play: forward, backward, step, operator, in buffers that stay in place.

The update is a proximal heavy-ball step, with one step size α_j per feature so that the closed form of the operator applies
with the threshold α_j λ. Where the iteration rests, the last move is zero and so is the extrapolation: it rests at stationary
points for the stated λ and no other. With full batches the overall size of the steps is found, not given: it grows while the
objective falls and shrinks when it rises, and a bad step is taken back; where units are dropped, that of the whole network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.network.stacked import AnyPass, Weights
from riata.solver.kernels import Iterate, Recorded, State, bind, compiled
from riata.solver.kernels.plain import penalty
from riata.solver.problem import Evaluation, Problem

__all__ = ["Descent"]


class Descent:
    """R networks on their way down.

    Parameters
    ----------
    problem : Problem
        What is to be minimised.
    learning_rate, batch_size, draw
        As for the solver.
    passes : dict, optional
        Passes by the first and last of their rows, to be shared with other descents on the same rows.
    """

    def __init__(
        self,
        problem: Problem,
        learning_rate: float,
        batch_size: int | None = None,
        draw: torch.Generator | None = None,
        passes: dict[tuple[int, int], AnyPass] | None = None,
    ):
        self.problem = problem
        self._draw = draw
        # Only where all rows are in every update does a rise of the objective say that a step was too long.
        seeking = batch_size is None
        self.deterministic = seeking and not problem.is_random
        X, R, n = problem.X, problem.n_replicas, problem.n_fit
        network = problem.network
        size = min(batch_size or n, n)
        passes = {} if passes is None else passes
        for start, stop in {(0, n), (0, size), (0, n % size), (n, len(X))} - passes.keys():
            passes[start, stop] = network.passes(R, stop - start, X, learns=start < n)
        self._whole, self._tail = passes[0, n], passes[n, len(X)]
        self._parts = {m: passes[0, m] for m in (size, n % size)}
        self._order = torch.arange(n, device=X.device)
        self._batches = self._order.split(size)

        self.state = _state(problem, self._whole.loss, learning_rate, seeking=seeking)
        self._gradient = network.layers(self.state.gradient)
        self._advance: Callable[[], None] = bind(self.state)
        self._seen = X.new_zeros(4, R)  # loss, penalty, validation loss, size of the steps
        # Where steps are held against the objective, or a batch uses the same buffers, a pass ends with one over all rows.
        self._ahead = not seeking and size < n
        self._behind = False  # whether the buffers of the pass over all rows are those of an earlier iterate
        self._losses = X.new_zeros(R, len(X) if problem.val_weights is not None else 0)
        one_pass = self._update if self.deterministic else self._epoch
        recordable = network.recordable
        self._one_pass = Recorded(one_pass, self.state, draw, enabled=recordable and compiled(self.state))
        self._refresh = Recorded(self._forward, self.state, enabled=recordable)
        self._evaluate = Recorded(self._see, self.state, enabled=recordable)
        self._pull = Recorded(self._backward_upper, self.state, enabled=recordable)

    def enter(
        self, weights: Weights, moments: Weights, scale: Tensor, active: Tensor, price: Tensor, *, known: bool = False
    ) -> None:
        """Start from these weights, with the price of each group, (R, G), and what is known of the sizes of steps.

        ``known`` says that the last pass over all rows was at these weights, and need not be repeated.
        """
        state = self.state
        state.price.copy_(price)
        state.active.copy_(active)
        state.moments.rows.copy_(moments.rows)
        state.moments.upper.copy_(moments.upper)
        state.reached.fill_(torch.inf)
        state.scale.copy_(scale)
        state.fresh.fill_(True)
        self.place(weights, known=known)

    def place(self, weights: Weights, *, known: bool = False) -> None:
        """Go to these weights."""
        norms = self.problem.groups.norm(self.problem.skip(weights.rows))
        for iterate in self.state.iterates:
            iterate.weights.rows.copy_(weights.rows)
            iterate.weights.upper.copy_(weights.upper)
            iterate.norms.copy_(norms)
        self._behind = not known
        self._catch_up()

    def restart(self, replicas: Tensor) -> None:
        """Go on with steps of the first size."""
        self.state.scale.masked_fill_(replicas, 1)
        self.state.fresh |= replicas

    def run(self, n_passes: int) -> None:
        """Pass over the training rows so many times."""
        self._behind = self._ahead
        for _ in range(n_passes):
            if not self.deterministic:
                torch.randperm(len(self._order), generator=self._draw, out=self._order)
            self._one_pass()

    def priced(self, look: Evaluation) -> Evaluation:
        """Bring a look at the present iterate, taken at another λ, up to date."""
        return replace(look, penalty=penalty(self.state).cpu().double().numpy())

    def evaluate(self) -> tuple[Evaluation, NDArray[np.float64]]:
        """Evaluate the objective and the validation loss at the present iterate; also return the size of the steps.

        ``val_losses`` of the look are valid until the next one.
        """
        self._catch_up()
        self._evaluate()
        loss, penalty, val_loss, scale = self._seen.to("cpu", torch.float64, copy=True).numpy()
        if self.problem.val_weights is None:
            return Evaluation(loss, penalty), scale
        return Evaluation(loss, penalty, val_loss, self._losses), scale

    def pull(self) -> Tensor:
        """Gradient of the loss by the product of X and the rows, at the present iterate: (R, n_fit, o + K)."""
        self._catch_up()
        self._pull()
        return self._whole.pull

    def _catch_up(self) -> None:
        if self._behind:
            self._refresh()
            self._behind = False

    def _backward_upper(self) -> None:
        self._whole.backward_upper(self.state.now.layers, self._gradient)

    def _see(self) -> None:
        """Leave what a look needs in buffers."""
        problem, state = self.problem, self.state
        val_loss = state.loss
        if problem.val_weights is not None:
            n = problem.n_fit
            self._losses[:, :n] = problem.loss.evaluate(self._whole.output, problem.target[:n])[0]
            if n < len(problem.X):
                output = self._tail.forward(state.now.layers, problem.X[n:])
                self._losses[:, n:] = problem.loss.evaluate(output, problem.target[n:])[0]
            val_loss = (problem.val_weights * self._losses).sum(-1)
        torch.stack([state.loss, penalty(state), val_loss, state.scale], out=self._seen)

    def _forward(self) -> None:
        """Bring the buffers of the pass over all rows to the present iterate."""
        problem, n = self.problem, self.problem.n_fit
        output = self._whole.forward(self.state.now.layers, problem.X[:n])
        losses, gradient = problem.loss.evaluate(output, problem.target[:n])
        torch.sum(losses.mul_(problem.weights), -1, out=self.state.loss)
        torch.mul(gradient, problem.weights.unsqueeze(-1), out=self._whole.slope)

    def _update(self) -> None:
        """From buffers at the present iterate to buffers at the next."""
        n = self.problem.n_fit
        self._whole.backward(self.state.now.layers, self.problem.X[:n], self._gradient)
        self._advance()
        self._forward()

    def _epoch(self) -> None:
        """Pass once over the rows in batches; each batch's gradient is scaled to estimate that of the whole."""
        problem, n = self.problem, self.problem.n_fit
        for batch in self._batches:
            X, target = problem.X[batch], problem.target[batch]
            if problem.noise is not None:
                drawn = torch.randn(X.shape, generator=self._draw, dtype=X.dtype, device=X.device)
                X = X.addcmul_(drawn, problem.noise)
            part, layers = self._parts[len(batch)], self.state.now.layers
            output = part.forward(layers, X, problem.dropout, self._draw)
            _, gradient = problem.loss.evaluate(output, target)
            weight = problem.weights[:, batch].unsqueeze(-1) * (n / len(batch))
            torch.mul(gradient, weight, out=part.slope)
            part.backward(layers, X, self._gradient)
            self._advance()
        if not self._ahead:
            self._forward()


def _state(problem: Problem, loss: Tensor, learning_rate: float, *, seeking: bool) -> State:
    """Make the buffers of an update."""
    X, R, G = problem.X, problem.n_replicas, problem.groups.n_groups
    d, network = X.shape[1], problem.network

    def weights() -> Weights:
        return Weights(X.new_zeros(R, d, network.width), X.new_zeros(R, network.n_upper))

    def iterate() -> Iterate:
        place = weights()
        return Iterate(place, network.layers(place), X.new_zeros(R, G))

    def flags(*shape: int) -> Tensor:
        return torch.ones(shape, dtype=torch.bool, device=X.device)

    return State(
        iterates=(iterate(), iterate()),
        gradient=weights(),
        moments=Weights(X.new_zeros(R, d), X.new_zeros(R, network.n_upper)),
        loss=loss,
        reached=X.new_zeros(R),
        scale=X.new_ones(R),
        fresh=flags(R),
        live=flags(R),
        active=flags(R, d),
        price=X.new_zeros(R, G),
        M=problem.M.contiguous(),
        is_matrix=problem.is_matrix,
        n_outputs=network.n_outputs,
        groups=problem.groups,
        gamma=problem.gamma,
        learning_rate=learning_rate,
        seeking=seeking,
    )
