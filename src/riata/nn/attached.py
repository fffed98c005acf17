"""The operator after every step of an optimizer, whoever runs the loop."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from riata.nn.hierarchy import hier_prox_, hierarchies

__all__ = ["Attached"]


class Attached:
    """Calls :func:`hier_prox_` after every ``optimizer.step()`` from now on.

    For loops that are not yours to change, such as those of Lightning, skorch or Accelerate: what holds the optimizer need
    not know.

    Parameters
    ----------
    modules, lambda_, M, optimizer
        As for :func:`hier_prox_`.

    Attributes
    ----------
    lambda_, M : float
        May be changed on the way.

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
        self._pairs = hierarchies(modules)
        self._handle = optimizer.register_step_post_hook(self._after)

    def _after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        hier_prox_(self._pairs, self.lambda_, self.M, optimizer)

    def remove(self) -> None:
        """Leave the optimizer alone again."""
        self._handle.remove()
