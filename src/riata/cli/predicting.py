"""The command that predicts with a stored model."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from riata.cli import options
from riata.cli.opening import NewTable, OpenModel, open_model, rows_of
from riata.cli.options import Job
from riata.cli.output import as_json, make_folder, print_json, print_text, reporting_errors, write
from riata.cli.scoring import scores_of
from riata.estimators import LassoNetCoxRegressor, LassoNetIntervalRegressor
from riata.files import PARQUET, TableError, check_writable, counted, encode

__all__ = ["predict"]

_STANDARD_OUTPUT = "-"
_DIGITS = 8  # of a prediction in text, as many as a network in single precision determines


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

    FILE needs the selected columns, and no others are read. They are read as those of the first table: levels, dates, units and
    missing values mean the same. Columns that identify rows are copied. If FILE is the table that MODEL was fitted on, only the
    rows that were held out are scored.
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
        scored = _scores(opened, table, target, job)
        style = (table.source.sep, table.source.decimal if table.source.is_text else ".")
        if to_standard_output:
            sys.stdout.write(encode(_rounded(predictions), Path("-.csv"), *style).decode())
            return
        replaced = " (an earlier file is replaced)" if out.exists() else ""
        contents = predictions if out.suffix.lower() in PARQUET else _rounded(predictions)
        write(out.parent, {out.name: encode(contents, out, *style)})
        for name, value in (scored.scores or {}).items():
            print_text(job.console, f"{name}: {value:.4g}")
        print_text(job.console, scored.text)
        print_text(job.console, f"Wrote {counted(len(predictions), 'prediction')} to {out}{replaced}")
        if json:
            found = {"rows": scored.rows, "held_out": scored.held_out}
            print_json(
                as_json({"model": str(model), "rows": len(predictions), "scores": scored.scores, "scored": found})
            )


@dataclass(frozen=True)
class _Scored:
    """Scores, and of which rows; or why there are none."""

    scores: dict[str, float] | None
    text: str
    rows: int = 0
    held_out: bool = False  # whether it is known that the model was not fitted on these rows


def _rounded(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose numbers have eight significant digits, but for whole ones, which keep all."""
    numbers = [str(name) for name in predictions if is_float_dtype(predictions[name])]
    values = predictions[numbers].to_numpy(dtype=float)
    size = np.abs(np.where(np.isfinite(values) & (values != 0), values, 1.0))
    unit = 10.0 ** np.maximum(_DIGITS - 1 - np.floor(np.log10(size)), 0)
    return predictions.assign(**dict(zip(numbers, (np.round(values * unit) / unit).T, strict=True)))


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


def _scores(opened: OpenModel, table: NewTable, target: str | None, job: Job) -> _Scored:
    """Score the rows whose target is known; a target that was not asked for and cannot be read is noted."""
    try:
        known = table.target(opened, target)
        if known is None:
            return _Scored(None, f"not scored: {table.lacks_target}")
        if len(known[0]) < 2:
            return _Scored(None, "not scored: fewer than two rows have a value of the target")
        X, y, notes = known
        job.note(*notes)
        which = opened.rows_of(table, y, target)
        X, y = X.iloc[which.rows], rows_of(y, which.rows)
        return _Scored(scores_of(opened.model, X, y, opened.task), which.text, len(X), which.held_out)
    except ValueError as error:
        if target is not None:
            raise
        job.note(f"not scored: {error}")
        return _Scored(None, "not scored")
