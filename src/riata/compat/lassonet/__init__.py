"""The names of the ``lassonet`` package, version 0.0.21: its scripts run with the import changed to this module."""

from riata.compat.lassonet.differences import LassoNetDifference
from riata.compat.lassonet.history import NonFiniteLossError
from riata.compat.lassonet.interfaces import (
    LassoNetAutoEncoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetIntervalRegressor,
    LassoNetIntervalRegressorCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    lassonet_path,
)
from riata.compat.lassonet.model import LassoNet
from riata.compat.lassonet.plot import plot_cv, plot_path
from riata.compat.lassonet.prox import prox

__all__ = [
    "LassoNet",
    "LassoNetAutoEncoder",
    "LassoNetClassifier",
    "LassoNetClassifierCV",
    "LassoNetCoxRegressor",
    "LassoNetCoxRegressorCV",
    "LassoNetDifference",
    "LassoNetIntervalRegressor",
    "LassoNetIntervalRegressorCV",
    "LassoNetRegressor",
    "LassoNetRegressorCV",
    "NonFiniteLossError",
    "lassonet_path",
    "plot_cv",
    "plot_path",
    "prox",
]
