"""The files of a selection."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any

import pandas as pd

from riata import plot
from riata.cli import evidence
from riata.cli.evidence import Evidence
from riata.cli.opening import MODEL_FILE
from riata.cli.options import Job
from riata.cli.output import as_json, versions
from riata.cli.recipe import Origin
from riata.cli.scoring import Rows, Scores, seen_in_training
from riata.estimators import stored
from riata.files import Reading, Table


@dataclass(frozen=True, eq=False)
class Result:
    """The path's selection, its scores, and what they come from."""

    table: Table
    job: Job
    model: Any
    scores: Scores
    features: pd.DataFrame  # one row for each selected feature, most important first
    fit: Rows
    held_out: Rows
    notes: tuple[str, ...]
    origin: Origin

    @property
    def rows(self) -> dict[str, int]:
        """How many rows were used, fitted and held out."""
        return {"used": len(self.table.y), "fitted": len(self.fit), "held_out": len(self.held_out)}


def selected_features(model: Any, table: Table) -> pd.DataFrame:
    """Return one row for each selected feature, most important first."""
    used = {column.name: column.kind for column in table.columns if column.used}
    frame = pd.DataFrame({"name": table.X.columns, "kind": [used[name] for name in table.X.columns]})
    frame["importance"] = model.feature_importances_
    return frame[model.selected_].sort_values("importance", ascending=False, ignore_index=True)


def path_files(result: Result) -> dict[str, bytes]:
    """Return the contents of the files that describe the path and the model."""
    model, table = result.model, result.table
    files = selection_files(result, Evidence()) | {
        "columns.csv": table.kinds.to_csv(index=False).encode(),
        "path.csv": model.path_.to_frame().to_csv(index=False).encode(),
        MODEL_FILE: stored.describe(model, about(result)),
        "path.png": png(plot.summary_figure(model, list(table.X.columns))),
    }
    if len(model.interactions_):
        files["interactions.csv"] = model.interactions_.to_csv(index=False).encode()
    if table.survival is not None:
        files["survival.png"] = png(_survival_figure(result, table.survival.time))
    if result.job.cv is not None:
        files["cv.csv"] = model.cv_results_.to_csv(index=False).encode()
        files["cv.png"] = png(plot.cv(model).figure)
    return files


def about(result: Result) -> dict[str, Any]:
    """Return what a model file tells of the run, beside the model."""
    model = result.model
    return {
        "command": result.origin.command,
        "file": result.origin.file.name,
        "task": result.table.task,
        "rows": result.rows,
        "scores": result.scores["selected"],
        "baseline": result.scores["baseline"],
        "seed": result.job.seed,
        "versions": versions(),
        "sha256": result.table.sha256,
        "reading": Reading.of(result.table).as_json(),
        "training": [list(vars(seen).values()) for seen in seen_in_training(model, result.table.X.iloc[result.fit])],
    }


def selection_files(result: Result, found: Evidence) -> dict[str, bytes]:
    """Return the contents of the files that change with the evidence."""
    features = evidence.with_frequency(result.features, found)
    return {"selected.csv": features.to_csv(index=False).encode(), "summary.json": as_json(_summary(result, found))}


def _summary(result: Result, found: Evidence) -> dict[str, Any]:
    model, table, job = result.model, result.table, result.job
    counts = table.kinds["kind"].value_counts().to_dict()
    return {
        "versions": versions(),
        "seed": job.seed,
        "k": job.k,
        "task": table.task,
        "rows": result.rows,
        **_events(result),
        "columns": {"file": len(table.columns), "features": table.X.shape[1], "kinds": counts},
        "estimator": type(model).__name__,
        "parameters": model.get_params(),
        "screening": model.screening_,
        "n_interactions": len(model.interactions_),
        "lambda": model.lambda_,
        "n_selected": model.n_selected_,
        "selected": result.features["name"].tolist(),
        "scores": result.scores,
        "cv": None if job.cv is None else _cross_validation(model, job.cv),
        **evidence.summary(found),
        "notes": list(result.notes),
    }


def _events(result: Result) -> dict[str, Any]:
    """Return the entry of events in the summary, for survival times."""
    if result.table.task != "survival":
        return {}
    event = result.table.y["event"].to_numpy()
    rows = {"used": slice(None), "fitted": result.fit, "held_out": result.held_out}
    return {"events": {name: int(event[which].sum()) for name, which in rows.items()}}


def _survival_figure(result: Result, time: str) -> Any:
    """Return survival curves of the held-out rows."""
    X, y = result.table.X.iloc[result.held_out], result.table.y_of(result.held_out)
    title = f"{len(y):,} held-out rows by predicted risk"
    return plot.survival_figure(result.model, X, y, title=title, time=time)


def _cross_validation(model: Any, n_folds: int) -> dict[str, Any]:
    """Return the entry of cross-validation in the summary."""
    return {
        "folds": n_folds,
        "score": model.cv_score_name,
        "mean": model.cv_score_,
        "standard_error": model.cv_score_se_,
        "lambda": model.cv_results_["lambda_"][model.cv_index_],
        "n_selected": model.cv_n_selected_,
    }


def png(figure: Any) -> bytes:
    """Return the contents of a PNG file of a figure."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the tables hold the names in full
        figure.savefig(buffer, format="png", dpi=200)
    return buffer.getvalue()
