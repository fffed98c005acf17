"""Feature selection for classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from riata import check, losses
from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses import Coding, Loss
from riata.preprocess import scaling

__all__ = ["LassoNetClassifier"]


@documented
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
        Weights of the classes, multiplied with those of the rows.

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

    classes_: NDArray[Any]
    _coding: Coding

    def __init__(self, hidden_dims=(100,), *, loss=None, class_weight=None, **shared):
        super().__init__(hidden_dims, **shared)
        self.loss = loss
        self.class_weight = class_weight

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        if fitting:
            self._fitted_loss = losses.of_classes(self.loss)
        if check.is_table(y):
            return self._check_table(check.indicator(y), fitting=fitting)
        if not fitting and self._coding.many:
            raise ValueError(f"y_val must have the columns of y, {len(self.classes_)} labels; it has one")
        y = check.labels(column_or_1d(y, warn=True))
        check_classification_targets(y)
        if fitting:
            self.classes_, codes = np.unique(y, return_inverse=True)
            self._coding = self._fitted_loss.coding(self.classes_)
        else:
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                raise ValueError(f"y_val holds classes that y does not: {', '.join(map(repr, unknown[:10].tolist()))}")
            codes = np.searchsorted(self.classes_, y)
        return self._coding.encode(codes)

    def _check_table(self, table: NDArray[Any], *, fitting: bool) -> NDArray[np.float64]:
        """Check a table of 0/1 labels."""
        if fitting:
            self.classes_ = np.arange(table.shape[1])
            self._coding = self._fitted_loss.labels(table.dtype)
        elif not self._coding.many or table.shape[1] != len(self.classes_):
            raise ValueError(f"y_val must have the columns of y; it has {table.shape[1]}")
        return self._coding.encode(table)

    def _loss(self) -> Loss:
        return self._tuned_loss

    def _scale_target(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> scaling.Scaling:
        if self._coding.many:
            check.label_values(target)
        self._tuned_loss = self._fitted_loss.over(self._coding, target)
        return super()._scale_target(target, weights)

    def _shown(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._coding.shown(target)

    def _strata(self, target: NDArray[np.float64]) -> NDArray[np.int64] | None:
        if self._coding.many:
            return None
        codes = self._coding.codes(target)
        check.class_counts(self.classes_, codes, splits=True)
        return codes

    def _class_weights(
        self, target: NDArray[np.float64], weights: NDArray[np.float64], *, fitting: bool
    ) -> NDArray[np.float64]:
        if self._coding.many:
            check.no_class_weight(self.class_weight)
            return weights
        codes = self._coding.codes(target)
        check.class_counts(self.classes_, codes, splits=False)
        if self.class_weight is None:
            return weights
        if fitting:
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[codes], sample_weight=weights
            )
            self._per_class = check.class_weights(per_class)
        weighted = weights * self._per_class[codes]
        return weighted * (weights.sum() / weighted.sum())  # classes share what there is: only their ratios matter

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return logits: (n,) for two classes, (n, n_classes) for more or for a table of labels.

        For more than two classes in an order, the logarithms of their probabilities.
        """
        output = self._output(X)
        return self._coding.scores(output)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities, in the order of ``classes_``; for a table of labels, that of each label."""
        scores = self.decision_function(X)
        return self._coding.probability(scores)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row; for a table of labels, those that are more probable than not."""
        scores = self.decision_function(X)
        decided = self._coding.decide(scores)
        return decided if self._coding.many else self.classes_[decided]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X: (1, d) for two classes, (n_classes, d) for more.

        Classes in an order have one row for each but the last, for the step to the next.
        """
        return self._skip_coefficients()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
