"""The command line: parse, call, print."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, log_loss, r2_score, recall_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

import riata
from riata.cli.filling import impute
from riata.cli.output import (
    SHOWN,
    File,
    Hidden,
    Job,
    Quiet,
    Seed,
    at_most,
    make_folder,
    number_table,
    say,
    telling_errors,
    versions,
    widths,
)
from riata.cli.output import as_json as _json
from riata.cli.output import write as _write
from riata.estimators import LassoNetClassifier, LassoNetRegressor
from riata.plot import summary_figure
from riata.tables import Table, prepare, read

__all__ = ["app", "main"]

Model = LassoNetClassifier | LassoNetRegressor
Scores = dict[str, dict[str, float]]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help=riata.__doc__,
)


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


Out = Annotated[Path, typer.Option("--out", help="Folder for the results; made if it does not exist.")]
AtMost = Annotated[
    int | None, typer.Option("--k", help="Select at most so many features; each level of a text column counts.")
]


def main() -> None:
    """Run the command line; the entry point of the ``riata`` command."""
    app(prog_name="riata")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"riata {riata.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def select(
    file: File,
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The column to predict.")],
    task: Annotated[Task, typer.Option("--task", help="What the target is; auto decides and says so.")] = Task.auto,
    k: AtMost = None,
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
        table = prepare(read(file), target, task.value, drop or ())
        run(table, Job(out, seed, at_most(k, table.X.shape[1], "features"), M, widths(hidden), quiet))


app.command()(impute)


@app.command()
def demo(k: AtMost = 5, out: Out = Path("result"), seed: Seed = 0, quiet: Quiet = False) -> None:
    """Select 5 features of the breast-cancer data of scikit-learn, with 30 columns of noise added."""
    with telling_errors():
        job = Job(out, seed, at_most(k, 60, "features"), quiet=quiet)
        data = load_breast_cancer(as_frame=True)
        noise = np.random.default_rng(seed).standard_normal((len(data.data), 30))
        frame = data.data.assign(**{f"noise_{j:02d}": column for j, column in enumerate(noise.T)})
        table = prepare(frame.assign(diagnosis=data.target_names[data.target]), "diagnosis")
        names = run(replace(table, notes=()), job)
        picked = sum(name.startswith("noise_") for name in names)
        say(job.console, f"{picked} of the {len(names)} selected features are among the 30 columns of noise.")


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
    make_folder(job.out)
    for text in table.notes:
        job.note(text)
    fit, held_out = _split(table, job.seed)
    model = _fit(table, fit, job)
    scores = _scores(model, table, fit, held_out)
    chosen = _selected(model, table)
    _write(
        job.out,
        {
            "selected.csv": chosen.to_csv(index=False).encode(),
            "path.csv": model.path_.to_frame().to_csv(index=False).encode(),
            "summary.json": _json(_summary(model, table, scores, chosen, job, (len(fit), len(held_out)))),
            "path.png": _picture(model, table),
        },
    )
    _print(job.console, table, chosen, scores, model, len(held_out))
    say(job.console, f"Wrote selected.csv, path.csv, summary.json and path.png to {job.out}")
    return chosen["name"].tolist()


# ---- fit and score --------------------------------------------------------------------------------------------------


def _split(table: Table, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hold out a fifth of the rows, and at least one of every class."""
    classes = table.y if table.task == "classification" else None
    size = math.ceil(len(table.y) / 5) if classes is None else max(math.ceil(len(table.y) / 5), len(np.unique(classes)))
    fit, held_out = train_test_split(np.arange(len(table.y)), test_size=size, stratify=classes, random_state=seed)
    return np.sort(fit), np.sort(held_out)


def _fit(table: Table, rows: NDArray[np.int64], job: Job) -> Model:
    kind = LassoNetClassifier if table.task == "classification" else LassoNetRegressor
    model = kind(
        hidden_dims=job.hidden,
        M=job.M,
        select="1se" if job.k is None else "best",
        feature_groups=table.groups,
        verbose=0 if job.quiet else 1,
        random_state=job.seed,
    )
    with job.noting_warnings():
        model.fit(table.X.iloc[rows], table.y[rows])
    # The whole path is worth having for its importances and its picture, so k is applied to it rather than ending it early.
    return model if job.k is None else model.at(n_features=job.k)


def _scores(model: Model, table: Table, fit: NDArray[np.int64], held_out: NDArray[np.int64]) -> Scores:
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
    model: Model, table: Table, scores: Scores, chosen: pd.DataFrame, job: Job, sizes: tuple[int, int]
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
        "notes": list(table.notes),
    }


def _picture(model: Model, table: Table) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the files hold the names in full
        summary_figure(model, list(table.X.columns)).savefig(buffer, format="png", dpi=200)
    return buffer.getvalue()


def _print(console: Console, table: Table, chosen: pd.DataFrame, scores: Scores, model: Model, n_held_out: int) -> None:
    if len(chosen):
        console.print("", _feature_table(chosen, table.X.shape[1]), "", sep="\n")
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


def _feature_table(chosen: pd.DataFrame, n_features: int) -> RichTable:
    numbers = [name for name in ("importance", "coefficient") if name in chosen]
    printed = number_table(f"Selected {len(chosen)} of {n_features} features", "feature", numbers)
    for _, row in chosen.head(SHOWN).iterrows():
        printed.add_row(Text(row["name"]), *(f"{row[name]:.3g}" for name in numbers))
    if len(chosen) > SHOWN:
        printed.add_row(f"… and {len(chosen) - SHOWN} more in selected.csv")
    return printed
