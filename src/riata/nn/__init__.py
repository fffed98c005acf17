"""Sparse layers for people with their own torch models and training loops.

:class:`LassoInput` selects inputs, :class:`Hierarchy` any units of any layer; :func:`hier_prox_` is the one line after
``optimizer.step()``.
"""

from riata.nn.hierarchy import Hierarchy, hier_prox_, hierarchies
from riata.nn.layers import LassoInput
from riata.nn.steps import HeavyBall

__all__ = ["HeavyBall", "Hierarchy", "LassoInput", "hier_prox_", "hierarchies"]
