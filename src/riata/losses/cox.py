"""The partial likelihood of Cox's model of hazards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from riata.losses.loss import JointLoss
from riata.survival.risk_sets import RiskSets

__all__ = ["PartialLikelihood"]


@dataclass(frozen=True)
class PartialLikelihood(JointLoss):
    """Negative logarithm of the partial likelihood, for the logarithm f of a hazard relative to a baseline of any shape.

    With Breslow's treatment of ties, and weights w, the weighted sum of the losses is

        Σ_events w_i (1 + log(Σ_{at risk} w_j exp(f_j) / Σ_{at risk} w_j) − f_i)

    which is 1 for each event where f is constant. The loss of sample i is

        H(i) exp(f_i) + event_i (log(Σ_{at risk} w_j exp(f_j) / Σ_{at risk} w_j) − f_i)

    with H(i) the cumulative baseline hazard (Breslow's estimate) over the time that the sample is under observation. Its
    derivative by f_i at fixed H is minus the martingale residual, and these times w are the gradient of the sum.

    With Efron's treatment, the samples of an event's time that have an event themselves count in its risk set with weights
    that fall from one tied event to the next. Mini-batches have the risk sets of their own samples.

    Parameters
    ----------
    ties : {"breslow", "efron"}
        How events at the same time count.
    entries, strata : bool
        Whether the target has late entries, and several strata.
    """

    ties: str = "breslow"
    entries: bool = False
    strata: bool = False

    def on(self, target: Tensor, weights: Tensor) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Sort the samples; return the losses and slopes as a function of the outputs, (R, n, 1)."""
        sets = RiskSets(target, weights, entries=self.entries, strata=self.strata)
        terms = _Efron(sets) if self.ties == "efron" else _Breslow(sets)
        unweighted = sets.weights == 0
        null, _ = terms(torch.zeros_like(sets.weights))
        # A sample's share of a risk sum is at most 1. Rounding would exceed that where sums are lost beside much larger ones.
        most = (sets.observed(sets.event * sets.weights) / sets.weights).masked_fill(unweighted, 0.0)

        def evaluate(output: Tensor) -> tuple[Tensor, Tensor]:
            f = sets.sort(output[..., 0])
            if f.shape[-1]:
                f = (f - f.masked_fill(unweighted, -torch.inf).amax(-1, keepdim=True)).clamp(max=0)
            level, expected = terms(f)
            expected = torch.minimum(expected, most)
            slopes = sets.unsort(expected - sets.event)
            losses = sets.unsort(expected + sets.event * (level - null - f))
            return losses.to(output.dtype), slopes.unsqueeze(-1).to(output.dtype)

        return evaluate


class _Breslow:
    """Tied events have the same risk set."""

    def __init__(self, sets: RiskSets):
        self._sets = sets

    def __call__(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of each event's risk sum, and the expected number of events of each sample."""
        sets, hazard = self._sets, f.exp()
        risk = sets.weights * hazard
        total = _positive(torch.maximum(sets.at_risk(risk), risk))
        return total.log(), hazard * sets.observed(sets.event * sets.weights / total)


class _Efron:
    """From the risk set of the l-th of d tied events, l / d of the tied events' own risk is taken off."""

    def __init__(self, sets: RiskSets):
        self._sets = sets
        n_tied = sets.tied(sets.event).clamp_min(1)
        self._n_tied = n_tied
        self._off = sets.event * (sets.up_to(sets.event) - 1).clamp_min(0) / n_tied
        self._weight = sets.tied(sets.event * sets.weights) / n_tied  # tied events count equally

    def __call__(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean logarithm of the risk sums of an event's time, and the expected number of events."""
        sets, event, hazard = self._sets, self._sets.event, f.exp()
        risk = sets.weights * hazard
        own = sets.tied(event * risk)
        total = _positive(torch.maximum(sets.at_risk(risk), own) - self._off * own)
        level = sets.tied(event * total.log()) / self._n_tied
        increments = event * self._weight / total
        return level, hazard * (sets.observed(increments) - event * sets.tied(increments * self._off))


def _positive(total: Tensor) -> Tensor:
    """Keep sums that rounding or underflow made zero apart from zero, so far that sums of their inverses are finite."""
    return total.clamp_min(1e-290)
