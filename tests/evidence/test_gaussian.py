"""Laws of the Gaussian: conditional distributions, and the samples that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from riata.evidence.gaussian import Gaussian, learn
from tests.evidence.tables import (
    X_fit,
    X_out,
    correlated,
    covariance,
)


@pytest.mark.parametrize("columns", [[2], [0, 3], [3, 1, 4], [0, 1, 2, 3, 4]])
def test_the_conditional_distribution_is_that_of_the_textbook(columns):
    S = covariance(5) * np.outer([1, 1e4, 2, 1e-4, 3], [1, 1e4, 2, 1e-4, 3])
    mean = np.arange(5.0)
    samples = np.random.default_rng(1).normal(size=(7, 5)) * np.sqrt(np.diag(S)) + mean
    K, O = columns, [j for j in range(5) if j not in columns]  # noqa: E741
    slopes = S[np.ix_(K, O)] @ np.linalg.inv(S[np.ix_(O, O)])
    found, covariance_given = Gaussian(mean, S).conditional(samples, columns)
    scale = np.sqrt(np.diag(S)[K])
    assert found.shape == (7, len(K))
    assert np.allclose(found / scale, (mean[K] + (samples[:, O] - mean[O]) @ slopes.T) / scale)
    units = np.outer(scale, scale)
    assert np.allclose(covariance_given / units, (S[np.ix_(K, K)] - slopes @ S[np.ix_(O, K)]) / units)


def test_the_conditional_distribution_does_not_depend_on_the_columns_in_question():
    changed = X_out.copy()
    changed[:, [1, 4]] = 1e6
    gaussian = learn(X_fit)
    assert np.array_equal(gaussian.conditional(changed, [1, 4])[0], gaussian.conditional(X_out, [1, 4])[0])


def test_columns_drawn_given_the_others_keep_the_covariance():
    n, columns = 20_000, [1, 2]
    truth = Gaussian(np.arange(4.0), covariance(4))
    rng = np.random.default_rng(0)
    samples = correlated(rng, n, 4) + truth.mean
    mean, covariance_given = truth.conditional(samples, columns)
    samples[:, columns] = mean + rng.normal(size=(n, 2)) @ np.linalg.cholesky(covariance_given).T
    assert np.abs(samples.mean(axis=0) - truth.mean).max() < 5 / np.sqrt(n)
    assert np.abs(np.cov(samples.T) - truth.covariance).max() < 5 * np.sqrt(2 / n)


def test_a_singular_covariance_is_refused():
    with pytest.raises(ValueError, match="singular"):
        Gaussian(np.zeros(2), np.ones((2, 2))).conditional(X_out[:, :2], [0])
