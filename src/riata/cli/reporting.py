"""The report of a selection, and the command that writes one of a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from riata.cli import options
from riata.cli.evidence import Evidence
from riata.cli.opening import NewTable, open_model, rows_of
from riata.cli.options import Job
from riata.cli.output import make_folder, print_text, reporting_errors, write
from riata.cli.recipe import command_line, python_lines
from riata.cli.results import Result
from riata.files import Column, Table, TableError, first_few
from riata.report import About, Report, summarise

__all__ = ["report", "report_file"]

_COLUMNS, _NOTES = 60, 10  # columns, and notes on single columns, of a report


def report(
    context: typer.Context,
    model: options.ModelFile,
    file: options.ReportFile = None,
    data: options.Data = None,
    out: options.OutReport = Path("report.html"),
    target: options.KnownTarget = None,
    image: options.Image = None,
    na: options.Missing = None,
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    skip: options.Skip = 0,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write a report of MODEL on a table: scores, effects and the path, as one HTML file.

    FILE needs the selected columns and the target; points of the path with columns that FILE has not are left out. Points other
    than the model are shown before a refit, as a model file holds no samples. If FILE is the table that MODEL was fitted on,
    the report is about the rows that were held out.
    """
    with reporting_errors():
        if out.suffix.lower() not in (".html", ".htm"):
            raise TableError(f"{out} is no name of a page: choose one for --out that ends in .html")
        data = _one_of(file, data)
        make_folder(out.parent)
        job = Job(out, seed, quiet=quiet, image=options.parse_image(image))
        opened = open_model(model)
        table = NewTable.read(data, opened, options.read_options(sep, decimal, na, skip), all_features=True)
        options.check_image(job.image, table.X.shape[1])
        known = table.target(opened, target)
        if known is None:
            raise TableError(f"a report needs the true values: {table.lacks_target}; --target names the column")
        X, y, notes = known
        which = opened.rows_of(table, y, target)
        n_known, X, y = len(X), X.iloc[which.rows], rows_of(y, which.rows)
        notes = (*([which.text] if which.held_out else []), *table.notes, *notes, *_unread(table))
        job.note(*notes)
        reading = table.reading
        survival = "" if reading.survival is None else f"survival times ({reading.survival.time})"
        about = About(
            title=f"{model.name} on {'standard input' if str(data) == '-' else data.name}",
            target=target or reading.target or survival,
            notes=notes,
            command=command_line(context),
            facts=(("model", model.name), ("rows", _rows(len(X), n_known, len(table.X)))),
            kinds=tuple(feature.kind for feature in reading.features),
            held_out=which.held_out,
            absent=table.unread,
        )
        with Console(stderr=True, quiet=quiet).status("report"), job.noting_warnings():
            summary = summarise(opened.model, X, y, about=about, image_shape=job.image, random_state=seed)
        write(out.parent, {out.name: Report(summary).to_html().encode()})
        print_text(job.console, " ".join(summary["answer"]))
        print_text(job.console, f"Wrote {out}")


def _one_of(file: Path | None, data: Path | None) -> Path:
    """Return the table, which is given by its position or with ``--data``."""
    given = [each for each in (file, data) if each is not None]
    if len(given) != 1:
        raise TableError("give one table: riata report MODEL FILE")
    return given[0]


def _rows(n: int, n_known: int, n_all: int) -> str:
    if n == n_known:
        return f"{n:,} of {n_all:,}"
    return f"{n:,} that were held out, of {n_all:,}"


def _unread(table: NewTable) -> list[str]:
    """Return which columns that the model does not use are missing."""
    if not table.unread:
        return []
    names = first_few(list(map(repr, table.unread)))
    return [
        f"missing, or not what they were in the table of the fit: {names}. The model does not use them; points of the "
        "path that do are left out"
    ]


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
        notes=(*result.notes, *_column_notes(table), *_selector_notes(found)),
        code=python_lines(result.origin, model, k=k, seed=job.seed, report=options, selectors=selectors),
        command=result.origin.command,
        facts=_facts(result),
        kinds=tuple(kinds[name] for name in table.X.columns),
        columns=tuple((column.name, column.kind, column.holds, column.use) for column in _listed_columns(table)),
        n_columns=len(table.columns),
        held_out=True,
    )
    X, y = table.X.iloc[result.held_out], table.y_of(result.held_out)
    with Console(stderr=True, quiet=job.quiet).status("report"), job.noting_warnings():
        summary = summarise(model, X, y, about=about, n_jobs=job.n_jobs, **shared, **selectors)
        return Report(summary).to_html().encode()


def _listed_columns(table: Table) -> list[Column]:
    """Return all columns; of many, the first that are no plain features."""
    columns = list(table.columns)
    return columns if len(columns) <= _COLUMNS else [column for column in columns if column.has_remarks][:_COLUMNS]


def _column_notes(table: Table) -> list[str]:
    """Return what to check in single columns."""
    notes = [f"{column.name!r}: {column.remark}" for column in table.columns if column.remark]
    more = len(notes) - _NOTES
    return notes if more <= 0 else [*notes[:_NOTES], f"and {more} more such columns: see columns.csv"]


def _selector_notes(found: Evidence) -> list[str]:
    selections = {name: selection for name, selection in vars(found).items() if selection is not None}
    return [f"{name}: {note}" for name, selection in selections.items() for note in selection.notes]


def _title(result: Result) -> str:
    name = result.origin.file.name
    return f"{result.table.target} in {'standard input' if name == '-' else name}"


def _facts(result: Result) -> tuple[tuple[str, str], ...]:
    rows = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in result.rows.items())
    columns = f"{len(result.table.columns):,}, of which {result.table.X.shape[1]:,} are features"
    return (("file", result.origin.file.name), ("rows", rows), ("columns", columns))
