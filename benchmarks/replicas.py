"""Time of many networks at once on a GPU: one fit, cross-validation and stability selection, side by side and as jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks import table
from benchmarks.clock import now
from benchmarks.data import load
from benchmarks.floor import Rates
from benchmarks.paths import Cell
from benchmarks.trace import traced
from riata import LassoNetClassifier, LassoNetClassifierCV, StabilitySelector, Training

_FOLDS, _HALVES = 5, 50


def measure(name: str, multiplier: float, device: str, rates: Rates) -> Iterator[Cell]:
    """Time each estimator, after a first run that compiles."""
    data = load(name)
    shared: dict[str, Any] = {"training": Training(device=device, path_multiplier=multiplier), "random_state": 0}
    hidden = (data.width,)

    def plain() -> Any:
        return LassoNetClassifier(hidden, **shared).fit(data.X, data.y)

    def folds(n_jobs: int | None) -> Any:
        return LassoNetClassifierCV(hidden, cv=_FOLDS, n_jobs=n_jobs, **shared).fit(data.X, data.y)

    def halves(n_jobs: int | None) -> Any:
        model = LassoNetClassifier(hidden, training=shared["training"])
        return StabilitySelector(model, n_resamples=_HALVES, n_jobs=n_jobs, random_state=0).fit(data.X, data.y)

    plain()
    yield _cell(name, "one fit", "", device, rates, plain)
    for how, n_jobs in (("side by side", None), ("jobs", 1)):
        yield _cell(name, f"{_FOLDS}-fold cross-validation", how, device, rates, lambda n_jobs=n_jobs: folds(n_jobs))
        yield _cell(name, f"{_HALVES} half-samples", how, device, rates, lambda n_jobs=n_jobs: halves(n_jobs))


def _cell(name: str, scheme: str, how: str, device: str, rates: Rates, fit: Callable[[], Any]) -> Cell:
    start = now(device)
    with traced(device) as trace:
        model = fit()
    cell = {"data": name, "scheme": scheme, "how": how, "seconds": now(device) - start}
    floor = {"floor_seconds": rates.floor(trace.work), "updates": trace.work.updates}
    return {**cell, **floor, "selected": int(model.n_selected_)}


def page(cells: Sequence[Cell]) -> str:
    """Render as a table; the first cell is the single fit."""
    header = ["data", "what", "how", "time (s)", "of one fit", "updates", "floor (s)", "features selected"]
    rows = [
        [
            cell["data"],
            cell["scheme"],
            cell["how"],
            table.number(cell["seconds"]),
            table.number(cell["seconds"] / cells[0]["seconds"]),
            f"{cell['updates']:,}",
            table.number(cell["floor_seconds"]),
            str(cell["selected"]),
        ]
        for cell in cells
    ]
    return table.markdown(header, rows)
