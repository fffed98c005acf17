"""From a fitted model and held-out samples to everything that a report shows, as a plain dictionary."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.evidence.knockoffs import fewest
from riata.preprocess import categories
from riata.report import explorer, features, pairs
from riata.report.answer import answer
from riata.report.numbers import exact, short
from riata.report.outcomes import outcome_of

__all__ = ["About", "summarise", "versions"]

_LOSSES = {
    "classes": "log loss",
    "labels": "log loss",
    "numbers": "squared error",
    "times": "negative log partial likelihood",
    "intervals": "negative log-likelihood",
}
_PREDICTIONS = {
    "classes": "probability",
    "labels": "probability",
    "numbers": "prediction",
    "times": "log hazard",
    "intervals": "median time",
}
_SHOWN = 200  # characters of a parameter's value


@dataclass(frozen=True)
class About:
    """What a report says that the model does not know.

    Attributes
    ----------
    title : str
        At its top.
    target : str
        Name of what is predicted; empty if there is none.
    notes : tuple of str
        Remarks on the data.
    code : str
        Lines of Python that repeat the run.
    command : str
        The command that repeats it.
    facts : tuple of pairs of str
        Further rows of the table of settings.
    kinds : tuple of str
        What each feature holds.
    columns : tuple of tuples of str
        Name, kind, contents and use of columns of the file, those that are no features too.
    n_columns : int
        Their number in the file, which may be larger.
    held_out : bool
        Whether it is known that the model was not fitted on the samples.
    absent : tuple of str
        Features that are missing in all samples: points of the path with them are left out.
    """

    title: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()
    code: str = ""
    command: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    kinds: tuple[str, ...] = ()
    columns: tuple[tuple[str, str, str, str], ...] = ()
    n_columns: int = 0
    held_out: bool = False
    absent: tuple[str, ...] = ()


def summarise(
    model: Any,
    X: Any,
    y: Any,
    *,
    about: About,
    image_shape: tuple[int, int] | None = None,
    stability: Any = None,
    knockoffs: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> dict[str, Any]:
    """Return what a report shows; the parameters are those of :meth:`LassoNetClassifier.report`."""
    check_is_fitted(model, "point_")
    check.no_sparse(X, "a report")
    samples = model._numbers(X)
    if len(samples) < 2:
        raise ValueError(f"a report needs at least 2 samples that were not used for the fit; X has {len(samples)}")
    _check_image(image_shape, model.n_features_in_)
    for selector in (stability, knockoffs):
        _check_selector(selector, model)
    outcome = outcome_of(model, y, len(samples))
    absent = np.isin(features.names_of(model), about.absent)
    shown = [each for each in explorer.shown(model) if not (each.point.selected & absent).any()]
    curves = features.curves_of(model, X, random_state)
    table = features.held_out_table(model, X, y, curves=curves, n_jobs=n_jobs, random_state=random_state)
    names = features.names_of(model)
    summary = {
        "title": about.title or "Selected features",
        "target": about.target or _name_of(y),
        "kind": outcome.kind,
        "estimator": type(model).__name__,
        "score_name": model.score_name,
        "loss_name": "loss" if outcome.kind == "numbers" and model._has_own_losses else _LOSSES[outcome.kind],
        "prediction_name": _PREDICTIONS[outcome.kind],
        "n_held_out": len(samples),
        "n_features": len(names),
        "names": names,
        "truth": outcome.truth(),
        "points": [explorer.summarise_point(model, each, samples, y, outcome) for each in shown],
        "at": next(i for i, each in enumerate(shown) if each.is_model),
        "features": features.feature_columns(model, table, _decisions(about, stability, knockoffs)),
        "effects": features.effects(model, categories.as_frame(X), curves),
        "maps": pairs.maps(model, X, random_state),
        "alternatives": features.alternatives(model),
        "screening": model.screening_,
        "image_shape": None if image_shape is None else list(image_shape),
        "stability": None if stability is None else _stability(stability),
        "knockoffs": None if knockoffs is None else _knockoffs(knockoffs),
        **_told(about),
        "settings": _settings(model, about),
        "cv": _cross_validation(model),
    }
    return {"answer": answer(summary), **summary}


def _told(about: About) -> dict[str, Any]:
    """Return what is shown as it was given."""
    return {
        "held_out": about.held_out,
        "notes": list(about.notes),
        "columns": [list(column) for column in about.columns],
        "n_columns": about.n_columns,
        "code": about.code,
        "command": about.command,
    }


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    libraries = {name: version(name) for name in ("riata", "torch", "scikit-learn", "numpy")}
    return {**libraries, "python": platform.python_version()}


def _name_of(y: Any) -> str:
    return str(y.name) if isinstance(y, pd.Series) and y.name is not None else ""


def _check_image(shape: tuple[int, int] | None, n_features: int) -> None:
    if shape is not None and (len(shape) != 2 or shape[0] * shape[1] != n_features):
        size = " × ".join(map(str, shape))
        raise ValueError(
            f"image_shape must be (rows, columns) with {n_features} pixels, one for each feature; got {size}"
        )


def _check_selector(selector: Any, model: Any) -> None:
    if selector is None:
        return
    check_is_fitted(selector, "selected_")
    if len(selector.selected_) != model.n_features_in_:
        raise ValueError(
            f"{type(selector).__name__} was fitted on {len(selector.selected_)} features, the model on {model.n_features_in_}"
        )


def _decisions(about: About, stability: Any, knockoffs: Any) -> dict[str, Any]:
    """Return columns of the feature table that the model itself does not have."""
    further: dict[str, Any] = {}
    if about.kinds:
        further["kind"] = list(about.kinds)
    if stability is not None:
        further |= {"frequency": list(map(exact, stability.frequencies_)), "stable": stability.selected_.tolist()}
    if knockoffs is not None:
        further |= {"statistic": list(map(exact, knockoffs.statistics_)), "knockoff": knockoffs.selected_.tolist()}
    return further


def _stability(selector: Any) -> dict[str, Any]:
    return {
        "threshold": float(selector.threshold_),
        "n_resamples": int(selector.n_resamples),
        "n_taken": int(selector.n_features_taken_),
        "false_bound": short(selector.false_bound_),
        "n_selected": int(selector.selected_.sum()),
    }


def _knockoffs(selector: Any) -> dict[str, Any]:
    fdr = float(selector.fdr)
    return {"fdr": fdr, "n_selected": int(selector.selected_.sum()), "fewest": fewest(fdr)}


def _cross_validation(model: Any) -> dict[str, Any] | None:
    """Return scores of cross-validation against the number of features, for the selected network."""
    if not hasattr(model, "cv_results_"):
        return None
    results = model.cv_results_
    chosen = results.loc[model.cv_index_]
    same = results[(results["M"] == chosen["M"]) & (results["hidden_dims"] == chosen["hidden_dims"])]
    best = same.sort_values("mean_test_score", ascending=False, kind="stable").drop_duplicates("n_selected")
    line = best.sort_values("n_selected").dropna(subset=["mean_test_score"])
    return {
        "n": [short(value) for value in line["n_selected"]],
        "score": [short(value) for value in line["mean_test_score"]],
        "score_se": [short(value) for value in line["se_test_score"]],
        "selected_n": short(model.cv_n_selected_),
        "selected_score": short(model.cv_score_),
        "n_folds": sum(str(name).startswith("split") for name in results.columns),
    }


def _settings(model: Any, about: About) -> list[list[str]]:
    """Return names and values for the table of settings: facts, parameters that are not the default, versions."""
    default = type(model)().get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if repr(value) != repr(default[name])}
    given.pop("checkpoint", None)  # a folder, of no influence on the model
    rows = [("estimator", type(model).__name__), *about.facts]
    rows += [(name, repr(value)[:_SHOWN]) for name, value in given.items()]
    rows += [("λ of the model", f"{model.lambda_:.4g}"), ("screening", model.screening_)]
    rows += [(name, text) for name, text in versions().items()]
    return [list(row) for row in rows]
