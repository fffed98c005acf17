"""How times of which only an interval is known are encoded for the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize

from riata import check
from riata.losses.interval import BETWEEN, EXACT, LEFT, RIGHT, IntervalLikelihood
from riata.losses.loss import Loss
from riata.losses.survival import informative
from riata.preprocess import scaling
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling

__all__ = ["Intervals", "LogTimes", "learn_intervals"]

Floats = NDArray[np.float64]
LOWER, UPPER, HAS_LOWER, HAS_UPPER = range(4)  # columns of an encoded target
_FEWEST = 5  # samples of a kind from which on it is kept in proportion where samples are held out
_FARTHEST = (
    3.0  # the null model lies within so many standard deviations, and its log σ within so much, of the midpoints
)


@dataclass(frozen=True, eq=False)
class LogTimes(Scaling):
    """Logarithms of times, less the location and divided by the scale of the model without features."""

    times: Floats  # (T,) all bounds of the samples, increasing

    def apply(self, X: NDArray[np.floating], dtype: type | np.dtype, *_: Any, **__: Any) -> NDArray[Any]:
        """Return lower and upper bound and the kind, (n, 3); a bound that is not known is like the other one."""
        return np.column_stack([(_log_bounds(X) - self.center) / self.scale, _kinds(X)]).astype(dtype)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Times of which some are exact, and of others a lower bound, an upper one, or both are known."""

    n_constants: ClassVar[int] = 1  # log σ
    distribution: str
    iters_factor: int = 1

    def encode(self, y: Any) -> Floats:
        """Return lower and upper bounds, and whether each is known, (n, 4)."""
        return check.intervals(y)

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Return the weights."""
        return weights

    def strata(self, target: Floats) -> NDArray[np.int64] | None:
        """Return kinds of samples, to be kept in proportion; rare ones count as the commonest."""
        kinds = _kinds(target)
        counts = np.bincount(kinds)
        kinds = np.where(counts[kinds] < _FEWEST, counts.argmax(), kinds)
        return kinds if len(np.unique(kinds)) > 1 else None

    def subjects(self, target: Floats) -> None:
        """Return None: each sample is by itself."""

    def screened(self, target: Floats, weights: Floats) -> Floats:
        """Return residuals of the model without features: derivatives of the log-likelihood by its location."""
        standardised = torch.from_numpy(self._null(target, weights).apply(target, np.float64))
        outputs = torch.zeros(1, len(target), 2, dtype=torch.float64)
        return self._loss(target).log_likelihood(outputs, standardised)[1][0, :, :1].numpy()

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return the numbers that go with the number of times that are not right-censored."""
        return informative(int(target[:, HAS_UPPER].sum()))

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return the scale of log times, that of the model without features, and the likelihood."""
        _, target, weights = samples.fit
        _check_bounds(target, "to train on: use more samples, or a smaller val_size")
        loss, times = self._loss(samples.target), _times(samples.target)
        if standardize:
            null = self._null(target, weights)
            return LogTimes(null.center, null.scale, times=times), loss
        return LogTimes(np.zeros(1), np.ones(1), times=times), loss

    def log_likelihood(self, target: Floats, location: Floats, scale: float) -> Floats:
        """Return the logarithm of the likelihood of encoded times, (n,): of exact ones the density."""
        outputs = torch.from_numpy(np.column_stack([location, np.full(len(location), np.log(scale))]))
        plain = LogTimes(np.zeros(1), np.ones(1), times=np.empty(0)).apply(target, np.float64)
        value = self._loss(target).log_likelihood(outputs[None], torch.from_numpy(plain))[0][0].numpy()
        found: Floats = value - np.where(
            plain[:, 2] == EXACT, plain[:, 0], 0.0
        )  # the density of t is that of log t, by t
        return found

    def _loss(self, target: Floats) -> IntervalLikelihood:
        return IntervalLikelihood(self.distribution, tuple(int(kind) for kind in np.unique(_kinds(target))))

    def _null(self, target: Floats, weights: Floats) -> LogTimes:
        """Fit the model without features: the location and scale of greatest likelihood, near those of the midpoints.

        The likelihood has one maximum, or none: it may grow without end where a single time lies in all intervals.
        """
        midpoints = _log_bounds(target).mean(axis=1, keepdims=True)
        start = scaling.learn(midpoints, weights)
        unit = np.where(start.scale > 0, start.scale, 1.0)
        standardised = torch.from_numpy(LogTimes(start.center, unit, times=np.empty(0)).apply(target, np.float64))
        loss, share = self._loss(target), weights / weights.sum()

        def objective(constants: Floats) -> tuple[float, Floats]:
            outputs = torch.from_numpy(np.tile(constants, (1, len(target), 1)))
            value, slopes = loss.log_likelihood(outputs, standardised)
            return -float(share @ value[0].numpy()), -(share @ slopes[0].numpy())

        bounds = [(-_FARTHEST, _FARTHEST)] * 2
        found = minimize(objective, np.zeros(2), jac=True, bounds=bounds, method="L-BFGS-B", options={"gtol": 1e-8}).x
        return LogTimes(start.center + unit * found[0], unit * np.exp(found[1]), times=np.empty(0))


def learn_intervals(y: Any, distribution: str) -> tuple[Intervals, Floats]:
    """Check the y of fit; return how it is encoded, and the encoded target."""
    learnt = Intervals(distribution)
    target = learnt.encode(y)
    _check_bounds(target, "in y: nothing can be learnt about times")
    return learnt, target


def _check_bounds(target: Floats, where: str) -> None:
    if not target[:, HAS_UPPER].any():
        raise ValueError(f"every sample is right-censored, none has a finite upper time {where}")
    if not target[:, HAS_LOWER].any():
        raise ValueError(f"every sample is left-censored, none has a lower time above 0 {where}")


def _kinds(target: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return which kind each sample is of."""
    below, above = target[:, HAS_LOWER] == 0, target[:, HAS_UPPER] == 0
    kinds: NDArray[np.int64] = np.where(target[:, LOWER] == target[:, UPPER], EXACT, BETWEEN)
    return np.where(above, RIGHT, np.where(below, LEFT, kinds))


def _log_bounds(target: NDArray[np.floating]) -> Floats:
    """Return logarithms of both bounds, (n, 2); for one that is not known that of the other."""
    lower = np.where(target[:, HAS_LOWER] > 0, target[:, LOWER], target[:, UPPER])
    upper = np.where(target[:, HAS_UPPER] > 0, target[:, UPPER], target[:, LOWER])
    bounds: Floats = np.log(np.column_stack([lower, upper]).astype(np.float64))
    return bounds


def _times(target: Floats) -> Floats:
    return np.unique(np.exp(_log_bounds(target)))
