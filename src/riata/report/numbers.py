"""Numbers as a report holds them: rounded, and null where they are not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "each", "exact", "short", "shorter"]

Floats = NDArray[np.float64]


def exact(value: Any) -> float | None:
    """Return a number as it is."""
    number = float(value)
    return number if math.isfinite(number) else None


def short(value: Any) -> Any:
    """Return a number with six digits."""
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def shorter(value: Any) -> Any:
    """Return a number with four digits, for what is drawn."""
    number = float(value)
    return float(f"{number:.4g}") if math.isfinite(number) else None


def each(values: Any) -> list[Any]:
    """Return numbers with four digits each, in lists as deep as the array has axes."""
    array = np.asarray(values, dtype=np.float64)
    return [each(part) for part in array] if array.ndim > 1 else [shorter(value) for value in array]
