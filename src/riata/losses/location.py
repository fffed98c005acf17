"""Losses of a difference: output − target, whatever the unit."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import d2_absolute_error_score, d2_pinball_score, r2_score
from torch import Tensor

from riata import check
from riata.losses.loss import NumberLoss
from riata.preprocess.scaling import Scaling

__all__ = ["AbsoluteError", "Huber", "Quantile", "ReconstructionError", "SquaredError"]

Floats = NDArray[np.float64]
_BLUR = 0.03  # half the width, in standard deviations of the target, over which a kink is rounded in training
_MAD = 0.6745  # median distance of a normal variable from its median, in standard deviations


class ReconstructionError:
    """Squared error over the entries of a table that are there to be reconstructed; NaN marks the others.

    Parameters
    ----------
    n_entries : float
        How many entries of a sample count on average: the mean over samples is then the mean over entries.

    Examples
    --------
    >>> import torch
    >>> from riata.losses import ReconstructionError
    >>> loss, _ = ReconstructionError(2).evaluate(torch.ones(1, 1, 3), torch.tensor([[0.0, torch.nan, 3.0]]))
    >>> loss.tolist()
    [[2.5]]
    """

    def __init__(self, n_entries: float):
        self.n_entries = n_entries

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return ‖output − target‖² / n_entries over the entries that count, and its derivative.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            The entries; NaN for those that do not count.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        residual = torch.where(target.isnan(), 0.0, output - target)
        return residual.square().sum(-1).div_(self.n_entries), residual.mul_(2 / self.n_entries)


@dataclass(frozen=True)
class SquaredError(NumberLoss):
    """Squared error, summed over outputs: what a regressor minimises by default, for the mean of the target.

    Examples
    --------
    >>> from riata import LassoNetRegressor, losses
    >>> LassoNetRegressor(loss=losses.SquaredError())
    LassoNetRegressor(loss=SquaredError())
    """

    score_name = "R²"

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return ‖output − target‖² and 2 (output − target)."""
        residual = output - target
        return residual.square().sum(-1), residual.mul_(2)

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Return R²."""
        return float(r2_score(target, linear, sample_weight=weights))


@dataclass(frozen=True)
class Huber(SquaredError):
    """Squared error up to a distance, and linear beyond it, so that outliers have a bounded influence.

    The loss of a distance r is r² up to δ and δ (2 r − δ) beyond, summed over outputs.

    Parameters
    ----------
    delta : float, default=1.35
        The distance, in robust standard deviations of y (from the median distance of y to its median), which outliers do not
        increase. Where the features explain most of y, residuals are small and so should δ be.

    Examples
    --------
    >>> from riata import LassoNetRegressor, losses
    >>> LassoNetRegressor(loss=losses.Huber(delta=0.5))
    LassoNetRegressor(loss=Huber(delta=0.5))
    """

    delta: float = 1.35

    def __post_init__(self) -> None:
        check.number("delta of Huber", self.delta, above=True)

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and its derivative, with δ in the unit of the target."""
        return _capped(output - target, torch.full_like(target[0], self.delta))

    def tuned(self, target: Floats) -> NumberLoss:
        """Measure δ in standard deviations of each column."""
        distance = np.median(np.abs(target - np.median(target, axis=0)), axis=0) / _MAD
        spread = np.where(distance > 0, distance, target.std(axis=0))
        return _Capped(tuple((self.delta * np.where(spread > 0, spread, 1.0)).tolist()))


@dataclass(frozen=True)
class _Capped(NumberLoss):
    deltas: tuple[float, ...]  # one for each output

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return _capped(output - target, _row(self.deltas, output.dtype, output.device))


class _Kinked(NumberLoss):
    """A loss with a kink at zero, which training rounds.

    Steps of the solver have a length of their own, and at a kink no gradient tells them to be short: without this the
    objective stalls.
    """

    iters_factor = 2

    def around(self, output: Tensor, target: Tensor, blur: float) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives, with the kink rounded within ±blur.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            The target.
        blur : float
            Half the width of the part that is rounded.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        raise NotImplementedError

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives."""
        return self.around(output, target, 0.0)

    def tuned(self, target: Floats) -> NumberLoss:
        """Round the kink by a share of the target's spread."""
        spread = target.std(axis=0)
        return _Blurred(self, _BLUR * float(min(spread[spread > 0], default=1.0)))


@dataclass(frozen=True)
class _Blurred(NumberLoss):
    kinked: _Kinked
    blur: float

    @property
    def width(self) -> int:
        return self.kinked.width

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return self.kinked.around(output, target, self.blur)


@dataclass(frozen=True)
class AbsoluteError(_Kinked):
    """Absolute error, summed over outputs: for the median of the target.

    Training rounds the kink at zero within ±3 % of a standard deviation of y.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, losses
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=losses.AbsoluteError(), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.2
    True
    """

    score_name = "D² of the absolute error"

    def around(self, output: Tensor, target: Tensor, blur: float) -> tuple[Tensor, Tensor]:
        """Return the absolute differences, summed over outputs, and their signs."""
        size, sign = _size(output - target, blur)
        return size.sum(-1), sign

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Return the share of the absolute error around the median that is explained."""
        return float(d2_absolute_error_score(target, linear, sample_weight=weights))


@dataclass(frozen=True)
class Quantile(_Kinked):
    """Pinball loss, summed over levels: for quantiles of the target given the features.

    With y above the output by u the loss of the level q is q u, and below by u, (1 − q) u. Predictions have one column for each
    level, in increasing order; for a target of several columns, all levels of the first come first. Outputs that cross are
    sorted. Training rounds the kink at zero within ±3 % of a standard deviation of y.

    Parameters
    ----------
    levels : float or sequence of float, default=0.5
        Which quantiles, between 0 and 1, increasing. The default is the median.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, losses
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=losses.Quantile((0.1, 0.9)), random_state=0).fit(X, y)
    >>> low, high = model.predict(X).T
    >>> bool((low <= high).all())
    True
    """

    score_name = "D² of the pinball loss"

    levels: Any = (0.5,)

    def __post_init__(self) -> None:
        given = self.levels
        listed = isinstance(given, Iterable) and not isinstance(given, str)
        levels = tuple(given) if listed else (given,)
        real = all(isinstance(q, numbers.Real) and 0 < float(q) < 1 for q in levels)
        if not levels or not real or any(a >= b for a, b in pairwise(levels)):
            raise ValueError(
                f"levels of Quantile must lie between 0 and 1 and increase, as in (0.1, 0.9); got {given!r}"
            )
        object.__setattr__(self, "levels", tuple(float(q) for q in levels))

    @property
    def width(self) -> int:
        """The number of levels."""
        return len(self.levels)

    def around(self, output: Tensor, target: Tensor, blur: float) -> tuple[Tensor, Tensor]:
        """Return the loss and its derivative."""
        tilt = tuple(0.5 - level for level in self.levels) * (output.shape[-1] // self.width)
        lean = _row(tilt, output.dtype, output.device)
        residual = output - target
        size, sign = _size(residual, blur)
        return (0.5 * size).addcmul_(lean, residual).sum(-1), sign.mul_(0.5).add_(lean)

    def screened(self, target: Floats) -> Floats:
        """Return each column and, unless the median alone is asked for, how far it is from its middle."""
        columns = super().screened(target)
        if self.levels == (0.5,):
            return columns
        return np.hstack([columns, np.abs(columns - np.median(columns, axis=0))])

    def predicted(self, linear: Floats) -> Floats:
        """Sort the levels of each column."""
        return np.sort(linear.reshape(len(linear), -1, self.width), axis=2).reshape(linear.shape)

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Return the share of the loss around the quantiles of y that is explained, averaged over levels."""
        predicted = self.predicted(linear).reshape(*target.shape, self.width)
        shares = [
            d2_pinball_score(target, predicted[..., k], sample_weight=weights, alpha=level)
            for k, level in enumerate(self.levels)
        ]
        return float(np.mean(shares))


def _size(residual: Tensor, blur: float) -> tuple[Tensor, Tensor]:
    """Return |residual| and its sign; within ±blur a parabola that is level at 0."""
    if not blur:
        return residual.abs(), residual.sign()
    near = residual.clamp(-blur, blur)
    return (near * (residual - near / 2)).div_(blur).add_(blur / 2), near.div_(blur)


def _capped(residual: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Huber loss, r² or beyond ±δ a straight line, and its derivative."""
    near = residual.clamp(-delta, delta)
    return (near * (2 * residual - near)).sum(-1), near.mul_(2)


@cache
def _row(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return one number for each output; made once, as a recorded pass may not fetch numbers from the host."""
    with torch.inference_mode(False):
        return torch.tensor(numbers, dtype=dtype, device=device)
