"""Risk sets: which samples are under observation when an event takes place, and sums over them in linear time.

Samples are sorted once by stratum and, within it, by falling time. The sum over a risk set is a running sum from the start of
the stratum to the last sample of the time, less the samples that enter later. Sums are in float64 and never run across strata.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["RiskSets"]


class RiskSets:
    """The risk sets of n samples, for R weights of each at once.

    Values are given and returned in the sorted order, (R, n).

    Parameters
    ----------
    target : Tensor of shape (n, 4)
        Entry, time, event (0 or 1) and stratum (0, 1, …). Entries and times are ranks on one scale: whole numbers from 1
        on, and 0 for an entry before all times.
    weights : Tensor of shape (R, n)
        Weights of the samples; an event of weight 0 is none.
    entries, strata : bool
        Whether some samples enter late, and whether there are several strata: told by the caller, so that nothing has to be
        read from a device.

    Attributes
    ----------
    weights, event : Tensor of shape (R, n)
        Sorted.
    """

    def __init__(self, target: Tensor, weights: Tensor, *, entries: bool, strata: bool):
        target = target.to(torch.float64)
        unit = 2 + (target[:, :2].max() if len(target) else target.new_tensor(0.0))  # a stratum is as wide as all times
        entry, time, event, stratum = target.unbind(-1)
        key = stratum * unit - time
        self._order = torch.argsort(key, stable=True)
        key, entry, stratum = key[self._order], entry[self._order], stratum[self._order]
        position = torch.arange(len(key), device=key.device)
        self._first = torch.searchsorted(key, key)  # of the samples of the same stratum and time
        self._last = torch.searchsorted(key, key, right=True) - 1
        self._start, self._stop = torch.zeros_like(position), torch.full_like(position, len(key))  # of the stratum
        if strata:
            self._start = torch.searchsorted(key, (stratum - 1) * unit, right=True)
            self._stop = torch.searchsorted(key, stratum * unit, right=True)
        self._runs = _Runs(self._start) if strata else None
        self._reversed_runs = _Runs(len(key) - self._stop.flip(-1)) if strata else None
        self._tied_runs: _Runs | None = None
        self._entries = entries
        if entries:
            by_entry = stratum * unit - entry
            self._entry_order = torch.argsort(by_entry, stable=True)
            n_later = torch.searchsorted(by_entry[self._entry_order], key, right=True)
            self._last_later = torch.where(n_later > self._start, n_later - 1, len(key))  # of those that enter later
            entered = torch.searchsorted(key, by_entry)
            self._entered = torch.where(entered < self._stop, entered, len(key))  # the latest time up to the entry
        self.weights = weights.to(torch.float64)[:, self._order]
        self.event = event[self._order] * (self.weights > 0)

    def sort(self, values: Tensor) -> Tensor:
        """Put values in the sorted order, as float64."""
        return values.to(torch.float64)[..., self._order]

    def unsort(self, values: Tensor) -> Tensor:
        """Put values back in the order of the samples."""
        return torch.empty_like(values).index_copy_(-1, self._order, values)

    def at_risk(self, values: Tensor) -> Tensor:
        """Sum values over the samples at risk at the time of each sample: entry < time ≤ end, in its stratum."""
        total = _running(values, self._runs)[..., self._last]
        if not self._entries:
            return total
        later = _padded(_running(values[..., self._entry_order], self._runs))
        return total - later[..., self._last_later]

    def observed(self, increments: Tensor) -> Tensor:
        """Sum increments, each at the time of its sample, over the times at which each sample is under observation."""
        total = _padded(_running(increments.flip(-1), self._reversed_runs).flip(-1))
        found = total[..., self._first]
        return found - total[..., self._entered] if self._entries else found

    def tied(self, values: Tensor) -> Tensor:
        """Sum values over the samples of the same stratum and time."""
        return self.up_to(values)[..., self._last]

    def up_to(self, values: Tensor) -> Tensor:
        """Sum values over the samples of the same stratum and time, up to each."""
        if self._tied_runs is None:
            self._tied_runs = _Runs(self._first)
        return self._tied_runs.sum(values)


class _Runs:
    """Running sums that start anew at the first position of every run; log₂ n passes, so that no sum mixes two runs."""

    def __init__(self, start: Tensor):
        n = len(start)
        position = torch.arange(n, device=start.device)
        self._steps = [2**k for k in range(max(n - 1, 0).bit_length())]
        self._inside = [(position - step >= start)[step:] for step in self._steps]

    def sum(self, values: Tensor) -> Tensor:
        """Return the sums from the start of its run to each position."""
        for step, inside in zip(self._steps, self._inside, strict=True):
            before = torch.where(inside, values[..., :-step], 0.0)
            values = torch.cat([values[..., :step], values[..., step:] + before], -1)
        return values


def _running(values: Tensor, runs: _Runs | None) -> Tensor:
    return values.cumsum(-1) if runs is None else runs.sum(values)


def _padded(values: Tensor) -> Tensor:
    """Append a zero, for positions that mean nothing."""
    return torch.cat([values, values.new_zeros(*values.shape[:-1], 1)], -1)
