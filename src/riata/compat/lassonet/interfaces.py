"""The estimators of ``lassonet.interfaces``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from torch import Tensor, nn
from torch.nn import functional
from torch.special import log_ndtr

from riata.compat.lassonet.base import BaseLassoNet
from riata.compat.lassonet.cox import CoxPHLoss, concordance_index
from riata.compat.lassonet.cv import BaseLassoNetCV
from riata.compat.lassonet.history import HistoryItem, NonFiniteLossError
from riata.compat.lassonet.model import LassoNet
from riata.compat.lassonet.training import Task
from riata.losses.censoring import learn_intervals
from riata.losses.classes import CrossEntropy
from riata.losses.coding import OneHot
from riata.losses.survival import EVENT, learn_survival
from riata.losses.targets import Classes, Reconstruction, learn_numbers

__all__ = [
    "BaseLassoNet",
    "BaseLassoNetCV",
    "HistoryItem",
    "LassoNetAutoEncoder",
    "LassoNetClassifier",
    "LassoNetClassifierCV",
    "LassoNetCoxRegressor",
    "LassoNetCoxRegressorCV",
    "LassoNetIntervalRegressor",
    "LassoNetIntervalRegressorCV",
    "LassoNetRegressor",
    "LassoNetRegressorCV",
    "NonFiniteLossError",
    "lassonet_path",
]

_SMALLEST = 1e-8  # added to the likelihood of an interval


def _like(X: Any, output: Tensor) -> Any:
    """Return an array where X is one, a tensor otherwise."""
    return output.cpu().numpy() if isinstance(X, np.ndarray) else output


@dataclass(repr=False, eq=False)
class LassoNetRegressor(RegressorMixin, MultiOutputMixin, BaseLassoNet):
    """Regression: the mean squared error over samples and targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata.compat.lassonet import LassoNetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(hidden_dims=(10,), path_multiplier=1.1, random_state=0, torch_seed=0)
    >>> path = model.path(10 * X, (y - y.mean()) / y.std())
    >>> int(path[0].selected.sum()), int(path[-1].selected.sum())
    (10, 0)
    >>> model.feature_importances_.shape
    torch.Size([10])
    """

    criterion = staticmethod(functional.mse_loss)

    def predict(self, X: Any) -> Any:
        """Return predictions, (n, n_targets): an array for an array, a tensor for anything else."""
        return _like(X, self._outputs(X))

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        target, encoded = learn_numbers(_columns(y), None)
        return Task(target, encoded, None if y_val is None else target.encode(_columns(y_val)), encoded.shape[1])


def _columns(y: NDArray[Any]) -> NDArray[np.float64]:
    target = np.asarray(y, dtype=np.float64)
    return target[:, None] if target.ndim == 1 else target


@dataclass(repr=False, eq=False)
class LassoNetAutoEncoder(BaseLassoNet):
    """Reconstruction of all columns: the mean squared error over all entries. Of earlier versions of ``lassonet``."""

    criterion = staticmethod(functional.mse_loss)

    def path(self, X: Any, y: Any = None, *, X_val: Any = None, y_val: Any = None, **how: Any) -> list[HistoryItem]:
        """Solve the path; ``y`` is not used."""
        return super().path(X, X, X_val=X_val, y_val=X_val, **how)

    def fit(self, X: Any, y: Any = None, *, X_val: Any = None, y_val: Any = None, dense_only: bool = False) -> Any:
        """Solve the path and move to the item with the lowest validation loss; ``y`` is not used."""
        return super().fit(X, X, X_val=X_val, y_val=X_val, dense_only=dense_only)

    def predict(self, X: Any) -> Any:
        """Return reconstructions."""
        return _like(X, self._outputs(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean squared error."""
        X = self._tensor(X)
        return -float(self.criterion(self._outputs(X), X))

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        target = Reconstruction(np.shape(y)[1])
        return Task(target, target.encode(y), None if y_val is None else target.encode(y_val))


@dataclass(repr=False, eq=False)
class LassoNetClassifier(ClassifierMixin, BaseLassoNet):
    """Classification, for classes 0, 1, …: the cross-entropy, with one output for each class.

    Parameters
    ----------
    class_weight : sequence of float, optional
        One weight for each class.
    """

    class_weight: Any = None
    _: KW_ONLY

    def criterion(self, output: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy."""
        weight = None if self.class_weight is None else torch.as_tensor(self.class_weight, dtype=output.dtype)
        return functional.cross_entropy(output, y, weight=None if weight is None else weight.to(output.device))

    def predict(self, X: Any) -> Any:
        """Return classes."""
        return _like(X, self._outputs(X).argmax(-1))

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of classes."""
        return _like(X, self._outputs(X).softmax(-1))

    def _convert_y(self, y: NDArray[Any]) -> Tensor:
        return torch.tensor(np.asarray(y), dtype=torch.long, device=self._device)

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        labels = np.concatenate([y, [] if y_val is None else y_val])
        if np.ndim(y) != 1 or labels.dtype.kind not in "biuf" or (labels % 1).any() or labels.min() < 0:
            raise ValueError("y must hold classes 0, 1, …, one per sample: use sklearn's LabelEncoder for others")
        n_classes = int(labels.max()) + 1
        weights = None if self.class_weight is None else np.asarray(self.class_weight, dtype=np.float64)
        if weights is not None and len(weights) != n_classes:
            raise ValueError(f"class_weight must hold {n_classes} numbers, one for each class; it has {len(weights)}")
        target = Classes(CrossEntropy(), np.arange(n_classes), OneHot(n_classes), weights)
        return Task(target, target.encode(y), None if y_val is None else target.encode(y_val))


@dataclass(repr=False, eq=False)
class LassoNetCoxRegressor(BaseLassoNet):
    """Cox's model, for times and events in the two columns of y: the partial likelihood, as a mean over events.

    Parameters
    ----------
    tie_approximation : {"breslow", "efron"}
        Treatment of ties.
    """

    tie_approximation: Any = None
    _: KW_ONLY

    def criterion(self, output: Tensor, y: Tensor) -> Tensor:
        """Return the negative logarithm of the partial likelihood."""
        loss: Tensor = CoxPHLoss(self.tie_approximation)(output, y)
        return loss

    def predict(self, X: Any) -> Any:
        """Return logarithms of relative hazards, (n, 1)."""
        return _like(X, self._outputs(X))

    def score(self, X_test: Any, y_test: Any) -> float:
        """Return the concordance."""
        time, event = np.asarray(y_test).T
        return concordance_index(self.predict(X_test), time, event)

    def _val_size(self) -> float:
        return 0.0 if self.val_size is None else self.val_size

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        if self.batch_size is not None:
            raise ValueError("batch_size must be None: the partial likelihood of a batch is another loss")
        CoxPHLoss(self.tie_approximation)
        target, encoded = learn_survival(np.asarray(y, dtype=np.float64), self.tie_approximation)
        val = None if y_val is None else target.encode(np.asarray(y_val, dtype=np.float64))
        return Task(target, encoded, val, float(encoded[:, EVENT].mean()))


@dataclass(repr=False, eq=False)
class LassoNetIntervalRegressor(BaseLassoNet):
    """Interval-censored times, log-normal: y has the columns U, V, and 1 in the one of three that says what is known.

    These are: T ≤ U (left-censored), U < T ≤ V, and T > V (right-censored).
    """

    class CustomLassoNet(LassoNet):
        """The network, and the logarithm of the scale of errors as a parameter."""

        def __init__(self, *dims: int, groups: Any = None, dropout: float | None = None):
            super().__init__(*dims, groups=groups, dropout=dropout)
            self.log_sigma = nn.Parameter(torch.zeros(()))

        def forward(self, inp: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
            """Return the location of log times, and the scale."""
            return super().forward(inp), self.log_sigma.exp()

    @staticmethod
    def criterion(output: Any, y: Tensor) -> Tensor:
        """Return the negative log-likelihood, with 1e-8 added to every probability."""
        location, scale = output[0].reshape(-1), output[1]
        known = y[:, 2:] > 0
        below, above = ((y[:, i].log() - location) / scale for i in (0, 1))
        parts = [log_ndtr(below[known[:, 0]]), _between(below, above, known[:, 1]), log_ndtr(-above[known[:, 2]])]
        likelihood = torch.cat(parts)
        return -torch.logaddexp(likelihood, likelihood.new_tensor(_SMALLEST).log()).sum() / len(y)

    def predict(self, X: Any) -> Any:
        """Return locations of the logarithms of times, (n, 1)."""
        return _like(X, self._outputs(X)[0])

    def score(self, X_test: Any, y_test: Any) -> float:
        """Return the concordance of predictions with V, where right-censored times are censored."""
        _, time, _, _, censored = np.asarray(y_test).T
        return concordance_index(-self.predict(X_test), time, 1 - censored)

    def _module(self, *dims: int) -> LassoNet:
        return self.CustomLassoNet(*dims, groups=self.groups, dropout=self.dropout)

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        target, encoded = learn_intervals(_bounds(y), "normal")
        return Task(target, encoded, None if y_val is None else target.encode(_bounds(y_val)))


def _between(below: Tensor, above: Tensor, known: Tensor) -> Tensor:
    """Return log(F(above) − F(below)) of normal variables, in the tail where it is accurate; finite for equal bounds."""
    below, above = below[known], above[known]
    side = torch.where(below > 0, -1.0, 1.0)
    ends = log_ndtr(torch.stack([side * below, side * above]))
    upper, lower = ends.amax(0), ends.amin(0)
    likelihood: Tensor = upper + torch.log(-torch.expm1((lower - upper).clamp_max(-1e-6)))
    return likelihood


def _bounds(y: Any) -> NDArray[np.float64]:
    """Return lower and upper times."""
    U, V, left, _, right = np.asarray(y, dtype=np.float64).T
    lower = np.select([left > 0, right > 0], [0.0, V], U)
    upper = np.select([left > 0, right > 0], [U, np.inf], V)
    return np.column_stack([lower, upper])


@dataclass(repr=False, eq=False)
class LassoNetRegressorCV(BaseLassoNetCV, LassoNetRegressor):
    """Regression, λ by cross-validation."""


@dataclass(repr=False, eq=False)
class LassoNetClassifierCV(BaseLassoNetCV, LassoNetClassifier):
    """Classification, λ by cross-validation."""

    _: KW_ONLY
    class_weight: Any = None


@dataclass(repr=False, eq=False)
class LassoNetCoxRegressorCV(BaseLassoNetCV, LassoNetCoxRegressor):
    """Cox's model, λ by cross-validation."""

    _: KW_ONLY
    tie_approximation: Any = None


@dataclass(repr=False, eq=False)
class LassoNetIntervalRegressorCV(BaseLassoNetCV, LassoNetIntervalRegressor):
    """Interval-censored times, λ by cross-validation."""


_TASKS: dict[str, Any] = {
    "classification": LassoNetClassifier,
    "regression": LassoNetRegressor,
    "cox": LassoNetCoxRegressor,
}


def lassonet_path(
    X: Any, y: Any, task: str, *, X_val: Any = None, y_val: Any = None, **parameters: Any
) -> list[HistoryItem]:
    """Solve the path of an estimator.

    Parameters
    ----------
    X, y : array-like
        Samples and their target.
    task : {"classification", "regression", "cox"}
        Which estimator.
    X_val, y_val : array-like, optional
        Samples to validate on.
    **parameters
        Of the estimator.

    Returns
    -------
    list of HistoryItem
        The path.
    """
    if task not in _TASKS:
        raise ValueError(f"task must be one of {', '.join(map(repr, _TASKS))}; got {task!r}")
    estimator: BaseLassoNet = _TASKS[task](**parameters)
    return estimator.path(X, y, X_val=X_val, y_val=y_val)
