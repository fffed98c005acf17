"""A callback for Lightning; needs ``pip install lightning``."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from riata.nn.attached import Attached
from riata.nn.hierarchy import hierarchies

__all__ = ["HierProx"]


class HierProx(Callback):
    """Keeps the sparse layers of a LightningModule in order while it is trained.

    Parameters
    ----------
    lambda_ : float
        The penalty; may be changed between batches.
    M : float, default=10
        Hierarchy coefficient.
    """

    def __init__(self, lambda_: float, M: float = 10.0):
        self.lambda_, self.M = lambda_, M
        self._attached: list[Attached] = []

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Attach to the optimizers that hold sparse layers."""
        for optimizer in trainer.optimizers:
            held = {id(w) for group in optimizer.param_groups for w in group["params"]}
            own = [pair for pair in hierarchies(pl_module) if id(pair.skip[0]) in held]
            if own:
                self._attached.append(Attached(own, self.lambda_, self.M, optimizer))
        if not self._attached:
            raise ValueError(
                "no optimizer holds the weights of a hierarchy: configure_optimizers must take all parameters"
            )

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        """Pass the penalty on."""
        for attached in self._attached:
            attached.lambda_ = self.lambda_

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log how many units are left."""
        n_selected = sum(pair.n_selected for pair in hierarchies(pl_module))
        pl_module.log("n_selected", float(n_selected), prog_bar=True)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Leave the optimizers alone again."""
        for attached in self._attached:
            attached.remove()
        self._attached.clear()
