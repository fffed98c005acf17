"""Paths from the dense model to the empty one: riata, its special case the lasso, and the reference package."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.baselines.task import Task, by
from experiments.protocol import widths
from riata import LassoNetClassifier, LassoNetRegressor, choose

# The lasso, each point of its path solved.
LASSO: dict[str, Any] = {"M": 0.0, "path_multiplier": 1.05, "n_iters": (1000, 200), "patience": (50, None)}


def riata(task: Task) -> NDArray[np.int64]:
    """Rank by when features leave the path of a network with d/3 hidden units; all else by default."""
    return by(_fit(task, widths(task.d)[0]).feature_importances_)


def riata_widths(task: Task) -> NDArray[np.int64]:
    """Choose among d/3, 2d/3, d and 4d/3 hidden units by the validation loss with at most k features."""
    models = [_fit(task, width) for width in widths(task.d)]
    best = min(models, key=lambda model: model.path_[choose.at_most(model.path_, task.k)].val_loss)
    return by(best.feature_importances_)


def lasso(task: Task) -> NDArray[np.int64]:
    """Rank by when features leave the path of the (multinomial, grouped by feature) lasso."""
    return by(_fit(task, 1, **LASSO).feature_importances_)


def reference(task: Task) -> NDArray[np.int64]:
    """Rank by the package lassonet with d/3 hidden units, full batches and its defaults."""
    from lassonet import LassoNetClassifier as Classifier
    from lassonet import LassoNetRegressor as Regressor

    model = (Regressor if task.regression else Classifier)(
        hidden_dims=(widths(task.d)[0],),
        path_multiplier=1.02,
        random_state=task.seed,
        torch_seed=task.seed,
        device=device(),
        verbose=0,
    )
    dtype = np.float32 if task.regression else np.int64
    y, y_val = (None if y is None else y.astype(dtype) for y in (task.y, task.y_val))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.path(task.X, y, X_val=task.X_val, y_val=y_val, disable_lambda_warning=True)
    return by(np.asarray(model.feature_importances_, dtype=np.float64))


def device() -> str:
    """Name what packages built on torch train on: the GPU if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _fit(task: Task, width: int, **settings: Any) -> LassoNetClassifier | LassoNetRegressor:
    estimator = LassoNetRegressor if task.regression else LassoNetClassifier
    model = estimator((width,), random_state=task.seed, **settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="only .* validation rows", category=UserWarning)
        return model.fit(task.X, task.y, X_val=task.X_val, y_val=task.y_val)
