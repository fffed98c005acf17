"""Permutation importance on held-out samples, with confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import t

from riata import check
from riata.evidence.held_out import Feature, HeldOut, check_held_out, list_features, sorted_table
from riata.jobs import Job, run
from riata.preprocess.sparse import dense

__all__ = ["permutation_importance"]


def permutation_importance(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_repeats: int = 20,
    confidence: float = 0.95,
    feature_groups: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Estimate how much larger the loss of a fitted model is where a feature has the values of other samples.

    The loss of a sample is the log loss of ``predict_proba`` for a classifier and the squared error of ``predict``, summed
    over outputs, for a regressor. For a table of labels it is the log loss summed over them, and for a regressor of riata with
    another ``loss`` that loss, on the scale of training. For Cox's model it is the sample's part of the negative logarithm of
    the partial likelihood, in which the samples of X are at risk together, and for times in intervals the negative logarithm of
    the likelihood.

    The importance of a feature is E[loss(x with the feature of another sample, y) − loss(x, y)], estimated with permutations in
    which no sample keeps its value. The interval accounts for the choice of the held-out samples, with the model as it is. A
    sample contributes twice to the standard error, with the value that it receives and with the value that it gives away. More
    repeats reduce the noise of the permutations only.

    Of correlated features each has a small importance as long as the model has the others: permute them as a group.

    Parameters
    ----------
    model : classifier, regressor or survival model
        A fitted model with the interface of scikit-learn, a survival model of riata, or a pipeline. Features
        outside its ``selected_``, where it has that, and columns that are constant in X have an importance of exactly 0.
    X : array-like of shape (n_samples, n_features)
        Numbers, dates and, in a data frame, categories, with missing values where the model accepts them, or a sparse table
        where it accepts one. Samples that the model was not fitted on: for others the importances are too large.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target, as the model takes it.
    n_repeats : int, default=20
        Permutations of each feature.
    confidence : float, default=0.95
        Approximate coverage of the intervals, given enough samples: below about fifty they are too narrow where losses are
        skewed. With two samples there are none (NaN).
    feature_groups : sequence or mapping, optional
        Columns to permute together: one label per feature, lists of columns, or a mapping of names to such lists.
    sample_weight : array-like of shape (n_samples,), optional
        Weights in the mean over samples. They do not affect the permutations; a sample of weight 0 is left out.
    n_jobs : int, optional
        How many features to process at once. Results do not depend on it.
    random_state : int or RandomState, optional
        Seed of the permutations.

    Returns
    -------
    pandas.DataFrame
        One row per feature or group, most important first: ``feature``, ``importance``, ``low`` and ``high`` (the
        interval), ``se`` (the standard error).

    Examples
    --------
    >>> from riata.evidence import permutation_importance
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> permutation_importance(model, X[300:], y[300:], random_state=0)["feature"].tolist()[:2]
    ['s5', 'bmi']
    """
    n_repeats = check.whole("n_repeats", n_repeats, 1)
    if not 0 < check.number("confidence", confidence) < 1:
        raise ValueError(f"confidence must lie between 0 and 1, such as 0.95; got {confidence!r}")
    held_out = check_held_out(model, X, y, "permutation_importance", sample_weight=sample_weight, shuffled=True)
    features = list_features(held_out, feature_groups, random_state)
    varies = _varies(held_out.X)
    jobs = {
        i: Job(f.name, (held_out, f, n_repeats)) for i, f in enumerate(features) if f.used and varies[f.columns].any()
    }
    found = np.zeros((len(features), 2))  # importance, standard error
    if jobs:
        found[list(jobs)] = run(_estimate, list(jobs.values()), n_jobs=n_jobs)
    importance, se = found.T
    margin = t.ppf((1 + confidence) / 2, held_out.n_effective - 1) * se
    table = {"importance": importance, "low": importance - margin, "high": importance + margin, "se": se}
    return sorted_table(features, table, "importance", ascending=False)


def _varies(X: Any) -> NDArray[np.bool_]:
    """Return which columns are not constant; a missing value differs from all others."""
    if issparse(X):
        varies: NDArray[np.bool_] = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() > 0
        return varies
    constant: NDArray[np.bool_] = np.isclose(X, X[0], rtol=0, atol=0, equal_nan=True).all(axis=0)
    return ~constant


def _estimate(held_out: HeldOut, feature: Feature, n_repeats: int) -> tuple[float, float]:
    """Return the importance of a feature and its standard error.

    The mean over samples i and donors k of the change h(i, k) of the loss is a U-statistic: its uncertainty comes from both
    roles of a sample, E[h(i, k) | i] + E[h(i, k) | k]. The first alone can be half of the standard error.
    """
    rng = np.random.default_rng(feature.seed)
    n, w = len(held_out.weights), held_out.weights
    values = dense(held_out.X[:, feature.columns])
    received, given, partners = np.zeros(n), np.zeros(n), np.zeros(n)
    for b in held_out.batches(n_repeats):
        donors = np.stack([_donors(rng, n) for _ in range(b)])  # (b, n)
        entries = values[donors]
        change = held_out.losses_with(feature.columns, entries) - held_out.baseline
        received += w * change.sum(axis=0) / n_repeats
        given += np.bincount(donors.ravel(), (w * change).ravel(), n) / n_repeats
        partners += np.bincount(donors.ravel(), np.tile(w, b), n) / n_repeats
    mean = received.mean()
    influence = received + given - (w + partners) * mean  # (n,), sums to 0
    m = held_out.n_effective
    if m <= 2:  # each sample is the only donor of the other: no degree of freedom is left
        return mean, np.nan
    return mean, np.sqrt((influence**2).sum() * m / (m - 1)) * (m - 1) / (m - 2) / n


def _donors(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Return a random cyclic permutation: no sample is its own donor, and all other pairs have the same probability."""
    order = rng.permutation(n)
    donors = np.empty(n, dtype=np.int64)
    donors[order] = np.roll(order, 1)
    return donors
