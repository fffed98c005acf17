"""Losses of classes: negative log-likelihoods, and the focal loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from riata import check
from riata.losses.coding import Coding, Pair, Steps
from riata.losses.loss import ClassLoss, Loss

__all__ = ["BinaryCrossEntropy", "CrossEntropy", "Focal", "Ordinal"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BinaryCrossEntropy:
    """One logit for each column of 0/1, summed over columns: log(1 + exp(output)) − target · output.

    Examples
    --------
    >>> import torch
    >>> from riata.losses import BinaryCrossEntropy
    >>> loss, slope = BinaryCrossEntropy().evaluate(torch.zeros(1, 2, 1), torch.tensor([[0.0], [1.0]]))
    >>> loss.numpy().round(3), slope.squeeze().numpy()
    (array([[0.693, 0.693]], dtype=float32), array([ 0.5, -0.5], dtype=float32))
    """

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood, and P(1) − target.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            Zeros and ones.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        return (functional.softplus(output) - target * output).sum(-1), self.slope(output, target)

    def slope(self, output: Tensor, target: Tensor) -> Tensor:
        """Return P(1) − target alone.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            Zeros and ones.
        """
        return output.sigmoid().sub_(target)


@dataclass(frozen=True)
class CrossEntropy(ClassLoss):
    """Cross-entropy, the negative log-likelihood of the classes: what a classifier minimises by default.

    Examples
    --------
    >>> from riata import LassoNetClassifier, losses
    >>> LassoNetClassifier(loss=losses.CrossEntropy())
    LassoNetClassifier(loss=CrossEntropy())
    """

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood of a one-hot target, and the class probabilities less the target."""
        log_probability = output.mT.log_softmax(-2)  # along rows of few entries it is several times slower
        target = target.mT
        return -(log_probability * target).sum(-2), log_probability.exp_().sub_(target).mT

    def slope(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the class probabilities less the target alone.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            One-hot.
        """
        if output.device.type == "cuda":
            return output.softmax(-1).sub_(target)
        return output.mT.softmax(-2).sub_(target.mT).mT

    def over(self, coding: Coding, target: Floats) -> Loss:
        """Return the binary form where each output is a logit of its own."""
        return BinaryCrossEntropy() if coding.independent else self


@dataclass(frozen=True)
class Focal(ClassLoss):
    """Focal loss, −(1 − p)^γ log p for the probability p of the true class: samples that are easy to classify count less.

    Probabilities are biased towards equal ones, the more the larger γ is: use it for ``predict``, not for
    ``predict_proba``. γ = 0 is the cross-entropy.

    Parameters
    ----------
    gamma : float, default=2.0
        How much less easy samples count.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollár (2017), *Focal loss for dense object detection*, ICCV.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from riata import LassoNetClassifier, losses
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LassoNetClassifier(hidden_dims=(10,), loss=losses.Focal(gamma=1.0), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    gamma: float = 2.0

    def __post_init__(self) -> None:
        check.number("gamma of Focal", self.gamma, high=20)

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss for a one-hot target, and its derivative."""
        log_probability = output.mT.log_softmax(-2)
        target = target.mT
        loss, slope = _focused((log_probability * target).sum(-2), self.gamma)
        return loss, log_probability.exp_().sub_(target).mul_(slope.unsqueeze(-2)).mT

    def over(self, coding: Coding, target: Floats) -> Loss:
        """Return the binary form where each output is a logit of its own."""
        return _BinaryFocal(self.gamma) if coding.independent else self


@dataclass(frozen=True)
class _BinaryFocal:
    """The focal loss with one logit for each column of 0/1, summed over columns."""

    gamma: float

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and its derivative."""
        loss, slope = _focused(functional.logsigmoid(torch.where(target > 0, output, -output)), self.gamma)
        return loss.sum(-1), output.sigmoid().sub_(target).mul_(slope)


def _focused(log_probability: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """Return −(1 − p)^γ log p, and minus its derivative by log p: (1 − p)^γ (1 − γ p log p / (1 − p))."""
    rest = -torch.expm1(log_probability)
    weight = rest.pow(gamma)
    ratio = torch.where(rest > 0, log_probability / torch.where(rest > 0, rest, 1.0), -1.0)  # log p / (1 − p)
    return -weight * log_probability, weight * (1 - gamma * log_probability.exp() * ratio)


@dataclass(frozen=True)
class Ordinal(ClassLoss):
    """Classes in an order, such as grades: a likelihood of the steps from each class to the next.

    The network has an output f_k for each class but the last, and P(y > k | y ≥ k) = 1 / (1 + exp(−f_k)): sequential, or
    continuation-ratio, logits. Any outputs give valid probabilities. The order is that of the numbers in y.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetClassifier, losses
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> grade = np.digitize(X[:, 0] + X[:, 1] + rng.logistic(size=300), [-1, 1])
    >>> model = LassoNetClassifier(hidden_dims=(10,), loss=losses.Ordinal(), random_state=0).fit(X, grade)
    >>> model.predict_proba(X).shape
    (300, 3)
    """

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood of the steps that are reached, and its derivative."""
        missing = target.isnan()
        taken = torch.where(missing, 0.0, target)
        losses = functional.softplus(output) - taken * output
        return losses.masked_fill_(missing, 0.0).sum(-1), output.sigmoid().sub_(taken).masked_fill_(missing, 0.0)

    def coding(self, classes: NDArray[Any]) -> Coding:
        """Return the encoding of classes: a logit for each step. Text has no order of its own."""
        if classes.dtype.kind not in "biuf":
            raise ValueError(
                f"loss='ordinal' takes the order of classes from their numbers; y holds {classes[0]!r}: number the classes, "
                "as in y.map({'low': 0, 'medium': 1, 'high': 2})"
            )
        return Pair() if len(classes) == 2 else Steps(len(classes))

    def labels(self, dtype: np.dtype) -> Coding:
        """Refuse a table."""
        raise ValueError("loss='ordinal' takes one column of classes in an order; y is a table of 0/1 labels")
