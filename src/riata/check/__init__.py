"""User input becomes clean arrays here, or a ValueError that says what to do. Nothing else validates."""

from riata.check.features import categorical, costs, groups, positions, reachable
from riata.check.frames import holds_dates, numeric_frame
from riata.check.intervals import intervals
from riata.check.parameters import hidden_dims, lambda_seq, number, one_of, per_stage, tolerance, whole
from riata.check.sparse import in_rows, no_sparse
from riata.check.survival import no_survival, survival, survival_strata
from riata.check.targets import (
    class_counts,
    comparable,
    indicator,
    is_table,
    known,
    label_values,
    labels,
    plain,
    quantities,
)
from riata.check.weights import class_weights, no_class_weight, sample_weight

__all__ = [
    "categorical",
    "class_counts",
    "class_weights",
    "comparable",
    "costs",
    "groups",
    "hidden_dims",
    "holds_dates",
    "in_rows",
    "indicator",
    "intervals",
    "is_table",
    "known",
    "label_values",
    "labels",
    "lambda_seq",
    "no_class_weight",
    "no_sparse",
    "no_survival",
    "number",
    "numeric_frame",
    "one_of",
    "per_stage",
    "plain",
    "positions",
    "quantities",
    "reachable",
    "sample_weight",
    "survival",
    "survival_strata",
    "tolerance",
    "whole",
]
