"""What estimators with a target share: how they are called."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from riata.estimators.base import BaseLassoNet
from riata.path.points import Path


class Supervised(BaseLassoNet):
    """Predicts a target and selects the features that it takes."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Follow the path from the dense model to the empty one and choose a point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, missing ones among them (``missing``), and categories (``categorical_features``). Column names of a data
            frame are kept.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count: a row of weight 0 is left out, and one of twice the weight of
            the others counts as two of them.
        X_val, y_val : array-like, optional
            Rows to validate on instead of a random part of X.

        Returns
        -------
        self
            The fitted estimator, at the chosen point.
        """
        return self._fit(X, y, sample_weight, X_val, y_val)

    def path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Path:
        """Fit, and return the path; :meth:`load` moves the model to any of its points."""
        return self.fit(X, y, sample_weight, X_val=X_val, y_val=y_val).path_
