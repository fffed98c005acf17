"""The tables that a selection prints."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from riata.cli import losses
from riata.cli.evidence import Evidence, Selection
from riata.cli.options import Job
from riata.cli.output import SHOWN, mention_rest, number_table, print_text
from riata.cli.results import Result
from riata.evidence.curves import brief, with_margin
from riata.evidence.knockoffs import fewest
from riata.losses import AbsoluteError, Quantile

_PREDICTED = {"classification": "probability", "regression": "prediction", "survival": "log hazard"}
_LOSS = {"classification": "log loss", "regression": "squared error", "survival": "negative log partial likelihood"}
_UNCLEAR = "°"  # marks a loss rise whose interval is not above zero
_BASELINE = {"classification": "most frequent class", "regression": "mean of the target", "survival": "equal risks"}


def show_result(result: Result) -> None:
    """Print the selected features, interactions and scores."""
    console = result.job.console
    _show_features(console, result)
    _show_interactions(console, result.model)
    _show_scores(console, result)
    if result.job.cv is not None:
        _show_cross_validation(console, result.model, result.job.cv)


def show_stability(console: Console, found: Selection, used: set[str]) -> None:
    """Print the columns that most half-samples select, and which of them the model uses."""
    selector = found.selector
    share = f"in at least {100 * selector.threshold_:g} % of {selector.n_resamples} half-samples"
    title = f"Stability: {len(found.selected)} of {len(found.frame)} columns"
    if not len(found.selected):
        print_text(console, f"{title} are selected {share}\n")
        return
    _show_columns(console, title, found, "frequency", used)
    print_text(console, f"These are selected {share}, as one of the top {selector.n_features_taken_}.")
    bound = f"at most {selector.false_bound_:.2g} on average"
    print_text(console, f"Columns among them that are selected no more often than by chance: {bound}.\n")


def show_knockoffs(console: Console, found: Selection, used: set[str]) -> None:
    """Print the columns that knockoffs select, and which of them the model uses."""
    fdr = found.selector.fdr
    title = f"Knockoffs: {len(found.selected)} of {len(found.frame)} columns"
    if not len(found.selected):
        print_text(
            console, f"{title} at a false discovery rate of {fdr:g}: fewer than {fewest(fdr)} cannot be selected\n"
        )
        return
    _show_columns(console, title, found, "statistic", used)
    print_text(console, f"These are selected at a false discovery rate of {fdr:g}: on average, at most {100 * fdr:g} %")
    print_text(console, "of such columns are independent of the target, given the other columns.\n")


def show_selection_rule(job: Job, found: Evidence) -> None:
    """Print that the model does not depend on stability selection and knockoffs."""
    names = [name for name in ("stability", "knockoffs") if getattr(found, name) is not None]
    if names:
        path = "the validation loss along the path" if job.k is None else f"--k {job.k} along the path"
        folds = f"{job.cv}-fold cross-validation" + ("" if job.k is None else f" and --k {job.k}")
        print_text(
            job.console,
            f"The features of the model are selected by {path if job.cv is None else folds}, and its scores",
        )
        print_text(
            job.console, f"are those of the held-out rows: the evidence from {' and '.join(names)} changes neither.\n"
        )


def feature_table(features: pd.DataFrame, n_features: int, *, same_class: bool = False) -> RichTable:
    """Return the table of the selected features; ``same_class`` if all effects are on the probability of one class."""
    printed = number_table(f"Selected {len(features)} of {n_features} features", "feature", ["importance", "loss rise"])
    printed.add_column("effect")
    for row in features.head(SHOWN).to_dict("records"):
        margin = (row["loss_rise_high"] - row["loss_rise_low"]) / 2
        rise = with_margin(row["loss_rise"], margin) + (f" {_UNCLEAR}" if _is_unclear(row) else "  ")
        effect = row["effect"].removesuffix(", against the average")
        effect = effect.removeprefix(f"probability of {row['towards']} ") if same_class else effect
        printed.add_row(Text(row["name"]), brief(row["importance"], 3), rise, Text(effect))
    mention_rest(printed, len(features), "selected.csv")
    return printed


def _is_unclear(row: Any) -> bool:
    """Return whether the interval of the loss rise is not above zero."""
    return bool(row["loss_rise_low"] <= 0)


def _show_features(console: Console, result: Result) -> None:
    table, model, features = result.table, result.model, result.features
    if not len(features):
        print_text(console, _no_feature(result))
        return
    two = table.task == "classification" and len(model.classes_) == 2
    predicted = f"probability of {model.classes_[1]}" if two else _PREDICTED[table.task]
    console.print(feature_table(features, table.X.shape[1], same_class=two))
    print_text(console, " importance: the penalty λ at which the column is dropped from the model")
    print_text(console, f" loss rise: of the held-out {loss_of(result)}, if the column is permuted (± 95 %)")
    if any(_is_unclear(row) for row in features.head(SHOWN).to_dict("records")):
        print_text(console, f" {_UNCLEAR} not clearly above 0: these rows do not show that the model needs the column")
    print_text(console, f" effect: on the mean {predicted}, over the middle 90 % of the column;")
    print_text(console, " of a category, at the two levels that differ most from the average\n")


def loss_of(result: Result) -> str:
    """Return the name of the loss whose rise is measured."""
    loss = result.job.loss
    return _LOSS[result.table.task] if loss is None else f"loss ({losses.loss_name(loss)})"


def _no_feature(result: Result) -> str:
    """Return why no feature was selected."""
    counts = result.model.path_.n_selected
    if result.job.k is not None and (counts > 0).any():
        fewest = int(counts[counts > 0].min())
        return f"No feature was selected: the path goes from {fewest} features to none; use --k {fewest}.\n"
    return "No feature was selected: none of them clearly lowers the validation loss.\n"


def _show_interactions(console: Console, model: Any) -> None:
    """Print the five strongest interactions."""
    found = model.interactions_
    if not len(found):
        return
    printed = number_table("Interactions associated with the target", "features", ["statistic", "corrected p"])
    for row in found.head(5).to_dict("records"):
        names = (row[f"feature_{i}"] for i in (1, 2, 3) if row[f"feature_{i}"] is not None)
        printed.add_row(Text(" × ".join(map(str, names))), brief(row["statistic"], 3), brief(row["p_value"], 2))
    mention_rest(printed, len(found), "interactions.csv")
    console.print(printed, "", sep="\n")


def _show_scores(console: Console, result: Result) -> None:
    names = list(result.scores["selected"])
    labels = {
        "selected": f"selected features ({len(result.features)})",
        "all": f"all features ({result.table.X.shape[1]})",
        "baseline": f"without features ({_baseline(result)})",
    }
    printed = number_table(f"Scores on {len(result.held_out)} held-out rows", "", names)
    for name, row in result.scores.items():
        printed.add_row(labels[name], *(f"{row[score]:.4g}" for score in names))
    console.print(printed)
    if result.table.survival is not None:
        n = int(result.table.y_of(result.held_out)["event"].sum())
        print_text(console, " concordance: of pairs of rows that can be compared, the share in the right order")
        print_text(console, f" {n} of the held-out rows end with the event")
    console.print()


def _baseline(result: Result) -> str:
    """Return what is predicted without features."""
    loss = result.job.loss
    if isinstance(loss, AbsoluteError | Quantile):
        level = loss.levels[0] if isinstance(loss, Quantile) else 0.5
        return "median of the target" if level == 0.5 else f"{level:g} quantile of the target"
    return _BASELINE[result.table.task]


def _show_cross_validation(console: Console, model: Any, n_folds: int) -> None:
    score = f"{with_margin(model.cv_score_, model.cv_score_se_)} (standard error)"
    mean = round(model.cv_n_selected_, 1)
    size = "1 feature" if mean == 1 else f"{mean:g} features"
    print_text(console, f"Cross-validated {model.cv_score_name} of {n_folds} folds: {score}")
    print_text(console, f"with {size} on average; the model, fitted on all folds, has {model.n_selected_}\n")


def _show_columns(console: Console, title: str, found: Selection, number: str, used: set[str]) -> None:
    printed = number_table(title, "column", [number, "in the model"])
    for row in found.selected.head(SHOWN).to_dict("records"):
        printed.add_row(Text(row["feature"]), f"{row[number]:.3g}", "yes" if row["feature"] in used else "no")
    mention_rest(printed, len(found.selected))
    console.print(printed)
