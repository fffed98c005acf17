"""A loss that is given as a function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses.coding import Coding
from riata.losses.loss import ClassLoss, NumberLoss

__all__ = ["Function"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Function(NumberLoss, ClassLoss):
    """A function of output and target, (n, o) both, that returns one loss per sample; autograd computes the derivative.

    Parameters
    ----------
    function : callable
        Returns (n,), or (n, o) to be summed over outputs. The loss of a sample may depend on that sample only.

    Examples
    --------
    >>> import torch
    >>> from riata.losses import Function
    >>> loss = Function(lambda output, target: (output - target).abs().pow(1.5))
    >>> loss.evaluate(torch.full((1, 2, 1), 4.0), torch.zeros(2, 1))[0].tolist()
    [[8.0, 8.0]]
    """

    function: Callable[[Tensor, Tensor], Tensor]

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Call the function and go backward through it, replica by replica."""
        with torch.inference_mode(False), torch.enable_grad():
            target = target.clone()  # what was made in inference mode is unknown to autograd, its copies are not
            pairs = [self._of(replica.clone().requires_grad_(), target) for replica in output]
        losses, slopes = zip(*pairs, strict=True)
        return torch.stack(losses), torch.stack(slopes)

    def _of(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        losses = self._per_row(self.function(output, target), output)
        (slope,) = torch.autograd.grad(losses.sum(), output, allow_unused=True)
        if slope is None:
            raise ValueError(
                f"{self._name} does not use the output, its first argument: there is nothing to learn from"
            )
        return losses.detach().to(output.dtype), slope

    def tuned(self, target: Floats) -> Function:
        """Try the function on a scaled target."""
        self._try_on(target)
        return self

    def over(self, coding: Coding, target: Floats) -> Function:
        """Try the function on a coded target."""
        return self.tuned(target)

    def _try_on(self, target: Floats) -> None:
        """Call the function once, with small outputs, and refuse what it returns if training could not use it."""
        goal = torch.from_numpy(target)
        output = torch.linspace(-0.5, 0.5, target.size, dtype=torch.float64).reshape(target.shape)
        losses, slope = self.evaluate(output[None], goal)
        for what, values in (("loss", losses[0]), ("derivative", slope[0].sum(-1))):
            wrong = (~values.isfinite()).nonzero()
            if len(wrong):
                row = int(wrong[0])
                raise ValueError(
                    f"{self._name} has a {what} of {float(values[row])} for the output {output[row].tolist()} and the "
                    f"target {goal[row].tolist()}: both may be any real number, so bring them into range inside the function"
                )

    def _per_row(self, losses: Any, output: Tensor) -> Tensor:
        """Check what the function returned and sum it over outputs."""
        if not isinstance(losses, Tensor):
            raise TypeError(
                f"{self._name} must return a tensor with one loss per row, made with torch operations; "
                f"got {type(losses).__name__}"
            )
        if losses.ndim == 0:
            raise ValueError(
                f"{self._name} returned one number for all rows: return one loss per row: reduction='none'"
            )
        if losses.shape not in (output.shape[:1], output.shape):
            raise ValueError(
                f"{self._name} must return one loss per row, shape {tuple(output.shape[:1])}, or one per output, shape "
                f"{tuple(output.shape)}; got shape {tuple(losses.shape)}"
            )
        if not losses.requires_grad:
            raise ValueError(
                f"what {self._name} returned has no gradient: compute it from the output with torch operations, without "
                "detach(), numpy() or no_grad()"
            )
        return losses if losses.ndim == 1 else losses.sum(-1)

    @property
    def _name(self) -> str:
        return f"the loss {getattr(self.function, '__name__', None) or repr(self.function)}"
