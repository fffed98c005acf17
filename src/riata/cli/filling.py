"""The command that fills the gaps of a table, and measures how accurate that is."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from riata.cli import continuing, options
from riata.cli.masking import accuracy_notes, hide, measure, overall
from riata.cli.options import Job
from riata.cli.output import (
    SHOWN,
    as_json,
    make_folder,
    mention_rest,
    number_table,
    print_json,
    print_text,
    reporting_errors,
    versions,
    write,
)
from riata.estimators import LassoNetImputer
from riata.files import (
    Fillable,
    TableError,
    check_writable,
    counted,
    encode,
    ending_of,
    prepare_to_fill,
    read,
    read_text,
)


def impute(
    file: options.File,
    out: options.OutFile,
    k: options.Inputs = None,
    numeric: options.Numeric = None,
    dates: options.Dates = None,
    drop: options.PassThrough = None,
    na: options.Missing = None,
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    skip: options.Skip = 0,
    seed: options.Seed = 0,
    hidden: options.Hidden = "256,256",
    checkpoint: continuing.Checkpoint = None,
    resume: continuing.Resume = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Fill the gaps among the numbers, dates and flags of FILE, and measure how accurate that is.

    Known cells stay as they are, and gaps are filled with values of their column's kind: whole numbers, dates, true or false. A
    tenth of the known entries is hidden from the network and predicted by it, which gives the errors that are printed. Text and
    columns left out with --drop are passed through.
    """
    with reporting_errors():
        check_writable(out)
        how = options.read_options(sep, decimal, na, skip)
        _check_not_overwritten(file, out)
        source = read(file, how)
        text = read_text(file, how) if source.is_text and ".csv" in out.name.lower() else None
        table = prepare_to_fill(source, options.column_options(None, numeric, dates, drop), text)
        k = options.check_k(k, table.X.shape[1], "columns of numbers")
        job = Job(out, seed, k, hidden=options.parse_widths(hidden), quiet=quiet, json=json, checkpoint=checkpoint)
        run(table, replace(job, resume=continuing.check_resume(checkpoint, resume)), text)


def run(table: Fillable, job: Job, text: pd.DataFrame | None = None) -> None:
    """Fill the gaps, measure the error on hidden entries, write and print the results.

    Parameters
    ----------
    table : Fillable
        What to fill.
    job : Job
        What was asked for.
    text : DataFrame, optional
        The table as text, to copy known cells as they were written.
    """
    continuing.check_begun(job, ["model"])
    make_folder(job.out.parent)
    job.note(*table.notes)
    if not table.n_gaps:
        write(job.out.parent, {job.out.name: encode(table.frame if text is None else text, job.out, table.sep)})
        print_text(job.console, f"No gaps: nothing to fill. Wrote the same table to {job.out}")
        if job.json:
            print_json(as_json({"versions": versions(), "rows": len(table.X), "gaps": 0}))
        return
    hidden = hide(table.X, job.seed)
    model = _fit(table.X.mask(hidden), job)
    errors = measure(table.X, hidden, model.predict_entries(table.X.mask(hidden)), model.selected_)
    errors["gaps"] = table.gaps.sum()[errors["column"]].to_numpy()
    notes = accuracy_notes(table.X, errors, every=job.k is not None)
    job.note(*notes)
    names = _names(job.out)
    summary = as_json(_summary(model, table, errors, notes, job))
    filled = encode(table.filled(model.predict_entries(table.X), text), job.out, table.sep)
    contents = (filled, errors.to_csv(index=False, lineterminator="\n").encode(), summary)
    write(job.out.parent, dict(zip(names, contents, strict=True)))
    _print(job.console, errors, job.k is not None, names[1])
    print_text(job.console, f"Wrote {names[0]}, {names[1]} and {names[2]} to {job.out.parent}")
    if job.json:
        print_json(summary)


def _names(out: Path) -> tuple[str, str, str]:
    """Return the names of the files: the table, its errors and the summary."""
    stem = out.name[: -len(ending_of(out))]
    return out.name, f"{stem}.errors.csv", f"{stem}.summary.json"


def _check_not_overwritten(file: Path, out: Path) -> None:
    """Raise an error if a file to write is the file to read."""
    for name in _names(out):
        path = out.parent / name
        if path.exists() and path.samefile(file):
            raise TableError(f"{path} is the file to read, and would be overwritten: choose another name for --out")


def _fit(X: pd.DataFrame, job: Job) -> LassoNetImputer:
    model = LassoNetImputer(
        hidden_dims=job.hidden,
        n_features_to_select=job.k or X.shape[1],  # the path ends there: at once, where all columns may be used
        verbose=0 if job.quiet else 1,
        random_state=job.seed,
        **continuing.kept(job, "model"),
    )
    with job.noting_warnings():
        model.fit(X, **continuing.resumed(job))
    return model


def _summary(
    model: LassoNetImputer, table: Fillable, errors: pd.DataFrame, notes: list[str], job: Job
) -> dict[str, Any]:
    n_hidden, explained = overall(errors)
    n_others, of_others = overall(errors[~errors["input"]])
    return {
        "versions": versions(),
        "seed": job.seed,
        "k": job.k,
        "rows": len(table.X),
        "columns": {
            "file": table.frame.shape[1],
            "numbers": table.X.shape[1],
            "with_gaps": int((errors["gaps"] > 0).sum()),
            "empty": list(table.empty),
            "unused": list(table.unused),
        },
        "gaps": table.n_gaps,
        "estimator": type(model).__name__,
        "parameters": model.get_params(),
        "n_inputs": model.n_selected_,
        "inputs": table.X.columns[model.selected_].tolist(),
        "hidden": {"entries": n_hidden, "explained": explained},
        "hidden_in_other_columns": {"entries": n_others, "explained": of_others},
        "errors": errors.to_dict("records"),
        "notes": [*table.notes, *notes],
    }


def _print(console: Console, errors: pd.DataFrame, few_columns: bool, rest: str) -> None:
    console.print("", _error_table(errors, rest), "", sep="\n")
    n_hidden, explained = overall(errors)
    if n_hidden:
        share = f"{_percent(explained)} of their variance explained (column means: 0 %)"
        print_text(console, f"Hidden for this check: {n_hidden} {'entry' if n_hidden == 1 else 'entries'}; {share}")
    else:
        print_text(console, "The error cannot be measured: too few entries are known to hide some of them.")
    if few_columns:
        _print_inputs(console, errors)


def _print_inputs(console: Console, errors: pd.DataFrame) -> None:
    names, others = errors.loc[errors["input"], "column"].sort_index(), errors[~errors["input"]]
    print_text(console, f"Columns to measure: {', '.join(names) or 'none'}")
    n_hidden, explained = overall(others)
    if n_hidden:
        share = f"{_percent(explained)} of the variance of their {n_hidden} hidden entries is explained"
        print_text(console, f"Reconstruction of the other {len(others)} from {counted(len(names), 'column')}: {share}")


def _error_table(errors: pd.DataFrame, rest: str) -> RichTable:
    gaps = errors["gaps"]
    title = f"Filled {counted(int(gaps.sum()), 'gap')} in {(gaps > 0).sum()} of {len(errors)} columns of numbers"
    printed = number_table(title, "column", ["filled", "hidden", "typical error", "of the mean", "explained"])
    for row in errors.head(SHOWN).to_dict("records"):
        cells = [f"{row[name]:.3g}" if row["hidden"] else "–" for name in ("error", "error_of_mean")]
        printed.add_row(Text(row["column"]), str(row["gaps"]), str(row["hidden"]), *cells, _percent(row["explained"]))
    mention_rest(printed, len(errors), rest)
    return printed


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"
