"""A Gaussian estimated from samples, and the distribution of some of its columns given all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.covariance import EmpiricalCovariance, GraphicalLassoCV, LedoitWolf

__all__ = ["COVARIANCES", "FEW_VALUES", "Gaussian", "has_few_values", "learn"]

Floats = NDArray[np.float64]
COVARIANCES = {"ledoit-wolf": LedoitWolf, "graphical-lasso": GraphicalLassoCV, "empirical": EmpiricalCovariance}
FEW_VALUES = 10  # a column with at most so many distinct values is far from Gaussian


@dataclass(frozen=True)
class Gaussian:
    """A mean and a covariance."""

    mean: Floats  # (d,)
    covariance: Floats  # (d, d), positive definite

    @cached_property
    def precision(self) -> Floats:
        """Inverse of the covariance, (d, d)."""
        scale = np.sqrt(np.diag(self.covariance))
        units = np.outer(scale, scale)  # inverted as correlations: units may be orders of magnitude apart
        try:
            root = np.linalg.cholesky(self.covariance / units)
        except np.linalg.LinAlgError:
            raise ValueError(
                "the covariance of the columns is singular: some column is a copy or a linear combination of others, or "
                'there are fewer samples than columns; leave it out, or use covariance="ledoit-wolf"'
            ) from None
        half = solve_triangular(root, np.eye(len(scale)), lower=True)
        precision: Floats = half.T @ half / units
        return precision

    def conditional(self, X: NDArray[np.floating], columns: Sequence[int] | NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Distribution of some columns K given the others O: Gaussian, with a mean per sample and one covariance.

        With the precision Λ = Σ⁻¹ the covariance is Λ_KK⁻¹ and the mean for a sample x is μ_K − Λ_KK⁻¹ Λ_KO (x_O − μ_O).

        Parameters
        ----------
        X : array of shape (n, d)
            Samples. Their values in the columns K are not used.
        columns : sequence of int
            The k columns K.

        Returns
        -------
        mean : array of shape (n, k)
        covariance : array of shape (k, k)
        """
        inside = np.asarray(columns, dtype=np.int64)
        others = np.setdiff1d(np.arange(len(self.mean)), inside)
        covariance = np.linalg.inv(self.precision[np.ix_(inside, inside)]).astype(np.float64)
        slopes = -covariance @ self.precision[np.ix_(inside, others)]  # (k, d − k)
        return self.mean[inside] + (X[:, others] - self.mean[others]) @ slopes.T, covariance


def learn(X: NDArray[np.floating], covariance: str = "ledoit-wolf") -> Gaussian:
    """Estimate mean and covariance from samples without missing values.

    A covariance with shrinkage can be inverted however few the samples. With many samples per column the empirical one is
    less biased where columns are strongly correlated.
    """
    X = np.asarray(X, dtype=np.float64)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    if not (scale > 0).all():
        raise ValueError(f"column {int(np.argmin(scale))} is constant: leave constant columns out")
    Z = (X - mean) / scale  # shrinkage treats all columns alike, so they must have one unit
    found = COVARIANCES[covariance]().fit(Z).covariance_
    return Gaussian(mean, found * np.outer(scale, scale))


def has_few_values(x: NDArray[np.floating]) -> bool:
    """Return whether a column has so few distinct values that a Gaussian matches its mean and variance only."""
    first = x[: 100 * FEW_VALUES]  # mostly enough to tell, without sorting the whole column
    return len(np.unique(first)) <= FEW_VALUES and len(np.unique(x)) <= FEW_VALUES
