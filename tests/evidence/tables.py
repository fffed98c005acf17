"""Tables and models shared by the tests of importances and p-values."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_regressor
from sklearn.linear_model import LinearRegression

from riata.evidence import permutation_importance
from tests.conftest import with_training

QUICK = with_training(
    preprocessing="standard", hidden_dims=(8,), M=1.0, path_multiplier=1.5, n_iters=(200, 50), random_state=0
)
D = 6
NAMES = [f"gene {j}" for j in range(D)]


def correlated(rng, n, d=D, correlation=0.5):
    """Samples of a Gaussian in which neighbouring columns are correlated."""
    return rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance(d, correlation)).T


def covariance(d, correlation=0.5):
    return correlation ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def linear(beta, intercept=0.0):
    """A linear model with coefficients that are given, not fitted."""
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.asarray(beta, dtype=float), intercept, len(beta)
    return model


def by_feature(table, names=None):
    table = table.set_index("feature")
    return table.loc[[f"x{j}" for j in range(len(table))] if names is None else names]


# Columns 0 and 2 matter; the first 100 samples are to fit on, the others held out.
tables = np.random.default_rng(0)
X = correlated(tables, 220)
y = 2 * X[:, 0] - X[:, 2] + tables.normal(size=220)
label = np.where(y > 0, "high", "low")
X_fit, y_fit, label_fit, X_out, y_out, label_out = X[:100], y[:100], label[:100], X[100:], y[100:], label[100:]


def measured(measure, model, out=X_out, **params):
    """Call with the target that the model predicts, and with few repeats or draws."""
    few = {"n_repeats": 5} if measure is permutation_importance else {"n_draws": 19}
    target = y_out if is_regressor(model) else label_out
    return measure(model, out, target, **({"random_state": 0} | few | params))
