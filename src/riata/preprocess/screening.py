"""Screening before the path: which features are associated with the target, by themselves or together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata.preprocess import interactions, marginal
from riata.preprocess.interactions import Interactions
from riata.preprocess.marginal import Associations

__all__ = ["Screening", "screen"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
NOTHING = "none"


@dataclass(frozen=True, eq=False)
class Screening:
    """What the tests of the training samples found."""

    associations: Associations | None = None  # of single features, alone or in an interaction; None: not tested
    interactions: Interactions | None = None  # None: pairs were not tested
    obstacle: str | None = None  # why they were not, if they would have been

    @property
    def tested(self) -> str:
        """What was tested: "none", "marginal" (and why no pairs), "pairs", or "pairs and triples"."""
        if self.associations is None:
            return NOTHING
        if self.interactions is None:
            return "marginal" if self.obstacle is None else f"marginal: {self.obstacle}"
        return "pairs and triples" if 3 in self.interactions.n_tests else "pairs"

    @property
    def strength(self) -> Floats | None:
        """Share of the target's variance that each feature explains by itself."""
        return None if self.associations is None else self.associations.strength


def screen(
    which: str,
    X: NDArray[np.floating],
    target: Floats,
    weights: Floats,
    n_levels: Ids | None,
    device: torch.device | str,
) -> Screening:
    """Test features one by one, and pairs and triples of them.

    Parameters
    ----------
    which : {"auto", "marginal", "pairs"}
        "auto" leaves pairs out where there are too many, or too many marginal associations to tell interactions from.
    X, target, weights, n_levels, device
        As for :func:`riata.preprocess.interactions.screen`.
    """
    found = marginal.measure(X, target, weights, n_levels)
    if which == "marginal":
        return Screening(found)
    kind = (
        "cpu" if issparse(X) else torch.device(device).type
    )  # pairs need all entries, which a GPU would have time for
    obstacle = (
        interactions.obstacle(found.n_samples, target.shape[1], found.p_values, kind) if which == "auto" else None
    )
    if obstacle is not None:
        return Screening(found, obstacle=obstacle)
    together = interactions.screen(X, target, weights, found.p_values, n_levels, device=device)
    return Screening(found._replace(p_values=together.joint_p_values), together)


def grouped(found: Screening, X: NDArray[np.floating], target: Floats, weights: Floats, ids: Ids) -> Screening:
    """Return the associations of groups of features, each tested by its clearest feature and by all of them."""
    if found.associations is None:
        return found
    return replace(found, associations=marginal.of_groups(found.associations, X, target, weights, ids))
