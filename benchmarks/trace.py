"""Trace riata while it fits: when the dense model is trained, and how much work is done in all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.clock import now
from benchmarks.floor import Work
from riata.network.stacked import Weights
from riata.solver.descent import Descent
from riata.solver.problem import Evaluation
from riata.solver.solve import Solution, Solver


class Trace:
    """Evaluations and solutions of one fit."""

    def __init__(self, device: str):
        self._device = device
        self._start = now(device)
        self._dense: list[tuple[float, float]] = []  # seconds and validation loss while the dense model is trained
        self._n_solved = 0
        self.n_iters = 0  # on trial points and rejected points as well
        self.work = Work()

    @property
    def seconds(self) -> float:
        """From the start until now."""
        return now(self._device) - self._start

    @property
    def dense_seconds(self) -> float:
        """From the start until the validation loss of the dense model is within 1 % of the best it reaches."""
        best = min(loss for _, loss in self._dense)
        return next(seconds for seconds, loss in self._dense if loss <= best * 1.01)

    def evaluated(self, evaluation: Evaluation) -> None:
        """Record an evaluation of the dense model; ignore later ones."""
        if self._n_solved == 0:
            loss = evaluation.loss if evaluation.val_loss is None else evaluation.val_loss
            self._dense.append((self.seconds, float(loss[0])))

    def solved(self, solver: Solver, start: Weights, solution: Solution) -> None:
        """Record the iterations of a solution, which were over the features of its start."""
        n_iters = int(solution.n_iters.max())
        n_features = int(solver.problem.selected(start.rows).any(0).sum())
        self._n_solved += 1
        self.n_iters += n_iters
        self.work += Work.of(solver.problem, n_features, n_iters, solver.batch_size)


@contextmanager
def traced(device: str) -> Iterator[Trace]:
    """Trace every evaluation and every solution inside the block."""
    trace = Trace(device)
    evaluate, minimise = Descent.evaluate, Solver.minimise

    def traced_evaluate(descent: Descent) -> tuple[Evaluation, Any]:
        found = evaluate(descent)
        trace.evaluated(found[0])
        return found

    def traced_minimise(solver: Solver, start: Weights, *args, **kwargs) -> Solution:
        solution = minimise(solver, start, *args, **kwargs)
        trace.solved(solver, start, solution)
        return solution

    with patch.object(Descent, "evaluate", traced_evaluate), patch.object(Solver, "minimise", traced_minimise):
        yield trace
