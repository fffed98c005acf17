"""Selection of columns from tables that may hold categories: a fitted selector checks, encodes and reduces rows of X."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from riata.estimators.categories import Categories, as_frame

__all__ = ["ColumnSelector"]


class ColumnSelector(SelectorMixin):
    """A selector that knows which columns of X hold categories; scikit-learn's own takes numbers."""

    _categories: Categories | None = None

    def transform(self, X: ArrayLike) -> Any:
        """Reduce X to the selected features, as they are: a column of categories keeps its levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Columns as in fit.

        Returns
        -------
        array of shape (n_samples, n_selected_), or a data frame where ``set_output`` asks for one
            The selected columns.
        """
        if self._categories is None:
            return super().transform(X)
        check_is_fitted(self)
        self._numbers(X)  # refuses what predict would
        few = self._transform(as_frame(X))
        return few.to_numpy() if _get_output_config("transform", self)["dense"] == "default" else few

    def _numbers(self, X: Any) -> NDArray[np.floating]:
        """Check rows of X for the fitted model; levels become codes."""
        return validate_data(self, self._encoded(X, reset=False), reset=False, dtype=[np.float64, np.float32])

    def _encoded(self, X: Any, *, reset: bool) -> Any:
        """Put codes in the place of levels; the columns must be those of fit."""
        if self._categories is None:
            return X
        if not reset:
            validate_data(self, X, reset=False, skip_check_array=True)  # names and number of columns
        return self._categories.encode(X)

    def _n_levels(self) -> NDArray[np.int64] | None:
        """Return the number of levels of each column, 0 for numbers; None without categories."""
        return None if self._categories is None else self._categories.n_levels(self.n_features_in_)
