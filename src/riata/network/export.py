"""A fitted model as a torch module, to fine-tune, to explain, to export."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from riata.network.stacked import Architecture, SparseWeights, linear
from riata.preprocess.prepare import Preprocessing
from riata.preprocess.scaling import Scaling


class FittedModule(nn.Module):
    """Maps samples, with all columns of X, to the outputs of the network, (n, n_outputs).

    Attributes
    ----------
    skip : Linear
        The linear part, from scaled columns (and pieces of expanded ones) to outputs; 0 for columns that are not in the model.
    network : Module
        g: the user-supplied module, or linear layers and ReLU. Its first layer is 0 for columns that are not in the model.
    """

    source: Tensor
    low: Tensor
    width: Tensor
    floor: Tensor
    ceiling: Tensor
    center: Tensor
    scale: Tensor
    median: Tensor
    unit: Tensor
    marks: Tensor
    target_center: Tensor
    target_scale: Tensor

    def __init__(
        self,
        weights: SparseWeights,
        network: Architecture,
        preprocessing: Preprocessing,
        target_scaling: Scaling,
    ):
        super().__init__()
        expansion, scaling = preprocessing.expansion, preprocessing.scaling
        buffers = {
            "source": expansion.source,
            "low": expansion.low,
            "width": expansion.width,
            "floor": expansion.floor,
            "ceiling": expansion.ceiling,
            "median": expansion.median[expansion.source],
            "unit": expansion.unit[expansion.source],
            "marks": expansion.marks,
            "center": scaling.center,
            "scale": np.where(scaling.scale > 0, scaling.scale, np.inf),
            "target_center": target_scaling.center,
            "target_scale": target_scaling.scale,
        }
        for name, values in buffers.items():
            self.register_buffer(name, torch.tensor(values))
        self._trivial, self._limit = expansion.trivial, scaling.limit
        skip, first = (_wide(part, weights.columns, expansion.n_columns) for part in (weights.skip, weights.first))
        self.skip = linear(skip)
        self.network = network.module(first, torch.from_numpy(weights.upper.astype(np.float64)))

    def forward(self, X: Tensor) -> Tensor:
        """Expand and scale columns, apply both parts, and return to the scale of the target."""
        Z = X.to(self.center.dtype)[:, self.source]
        missing = Z.isnan()
        if not self._trivial:
            Z = torch.where(self.unit.isfinite(), torch.arcsinh(Z / self.unit - self.median / self.unit), Z)
            Z = ((Z - self.low) / self.width).clamp(self.floor, self.ceiling)
        Z = torch.where(self.marks, missing.to(Z.dtype), Z)
        Z = ((Z - self.center) / self.scale).clamp(-self._limit, self._limit)
        Z = torch.where(missing & ~self.marks, 0.0, Z)
        output: Tensor = (self.skip(Z) + self.network(Z)) * self.target_scale + self.target_center
        return output


def _wide(part: NDArray[np.floating], columns: NDArray[np.int64], n_columns: int) -> Tensor:
    wide = np.zeros((n_columns, part.shape[1]))
    wide[columns] = part
    return torch.from_numpy(wide)
