"""Losses: per-sample values and their closed-form gradients with respect to the network's output.

Every target is a float matrix of shape (n, o), as wide as the network's output. Shapes carry a leading replica axis R.
Losses are given to the estimators as ``loss=``, by name or as instances of the classes here.
"""

from riata.losses.classes import BinaryCrossEntropy, CrossEntropy, Focal, Ordinal
from riata.losses.coding import Coding
from riata.losses.function import Function
from riata.losses.heads import Heads
from riata.losses.location import AbsoluteError, Huber, Quantile, ReconstructionError, SquaredError
from riata.losses.loss import ClassLoss, JointLoss, Loss, NumberLoss, SampleLoss, evaluator
from riata.losses.names import of_classes, of_numbers
from riata.losses.rates import Gamma, Poisson, Tweedie

__all__ = [
    "AbsoluteError",
    "BinaryCrossEntropy",
    "ClassLoss",
    "Coding",
    "CrossEntropy",
    "Focal",
    "Function",
    "Gamma",
    "Heads",
    "Huber",
    "JointLoss",
    "Loss",
    "NumberLoss",
    "Ordinal",
    "Poisson",
    "Quantile",
    "ReconstructionError",
    "SampleLoss",
    "SquaredError",
    "Tweedie",
    "evaluator",
    "of_classes",
    "of_numbers",
]
