"""Tables with gaps on their way to the networks and back: held-out entries, scaling, and limits of what is filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata import threads
from riata.completion.hiding import Gaps
from riata.completion.points import FilledPoint, complete
from riata.network.stacked import Network
from riata.preprocess import scaling

__all__ = ["ColumnStatistics", "hold_out", "prepare"]

_BLOCK = 4096  # samples that are filled at a time

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """What was learnt of the columns of a table from their observed entries."""

    scaling: scaling.Scaling
    range: tuple[Floats, Floats]  # lowest and highest value of each column
    limits: tuple[Tensor, Tensor]  # the same after scaling

    def fill(self, network: Network, point: FilledPoint, table: NDArray[np.floating], observed: Mask) -> Floats:
        """Return the prediction of a point's network for every entry of a table, on the table's scale."""
        starts = range(0, len(table), _BLOCK)
        blocks = [self._fill(network, point, table[i : i + _BLOCK], observed[i : i + _BLOCK]) for i in starts]
        return np.clip(np.concatenate(blocks), *self.range)

    def within(self, filled: NDArray[np.floating]) -> NDArray[np.floating]:
        """Clip values of any precision to the range of their column, rounded to this precision."""
        return np.clip(filled, *(limit.astype(filled.dtype) for limit in self.range))

    def _fill(self, network: Network, point: FilledPoint, table: NDArray[np.floating], observed: Mask) -> Floats:
        center, scale = self.scaling.center, self.scaling.scale
        values = torch.from_numpy(self.scaling.apply(np.where(observed, table, center), np.float64))
        gaps = Gaps(values, torch.from_numpy(np.ascontiguousarray(observed)), values)
        with threads.worth(len(values), len(center), network):
            return complete(network, point, gaps, self.limits).numpy() * scale + center


def prepare(
    table: NDArray[np.floating], observed: Mask, held_out: Floats, dtype: str, device: torch.device
) -> tuple[ColumnStatistics, Gaps]:
    """Scale a table by the entries to learn from, and move it to the device."""
    scaled = scaling.learn(np.where(observed, table, np.nan), np.ones(len(table)), floor=scaling.FLOOR)

    def tensor(array: Floats) -> Tensor:
        return torch.from_numpy(scaled.apply(array, np.dtype(dtype))).to(device)

    values = np.where(observed, table, scaled.center).astype(np.float64)
    validation = np.where(scaled.scale > 0, held_out, np.nan)  # a column that is constant in training cannot be learnt
    gaps = Gaps(tensor(values), torch.from_numpy(observed).to(device), tensor(validation))
    low, high = gaps.limits
    limits = low.cpu().double(), high.cpu().double()
    return ColumnStatistics(scaled, (values.min(axis=0), values.max(axis=0)), limits), gaps


def hold_out(table: NDArray[np.floating], observed: Mask, share: float, seed: int) -> Floats:
    """Return the values of a random share of the observed entries, NaN elsewhere; at least five of each column are left."""
    uniform = np.where(observed, np.random.default_rng(seed).random(table.shape), 1.0)
    order = uniform.argsort(axis=0).argsort(axis=0)
    held_out = (uniform < share) & (order < observed.sum(axis=0) - 5)
    return np.where(held_out, table, np.nan).astype(np.float64)


def given_validation(known: Mask, values: NDArray[np.floating], there: Mask) -> Floats:
    """Return the entries that a user gave to validate on, NaN elsewhere; of every column some must be left to learn from."""
    if values.shape != known.shape:
        raise ValueError(f"X_val must have the shape of X, {known.shape}; got {values.shape}")
    lost = np.flatnonzero(~(known & ~there).any(axis=0) & there.any(axis=0))
    if len(lost):
        raise ValueError(f"X_val holds all that is known of column {lost[0]}: leave some of it in X to learn from")
    return np.where(there, values, np.nan).astype(np.float64)
