"""The report of a selection."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from riata.cli.evidence import Evidence
from riata.cli.recipe import python_lines
from riata.cli.results import Result
from riata.report import About, Report, summarise

__all__ = ["report_file"]


def report_file(result: Result, found: Evidence) -> bytes:
    """Return the contents of the report."""
    job, table, model = result.job, result.table, result.model
    selectors = {name: selection.selector for name, selection in vars(found).items() if selection is not None}
    shared: dict[str, Any] = {"image_shape": job.image, "random_state": job.seed}
    options = {"title": _title(result)} | {name: value for name, value in shared.items() if value}
    k = None if job.cv is not None else job.k
    kinds = {column.name: column.kind for column in table.columns}
    about = About(
        title=_title(result),
        target=table.target if table.survival is None else f"survival times ({table.target})",
        notes=result.notes,
        code=python_lines(result.origin, model, k=k, seed=job.seed, report=options, selectors=selectors),
        command=result.origin.command,
        facts=_facts(result),
        kinds=tuple(kinds[name] for name in table.X.columns),
    )
    X, y = table.X.iloc[result.held_out], table.y_of(result.held_out)
    with Console(stderr=True, quiet=job.quiet).status("report"), job.noting_warnings():
        summary = summarise(model, X, y, about=about, n_jobs=job.n_jobs, **shared, **selectors)
        return Report(summary).to_html().encode()


def _title(result: Result) -> str:
    name = result.origin.file.name
    return f"{result.table.target} in {'standard input' if name == '-' else name}"


def _facts(result: Result) -> tuple[tuple[str, str], ...]:
    rows = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in result.rows.items())
    columns = f"{len(result.table.columns):,}, of which {result.table.X.shape[1]:,} are features"
    return (("file", result.origin.file.name), ("rows", rows), ("columns", columns))
