"""LassoNet for people who have to know which features matter."""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from riata.ranks import RankError
    from riata.report import Report
    from riata.sources import Rows, open_rows
    from riata.storage import CheckpointError, ModelFileError

__all__ = [
    "CheckpointError",
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
    "RankError",
    "ReplicaError",
    "Report",
    "Rows",
    "StabilitySelector",
    "Training",
    "effect_curve",
    "effect_surface",
    "feature_effects",
    "hier_prox",
    "holdout_p_values",
    "load",
    "losses",
    "open_rows",
    "permutation_importance",
    "read_table",
]
__version__ = version("riata")

# The module of each name that is not one of the estimators. Modules are imported when a name of them is asked for: with
# PyTorch and scikit-learn that takes seconds, and the help of the command line needs none of them.
_MODULES = {
    "CheckpointError": "storage",
    "ModelFileError": "storage",
    "Path": "path.points",
    "Point": "path.points",
    "RankError": "ranks",
    "ReplicaError": "jobs",
    "Report": "report",
    "Rows": "sources",
    "hier_prox": "prox",
    "load": "estimators.stored",
    "open_rows": "sources",
    "read_table": "files",
} | dict.fromkeys(
    (
        "KnockoffSelector",
        "StabilitySelector",
        "effect_curve",
        "effect_surface",
        "feature_effects",
        "holdout_p_values",
        "permutation_importance",
    ),
    "evidence",
)


def __getattr__(name: str) -> Any:
    if name in __all__ and name != "losses":
        value = getattr(import_module(f"riata.{_MODULES.get(name, 'estimators')}"), name)
    elif not name.startswith("_") and find_spec(f"riata.{name}") is not None:
        value = import_module(f"riata.{name}")  # as riata.losses after import riata
    else:
        raise AttributeError(f"module 'riata' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
