"""Scores on held-out rows, and warnings about the rows that they may depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, log_loss, r2_score, recall_score, root_mean_squared_error

from riata import check
from riata.files import Table, TableError, as_text, extreme_target, first_few, unlike_training
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
    if table.task == "survival":
        scores = {name: {"concordance": each.score(X, y)} for name, each in models.items()}
        return scores | {"baseline": {"concordance": 0.5}}  # that of equal risks
    baseline = DummyClassifier(strategy="prior") if table.task == "classification" else DummyRegressor()
    models["baseline"] = baseline.fit(table.X.iloc[fit], table.y_of(fit))
    score = _classification_scores if table.task == "classification" else _regression_scores
    return {name: score(each, X, y) for name, each in models.items()}


def _classification_scores(model: Any, X: pd.DataFrame, y: NDArray[Any]) -> dict[str, float]:
    predicted = model.predict(X)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        # Balanced accuracy over the classes that were held out; scikit-learn's own warns if others are predicted.
        "balanced accuracy": float(recall_score(y, predicted, labels=np.unique(y), average="macro")),
        "log loss": float(log_loss(y, model.predict_proba(X), labels=model.classes_)),
    }


def _regression_scores(model: Any, X: pd.DataFrame, y: NDArray[Any]) -> dict[str, float]:
    predicted = model.predict(X)
    return {"R²": float(r2_score(y, predicted)), "RMSE": float(root_mean_squared_error(y, predicted))}


def target_warnings(table: Table, rows: Rows) -> list[str]:
    """Return a warning about a few rows that dominate the squared error."""
    text = extreme_target(table.y[rows], table.rows[rows], table.target) if table.task == "regression" else ""
    return [text] if text else []


def held_out_warnings(table: Table, features: pd.DataFrame, fit: Rows, held_out: Rows) -> list[str]:
    """Return up to six warnings about held-out rows that are unlike the training rows, in a selected column or the target."""
    notes = target_warnings(table, held_out) + unlike_training(
        table.X[features["name"].tolist()], fit, held_out, table.rows
    )
    more = len(notes) - 6
    return notes if more <= 0 else [*notes[:6], f"and {more} more such columns"]
