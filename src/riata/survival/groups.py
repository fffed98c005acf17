"""Groups of samples by predicted risk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

__all__ = ["of_equal_size"]

_NAMES = {1: ["all"], 2: ["low risk", "high risk"], 3: ["low risk", "middle risk", "high risk"]}


def of_equal_size(risk: NDArray[np.float64], n_groups: int) -> list[tuple[str, NDArray[np.bool_]]]:
    """Divide samples into groups of about the same size, from low risk to high; samples of the same risk stay together.

    Returns
    -------
    list of (str, bool array of shape (n,))
        Names and members of the groups; fewer than asked for where risks are equal.
    """
    place = np.floor((rankdata(risk) - 0.5) / len(risk) * n_groups)
    codes = np.unique(place)
    n = len(codes)
    names = _NAMES.get(n) or ["lowest risk", *(f"{i}" for i in range(2, n)), "highest risk"]
    return [(name, place == code) for name, code in zip(names, codes, strict=True)]
