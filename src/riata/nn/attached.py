"""The operator as a hook on an optimizer, for training loops that are not yours."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from riata.nn.hierarchy import hier_prox_, hierarchies

__all__ = ["Attached"]


class Attached:
    """Calls :func:`hier_prox_` after every ``optimizer.step()`` until it is removed.

    For training loops that you cannot change, such as those of Lightning, skorch or Accelerate.

    Parameters
    ----------
    modules, lambda_, M, optimizer
        As for :func:`hier_prox_`.

    Attributes
    ----------
    lambda_, M : float
        May be changed during training.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import Attached, LassoInput
    >>> layer = LassoInput(5, 8, 1)
    >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> attached = Attached(layer, 1e4, 10.0, optimizer)
    >>> sum(part.sum() for part in layer(torch.randn(20, 5))).backward()
    >>> optimizer.step()
    >>> int(layer.selected.sum())
    0
    >>> attached.remove()
    """

    def __init__(self, modules: Any, lambda_: float, M: float, optimizer: Optimizer):
        self.lambda_, self.M = lambda_, M
        self._hierarchies = hierarchies(modules)
        self._handle = optimizer.register_step_post_hook(self._apply)

    def _apply(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        hier_prox_(self._hierarchies, self.lambda_, self.M, optimizer)

    def remove(self) -> None:
        """Remove the hook from the optimizer."""
        self._handle.remove()
