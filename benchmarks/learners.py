"""Accuracy of the paper's two learners on the selected features, as in the experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Split
from experiments import protocol

LEARNERS, N_FEATURES = protocol.LEARNERS, protocol.N_FEATURES
REPEATS = 3  # seeds of each learner: they change the accuracy by as much as the libraries do


def score(parts: Split, importances: NDArray[np.floating], seed: int) -> dict[str, float]:
    """Test accuracy of a one-hidden-layer network and of 50 extremely randomised trees on the most important features."""
    features = np.argsort(-importances, kind="stable")[:N_FEATURES]
    runs = [protocol.score(parts.only(features), REPEATS * seed + repeat) for repeat in range(REPEATS)]
    return {name: float(np.mean([run[name] for run in runs])) for name in LEARNERS}
