"""Features that are given by name, position or group."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.check.naming import as_list, named


def positions(columns: Any, names: NDArray[np.object_] | None, n_features: int, what: str) -> list[int]:
    """Turn column names or positions into positions."""
    columns = as_list(what, columns, "[0, 2]")
    lookup = {} if names is None else {name: i for i, name in enumerate(names)}
    found = []
    for column in columns:
        if isinstance(column, numbers.Integral) and not isinstance(column, bool):
            if not 0 <= int(column) < n_features:
                raise ValueError(f"{what}: there is no column {column}; X has {n_features} columns, from 0 on")
            found.append(int(column))
        elif column in lookup:
            found.append(lookup[column])
        else:
            known = (
                "X has no column names; use positions" if names is None else f"X has {', '.join(map(str, names[:10]))}"
            )
            raise ValueError(f"{what}: unknown column {column!r} ({known}{' …' if len(lookup) > 10 else ''})")
    return found


def categorical(value: Any, names: NDArray[np.object_] | None, n_features: int) -> list[int]:
    """Turn names or positions of columns, or a mask over all of them, into positions."""
    what = "categorical_features"
    listed = as_list(what, value, '["colour", "city"], or "from_dtype", or None')
    if listed and all(isinstance(v, bool | np.bool_) for v in listed):
        if len(listed) != n_features:
            raise ValueError(f"{what}: a mask needs one entry for each of the {n_features} columns; got {len(listed)}")
        return np.flatnonzero(listed).tolist()
    return sorted(set(positions(listed, names, n_features, what)))


def groups(value: Any, names: NDArray[np.object_] | None, n_features: int) -> NDArray[np.int64] | None:
    """Turn groups, as one label per feature or as lists of columns (a mapping of names to lists), into ids per feature."""
    if value is None:
        return None
    mapped = isinstance(value, Mapping)
    members = list(value.values()) if mapped else as_list("groups", value, "[0, 0, 1]")
    listed = [isinstance(m, Iterable) and not isinstance(m, str) for m in members]
    if not all(listed):
        if mapped or any(listed) or len(members) != n_features:
            raise ValueError(
                f"groups must hold one label per feature ({n_features}), or lists of columns only; got {value!r}"
            )
        return np.unique(np.asarray(members), return_inverse=True)[1].astype(np.int64)
    ids = np.full(n_features, -1, dtype=np.int64)
    for g, columns in enumerate(members):
        for j in positions(columns, names, n_features, "groups"):
            if ids[j] >= 0:
                raise ValueError(f"groups must cover each feature once; repeated: {named([j], names)}")
            ids[j] = g
    if (ids < 0).any():
        raise ValueError(f"groups must cover each feature once; missing: {named(np.flatnonzero(ids < 0), names)}")
    return ids


def costs(
    value: Any, names: NDArray[np.object_] | None, n_features: int, ids: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Turn costs, one per feature or a mapping from columns (others cost 1), into an array; one cost per group."""
    if value is None:
        return np.ones(n_features)
    if isinstance(value, Mapping):
        array = np.ones(n_features)
        array[positions(value.keys(), names, n_features, "feature_costs")] = list(value.values())
    else:
        array = np.asarray(value, dtype=np.float64)
    if array.shape != (n_features,):
        raise ValueError(f"feature_costs must have one number per feature, shape ({n_features},); got {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError("feature_costs must be finite and non-negative; 0 keeps a feature always")
    if not array.any():
        raise ValueError("feature_costs are all 0: every feature would always be kept, and there is nothing to select")
    if ids is not None:
        mixed = [j for j in range(n_features) if array[j] != array[np.argmax(ids == ids[j])]]
        if mixed:
            raise ValueError(f"feature_costs must be equal within a group; they differ at {named(mixed, names)}")
    return array


def reachable(n_features_to_select: int | None, costs: NDArray[np.float64], ids: NDArray[np.int64] | None) -> None:
    """Refuse a number of features that the free ones, or the smallest group, exceed."""
    if n_features_to_select is None:
        return
    free = int(np.count_nonzero(costs == 0))
    smallest = 1 if ids is None else int(np.bincount(ids).min())
    if n_features_to_select < max(free, smallest):
        reason = f"{free} features that cost nothing and are always kept" if free else f"smallest group, of {smallest}"
        raise ValueError(f"n_features_to_select={n_features_to_select} is less than the {reason}")
