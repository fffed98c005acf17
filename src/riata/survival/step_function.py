"""Functions that are constant between times, such as survival functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["StepFunction"]


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A function that is ``start`` before the first time and ``y[i]`` from ``x[i]`` up to, but not including, ``x[i + 1]``.

    Parameters
    ----------
    x : array of shape (n_times,)
        Increasing times.
    y : array of shape (n_times,)
        Values from these times on; the last one holds for all later times.
    start : float
        Value before the first time.

    Examples
    --------
    ``predict_survival_function`` and ``predict_cumulative_hazard_function`` of a Cox model return one for each sample.

    >>> import numpy as np
    >>> from riata.survival.step_function import StepFunction
    >>> survival = StepFunction(np.array([1.0, 3.0]), np.array([0.8, 0.5]), start=1.0)
    >>> survival([0.5, 1, 2, 10])
    array([1. , 0.8, 0.8, 0.5])
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    start: float

    def __call__(self, time: ArrayLike) -> NDArray[np.float64]:
        """Return the value at each time.

        Parameters
        ----------
        time : array-like
            Times.

        Returns
        -------
        array
            The values, in the shape of the times.
        """
        at = np.searchsorted(self.x, np.asarray(time, dtype=np.float64), side="right")
        values: NDArray[np.float64] = np.append(self.start, self.y)[at]
        return values

    @property
    def domain(self) -> tuple[float, float]:
        """Times at which the function is known: from 0 to the last one."""
        return 0.0, float(self.x[-1])
