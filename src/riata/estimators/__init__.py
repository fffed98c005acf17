"""scikit-learn estimators: they store parameters and call the other rooms."""

from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.function import lassonet_path
from riata.estimators.regressor import LassoNetRegressor

__all__ = ["LassoNetClassifier", "LassoNetRegressor", "lassonet_path"]
