"""P-values of features on held-out samples, by the holdout randomisation test."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import check
from riata.evidence.gaussian import COVARIANCES, FEW_VALUES, Gaussian, has_few_values, learn
from riata.evidence.held_out import Feature, Floats, HeldOut, check_held_out, list_features, sorted_table
from riata.jobs import Job, run

__all__ = ["holdout_p_values"]


def holdout_p_values(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_fit: ArrayLike | None = None,
    n_draws: int = 999,
    covariance: str = "ledoit-wolf",
    feature_groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Test on held-out samples whether the target depends on each feature given all others.

    The holdout randomisation test (Tansey, Veitch, Zhang, Rabadan and Blei 2018), which is the conditional randomisation test
    of Candès, Fan, Janson and Lv (2018) with the mean loss on held-out samples as its statistic T. The values of a feature are
    resampled, n_draws times, from their distribution given all other columns, and p = (1 + #{T_b ≤ T}) / (1 + n_draws).

    A p-value is for the hypothesis "given all other columns of X, y is independent of this one". It is not the size of an
    effect, and of two redundant columns neither is significant. It is valid, whatever the model, under two conditions:

    - The samples were used neither to fit the model nor to choose it, its settings or its features. P-values of features that
      were selected on the same samples are not valid.
    - The columns of X are jointly Gaussian with the estimated covariance, and the levels of a category follow from the
      other columns by a logistic regression. That is an approximation; where it is poor, so are the p-values. Shrinkage of the
      covariance underestimates correlations, so that p-values of redundant columns are too small: of two columns with a
      correlation of 0.95, the one without an effect had p ≤ 0.1 on 15 % of tables of 100 samples.

    Parameters
    ----------
    model : classifier, regressor or survival model
        A fitted model with the interface of scikit-learn, a survival model of riata, or a pipeline. Features
        outside its ``selected_``, where it has that, have p = 1.
    X : array-like of shape (n_samples, n_features)
        Numbers without missing values and, in a data frame, categories: samples that the model was not fitted on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target, as the model takes it; the loss is that of :func:`permutation_importance`.
    X_fit : array-like of shape (n_fit, n_features), optional
        More samples to estimate the Gaussian from, such as those that the model was fitted on; no target is needed, so that any
        samples of the same distribution will do. Without them it is estimated from X alone, which costs power: with few samples
        per column, the other columns seem to determine a column, and its resampled values resemble it. Samples of X are always
        used as well: errors of a Gaussian estimated from others alone would appear as evidence (with 60 other samples, 200
        held-out ones, 15 columns and a ridge regression, every fifth column without an effect had p ≤ 0.1; with both, every
        fifteenth). A column that is constant in all of these samples is left out of the Gaussian and has p = 1.
    n_draws : int, default=999
        How many times each feature is resampled. No p-value is below 1 / (1 + n_draws), nor p_holm below that times the number
        of features in the model.
    covariance : {"ledoit-wolf", "graphical-lasso", "empirical"}, default="ledoit-wolf"
        How to estimate the covariance of the columns.
    feature_groups : sequence or mapping, optional
        Columns to test together: one label per feature, lists of columns, or a mapping of names to such lists.
    n_jobs : int, optional
        How many features to process at once. Results do not depend on it.
    random_state : int or RandomState, optional
        Seed of the resampled values.

    Returns
    -------
    pandas.DataFrame
        One row per feature or group, smallest p first: ``feature``, ``p_value``, and ``p_holm``, adjusted by Holm's method for
        having tested all features in the model, so that p_holm ≤ α for any true hypothesis has a probability of at most α.

    Examples
    --------
    >>> from riata.evidence import holdout_p_values
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X = X.drop(columns="sex")  # two values, far from Gaussian
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> holdout_p_values(model, X[300:], y[300:], X_fit=X[:300], random_state=0)["feature"][0]
    'bmi'
    """
    n_draws = check.whole("n_draws", n_draws, 1)
    check.one_of("covariance", covariance, tuple(COVARIANCES))
    held_out = check_held_out(model, X, y, "holdout_p_values", X_fit=X_fit)
    features = list_features(held_out, feature_groups, random_state)
    varying = np.flatnonzero(np.ptp(held_out.X_all, axis=0) > 0)
    tested = {
        i: f._replace(columns=columns)
        for i, f in enumerate(features)
        if f.used and len(columns := np.intersect1d(f.columns, varying))
    }
    p = np.ones(len(features))
    if tested:
        _warn_of_few_values(held_out, np.concatenate([f.columns for f in tested.values()]))
        conditionals = _Conditionals(held_out, varying, covariance)
        jobs = [Job(f.name, (held_out, f, conditionals.of(f), n_draws)) for f in tested.values()]
        p[list(tested)] = (1 + np.array(run(_n_as_good, jobs, n_jobs=n_jobs))) / (1 + n_draws)
    holm = np.ones(len(features))
    holm[list(tested)] = _holm(p[list(tested)])  # which features the model uses was determined on other samples
    return sorted_table(features, {"p_value": p, "p_holm": holm}, "p_value", ascending=True)


class _Normal(NamedTuple):
    """Conditional distribution of k columns of numbers: Gaussian, with a mean per sample and one covariance."""

    mean: Floats  # (n, k)
    root: Floats  # (k, k), of the covariance

    def draw(self, rng: np.random.Generator, b: int) -> Floats:
        """Draw entries, (b, n, k)."""
        return self.mean + rng.standard_normal((b, *self.mean.shape)) @ self.root.T


class _Categorical(NamedTuple):
    """Conditional distribution of one column of categories: a probability per sample and level."""

    cumulative: Floats  # (n, levels)
    codes: Floats  # (levels,)

    def draw(self, rng: np.random.Generator, b: int) -> Floats:
        """Draw codes, (b, n, 1)."""
        u = rng.random((b, len(self.cumulative), 1))
        drawn: Floats = self.codes[(self.cumulative[:, :-1] < u).sum(axis=-1)][..., None]
        return drawn


class _Conditionals:
    """The distribution of each feature given all other columns, of those that vary."""

    def __init__(self, held_out: HeldOut, varying: NDArray[np.int64], covariance: str) -> None:
        X = held_out.X_all
        parts = [_indicators(X[:, j]) if j in held_out.levels else X[:, [j]] for j in varying]
        self._held_out = held_out
        self._source = np.repeat(varying, [part.shape[1] for part in parts])
        self._X = np.hstack(parts)
        self._covariance = covariance

    @cached_property
    def _gaussian(self) -> Gaussian:
        return learn(self._X, self._covariance)

    def of(self, feature: Feature) -> _Normal | _Categorical:
        """Return the distribution of the columns of a feature, for every held-out sample."""
        n, inside = len(self._held_out.X), np.isin(self._source, feature.columns)
        categorical = [int(j) for j in feature.columns if j in self._held_out.levels]
        if not categorical:
            mean, covariance = self._gaussian.conditional(self._X[:n], np.flatnonzero(inside))
            return _Normal(mean, np.linalg.cholesky(covariance).astype(np.float64))
        if len(feature.columns) > 1:
            raise ValueError(
                f"the group of {feature.name!r} holds categories, which are drawn one by one: test each by itself"
            )
        codes, where = np.unique(self._held_out.X_all[:, categorical[0]], return_inverse=True)
        others = self._X[:, ~inside]
        if not others.shape[1]:
            shares = np.tile(np.bincount(where) / len(where), (n, 1))
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(others, where)
            shares = model.predict_proba(others[:n])
        return _Categorical(shares.cumsum(axis=1), codes)


def _indicators(codes: Floats) -> Floats:
    """Return a 0/1 column for each level but the most common."""
    levels, counts = np.unique(codes, return_counts=True)
    indicators: Floats = (codes[:, None] == np.delete(levels, counts.argmax())).astype(np.float64)
    return indicators


def _n_as_good(held_out: HeldOut, feature: Feature, conditional: _Normal | _Categorical, n_draws: int) -> int:
    """Return the number of draws with which the mean loss is no larger than with the feature itself.

    Losses that differ by rounding are equal. Otherwise a feature that a model does not use could have a small p-value: the last
    bits of a prediction depend on the position of a sample in the table.
    """
    rng = np.random.default_rng(feature.seed)
    rounding = 1e-7  # relative
    tolerance = rounding * np.abs(held_out.baseline).mean()  # the loss of exact times may be negative
    if held_out.kind == "numbers":  # where predictions are nearly exact, theirs exceeds that of the loss
        tolerance += rounding**2 * held_out.target.var(axis=0).sum()
    count = 0
    for b in held_out.batches(n_draws):
        losses = held_out.losses_with(feature.columns, conditional.draw(rng, b))
        count += int(np.count_nonzero((losses - held_out.baseline).mean(axis=1) <= tolerance))
    return count


def _warn_of_few_values(held_out: HeldOut, columns: NDArray[np.int64]) -> None:
    few = [held_out.names[j] for j in columns if j not in held_out.levels and has_few_values(held_out.X_all[:, j])]
    if few:
        shown = ", ".join(few[:10]) + (" …" if len(few) > 10 else "")
        warnings.warn(
            f"columns with {FEW_VALUES} distinct values or fewer are resampled as Gaussian, which matches their mean and "
            f"covariance only; their p-values are rough: {shown}",
            UserWarning,
            stacklevel=3,
        )


def _holm(p: Floats) -> Floats:
    """Adjust p-values by Holm's step-down method."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted
