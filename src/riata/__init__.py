"""LassoNet for people who have to know which features matter."""

from importlib.metadata import version

from riata import losses
from riata.estimators import (
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetImputer,
    LassoNetIntervalRegressor,
    LassoNetRegressor,
    LassoNetRegressorCV,
    Training,
)
from riata.estimators.stored import load
from riata.evidence import (
    KnockoffSelector,
    StabilitySelector,
    effect_curve,
    effect_surface,
    feature_effects,
    holdout_p_values,
    permutation_importance,
)
from riata.files import read_table
from riata.jobs import ReplicaError
from riata.path.points import Path, Point
from riata.prox import hier_prox
from riata.report import Report
from riata.storage import ModelFileError

__all__ = [
    "KnockoffSelector",
    "LassoNetAutoencoder",
    "LassoNetClassifier",
    "LassoNetClassifierCV",
    "LassoNetCoxRegressor",
    "LassoNetCoxRegressorCV",
    "LassoNetImputer",
    "LassoNetIntervalRegressor",
    "LassoNetRegressor",
    "LassoNetRegressorCV",
    "ModelFileError",
    "Path",
    "Point",
    "ReplicaError",
    "Report",
    "StabilitySelector",
    "Training",
    "effect_curve",
    "effect_surface",
    "feature_effects",
    "hier_prox",
    "holdout_p_values",
    "load",
    "losses",
    "permutation_importance",
    "read_table",
]
__version__ = version("riata")
