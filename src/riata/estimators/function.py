"""The path as a function."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from riata import check
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.regressor import LassoNetRegressor
from riata.path import Path

__all__ = ["lassonet_path"]

_ESTIMATORS = {"classification": LassoNetClassifier, "regression": LassoNetRegressor}


def lassonet_path(
    X: ArrayLike,
    y: ArrayLike,
    task: str,
    *,
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **params: Any,
) -> Path:
    """Follow the path from the dense model to the empty one.

    Parameters
    ----------
    X, y : array-like
        Training data.
    task : {"classification", "regression"}
        What y is.
    X_val, y_val : array-like, optional
        Rows to validate on instead of a random part of X.
    sample_weight : array-like, optional
        Non-negative weights of the rows of X.
    **params
        Constructor parameters of :class:`LassoNetClassifier` or :class:`LassoNetRegressor`.

    Returns
    -------
    Path
        Its points, from dense to sparse.

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
    return _ESTIMATORS[task](**params).path(X, y, sample_weight, X_val=X_val, y_val=y_val)
