"""How much more time buys how much accuracy: riata with more or fewer passes per point, on the same splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks import table
from benchmarks.data import load, split
from benchmarks.learners import LEARNERS, score
from benchmarks.libraries import run_riata
from benchmarks.paths import Cell, Plan


def measure(name: str, dwells: Sequence[int], plan: Plan) -> Iterator[Cell]:
    """Fit riata once per split and number of passes."""
    data = load(name)
    for seed in range(plan.seeds):
        parts = split(data, seed)
        for dwell in dwells:
            run = run_riata(parts, replace(plan.settings(data, seed, plan.batch_sizes[0]), dwell=dwell))
            cell = {"data": name, "dwell": dwell, "seed": seed, "path_seconds": run.path_seconds}
            yield cell | {"epochs": run.epochs, "points": run.points} | score(parts, run.importances, seed)


def page(cells: Sequence[Cell]) -> str:
    """Render the curve as a table."""
    header = ["data", "passes per point", "path (s)", "of the shortest", "epochs", "points"]
    header += [f"accuracy, {learner}" for learner in LEARNERS]
    keys = dict.fromkeys((cell["data"], cell["dwell"]) for cell in cells)
    means = {key: table.mean(_pick(cells, *key), "path_seconds") or 0.0 for key in keys}
    rows = []
    for data, dwell in keys:
        own = _pick(cells, data, dwell)
        shortest = min(seconds for (name, _), seconds in means.items() if name == data)
        times = [table.number(means[data, dwell]), table.number(means[data, dwell] / shortest)]
        counts = [table.number(table.mean(own, key), 5) for key in ("epochs", "points")]
        accuracy = [table.spread([cell[learner] for cell in own]) for learner in LEARNERS]
        rows.append([data, str(dwell), *times, *counts, *accuracy])
    note = "Passes per point are `n_iters[1]`, an upper bound: a point is left earlier when it no longer improves."
    return f"{table.markdown(header, rows)}\n\n{note}"


def _pick(cells: Sequence[Cell], data: str, dwell: int) -> list[Cell]:
    return [cell for cell in cells if (cell["data"], cell["dwell"]) == (data, dwell)]
