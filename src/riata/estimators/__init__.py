"""scikit-learn estimators: they store parameters and call the other rooms."""

from riata.estimators.autoencoder import LassoNetAutoencoder
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.cv import LassoNetClassifierCV, LassoNetRegressorCV
from riata.estimators.function import lassonet_path
from riata.estimators.imputer import LassoNetImputer
from riata.estimators.regressor import LassoNetRegressor

__all__ = [
    "LassoNetAutoencoder",
    "LassoNetClassifier",
    "LassoNetClassifierCV",
    "LassoNetImputer",
    "LassoNetRegressor",
    "LassoNetRegressorCV",
    "lassonet_path",
]
