"""scikit-learn's own checks of its estimator contract, at the default parameters or, where these take long, shorter."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from riata import (
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetImputer,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
)
from riata.network import sparse
from tests.conftest import with_training

# scikit-learn's data are small, about which our estimators warn.
pytestmark = [
    pytest.mark.filterwarnings("ignore:only .* validation rows:UserWarning"),
    pytest.mark.filterwarnings("ignore:without validation rows:UserWarning"),
    pytest.mark.filterwarnings("ignore:No features were selected:UserWarning"),
    pytest.mark.filterwarnings("ignore:no feature was taken:UserWarning"),
    pytest.mark.filterwarnings("ignore:The least populated class:UserWarning"),
]


def survival(y):
    """Turn the numbers that the checks give as a target into times at which everybody has the event."""
    if y is None:
        return y
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "biufcO":
        return y
    y = y.real.astype(float)
    return np.column_stack([y - y.min() + 1, np.ones(len(y))])


class Cox(LassoNetCoxRegressor):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, survival(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, survival(y), sample_weight)


class CoxCV(LassoNetCoxRegressorCV):
    def fit(self, X, y, sample_weight=None, *, groups=None):
        return super().fit(X, survival(y), sample_weight, groups=groups)

    def score(self, X, y, sample_weight=None):
        return super().score(X, survival(y), sample_weight)


FASTER = [
    Cox(**with_training(hidden_dims=(4,), n_iters=(100, 10), path_multiplier=1.2)),
    CoxCV(**with_training(hidden_dims=(4,), cv=2, n_iters=(50, 10), path_multiplier=1.5)),
    LassoNetAutoencoder(**with_training(hidden_dims=(10,), n_iters=(100, 10))),
    LassoNetImputer(**with_training(hidden_dims=(10, 10), n_iters=(45, 5))),
    LassoNetClassifierCV(
        **with_training(hidden_dims=(10,), cv=2, select="best", n_iters=(100, 10), path_multiplier=1.2)
    ),
    LassoNetRegressorCV(**with_training(hidden_dims=(10,), cv=2, n_iters=(100, 10), path_multiplier=1.2)),
    StabilitySelector(
        LassoNetRegressor(**with_training(hidden_dims=(4,), n_iters=(50, 5), path_multiplier=1.3)),
        n_features=1,
        threshold=0.8,
        n_resamples=2,
    ),
]


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Name the checks that cannot hold at the defaults. xfail_strict makes sure that they do fail."""
    if isinstance(estimator, LassoNetImputer | StabilitySelector):
        return {}
    why = "the random validation part holds other samples when samples are repeated instead of weighted"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [LassoNetClassifier(), LassoNetRegressor(), *FASTER],
    expected_failed_checks=expected_failures,
)
def test_the_contract_of_scikit_learn_holds(estimator, check):
    check(estimator)


@pytest.mark.parametrize("Estimator", [LassoNetClassifier, LassoNetRegressor])
def test_without_a_validation_part_weights_equal_repeated_samples_of_a_sparse_table(Estimator, monkeypatch):
    monkeypatch.setattr(sparse, "LARGEST", 0)
    check_sample_weight_equivalence_on_sparse_data(
        Estimator.__name__, Estimator(**with_training(val_size=0, dtype="float64"))
    )


@pytest.mark.parametrize("Estimator", [LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor, Cox])
def test_without_a_validation_part_weights_equal_repeated_samples(Estimator):
    check_sample_weight_equivalence_on_dense_data(
        Estimator.__name__, Estimator(**with_training(val_size=0, dtype="float64"))
    )
