"""What selectors ask of the estimator inside them: its parameters, its seeds, and how much it makes of each column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length

from riata import check
from riata.estimators import training
from riata.estimators.base import BaseLassoNet
from riata.estimators.cv import CrossValidated
from riata.estimators.model import PathModel
from riata.estimators.supervised import Supervised
from riata.path import selection
from riata.storage import Part

__all__ = [
    "given",
    "importances",
    "kept_in",
    "labels",
    "last_step",
    "linear",
    "on_gpu",
    "plain_target",
    "random",
    "refuse_distributed",
    "reliance",
    "screened",
    "seeded",
    "validated",
    "without_checkpoint",
]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_ANSWERS = ("decision_function", "predict_proba", "predict")


def last_step(estimator: Any) -> Any:
    """Return the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def given(estimator: Any, name: str) -> Any:
    """Return a parameter that an estimator, or a part of it, is given; None without any."""
    known = {key.rpartition("__")[-1]: value for key, value in estimator.get_params().items() if value is not None}
    return known.get(name)


def plain_target(estimator: Any, y: Any) -> Any:
    """Return y as an array, where the estimator takes it in a form of its own, such as survival times."""
    last = last_step(estimator)
    if isinstance(last, BaseLassoNet):
        return last._plain_target(y)
    if is_classifier(last) or is_regressor(last):
        check.no_survival(y, type(last).__name__)
    return y


def labels(estimator: Any, y: Any, groups: Any = None) -> tuple[Any, Any]:
    """Return labels of samples to keep in proportion where samples are split, and of those to keep in one part, or None.

    A subject with an event has one, whatever the number of its samples without: these all have the highest of their labels.
    """
    last = last_step(estimator)
    if not isinstance(last, Supervised):
        return (y if is_classifier(estimator) else None), groups
    found, subjects = last._labels(y)
    together = subjects if groups is None else groups
    if found is None or together is None or is_classifier(estimator):
        return found, together
    check_consistent_length(found, together)
    return pd.Series(found).groupby(np.asarray(together).ravel()).transform("max").to_numpy(), together


def screened(estimator: Any, y: Any, weights: Floats) -> Floats:
    """Return the target as marginal associations are measured with it, (n, ·)."""
    last = last_step(estimator)
    if isinstance(last, Supervised) and not (is_classifier(last) or is_regressor(last)):
        learnt, encoded = last._learn_target(y, weights)
        found = learnt.screened(encoded, weights)
    else:
        found = pd.get_dummies(y).to_numpy() if is_classifier(estimator) and np.ndim(y) == 1 else np.asarray(y)
    return np.asarray(found, dtype=np.float64).reshape(len(weights), -1)


def on_gpu(estimator: Any) -> bool:
    """Say whether an estimator trains networks on a GPU, where many side by side take little longer than one."""
    last = last_step(estimator)
    return isinstance(last, BaseLassoNet) and training.on_gpu(last.training)


def refuse_distributed(estimator: Any, who: str) -> None:
    """Refuse an estimator that is to be fitted by several processes at once."""
    last = last_step(estimator)
    if isinstance(last, BaseLassoNet):
        training.refuse_distributed(last.training, who)


def without_checkpoint(estimator: Any) -> None:
    """Refuse an estimator with a checkpoint of its own: many fits would use one folder."""
    if given(estimator, "checkpoint") is not None:
        raise ValueError(
            "estimator has a checkpoint, and is fitted many times: give checkpoint to the selector instead"
        )


def kept_in(estimator: Any, part: Part | None) -> Any:
    """Let an unfitted LassoNet keep what it makes in a part of a checkpoint."""
    last = last_step(estimator)
    if part is not None and isinstance(last, PathModel):
        last.set_params(checkpoint=part)
    return estimator


def random(estimator: Any) -> bool:
    """Say whether another seed may give another result."""
    return any(name.rpartition("__")[-1] == "random_state" for name in estimator.get_params())


def seeded(estimator: Any, draw: np.random.Generator) -> Any:
    """Return an unfitted copy with random states of its own, those of its parts included.

    A LassoNet goes to the point of lowest validation loss, without a refit.
    """
    copy = clone(estimator)
    last = last_step(copy)
    if isinstance(last, BaseLassoNet) and not isinstance(last, CrossValidated):
        select = "best" if last.val_size else 0.0
        last.set_params(select=select, refit=False, n_features_to_select=None)
    names = sorted(name for name in copy.get_params() if name.rpartition("__")[-1] == "random_state")
    return copy.set_params(**{name: int(draw.integers(np.iinfo(np.int32).max)) for name in names})


def linear(model: Any) -> Any | None:
    """Return an unfitted copy of a LassoNet that is linear, with the same seeds; None of what is linear or another model."""
    last = last_step(model)
    if not isinstance(last, BaseLassoNet) or isinstance(last, CrossValidated) or not last.M:
        return None
    copy = clone(model)
    inside = last_step(copy)
    inside.set_params(M=0.0, hidden_dims=(100,) if callable(inside.hidden_dims) else inside.hidden_dims)
    return copy


def importances(model: Any, n_columns: int) -> Floats:
    """Return ``feature_importances_`` of a fitted model, or the norms of ``coef_`` over outputs.

    Columns that no point of a path holds have none.
    """
    last = last_step(model)
    if isinstance(last, BaseLassoNet):
        found = _comparable(last)
    elif hasattr(last, "feature_importances_"):
        found = np.asarray(last.feature_importances_, dtype=np.float64)
    elif hasattr(last, "coef_"):
        found = np.linalg.norm(np.atleast_2d(np.asarray(last.coef_, dtype=np.float64)), axis=0)
    else:
        raise ValueError(f"{type(last).__name__} has neither feature_importances_ nor coef_: use another estimator")
    if found.shape != (n_columns,) or not np.isfinite(found).all():
        raise ValueError(
            f"{type(last).__name__} must have one finite importance for each of the {n_columns} columns it is fitted on; "
            f"it has shape {found.shape}"
        )
    return found


def _comparable(model: BaseLassoNet) -> Floats:
    """Return importances that are fair to features of different kinds; 0 for those that no point of the path holds.

    Those of the path. But noise with many levels outlasts noise in numbers, so that a category which is not selected stands
    where the p-value of its marginal association stands among those of the numbers, if that is lower.
    """
    importances, held = model.path_.importances(), model.path_.selected.any(axis=0)
    n_levels, found = model._n_levels(), model._solved.preprocessing.screening.associations
    if n_levels is not None and found is not None:
        others = held & ~model.selected_
        words, numbers = others & (n_levels > 2), others & (n_levels <= 2)
        place = np.searchsorted(np.sort(found.p_values[numbers]), found.p_values[words])
        highest = importances[model.selected_].min(initial=importances.max())
        ladder = np.concatenate([[highest], np.sort(importances[numbers])[::-1], [0.0]])
        importances[words] = np.minimum(importances[words], (ladder[place] + ladder[place + 1]) / 2)
    return np.where(held, importances, 0)


def validated(model: Any) -> bool:
    """Say whether a fitted model is a LassoNet that knows which point of its path predicts best."""
    last = last_step(model)
    return isinstance(last, BaseLassoNet) and last.path_.val_weights is not None


def reliance(model: Any, X: Floats, ids: Ids) -> Floats:
    """Return the mean square by which predictions move when all columns of a group are set to their means, one per group.

    A LassoNet goes first to the sparsest point of its path within one standard error of the lowest validation loss: at the
    lowest itself it relies on more noise, most of all on categories of many levels, and finds no more.
    """
    if validated(model):
        last = last_step(model)
        last.load(last.path_[selection.one_standard_error(last.path_)])
    answer = next(getattr(model, how) for how in _ANSWERS if hasattr(model, how))
    before, changed = np.asarray(answer(X), dtype=np.float64), X.copy()
    moved = np.zeros(int(ids.max()) + 1)
    used = getattr(model, "selected_", np.ones(X.shape[1], dtype=bool))
    for group in np.unique(ids[used]):
        columns = ids == group
        changed[:, columns] = X[:, columns].mean(axis=0)
        moved[group] = np.square(np.asarray(answer(changed)) - before).sum() / len(X)
        changed[:, columns] = X[:, columns]
    return moved
