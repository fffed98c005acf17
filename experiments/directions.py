"""Three paths through the features of a regression, each with a way to predict from its points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import lasso_path

from experiments.protocol import Split, widths
from riata import LassoNetRegressor, Path, Point
from riata.estimators.fitting import Prepared, Settings, prepare
from riata.estimators.solving import iterations
from riata.network.stacked import SparseWeights
from riata.path.points import mean_and_error
from riata.path.solve import points

Predict = Callable[[Point, NDArray], NDArray]


def dense_to_sparse(parts: Split, seed: int) -> tuple[Path, Predict]:
    """Go the way of the method, with a third as many hidden units as features; all else by default."""
    model = LassoNetRegressor(**_settings(parts, seed))
    path = model.path(*parts.fit, X_val=parts.val.X, y_val=parts.val.y)
    return path, lambda point, X: model.load(point).predict(X)


def sparse_to_dense(parts: Split, seed: int) -> tuple[Path, Predict]:
    """Go down the λ of the other path, and on: from this side features come in at smaller λ than they leave at."""
    path, predict = dense_to_sparse(parts, seed)
    below = np.geomspace(path.lambdas[1] / 100, path.lambdas[1], 100, endpoint=False)
    model = LassoNetRegressor(**_settings(parts, seed))
    settings = model._settings()
    prepared = prepare(model._check(*parts.fit, None, parts.val.X, parts.val.y), settings)
    return _downwards(prepared, settings, np.append(below, path.lambdas[1:])), predict


def _downwards(prepared: Prepared, settings: Settings, lambdas: NDArray[np.float64]) -> Path:
    """Solve a path from its largest λ to the dense model; features have to come in, so all stay in the arithmetic."""
    problem = prepared.problem
    solver = settings.solver(problem, prepared.seeds[0])
    solver.active_set = False
    dense, sparse = iterations(settings, solver, prepared)
    weights, found = solver.feasible(prepared.start()), []
    for lambda_ in [*lambdas[::-1], 0.0]:
        stopping = replace(dense, keep_validated=False) if not found else sparse if lambda_ else dense
        solution = solver.minimise(weights, torch.tensor([lambda_]).to(problem.X), stopping)
        weights = solution.weights
        found += points(problem, solution, np.array([lambda_]), np.array([0]))
    return Path(found[::-1], val_weights=problem.held_out[0][1])


def _settings(parts: Split, seed: int) -> dict[str, Any]:
    return {"hidden_dims": (widths(parts.fit.X.shape[1])[0],), "random_state": seed}


def lasso(parts: Split, seed: int) -> tuple[Path, Predict]:
    """Follow scikit-learn's path of the lasso; columns are centred already."""
    X, center = parts.fit.X.astype(np.float64), parts.fit.y.mean()
    y = parts.fit.y.astype(np.float64) - center
    largest = np.abs(X.T @ y).max() / len(y)  # the first alpha without features
    alphas, coefficients, _ = lasso_path(X, y, alphas=largest * np.geomspace(1, 1e-4, 100))

    def predict(point: Point, X: NDArray) -> NDArray:
        return X[:, point.weights.features] @ point.weights.skip[:, 0] + center

    n_val = len(parts.val.y)
    equal = np.full(n_val, 1 / n_val)
    found = []
    for alpha, coefficient in zip(alphas[::-1], coefficients.T[::-1], strict=True):
        losses = (parts.val.X @ coefficient + center - parts.val.y) ** 2
        found.append(_point(alpha, coefficient, losses, equal))
    return Path(found, val_weights=equal), predict


def _point(alpha: float, coefficient: NDArray, val_losses: NDArray, equal: NDArray) -> Point:
    """Write a solution of the lasso as a point of a path without hidden layers."""
    selected = coefficient != 0
    features = np.flatnonzero(selected)
    skip = coefficient[features, None]
    val_loss, val_loss_se = mean_and_error(val_losses, equal)
    return Point(
        lambda_=2 * float(alpha),
        selected=selected,
        n_selected=len(features),
        loss=np.nan,
        val_loss=val_loss,
        val_loss_se=val_loss_se,
        penalty=np.nan,
        objective=np.nan,
        n_iters=0,
        weights=SparseWeights(features, features, skip, skip[:, :0], np.zeros(0)),
        val_losses=val_losses,
    )


PATHS = {"riata": dense_to_sparse, "riata_sparse_to_dense": sparse_to_dense, "lasso": lasso}
