"""Weights of samples and of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sample_weight(value: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Check one non-negative weight per sample; None for equal ones."""
    if value is None:
        return np.ones(n_samples)
    weights = _numbers(value)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight must have one number per row, shape ({n_samples},); got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and non-negative; use 0 to leave a row out")
    if np.count_nonzero(weights) < 2:
        found = "1 row only" if weights.any() else "no row: it is zero for every row"
        raise ValueError(f"sample_weight must be positive for at least two rows; it is for {found}")
    return weights


def _numbers(value: ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.asarray(value)
        if given.dtype.kind in "cmMUS":
            raise TypeError(f"they are of the type {given.dtype}")
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be one number per row; {error}") from None


def class_weights(per_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse weights that turn a class off or against itself."""
    if not np.isfinite(per_class).all() or (per_class <= 0).any():
        raise ValueError(f"class_weight must be finite and positive; got {per_class.tolist()} for the classes in order")
    return per_class


def no_class_weight(class_weight: Any) -> None:
    """Refuse weights of classes where samples have several."""
    if class_weight is not None:
        raise ValueError(
            "class_weight weighs rows by their class, and a row of a table of labels has several: use sample_weight"
        )
