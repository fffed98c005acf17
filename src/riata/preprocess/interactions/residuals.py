"""Residuals of the target: what is left of each output once what is known to matter is taken off."""

from __future__ import annotations

import threading
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

__all__ = ["Target", "residuals"]

Floats = NDArray[np.float64]
_LOOSE = 10.0  # inverse strength of the ridge in the regression on classes
_QUIET = threading.Lock()  # filters of warnings are those of the process
_FAR = 5.0  # interquartile ranges from the median that a target may be in the regression that gives residuals


class Target(NamedTuple):
    """Residual of one output and what its distribution is given the features: Bernoulli(mean) or a normal score."""

    residual: Floats
    mean: Floats | None

    @property
    def variance(self) -> Floats:
        """Variance of the residual of each sample."""
        return np.ones_like(self.residual) if self.mean is None else self.mean * (1 - self.mean)

    def n_effective(self, weights: Floats) -> float:
        """Return how many samples of a normal score, or of two classes of equal size, say as much."""
        return float(weights.sum() if self.mean is None else 4 * weights @ self.variance)


def residuals(inputs: Floats, target: Floats, weights: Floats) -> list[Target]:
    """Take off each output what a linear model of the inputs explains; marks of classes that exclude each other share one."""
    if target.shape[1] > 1 and np.isin(target, (0, 1)).all() and (target.sum(axis=1) == 1).all():
        means = _class_means(inputs, target.argmax(axis=1), weights)
        return [Target(y - mean, mean) for y, mean in zip(target.T, means.T, strict=True) if np.ptp(y) > 0]
    found = []
    for column in target[:, np.ptp(target, axis=0) > 0].T:
        if np.isin(column, (0, 1)).all():
            mean = _class_means(inputs, column.astype(np.int64), weights)[:, 1]
            found.append(Target(column - mean, mean))
        else:
            found.append(_normal_score(inputs, column, weights))
    return found


def _class_means(inputs: Floats, codes: NDArray[np.int64], weights: Floats) -> Floats:
    """Return the probabilities of classes given the inputs, (n, n_classes), inside of (0, 1)."""
    counts = np.bincount(codes, weights)
    means = np.broadcast_to(counts / counts.sum(), (len(codes), len(counts))).copy()
    if inputs.shape[1]:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near the solution is near enough
            model = LogisticRegression(C=_LOOSE, max_iter=500).fit(inputs, codes, sample_weight=weights)
        means[:, model.classes_] = model.predict_proba(inputs)
    kept: Floats = np.clip(means, 1e-6, 1 - 1e-6)
    return kept


def _normal_score(inputs: Floats, column: Floats, weights: Floats) -> Target:
    """Return the residuals of a regression, mapped to a normal distribution by their ranks."""
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    reach = _FAR * (high - low)
    left = np.clip(column, middle - reach, middle + reach) if reach > 0 else column
    if inputs.shape[1]:
        left = left - Ridge(1.0).fit(inputs, left, sample_weight=weights).predict(inputs)
    _, where = np.unique(left, return_inverse=True)
    share = weights / weights.sum()
    mass = np.bincount(where, share)
    score = norm.ppf(np.cumsum(mass) - mass / 2)[where]
    score = score - share @ score
    return Target(score / np.sqrt(share @ np.square(score)), None)
