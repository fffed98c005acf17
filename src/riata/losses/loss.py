"""What the solver asks of a loss, and what the estimators ask of one besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses.coding import Coding, Labels, OneHot, Pair
from riata.preprocess import scaling
from riata.preprocess.scaling import Scaling

__all__ = ["ClassLoss", "JointLoss", "Loss", "NumberLoss", "SampleLoss", "evaluator"]

Floats = NDArray[np.float64]
Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]  # (R, n, o) -> (R, n), (R, n, o)


class SampleLoss(Protocol):
    """A loss that is a weighted mean over samples."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """One loss per replica and sample, and its derivative by the output: (R, n, o), (n, ·) -> (R, n), (R, n, o)."""
        ...


class JointLoss:
    """A weighted mean over samples in which the loss of a sample also depends on the outputs for other samples."""

    def on(self, target: Tensor, weights: Tensor) -> Evaluate:
        """Return the loss on these samples, (n, ·), with the weights of each replica, (R, n).

        It maps outputs to one loss per replica and sample, (R, n), and to slopes, (R, n, o), such that weights × slopes is
        the gradient of the sum of weights × losses.
        """
        raise NotImplementedError


Loss = SampleLoss | JointLoss


def evaluator(loss: Loss, target: Tensor, weights: Tensor) -> Evaluate:
    """Return a loss as a function of the outputs alone."""
    if isinstance(loss, JointLoss):
        return loss.on(target, weights)
    return lambda output: loss.evaluate(output, target)


class NumberLoss:
    """A loss for regression: it knows which targets it takes, how they are scaled, and what an output predicts.

    Outputs of the network times ``scale`` plus ``center`` of :meth:`scaled` are linear predictors, on the scale of the target
    or of its logarithm; :meth:`predicted` turns these into predictions.
    """

    score_name: ClassVar[str] = "minus the mean loss"  # what `score` returns
    iters_factor: int = 1  # times as many iterations at each λ as usual: gradients of kinks carry less information

    @property
    def width(self) -> int:
        """Outputs for each column of the target."""
        return 1

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives."""
        raise NotImplementedError

    def check(self, target: Floats) -> None:
        """Refuse a target, (n, k), that this loss does not suit."""

    def expanded(self, target: Floats) -> Floats:
        """Return the target as wide as the output, (n, o): each column once for each of its outputs."""
        return np.repeat(target, self.width, axis=1) if self.width > 1 else target

    def scaled(self, target: Floats, weights: Floats, standardize: bool) -> Scaling:
        """Learn the scaling of an expanded target: mean 0 and variance 1."""
        if not standardize:
            return scaling.identity(target.shape[1])
        learnt = scaling.learn(target, weights)
        return Scaling(learnt.center, np.where(learnt.scale > 0, learnt.scale, 1.0))

    def tuned(self, target: Floats) -> NumberLoss:
        """Return the form of this loss to train with on a scaled target; refuse if that cannot work."""
        return self

    def screened(self, target: Floats) -> Floats:
        """Return, from an expanded target, the target for the screening of columns of X."""
        return target[:, :: self.width]

    def predicted(self, linear: Floats) -> Floats:
        """Turn linear predictors, (n, o), into predictions."""
        return linear

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Say how good linear predictors are for a target, (n, k); here, minus the mean loss as it is minimised."""
        output = torch.from_numpy((linear - scale.center) / scale.scale)
        scaled = torch.from_numpy(scale.apply(self.expanded(target), np.float64))
        return -float(np.average(self.evaluate(output[None], scaled)[0][0].numpy(), weights=weights))


class ClassLoss:
    """A loss for classification: it knows how classes are encoded for the network."""

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives."""
        raise NotImplementedError

    def coding(self, classes: NDArray[Any]) -> Coding:
        """Return the encoding of classes: one logit for two, one each for more."""
        return Pair() if len(classes) == 2 else OneHot(len(classes))

    def labels(self, dtype: np.dtype) -> Coding:
        """Return the encoding of a table of 0/1 labels: one logit each."""
        return Labels(dtype)

    def over(self, coding: Coding, target: Floats) -> Loss:
        """Return the form of this loss to train with on a target so coded; refuse if that cannot work."""
        return self
