"""The baseline hazard of a model of relative hazards, by Breslow's estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from riata.survival.risk_sets import RiskSets

__all__ = ["Baseline", "breslow"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Baseline:
    """Cumulative baseline hazards at the times of the training samples, one row for each stratum."""

    times: Floats  # (T,) increasing
    cumulative: Floats  # (strata, T)

    def cumulative_hazard(self, log_hazard: Floats, stratum: NDArray[np.int64]) -> Floats:
        """Return cumulative hazards of samples with these logarithms of relative hazards, (n, T)."""
        return np.exp(log_hazard)[:, None] * self.cumulative[stratum]


def breslow(ranks: Floats, times: Floats, weights: Floats, log_hazard: Floats, n_strata: int) -> Baseline:
    """Estimate the baseline of log hazards for training samples.

    At each time of an event the cumulative hazard rises by the weight of its events over the weighted sum of exp(log hazard) of
    the samples at risk.

    Parameters
    ----------
    ranks : array of shape (n, 4)
        Entry, time, event and stratum; entries and times as positions in ``times``, from 1 on.
    times : array of shape (T,)
        All of them, increasing.
    weights, log_hazard : array of shape (n,)
        Weights, and what the model predicts for the samples.
    n_strata : int
        Number of strata.
    """
    sets = RiskSets(torch.from_numpy(ranks), torch.from_numpy(weights)[None], entries=True, strata=n_strata > 1)
    highest = float(log_hazard.max())
    risk = sets.weights * (sets.sort(torch.from_numpy(log_hazard))[None] - highest).exp()
    total = torch.maximum(sets.at_risk(risk), risk).clamp_min(torch.finfo(torch.float64).tiny)
    increments = sets.unsort(sets.event * sets.weights / total)[0].numpy() * np.exp(-highest)
    hazard = np.zeros((n_strata, len(times)))
    np.add.at(hazard, (ranks[:, 3].astype(np.int64), ranks[:, 1].astype(np.int64) - 1), increments)
    return Baseline(times, hazard.cumsum(axis=1))
