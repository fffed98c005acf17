"""How far a selection can be trusted."""

from riata.evidence.curves import Curve, effect_curve, feature_effects
from riata.evidence.importance import permutation_importance
from riata.evidence.knockoff_selector import KnockoffSelector
from riata.evidence.p_values import holdout_p_values
from riata.evidence.stability import StabilitySelector
from riata.evidence.surface import Surface, effect_surface

__all__ = [
    "Curve",
    "KnockoffSelector",
    "StabilitySelector",
    "Surface",
    "effect_curve",
    "effect_surface",
    "feature_effects",
    "holdout_p_values",
    "permutation_importance",
]
