"""Time against accuracy: riata with more or fewer iterations per point, on the same splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks import table
from benchmarks.data import load, split
from benchmarks.learners import LEARNERS, score
from benchmarks.libraries import run_riata
from benchmarks.paths import Cell, Plan


def measure(name: str, limits: Sequence[int], plan: Plan) -> Iterator[Cell]:
    """Fit riata once per split and number of iterations."""
    data = load(name)
    for seed in range(plan.seeds):
        parts = split(data, seed)
        for n_iters in limits:
            run = run_riata(parts, replace(plan.settings(data, seed, plan.batch_sizes[0]), n_iters=n_iters))
            cell = {"data": name, "n_iters": n_iters, "seed": seed, "path_seconds": run.path_seconds}
            yield cell | {"epochs": run.epochs, "points": run.points} | score(parts, run.importances, seed)


def page(cells: Sequence[Cell]) -> str:
    """Render the curve as a table."""
    header = ["data", "iterations per point", "path (s)", "of the shortest", "epochs", "points"]
    header += [f"accuracy, {learner}" for learner in LEARNERS]
    keys = dict.fromkeys((cell["data"], cell["n_iters"]) for cell in cells)
    means = {key: table.mean(_select(cells, *key), "path_seconds") or 0.0 for key in keys}
    rows = []
    for data, n_iters in keys:
        matching = _select(cells, data, n_iters)
        shortest = min(seconds for (name, _), seconds in means.items() if name == data)
        times = [table.number(means[data, n_iters]), table.number(means[data, n_iters] / shortest)]
        counts = [table.number(table.mean(matching, key), 5) for key in ("epochs", "points")]
        accuracy = [table.spread([cell[learner] for cell in matching]) for learner in LEARNERS]
        rows.append([data, str(n_iters), *times, *counts, *accuracy])
    note = "Iterations per point are `n_iters[1]`, an upper bound: the solver stops earlier when a point no longer improves."
    return f"{table.markdown(header, rows)}\n\n{note}"


def _select(cells: Sequence[Cell], data: str, n_iters: int) -> list[Cell]:
    return [cell for cell in cells if (cell["data"], cell["n_iters"]) == (data, n_iters)]
