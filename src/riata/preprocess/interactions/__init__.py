"""Screening of interactions: pairs and triples of features that show the target together, tested on training samples."""

from riata.preprocess.interactions.search import ALPHA, Interactions, none, obstacle, screen

__all__ = ["ALPHA", "Interactions", "none", "obstacle", "screen"]
