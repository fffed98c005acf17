"""Small tables, and models fitted on half of each; two columns have names that are not plain words."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from riata import (
    LassoNetClassifier,
    LassoNetCoxRegressor,
    LassoNetIntervalRegressor,
    LassoNetRegressor,
    LassoNetRegressorCV,
)

SCRIPT, ARABIC = "<script>alert(1)</script>", "ضغط الدم"
NAMES = [SCRIPT, ARABIC, "size", "noise 1", "noise 2", "noise 3"]
KINDS = [
    "number",
    "two classes",
    "classes",
    "labels",
    "numbers",
    "quantiles",
    "categories",
    "times",
    "intervals",
    "array",
    "cross-validation",
]


class Case(NamedTuple):
    """A fitted model, and samples that it was not fitted on."""

    model: Any
    X: Any
    y: Any


def table(n: int = 400) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Return columns of which the first three have an effect, their sum with noise, and a generator."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, len(NAMES))), columns=NAMES)
    signal = 2 * X[SCRIPT] + 1.5 * X[ARABIC] + X["size"]
    return X, (signal + 0.5 * rng.normal(size=n)).to_numpy(), rng


def target_of(kind: str, signal: np.ndarray, rng: np.random.Generator) -> Any:
    n = len(signal)
    if kind == "two classes":
        return pd.Series(np.where(signal > 0, "ill", "well"), name="state")
    if kind == "classes":
        return np.digitize(signal, [-1.5, 1.5])
    if kind == "labels":
        return np.stack([signal > 0, rng.normal(size=n) + signal > 1], axis=1).astype(int)
    if kind == "numbers":
        return pd.DataFrame({"first": signal, "second": -signal})
    if kind in ("times", "intervals"):
        times = np.exp(-0.5 * signal) * rng.exponential(size=n)
        if kind == "times":
            end = rng.exponential(2, size=n)
            return pd.DataFrame({"time": np.minimum(times, end), "event": times <= end})
        return np.stack([0.8 * times, np.where(rng.random(n) < 0.2, np.inf, 1.2 * times)], axis=1)
    return signal


def estimator_of(kind: str) -> Any:
    common: dict[str, Any] = {"hidden_dims": (6,), "random_state": 0}
    if kind in ("two classes", "classes", "labels"):
        return LassoNetClassifier(**common)
    if kind == "times":
        return LassoNetCoxRegressor(**common)
    if kind == "intervals":
        return LassoNetIntervalRegressor(**common)
    if kind == "quantiles":
        return LassoNetRegressor(loss="absolute_error", **common)
    if kind == "cross-validation":
        return LassoNetRegressorCV(cv=3, **common)
    return LassoNetRegressor(**common)


@cache
def case(kind: str) -> Case:
    X, signal, rng = table()
    y = target_of(kind, signal, rng)
    if kind == "array":
        X = X.to_numpy()
    if kind == "categories":
        X = X.assign(
            colour=pd.Categorical(np.where(signal > 1, "red", "blue")),
            day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(X)), unit="D"),
        )
    half = len(X) // 2
    parts = [part.iloc if hasattr(part, "iloc") else part for part in (X, y)]
    model = estimator_of(kind).fit(parts[0][:half], parts[1][:half])
    return Case(model, parts[0][half:], parts[1][half:])


@cache
def report(kind: str) -> Any:
    return case(kind).model.report(case(kind).X, case(kind).y)
