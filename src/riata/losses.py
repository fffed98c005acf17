"""Losses: per-sample values and their closed-form gradients with respect to the network's output.

Every target is a float matrix of shape (n, o), as wide as the network's output. Shapes carry a leading replica axis R.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["BinaryCrossEntropy", "CrossEntropy", "Loss", "ReconstructionError", "SquaredError"]


class Loss(Protocol):
    """A loss that is a weighted mean over samples."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """One loss per replica and sample, and its derivative by the output: (R, n, o), (n, o) -> (R, n), (R, n, o)."""
        ...


class SquaredError:
    """Squared error, summed over outputs."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return ‖output − target‖² and 2 (output − target)."""
        residual = output - target
        return residual.square().sum(-1), residual.mul_(2)


class ReconstructionError:
    """Squared error over the entries of a table that are there to be reconstructed; NaN marks the others.

    Parameters
    ----------
    n_entries : float
        How many entries of a row count on average: the mean over rows is then the mean over entries.
    """

    def __init__(self, n_entries: float):
        self.n_entries = n_entries

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return ‖output − target‖² / n_entries over the entries that count, and its derivative."""
        residual = torch.where(target.isnan(), 0.0, output - target)
        return residual.square().sum(-1).div_(self.n_entries), residual.mul_(2 / self.n_entries)


class BinaryCrossEntropy:
    """Two classes, one logit: log(1 + exp(output)) − target · output with target 0 or 1."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood, and P(1) − target."""
        return (functional.softplus(output) - target * output).squeeze(-1), output.sigmoid().sub_(target)


class CrossEntropy:
    """Many classes, one logit each, with a one-hot target."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood, and the class probabilities less the target."""
        log_probability = output.mT.log_softmax(-2)  # along rows of few entries it is several times slower
        target = target.mT
        return -(log_probability * target).sum(-2), log_probability.exp_().sub_(target).mT
