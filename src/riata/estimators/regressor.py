"""Feature selection for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_array

from riata import scaling
from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses import Loss, SquaredError

__all__ = ["LassoNetRegressor"]


@documented
class LassoNetRegressor(RegressorMixin, Supervised):
    """Regressor that says which few features matter and uses only those; for one target or several.

    A residual network f(x) = skip(x) + g(x) is trained to minimise the mean squared error (summed over targets) plus
    λ Σ ‖skip_j‖, where feature j may enter the hidden layers only as far as its linear weights allow,
    ‖first_j‖∞ ≤ M ‖skip_j‖. λ grows from 0, the dense model, until no feature is left. With M = 0 this is the lasso:
    ``Lasso(alpha=λ / 2)`` in scikit-learn's terms, or ``MultiTaskLasso`` for several targets.

    Parameters
    ----------
    <parameters>

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
    ...     return nn.Sequential(nn.Linear(n_inputs, 20), nn.LayerNorm(20), nn.GELU(), nn.Linear(20, n_outputs))
    >>> model = LassoNetRegressor(network=network, n_features_to_select=4, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.3)
    True
    """

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if fitting:
            self._target_shape = target.shape[1:]
        elif target.shape[1:] != self._target_shape:
            raise ValueError(f"y_val must have the columns of y: shape (n, *{self._target_shape}); got {target.shape}")
        return target.reshape(len(target), -1)

    def _loss(self) -> Loss:
        return SquaredError()

    def _scale_target(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> scaling.Scaling:
        if not self.standardize:
            return scaling.identity(target.shape[1])
        learnt = scaling.learn(target, weights, longest=np.inf)
        return scaling.Scaling(learnt.center, np.where(learnt.scale > 0, learnt.scale, 1.0))

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted target: 1-D if the target was."""
        output = self._output(X)
        return output[:, 0] if self._target_shape == () else output

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X and y: (d,), or (n_outputs, d) for a 2-D target."""
        coefficients = self._skip_coefficients()
        return coefficients[0] if self._target_shape == () else coefficients

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
