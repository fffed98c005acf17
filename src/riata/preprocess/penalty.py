"""Penalty weights: what multiplies λ for each feature, beside the costs that the user gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riata.preprocess.marginal import Associations

__all__ = ["penalty_weights"]

Floats = NDArray[np.float64]
_UNASSOCIATED, _LARGEST = 2.0, 8.0  # factor of a feature without an association: usually, and where samples are fewest
_CROWDED = 1.5  # samples per feature under which it grows: noise fits few samples as well as anything


def penalty_weights(
    size: Floats, found: Associations | None, ids: NDArray[np.int64] | None = None, *, linear: bool = False
) -> Floats:
    """Return √p for a feature of p inputs with a clear association, up to 2p for one without, or 8p where samples are few.

    The p inputs of noise have a gradient √p times as large as one input's at the linear part, and p times as large at the
    hidden layers, where absolute values add up; an effect that is there has one √p times as large. So √p is fair to features
    with an effect and p to those without; where nothing was ``found`` it is p, or √p in a ``linear`` model, the group lasso's.
    Features of a group count together: ``found`` is that of groups then.
    """
    if ids is not None:
        return penalty_weights(np.bincount(ids, size).astype(np.float64), found, linear=linear)[ids]
    root = np.sqrt(size)
    if found is None:
        return root if linear else size
    return root * _factors(found, root)


def _factors(found: Associations, root: Floats) -> Floats:
    """Return (f √p)^doubt with f = 2, up to 8 below 1.5 samples per feature; doubt is 0 for a clear association and 1 for none.

    A network that can fit its training samples with noise has little reason to prefer it over redundant features. An
    association is clear if about one feature of a table of noise would have as small a p-value: doubt = 1 + log p / log d.
    """
    d = len(found.p_values)
    factor = np.clip(_UNASSOCIATED * _CROWDED * d / found.n_samples, _UNASSOCIATED, _LARGEST) * root
    doubt = 1 + np.log(np.maximum(found.p_values, np.finfo(float).tiny)) / np.log(max(d, 2))
    weights: Floats = factor ** np.clip(doubt, 0, 1)
    return weights
