"""LassoNet for people who have to know which features matter."""

from riata.prox import hier_prox

__all__ = ["hier_prox"]
