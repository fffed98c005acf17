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
    """A loss that is a weighted mean over samples: anything with a method ``evaluate``.

    Examples
    --------
    >>> import torch
    >>> from riata.losses import SquaredError
    >>> loss, slope = SquaredError().evaluate(torch.ones(1, 3, 1), torch.zeros(3, 1))
    >>> loss.tolist(), slope.flatten().tolist()
    ([[1.0, 1.0, 1.0]], [2.0, 2.0, 2.0])
    """

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """One loss per replica and sample, and its derivative by the output: (R, n, o), (n, ·) -> (R, n), (R, n, o).

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            The target.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        ...


class JointLoss:
    """A weighted mean over samples in which the loss of a sample also depends on the outputs for other samples.

    Examples
    --------
    The squared error of outputs less their mean:

    >>> import torch
    >>> from riata.losses import JointLoss, evaluator
    >>> class Centred(JointLoss):
    ...     def on(self, target, weights):
    ...         def evaluate(output):
    ...             deviation = output - output.mean(1, keepdim=True) - target
    ...             return deviation.square().sum(-1), 2 * (deviation - deviation.mean(1, keepdim=True))
    ...         return evaluate
    >>> evaluate = evaluator(Centred(), torch.zeros(2, 1), torch.full((1, 2), 0.5))
    >>> evaluate(torch.tensor([[[1.0], [3.0]]]))[0].tolist()
    [[1.0, 1.0]]
    """

    def on(self, target: Tensor, weights: Tensor) -> Evaluate:
        """Return the loss on these samples, (n, ·), with the weights of each replica, (R, n).

        It maps outputs to one loss per replica and sample, (R, n), and to slopes, (R, n, o), such that weights × slopes is
        the gradient of the sum of weights × losses.

        Parameters
        ----------
        target : Tensor of shape (n, ·)
            The target.
        weights : Tensor of shape (R, n)
            The weight of each sample for each network.

        Returns
        -------
        callable
            From outputs to losses and slopes.
        """
        raise NotImplementedError


Loss = SampleLoss | JointLoss


def evaluator(loss: Loss, target: Tensor, weights: Tensor) -> Evaluate:
    """Return a loss as a function of the outputs alone.

    Parameters
    ----------
    loss : SampleLoss or JointLoss
        The loss.
    target : Tensor of shape (n, ·)
        The target.
    weights : Tensor of shape (R, n)
        The weight of each sample for each network; only a joint loss depends on them.

    Returns
    -------
    callable
        From outputs, (R, n, o), to losses, (R, n), and slopes, (R, n, o).

    Examples
    --------
    >>> import torch
    >>> from riata.losses import SquaredError, evaluator
    >>> evaluate = evaluator(SquaredError(), torch.zeros(3, 1), torch.ones(1, 3))
    >>> evaluate(torch.ones(1, 3, 1))[0].tolist()
    [[1.0, 1.0, 1.0]]
    """
    if isinstance(loss, JointLoss):
        return loss.on(target, weights)
    return lambda output: loss.evaluate(output, target)


def slopes(loss: Loss, output: Tensor, target: Tensor, weights: Tensor) -> Tensor:
    """Return the derivatives of a loss by the outputs alone, (R, n, o).

    Parameters
    ----------
    loss : SampleLoss or JointLoss
        The loss. One whose class has a method ``slope`` beside ``evaluate`` need not evaluate anything else.
    output : Tensor of shape (R, n, o)
        Outputs of R networks.
    target : Tensor of shape (n, ·)
        The target.
    weights : Tensor of shape (R, n)
        The weight of each sample for each network.

    Examples
    --------
    >>> import torch
    >>> from riata.losses import SquaredError
    >>> from riata.losses.loss import slopes
    >>> slopes(SquaredError(), torch.ones(1, 3, 1), torch.zeros(3, 1), torch.ones(1, 3)).squeeze().tolist()
    [2.0, 2.0, 2.0]
    """
    slope = vars(type(loss)).get("slope")  # a subclass may have another loss
    found: Tensor = evaluator(loss, target, weights)(output)[1] if slope is None else slope(loss, output, target)
    return found


class NumberLoss:
    """A loss for regression: it knows which targets it takes, how they are scaled, and what an output predicts.

    Outputs of the network times ``scale`` plus ``center`` of :meth:`scaled` are linear predictors, on the scale of the target
    or of its logarithm; :meth:`predicted` turns these into predictions.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, losses
    >>> class LogCosh(losses.NumberLoss):
    ...     def evaluate(self, output, target):
    ...         residual = output - target
    ...         return torch.log(torch.cosh(residual)).sum(-1), torch.tanh(residual)
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(hidden_dims=(10,), loss=LogCosh(), random_state=0).fit(X, y)
    >>> model.n_selected_ < 10
    True
    """

    score_name: ClassVar[str] = "minus the mean loss"  # what `score` returns
    iters_factor: int = 1  # times as many iterations at each λ as usual: gradients of kinks carry less information

    @property
    def width(self) -> int:
        """Outputs for each column of the target."""
        return 1

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            The target.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        raise NotImplementedError

    def check(self, target: Floats) -> None:
        """Refuse a target, (n, k), that this loss does not suit.

        Parameters
        ----------
        target : array of shape (n, k)
            The columns of y.
        """

    def expanded(self, target: Floats) -> Floats:
        """Return the target as wide as the output, (n, o): each column once for each of its outputs.

        Parameters
        ----------
        target : array of shape (n, k)
            The columns of y.

        Returns
        -------
        array of shape (n, o)
            The target.
        """
        return np.repeat(target, self.width, axis=1) if self.width > 1 else target

    def scaled(self, target: Floats, weights: Floats, standardize: bool) -> Scaling:
        """Learn the scaling of an expanded target: mean 0 and variance 1.

        Parameters
        ----------
        target : array of shape (n, o)
            What :meth:`expanded` returns.
        weights : array of shape (n,)
            The weight of each sample.
        standardize : bool
            False leaves the target as it is.

        Returns
        -------
        Scaling
            Center and scale of each column.
        """
        if not standardize:
            return scaling.identity(target.shape[1])
        learnt = scaling.learn(target, weights)
        return Scaling(learnt.center, np.where(learnt.scale > 0, learnt.scale, 1.0))

    def tuned(self, target: Floats) -> NumberLoss:
        """Return the form of this loss to train with on a scaled target; refuse if that cannot work.

        Parameters
        ----------
        target : array of shape (n, o)
            The scaled target.

        Returns
        -------
        NumberLoss
            This loss, or another.
        """
        return self

    def screened(self, target: Floats) -> Floats:
        """Return, from an expanded target, the target for the screening of columns of X.

        Parameters
        ----------
        target : array of shape (n, o)
            What :meth:`expanded` returns.

        Returns
        -------
        array of shape (n, ·)
            One column or several, whose association with columns of X is tested.
        """
        return target[:, :: self.width]

    def predicted(self, linear: Floats) -> Floats:
        """Turn linear predictors, (n, o), into predictions.

        Parameters
        ----------
        linear : array of shape (n, o)
            Outputs of the network times scale plus center.

        Returns
        -------
        array of shape (n, o)
            What ``predict`` returns.
        """
        return linear

    def score(self, target: Floats, linear: Floats, scale: Scaling, weights: Floats | None) -> float:
        """Say how good linear predictors are for a target, (n, k); here, minus the mean loss as it is minimised.

        Parameters
        ----------
        target : array of shape (n, k)
            The columns of y.
        linear : array of shape (n, o)
            Outputs of the network times scale plus center.
        scale : Scaling
            What :meth:`scaled` returned.
        weights : array of shape (n,), or None
            The weight of each sample.

        Returns
        -------
        float
            The score; larger is better.
        """
        return -float(np.average(self.sample_losses(target, linear[None], scale)[0], weights=weights))

    def sample_losses(self, target: Floats, linear: Floats, scale: Scaling) -> Floats:
        """Return the loss of each sample in each of b tables, (b, n), as it is minimised: on the scale of training.

        Parameters
        ----------
        target : array of shape (n, k)
            The columns of y.
        linear : array of shape (b, n, o)
            Outputs of the network times scale plus center.
        scale : Scaling
            What :meth:`scaled` returned.

        Returns
        -------
        array of shape (b, n)
            The losses.
        """
        output = torch.from_numpy((linear - scale.center) / scale.scale)
        scaled = torch.from_numpy(scale.apply(self.expanded(target), np.float64))
        found: Floats = self.evaluate(output, scaled)[0].numpy()
        return found


class ClassLoss:
    """A loss for classification: it knows how classes are encoded for the network.

    Examples
    --------
    >>> import numpy as np
    >>> from riata.losses import ClassLoss
    >>> loss = ClassLoss()
    >>> loss.coding(np.array(["no", "yes"])), loss.coding(np.array([0, 1, 2]))
    (Pair(), OneHot(n_classes=3))
    """

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and their derivatives.

        Parameters
        ----------
        output : Tensor of shape (R, n, o)
            Outputs of R networks for n samples.
        target : Tensor of shape (n, o)
            The target.

        Returns
        -------
        losses : Tensor of shape (R, n)
            One loss per network and sample.
        slopes : Tensor of shape (R, n, o)
            Their derivatives by the output.
        """
        raise NotImplementedError

    def coding(self, classes: NDArray[Any]) -> Coding:
        """Return the encoding of classes: one logit for two, one each for more.

        Parameters
        ----------
        classes : array of shape (n_classes,)
            The classes, sorted.

        Returns
        -------
        Coding
            The encoding.
        """
        return Pair() if len(classes) == 2 else OneHot(len(classes))

    def labels(self, dtype: np.dtype) -> Coding:
        """Return the encoding of a table of 0/1 labels: one logit each.

        Parameters
        ----------
        dtype : dtype
            The type of the labels.

        Returns
        -------
        Coding
            The encoding.
        """
        return Labels(dtype)

    def over(self, coding: Coding, target: Floats) -> Loss:
        """Return the form of this loss to train with on a target so coded; refuse if that cannot work.

        Parameters
        ----------
        coding : Coding
            The encoding of the classes.
        target : array of shape (n, o)
            The encoded classes.

        Returns
        -------
        SampleLoss or JointLoss
            This loss, or another.
        """
        return self
