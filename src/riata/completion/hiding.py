"""A solver that hides entries of a table and learns to predict them, and how it is trained."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from riata.network.stacked import AnyPass, Weights
from riata.solver.problem import Problem
from riata.solver.solve import Solution, Solver
from riata.solver.stopping import Mask, Stopping

__all__ = ["FILLS", "Completer", "Gaps", "Round", "Trained", "fill", "train"]

_PASSES = 3  # over the rows until other entries are hidden
FILLS = 8  # at most, while training; how many is drawn anew each time, so that the network is right at every stage
_TRIED = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of fills of which the validation entries choose one
_AVERAGE = 0.9  # weights are averaged over about 1 / (1 − this) rounds: entries hidden at random make each one noisy
_EVERY = 3  # rounds between two looks at the validation entries


@dataclass(frozen=True, eq=False)
class Gaps:
    """A table as the networks see it, scaled."""

    values: Tensor  # (n, d), zero where nothing is known
    known: Tensor  # (n, d) bool: entries to learn from
    judged: Tensor  # (n, d): values of the entries to validate on, NaN elsewhere

    @cached_property
    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest known value of each column; a column without any is held at zero."""
        low = torch.where(self.known, self.values, torch.inf).amin(0)
        high = torch.where(self.known, self.values, -torch.inf).amax(0)
        return torch.where(low <= high, low, 0.0), torch.where(low <= high, high, 0.0)


def fill(
    run: Callable[[Tensor], Tensor],
    values: Tensor,
    shown: Tensor,
    columns: Tensor,
    limits: tuple[Tensor, Tensor],
    n_fills: int,
    see: Callable[[int, Tensor], None] | None = None,
) -> Tensor:
    """Fill what is not shown with the output for the table so far, so many times.

    Parameters
    ----------
    run : callable
        The network: (n, k) entries of the columns that are inputs -> (n, d) all columns. May use its output again.
    values, shown : Tensor of shape (n, d)
        The table, and which of its entries are there.
    columns : Tensor of shape (k,)
        Positions of the inputs.
    limits : pair of Tensor of shape (d,)
        The lowest and the highest value to fill in.
    n_fills : int
        How many times. The first fill is the mean of what is shown of a row's inputs.
    see : callable, optional
        Called after each fill with its number and all outputs.

    Returns
    -------
    Tensor of shape (n, d)
        The last output.
    """
    inputs, there = values[:, columns], shown[:, columns]
    means = torch.where(there, inputs, 0.0).sum(1, keepdim=True) / there.sum(1, keepdim=True).clamp_min(1)
    output = torch.clamp(means, *limits)  # (n, d)
    for i in range(n_fills):
        output = run(torch.where(there, inputs, output[:, columns])).clamp(*limits)
        if see is not None:
            see(i + 1, output)
    return output


class Completer(Solver):
    """A solver that hides other entries of the table whenever it starts, and fills them with the network it starts from.

    Parameters
    ----------
    problem : Problem
        Of one replica; its rows are copies of the table's, and its X and target are written to.
    gaps : Gaps
        The table.
    columns : Tensor of shape (k,)
        Positions in the table of the columns of X.
    hide : float
        Share of the known entries to hide; with 0 every known entry is both input and target.
    draw : torch.Generator
        Source of randomness.
    learning_rate : float
        As for the solver.
    """

    def __init__(
        self,
        problem: Problem,
        gaps: Gaps,
        columns: Tensor,
        *,
        hide: float,
        draw: torch.Generator,
        learning_rate: float = 1e-3,
    ):
        super().__init__(problem, learning_rate=learning_rate, draw=draw)
        self.gaps = gaps
        self.columns = columns
        self.hide = hide
        network, X = problem.network, problem.X
        self._forward = network.passes(1, len(X), X, learns=False)
        one_copy = len(X) == len(gaps.values)
        self._whole = self._forward if one_copy else network.passes(1, len(gaps.values), X, learns=False)

    def minimise(self, start: Weights, lambda_: Tensor, stopping: Stopping, frozen: Mask | None = None) -> Solution:
        """Hide other entries, then minimise."""
        self._hide(start)
        return super().minimise(start, lambda_, stopping, frozen)

    @torch.inference_mode()
    def completions(self, weights: Weights, n_fills: int, see: Callable[[int, Tensor], None] | None = None) -> Tensor:
        """Return the output for the table with everything shown that is known, (n, d)."""
        return self._filled(weights, self._whole, self.gaps.values, self.gaps.known, n_fills, see)

    @torch.inference_mode()
    def _hide(self, weights: Weights) -> None:
        problem, gaps = self.problem, self.gaps
        n, d = gaps.values.shape
        copies = len(problem.X) // n
        chance = torch.rand((copies, n, d), generator=self.draw, device=gaps.values.device)
        hidden = (chance < self.hide) & gaps.known
        shown = (gaps.known & ~hidden).flatten(0, 1)
        values = gaps.values.repeat(copies, 1)
        scored = hidden if self.hide else gaps.known.expand_as(hidden)
        problem.target.copy_(torch.where(scored, gaps.values, torch.nan).flatten(0, 1))
        n_fills = int(torch.randint(1, FILLS + 1, (1,), generator=self.draw, device=gaps.values.device))
        output = self._filled(weights, self._forward, values, shown, n_fills if self.hide else 0)
        torch.where(shown[:, self.columns], values[:, self.columns], output[:, self.columns], out=problem.X)
        if self._descent is not None and self._descent.problem is not problem:
            self._descent.problem.X.copy_(problem.X[:, self._features])
        self._evaluated = None  # the evaluation of these weights was on other inputs

    def _filled(
        self,
        weights: Weights,
        forward: AnyPass,
        values: Tensor,
        shown: Tensor,
        n_fills: int,
        see: Callable[[int, Tensor], None] | None = None,
    ) -> Tensor:
        used = self.problem.selected(weights.rows)[0].nonzero().squeeze(-1)
        layers = self.problem.network.layers(Weights(weights.rows[:, used], weights.upper))
        limits = self.gaps.limits
        return fill(lambda X: forward.forward(layers, X)[0], values, shown, self.columns[used], limits, n_fills, see)


class Round(NamedTuple):
    """What training saw at one look."""

    n_iters: int  # passes over the table's copies so far
    loss: float  # mean squared error on the entries hidden last, after the passes that learnt from them
    val_error: float  # mean squared error on the validation entries, of averaged weights; NaN without any
    n_fills: int  # that gave this error
    change: float  # relative change of the filled entries since the last look


class Trained(NamedTuple):
    """Where training ended."""

    weights: Weights
    n_fills: int
    history: list[Round]
    interrupted: bool


@torch.inference_mode()
def train(
    completer: Completer,
    start: Weights,
    stopping: Stopping,
    on_round: Callable[[Round], None] | None = None,
    *,
    keep: bool = False,
) -> Trained:
    """Hide, descend a little, and again, until validation entries are predicted no better or fills change no longer.

    The weights returned are an average over the last rounds, the one of lowest validation error; without validation entries
    the last one. With ``keep`` an interrupt from the keyboard ends training with the best so far; otherwise it is raised.
    """
    weights = completer.feasible(start)
    average, best = _copy(weights), _copy(weights)
    n_fills, lowest, since, passes, loss = FILLS, np.inf, 0, 0, float("nan")
    history: list[Round] = []
    filled = completer.gaps.values[~completer.gaps.known]
    try:
        while True:
            error, tried, output = _look(completer, average, 4 * n_fills if passes else _TRIED[-1])
            change, filled = _relative(output, filled), output
            history.append(Round(passes, loss, error, tried, change))
            if on_round is not None:
                on_round(history[-1])
            if not error >= lowest:  # NaN, too, is taken: the last one
                best, n_fills, lowest, since = _copy(average), tried, error, passes
            waited = stopping.patience is not None and passes - since >= stopping.patience
            if passes >= stopping.n_iters or waited or (passes and change <= stopping.tol):
                return Trained(best, n_fills, history, interrupted=False)
            until = min(passes + _EVERY * _PASSES, stopping.n_iters)
            while passes < until:
                stay = Stopping(min(_PASSES, until - passes), None, 0.0)
                solution = completer.minimise(weights, weights.upper.new_zeros(1), stay)
                weights, loss = solution.weights, float(solution.evaluation.loss[0])
                average.rows.lerp_(weights.rows, 1 - _AVERAGE)
                average.upper.lerp_(weights.upper, 1 - _AVERAGE)
                passes += stay.n_iters
    except KeyboardInterrupt:
        if not keep or not history:
            raise
        warnings.warn(f"interrupted: training ends after {passes} passes", RuntimeWarning, stacklevel=2)
        return Trained(best, n_fills, history, interrupted=True)


def _look(completer: Completer, weights: Weights, most: int) -> tuple[float, int, Tensor]:
    """Return the lowest error on the validation entries, the number of fills that gives it, and what is then filled in."""
    gaps = completer.gaps
    there = ~gaps.judged.isnan()
    seen: dict[int, tuple[float, Tensor]] = {}

    def see(i: int, output: Tensor) -> None:
        if i in _TRIED:
            error = float((output[there] - gaps.judged[there]).square().mean())  # NaN of nothing
            seen[i] = error, output[~gaps.known]

    judges = bool(there.any())
    completer.completions(weights, max(FILLS, min(most, _TRIED[-1])) if judges else FILLS, see)
    chosen = min(seen, key=lambda i: seen[i][0]) if judges else FILLS
    return seen[chosen][0], chosen, seen[chosen][1]


def _relative(new: Tensor, old: Tensor) -> float:
    """Change of filled entries relative to their size; NaN, which is under no tolerance, where there are none."""
    size = float(new.square().sum())
    return float((new - old).square().sum() / size) ** 0.5 if size > 0 else float("nan")


def _copy(weights: Weights) -> Weights:
    return Weights(weights.rows.clone(), weights.upper.clone())
