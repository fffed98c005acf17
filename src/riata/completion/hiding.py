"""A solver that hides entries of a table and learns to predict them from the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.network.stacked import AnyPass, Weights
from riata.solver.problem import Problem
from riata.solver.solve import Solution, Solver
from riata.solver.stopping import Mask, Stopping

__all__ = ["MAX_FILLS", "Completer", "Gaps", "fill"]

MAX_FILLS = 8  # in training; the number is drawn for each hiding, so that the network is trained for every fill


@dataclass(frozen=True, eq=False)
class Gaps:
    """A scaled table with gaps, as the networks get it."""

    values: Tensor  # (n, d), zero at entries that are not observed
    observed: Tensor  # (n, d) bool: entries to learn from
    validation: Tensor  # (n, d): values of the validation entries, NaN elsewhere

    @cached_property
    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest observed value of each column; zero for a column without any."""
        low = torch.where(self.observed, self.values, torch.inf).amin(0)
        high = torch.where(self.observed, self.values, -torch.inf).amax(0)
        return torch.where(low <= high, low, 0.0), torch.where(low <= high, high, 0.0)


def fill(
    run: Callable[[Tensor], Tensor],
    values: Tensor,
    shown: Tensor,
    columns: Tensor,
    limits: tuple[Tensor, Tensor],
    n_fills: int,
    on_fill: Callable[[int, Tensor], None] | None = None,
) -> Tensor:
    """Fill the entries that are not shown with the network's output, repeatedly, each time with the last output as input.

    Parameters
    ----------
    run : callable
        The network: (n, k) entries of the columns that are inputs -> (n, d) all columns. May overwrite its last output.
    values, shown : Tensor of shape (n, d)
        The table, and the mask of the entries that the network may use.
    columns : Tensor of shape (k,)
        Positions of the inputs.
    limits : pair of Tensor of shape (d,)
        The lowest and the highest value to fill in.
    n_fills : int
        Number of fills. The first input has the mean of a sample's shown inputs at the entries that are not shown.
    on_fill : callable, optional
        Called after each fill with its number and all outputs.

    Returns
    -------
    Tensor of shape (n, d)
        The last output.
    """
    inputs, shown_inputs = values[:, columns], shown[:, columns]
    n_shown = shown_inputs.sum(1, keepdim=True).clamp_min(1)
    means = torch.where(shown_inputs, inputs, 0.0).sum(1, keepdim=True) / n_shown
    output = torch.clamp(means, *limits)  # (n, d)
    for i in range(n_fills):
        output = run(torch.where(shown_inputs, inputs, output[:, columns])).clamp(*limits)
        if on_fill is not None:
            on_fill(i + 1, output)
    return output


class Completer(Solver):
    """A solver that hides new entries of the table whenever it starts, and fills them with the network it starts from.

    Parameters
    ----------
    problem : Problem
        Of one replica; its samples are copies of the table's, and its X and target are overwritten.
    gaps : Gaps
        The table.
    columns : Tensor of shape (k,)
        Positions in the table of the columns of X.
    hide : float
        Share of the observed entries to hide; with 0 every observed entry is both input and target.
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
        network, X, n = problem.network, _table(problem), len(gaps.values)
        self._copies_pass = network.passes(1, len(X), X, learns=False)
        self._table_pass = self._copies_pass if len(X) == n else network.passes(1, n, X, learns=False)

    def minimise(
        self,
        start: Weights,
        lambda_: Tensor,
        stopping: Stopping,
        frozen: Mask | None = None,
        most: NDArray[np.int64] | None = None,
    ) -> Solution:
        """Hide new entries, then minimise."""
        self._hide(start)
        return super().minimise(start, lambda_, stopping, frozen, most)

    @torch.inference_mode()
    def completions(
        self, weights: Weights, n_fills: int, on_fill: Callable[[int, Tensor], None] | None = None
    ) -> Tensor:
        """Return the output for the table with all observed entries shown, (n, d)."""
        return self._fill(weights, self._table_pass, self.gaps.values, self.gaps.observed, n_fills, on_fill)

    @torch.inference_mode()
    def _hide(self, weights: Weights) -> None:
        """Draw the entries to hide, make them the target, and write the filled copies of the table into X."""
        problem, gaps = self.problem, self.gaps
        n, d = gaps.values.shape
        X = _table(problem)
        n_copies = len(X) // n
        uniform = torch.rand((n_copies, n, d), generator=self.draw, device=gaps.values.device)
        hidden = (uniform < self.hide) & gaps.observed
        shown = (gaps.observed & ~hidden).flatten(0, 1)
        values = gaps.values.repeat(n_copies, 1)
        targets = hidden if self.hide else gaps.observed.expand_as(hidden)
        problem.target.copy_(torch.where(targets, gaps.values, torch.nan).flatten(0, 1))
        n_fills = int(torch.randint(1, MAX_FILLS + 1, (1,), generator=self.draw, device=gaps.values.device))
        output = self._fill(weights, self._copies_pass, values, shown, n_fills if self.hide else 0)
        torch.where(shown[:, self.columns], values[:, self.columns], output[:, self.columns], out=X)
        if self._descent is not None and self._descent.problem is not problem:
            _table(self._descent.problem).copy_(X[:, self._features])
        self._evaluated = None  # the evaluation of these weights was on other inputs

    def _fill(
        self,
        weights: Weights,
        forward: AnyPass,
        values: Tensor,
        shown: Tensor,
        n_fills: int,
        on_fill: Callable[[int, Tensor], None] | None = None,
    ) -> Tensor:
        selected = self.problem.selected(weights.rows)[0].nonzero().squeeze(-1)
        layers = self.problem.network.layers(Weights(weights.rows[:, selected], weights.upper))
        columns, limits = self.columns[selected], self.gaps.limits
        return fill(lambda X: forward.forward(layers, X)[0], values, shown, columns, limits, n_fills, on_fill)


def _table(problem: Problem) -> Tensor:
    """Return the filled copies of the table."""
    assert isinstance(problem.X, Tensor)
    return problem.X
