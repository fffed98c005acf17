"""How far a selection can be trusted."""

from riata.evidence.importance import holdout_p_values, permutation_importance
from riata.evidence.knockoff_selector import KnockoffSelector
from riata.evidence.stability import StabilitySelector

__all__ = ["KnockoffSelector", "StabilitySelector", "holdout_p_values", "permutation_importance"]
