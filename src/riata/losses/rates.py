"""Losses of a positive mean, exp(output): counts, amounts, durations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import d2_tweedie_score
from torch import Tensor

from riata import check
from riata.losses.loss import NumberLoss
from riata.preprocess import scaling
from riata.preprocess.scaling import Scaling

__all__ = ["LARGEST", "Gamma", "Poisson", "Tweedie"]

Floats = NDArray[np.float64]
_STEEPEST = 30.0  # exponents from which on exp goes on in a straight line, so that a step too long stays finite
LARGEST = 700.0  # linear predictors of float64 whose exp is a positive finite number lie within ±this


@dataclass(frozen=True, eq=False)
class Relative(Scaling):
    """A target in multiples of its mean, whose logarithm is the ``center`` of linear predictors."""

    unit: Floats

    def apply(self, X: NDArray[np.floating], dtype: type | np.dtype, *_: Any, **__: Any) -> Floats:
        """Divide by the mean."""
        return (X / self.unit).astype(dtype)


class Rate(NumberLoss):
    """Deviance of a positive mean μ = exp(output), for a variance in proportion to μ^power."""

    score_name = "D² of the deviance"
    power: float
    _zero = True  # whether the target may be zero

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the deviance 2 (max log-likelihood − log-likelihood), summed over outputs, and its derivative."""
        loss, slope = self._deviance(output, target)
        return loss.mul_(2).sum(-1), slope.mul_(2)

    def _deviance(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return half the deviance of every output, and its derivative."""
        raise NotImplementedError

    def check(self, target: Floats) -> None:
        """Refuse targets that no positive mean goes with."""
        lowest = float(target.min())
        if lowest < 0 or (lowest == 0 and not self._zero):
            wanted = "numbers that are not negative" if self._zero else "positive numbers"
            raise ValueError(f"{self} is a loss for {wanted}; y holds {lowest:g}: correct y, or take another loss")

    def scaled(self, target: Floats, weights: Floats, standardize: bool) -> Scaling:
        """Divide the target by its mean: this multiplies deviances by a constant."""
        mean = np.average(target, axis=0, weights=weights)
        if (mean == 0).any():
            raise ValueError(f"{self} has nothing to learn from: y is 0 in every row to train on")
        return Relative(np.log(mean), np.ones(len(mean)), mean) if standardize else scaling.identity(len(mean))

    def predicted(self, linear: Floats) -> Floats:
        """Return exp(linear)."""
        return np.exp(np.clip(linear, -LARGEST, LARGEST))

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Return the share of the deviance around the mean that is explained, averaged over columns."""
        columns = zip(target.T, self.predicted(linear).T, strict=True)
        return float(np.mean([d2_tweedie_score(*c, sample_weight=weights, power=self.power) for c in columns]))


@dataclass(frozen=True)
class Poisson(Rate):
    """Poisson deviance, for the mean of counts, or of other numbers that are not negative: exp(output).

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetRegressor, losses
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> count = rng.poisson(np.exp(X[:, 0]))
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=losses.Poisson(), random_state=0).fit(X, count)
    >>> bool(model.predict(X).min() > 0) and model.score(X, count) > 0.2
    True
    """

    power = 1.0

    def _deviance(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        mean, slope = _exp(output)
        return (torch.xlogy(target, target) - target * (output + 1)).add_(mean), slope.sub_(target)


@dataclass(frozen=True)
class Gamma(Rate):
    """Gamma deviance, for the mean of positive numbers whose spread grows with their mean: exp(output).

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetRegressor, losses
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> duration = rng.gamma(2, np.exp(X[:, 0]))
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=losses.Gamma(), random_state=0).fit(X, duration)
    >>> bool(model.predict(X).min() > 0) and model.score(X, duration) > 0.2
    True
    """

    power = 2.0
    _zero = False

    def _deviance(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        ratio, slope = _exp(-output)
        return (output - target.log() - 1).addcmul_(target, ratio), 1 - target * slope


@dataclass(frozen=True)
class Tweedie(Rate):
    """Tweedie deviance, for the mean of amounts that are often exactly zero, such as claims or rainfall: exp(output).

    Parameters
    ----------
    power : float, default=1.5
        Between 1, the Poisson deviance, and 2, the gamma deviance: the variance is taken to be in proportion to the mean to
        this power.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetRegressor, losses
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> amount = rng.poisson(np.exp(X[:, 0])) * rng.gamma(2, size=300)
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=losses.Tweedie(power=1.3), random_state=0).fit(X, amount)
    >>> bool(model.predict(X).min() > 0) and model.score(X, amount) > 0.2
    True
    """

    power: float = 1.5

    def __post_init__(self) -> None:
        power = check.number("power of Tweedie", self.power, 1.0, 2.0)
        if power in (1, 2):
            raise ValueError(f"power of Tweedie must lie between 1 and 2; for {power:g} take Poisson() or Gamma()")

    def _deviance(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        below, above = self.power - 1, 2 - self.power
        falling, fall = _exp(-below * output)  # μ^(1 − power)
        rising, rise = _exp(above * output)  # μ^(2 − power)
        best = target.pow(above) / (below * above)
        return (rising / above - best).addcmul_(target, falling, value=1 / below), rise.sub_(target * fall)


def _exp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return exp(x) and its derivative, with a straight line from where it grows steepest."""
    slope = x.clamp(max=_STEEPEST).exp()
    return slope * (1 + (x - _STEEPEST).clamp(min=0)), slope
