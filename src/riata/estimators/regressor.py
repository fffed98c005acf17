"""Feature selection for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_array

from riata import losses
from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses import NumberLoss
from riata.preprocess.scaling import Scaling

__all__ = ["LassoNetRegressor"]


@documented
class LassoNetRegressor(RegressorMixin, Supervised):
    """Regressor that says which few features matter and uses only those; for one target or several.

    A residual network f(x) = skip(x) + g(x) is trained to minimise a loss, the mean squared error (summed over targets) by
    default, plus λ Σ ‖skip_j‖, where feature j may enter the hidden layers only as far as its linear weights allow,
    ‖first_j‖∞ ≤ M ‖skip_j‖. λ grows from 0, the dense model, until no feature is left. With M = 0 this is the lasso:
    ``Lasso(alpha=λ / 2)`` in scikit-learn's terms, or ``MultiTaskLasso`` for several targets.

    Parameters
    ----------
    <parameters>
    <regression loss>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressor(n_features_to_select=4, random_state=0).fit(X, y)
    >>> model.get_feature_names_out().shape[0] <= 4
    True

    A network of your own:

    >>> from torch import nn
    >>> def network(n_inputs, n_outputs):
    ...     return nn.Sequential(nn.Linear(n_inputs, 20), nn.GELU(), nn.Linear(20, n_outputs))
    >>> model = LassoNetRegressor(network=network, n_features_to_select=4, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.3)
    True
    """

    def __init__(self, hidden_dims=(100,), *, loss=None, **shared):
        super().__init__(hidden_dims, **shared)
        self.loss = loss

    @property
    def _dwell(self) -> int:  # type: ignore[override]
        return losses.of_numbers(self.loss).dwell

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        target = self._columns(y, "y" if fitting else "y_val", fitting=fitting)
        if fitting:
            self._fitted_loss = losses.of_numbers(self.loss, target.shape[1])
        self._fitted_loss.check(target)
        return self._fitted_loss.expanded(target)

    def _columns(self, y: Any, name: str = "y", *, fitting: bool = False) -> NDArray[np.float64]:
        """Return a target as columns, (n, k)."""
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if fitting:
            self._target_shape = target.shape[1:]
        elif target.shape[1:] != self._target_shape:
            wanted = ", ".join(map(str, ("n", *self._target_shape)))
            raise ValueError(f"{name} must have the columns of the target in fit, shape ({wanted}); got {target.shape}")
        return target.reshape(len(target), -1)

    def _loss(self) -> NumberLoss:
        return self._tuned_loss

    def _scale_target(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> Scaling:
        learnt = self._fitted_loss.scaled(target, weights, self.preprocessing is not None)
        self._tuned_loss = self._fitted_loss.tuned(learnt.apply(target, np.float64))
        return learnt

    def _shown(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._fitted_loss.shown(target)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted target: 1-D if the target was and the loss has one output for it."""
        linear = self._output(X)
        predicted = self._fitted_loss.predicted(linear)
        return predicted[:, 0] if self._flat(predicted.shape[1]) else predicted

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the loss around a constant that is explained: 1 at best, 0 for a constant.

        For squared error and Huber this is R². For absolute error and quantiles it is the same with the pinball loss, averaged
        over levels (:func:`sklearn.metrics.d2_pinball_score`), for Poisson, gamma and Tweedie with the deviance
        (:func:`sklearn.metrics.d2_tweedie_score`). A function, and a list of losses, have no such share: there it is minus the
        mean loss on the scale of training, with kinks as they are and Huber's ``delta`` in plain standard deviations.
        """
        linear = self._output(X)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return self._fitted_loss.score(self._columns(y), linear, self._target_scaling, weights)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X and y: (d,), or (n_outputs, d) for several outputs.

        Where a loss predicts exp(output), they are on the scale of the logarithm of y: one unit more of a column multiplies
        the prediction by exp(coefficient), as far as the linear part goes.
        """
        coefficients = self._skip_coefficients()
        return coefficients[0] if self._flat(len(coefficients)) else coefficients

    def _flat(self, n_outputs: int) -> bool:
        """Say whether a result with so many columns is to be 1-D."""
        return self._target_shape == () and n_outputs == 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
