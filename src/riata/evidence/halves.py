"""Complementary half-samples: samples dealt out to two halves, whole groups at a time, with the shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["complementary", "sampling_units"]

Ids = NDArray[np.int64]


def sampling_units(n: int, y: Any, groups: Any) -> tuple[Ids, Ids]:
    """Return the unit of each sample, a group or the sample itself, and the stratum of each unit, its most common class."""
    units = np.arange(n) if groups is None else pd.factorize(np.asarray(groups).ravel())[0]
    if (units < 0).any():
        raise ValueError("groups has missing entries: give every sample a group")
    if len(units) != n:
        raise ValueError(f"groups must have one entry for each of the {n} samples; got {len(units)}")
    n_units = int(units.max()) + 1
    if n_units < 4:
        raise ValueError(f"halves need at least 4 groups of samples; got {n_units}")
    strata = np.zeros(n_units, dtype=np.int64)
    if y is None or np.ndim(y) > 1:
        return units, strata
    codes = np.unique(y, return_inverse=True)[1]
    for unit in range(n_units):
        strata[unit] = np.bincount(codes[units == unit]).argmax()
    return units, strata


def complementary(units: Ids, strata: Ids, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Split the units of every stratum at random into two halves, and return the positions of their samples.

    Where a stratum has an odd number of units, the remaining one goes to the half that has fewer so far.
    """
    in_first = np.zeros(len(strata), dtype=bool)
    balance = 0  # units of the first half less those of the second
    for stratum in rng.permutation(np.unique(strata)):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        larger = balance < 0 or (balance == 0 and rng.random() < 0.5)
        n_first = len(members) // 2 + (len(members) % 2) * larger
        in_first[members[:n_first]] = True
        balance += 2 * n_first - len(members)
    first = in_first[units]
    return np.flatnonzero(first), np.flatnonzero(~first)
