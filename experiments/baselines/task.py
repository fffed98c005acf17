"""What a method is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Task(NamedTuple):
    """Scaled rows, and how many features are wanted."""

    X: NDArray
    y: NDArray
    k: int
    seed: int
    X_val: NDArray | None = None
    y_val: NDArray | None = None

    @property
    def regression(self) -> bool:
        """Say whether the target is a number."""
        return self.y.dtype.kind == "f"

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]


def by(scores: NDArray) -> NDArray[np.int64]:
    """Order features by falling score; equal ones, and those without a score, by position."""
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
