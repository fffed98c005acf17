"""Functions of ``lassonet.utils``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.stats
import torch
from torch import Tensor

from riata.compat.lassonet.history import HistoryItem

__all__ = ["confidence_interval", "eval_on_path", "selection_probability"]


def eval_on_path(
    model: Any,
    path: Sequence[HistoryItem],
    X_test: Any,
    y_test: Any,
    *,
    score_function: Callable[[Any, Any], float] | None = None,
) -> list[float]:
    """Return the score of every item of a path; the model is at the last one afterwards.

    Parameters
    ----------
    model : estimator
        Any of :mod:`riata.compat.lassonet`.
    path : list of HistoryItem
        The items.
    X_test, y_test : array-like
        Samples to score.
    score_function : callable, optional
        Of target and prediction; the model's own score by default.

    Returns
    -------
    list of float
        The scores.
    """
    if score_function is None:
        return [model.load(item).score(X_test, y_test) for item in path]
    return [score_function(y_test, model.load(item).predict(X_test)) for item in path]


def confidence_interval(data: Any, confidence: float = 0.95) -> Any:
    """Return the half width of the confidence interval of the mean of each row, from Student's distribution.

    Parameters
    ----------
    data : array-like of shape (n,) or (rows, n)
        The values.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    float or array of shape (rows,)
        The half widths.

    Examples
    --------
    >>> from riata.compat.lassonet.utils import confidence_interval
    >>> confidence_interval([1.0, 2.0, 3.0]).round(2)
    np.float64(2.48)
    """
    values = np.asarray(data, dtype=np.float64)
    n = values.shape[-1]
    return scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * scipy.stats.sem(values, axis=-1)


def selection_probability(paths: Sequence[Sequence[HistoryItem]]) -> tuple[Tensor, Any]:
    """Return how often features are selected at each λ, and what that says about false selections.

    Parameters
    ----------
    paths : list of lists of HistoryItem
        Paths at the same λ; one that has ended has no features.

    Returns
    -------
    prob : Tensor of shape (n_steps, n_features)
        Share of the paths with the feature at this λ and all smaller ones.
    expected_wrong : pair (values, indices)
        For each number of features, q² / ((2π − 1) n_features), a bound on the number of false ones (Meinshausen and Bühlmann
        2010), and the order of the features.
    """
    gone = torch.zeros_like(paths[0][0].selected)
    steps = zip_longest(*([item.selected for item in path] for path in paths), fillvalue=gone)
    share = torch.stack([torch.stack(list(step)).float().mean(0) for step in steps])
    prob = share.cummin(0).values
    bound = prob.shape[1] * prob.mean(1, keepdim=True).square() / (2 * prob - 1)
    wrong = torch.where(prob > 0.5, bound, torch.inf)
    return prob, wrong.amin(0).sort()
