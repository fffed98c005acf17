"""Feature selection for classification."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses.coding import Labels
from riata.losses.targets import Classes, Target, learn_classes
from riata.network.head import Head, of_classes

__all__ = ["LassoNetClassifier"]

_LEAST_LIKELIHOOD = 1e-7  # so that one sample does not decide a mean loss


@documented
@dataclass(repr=False, eq=False)
class LassoNetClassifier(ClassifierMixin, Supervised):
    """Classifier that says which few features matter and uses only those.

    A residual network f(x) = skip(x) + g(x) is trained to minimise a loss, the cross-entropy by default, plus λ Σ ‖skip_j‖,
    where feature j may enter the hidden layers only as far as its linear weights allow, ‖first_j‖∞ ≤ M ‖skip_j‖. λ grows from
    0, the dense model, until no feature is left.

    y holds one class per row or, for several labels at once, a row of 0/1 for each label: these share the features and have
    a logit each, and their losses are added up.

    Parameters
    ----------
    <parameters>
    <classification loss>
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with those of the samples.

    Attributes
    ----------
    <attributes>
    classes_ : array
        The classes; for a table of labels, the positions of its columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from riata import LassoNetClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LassoNetClassifier(n_features_to_select=5, random_state=0).fit(X, y)
    >>> model.n_selected_ <= 5
    True
    >>> model.score(X, y) > 0.9
    True
    """

    _: KW_ONLY
    loss: Any = None
    class_weight: Any = None

    _distributes: ClassVar[bool] = True
    _streams: ClassVar[bool] = True

    def _learn_target(self, y: Any, weights: NDArray[np.float64]) -> tuple[Target, NDArray[np.float64]]:
        return learn_classes(y, weights, self.loss, self.class_weight)

    @property
    def score_name(self) -> str:
        """What ``score`` returns."""
        return "accuracy"

    def _labels(self, y: Any) -> tuple[Any, Any]:
        return (None if check.is_table(y) else y), None

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes; for a table of labels, the positions of its columns."""
        check_is_fitted(self, "point_")
        return self._target.classes

    @property
    def _target(self) -> Classes:
        return cast(Classes, self._solved.target)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return logits: (n,) for two classes, (n, n_classes) for more or for a table of labels.

        For more than two classes in an order, the logarithms of their probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The logits.
        """
        output = self._output(X)
        return self._target.coding.scores(output)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities, in the order of ``classes_``; for a table of labels, that of each label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities.
        """
        return self._probability_of(self._output(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each sample; for a table of labels, those that are more probable than not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
            The classes, or 0 and 1 for labels.
        """
        return self._prediction_of(self._output(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of samples whose class, or whose labels without exception, are predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
            The accuracy.
        """
        return self._score_of(self._output(X), y, sample_weight)

    def _probability_of(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        coding = self._target.coding
        return coding.probability(coding.scores(output))

    def _prediction_of(self, output: NDArray[np.float64]) -> NDArray[Any]:
        coding = self._target.coding
        decided = coding.decide(coding.scores(output))
        return decided if coding.many else self.classes_[decided]

    def _score_of(self, output: NDArray[np.float64], y: Any, sample_weight: Any) -> float:
        truth = self._plain_target(y)
        return float(accuracy_score(truth, self._prediction_of(output), sample_weight=sample_weight))

    @property
    def _has_own_losses(self) -> bool:
        return bool(self._target.coding.many)

    def _sample_losses(self, X: Any, y: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log loss, a sum over labels, of every sample in each of b tables, stacked to (b · n, d): (b, n)."""
        probability = self.predict_proba(X).reshape(-1, *y.shape)
        likelihood = np.where(y > 0, probability, 1 - probability)
        losses: NDArray[np.float64] = -np.log(np.maximum(likelihood, _LEAST_LIKELIHOOD)).sum(axis=2)
        return losses

    def _head(self) -> Head:
        coding, n = self._target.coding, len(self._solved.target_scaling.scale)
        classes = np.zeros(n, dtype=coding.dtype) if isinstance(coding, Labels) else self.classes_
        return Head("probability", of_classes(coding, n), classes=classes)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X: (1, d) for two classes, (n_classes, d) for more.

        Classes in an order have one row for each but the last, for the step to the next.
        """
        return self._coefficients()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
