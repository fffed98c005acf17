"""How far features can be trusted, for the command line: folds, halves, knockoffs, and the loss without a feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from riata.cli.output import SHOWN, Job, number_table, say
from riata.estimators import LassoNetClassifier, LassoNetRegressor
from riata.evidence import KnockoffSelector, StabilitySelector, bounds, feature_effects, permutation_importance
from riata.evidence.knockoffs import fewest
from riata.files import Table, TableError, counted, shown, some
from riata.plot import score_name

Rows = NDArray[np.int64]
HALVES = 100
STABLE = 0.75  # share of the halves that a stable feature is taken from
FEWEST_OF_A_CLASS = 4  # two in each half: one to train on and one to validate on
REPEATS = 20  # permutations of a column
ENTRIES = 10**9  # that the model may see, over all permutations: more than a few seconds' worth is not needed


@dataclass(frozen=True, eq=False)
class Found:
    """What a selector found: one row for each column of the file, and what was noted on the way."""

    selector: Any
    frame: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def selected(self) -> pd.DataFrame:
        """Rows of the selected columns."""
        return self.frame[self.frame["selected"]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was asked for beside the path."""

    stability: Found | None = None
    knockoffs: Found | None = None


# ---- options --------------------------------------------------------------------------------------------------------


def folds(cv: int | None) -> int | None:
    """Check a number of folds."""
    if cv is not None and cv < 2:
        raise TableError(f"--cv must be at least 2 folds; got {cv}")
    return cv


def most_false(stability: bool, max_false: float | None) -> float | None:
    """Check the bound of a stability selection; None without such a selection."""
    if not stability and max_false is not None:
        raise TableError("--max-false is for stability selection: give --stability too")
    if max_false is not None and not 0 < max_false < math.inf:
        raise TableError(f"--max-false must be above 0, such as 1; got {max_false:g}")
    return (1.0 if max_false is None else max_false) if stability else None


def rate(fdr: float | None) -> float | None:
    """Check a false discovery rate."""
    if fdr is not None and not 0 < fdr <= 1:
        raise TableError(f"--fdr must be above 0 and at most 1, such as 0.1; got {fdr:g}")
    return fdr


def check(table: Table, rows: Rows, job: Job) -> None:
    """Refuse what cannot be done with these rows, before any training."""
    y = table.y[rows]
    if job.cv is not None and table.task == "classification":
        _check_classes(y, f"--cv {job.cv}", job.cv, "use fewer folds")
    elif job.cv is not None and len(y) < 2 * job.cv:
        raise TableError(f"--cv {job.cv} needs two rows for each fold; {len(y)} are fitted: use fewer folds")
    if job.max_false is not None:
        if table.task == "classification":
            _check_classes(y, "--stability", FEWEST_OF_A_CLASS, "leave it out")
        _check_bound(_stability_selector(table, job), table.X.shape[1])
    if job.fdr is not None:
        _check_number(table, rows, job.fdr)


def _check_classes(y: NDArray[Any], option: str, fewest_rows: int, remedy: str) -> None:
    counts = pd.Series(y).value_counts()
    rare = counts[counts < fewest_rows]
    if len(rare):
        listed = some([f"{shown(label)} ({count})" for label, count in rare.items()])
        raise TableError(
            f"{option} needs {fewest_rows} rows of every class among the {len(y)} that are fitted; there are fewer of "
            f"{listed}: {remedy}, or merge rare classes"
        )


def _check_bound(selector: StabilitySelector, p: int) -> None:
    least = bounds.false_selections(1, STABLE, p, selector.n_resamples // 2, selector.assumption)
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


# ---- work -----------------------------------------------------------------------------------------------------------


def settings(job: Job) -> dict[str, Any]:
    """Return what all models of a job share."""
    return {"hidden_dims": job.hidden, "M": job.M}


def stability(table: Table, rows: Rows, job: Job) -> Found:
    """Rank the columns on halves of some rows."""
    selector = _stability_selector(table, job)
    notes = _fit(selector, table, rows, job, {"max_false": "--max-false", "frequencies_": "stability.csv"})
    return Found(selector, _by_column(table, "frequency", selector.frequencies_, selector.selected_), notes)


def knockoffs(table: Table, rows: Rows, job: Job) -> Found:
    """Compare the columns with their knockoffs on some rows."""
    selector = KnockoffSelector(_ranker(table, job), **_work(job) | {"fdr": job.fdr})
    wording = {
        "at fdr=": "at --fdr ",
        "feature_groups for columns": "leaving out all but one of the columns",
        "better estimator": "better model (--hidden, --M)",
    }
    notes = _fit(selector, table, rows, job, wording)
    return Found(selector, _by_column(table, "statistic", selector.statistics_, selector.selected_), notes)


def worth(chosen: pd.DataFrame, model: Any, table: Table, held_out: Rows, job: Job) -> pd.DataFrame:
    """Add to the selected features how each moves predictions on rows held out, and what these are worth without it.

    Parameters
    ----------
    chosen : DataFrame
        One row for each selected feature.
    model : estimator
        Fitted.
    table : Table
        Where the rows are.
    held_out : array of int
        Rows that the model has not seen.
    job : Job
        What was asked for.
    """
    X = table.X.iloc[held_out]
    effects = feature_effects(model, X, features=chosen["name"].tolist(), random_state=job.seed).set_index("feature")
    repeats = min(REPEATS, max(1, ENTRIES // (X.size * max(1, len(chosen)))))
    found = permutation_importance(
        model, X, table.y[held_out], n_repeats=repeats, n_jobs=job.n_jobs, random_state=job.seed
    ).set_index("feature")
    more = {new: chosen["name"].map(effects[old]) for old, new in _EFFECTS.items()}
    more |= {new: chosen["name"].map(found[old]) for old, new in _RISES.items()}
    return chosen.assign(**more)


_EFFECTS = {"text": "effect", "shape": "shape", "size": "size", "towards": "towards"}
_RISES = {"importance": "loss_rise", "low": "loss_rise_low", "high": "loss_rise_high"}


def with_frequency(chosen: pd.DataFrame, found: Evidence) -> pd.DataFrame:
    """Add to the selected features how often halves of the rows take them, where that is known."""
    if found.stability is None:
        return chosen
    return chosen.assign(frequency=chosen["name"].map(found.stability.frame.set_index("feature")["frequency"]))


def _ranker(table: Table, job: Job) -> Any:
    """Return what ranks features: importances come from the whole path, so that no point needs to be chosen with care."""
    kind = LassoNetClassifier if table.task == "classification" else LassoNetRegressor
    return kind(select=0.0, **settings(job))


def _work(job: Job) -> dict[str, Any]:
    """Return how a selector is to work."""
    return {"n_jobs": job.n_jobs, "verbose": 0 if job.quiet else 1, "random_state": job.seed}


def _stability_selector(table: Table, job: Job) -> StabilitySelector:
    limits: dict[str, Any] = {"max_false": job.max_false, "threshold": STABLE, "n_resamples": HALVES}
    return StabilitySelector(_ranker(table, job), **limits, **_work(job))


def _fit(selector: Any, table: Table, rows: Rows, job: Job, wording: dict[str, str]) -> tuple[str, ...]:
    with job.noting_warnings(wording) as notes:
        selector.fit(table.X.iloc[rows], table.y[rows])
    return tuple(notes)


def _by_column(table: Table, name: str, values: NDArray[np.float64], selected: NDArray[np.bool_]) -> pd.DataFrame:
    """One row for each column, largest value first."""
    frame = pd.DataFrame({"feature": table.X.columns, name: values, "selected": selected})
    return frame.sort_values(name, ascending=False, kind="stable", ignore_index=True)


# ---- results --------------------------------------------------------------------------------------------------------


def cross_validation(model: Any, n_folds: int) -> dict[str, Any]:
    """Return for the summary what the folds say."""
    return {
        "folds": n_folds,
        "score": score_name(model),
        "mean": model.cv_score_,
        "standard_error": model.cv_score_se_,
        "lambda": model.cv_results_["lambda_"][model.cv_index_],
        "n_selected": model.cv_n_selected_,
    }


def summary(found: Evidence) -> dict[str, Any]:
    """Return for the summary what the selectors say."""
    halves = copies = None
    if found.stability is not None:
        selector = found.stability.selector
        halves = {
            "max_false": selector.max_false,
            "halves": selector.n_resamples,
            "taken_from_each": selector.n_features_taken_,
            "threshold": selector.threshold_,
            "bound": selector.false_bound_,
            **_selection(found.stability),
        }
    if found.knockoffs is not None:
        selector = found.knockoffs.selector
        copies = {"fdr": selector.fdr, "threshold": selector.threshold_, **_selection(found.knockoffs)}
    return {"stability": halves, "knockoffs": copies}


def _selection(found: Found) -> dict[str, Any]:
    names = found.selected["feature"].tolist()
    return {"n_selected": len(names), "selected": names, "notes": list(found.notes)}


def show_cross_validation(console: Console, model: Any, job: Job) -> None:
    """Print what the folds say of the chosen model."""
    score = f"{model.cv_score_:.4g} ± {model.cv_score_se_:.2g} (standard error)"
    asked = round(model.cv_n_selected_, 1)
    size = "1 feature" if asked == 1 else f"{asked:g} features"
    say(console, f"Cross-validated {score_name(model)} of {job.cv} folds: {score}")
    say(console, f"with {size} on average; the model, on the rows of all folds, has {model.n_selected_}\n")


def show_choice(job: Job, found: Evidence) -> None:
    """Say that the model does not depend on what the selectors found."""
    names = [name for name in ("stability", "knockoffs") if getattr(found, name) is not None]
    if names:
        path = "the validation loss along the path" if job.k is None else f"--k {job.k} along the path"
        by_folds = f"{job.cv}-fold cross-validation" + ("" if job.k is None else f" and --k {job.k}")
        how = path if job.cv is None else by_folds
        say(job.console, f"The selection and its scores are the choice of {how}.")
        say(job.console, f"The evidence from {' and '.join(names)} does not change them.\n")


def show_stability(console: Console, found: Found, used: set[str]) -> None:
    """Print which columns halves of the rows agree on, and which of them the model uses."""
    selector = found.selector
    often = f"from at least {100 * selector.threshold_:g} % of {selector.n_resamples} halves of the rows"
    title = f"Stability: {len(found.selected)} of {len(found.frame)} columns"
    if not len(found.selected):
        say(console, f"{title} are taken {often}\n")
        return
    _show_columns(console, title, found, "frequency", used)
    say(console, f"These are taken {often}, the first {selector.n_features_taken_} of each.")
    bound = f"at most {selector.false_bound_:.2g} of such columns on average"
    say(console, f"Taken no more often than by chance: {bound}.\n")


def show_knockoffs(console: Console, found: Found, used: set[str]) -> None:
    """Print which columns beat their knockoffs, and which of them the model uses."""
    fdr = found.selector.fdr
    title = f"Knockoffs: {len(found.selected)} of {len(found.frame)} columns"
    if not len(found.selected):
        say(console, f"{title} at a false discovery rate of {fdr:g}\n")
        return
    _show_columns(console, title, found, "statistic", used)
    say(console, f"These are selected at a false discovery rate of {fdr:g}: on average, at most {100 * fdr:g} %")
    say(console, "of such columns say nothing of the target that the other columns do not say.\n")


def _show_columns(console: Console, title: str, found: Found, number: str, used: set[str]) -> None:
    printed = number_table(title, "column", [number, "in the model"])
    for row in found.selected.head(SHOWN).to_dict("records"):
        printed.add_row(Text(row["feature"]), f"{row[number]:.3g}", "yes" if row["feature"] in used else "no")
    if len(found.selected) > SHOWN:
        printed.caption, printed.caption_justify = Text(f" … and {len(found.selected) - SHOWN} more"), "left"
    console.print(printed)
