"""Watch riata from outside while it fits: how fast the dense model gets good, and how much work is done in all."""

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

_CLOSE = 1.01  # of its best validation loss: from there on the dense model counts as trained


class Trace:
    """What one fit did."""

    def __init__(self, device: str):
        self._device = device
        self._start = now(device)
        self._dense: list[tuple[float, float]] = []  # seconds and validation loss on the way to the dense model
        self._n_solved = 0
        self.passes = 0  # on trials and on points gone back on as well
        self.work = Work()

    @property
    def seconds(self) -> float:
        """From the start until now."""
        return now(self._device) - self._start

    @property
    def dense_seconds(self) -> float:
        """From the start until the validation loss of the dense model is within 1 % of the best it reaches."""
        best = min(loss for _, loss in self._dense)
        return next(seconds for seconds, loss in self._dense if loss <= best * _CLOSE)

    def looked(self, look: Evaluation) -> None:
        """Note what a descent saw, as long as it is that of the dense model."""
        if self._n_solved == 0:
            loss = look.loss if look.val_loss is None else look.val_loss
            self._dense.append((self.seconds, float(loss[0])))

    def solved(self, solver: Solver, start: Weights, solution: Solution) -> None:
        """Note the passes that a solution took, and that they were over the features of its start."""
        passes = int(solution.n_iters.max())
        n_features = int(solver.problem.selected(start.rows).any(0).sum())
        self._n_solved += 1
        self.passes += passes
        self.work += Work.of(solver.problem, n_features, passes, solver.batch_size)


@contextmanager
def watched(device: str) -> Iterator[Trace]:
    """Watch every look and every solution inside the block."""
    trace = Trace(device)
    evaluate, minimise = Descent.evaluate, Solver.minimise

    def watched_look(descent: Descent) -> tuple[Evaluation, Any]:
        seen = evaluate(descent)
        trace.looked(seen[0])
        return seen

    def watched_minimise(solver: Solver, start: Weights, *args, **kwargs) -> Solution:
        solution = minimise(solver, start, *args, **kwargs)
        trace.solved(solver, start, solution)
        return solution

    with patch.object(Descent, "evaluate", watched_look), patch.object(Solver, "minimise", watched_minimise):
        yield trace
