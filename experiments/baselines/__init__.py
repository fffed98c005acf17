"""Methods that rank features, each behind ``rank(name, X, y, k, seed) -> positions, best first``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.baselines import filters, networks, packages, trees
from experiments.baselines.task import Task

__all__ = ["METHODS", "Method", "rank"]


class Method(NamedTuple):
    """One way to rank features."""

    rank: Callable[[Task], NDArray[np.integer]]
    per_k: bool = False  # another number of features is another run
    regression: bool = True
    selects: bool = True  # False: a bound to compare with


METHODS = {
    "riata": Method(networks.riata),
    "riata_widths": Method(networks.riata_widths),
    "lassonet": Method(networks.reference),
    "lasso": Method(networks.lasso),
    "stg": Method(packages.stg),
    "hsic_lasso": Method(packages.hsic_lasso),
    "fisher": Method(filters.fisher),
    "mutual_information": Method(filters.mutual_information),
    "mrmr": Method(filters.mrmr),
    "pfa": Method(filters.pfa, per_k=True),
    "forest": Method(trees.forest),
    "random": Method(filters.random, selects=False),
    "all": Method(filters.everything, selects=False),
}


def rank(
    name: str,
    X: NDArray,
    y: NDArray,
    k: int,
    seed: int = 0,
    *,
    X_val: NDArray | None = None,
    y_val: NDArray | None = None,
) -> NDArray[np.int64]:
    """Rank features by a method.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    X, y : arrays
        Scaled rows to learn from. Targets of kind float make it a regression.
    k : int
        How many features are wanted. Methods with a ranking of their own return more, never fewer where they can help it.
    seed : int
        Seed of whatever is drawn.
    X_val, y_val : arrays, optional
        Rows to validate on, for methods that do.

    Returns
    -------
    array
        Positions of features, best first.
    """
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {name!r}")
    task = Task(X, y, k, seed, X_val, y_val)
    if task.regression and not METHODS[name].regression:
        raise ValueError(f"{name} is for classification only")
    return np.asarray(METHODS[name].rank(task), dtype=np.int64)
