"""The network that tells how much some columns say of all: one hidden layer, the same for every choice of columns."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from experiments.baselines.networks import device

WIDTH = 256
UPDATES = 5_000  # at most, whatever the number of rows
_BATCH, _RATE = 256, 1e-3
_EVERY, _PATIENCE = 50, 10  # updates between two looks at the validation rows, and looks without progress


class Decoder:
    """A network from some columns to all; training stops when validation rows are reconstructed no better."""

    def __init__(self, columns: NDArray[np.integer], seed: int):
        self.columns = columns
        self.seed = seed

    def fit(self, X: NDArray[np.float32], X_val: NDArray[np.float32]) -> Decoder:
        """Minimise the mean squared error with Adam, and keep the best weights."""
        torch.manual_seed(self.seed)
        target, target_val = _tensor(X), _tensor(X_val)
        inputs, inputs_val = target[:, self.columns], target_val[:, self.columns]
        model = nn.Sequential(nn.Linear(inputs.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, X.shape[1])).to(device())
        adam = torch.optim.Adam(model.parameters(), _RATE)
        order = torch.empty(0, dtype=torch.int64, device=target.device)
        lowest, since = np.inf, 0
        for update in range(1, UPDATES + 1):
            if not len(order):
                order = torch.randperm(len(target), device=target.device)
            batch, order = order[:_BATCH], order[_BATCH:]
            adam.zero_grad()
            nn.functional.mse_loss(model(inputs[batch]), target[batch]).backward()
            adam.step()
            if update % _EVERY == 0:
                error = _error(model, inputs_val, target_val)
                since = 0 if error < lowest else since + 1
                if error < lowest:
                    lowest, self._model = error, copy.deepcopy(model)
                if since == _PATIENCE:
                    break
        return self

    @torch.inference_mode()
    def reconstruct(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return all columns as the network sees them."""
        return self._model(_tensor(X)[:, self.columns]).cpu().numpy()


def _tensor(X: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(device())


@torch.inference_mode()
def _error(model: nn.Module, inputs: Tensor, target: Tensor) -> float:
    return float(nn.functional.mse_loss(model(inputs), target))
