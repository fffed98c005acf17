"""The command that fills the gaps of a table, and says how sure it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from riata.cli.output import (
    SHOWN,
    Dates,
    Decimal,
    File,
    Hidden,
    Job,
    Missing,
    Numeric,
    Quiet,
    Seed,
    Separator,
    Skip,
    as_json,
    asked,
    at_most,
    make_folder,
    number_table,
    reading,
    say,
    telling_errors,
    versions,
    widths,
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
    first_few,
    prepare_to_fill,
    read,
    read_text,
)

HIDDEN = 0.1  # share of the known entries that are hidden on purpose
FEW = 10  # known entries of a column of which none is hidden


def impute(
    file: File,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The filled table, .csv or .parquet; its folder is made.")
    ],
    k: Annotated[int | None, typer.Option("--k", help="Fill all columns from at most so many of them.")] = None,
    numeric: Numeric = None,
    dates: Dates = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COL", help="A column to pass through untouched; may be repeated."),
    ] = None,
    na: Missing = None,
    sep: Separator = None,
    decimal: Decimal = None,
    skip: Skip = 0,
    seed: Seed = 0,
    hidden: Hidden = "256,256",
    quiet: Quiet = False,
) -> None:
    """Fill the gaps among the numbers, dates and flags of FILE, and say how good that is.

    What is known stays as it is, and gaps are filled with what the column holds: whole numbers, dates, true or false. A tenth
    of the known entries is hidden from the network and predicted by it, which gives the errors that are printed. Text and
    columns left out with --drop are passed through.
    """
    with telling_errors():
        check_writable(out)
        how = reading(sep, decimal, na, skip)
        _spare(file, out)
        source = read(file, how)
        text = read_text(file, how) if source.is_text and ".csv" in out.name.lower() else None
        table = prepare_to_fill(source, asked(None, numeric, dates, drop), text)
        k = at_most(k, table.X.shape[1], "columns of numbers")
        run(table, Job(out, seed, k, hidden=widths(hidden), quiet=quiet), text)


def run(table: Fillable, job: Job, text: pd.DataFrame | None = None) -> None:
    """Fill the gaps, measure on entries hidden on purpose, write and print the results.

    Parameters
    ----------
    table : Fillable
        What to fill.
    job : Job
        What was asked for.
    text : DataFrame, optional
        The table as text, to write what is known as it was written.
    """
    make_folder(job.out.parent)
    for note in table.notes:
        job.note(note)
    if not table.n_gaps:
        write(job.out.parent, {job.out.name: encode(table.frame if text is None else text, job.out, table.sep)})
        say(job.console, f"No gaps: nothing to fill. Wrote the same table to {job.out}")
        return
    hidden = hide(table.X, job.seed)
    model = _fit(table.X.mask(hidden), job)
    errors = measure(table.X, hidden, model.predict_entries(table.X.mask(hidden)), model.selected_)
    errors["gaps"] = table.gaps.sum()[errors["column"]].to_numpy()
    notes = _doubts(table.X, errors, every=job.k is not None)
    for note in notes:
        job.note(note)
    names = _names(job.out)
    contents = (
        encode(table.filled(model.predict_entries(table.X), text), job.out, table.sep),
        errors.to_csv(index=False, lineterminator="\n").encode(),
        as_json(_summary(model, table, errors, notes, job)),
    )
    write(job.out.parent, dict(zip(names, contents, strict=True)))
    _print(job.console, errors, job.k is not None, names[1])
    say(job.console, f"Wrote {names[0]}, {names[1]} and {names[2]} to {job.out.parent}")


def _names(out: Path) -> tuple[str, str, str]:
    """Names of the files: the table, its errors and the summary."""
    stem = out.name[: -len(ending_of(out))]
    return out.name, f"{stem}.errors.csv", f"{stem}.summary.json"


def _spare(file: Path, out: Path) -> None:
    for name in _names(out):
        path = out.parent / name
        if path.exists() and path.samefile(file):
            raise TableError(f"{path} is the file to read, and would be overwritten: choose another name for --out")


# ---- fit and measure ------------------------------------------------------------------------------------------------


def hide(X: pd.DataFrame, seed: int) -> NDArray[np.bool_]:
    """Choose a tenth of the known entries of every column that has more than a few."""
    draw = np.random.default_rng(seed)
    hidden = np.zeros(X.shape, dtype=bool)
    for j, known in enumerate(X.notna().to_numpy().T):
        rows = np.flatnonzero(known)
        if len(rows) > FEW:
            hidden[draw.choice(rows, int(HIDDEN * len(rows)), replace=False), j] = True
    return hidden


def _fit(X: pd.DataFrame, job: Job) -> LassoNetImputer:
    model = LassoNetImputer(
        hidden_dims=job.hidden,
        n_features_to_select=job.k or X.shape[1],  # the path ends there: at once, where all columns may be used
        verbose=0 if job.quiet else 1,
        random_state=job.seed,
    )
    with job.noting_warnings():
        model.fit(X)
    return model


def measure(
    X: pd.DataFrame, hidden: NDArray[np.bool_], estimates: NDArray[np.float64], selected: NDArray[np.bool_]
) -> pd.DataFrame:
    """Compare estimates of the hidden entries with their values, and with the means of what was shown.

    Parameters
    ----------
    X : DataFrame
        The table, hidden entries included.
    hidden : array of bool with the shape of X
        Which entries were hidden.
    estimates : array with the shape of X
        What is believed of every entry.
    selected : array of bool of shape (n_columns,)
        Which columns the network looks at.

    Returns
    -------
    DataFrame
        One row per column, those with most gaps first: ``column``, ``gaps``, ``hidden`` (number of entries), ``spread``
        (standard deviation of what was shown), ``error`` and ``error_of_mean`` (root mean squares), ``explained`` (1 minus
        the ratio of their squares) and ``input`` (whether the network looks at it).
    """
    shown = X.mask(hidden)
    squares = ((X - estimates) ** 2).where(hidden).mean()
    of_mean = ((X - shown.mean()) ** 2).where(hidden).mean()
    constant = shown.min() == shown.max()  # rounding would leave it a little spread
    frame = pd.DataFrame(
        {
            "gaps": X.isna().sum(),
            "hidden": hidden.sum(axis=0),
            "spread": shown.std(ddof=0).mask(constant, 0.0),
            "error": np.sqrt(squares),
            "error_of_mean": np.sqrt(of_mean),
            "explained": 1 - squares / of_mean.where((of_mean > 0) & ~constant),
            "input": selected,
        }
    )
    return frame.rename_axis("column").reset_index().sort_values("gaps", ascending=False, kind="stable")


def overall(errors: pd.DataFrame) -> tuple[int, float]:
    """Return how many entries were hidden, and the share of their variance explained, every column in units of its spread."""
    errors = errors[(errors["hidden"] > 0) & (errors["spread"] > 0)]
    weights = errors["hidden"] / errors["spread"] ** 2
    total = float((weights * errors["error_of_mean"] ** 2).sum())
    explained = 1 - float((weights * errors["error"] ** 2).sum()) / total if total > 0 else math.nan
    return int(errors["hidden"].sum()), explained


def _doubts(X: pd.DataFrame, errors: pd.DataFrame, *, every: bool) -> list[str]:
    """Say where what is filled in deserves little trust; of columns without gaps only if they are to be reconstructed."""
    told = errors[(errors["gaps"] > 0) | every]
    no_better = told.loc[told["explained"] <= 0, "column"]
    unchecked = told.loc[told["hidden"] == 0, "column"]
    blank = X.isna()[errors.loc[errors["input"], "column"]].all(axis=1) & X.isna().any(axis=1)
    notes = []
    if len(no_better):
        notes.append(f"no better than the mean of the column: {first_few([repr(name) for name in no_better])}")
    if len(unchecked):
        names = first_few([repr(name) for name in unchecked])
        notes.append(f"not checked, as {FEW} entries or fewer are known: {names}")
    if blank.any():
        rows = counted(int(blank.sum()), "row")
        notes.append(f"{rows} without any entry to go by: filled with what is typical of the columns")
    return notes


# ---- results --------------------------------------------------------------------------------------------------------


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
            "passed_through": list(table.unused),
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
        say(console, f"Hidden on purpose: {n_hidden} {'entry' if n_hidden == 1 else 'entries'}; {share}")
    else:
        say(console, "How good this is cannot be said: too few entries are known to hide some of them.")
    if few_columns:
        _print_inputs(console, errors)


def _print_inputs(console: Console, errors: pd.DataFrame) -> None:
    names, others = errors.loc[errors["input"], "column"].sort_index(), errors[~errors["input"]]
    say(console, f"Columns to measure: {', '.join(names) or 'none'}")
    n_hidden, explained = overall(others)
    if n_hidden:
        share = f"{_percent(explained)} of the variance of their {n_hidden} hidden entries is explained"
        say(console, f"With these {counted(len(names), 'column')} you reconstruct the other {len(others)}: {share}")


def _error_table(errors: pd.DataFrame, rest: str) -> RichTable:
    gaps = errors["gaps"]
    title = f"Filled {counted(int(gaps.sum()), 'gap')} in {(gaps > 0).sum()} of {len(errors)} columns of numbers"
    printed = number_table(title, "column", ["filled", "hidden", "typical error", "of the mean", "explained"])
    for row in errors.head(SHOWN).to_dict("records"):
        cells = [f"{row[name]:.3g}" if row["hidden"] else "–" for name in ("error", "error_of_mean")]
        printed.add_row(Text(row["column"]), str(row["gaps"]), str(row["hidden"]), *cells, _percent(row["explained"]))
    if len(errors) > SHOWN:
        printed.caption, printed.caption_justify = Text(f" … and {len(errors) - SHOWN} more in {rest}"), "left"
    return printed


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"
