"""Feature selection for classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from riata import check
from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses import BinaryCrossEntropy, CrossEntropy, Loss

__all__ = ["LassoNetClassifier"]


@documented
class LassoNetClassifier(ClassifierMixin, Supervised):
    """Classifier that says which few features matter and uses only those.

    A residual network f(x) = skip(x) + g(x) is trained to minimise the cross-entropy plus λ Σ ‖skip_j‖, where feature j may
    enter the hidden layers only as far as its linear weights allow, ‖first_j‖∞ ≤ M ‖skip_j‖. λ grows from 0, the dense model,
    until no feature is left.

    Parameters
    ----------
    <parameters>
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with those of the rows.

    Attributes
    ----------
    <attributes>
    classes_ : array
        The labels.

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

    def __init__(self, hidden_dims=(100,), *, class_weight=None, **shared):
        super().__init__(hidden_dims, **shared)
        self.class_weight = class_weight

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        y = check.labels(column_or_1d(y, warn=True))
        check_classification_targets(y)
        if fitting:
            self.classes_, codes = np.unique(y, return_inverse=True)
        else:
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                raise ValueError(f"y_val holds classes that y does not: {', '.join(map(repr, unknown[:10].tolist()))}")
            codes = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            return codes[:, None].astype(np.float64)
        return np.eye(len(self.classes_))[codes]

    def _loss(self) -> Loss:
        return BinaryCrossEntropy() if len(self.classes_) == 2 else CrossEntropy()

    def _strata(self, target: NDArray[np.float64]) -> NDArray[np.int64]:
        codes = self._codes(target)
        check.class_counts(self.classes_, codes, splits=True)
        return codes

    def _class_weights(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        codes = self._codes(target)
        check.class_counts(self.classes_, codes, splits=False)
        if self.class_weight is None:
            return weights
        present = np.unique(codes)
        per_class = np.ones(len(self.classes_))
        per_class[present] = compute_class_weight(
            self.class_weight, classes=self.classes_[present], y=self.classes_[codes], sample_weight=weights
        )
        weighted = weights * check.class_weights(per_class)[codes]
        return weighted * (weights.sum() / weighted.sum())  # classes share what there is: only their ratios matter

    def _codes(self, target: NDArray[np.float64]) -> NDArray[np.int64]:
        return target[:, 0].astype(np.int64) if target.shape[1] == 1 else target.argmax(axis=1)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return logits: (n,) for two classes, (n, n_classes) for more."""
        output = self._output(X)
        return output[:, 0] if output.shape[1] == 1 else output

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities, in the order of ``classes_``."""
        logits = self.decision_function(X)
        if logits.ndim == 1:
            positive = expit(logits)
            return np.column_stack([1 - positive, positive])
        return softmax(logits, axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        logits = self.decision_function(X)
        codes = (logits > 0).astype(int) if logits.ndim == 1 else logits.argmax(axis=1)
        return self.classes_[codes]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X: (1, d) for two classes, (n_classes, d) for more."""
        return self._skip_coefficients()
