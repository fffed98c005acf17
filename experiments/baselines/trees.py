"""Importance of features to trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from experiments.baselines.task import Task, by

_N_TREES = 500


def forest(task: Task) -> NDArray[np.int64]:
    """Mean decrease of impurity in a random forest."""
    learner = RandomForestRegressor if task.regression else RandomForestClassifier
    return by(learner(_N_TREES, random_state=task.seed).fit(task.X, task.y).feature_importances_)
