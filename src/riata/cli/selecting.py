"""The command that selects the features of a table, and says how far to trust them."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, log_loss, r2_score, recall_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from riata.cli import evidence
from riata.cli.evidence import Evidence
from riata.cli.output import (
    SHOWN,
    File,
    Hidden,
    Job,
    Quiet,
    Seed,
    as_json,
    at_most,
    make_folder,
    number_table,
    say,
    telling_errors,
    versions,
    widths,
    workers,
    write,
)
from riata.estimators import LassoNetClassifier, LassoNetClassifierCV, LassoNetRegressor, LassoNetRegressorCV
from riata.plot import plot_cross_validation, plot_stability, summary_figure
from riata.tables import Table, prepare, read

Model = LassoNetClassifier | LassoNetRegressor
Scores = dict[str, dict[str, float]]
Rows = NDArray[np.int64]


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it does not exist.")]
AtMost = Annotated[
    int | None, typer.Option("--k", help="Select at most so many features; each level of a text column counts.")
]


def select(
    file: File,
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The column to predict.")],
    task: Annotated[Task, typer.Option("--task", help="What the target is; auto decides and says so.")] = Task.auto,
    k: AtMost = None,
    cv: Annotated[
        int | None, typer.Option("--cv", metavar="K", help="Choose the model by K-fold cross-validation.")
    ] = None,
    stability: Annotated[
        bool, typer.Option("--stability", help="Also say which features halves of the rows agree on.")
    ] = False,
    max_false: Annotated[
        float | None,
        typer.Option(
            "--max-false", metavar="X", help="With --stability: false ones on average, at most; 1 by default."
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        typer.Option(
            "--fdr", metavar="Q", help="Also select with knockoffs, a share Q of them false at most on average."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", help="Folds and halves to work on at once; -1 for all cores.")
    ] = 1,
    out: Out = Path("result"),
    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="COL", help="A column to leave out; may be repeated.")
    ] = None,
    seed: Seed = 0,
    M: Annotated[float, typer.Option("--M", min=0, help="How nonlinear a feature may be; 0 is a linear model.")] = 10.0,
    hidden: Hidden = "100",
    quiet: Quiet = False,
) -> None:
    """Select the features of FILE that predict a column.

    Numbers are used as they are. A text column becomes one feature per level, and its levels enter or leave together.
    """
    with telling_errors():
        asked = Job(
            out,
            seed,
            M=M,
            hidden=widths(hidden),
            quiet=quiet,
            cv=evidence.folds(cv),
            max_false=evidence.most_false(stability, max_false),
            fdr=evidence.rate(fdr),
            n_jobs=workers(jobs),
        )
        table = prepare(read(file), target, task.value, drop or ())
        run(table, replace(asked, k=at_most(k, table.X.shape[1], "features")))


def run(table: Table, job: Job) -> list[str]:
    """Fit on four fifths of the rows, score on the last one, write and print the results.

    Parameters
    ----------
    table : Table
        What to fit on.
    job : Job
        What was asked for.

    Returns
    -------
    list of str
        Names of the selected features, most important first.
    """
    fit, held_out = _split(table, job.seed)
    evidence.check(table, fit, job)
    make_folder(job.out)
    for text in table.notes:
        job.note(text)
    model = _fit(table, fit, job)
    found = evidence.gather(table, fit, job)
    scores = _scores(model, table, fit, held_out)
    chosen = evidence.add_columns(_selected(model, table), model, table, held_out, found, job)
    files = {
        "selected.csv": chosen.to_csv(index=False).encode(),
        "path.csv": model.path_.to_frame().to_csv(index=False).encode(),
        "summary.json": as_json(_summary(model, table, scores, chosen, found, job, (len(fit), len(held_out)))),
        "path.png": _png(summary_figure(model, list(table.X.columns))),
    }
    files |= _more_files(model, table, found, job)
    write(job.out, files)
    _print(job, table, chosen, scores, model, len(held_out))
    evidence.show(job, chosen, found)
    say(job.console, f"Wrote {_listed(list(files))} to {job.out}")
    return chosen["name"].tolist()


# ---- fit and score --------------------------------------------------------------------------------------------------


def _split(table: Table, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fifth of the rows, and at least one of every class."""
    classes = table.y if table.task == "classification" else None
    size = math.ceil(len(table.y) / 5) if classes is None else max(math.ceil(len(table.y) / 5), len(np.unique(classes)))
    fit, held_out = train_test_split(np.arange(len(table.y)), test_size=size, stratify=classes, random_state=seed)
    return np.sort(fit), np.sort(held_out)


def _fit(table: Table, rows: Rows, job: Job) -> Model:
    shared = {"verbose": 0 if job.quiet else 1, "random_state": job.seed, **evidence.settings(table, job)}
    if job.cv is not None:
        cross = LassoNetClassifierCV if table.task == "classification" else LassoNetRegressorCV
        model = cross(cv=job.cv, n_features_to_select=job.k, n_jobs=job.n_jobs, **shared)
    else:
        plain = LassoNetClassifier if table.task == "classification" else LassoNetRegressor
        model = plain(select="1se" if job.k is None else "best", **shared)
    with job.noting_warnings():
        model.fit(table.X.iloc[rows], table.y[rows])
    # The whole path is worth having for its importances and its picture, so k is applied to it rather than ending it early;
    # with folds k is part of what is chosen, and ends it.
    return model if job.k is None or job.cv is not None else model.at(n_features=job.k)


def _scores(model: Model, table: Table, fit: Rows, held_out: Rows) -> Scores:
    """Score the chosen model, the dense one and one that knows no features on the rows held out."""
    X, y = table.X.iloc[held_out], table.y[held_out]
    trivial = DummyClassifier(strategy="prior") if table.task == "classification" else DummyRegressor()
    trivial.fit(table.X.iloc[fit], table.y[fit])
    models = {"selected": model, "all": model.at(lambda_=0), "baseline": trivial}
    score = _classification_scores if table.task == "classification" else _regression_scores
    return {name: score(each, X, y) for name, each in models.items()}


def _classification_scores(model: Any, X: pd.DataFrame, y: NDArray) -> dict[str, float]:
    predicted = model.predict(X)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        # Balanced accuracy over the classes that were held out; scikit-learn's own warns if others are predicted.
        "balanced accuracy": float(recall_score(y, predicted, labels=np.unique(y), average="macro")),
        "log loss": float(log_loss(y, model.predict_proba(X), labels=model.classes_)),
    }


def _regression_scores(model: Any, X: pd.DataFrame, y: NDArray) -> dict[str, float]:
    predicted = model.predict(X)
    return {"R²": float(r2_score(y, predicted)), "RMSE": float(root_mean_squared_error(y, predicted))}


# ---- results --------------------------------------------------------------------------------------------------------


def _selected(model: Model, table: Table) -> pd.DataFrame:
    """One row for each selected feature, most important first."""
    names = np.array(table.X.columns)
    frame = pd.DataFrame({"name": names, "group": [table.sources[name] for name in names]})
    frame["importance"] = model.feature_importances_
    coefficients = np.atleast_2d(model.coef_)
    if len(coefficients) == 1:
        frame["coefficient"] = coefficients[0]
    else:
        columns = [f"coefficient_{label}" for label in model.classes_]
        frame = pd.concat([frame, pd.DataFrame(coefficients.T, columns=columns)], axis=1)
    return frame[model.selected_].sort_values("importance", ascending=False)


def _summary(
    model: Model,
    table: Table,
    scores: Scores,
    chosen: pd.DataFrame,
    found: Evidence,
    job: Job,
    sizes: tuple[int, int],
) -> dict[str, Any]:
    return {
        "versions": versions(),
        "seed": job.seed,
        "k": job.k,
        "task": table.task,
        "rows": {"used": len(table.y), "dropped": table.n_dropped, "fitted": sizes[0], "held_out": sizes[1]},
        "columns": {"file": len(set(table.sources.values())), "encoded": table.X.shape[1]},
        "estimator": type(model).__name__,
        "parameters": model.get_params(),
        "lambda": model.lambda_,
        "n_selected": model.n_selected_,
        "selected": chosen["name"].tolist(),
        "scores": scores,
        "cv": None if job.cv is None else evidence.cross_validation(model, job.cv),
        **evidence.summary(found),
        "notes": list(table.notes),
    }


def _more_files(model: Model, table: Table, found: Evidence, job: Job) -> dict[str, bytes]:
    """Return the tables and the pictures of what was asked for beside the path."""
    files: dict[str, bytes] = {}
    if job.cv is not None:
        files["cv.csv"] = model.cv_results_.to_csv(index=False).encode()
        files["cv.png"] = _png(plot_cross_validation(model).figure)
    if found.stability is not None:
        sources = [table.sources[name] for name in table.X.columns]
        files["stability.csv"] = found.stability.frame.to_csv(index=False).encode()
        files["stability.png"] = _png(plot_stability(found.stability.selector, names=sources).figure)
    if found.knockoffs is not None:
        files["knockoffs.csv"] = found.knockoffs.frame.to_csv(index=False).encode()
    return files


def _png(figure: Figure | Any) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the files hold the names in full
        figure.savefig(buffer, format="png", dpi=200)
    return buffer.getvalue()


# ---- printing -------------------------------------------------------------------------------------------------------


def _print(job: Job, table: Table, chosen: pd.DataFrame, scores: Scores, model: Model, n_held_out: int) -> None:
    console: Console = job.console
    if len(chosen):
        loss = "log loss" if table.task == "classification" else "squared error"
        console.print("", _feature_table(chosen, table.X.shape[1]), sep="\n")
        say(console, f" loss rise: of the {loss} held out, where the column is shuffled (± 95 %)\n")
    else:
        say(console, "No feature was selected: none of them makes the validation loss clearly lower.")
    trivial = "most frequent class" if table.task == "classification" else "mean of the target"
    labels = {
        "selected": f"selected features ({len(chosen)})",
        "all": f"all features ({table.X.shape[1]})",
        "baseline": trivial,
    }
    names = list(scores["selected"])
    printed = number_table(f"Scores on {n_held_out} rows held out", "", names)
    for name, row in scores.items():
        printed.add_row(labels[name], *(f"{row[score]:.4g}" for score in names))
    console.print(printed, "", sep="\n")
    if job.cv is not None:
        evidence.show_cross_validation(console, model, job)


def _feature_table(chosen: pd.DataFrame, n_features: int) -> RichTable:
    numbers = [name for name in ("importance", "coefficient", "frequency") if name in chosen]
    printed = number_table(f"Selected {len(chosen)} of {n_features} features", "feature", [*numbers, "loss rise"])
    for _, row in chosen.head(SHOWN).iterrows():
        margin = (row["loss_rise_high"] - row["loss_rise_low"]) / 2
        rise = f"{row['loss_rise']:.2g}" + ("" if math.isnan(margin) else f" ± {margin:.2g}")
        printed.add_row(Text(row["name"]), *(f"{row[name]:.3g}" for name in numbers), rise)
    if len(chosen) > SHOWN:
        printed.caption, printed.caption_justify = Text(f" … and {len(chosen) - SHOWN} more in selected.csv"), "left"
    return printed


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
