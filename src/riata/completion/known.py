"""Tables with gaps on their way to the networks and back: what is held out, how the rest is scaled, what may be filled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata import completion, threads
from riata.completion import FilledPoint, Gaps
from riata.network.stacked import Network
from riata.preprocess import scaling

_FEW = 5  # known entries of a column that are not held out to validate on, however few they are
_ROWS = 4096  # rows that are filled at a time

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Known:
    """What the known entries of a table say about its columns."""

    scaling: scaling.Scaling
    range: tuple[Floats, Floats]  # lowest and highest value of each column
    limits: tuple[Tensor, Tensor]  # the same as the networks see them

    def fill(self, network: Network, point: FilledPoint, table: NDArray[np.floating], known: Mask) -> Floats:
        """Return what the network of a point says of every entry of a table, on the table's scale."""
        starts = range(0, len(table), _ROWS)
        blocks = [self._fill(network, point, table[i : i + _ROWS], known[i : i + _ROWS]) for i in starts]
        return np.clip(np.concatenate(blocks), *self.range)

    def within(self, filled: NDArray[np.floating]) -> NDArray[np.floating]:
        """Keep values of any precision between the lowest and the highest of their column, to the last bit."""
        return np.clip(filled, *(limit.astype(filled.dtype) for limit in self.range))

    def _fill(self, network: Network, point: FilledPoint, table: NDArray[np.floating], known: Mask) -> Floats:
        center, scale = self.scaling.center, self.scaling.scale
        values = torch.from_numpy(self.scaling.apply(np.where(known, table, center), np.float64))
        gaps = Gaps(values, torch.from_numpy(np.ascontiguousarray(known)), values)
        with threads.worth(len(values), len(center), network):
            return completion.complete(network, point, gaps, self.limits).numpy() * scale + center


def learn(
    table: NDArray[np.floating], learnt: Mask, held_out: Floats, dtype: str, device: torch.device
) -> tuple[Known, Gaps]:
    """Scale a table by the entries to learn from, and move it to the device."""
    scaled = scaling.learn(np.where(learnt, table, np.nan), np.ones(len(table)), floor=scaling.FLOOR)

    def tensor(array: Floats) -> Tensor:
        return torch.from_numpy(scaled.apply(array, np.dtype(dtype))).to(device)

    values = np.where(learnt, table, scaled.center).astype(np.float64)
    judged = np.where(scaled.scale > 0, held_out, np.nan)  # what never varies where it is learnt from cannot be learnt
    gaps = Gaps(tensor(values), torch.from_numpy(learnt).to(device), tensor(judged))
    low, high = gaps.limits
    return Known(scaled, (values.min(axis=0), values.max(axis=0)), (low.cpu().double(), high.cpu().double())), gaps


def hold_out(table: NDArray[np.floating], known: Mask, share: float, seed: int) -> Floats:
    """Return the values of a random share of the known entries, NaN elsewhere; some of each column are left."""
    chance = np.where(known, np.random.default_rng(seed).random(table.shape), 1.0)
    order = chance.argsort(axis=0).argsort(axis=0)
    there = (chance < share) & (order < known.sum(axis=0) - _FEW)
    return np.where(there, table, np.nan).astype(np.float64)
