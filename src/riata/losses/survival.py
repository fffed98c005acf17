"""How survival times look to the network."""

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

__all__ = ["Ranks", "Survival", "learn_survival"]

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
    labels: NDArray[Any] | None  # of the strata, in the order of their codes; None: one stratum
    iters_factor: int = 1

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return 1 if self.labels is None else len(self.labels)

    def encode(self, y: Any) -> Floats:
        """Return entry, time, event, stratum and subject, (n, 5)."""
        target = check.survival(y).copy()
        if self.ties == "efron" and (target[:, SUBJECT] < 0).all():
            target[:, SUBJECT] = -1 - np.arange(
                len(target)
            )  # equal samples are ties: they are not one of twice the weight
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
        ranks = torch.from_numpy(_ranks(target).apply(target, np.float64))
        evaluate = self._loss(target).on(ranks, torch.from_numpy(weights)[None])
        return -evaluate(torch.zeros(1, len(target), 1, dtype=torch.float64))[1][0].numpy()

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return the scale of ranks, and the partial likelihood."""
        if not samples.fit[1][:, EVENT].any():
            raise ValueError("no sample to train on has an event: use more samples, or a smaller val_size")
        return _ranks(samples.target), self._loss(samples.target)

    def _loss(self, target: Floats) -> PartialLikelihood:
        entry, time, event = target[:, ENTRY], target[:, TIME], target[:, EVENT] > 0
        late = bool((entry >= time[event].min(initial=np.inf)).any())
        return PartialLikelihood(self.ties, entries=late, strata=self.n_strata > 1)


def _ranks(target: Floats) -> Ranks:
    return Ranks(np.zeros(1), np.ones(1), times=np.unique(target[:, TIME]))


def learn_survival(y: Floats, ties: str, labels: NDArray[Any] | None) -> tuple[Survival, Floats]:
    """Return how a checked target is encoded, and the encoded target."""
    learnt = Survival(ties, labels)
    return learnt, learnt.encode(y)
