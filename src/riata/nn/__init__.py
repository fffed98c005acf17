"""Sparse layers for people with their own torch models and training loops.

:class:`LassoInput` selects inputs, :class:`Hierarchy` any units of any layer; :func:`hier_prox_` is the one line after
``optimizer.step()``, and :func:`path` solves the path from the dense model to the empty one.
"""

from riata.nn.attached import Attached
from riata.nn.hiding import HiddenEntries, hidden_error
from riata.nn.hierarchy import Hierarchy, hier_prox_, hierarchies
from riata.nn.layers import LassoInput
from riata.nn.points import ModulePoint, select
from riata.nn.solve import path
from riata.nn.steps import HeavyBall
from riata.nn.units import SparseUnits

__all__ = [
    "Attached",
    "HeavyBall",
    "HiddenEntries",
    "Hierarchy",
    "LassoInput",
    "ModulePoint",
    "SparseUnits",
    "hidden_error",
    "hier_prox_",
    "hierarchies",
    "path",
    "select",
]
