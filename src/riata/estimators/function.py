"""The path as a function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from riata import check
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.supervised import Supervised
from riata.path.grid import Grid
from riata.path.points import Path
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping

__all__ = ["lassonet_path"]


class _Falling(Supervised):
    """Follows λ downwards. Features have to come in at any time, so none is ever left out of the arithmetic."""

    def _settings(self) -> tuple[Grid, Stopping, Stopping]:
        grid, dense, sparse = super()._settings()
        return replace(grid, falling=True), dense, sparse

    def _solver(self, problem: Problem, seed: int) -> Solver:
        solver = super()._solver(problem, seed)
        solver.active_set = False
        return solver


class _FallingClassifier(_Falling, LassoNetClassifier): ...


class _FallingRegressor(_Falling, LassoNetRegressor): ...


_ESTIMATORS = {"classification": LassoNetClassifier, "regression": LassoNetRegressor}
_FALLING = {"classification": _FallingClassifier, "regression": _FallingRegressor}


def lassonet_path(
    X: ArrayLike,
    y: ArrayLike,
    task: str,
    *,
    direction: str = "dense-to-sparse",
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> Path:
    """Follow the path from the dense model to the empty one, or back.

    Parameters
    ----------
    X, y : array-like
        Training data.
    task : {"classification", "regression"}
        What y is.
    direction : {"dense-to-sparse", "sparse-to-dense"}, default="dense-to-sparse"
        Where to begin. From dense to sparse is the method. The other way, which is here to compare with, begins with random
        weights under the largest λ and goes down; no model is started from the dense one. It visits ``lambda_seq``, or
        the λ that the path from dense to sparse finds, which is then followed first.
    X_val, y_val : array-like, optional
        Rows to validate on instead of a random part of X.
    sample_weight : array-like, optional
        Non-negative weights of the rows of X.
    **params
        Constructor parameters of :class:`LassoNetClassifier` or :class:`LassoNetRegressor`.

    Returns
    -------
    Path
        Its points in the order of λ, from dense to sparse, whichever way they were visited.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import lassonet_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = lassonet_path(X, y, "regression", hidden_dims=(10,), random_state=0)
    >>> int(path.n_selected[0]), int(path.n_selected[-1])
    (10, 0)
    """
    check.one_of("task", task, tuple(_ESTIMATORS))
    check.one_of("direction", direction, ("dense-to-sparse", "sparse-to-dense"))
    data: dict[str, Any] = {"sample_weight": sample_weight, "X_val": X_val, "y_val": y_val}
    falling = direction == "sparse-to-dense"
    if falling and params.get("lambda_seq") is not None:
        return _FALLING[task](**params).path(X, y, **data)
    path = _ESTIMATORS[task](**params).path(X, y, **data)
    return _FALLING[task](**{**params, "lambda_seq": path.lambdas[1:]}).path(X, y, **data) if falling else path
