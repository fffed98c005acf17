"""Distributions of errors: logarithms of densities and probabilities with their derivatives, accurate far into the tails.

Arguments are float64 tensors of any shape. Samples that are censored in another way may hold anything in the same place.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

__all__ = ["DISTRIBUTIONS", "Distribution", "ExtremeValue", "Logistic", "Normal", "Terms"]

_STEEPEST = 30.0  # exponents from which on exp goes on in a straight line, so that a step too long stays finite
_VANISHED = 700.0  # x from which on x / (exp(x) − 1) is 0 to rounding
_NARROW = (
    1e-3  # width of an interval, relative to the length over which the density changes, for which a series is exact
)
_ROOT_HALF, _LOG_ROOT_2PI = math.sqrt(0.5), 0.5 * math.log(2 * math.pi)


class Terms(NamedTuple):
    """Logarithm of the probability of an interval, and its derivatives."""

    value: Tensor
    shift: Tensor  # by both bounds, moved together
    stretch: Tensor  # by the logarithm of a factor on both bounds


class Distribution:
    """The distribution of an error."""

    median: ClassVar[float] = 0.0

    def density(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density, and its derivative."""
        raise NotImplementedError

    def above(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the probability of a larger error, and its derivative."""
        raise NotImplementedError

    def below(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the probability of a smaller error, and its derivative."""
        raise NotImplementedError

    def between(self, low: Tensor, high: Tensor) -> Terms:
        """Return the logarithm of the probability of an error between two bounds."""
        raise NotImplementedError


class Normal(Distribution):
    """Standard normal."""

    def density(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density, and its derivative."""
        return -0.5 * z.square() - _LOG_ROOT_2PI, -z

    def above(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return log Φ(−z), and its derivative."""
        return torch.special.log_ndtr(-z), -_mills(-z)

    def below(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return log Φ(z), and its derivative."""
        return torch.special.log_ndtr(z), _mills(z)

    def between(self, low: Tensor, high: Tensor) -> Terms:
        """Return log (Φ(high) − Φ(low)), in the left tail, where differences are exact: mirrored if the middle is positive."""
        mirrored = low + high > 0
        sign = 1 - 2 * mirrored.to(low.dtype)  # scalars in torch.where would be copied from the host
        low, high = torch.where(mirrored, -high, low), torch.where(mirrored, -low, high)
        width, middle = high - low, (low + high) / 2
        narrow, wide = _narrow(width, middle), _wide(low, high, width, middle)
        is_narrow = width * middle.abs().clamp(min=1) < _NARROW
        value, shift, stretch = (torch.where(is_narrow, a, b) for a, b in zip(narrow, wide, strict=True))
        return Terms(value, sign * shift, stretch)


class Logistic(Distribution):
    """Standard logistic, with P(error ≤ z) = 1 / (1 + exp(−z))."""

    def density(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density, and its derivative."""
        return logsigmoid(z) + logsigmoid(-z), -torch.tanh(z / 2)

    def above(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the probability of a larger error, and its derivative."""
        return logsigmoid(-z), -torch.sigmoid(z)

    def below(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the probability of a smaller error, and its derivative."""
        return logsigmoid(z), torch.sigmoid(-z)

    def between(self, low: Tensor, high: Tensor) -> Terms:
        """Use F(high) − F(low) = F(high) (1 − F(low)) (1 − exp(low − high))."""
        width = high - low
        value = logsigmoid(high) + logsigmoid(-low) + _log_1m_exp(width)
        over, under = torch.sigmoid(low), torch.sigmoid(-high)
        return Terms(value, under - over, high * under - low * over + _ratio(width))


class ExtremeValue(Distribution):
    """The smallest of many: P(error > z) = exp(−exp(z)). The exponential of the error is exponential."""

    median = math.log(math.log(2))

    def density(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the density, and its derivative."""
        hazard, slope = _exp(z)
        return z - hazard, 1 - slope

    def above(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return −exp(z), and its derivative."""
        hazard, slope = _exp(z)
        return -hazard, -slope

    def below(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return log (1 − exp(−exp(z))), and its derivative."""
        return _log_1m_exp_exp(z), _ratio(z.exp())

    def between(self, low: Tensor, high: Tensor) -> Terms:
        """Use exp(−A) − exp(−B) = exp(−A) (1 − exp(−D)), with A = exp(low), B = exp(high) and D = B − A."""
        width = high - low
        hazard, slope = _exp(low)
        log_rise = high + _log_1m_exp(width)
        ratio = _ratio(log_rise.exp())
        stretch = ratio * (high + _ratio(width)) - low * slope
        return Terms(_log_1m_exp_exp(log_rise) - hazard, ratio - slope, stretch)


DISTRIBUTIONS: dict[str, Distribution] = {"normal": Normal(), "logistic": Logistic(), "extreme_value": ExtremeValue()}


def _mills(z: Tensor) -> Tensor:
    """Return φ(z) / Φ(z)."""
    scaled: Tensor = torch.special.erfcx(-_ROOT_HALF * z)
    return math.sqrt(2 / math.pi) / scaled


def _narrow(width: Tensor, middle: Tensor) -> Terms:
    """Return log (Φ(high) − Φ(low)) by a series: width × φ(middle) × (1 + (middle² − 1) width² / 24)."""
    square, correction = middle.square(), width.square() / 24
    value = width.log() - 0.5 * square - _LOG_ROOT_2PI + (square - 1) * correction
    return Terms(value, middle * (2 * correction - 1), 1 - square + (4 * square - 2) * correction)


def _wide(low: Tensor, high: Tensor, width: Tensor, middle: Tensor) -> Terms:
    """Return log (Φ(high) − Φ(low)) = log Φ(high) + log (1 − Φ(low) / Φ(high)), with the middle not above 0."""
    tilt = middle * width  # log φ(low) − log φ(high)
    scaled_low, scaled_high = (torch.special.erfcx(-_ROOT_HALF * z) for z in (low, high))
    inside = -torch.expm1(tilt + (scaled_low / scaled_high).log())
    at_high = _mills(high) / inside
    shift = -at_high * torch.expm1(tilt)
    return Terms(torch.special.log_ndtr(high) + inside.log(), shift, high * shift + width * at_high * tilt.exp())


def _exp(z: Tensor) -> tuple[Tensor, Tensor]:
    """Return exp(z) and its derivative, with a straight line from where it grows steepest."""
    slope = z.clamp(max=_STEEPEST).exp()
    return slope * (1 + (z - _STEEPEST).clamp(min=0)), slope


def _log_1m_exp(x: Tensor) -> Tensor:
    """Return log (1 − exp(−x)) for x > 0."""
    return (-torch.expm1(-x)).log()


def _log_1m_exp_exp(z: Tensor) -> Tensor:
    """Return log (1 − exp(−exp(z))), which is z where exp(z) is small."""
    x = z.exp()
    return torch.where(z < -_STEEPEST, z - x / 2, _log_1m_exp(x))


def _ratio(x: Tensor) -> Tensor:
    """Return x / (exp(x) − 1) for x ≥ 0: 1 at 0."""
    x = x.clamp(max=_VANISHED)
    return (x * torch.exp(-x) / -torch.expm1(-x)).masked_fill(x <= 0, 1.0)
