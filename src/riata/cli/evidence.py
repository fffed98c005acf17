"""Evidence beside the path: stability selection, knockoffs, and what each feature contributes on held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.cli import continuing
from riata.cli.options import Job
from riata.estimators import (
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
)
from riata.evidence import KnockoffSelector, StabilitySelector, bounds, feature_effects, permutation_importance
from riata.evidence.knockoffs import fewest
from riata.files import Table, TableError, as_text, counted, first_few

Rows = NDArray[np.int64]
HALF_SAMPLES = 100
ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "classification": (LassoNetClassifier, LassoNetClassifierCV),
    "regression": (LassoNetRegressor, LassoNetRegressorCV),
    "survival": (LassoNetCoxRegressor, LassoNetCoxRegressorCV),
}
THRESHOLD = 0.75  # share of the half-samples that select a stable feature


@dataclass(frozen=True, eq=False)
class Selection:
    """What a selector found: one row for each column of the file, and the notes of its fit."""

    selector: Any
    frame: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def selected(self) -> pd.DataFrame:
        """Rows of the selected columns."""
        return self.frame[self.frame["selected"]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The selections that were asked for beside the path."""

    stability: Selection | None = None
    knockoffs: Selection | None = None


# ---- checks ---------------------------------------------------------------------------------------------------------


def check(table: Table, rows: Rows, job: Job) -> None:
    """Raise an error for what cannot be done with these rows, before any training."""
    y = table.y_of(rows)
    if job.cv is not None:
        _check_folds(table.task, y, job.cv)
    if job.max_false is not None:
        # Each half-sample needs two rows of a class, or two events: one for training and one for validation.
        if table.task == "classification":
            _check_classes(y, "--stability", 4, "leave it out")
        elif table.task == "survival":
            _check_events(y, "--stability", 4, "leave it out")
        _check_bound(_stability_selector(table, job), table.X.shape[1])
    if job.fdr is not None:
        _check_number(table, rows, job.fdr)


def _check_folds(task: str, y: Any, n_folds: int) -> None:
    option, remedy = f"--cv {n_folds}", "use fewer folds"
    if task == "classification":
        _check_classes(y, option, n_folds, remedy)
    elif task == "survival":
        _check_events(y, option, 2 * n_folds, remedy)
    elif len(y) < 2 * n_folds:
        raise TableError(f"{option} needs two rows for each fold; {len(y)} are fitted: {remedy}")


def _check_events(y: pd.DataFrame, option: str, fewest_events: int, remedy: str) -> None:
    n = int(y["event"].sum())
    if n < fewest_events:
        raise TableError(
            f"{option} needs {fewest_events} events among the {len(y)} rows that are fitted; {n} are: {remedy}"
        )


def _check_classes(y: NDArray[Any], option: str, fewest_rows: int, remedy: str) -> None:
    counts = pd.Series(y).value_counts()
    rare = counts[counts < fewest_rows]
    if len(rare):
        listed = first_few([f"{as_text(label)} ({count})" for label, count in rare.items()])
        raise TableError(
            f"{option} needs {fewest_rows} rows of every class among the {len(y)} that are fitted; there are fewer of "
            f"{listed}: {remedy}, or merge rare classes"
        )


def _check_bound(selector: StabilitySelector, p: int) -> None:
    least = bounds.false_selections(1, THRESHOLD, p, selector.n_resamples // 2, selector.assumption)
    if least > selector.max_false:
        raise TableError(
            f"--max-false {selector.max_false:g} cannot be kept with {counted(p, 'column')}: use "
            f"{math.ceil(1000 * least) / 1000:g} or more"
        )


def _check_number(table: Table, rows: Rows, fdr: float) -> None:
    n = int((table.X.iloc[rows].nunique(dropna=False) > 1).sum())
    if n < fewest(fdr):
        least = math.ceil(1000 / n) / 1000 if n else math.inf
        raise TableError(
            f"--fdr {fdr:g} needs at least {fewest(fdr)} columns, as fewer can never be selected; the table has {n} that "
            f"are not constant: {f'use --fdr {least:g} or more' if least <= 1 else 'it needs more'}"
        )


# ---- selections -----------------------------------------------------------------------------------------------------


def settings(job: Job) -> dict[str, Any]:
    """Return the parameters that all models of a job share."""
    shared = {"hidden_dims": job.hidden, "M": job.M}
    return shared if job.loss is None else {**shared, "loss": job.loss}


def stability(table: Table, rows: Rows, job: Job) -> Selection:
    """Select columns on half-samples of some rows."""
    selector = _stability_selector(table, job)
    notes = _fit(selector, table, rows, job, {"max_false": "--max-false", "frequencies_": "stability.csv"})
    return Selection(selector, _by_column(table, "frequency", selector.frequencies_, selector.selected_), notes)


def knockoffs(table: Table, rows: Rows, job: Job) -> Selection:
    """Select columns that are more important than their knockoffs on some rows."""
    selector = KnockoffSelector(_ranker(table, job), **_shared(job, "knockoffs") | {"fdr": job.fdr})
    wording = {
        "at fdr=": "at --fdr ",
        "feature_groups for columns": "leaving out all but one of the columns",
        "better estimator": "better model (--hidden, --M)",
    }
    notes = _fit(selector, table, rows, job, wording)
    return Selection(selector, _by_column(table, "statistic", selector.statistics_, selector.selected_), notes)


def with_held_out_effects(features: pd.DataFrame, model: Any, table: Table, held_out: Rows, job: Job) -> pd.DataFrame:
    """Add to the selected features their effects on held-out predictions, and by how much the loss rises without each.

    Columns are permuted up to 20 times, less often if more than 10⁹ entries would have to be predicted from.

    Parameters
    ----------
    features : DataFrame
        One row for each selected feature.
    model : estimator
        Fitted.
    table : Table
        Where the rows are.
    held_out : array of int
        Rows that were not used in the fit.
    job : Job
        What was asked for.
    """
    X = table.X.iloc[held_out]
    effects = feature_effects(model, X, features=features["name"].tolist(), random_state=job.seed).set_index("feature")
    repeats = min(20, max(1, 10**9 // (X.size * max(1, len(features)))))
    found = permutation_importance(
        model, X, table.y_of(held_out), n_repeats=repeats, n_jobs=job.n_jobs, random_state=job.seed
    ).set_index("feature")
    columns = {
        "effect": effects["text"],
        "shape": effects["shape"],
        "size": effects["size"],
        "towards": effects["towards"],
    }
    columns |= {"loss_rise": found["importance"], "loss_rise_low": found["low"], "loss_rise_high": found["high"]}
    return features.assign(**{name: features["name"].map(values) for name, values in columns.items()})


def with_frequency(features: pd.DataFrame, found: Evidence) -> pd.DataFrame:
    """Add to the selected features their selection frequencies, where these are known."""
    if found.stability is None:
        return features
    return features.assign(frequency=features["name"].map(found.stability.frame.set_index("feature")["frequency"]))


def _ranker(table: Table, job: Job) -> Any:
    """Return the estimator that ranks features; importances come from the whole path, so any selection rule will do."""
    return ESTIMATORS[table.task][0](select=0.0, **settings(job))


def _shared(job: Job, name: str) -> dict[str, Any]:
    """Return the parameters that both selectors share."""
    shared = {"n_jobs": job.n_jobs, "verbose": 0 if job.quiet else 1, "random_state": job.seed}
    return shared | continuing.kept(job, name)


def _stability_selector(table: Table, job: Job) -> StabilitySelector:
    limits: dict[str, Any] = {"max_false": job.max_false, "threshold": THRESHOLD, "n_resamples": HALF_SAMPLES}
    return StabilitySelector(_ranker(table, job), **limits, **_shared(job, "stability"))


def _fit(selector: Any, table: Table, rows: Rows, job: Job, wording: dict[str, str]) -> tuple[str, ...]:
    with job.noting_warnings(wording) as notes:
        selector.fit(table.X.iloc[rows], table.y_of(rows), **continuing.resumed(job))
    return tuple(notes)


def _by_column(table: Table, name: str, values: NDArray[np.float64], selected: NDArray[np.bool_]) -> pd.DataFrame:
    """Return one row for each column, largest value first."""
    frame = pd.DataFrame({"feature": table.X.columns, name: values, "selected": selected})
    return frame.sort_values(name, ascending=False, kind="stable", ignore_index=True)


# ---- summary --------------------------------------------------------------------------------------------------------


def summary(found: Evidence) -> dict[str, Any]:
    """Return the entries of both selections in the summary."""
    stable = knockoffs_ = None
    if found.stability is not None:
        selector = found.stability.selector
        stable = {
            "max_false": selector.max_false,
            "half_samples": selector.n_resamples,
            "selected_from_each": selector.n_features_taken_,
            "threshold": selector.threshold_,
            "bound": selector.false_bound_,
            **_selection_summary(found.stability),
        }
    if found.knockoffs is not None:
        selector = found.knockoffs.selector
        knockoffs_ = {"fdr": selector.fdr, "threshold": selector.threshold_, **_selection_summary(found.knockoffs)}
    return {"stability": stable, "knockoffs": knockoffs_}


def _selection_summary(found: Selection) -> dict[str, Any]:
    names = found.selected["feature"].tolist()
    return {"n_selected": len(names), "selected": names, "notes": list(found.notes)}
