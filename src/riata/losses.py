"""Losses: per-sample values and their closed-form gradients with respect to the network's output.

Every target is a float matrix of shape (n, o), as wide as the network's output. Shapes carry a leading replica axis R.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["BinaryCrossEntropy", "CrossEntropy", "Loss", "SquaredError"]


class Loss(Protocol):
    """A loss that is a weighted mean over samples."""

    def per_sample(self, output: Tensor, target: Tensor) -> Tensor:
        """One loss per replica and sample: (R, n, o), (n, o) -> (R, n)."""
        ...

    def gradient(self, output: Tensor, target: Tensor) -> Tensor:
        """Derivative of each sample's loss by its output: (R, n, o), (n, o) -> (R, n, o)."""
        ...


class SquaredError:
    """Squared error, summed over outputs."""

    def per_sample(self, output: Tensor, target: Tensor) -> Tensor:
        """Return ‖output − target‖² for every sample."""
        return (output - target).square().sum(-1)

    def gradient(self, output: Tensor, target: Tensor) -> Tensor:
        """Return 2 (output − target)."""
        return 2 * (output - target)


class BinaryCrossEntropy:
    """Two classes, one logit: log(1 + exp(output)) − target · output with target 0 or 1."""

    def per_sample(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the negative log-likelihood of every sample."""
        return (functional.softplus(output) - target * output).squeeze(-1)

    def gradient(self, output: Tensor, target: Tensor) -> Tensor:
        """Return P(1) − target."""
        return output.sigmoid() - target


class CrossEntropy:
    """Many classes, one logit each, with a one-hot target."""

    def per_sample(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the negative log-likelihood of every sample."""
        return torch.logsumexp(output, -1) - (output * target).sum(-1)

    def gradient(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the class probabilities less the target."""
        return output.softmax(-1) - target
