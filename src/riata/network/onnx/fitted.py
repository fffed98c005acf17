"""What an export writes down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riata.network.head import Head
from riata.network.stacked import Architecture, SparseWeights
from riata.network.tables import CodeTable
from riata.preprocess.prepare import Preprocessing
from riata.preprocess.scaling import Scaling

__all__ = ["Fitted"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A point of a fitted model, with everything that its predictions need.

    Attributes
    ----------
    weights, network, preprocessing, target_scaling
        Of the point.
    head : Head
        From outputs to predictions.
    tables : sequence of CodeTable
        The columns of categories.
    names : sequence of str
        Of all columns of X.
    """

    weights: SparseWeights
    network: Architecture
    preprocessing: Preprocessing
    target_scaling: Scaling
    head: Head
    tables: Sequence[CodeTable]
    names: Sequence[str]
