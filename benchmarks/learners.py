"""How good are the selected features: the accuracy of the paper's two learners on them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.data import Split

N_FEATURES = 50
LEARNERS = ("network", "trees")
REPEATS = 3  # seeds of each learner: one alone moves the accuracy by as much as a library does


def score(parts: Split, importances: NDArray[np.floating], seed: int) -> dict[str, float]:
    """Test accuracy of a one-hidden-layer network and of 50 extremely randomised trees on the most important features."""
    features = np.argsort(-importances, kind="stable")[:N_FEATURES]
    scores: dict[str, list[float]] = {name: [] for name in LEARNERS}
    for repeat in range(REPEATS):
        models = (
            MLPClassifier((len(features),), max_iter=100, random_state=REPEATS * seed + repeat),
            ExtraTreesClassifier(50, random_state=REPEATS * seed + repeat),
        )
        for name, model in zip(LEARNERS, models, strict=True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(parts.fit.X[:, features], parts.fit.y)
            scores[name].append(model.score(parts.test.X[:, features], parts.test.y))
    return {name: float(np.mean(values)) for name, values in scores.items()}
