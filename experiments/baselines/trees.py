"""Importance of features to trees."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from experiments.baselines.task import Task, by

_N_TREES = 500


def forest(task: Task) -> NDArray[np.int64]:
    """Mean decrease of impurity in a random forest."""
    return by(fit_forest(task, _N_TREES).feature_importances_)


def fit_forest(task: Task, n_trees: int) -> Any:
    """Return a random forest."""
    learner = RandomForestRegressor if task.regression else RandomForestClassifier
    return learner(n_trees, random_state=task.seed).fit(task.X, task.y)


def lightgbm(task: Task) -> Any:
    """Return boosted trees of the package LightGBM, by default but for importances, which are gains."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    learner = LGBMRegressor if task.regression else LGBMClassifier
    return learner(importance_type="gain", random_state=task.seed, n_jobs=1, verbosity=-1).fit(task.X, task.y)


def boosted(task: Task) -> Any:
    """Return boosted trees: LightGBM's, or scikit-learn's where that is not installed."""
    if find_spec("lightgbm") is not None:
        return lightgbm(task)
    learner = HistGradientBoostingRegressor if task.regression else HistGradientBoostingClassifier
    return learner(random_state=task.seed).fit(task.X, task.y)
