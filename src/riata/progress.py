"""Progress bars: for a path (λ, features left, validation loss and time left), and for many jobs."""

from __future__ import annotations

import math
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from riata.path.points import Point

__all__ = ["JobProgress", "PathProgress"]


class PathProgress:
    """Show a bar on standard error while a path is solved; shows nothing when ``shown`` is false.

    A path has no known length. The bar runs over the logarithm of the number of features left, which falls roughly evenly.
    """

    def __init__(self, n_features: int, *, until: int = 0, shown: bool = True):
        self._span = math.log1p(n_features) - math.log1p(until)
        self._until = until
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self._task: TaskID | None = None
        self._n_points = 0

    def __enter__(self) -> PathProgress:
        self._bar.start()
        self._task = self._bar.add_task("dense model", total=max(self._span, 1e-9))
        return self

    def __call__(self, point: Point) -> None:
        """Show one more point."""
        if self._task is None:
            return
        self._n_points += 1
        loss = point.loss if math.isnan(point.val_loss) else point.val_loss
        done = self._span - math.log1p(point.n_selected) + math.log1p(self._until)
        text = f"λ {point.lambda_:9.3g}   {point.n_selected:5d} features   loss {loss:7.4f}"
        self._bar.update(self._task, completed=max(done, 0.0), description=text)

    def train(self, passes: int, error: float) -> None:
        """Show how far the training of a model without a penalty is."""
        if self._task is not None:
            self._bar.update(self._task, description=f"training   {passes:5d} passes   error {error:7.4f}")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._task is not None and self._n_points and error is None:  # the last point is not the result
            self._bar.update(
                self._task, completed=max(self._span, 1e-9), description=f"path of {self._n_points} points"
            )
        if not self._bar.disable:  # before rich 14.1 an empty line would be printed
            self._bar.stop()


class JobProgress:
    """Show a bar on standard error while jobs are done; shows nothing when ``shown`` is false."""

    def __init__(self, title: str, n_jobs: int, *, shown: bool = True):
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed} of {task.total}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self._task = self._bar.add_task(title, total=n_jobs)

    def __enter__(self) -> JobProgress:
        self._bar.start()
        return self

    def advance(self) -> None:
        """Show one more job done."""
        self._bar.advance(self._task)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._bar.disable:  # before rich 14.1 an empty line would be printed
            self._bar.stop()
