"""Selection of columns from tables that may hold categories: a fitted selector checks, encodes and reduces samples of X."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check
from riata.estimators.streaming import columns_of, opened
from riata.preprocess.categories import Categories, as_frame
from riata.sources import Rows, in_memory

__all__ = ["ColumnSelector", "named"]


def named(X: Any, names: NDArray[np.object_] | None) -> Any:
    """Return a table as a data frame with these names of columns, or as it is without names."""
    if names is None:
        return X
    if issparse(X):
        return pd.DataFrame.sparse.from_spmatrix(X, columns=names)  # type: ignore[attr-defined]
    return pd.DataFrame(X, columns=names)


class ColumnSelector(SelectorMixin):
    """A selector that knows which columns of X hold categories; scikit-learn's own takes numbers."""

    _categories: Categories | None = None
    n_features_in_: int

    def transform(self, X: ArrayLike) -> Any:
        """Reduce X to the selected features, as they are: a column of categories keeps its levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Columns as in fit.

        Returns
        -------
        array of shape (n_samples, n_selected), or a data frame where ``set_output`` asks for one
            The selected columns, sparse if X is.
        """
        check_is_fitted(self)
        X = opened(X)
        if isinstance(X, Rows):
            return columns_of(X, self.get_support(indices=True))
        if self._categories is None and not check.holds_dates(X):
            return super().transform(X)
        self._numbers(X)  # refuses what predict would
        selected = self.get_support(indices=True)
        if not len(selected):
            warnings.warn("no feature was selected: what is left has no columns", UserWarning, stacklevel=2)
        few = as_frame(X).iloc[:, selected]
        return few.to_numpy() if self._output_kind() == "default" else few

    def _output_kind(self) -> str:
        """Return what ``set_output``, or the configuration of scikit-learn, asks for."""
        asked: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return asked.get("transform") or str(get_config()["transform_output"])

    def _numbers(self, X: Any) -> Any:
        """Check samples of X for the fitted model; levels become codes, and sparse samples stay sparse."""
        encoded = self._encoded(in_memory(X, type(self).__name__), reset=False)
        return check.in_rows(validate_data(self, encoded, reset=False, **self._kinds()))

    def _kinds(self) -> dict[str, Any]:
        """Return what scikit-learn is to check of X."""
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        return {"dtype": [np.float64, np.float32], "ensure_all_finite": self._finite(), "accept_sparse": sparse}

    def _finite(self) -> bool | str:
        """Return what scikit-learn is to check: that all numbers are finite, or missing."""
        return "allow-nan" if get_tags(self).input_tags.allow_nan else True

    def _encoded(self, X: Any, *, reset: bool) -> Any:
        """Put codes in the place of levels, and NaN in that of pandas' NA; the columns must be those of fit."""
        if self._categories is not None:
            check.no_sparse(X, "a model with columns of categories")
            if not reset:
                validate_data(self, X, reset=False, skip_check_array=True)  # names and number of columns
            X = self._categories.encode(X)
        return check.numeric_frame(X, type(self).__name__)

    def _n_levels(self) -> NDArray[np.int64] | None:
        """Return the number of levels of each column, 0 for numbers; None without categories."""
        return None if self._categories is None else self._categories.n_levels(self.n_features_in_)
