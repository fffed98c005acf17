"""Fitted models shared by the tests of importances and p-values."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LinearRegression

from riata import LassoNetClassifier, LassoNetRegressor
from tests.evidence.tables import QUICK, X_fit, label_fit, y_fit


@pytest.fixture(scope="session")
def models():
    """A linear model, and a network that uses two features, for tests that do not change them."""
    return {
        "linear": LinearRegression().fit(X_fit, y_fit),
        "network": LassoNetRegressor(select="best", **QUICK).fit(X_fit, y_fit).at(n_features=2),
        "classifier": LassoNetClassifier(n_features_to_select=2, **QUICK).fit(X_fit, label_fit),
    }
