"""How survival times are encoded for the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from riata import check
from riata.losses.cox import PartialLikelihood
from riata.losses.loss import Loss
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling

__all__ = ["Ranks", "Survival", "informative", "learn_survival"]

Floats = NDArray[np.float64]
ENTRY, TIME, EVENT, STRATUM, SUBJECT = range(5)


@dataclass(frozen=True, eq=False)
class Ranks(Scaling):
    """Times as positions among all times of the samples, from 1 on: a partial likelihood depends on their order only.

    An entry is the last time up to it, or 0.
    """

    times: Floats

    def apply(self, X: NDArray[np.floating], dtype: type | np.dtype, *_: Any, **__: Any) -> NDArray[Any]:
        """Return entry, time, event and stratum, (n, 4)."""
        ranks = np.searchsorted(self.times, X[:, [ENTRY, TIME]], side="right")
        return np.hstack([ranks, X[:, [EVENT, STRATUM]]]).astype(dtype)


@dataclass(frozen=True, eq=False)
class Survival:
    """Times of events, of which some are censored."""

    n_constants: ClassVar[int] = 0
    ties: str
    iters_factor: int = 4  # the noise of times is large: with fewer iterations many features leave at once

    def encode(self, y: Any) -> Floats:
        """Return entry, time, event, stratum and subject, (n, 5)."""
        target = check.survival(y).copy()
        if self.ties == "efron" and (target[:, SUBJECT] < 0).all():
            # Equal samples are ties: they are not one of twice the weight, and stay apart.
            target[:, SUBJECT] = -1 - np.arange(len(target))
        return target

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Return the weights."""
        return weights

    def strata(self, target: Floats) -> NDArray[np.int64] | None:
        """Return events, to be kept in proportion where there are enough."""
        event: NDArray[np.int64] = target[:, EVENT].astype(np.int64)
        return event if min(event.sum(), len(event) - event.sum()) > 1 else None

    def subjects(self, target: Floats) -> NDArray[np.int64] | None:
        """Return the subjects, if they are known."""
        subjects = target[:, SUBJECT].astype(np.int64)
        return subjects if (subjects >= 0).any() else None

    def screened(self, target: Floats, weights: Floats) -> Floats:
        """Return martingale residuals of the model without features: events less expected events."""
        return -self._evaluated(target, weights, np.zeros((1, len(target))))[1][0].numpy()

    def losses(self, target: Floats, weights: Floats, log_hazards: Floats) -> Floats:
        """Return the loss of every sample for each of b models, (b, n); the samples are each other's risk sets."""
        losses: Floats = self._evaluated(target, weights, log_hazards)[0].numpy()
        return losses

    def _evaluated(self, target: Floats, weights: Floats, log_hazards: Floats) -> tuple[torch.Tensor, torch.Tensor]:
        ranks = torch.from_numpy(_ranks(target).apply(target, np.float64))
        shared = torch.from_numpy(weights).expand(len(log_hazards), -1)
        return self._loss(target).on(ranks, shared)(torch.from_numpy(log_hazards)[..., None])

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return the numbers that go with the number of events."""
        return informative(int(target[:, EVENT].sum()))

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return the scale of ranks, and the partial likelihood."""
        if not samples.fit[1][:, EVENT].any():
            raise ValueError("no sample to train on has an event: use more samples, or a smaller val_size")
        return _ranks(samples.target), self._loss(samples.target)

    def _loss(self, target: Floats) -> PartialLikelihood:
        entry, time, event = target[:, ENTRY], target[:, TIME], target[:, EVENT] > 0
        late = bool((entry >= time[event].min(initial=np.inf)).any())
        return PartialLikelihood(self.ties, entries=late, strata=bool(np.ptp(target[:, STRATUM])))


def _ranks(target: Floats) -> Ranks:
    return Ranks(np.zeros(1), np.ones(1), times=np.unique(target[:, TIME]))


def informative(n_events: int) -> tuple[int, int]:
    """Return how many samples events count as: where all columns are expanded, and where one with a clear effect is.

    What is censored says little, and an event less than a number: the logarithm of a time has the noise of an exponential
    variable, so that features explain little of it, and pieces fit the noise.
    """
    return n_events // 16, n_events // 3


def learn_survival(y: Any, ties: str) -> tuple[Survival, Floats]:
    """Return how a target is encoded, and the encoded target."""
    learnt = Survival(ties)
    return learnt, learnt.encode(y)
