"""The command that predicts with a stored model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from riata.cli import options
from riata.cli.opening import NewTable, OpenModel, open_model
from riata.cli.options import Job
from riata.cli.output import as_json, make_folder, print_json, print_text, reporting_errors, write
from riata.cli.scoring import scores_of
from riata.estimators import LassoNetCoxRegressor, LassoNetIntervalRegressor
from riata.files import TableError, check_writable, counted, encode

__all__ = ["predict"]

_STANDARD_OUTPUT = "-"


def predict(
    model: options.ModelFile,
    file: options.NewFile,
    out: options.OutPredictions = Path("predictions.csv"),
    target: options.KnownTarget = None,
    at: options.Moments = None,
    na: options.Missing = None,
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    skip: options.Skip = 0,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the rows of FILE with MODEL, and score them where FILE has the target.

    FILE needs the selected columns. They are read as those of the first table: levels, dates, units and missing values mean the
    same. Columns that identify rows are copied.
    """
    with reporting_errors():
        to_standard_output = str(out) == _STANDARD_OUTPUT
        if to_standard_output and json:
            raise TableError("--json and the predictions cannot both go to standard output: name a file with --out")
        if not to_standard_output:
            check_writable(out)
            make_folder(out.parent)
        job = Job(out, 0, quiet=quiet, json=json or to_standard_output)
        opened = open_model(model)
        table = NewTable.read(file, opened, options.read_options(sep, decimal, na, skip), all_features=False)
        job.note(*table.notes)
        with job.noting_warnings():
            predictions = _predictions(opened, table, at or [])
        others = table.identifiers().drop(columns=list(predictions), errors="ignore")
        predictions = pd.concat([others, predictions], axis=1)
        scores = _scores(opened, table, target, job)
        if to_standard_output:
            predictions.to_csv(sys.stdout, index=False, lineterminator="\n")
            return
        write(out.parent, {out.name: encode(predictions, out, table.source.sep)})
        _print_scores(job, scores)
        print_text(job.console, f"Wrote {counted(len(predictions), 'prediction')} to {out}")
        if json:
            print_json(as_json({"model": str(model), "rows": len(predictions), "scores": scores}))


def _predictions(opened: OpenModel, table: NewTable, moments: list[float]) -> pd.DataFrame:
    """Return predictions, and what is known of their uncertainty."""
    model, X = opened.model, table.X
    survival = isinstance(model, LassoNetCoxRegressor | LassoNetIntervalRegressor)
    if moments and not survival:
        raise TableError("--at is for survival times, which this model does not predict: leave it out")
    found = np.asarray(model.predict(X))
    name = "log hazard" if isinstance(model, LassoNetCoxRegressor) else "prediction"
    names = [name] if found.ndim == 1 else [f"{name} {k + 1}" for k in range(found.shape[1])]
    frame = pd.DataFrame(found.reshape(len(X), -1), columns=names)
    if opened.task == "classification" and found.ndim == 1:
        labels = [f"probability of {label}" for label in model.classes_]
        frame = pd.concat([frame, pd.DataFrame(model.predict_proba(X), columns=labels)], axis=1)
    if moments:
        strata = {"strata": table.strata()} if isinstance(model, LassoNetCoxRegressor) else {}
        curves = model.predict_survival_function(X, **strata)
        for time in moments:
            frame[f"survival until {time:g}"] = [float(curve(time)) for curve in curves]
    return frame


def _scores(opened: OpenModel, table: NewTable, target: str | None, job: Job) -> dict[str, float] | None:
    """Return scores where the target is known; a target that was not asked for and cannot be read is noted."""
    try:
        known = table.target(opened, target)
        if known is None or len(known[0]) < 2:
            return None
        X, y, notes = known
        job.note(*notes)
        return scores_of(opened.model, X, y, opened.task)
    except ValueError as error:
        if target is not None:
            raise
        job.note(f"not scored: {error}")
        return None


def _print_scores(job: Job, scores: dict[str, float] | None) -> None:
    for name, value in (scores or {}).items():
        print_text(job.console, f"{name}: {value:.4g}")
