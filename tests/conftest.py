"""Small problems shared by the tests of the core."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from riata.losses import Loss, SquaredError
from riata.network import Network
from riata.prox import Groups
from riata.solver import Problem


def standardised(array: np.ndarray) -> np.ndarray:
    return (array - array.mean(axis=0)) / array.std(axis=0)


@pytest.fixture(scope="session")
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Diabetes with columns and target of mean 0 and variance 1."""
    X, y = load_diabetes(return_X_y=True)
    return standardised(X), standardised(y)


@pytest.fixture(scope="session")
def make_problem():
    """Build a problem in float64 from arrays; weights default to one replica with equal weights."""

    def make(
        X: np.ndarray,
        target: np.ndarray,
        loss: Loss | None = None,
        *,
        M: float | list[float] = 10.0,
        hidden: tuple[int, ...] = (5,),
        weights: np.ndarray | None = None,
        val_weights: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        costs: np.ndarray | None = None,
        **kwargs: float,
    ) -> Problem:
        target = target.reshape(len(target), -1)
        weights = np.ones((1, len(X))) if weights is None else np.atleast_2d(weights).astype(float)
        return Problem(
            network=Network(target.shape[1], hidden),
            loss=loss or SquaredError(),
            X=torch.tensor(X),
            target=torch.tensor(target, dtype=torch.float64),
            weights=torch.tensor(weights / weights.sum(axis=1, keepdims=True)),
            val_weights=None if val_weights is None else torch.tensor(val_weights),
            M=torch.as_tensor(M, dtype=torch.float64).expand(len(weights)),
            costs=torch.ones(X.shape[1], dtype=torch.float64) if costs is None else torch.tensor(costs),
            groups=Groups(None if groups is None else torch.tensor(groups), X.shape[1]),
            **kwargs,
        )

    return make
