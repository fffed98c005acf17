"""Paths as plain dictionaries of arrays, for R and its package reticulate: the functions of ``lassonet.r``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from riata.compat.lassonet import interfaces
from riata.compat.lassonet.history import HistoryItem

__all__ = ["lassonet_eval", "lassonet_path"]


def lassonet_path(
    X: Any, y: Any, task: str, *, X_val: Any = None, y_val: Any = None, **parameters: Any
) -> list[dict[str, Any]]:
    """Solve the path of an estimator.

    Parameters
    ----------
    X, y, task, X_val, y_val, **parameters
        As for :func:`riata.compat.lassonet.lassonet_path`.

    Returns
    -------
    list of dict
        The fields of every item, with arrays in place of tensors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from riata.compat.lassonet.r import lassonet_eval, lassonet_path
    >>> X, y = load_iris(return_X_y=True)
    >>> how = {"hidden_dims": (5,), "path_multiplier": 1.2, "random_state": 0, "torch_seed": 0}
    >>> path = lassonet_path(X, y, "classification", **how)
    >>> lassonet_eval(X, "classification", path[0]["state_dict"], **how).shape
    (150, 3)
    """
    path = interfaces.lassonet_path(X, y, task, X_val=X_val, y_val=y_val, **parameters)
    return [_described(item) for item in path]


def lassonet_eval(X: Any, task: str, state_dict: dict[str, Any], **parameters: Any) -> Any:
    """Return probabilities of classes, or predictions, of an item of a path.

    Parameters
    ----------
    X : array-like
        Samples.
    task : {"classification", "regression"}
        The task of the path.
    state_dict : dict
        That of the item.
    **parameters
        Those of the path.

    Returns
    -------
    array
        (n, n_classes) or (n, n_targets).
    """
    estimators: dict[str, Any] = {
        "classification": interfaces.LassoNetClassifier,
        "regression": interfaces.LassoNetRegressor,
    }
    if task not in estimators:
        raise ValueError(f"task must be one of {', '.join(map(repr, estimators))}; got {task!r}")
    model = estimators[task](**parameters)
    model.load({name: torch.tensor(values) for name, values in state_dict.items()})
    return model.predict_proba(X) if task == "classification" else model.predict(X)


def _described(item: HistoryItem) -> dict[str, Any]:
    values = {entry.name: getattr(item, entry.name) for entry in fields(item) if not entry.name.startswith("_")}
    values["state_dict"] = {name: weights.numpy() for name, weights in item.state_dict.items()}
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()}
