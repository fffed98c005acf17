"""Scores on held-out rows, and warnings about the rows that they may depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.metrics import (
    accuracy_score,
    d2_pinball_score,
    d2_tweedie_score,
    log_loss,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

from riata import check
from riata.cli.opening import few_notes, levels_of
from riata.files import Seen, Table, TableError, as_text, extreme_target, first_few, unlike_training
from riata.losses import AbsoluteError, Quantile, SquaredError, of_numbers
from riata.losses.rates import Rate
from riata.survival.concordance import concordance

Rows = NDArray[np.int64]
Scores = dict[str, dict[str, float]]


def check_survival(table: Table, fit: Rows, held_out: Rows) -> None:
    """Raise an error if the held-out rows cannot be scored, before any training."""
    if table.task != "survival":
        return
    y = table.y_of(held_out)
    new = sorted(set(y["strata"]) - set(table.y_of(fit)["strata"])) if "strata" in y else []
    if new:
        raise TableError(
            f"strata whose rows were all held out: {first_few([as_text(label) for label in new])}; merge small strata with "
            "others"
        )
    try:
        concordance(check.survival(y), np.zeros(len(y)))
    except ValueError:
        raise TableError(
            f"no two of the {len(y)} held-out rows can be compared, as that takes an event while another row is at risk: "
            "more events are needed, or another --seed"
        ) from None


def held_out_scores(model: Any, table: Table, fit: Rows, held_out: Rows) -> Scores:
    """Score the model, the dense network and a baseline without features on the held-out rows."""
    X, y = table.X.iloc[held_out], table.y_of(held_out)
    models = {"selected": model, "all": model.at(lambda_=0)}
    scores = {name: scores_of(each, X, y, table.task) for name, each in models.items()}
    return scores | {"baseline": _baseline_scores(model, table, fit, held_out)}


def scores_of(model: Any, X: pd.DataFrame, y: Any, task: str) -> dict[str, float]:
    """Score the predictions of a model."""
    if task == "classification":
        return _classification_scores(model, X, y)
    if task == "regression" and model.score_name == "R²":
        return _regression_scores(y, model.predict(X))
    return {model.score_name: float(model.score(X, y))}


def _baseline_scores(model: Any, table: Table, fit: Rows, held_out: Rows) -> dict[str, float]:
    """Score a prediction that is the same for all rows."""
    if table.task == "survival":
        return {model.score_name: 0.5}
    X, y, seen = table.X.iloc[held_out], table.y_of(held_out), table.y_of(fit)
    if table.task == "classification":
        return _classification_scores(DummyClassifier(strategy="prior").fit(table.X.iloc[fit], seen), X, y)
    loss = of_numbers(model.loss)
    if isinstance(loss, AbsoluteError | Quantile):
        level = loss.levels[0] if isinstance(loss, Quantile) else 0.5
        constant = np.full(len(y), np.quantile(seen, level))
        return {loss.score_name: float(d2_pinball_score(y, constant, alpha=level))}
    constant = np.full(len(y), seen.mean())
    if isinstance(loss, Rate):
        return {loss.score_name: float(d2_tweedie_score(y, constant, power=loss.power))}
    return _regression_scores(y, constant)


def _classification_scores(model: Any, X: pd.DataFrame, y: NDArray[Any]) -> dict[str, float]:
    predicted = model.predict(X)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        # Balanced accuracy over the classes that were held out; scikit-learn's own warns if others are predicted.
        "balanced accuracy": float(recall_score(y, predicted, labels=np.unique(y), average="macro")),
        "log loss": float(log_loss(y, model.predict_proba(X), labels=model.classes_)),
    }


def _regression_scores(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    return {"R²": float(r2_score(y, predicted)), "RMSE": float(root_mean_squared_error(y, predicted))}


def target_warnings(table: Table, rows: Rows, loss: Any = None) -> list[str]:
    """Return a warning about a few rows that dominate the squared error, if that is the loss."""
    squared = table.task == "regression" and type(of_numbers(loss)) is SquaredError
    text = extreme_target(table.y[rows], table.rows[rows], table.target) if squared else ""
    return [text] if text else []


def seen_in_training(model: Any, X: pd.DataFrame) -> list[Seen]:
    """Return what the training rows hold in the selected columns."""
    names = model.get_feature_names_out()
    return [Seen.of(X[name]) for name in names if X[name].notna().any()]


def held_out_warnings(table: Table, model: Any, fit: Rows, held_out: Rows, loss: Any = None) -> list[str]:
    """Return up to six warnings about held-out rows that are unlike the training rows, in a selected column or the target."""
    seen = seen_in_training(model, table.X.iloc[fit])
    unlike = unlike_training(table.X.iloc[held_out], seen, levels_of(model), table.rows[held_out])
    return few_notes([*target_warnings(table, held_out, loss), *unlike])
