"""Both libraries on the same splits: time, epochs, accuracy with few features, memory, and the distance to the floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import table
from benchmarks.data import SYNTHETIC, Data, load, split
from benchmarks.floor import Rates
from benchmarks.learners import LEARNERS, N_FEATURES, score
from benchmarks.libraries import LIBRARIES, Run, Settings
from benchmarks.memory import peak

Cell = dict[str, Any]  # one fit: plain numbers, as they go to the JSON file

NOTES = f"""
Times are means over seeds, after a warm-up of both libraries. *Dense*: riata until the validation loss of its dense model is
within 1 % of the best it reaches, lassonet until its path begins. *Path*: the whole fit. *Extrapolated*: stopped early;
its seconds per point, times the points that it needed with full batches in this run. *At least*: stopped early, and nothing to
extrapolate to. *Epochs* of riata count everything, trial points and rejected points included. *Accuracy*: one-hidden-layer
network and 50 extremely randomised trees on the {N_FEATURES} most important features, mean ± standard deviation over seeds.
*Peak memory*: beyond what was allocated before the fit, and as a multiple of the float32 training and validation samples; of
lassonet over its dense model and first points only. *Floor*: the two products with X and the memory traffic of the weights,
over the active features, at the rates of a large product and a large copy measured in this run, and on a GPU one launch for
each update; *share* is floor / path. A dash: not measured. lassonet would take hours on `{SYNTHETIC}` and is run there with
`--reference` only.
"""


@dataclass(frozen=True)
class Plan:
    """What is to be measured on each data set."""

    seeds: int = 3
    multiplier: float = 1.02
    device: str = "cpu"
    batch_sizes: tuple[int | None, ...] = (None,)
    reference: str = "auto"  # auto: not on synthetic data; always; never
    reference_points: int | None = None
    memory: bool = True

    def libraries(self, data: str) -> list[str]:
        """Return the libraries to run on a data set."""
        wanted = self.reference == "always" or (self.reference == "auto" and not data.startswith(SYNTHETIC))
        return [name for name in LIBRARIES if name == "riata" or wanted]

    def settings(self, data: Data, seed: int, batch_size: int | None) -> Settings:
        """Return the settings of a fit.

        Where the reference is run on full and on mini-batches, it is not stopped on full ones: from its number of points there
        the time of the others is extrapolated.
        """
        whole = batch_size is None and len(self.batch_sizes) > 1
        stop_after = None if whole else self.reference_points
        return Settings(data.width, self.multiplier, seed, self.device, batch_size, stop_after=stop_after)


def measure(name: str, plan: Plan, rates: Rates) -> Iterator[Cell]:
    """Run the libraries in turn on the same splits."""
    data = load(name)
    for seed in range(plan.seeds):
        parts = split(data, seed)
        n_bytes = 4 * (parts.fit.X.size + parts.val.X.size)
        for batch_size in plan.batch_sizes:
            for library in plan.libraries(name):
                settings = plan.settings(data, seed, batch_size)
                run = LIBRARIES[library](parts, settings)
                cell = {"data": name, "batch_size": batch_size, "library": library, "seed": seed, "X_bytes": n_bytes}
                cell |= _numbers(run, rates)
                if run.importances is not None:
                    cell |= score(parts, run.importances, seed)
                if plan.memory and seed == 0:
                    cell["peak_bytes"] = peak(name, library, settings)
                yield cell


def _numbers(run: Run, rates: Rates) -> Cell:
    return {
        "dense_seconds": run.dense_seconds,
        "path_seconds": run.path_seconds,
        "epochs": run.epochs,
        "points": run.points,
        "point_seconds": run.point_seconds,
        "complete": run.importances is not None,
        "floor_seconds": None if run.work is None else rates.floor(run.work),
    }


def page(cells: Sequence[Cell], rates: Rates) -> str:
    """Render all cells as a table, one line per data set, batch size and library."""
    header = [
        "data", "library", "dense (s)", "path (s)", "times faster", "path / dense", "epochs", "points",
        *(f"accuracy, {learner}" for learner in LEARNERS), "peak memory (MB)", "of X", "floor (s)", "share",
    ]  # fmt: skip
    keys = dict.fromkeys((cell["data"], cell["batch_size"]) for cell in cells)
    rows = [_row(key, library, cells) for key in keys for library in LIBRARIES if _select(cells, *key, library)]
    speed = f"Measured here: {rates.flops / 1e9:,.0f} GFLOP/s in products, {rates.bytes / 1e9:,.1f} GB/s in copies."
    return f"{table.markdown(header, rows)}\n{NOTES}\n{speed}"


def _row(key: tuple[str, int | None], library: str, cells: Sequence[Cell]) -> list[str]:
    data, batch_size = key
    matching = _select(cells, data, batch_size, library)
    seconds, kind = _path_seconds(matching, cells)
    dense, floor = table.mean(matching, "dense_seconds"), table.mean(matching, "floor_seconds")
    memory = table.mean(matching, "peak_bytes")
    return [
        data if batch_size is None else f"{data}, batches of {batch_size}",
        library,
        table.number(dense),
        kind + table.number(seconds),
        _times_faster(matching, seconds, cells),
        "–" if not dense else kind + table.number(seconds / dense),
        table.number(table.mean(matching, "epochs"), 5) + _so_far(matching),
        table.number(table.mean(matching, "points"), 5) + _so_far(matching),
        *(table.spread([cell.get(learner) for cell in matching]) for learner in LEARNERS),
        table.number(memory and memory / 1e6),
        table.number(memory and memory / matching[0]["X_bytes"]),
        table.number(floor),
        "–" if floor is None else f"{floor / seconds:.0%}",
    ]


def _times_faster(matching: Sequence[Cell], seconds: float, cells: Sequence[Cell]) -> str:
    """Compare riata with the reference on the same data and batches."""
    if matching[0]["library"] != "riata":
        return ""
    reference = _select(cells, matching[0]["data"], matching[0]["batch_size"], "lassonet")
    if not reference:
        return "–"
    reference_seconds, kind = _path_seconds(reference, cells)
    return kind + table.number(reference_seconds / seconds)


def _path_seconds(matching: Sequence[Cell], cells: Sequence[Cell]) -> tuple[float, str]:
    """Mean time of the path, and its kind: measured, extrapolated, or a lower bound.

    A path that was stopped is extrapolated by its time per point, the first left out, to the number of points that the same
    library needed on the same data with full batches; where that was not measured, the time so far is a lower bound.
    """
    seconds = table.mean(matching, "path_seconds") or 0.0
    if all(cell["complete"] for cell in matching):
        return seconds, ""
    full = [cell for cell in _select(cells, matching[0]["data"], None, matching[0]["library"]) if cell["complete"]]
    per_point, wanted = table.mean(matching, "point_seconds"), table.mean(full, "points")
    if per_point is None or wanted is None:
        return seconds, "at least "
    return seconds + per_point * max(0.0, wanted - (table.mean(matching, "points") or 0.0)), "extrapolated: "


def _so_far(matching: Sequence[Cell]) -> str:
    return "" if all(cell["complete"] for cell in matching) else " (stopped)"


def _select(cells: Sequence[Cell], data: str, batch_size: int | None, library: str) -> list[Cell]:
    wanted = (data, batch_size, library)
    return [cell for cell in cells if (cell["data"], cell["batch_size"], cell["library"]) == wanted]
