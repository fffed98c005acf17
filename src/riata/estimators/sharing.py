"""The check of a fit whose samples several processes hold: what each has is compared, and targets are brought together."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

from riata import check
from riata.preprocess import categories
from riata.preprocess.categories import Categories
from riata.preprocess.samples import Samples
from riata.ranks import Ranks, SharedRows
from riata.sources import in_memory, n_held, recognised

__all__ = ["here", "joint", "joint_validation"]

Floats = NDArray[np.float64]
_OWN = ("verbose",)  # parameters in which ranks may differ,
_OWN_TRAINING = ("device",)  # and those of Training


def joint(
    model: Any, X: Any, y: Any, sample_weight: Any, X_val: Any, ranks: Ranks
) -> tuple[SharedRows, NDArray[Any], Floats]:
    """Check the samples of every rank; return the rows of all, and the target and weights of all on every rank.

    The levels of categories are learnt on the way, from the rows of all ranks.
    """
    with ranks.agreeing():
        X = _held(X)
        if not _num_samples(X):
            raise ValueError("X has no rows: give every rank some")
    ranks.check_same(
        {
            **_parameters(model),
            "the version of riata": version("riata"),
            "the version of torch": torch.__version__,
            "whether sample_weight is given": sample_weight is not None,
            "whether X_val is given": X_val is not None,
        }
    )
    model._categories = _levels(model, X, sample_weight, ranks)
    with ranks.agreeing():
        checked, y = model._validated(X, y, reset=True)
        model._check_number()
        weights = _weights(sample_weight, len(checked))
    ranks.check_same(
        {
            "the number of columns of X": checked.shape[1],
            "the names of columns": tuple(getattr(model, "feature_names_in_", ())),
            "the type of X": str(checked.dtype),
            "the shape of y": f"({', '.join(map(str, ('n', *np.shape(y)[1:])))})",
        }
    )
    weights = ranks.concat(weights)
    return SharedRows(checked, ranks), ranks.concat(y), check.sample_weight(weights, len(weights))


def joint_validation(model: Any, X_val: Any, y_val: Any, ranks: Ranks) -> tuple[SharedRows, NDArray[Any]]:
    """Check the validation samples of every rank; return the rows and the target of all."""
    with ranks.agreeing():
        checked, y = model._validated(_held(X_val), y_val, reset=False)
    return SharedRows(checked, ranks), ranks.concat(y)


def here(samples: Samples) -> Samples:
    """Return those of the samples that this rank holds: all, where samples are not shared."""
    rows = samples.X
    if not isinstance(rows, SharedRows):
        return samples
    at = rows.here
    n_fit = int(np.count_nonzero(at < samples.n_fit))
    return Samples(rows.local(), samples.target[at], samples.weights[at], n_fit, samples.split)


def _held(X: Any) -> Any:
    """Return a table in memory; refuse those that only a fit by one process takes."""
    if issparse(X):
        raise ValueError(
            "X is sparse, which a fit by several processes does not take: give X.toarray() of the rows of this rank, or leave "
            "distributed out of Training"
        )
    table = recognised(X)
    if table is not None and n_held(*table.shape) < table.shape[0]:
        raise ValueError(
            "X would be read block by block, which a fit by several processes does not do: give every rank an array of its own "
            "rows, or leave distributed out of Training"
        )
    return in_memory(X, "")


def _parameters(model: Any) -> dict[str, str]:
    """Return the parameters that all ranks must have in common, as text."""
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in _OWN}
    training = given.pop("training").get_params()
    given |= {name: value for name, value in training.items() if name not in _OWN_TRAINING}
    kind = {"the estimator": type(model).__name__}
    return kind | {
        name: re.sub(r" at 0x\w+", "", repr(value)) for name, value in given.items() if name != "random_state"
    }


def _levels(model: Any, X: Any, sample_weight: Any, ranks: Ranks) -> Categories | None:
    """Learn the levels of the columns that hold categories on any rank, from the rows of all."""
    which = model.categorical_features
    with ranks.agreeing():
        found = categories.candidates(X, which)
    positions = sorted(set().union(*ranks.gather(list(found))))
    if not positions:
        return None
    with ranks.agreeing():
        frame = categories.as_frame(X)
        own = {j: frame.iloc[:, j] for j in positions}
        weights = _weights(sample_weight, len(frame))
    columns = {j: pd.concat(ranks.gather(values), ignore_index=True) for j, values in own.items()}
    return categories.numbered(columns, which, ranks.concat(weights))


def _weights(sample_weight: Any, n: int) -> Floats:
    """Return the weights of the samples of a rank, which may all be zero."""
    if sample_weight is None or np.shape(sample_weight) != (n,):
        return check.sample_weight(sample_weight, n)
    return np.asarray(sample_weight, dtype=np.float64)
