"""A callback for Lightning; needs ``pip install lightning``."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from riata.nn.attached import Attached
from riata.nn.hierarchy import hierarchies

__all__ = ["HierProx"]


class HierProx(Callback):
    """Applies :func:`riata.nn.hier_prox_` to the sparse layers of a LightningModule after every step of their optimizers.

    Parameters
    ----------
    lambda_ : float
        The penalty; may be changed between batches.
    M : float, default=10
        Hierarchy coefficient.

    Examples
    --------
    >>> from riata.nn.lightning import HierProx
    >>> callback = HierProx(lambda_=0.1)
    >>> callback.lambda_, callback.M
    (0.1, 10.0)
    """

    def __init__(self, lambda_: float, M: float = 10.0):
        self.lambda_, self.M = lambda_, M
        self._attached: list[Attached] = []

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Attach to the optimizers of sparse layers.

        Parameters
        ----------
        trainer : Trainer
            Lightning's.
        pl_module : LightningModule
            The model.
        """
        for optimizer in trainer.optimizers:
            parameters = {id(w) for group in optimizer.param_groups for w in group["params"]}
            optimized = [h for h in hierarchies(pl_module) if id(h.skip[0]) in parameters]
            if optimized:
                self._attached.append(Attached(optimized, self.lambda_, self.M, optimizer))
        if not self._attached:
            raise ValueError(
                "no optimizer holds the weights of a hierarchy: configure_optimizers must take all parameters"
            )

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, *args: Any) -> None:
        """Pass the current penalty on to the hooks.

        Parameters
        ----------
        trainer : Trainer
            Lightning's.
        pl_module : LightningModule
            The model.
        *args
            The batch and its number, which are not used.
        """
        for attached in self._attached:
            attached.lambda_ = self.lambda_

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the number of selected units.

        Parameters
        ----------
        trainer : Trainer
            Lightning's.
        pl_module : LightningModule
            The model.
        """
        n_selected = sum(hierarchy.n_selected for hierarchy in hierarchies(pl_module))
        pl_module.log("n_selected", float(n_selected), prog_bar=True)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Remove the hooks from the optimizers.

        Parameters
        ----------
        trainer : Trainer
            Lightning's.
        pl_module : LightningModule
            The model.
        stage : str
            What ends, "fit" for example.
        """
        for attached in self._attached:
            attached.remove()
        self._attached.clear()
