"""Training of a module with sparse layers: epochs with a penalty, evaluation, snapshots and refits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from riata.nn.hierarchy import Hierarchy, hier_prox_, hierarchies
from riata.nn.modes import evaluation_mode
from riata.nn.steps import HeavyBall

__all__ = ["Trainer", "weighted_mean"]

Floats = NDArray[np.float64]


class Trainer:
    """Trains one model; for the parameters see :func:`riata.nn.path`."""

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Any, Any], Tensor],
        data: Iterable[Any],
        val: Iterable[Any] | None,
        M: float,
        gamma: float,
        patience: int,
        make_optimizer: Callable[[Any], Optimizer] | None,
    ):
        self.model, self.loss, self.data, self.val = model, loss, data, val
        self.M, self.gamma, self.patience, self.make_optimizer = M, gamma, patience, make_optimizer
        self.hierarchies = hierarchies(model)
        self.n_units = sum(hierarchy.n_units for hierarchy in self.hierarchies)
        pairs = [weight for hierarchy in self.hierarchies for weight, _ in hierarchy.weights()]
        if not all(w.requires_grad for w in pairs):
            raise ValueError(
                "a weight of a hierarchy has requires_grad=False: it must be trained, or be in no hierarchy"
            )
        if not any(bool((hierarchy.costs > 0).any()) for hierarchy in self.hierarchies):
            raise ValueError("all costs are 0: no unit would ever leave; give some of them a penalty weight")
        self._fixed_in_evaluation_mode = [part for part in model.modules() if model.training and not part.training]
        in_pairs = {id(w) for w in pairs}
        self._decayed = [w for w in model.parameters() if w.ndim > 1 and id(w) not in in_pairs and w.requires_grad]
        parameters = [w for w in model.parameters() if w.requires_grad]
        if make_optimizer is None:
            self.optimizer: Optimizer = HeavyBall(parameters, hierarchies=self.hierarchies)
        else:
            self.optimizer = make_optimizer(parameters)

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Mask of the units in the model, those of all hierarchies."""
        return torch.cat([hierarchy.selected for hierarchy in self.hierarchies]).cpu().numpy()

    def train_epoch(self, lambda_: Tensor | float) -> None:
        """Train for one epoch; λ is one number, or one for each unit."""
        self._training_mode()
        for inputs, target in self._batches(self.data):
            self.optimizer.zero_grad()
            objective = self._losses(self.model(*inputs), target).mean()
            if self.gamma:
                objective = objective + self.gamma * self._sum_of_squares()
            if not bool(objective.isfinite()):
                raise ValueError(
                    "the loss is no longer finite: scale the inputs, or give an optimizer with a smaller lr"
                )
            objective.backward()
            self.optimizer.step()
            for hierarchy, its_lambda in zip(self.hierarchies, self._per_hierarchy(lambda_), strict=True):
                hier_prox_(hierarchy, its_lambda, self.M, self.optimizer)

    def train(self, n_epochs: int, lambda_: Tensor | float = 0.0) -> int:
        """Train, with early stopping on the validation loss if there are validation samples; return the number of epochs.

        With early stopping the model gets back the weights of the lowest validation loss.
        """
        best_loss, best, epochs_since_best, n_trained = float("inf"), None, 0, 0
        while n_trained < n_epochs and epochs_since_best < self.patience:
            self.train_epoch(lambda_)
            n_trained += 1
            if self.val is None:
                continue
            loss = weighted_mean(self.losses(self.val))
            epochs_since_best = 0 if loss < best_loss else epochs_since_best + 1
            if loss < best_loss:
                best_loss, best = loss, self.snapshot()
        if best is not None:
            self.restore(best)
        return n_trained

    @torch.no_grad()
    def losses(self, data: Iterable[Any]) -> Floats:
        """Return losses and weights, (·, 2): of all samples; of batches, weighted by size, if ``loss`` returns means."""
        found = []
        with evaluation_mode(self.model):
            for inputs, target in self._batches(data):
                losses = self._losses(self.model(*inputs), target).double().cpu()
                n = len(inputs[0]) if losses.ndim == 0 else 1
                found.append(torch.stack([losses.reshape(-1), torch.full_like(losses.reshape(-1), n)], 1))
        return torch.cat(found).numpy()

    @torch.no_grad()
    def penalty(self, lambda_: float) -> float:
        """Return all terms of the objective but the loss."""
        sparse = float(sum(hierarchy.penalty(lambda_) for hierarchy in self.hierarchies))
        return sparse + self.gamma * float(self._sum_of_squares())

    def skip_norms(self) -> Floats:
        """Return the norm of each unit's skip weights, (n_units,)."""
        norms = [hierarchy.skip_by_unit().norm(dim=-1) for hierarchy in self.hierarchies]
        return torch.cat(norms).double().cpu().numpy()

    def snapshot(self) -> tuple[Any, Any]:
        """Return a copy of the state of model and optimizer."""
        return copy.deepcopy(self.model.state_dict()), copy.deepcopy(self.optimizer.state_dict())

    def restore(self, snapshot: tuple[Any, Any]) -> None:
        """Put model and optimizer back into the state of a snapshot."""
        self.model.load_state_dict(snapshot[0])
        self.optimizer.load_state_dict(copy.deepcopy(snapshot[1]))

    def refit(self, n_epochs: int) -> tuple[Trainer, int]:
        """Refit a copy of the model on the selected units, without a penalty; also return the number of epochs."""
        other = Trainer(
            copy.deepcopy(self.model),
            self.loss,
            self.data,
            self.val,
            self.M,
            self.gamma,
            self.patience,
            self.make_optimizer,
        )
        out = torch.from_numpy(~self.selected).to(self.hierarchies[0].skip[0].device)
        return other, other.train(n_epochs, torch.where(out, 1e30, 0.0))  # no unit can enter under so large a penalty

    def largest_lambda(self) -> float:
        """Return the smallest λ at which no unit would enter the empty model, the other weights being as they are."""
        snapshot = self.snapshot()
        try:
            with torch.no_grad():
                for weight, _ in (pair for hierarchy in self.hierarchies for pair in hierarchy.weights()):
                    weight.zero_()
            self._training_mode()
            self.model.zero_grad()
            n_batches = 0
            for inputs, target in self._batches(self.data):
                self._losses(self.model(*inputs), target).mean().backward()
                n_batches += 1
            return max(self._subgradient_bound(hierarchy) for hierarchy in self.hierarchies) / n_batches
        finally:
            self.model.zero_grad()
            self.restore(snapshot)

    def _subgradient_bound(self, hierarchy: Hierarchy) -> float:
        """Return the smallest λ that keeps all units out given the gradient: max_j (‖∂skip_j‖ + M ‖∂first_j‖₁) / cost_j."""
        skip, first = (
            torch.cat(
                [hierarchy.by_unit(w.grad if w.grad is not None else torch.zeros_like(w), axis) for w in weights], -1
            )
            for weights, axis in zip((hierarchy.skip, hierarchy.first), hierarchy.dims, strict=True)
        )
        costs = hierarchy.costs.to(skip)
        bounds = (skip.norm(dim=-1) + self.M * first.abs().sum(-1)) / costs
        return float(torch.where(costs > 0, bounds, 0.0).max())

    def _sum_of_squares(self) -> Tensor | int:
        """Return the sum of squares of the weights under the L2 penalty; 0 if there are none."""
        return sum(w.square().sum() for w in self._decayed)

    def _training_mode(self) -> None:
        """Go to training mode, except for submodules that the user had put into evaluation mode."""
        self.model.train()
        for part in self._fixed_in_evaluation_mode:
            part.training = False

    def _per_hierarchy(self, lambda_: Tensor | float) -> Sequence[Tensor | float]:
        """Return λ for each hierarchy."""
        if not isinstance(lambda_, Tensor):
            return [lambda_] * len(self.hierarchies)
        return torch.split(lambda_, [hierarchy.n_units for hierarchy in self.hierarchies])

    def _losses(self, output: Any, target: Any) -> Tensor:
        """Return the loss of each sample, (n,), or of the batch, ()."""
        losses = self.loss(output, target)
        if not isinstance(losses, Tensor):
            raise TypeError(f"loss must return a tensor; got {type(losses).__name__}")
        return losses.flatten(1).mean(-1) if losses.ndim > 1 else losses

    def _batches(self, data: Iterable[Any]) -> Iterator[tuple[Sequence[Any], Any]]:
        """Split batches into inputs and target, on the device of the model."""
        device = self.hierarchies[0].skip[0].device
        empty = True
        for batch in data:
            parts = [batch] if isinstance(batch, Tensor) else batch
            if not isinstance(parts, list | tuple) or not parts:
                raise TypeError(
                    f"a batch must be a tensor or a sequence (input, ..., target) of them; got {type(batch).__name__}"
                )
            moved = [part.to(device) if isinstance(part, Tensor) else part for part in parts]
            empty = False
            yield (moved, moved[0]) if len(moved) == 1 else (moved[:-1], moved[-1])
        if empty:
            raise ValueError(
                "data, or val, gave no batches: it must give all samples each time it is iterated over, as a DataLoader does "
                "and a generator does not"
            )


def weighted_mean(losses: Floats) -> float:
    """Return the mean of losses with their weights, (·, 2)."""
    return float(np.average(losses[:, 0], weights=losses[:, 1]))
