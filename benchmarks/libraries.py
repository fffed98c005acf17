"""One fit of either library under the same settings. All else is each library's default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lassonet import LassoNetClassifier as Reference
from numpy.typing import NDArray

import riata
from benchmarks.clock import now
from benchmarks.data import Split, load, split
from benchmarks.floor import Work
from benchmarks.trace import traced


@dataclass(frozen=True)
class Settings:
    """Settings of both libraries."""

    width: int
    multiplier: float = 1.02
    seed: int = 0
    device: str = "cpu"
    batch_size: int | None = None  # None: the library's default
    n_iters: int | None = None  # iterations per point at most; None: the library's default. riata only
    stop_after: int | None = None  # points of the path after the dense model; None: all. The reference only


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a fit."""

    dense_seconds: float
    path_seconds: float
    epochs: int
    points: int
    importances: NDArray[np.floating] | None  # None: stopped before they were known
    point_seconds: float | None = None  # per point after the first, before which λ is searched for; the reference only
    work: Work | None = None  # what the floor is computed from; riata only


def run_riata(parts: Split, settings: Settings) -> Run:
    """Fit riata. Its dense model is trained when its validation loss is within 1 % of the best it reaches."""
    training = riata.Training(
        path_multiplier=settings.multiplier,
        n_iters=(None, settings.n_iters),
        batch_size=settings.batch_size or "auto",
        device=settings.device,
    )
    model = riata.LassoNetClassifier((settings.width,), training=training, random_state=settings.seed)
    with traced(settings.device) as trace:
        path = model.path(*parts.fit, X_val=parts.val.X, y_val=parts.val.y)
        seconds = trace.seconds
    return Run(trace.dense_seconds, seconds, trace.n_iters, len(path), path.importances(), work=trace.work)


def run_lassonet(parts: Split, settings: Settings) -> Run:
    """Fit the reference. Its dense model is trained when its path begins."""
    model = Reference(
        hidden_dims=(settings.width,),
        path_multiplier=settings.multiplier,
        batch_size=settings.batch_size,
        random_state=settings.seed,
        torch_seed=settings.seed,
        device=settings.device,
        verbose=0,
    )
    progress = _Progress(settings)
    try:
        model.path(*parts.fit, X_val=parts.val.X, y_val=parts.val.y, callback=progress, disable_lambda_warning=True)
    except _StopAfterError:
        importances = None
    else:
        importances = np.asarray(model.feature_importances_)
    seconds = progress.seconds
    epochs = sum(point.n_iters for point in progress.points)
    return Run(progress.marks[0], seconds, epochs, len(progress.points), importances, progress.point_seconds)


LIBRARIES = {"riata": run_riata, "lassonet": run_lassonet}


def warm_up(library: str, device: str) -> None:
    """Make a library load and compile what it does once per process."""
    parts = split(load("synthetic_400x6"), 0)
    for batch_size in (None, 100):
        LIBRARIES[library](parts, Settings(4, multiplier=2.0, device=device, batch_size=batch_size, stop_after=0))


class _StopAfterError(Exception):
    """Ends the reference's path."""


class _Progress:
    """The reference's callback: it is called after the dense model and after every point."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._start = now(settings.device)
        self.marks: list[float] = []  # seconds after the dense model and after every point
        self.points: list[Any] = []

    @property
    def seconds(self) -> float:
        """From the start until now."""
        return now(self._settings.device) - self._start

    @property
    def point_seconds(self) -> float | None:
        """Seconds per point after the first."""
        later = self.marks[1:]
        return (later[-1] - later[0]) / (len(later) - 1) if len(later) > 1 else None

    def __call__(self, model: Reference, points: list[Any]) -> None:
        self.marks.append(self.seconds)
        self.points = points
        limit = self._settings.stop_after
        if limit is not None and len(points) > limit:
            raise _StopAfterError
