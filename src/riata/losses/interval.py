"""The likelihood of times of which only an interval is known, in a model of their logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from riata.survival.distributions import DISTRIBUTIONS, Terms

__all__ = ["BETWEEN", "EXACT", "LEFT", "RIGHT", "IntervalLikelihood"]

EXACT, RIGHT, LEFT, BETWEEN = range(4)  # kinds of samples
_PRECISION = math.log(0.01)  # logarithm of the width of the interval that an exact time stands for


@dataclass(frozen=True)
class IntervalLikelihood:
    """Negative logarithm of the likelihood for y = f + σ × error, with outputs f and log σ.

    The loss of a sample is −log of

        p(z) / σ, z = (y − f) / σ       for an exact y, p being the density of the error
        P(error > z)                    for a y above a bound
        P(error < z)                    for a y below a bound
        P(z_lower < error < z_upper)    for a y between two bounds

    To it :meth:`evaluate` adds a constant for each exact sample, log 100, as if y were known to within a hundredth: the loss of
    good models then stays positive, and a tolerance may be a share of it. All is calculated in float64.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme_value"}
        Of the error.
    kinds : tuple of int
        The kinds of samples that there are: told, so that nothing has to be read from a device.
    """

    distribution: str = "normal"
    kinds: tuple[int, ...] = (EXACT, RIGHT, LEFT, BETWEEN)

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return losses and derivatives by f and log σ: (R, n, 2), (n, 3) -> (R, n), (R, n, 2).

        The target holds a lower bound, an upper one and the kind; of bounds that are not known nothing is used.
        """
        value, slopes = self.log_likelihood(output.double(), target.double())
        losses = -value - _PRECISION * (target[:, 2] == EXACT).to(value.dtype)
        return losses.to(output.dtype), slopes.neg_().to(output.dtype)

    def log_likelihood(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the likelihood of each sample, and its derivatives by f and log σ, in float64."""
        f, log_scale = output.unbind(-1)
        lower, upper, kind = target.unbind(-1)
        precision = torch.exp(-log_scale)
        low, high = (lower - f) * precision, (upper - f) * precision
        found = Terms(torch.zeros_like(low), torch.zeros_like(low), torch.zeros_like(low))
        for each in self.kinds:
            here = kind == each
            found = Terms(*(torch.where(here, a, b) for a, b in zip(self._terms(each, low, high), found, strict=True)))
        exact = (kind == EXACT).to(low.dtype)
        slopes = torch.stack([-found.shift * precision, -found.stretch - exact], -1)
        return found.value - exact * log_scale, slopes

    def _terms(self, kind: int, low: Tensor, high: Tensor) -> Terms:
        """Return the terms of all samples as if they were of one kind."""
        errors = DISTRIBUTIONS[self.distribution]
        if kind == BETWEEN:
            return errors.between(low, high)
        one_sided = {EXACT: (errors.density, low), RIGHT: (errors.above, low), LEFT: (errors.below, high)}
        function, z = one_sided[kind]
        value, slope = function(z)
        return Terms(value, slope, z * slope)
