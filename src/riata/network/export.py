"""A fitted model as a torch module, to fine-tune, to explain, to export."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from riata.losses.rates import LARGEST
from riata.network.head import Block, Head
from riata.network.stacked import Architecture, SparseWeights, linear
from riata.network.tables import CodeTable
from riata.preprocess.expansion import FARTHEST
from riata.preprocess.prepare import Preprocessing
from riata.preprocess.scaling import Scaling

__all__ = ["FittedModule", "PredictionModule"]


class FittedModule(nn.Module):
    """Maps samples, with all columns of X, to the outputs of the network, (n, n_outputs).

    Columns of categories hold their levels, which are numbers.

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
    level: Tensor
    share: Tensor
    target_center: Tensor
    target_scale: Tensor

    def __init__(
        self,
        weights: SparseWeights,
        network: Architecture,
        preprocessing: Preprocessing,
        target_scaling: Scaling,
        tables: Sequence[CodeTable] = (),
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
            "level": expansion.level,
            "share": expansion.share,
            "center": scaling.center,
            "scale": np.where(scaling.scale > 0, scaling.scale, np.inf),
            "target_center": target_scaling.center,
            "target_scale": target_scaling.scale,
        }
        for name, values in buffers.items():
            self.register_buffer(name, torch.tensor(values))
        self.encoders = nn.ModuleList(_Encoder(table, expansion.n_features) for table in tables)
        self._trivial, self._limit = expansion.trivial, scaling.limit
        skip, first = (_wide(part, weights.columns, expansion.n_columns) for part in (weights.skip, weights.first))
        self.skip = linear(skip)
        self.network = network.module(first, torch.from_numpy(weights.upper.astype(np.float64)))

    def forward(self, X: Tensor) -> Tensor:
        """Expand and scale columns, apply both parts, and return to the scale of the target."""
        X = X.to(self.center.dtype)
        for encode in self.encoders:
            X = encode(X)
        Z = X[:, self.source]
        missing = Z.isnan()
        marks = ~self.level.isnan()
        if not self._trivial:
            farthest = min(FARTHEST, torch.finfo(Z.dtype).max)
            far = (Z / self.unit - self.median / self.unit).clamp(-farthest, farthest)
            Z = torch.where(self.unit.isfinite(), torch.arcsinh(far), Z)
            Z = torch.where(marks, self._marked(Z, missing), Z)
            Z = ((Z - self.low) / self.width).clamp(self.floor, self.ceiling)
        Z = ((Z - self.center) / self.scale).clamp(-self._limit, self._limit)
        Z = torch.where(missing & ~marks, 0.0, Z)
        output: Tensor = (self.skip(Z) + self.network(Z)) * self.target_scale + self.target_center
        return output

    def _marked(self, codes: Tensor, missing: Tensor) -> Tensor:
        """Return 1 for the level that a column marks, 0 for others, and its share where the level is not known."""
        known = torch.where(codes < 0, self.share, (codes == self.level).to(codes.dtype))
        return torch.where(self.level.isinf(), missing.to(codes.dtype), known)


class _Encoder(nn.Module):
    """Puts codes in the place of the levels of one column."""

    here: Tensor
    levels: Tensor
    codes: Tensor

    def __init__(self, table: CodeTable, n_features: int):
        super().__init__()
        self.register_buffer("here", torch.arange(n_features) == table.position)
        self.register_buffer("levels", torch.tensor(table.numbers))
        self.register_buffer("codes", torch.tensor(table.codes, dtype=torch.float64))
        self._position, self._missing = table.position, table.missing

    def forward(self, X: Tensor) -> Tensor:
        """Code −1 stands for a level that is not known."""
        column = X[:, self._position : self._position + 1]
        found = ((column == self.levels).to(X.dtype) * (self.codes + 1).to(X.dtype)).sum(1, keepdim=True) - 1
        return torch.where(self.here, torch.where(column.isnan(), float(self._missing), found), X)


class PredictionModule(nn.Module):
    """Maps samples, with all columns of X, to what the estimator predicts; of a classifier, to probabilities.

    Attributes
    ----------
    model : FittedModule
        From samples to the outputs of the network.
    """

    def __init__(self, model: FittedModule, head: Head):
        super().__init__()
        self.model = model
        self._blocks, self._offset, self._flat = head.blocks, head.offset, head.flat

    def forward(self, X: Tensor) -> Tensor:
        """Return the predictions, (n,) where the estimator's are."""
        output = self.model(X) + self._offset
        parts = output.split([block.n for block in self._blocks], dim=1)
        found = torch.cat([_KINDS[block.kind](part, block) for part, block in zip(parts, self._blocks, strict=True)], 1)
        return torch.squeeze(found, 1) if self._flat else found


def _sorted(output: Tensor, block: Block) -> Tensor:
    groups = output.unflatten(1, (-1, block.width))
    return torch.sort(groups, -1).values.flatten(1)


def _pair(logit: Tensor, _: Block) -> Tensor:
    positive = logit.sigmoid()
    return torch.cat([1 - positive, positive], 1)


def _steps(logits: Tensor, _: Block) -> Tensor:
    start = torch.zeros_like(logits[:, :1])
    reached = torch.cat([start, functional.logsigmoid(logits).cumsum(1)], 1)
    return (reached + torch.cat([functional.logsigmoid(-logits), start], 1)).exp()


_KINDS: dict[str, Callable[[Tensor, Block], Tensor]] = {
    "linear": lambda output, _: output,
    "exp": lambda output, _: output.clamp(-LARGEST, LARGEST).exp(),
    "sorted": _sorted,
    "pair": _pair,
    "one hot": lambda logits, _: logits.softmax(1),
    "steps": _steps,
    "labels": lambda logits, _: logits.sigmoid(),
}


def _wide(part: NDArray[np.floating], columns: NDArray[np.int64], n_columns: int) -> Tensor:
    wide = np.zeros((n_columns, part.shape[1]))
    wide[columns] = part
    return torch.from_numpy(wide)
