"""How y is encoded for the network: learnt from the training samples once, applied to all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from riata import check
from riata.losses.coding import Coding
from riata.losses.location import ReconstructionError
from riata.losses.loss import ClassLoss, Loss, NumberLoss
from riata.losses.names import of_classes, of_numbers
from riata.preprocess import scaling
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling

__all__ = ["Classes", "Numbers", "Reconstruction", "Target", "learn_classes", "learn_numbers"]

Floats = NDArray[np.float64]


class Target(Protocol):
    """From y to what the network is trained on, and the loss that goes with it."""

    @property
    def iters_factor(self) -> int:
        """How many times as many iterations at each λ as usual."""

    @property
    def n_constants(self) -> int:
        """How many outputs of the network, after those that depend on X, are the same for all samples."""

    def encode(self, y: Any) -> Floats:
        """Check y of other samples and return it encoded for the network, (n, o)."""

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Multiply the weights of classes into those of samples."""

    def strata(self, target: Floats) -> NDArray[np.int64] | None:
        """Return labels to keep in proportion when samples are split, or None."""

    def subjects(self, target: Floats) -> NDArray[np.int64] | None:
        """Return labels of samples that belong together when samples are split, or None."""

    def screened(self, target: Floats, weights: Floats) -> Floats | None:
        """Return the target for the screening of columns, (n, ·); None for no screening."""

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return how many samples count where all columns are expanded, and where one with a clear effect is."""

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Learn the scale of the target of samples, and return it with the loss to train with on that scale."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """One column of numbers or several, for regression."""

    n_constants: ClassVar[int] = 0
    loss: NumberLoss
    shape: tuple[int, ...]  # of y, without the samples

    @property
    def iters_factor(self) -> int:
        """That of the loss."""
        return self.loss.iters_factor

    def columns(self, y: Any, name: str = "y") -> Floats:
        """Return a target as columns, (n, k); it must have those of fit."""
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if target.shape[1:] != self.shape:
            wanted = ", ".join(map(str, ("n", *self.shape)))
            raise ValueError(f"{name} must have the columns of the target in fit, shape ({wanted}); got {target.shape}")
        columns: Floats = target.reshape(len(target), -1)
        return columns

    def encode(self, y: Any) -> Floats:
        """Return each column once for each output of its loss."""
        target = self.columns(y, "y_val")
        self.loss.check(target)
        return self.loss.expanded(target)

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Return the weights: there are no classes."""
        return weights

    def strata(self, target: Floats) -> None:
        """Return None."""

    def subjects(self, target: Floats) -> None:
        """Return None: each sample is by itself."""

    def screened(self, target: Floats, weights: Floats) -> Floats:
        """Return what the loss makes of it."""
        return self.loss.screened(target)

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return the number of samples."""
        return len(target), len(target)

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return the scale that the loss asks for, and its form on that scale."""
        _, target, weights = samples.fit
        learnt = self.loss.scaled(target, weights, standardize)
        return learnt, self.loss.tuned(learnt.apply(target, np.float64))


def learn_numbers(y: Any, loss: Any) -> tuple[Numbers, Floats]:
    """Check the y of fit for regression; return how it is encoded, and the encoded target."""
    target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    columns = target.reshape(len(target), -1)
    learnt = Numbers(of_numbers(loss, columns.shape[1]), target.shape[1:])
    learnt.loss.check(columns)
    return learnt, learnt.loss.expanded(columns)


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes, or a table of 0/1 labels."""

    n_constants: ClassVar[int] = 0
    loss: ClassLoss
    classes: NDArray[Any]
    coding: Coding
    class_weights: Floats | None = None  # in the order of the classes
    iters_factor: int = 1

    def encode(self, y: Any) -> Floats:
        """Return the codes of known classes as a target."""
        if check.is_table(y):
            table = check.indicator(y)
            if not self.coding.many or table.shape[1] != len(self.classes):
                raise ValueError(f"y_val must have the columns of y; it has {table.shape[1]}")
            return self.coding.encode(table)
        if self.coding.many:
            raise ValueError(f"y_val must have the columns of y, {len(self.classes)} labels; it has one")
        y = check.labels(column_or_1d(y, warn=True))
        check_classification_targets(y)
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(f"y_val holds classes that y does not: {', '.join(map(repr, unknown[:10].tolist()))}")
        return self.coding.encode(np.searchsorted(self.classes, y))

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Multiply weights of classes in; only their ratios matter."""
        if self.class_weights is None:
            return weights
        weighted = weights * self.class_weights[self.coding.codes(target)]
        scaled: Floats = weighted * (weights.sum() / weighted.sum())
        return scaled

    def strata(self, target: Floats) -> NDArray[np.int64] | None:
        """Return the codes of the classes, each of which must be on both sides of a split."""
        if self.coding.many:
            return None
        codes = self.coding.codes(target)
        check.class_counts(self.classes, codes, splits=True)
        return codes

    def subjects(self, target: Floats) -> None:
        """Return None: each sample is by itself."""

    def screened(self, target: Floats, weights: Floats) -> Floats:
        """Return what the coding makes of it."""
        return self.coding.screened(target)

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return the number of samples."""
        return len(target), len(target)

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return that classes are not scaled, and the form of the loss for their coding."""
        _, target, _ = samples.fit
        if self.coding.many:
            check.label_values(target)
        return scaling.identity(target.shape[1]), self.loss.over(self.coding, target)


def learn_classes(y: Any, weights: Floats, loss: Any, class_weight: Any) -> tuple[Classes, Floats]:
    """Check the y of fit for classification; return how it is encoded, and the encoded target."""
    minimised = of_classes(loss)
    if check.is_table(y):
        table = check.indicator(y)
        check.no_class_weight(class_weight)
        labels = Classes(minimised, np.arange(table.shape[1]), minimised.labels(table.dtype))
        return labels, labels.coding.encode(table)
    y = check.labels(column_or_1d(y, warn=True))
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    learnt = Classes(minimised, classes, minimised.coding(classes))
    target = learnt.coding.encode(codes)
    check.class_counts(classes, learnt.coding.codes(target), splits=False)
    if class_weight is None:
        return learnt, target
    per_class = _class_weights(class_weight, classes, codes, weights)
    return Classes(minimised, classes, learnt.coding, check.class_weights(per_class)), target


def _class_weights(class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp], weights: Floats) -> Floats:
    """Return the weight of each class; before version 1.7 scikit-learn balances numbers of samples, not their weights."""
    per_class: Floats
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(codes, weights)
        per_class = counts.sum() / (len(classes) * counts)
    else:
        per_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    return per_class


@dataclass(frozen=True, eq=False)
class ColumnScaling(Scaling):
    """The scale of the inputs, and the means of the columns, which a reconstruction is compared with."""

    means: Floats = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The columns of X themselves, to be reconstructed."""

    n_constants: ClassVar[int] = 0
    n_features: int
    iters_factor: int = 4  # features left have to take over from one that leaves for all outputs at once

    def encode(self, y: Any) -> Floats:
        """Return the columns."""
        return np.asarray(y, dtype=np.float64)

    def weighted(self, target: Floats, weights: Floats) -> Floats:
        """Return the weights: there are no classes."""
        return weights

    def strata(self, target: Floats) -> None:
        """Return None."""

    def subjects(self, target: Floats) -> None:
        """Return None: each sample is by itself."""

    def screened(self, target: Floats, weights: Floats) -> None:
        """Return None: each column is its own target."""

    def n_informative(self, target: Floats) -> tuple[int, int]:
        """Return the number of samples."""
        return len(target), len(target)

    def scaled(self, samples: Samples, standardize: bool, inputs: Scaling) -> tuple[Scaling, Loss]:
        """Return the scale of the inputs, and the error over all entries."""
        _, target, weights = samples.fit
        means = np.average(target, axis=0, weights=weights)
        scale = ColumnScaling(inputs.center, inputs.scale, limit=inputs.limit, means=means)
        return scale, ReconstructionError(self.n_features)
