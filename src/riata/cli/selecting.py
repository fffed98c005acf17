"""The command that selects the features of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from riata import plot
from riata.cli import continuing, evidence, losses, options, printing
from riata.cli.columns import show_columns
from riata.cli.evidence import Evidence, Rows
from riata.cli.opening import MODEL_FILE
from riata.cli.options import Job
from riata.cli.output import make_folder, print_json, print_text, reporting_errors, write
from riata.cli.recipe import Origin, command_line
from riata.cli.reporting import report_file
from riata.cli.results import Result, path_files, png, selected_features, selection_files
from riata.cli.scoring import check_survival, held_out_scores, held_out_warnings, target_warnings
from riata.cli.several import one_of_several, share
from riata.estimators import stored
from riata.files import Table, TableError, read_table
from riata.path import selection

OPTIONAL_FILES = {"cv.csv", "cv.png", "survival.png", "stability.csv", "stability.png", "knockoffs.csv", "report.html"}
OPTIONAL_FILES |= {"interactions.csv"}  # where there are some


def select(
    context: typer.Context,
    file: options.File,
    target: options.Target = None,
    time: options.Time = None,
    event: options.Event = None,
    entry: options.Entry = None,
    strata: options.Strata = None,
    id: options.Subject = None,
    task: options.TaskName = options.Task.auto,
    k: options.K = None,
    cv: options.Folds = None,
    stability: options.Stability = False,
    max_false: options.MaxFalse = None,
    fdr: options.Fdr = None,
    jobs: options.Jobs = 1,
    out: options.OutFolder = Path("result"),
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    dates: options.Dates = None,
    drop: options.Drop = None,
    na: options.Missing = None,
    sep: options.Separator = None,
    decimal: options.Decimal = None,
    skip: options.Skip = 0,
    seed: options.Seed = 0,
    M: options.M = 10.0,
    hidden: options.Hidden = "100",
    image: options.Image = None,
    loss: options.LossName = None,
    report: options.WithReport = True,
    checkpoint: continuing.Checkpoint = None,
    resume: continuing.Resume = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Select the features of FILE that predict a column, or survival times.

    One column of the file is one feature: numbers, categories (text) and dates, with missing values. What each column holds is
    printed before training; identifiers, constants and prose are left out.
    """
    with reporting_errors():
        job = Job(out, seed, M=M, hidden=options.parse_widths(hidden), quiet=quiet, json=json, cv=options.check_cv(cv))
        job = replace(job, max_false=options.check_max_false(stability, max_false), fdr=options.check_fdr(fdr))
        job = replace(job, n_jobs=options.check_jobs(jobs))
        job = replace(job, image=options.parse_image(image), report=report, loss=losses.parse_loss(loss))
        job = replace(job, checkpoint=checkpoint, resume=continuing.check_resume(checkpoint, resume))
        columns = {"time": time, "event": event, "entry": entry, "strata": strata, "id": id}
        options.check_target(target, task, loss=job.loss, **columns)
        task = losses.task_of(task, job.loss)
        arguments = options.table_arguments(
            options.read_options(sep, decimal, na, skip),
            replace(options.column_options(categorical, numeric, dates, drop), keep_constants=job.image is not None),
            **{"target": target, "task": task.value, **columns},
        )
        with one_of_several(job, survival=time is not None) as job:
            with losses.explaining_loss(loss, job.loss):
                table = read_table(file, **arguments)
            losses.check_levels(loss, job.loss, table.y)
            options.check_image(job.image, table.X.shape[1])
            job = replace(job, k=options.check_k(k, table.X.shape[1], "features"))
            job.note(*losses.loss_note(loss, job.loss))
            run(table, job, Origin(file, arguments, command_line(context)))


def run(table: Table, job: Job, origin: Origin) -> list[str]:
    """Fit on four fifths of the rows, score on the last one, write and print the results.

    Results are written as soon as they are complete: an interrupt loses only what it interrupts.

    Parameters
    ----------
    table : Table
        What to fit on.
    job : Job
        What was asked for.
    origin : Origin
        Where the table comes from.

    Returns
    -------
    list of str
        Names of the selected features, most important first.
    """
    fit, held_out = table.split(job.seed)
    check_survival(table, fit, held_out)
    evidence.check(table, fit, job)
    fits = {"model": True, "stability": job.max_false is not None, "knockoffs": job.fdr is not None}
    continuing.check_begun(job, [name for name, asked in fits.items() if asked])
    if not job.rank:
        make_folder(job.out)
    replaced = _replaced(job, origin.command)
    show_columns(job.console, table, origin.file.name)
    extreme = target_warnings(table, np.arange(len(table.y)), job.loss)
    job.note(*table.notes, *extreme)
    model = _fit(table, fit, job)
    features = evidence.with_held_out_effects(selected_features(model, table), model, table, held_out, job)
    unusual = [] if extreme else held_out_warnings(table, model, fit, held_out, job.loss)
    fewer = _fewer_are_better(model, job)
    job.note(*unusual, *fewer)
    scores = held_out_scores(model, table, fit, held_out)
    notes = (*table.notes, *extreme, *unusual, *fewer)
    result = Result(table, job, model, scores, features, fit, held_out, notes, origin)
    files = path_files(result)
    _write(job, files)
    job.note(*replaced)
    for name in OPTIONAL_FILES - files.keys() if not job.rank else ():
        (job.out / name).unlink(missing_ok=True)  # of an earlier run with another selection
    printing.show_result(result)
    try:
        found, further = _further_evidence(result, fit)
        files |= further
        if job.report:
            files["report.html"] = _write_report(result, found)
    except KeyboardInterrupt:
        job.note(f"interrupted; complete, in {job.out}: {_listed(list(files))}")
        raise
    print_text(job.console, f"Wrote {_listed(list(files))} to {job.out}")
    if job.json:
        print_json(selection_files(result, found)["summary.json"])
    return features["name"].tolist()


def _write(job: Job, files: Mapping[str, bytes]) -> None:
    """Write files, unless this process is one of several and not the first."""
    if not job.rank:
        write(job.out, files)


def _write_report(result: Result, found: Evidence) -> bytes:
    """Write the report, the last of the files; whatever goes wrong, the others are complete."""
    try:
        contents = report_file(result, found)
        _write(result.job, {"report.html": contents})
    except Exception as error:
        raise TableError(
            f"report.html could not be made, all other results are in {result.job.out}: {type(error).__name__}: {error}"
        ) from error
    return contents


def _further_evidence(result: Result, fit: Rows) -> tuple[Evidence, dict[str, bytes]]:
    """Run the selections that were asked for beside the path, and write and print each when it is complete."""
    job, table, used = result.job, result.table, set(result.features["name"])
    found, files = Evidence(), {}
    if job.max_false is not None:
        stable = evidence.stability(table, fit, job)
        found = replace(found, stability=stable)
        files["stability.csv"] = stable.frame.to_csv(index=False).encode()
        files["stability.png"] = png(plot.stability(stable.selector).figure)
        _write(job, files | selection_files(result, found))
        printing.show_stability(job.console, stable, used)
    if job.fdr is not None:
        selection = evidence.knockoffs(table, fit, job)
        found = replace(found, knockoffs=selection)
        files["knockoffs.csv"] = selection.frame.to_csv(index=False).encode()
        _write(job, files | selection_files(result, found))
        printing.show_knockoffs(job.console, selection, used)
    printing.show_selection_rule(job, found)
    return found, files


def _fit(table: Table, rows: Rows, job: Job) -> Any:
    shared = {"verbose": 0 if job.quiet else 1, "random_state": job.seed, **evidence.settings(job)}
    shared |= continuing.kept(job, "model")
    plain, cross = evidence.ESTIMATORS[table.task]
    if job.training is not None:
        shared["training"] = job.training
    rows = share(rows, job)
    if job.cv is not None:
        model = cross(cv=job.cv, n_features_to_select=job.k, n_jobs=job.n_jobs, **shared)
    else:
        model = plain(**shared, **({} if job.k is None else {"select": "best"}))
    with job.noting_warnings({"raise val_size, or set n_features_to_select": "use --k or --cv"}):
        model.fit(table.X.iloc[rows], table.y_of(rows), **continuing.resumed(job))
    # Importances and the figure need the whole path, so k is applied to it rather than ending it early; in cross-validation
    # k is part of the selection rule, and ends it.
    return model if job.k is None or job.cv is not None else model.at(n_features=job.k)


def _fewer_are_better(model: Any, job: Job) -> list[str]:
    """Say that a model with fewer features than ``--k`` asks for is better, where one is."""
    if job.k is None or model.n_selected_ < 2:
        return []
    if job.cv is not None:
        rows, chosen = model.cv_results_, model.cv_results_.loc[model.cv_index_]
        fewer = rows[(rows["n_selected"] < chosen["n_selected"]) & (rows["n_selected"] > 0)]
        better = fewer.sort_values("mean_test_score", ascending=False, kind="stable").head(1)
        counts, what = (float(chosen["n_selected"]), *better["n_selected"]), f"cross-validated {model.cv_score_name}"
        values = (float(chosen["mean_test_score"]), *better["mean_test_score"])
        improved = len(values) > 1 and values[1] > values[0]
    else:
        path = model.path_
        usual = model.at(lambda_=path[selection.fewest(path, model._solved.compared(model.refit))].lambda_)
        counts, what = (model.n_selected_, usual.n_selected_), "validation loss"
        values = (model.point_.val_loss, usual.point_.val_loss)
        improved = 0 < counts[1] < counts[0] and values[1] < values[0]
    shown = [f"{value:.3g}" for value in values]
    if not improved or shown[0] == shown[1]:
        return []
    number, fewer_number = (f"{round(count, 1):g}" for count in counts)
    return [
        f"--k {job.k} gives {number} features, with a {what} of {shown[0]}; {fewer_number} "
        f"{'feature has' if counts[1] == 1 else 'features have'} {shown[1]}: leave --k out, or give a smaller one"
    ]


def _replaced(job: Job, command: str) -> list[str]:
    """Name the results of another command that these replace."""
    file = job.out / MODEL_FILE
    if not file.exists():
        return []
    try:
        earlier = stored.about(file).get("command")
    except ValueError:
        earlier = None  # it is damaged, or of something else
    if earlier == command:
        return []
    return [
        f"replaced the results in {job.out} of: {earlier}" if earlier else f"replaced {file}, which another run wrote"
    ]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
