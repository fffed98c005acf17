"""scikit-learn estimators: they store parameters and call the layers below."""

from riata.estimators.autoencoder import LassoNetAutoencoder
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.cox import LassoNetCoxRegressor
from riata.estimators.cv import LassoNetClassifierCV, LassoNetCoxRegressorCV, LassoNetRegressorCV
from riata.estimators.imputer import LassoNetImputer
from riata.estimators.interval import LassoNetIntervalRegressor
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.training import Training

__all__ = [
    "LassoNetAutoencoder",
    "LassoNetClassifier",
    "LassoNetClassifierCV",
    "LassoNetCoxRegressor",
    "LassoNetCoxRegressorCV",
    "LassoNetImputer",
    "LassoNetIntervalRegressor",
    "LassoNetRegressor",
    "LassoNetRegressorCV",
    "Training",
]
