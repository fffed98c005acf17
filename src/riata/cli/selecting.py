"""The command that selects the features of a table, and says how far to trust them."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
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

from riata import plot
from riata.cli import evidence
from riata.cli.columns import show_columns
from riata.cli.evidence import Evidence
from riata.cli.output import (
    SHOWN,
    Categorical,
    Dates,
    Decimal,
    Drop,
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
    workers,
    write,
)
from riata.estimators import LassoNetClassifier, LassoNetClassifierCV, LassoNetRegressor, LassoNetRegressorCV
from riata.evidence.curves import brief
from riata.files import Table, extreme_target, prepare, read, unlike_training

Model = LassoNetClassifier | LassoNetRegressor
Scores = dict[str, dict[str, float]]
Rows = NDArray[np.int64]
_BESIDE = {"cv.csv", "cv.png", "stability.csv", "stability.png", "knockoffs.csv"}
_CLEAREST = 5  # interactions that are printed
_DOUBTS = 6  # warnings about rows held out


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it does not exist.")]
AtMost = Annotated[int | None, typer.Option("--k", help="Select at most so many features, one for each column.")]


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
    categorical: Categorical = None,
    numeric: Numeric = None,
    dates: Dates = None,
    drop: Drop = None,
    na: Missing = None,
    sep: Separator = None,
    decimal: Decimal = None,
    skip: Skip = 0,
    seed: Seed = 0,
    M: Annotated[float, typer.Option("--M", min=0, help="How nonlinear a feature may be; 0 is a linear model.")] = 10.0,
    hidden: Hidden = "100",
    quiet: Quiet = False,
) -> None:
    """Select the features of FILE that predict a column.

    One column of the file is one feature: numbers, categories (text) and dates, with missing values. What each column holds is
    told before training; identifiers, constants and prose are left out.
    """
    with telling_errors():
        job = Job(
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
        source = read(file, reading(sep, decimal, na, skip))
        table = prepare(source, target, task.value, asked(categorical, numeric, dates, drop))
        run(table, replace(job, k=at_most(k, table.X.shape[1], "features")), file.name)


def run(table: Table, job: Job, file: str) -> list[str]:
    """Fit on four fifths of the rows, score on the last one, write and print the results.

    Results are written as soon as they are complete: an interrupt loses only what it interrupts.

    Parameters
    ----------
    table : Table
        What to fit on.
    job : Job
        What was asked for.
    file : str
        What to call the table.

    Returns
    -------
    list of str
        Names of the selected features, most important first.
    """
    fit, held_out = split(table, job.seed)
    evidence.check(table, fit, job)
    make_folder(job.out)
    show_columns(job.console, table, file)
    notes = [*table.notes, *_extreme(table, np.arange(len(table.y)))]
    for text in notes:
        job.note(text)
    model = _fit(table, fit, job)
    chosen = evidence.worth(_selected(model, table), model, table, held_out, job)
    doubts = _doubts(table, chosen, fit, held_out) if len(notes) == len(table.notes) else []
    for text in doubts:
        job.note(text)
    result = _Result(
        table,
        job,
        model,
        _scores(model, table, fit, held_out),
        chosen,
        (len(fit), len(held_out)),
        tuple(notes + doubts),
    )
    files = _files(result)
    write(job.out, files)
    for name in _BESIDE - files.keys():  # of an earlier run, whose selection is gone
        (job.out / name).unlink(missing_ok=True)
    _print(result)
    try:
        files |= _gather(result, fit)
    except KeyboardInterrupt:
        job.note(f"interrupted; complete, in {job.out}: {_listed(list(files))}")
        raise
    say(job.console, f"Wrote {_listed(list(files))} to {job.out}")
    return chosen["name"].tolist()


@dataclass(frozen=True, eq=False)
class _Result:
    """What a run has found."""

    table: Table
    job: Job
    model: Any
    scores: Scores
    chosen: pd.DataFrame
    sizes: tuple[int, int]  # rows fitted and held out
    notes: tuple[str, ...]


def _gather(result: _Result, fit: Rows) -> dict[str, bytes]:
    """Do the analyses that were asked for beside the path, and write each when it is done."""
    job, table, found, files = result.job, result.table, Evidence(), {}
    if job.max_false is not None:
        halves = evidence.stability(table, fit, job)
        found = replace(found, stability=halves)
        files["stability.csv"] = halves.frame.to_csv(index=False).encode()
        files["stability.png"] = _png(plot.stability(halves.selector).figure)
        write(job.out, files | _tables(result, found))
        evidence.show_stability(job.console, halves, set(result.chosen["name"]))
    if job.fdr is not None:
        copies = evidence.knockoffs(table, fit, job)
        found = replace(found, knockoffs=copies)
        files["knockoffs.csv"] = copies.frame.to_csv(index=False).encode()
        write(job.out, files | _tables(result, found))
        evidence.show_knockoffs(job.console, copies, set(result.chosen["name"]))
    evidence.show_choice(job, found)
    return files


# ---- fit and score --------------------------------------------------------------------------------------------------


def split(table: Table, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fifth of the rows, and at least one of every class."""
    classes = table.y if table.task == "classification" else None
    size = math.ceil(len(table.y) / 5) if classes is None else max(math.ceil(len(table.y) / 5), len(np.unique(classes)))
    fit, held_out = train_test_split(np.arange(len(table.y)), test_size=size, stratify=classes, random_state=seed)
    return np.sort(fit), np.sort(held_out)


def _fit(table: Table, rows: Rows, job: Job) -> Model:
    shared = {"verbose": 0 if job.quiet else 1, "random_state": job.seed, **evidence.settings(job)}
    if job.cv is not None:
        cross = LassoNetClassifierCV if table.task == "classification" else LassoNetRegressorCV
        model = cross(cv=job.cv, n_features_to_select=job.k, n_jobs=job.n_jobs, **shared)
    else:
        plain = LassoNetClassifier if table.task == "classification" else LassoNetRegressor
        model = plain(select="1se" if job.k is None else "best", **shared)
    with job.noting_warnings({"raise val_size, or set n_features_to_select": "use --k or --cv"}):
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


def _extreme(table: Table, rows: Rows) -> list[str]:
    """Warn of a few rows that decide every squared error."""
    text = extreme_target(table.y[rows], table.rows[rows], table.target) if table.task == "regression" else ""
    return [text] if text else []


def _doubts(table: Table, chosen: pd.DataFrame, fit: Rows, held_out: Rows) -> list[str]:
    """Warn of rows held out that are unlike those that were fitted, in a selected column or in the target."""
    notes = _extreme(table, held_out) + unlike_training(table.X[chosen["name"].tolist()], fit, held_out, table.rows)
    more = len(notes) - _DOUBTS
    return notes if more <= 0 else [*notes[:_DOUBTS], f"and {more} more such columns"]


# ---- results --------------------------------------------------------------------------------------------------------


def _selected(model: Model, table: Table) -> pd.DataFrame:
    """One row for each selected feature, most important first."""
    used = {column.name: column.kind for column in table.columns if column.used}
    frame = pd.DataFrame({"name": table.X.columns, "kind": [used[name] for name in table.X.columns]})
    frame["importance"] = model.feature_importances_
    return frame[model.selected_].sort_values("importance", ascending=False, ignore_index=True)


def _files(result: _Result) -> dict[str, bytes]:
    """Return the files of the model."""
    model, table = result.model, result.table
    files = _tables(result, Evidence()) | {
        "columns.csv": table.kinds.to_csv(index=False).encode(),
        "interactions.csv": model.interactions_.to_csv(index=False).encode(),
        "path.csv": model.path_.to_frame().to_csv(index=False).encode(),
        "path.png": _png(plot.summary_figure(model, list(table.X.columns))),
    }
    if result.job.cv is not None:
        files["cv.csv"] = model.cv_results_.to_csv(index=False).encode()
        files["cv.png"] = _png(plot.cv(model).figure)
    return files


def _tables(result: _Result, found: Evidence) -> dict[str, bytes]:
    """Return the files that grow with what is found."""
    chosen = evidence.with_frequency(result.chosen, found)
    return {"selected.csv": chosen.to_csv(index=False).encode(), "summary.json": as_json(_summary(result, found))}


def _summary(result: _Result, found: Evidence) -> dict[str, Any]:
    model, table, job = result.model, result.table, result.job
    counts = table.kinds["kind"].value_counts().to_dict()
    return {
        "versions": versions(),
        "seed": job.seed,
        "k": job.k,
        "task": table.task,
        "rows": {"used": len(table.y), "fitted": result.sizes[0], "held_out": result.sizes[1]},
        "columns": {"file": len(table.columns), "features": table.X.shape[1], "kinds": counts},
        "estimator": type(model).__name__,
        "parameters": model.get_params(),
        "screening": model.screening_,
        "n_interactions": len(model.interactions_),
        "lambda": model.lambda_,
        "n_selected": model.n_selected_,
        "selected": result.chosen["name"].tolist(),
        "scores": result.scores,
        "cv": None if job.cv is None else evidence.cross_validation(model, job.cv),
        **evidence.summary(found),
        "notes": list(result.notes),
    }


def _png(figure: Figure | Any) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the files hold the names in full
        figure.savefig(buffer, format="png", dpi=200)
    return buffer.getvalue()


# ---- printing -------------------------------------------------------------------------------------------------------


def _print(result: _Result) -> None:
    table, job, chosen, scores = result.table, result.job, result.chosen, result.scores
    console: Console = job.console
    if len(chosen):
        classifies = table.task == "classification"
        two = classifies and len(result.model.classes_) == 2
        of = f"probability of {result.model.classes_[1]}" if two else "probability" if classifies else "prediction"
        console.print("", _feature_table(chosen, table.X.shape[1], same_class=two), sep="\n")
        loss = "log loss" if classifies else "squared error"
        say(console, f" loss rise: of the {loss} held out, where the column is shuffled (± 95 %)")
        say(console, f" effect: on the mean {of}, over the middle 90 % of the column\n")
    else:
        say(console, _nothing(result))
    _print_interactions(console, result.model)
    trivial = "most frequent class" if table.task == "classification" else "mean of the target"
    labels = {
        "selected": f"selected features ({len(chosen)})",
        "all": f"all features ({table.X.shape[1]})",
        "baseline": trivial,
    }
    names = list(scores["selected"])
    printed = number_table(f"Scores on {result.sizes[1]} rows held out", "", names)
    for name, row in scores.items():
        printed.add_row(labels[name], *(f"{row[score]:.4g}" for score in names))
    console.print(printed, "", sep="\n")
    if job.cv is not None:
        evidence.show_cross_validation(console, result.model, job)


def _print_interactions(console: Console, model: Model) -> None:
    """Print the clearest interactions; say so where pairs were not tested."""
    found = model.interactions_
    _, _, untested = model.screening_.partition(": ")
    if untested:
        say(console, f"Pairs of features were not tested:\n{untested}.\n")
    if not len(found):
        return
    printed = number_table("Features that show the target together", "features", ["statistic", "corrected p"])
    for row in found.head(_CLEAREST).to_dict("records"):
        names = (row[f"feature_{i}"] for i in (1, 2, 3) if row[f"feature_{i}"] is not None)
        printed.add_row(Text(" × ".join(map(str, names))), brief(row["statistic"], 3), brief(row["p_value"], 2))
    if len(found) > _CLEAREST:
        printed.caption = Text(f" … and {len(found) - _CLEAREST} more in interactions.csv")
        printed.caption_justify = "left"
    console.print(printed, "", sep="\n")


def _nothing(result: _Result) -> str:
    """Say why no feature was selected."""
    counts = result.model.path_.n_selected
    if result.job.k is not None and (counts > 0).any():
        fewest = int(counts[counts > 0].min())
        return f"No feature was selected: the path goes from {fewest} features to none; use --k {fewest}.\n"
    return "No feature was selected: none of them makes the validation loss clearly lower.\n"


def _feature_table(chosen: pd.DataFrame, n_features: int, *, same_class: bool = False) -> RichTable:
    title = f"Selected {len(chosen)} of {n_features} features"
    printed = number_table(title, "feature", ["importance", "loss rise"])
    printed.add_column("effect")
    for row in chosen.head(SHOWN).to_dict("records"):
        margin = (row["loss_rise_high"] - row["loss_rise_low"]) / 2
        rise = brief(row["loss_rise"], 2) + ("" if math.isnan(margin) else f" ± {brief(margin, 2)}")
        effect = row["effect"].removesuffix(f", towards {row['towards']}") if same_class else row["effect"]
        printed.add_row(Text(row["name"]), brief(row["importance"], 3), rise, Text(effect))
    if len(chosen) > SHOWN:
        printed.caption, printed.caption_justify = Text(f" … and {len(chosen) - SHOWN} more in selected.csv"), "left"
    return printed


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
