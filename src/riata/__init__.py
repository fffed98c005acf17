"""LassoNet for people who have to know which features matter."""

from importlib.metadata import version

from riata.estimators import (
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetImputer,
    LassoNetRegressor,
    lassonet_path,
)
from riata.path import Path, Point
from riata.prox import hier_prox

__all__ = [
    "LassoNetAutoencoder",
    "LassoNetClassifier",
    "LassoNetImputer",
    "LassoNetRegressor",
    "Path",
    "Point",
    "hier_prox",
    "lassonet_path",
]
__version__ = version("riata")
