"""Survival functions of a model with a distribution of errors: smooth functions of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from riata.survival.distributions import DISTRIBUTIONS

__all__ = ["SurvivalCurve", "survival"]

Floats = NDArray[np.float64]


def survival(time: Floats, location: Floats | float, scale: float, distribution: str) -> Floats:
    """Return P(T > time) for log T = location + scale × error; 1 for times up to 0."""
    with np.errstate(divide="ignore"):
        log_time = np.log(np.maximum(time, 0.0))
    z = np.clip((log_time - location) / scale, -1e100, 1e100)  # the logarithm of 0 is no number to calculate with
    log_survival, _ = DISTRIBUTIONS[distribution].above(torch.from_numpy(np.asarray(z, dtype=np.float64)))
    values: Floats = log_survival.exp().numpy()
    return values


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """The survival function of a sample, P(T > time) for log T = location + scale × error.

    Parameters
    ----------
    x : array of shape (n_times,)
        Increasing times, those of the training samples.
    location : float
        Of the logarithm of the time.
    scale : float
        Of the error.
    distribution : {"normal", "logistic", "extreme_value"}
        Of the error.

    Examples
    --------
    ``predict_survival_function`` of a :class:`riata.LassoNetIntervalRegressor` returns one for each sample.

    >>> import numpy as np
    >>> from riata.survival.curve import SurvivalCurve
    >>> survival = SurvivalCurve(np.array([1.0, 2.0]), location=np.log(2), scale=0.5, distribution="normal")
    >>> survival([0, 2]), survival.y.round(2)
    (array([1. , 0.5]), array([0.92, 0.5 ]))
    """

    x: Floats
    location: float
    scale: float
    distribution: str

    def __call__(self, time: ArrayLike) -> Floats:
        """Return the probability of a later event, at any time.

        Parameters
        ----------
        time : array-like
            Times.

        Returns
        -------
        array
            The probabilities, in the shape of the times.
        """
        return survival(np.asarray(time, dtype=np.float64), self.location, self.scale, self.distribution)

    @property
    def y(self) -> Floats:
        """Values at the times ``x``."""
        return self(self.x)

    @property
    def domain(self) -> tuple[float, float]:
        """Times at which the function is known: all from 0 on."""
        return 0.0, np.inf
