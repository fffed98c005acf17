"""Feature selection for regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from riata.estimators.documentation import documented
from riata.estimators.supervised import Supervised
from riata.losses.location import SquaredError
from riata.losses.names import of_numbers
from riata.losses.targets import Numbers, Target, learn_numbers
from riata.network.head import Head
from riata.network.head import of_numbers as blocks_of

__all__ = ["LassoNetRegressor"]


@documented
@dataclass(repr=False, eq=False)
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
    >>> model = LassoNetRegressor(network, n_features_to_select=4, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.3)
    True
    """

    _: KW_ONLY
    loss: Any = None

    _distributes: ClassVar[bool] = True
    _streams: ClassVar[bool] = True

    def _learn_target(self, y: Any, weights: NDArray[np.float64]) -> tuple[Target, NDArray[np.float64]]:
        return learn_numbers(y, self.loss)

    @property
    def score_name(self) -> str:
        """What ``score`` returns."""
        return str(of_numbers(self.loss).score_name)

    @property
    def _target(self) -> Numbers:
        return cast(Numbers, self._solved.target)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted target: 1-D if the target was and the loss has one output for it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
            The predictions, on the scale of y.
        """
        return self._prediction_of(self._output(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the loss around a constant that is explained: 1 at best, 0 for a constant.

        For squared error and Huber this is R². For absolute error and quantiles it is the same with the pinball loss, averaged
        over levels (:func:`sklearn.metrics.d2_pinball_score`), for Poisson, gamma and Tweedie with the deviance
        (:func:`sklearn.metrics.d2_tweedie_score`). A function, and a list of losses, have no such share: there it is minus the
        mean loss on the scale of training, with kinks as they are and Huber's ``delta`` in plain standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
            The score.
        """
        return self._score_of(self._output(X), y, sample_weight)

    def _prediction_of(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = self._target.loss.predicted(output)
        return predicted[:, 0] if self._flat(predicted.shape[1]) else predicted

    def _score_of(self, output: NDArray[np.float64], y: Any, sample_weight: Any) -> float:
        weights = None if sample_weight is None else np.asarray(sample_weight)
        target = self._target.columns(self._plain_target(y))
        return self._target.loss.score(target, output, self._solved.target_scaling, weights)

    @property
    def _has_own_losses(self) -> bool:
        return type(self._target.loss) is not SquaredError

    def _sample_losses(self, X: Any, y: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of every sample in each of b tables, stacked to (b · n, d), for a target, (n, k): (b, n)."""
        output = self._output(X)
        target = self._target.columns(y if self._target.shape else y[:, 0])
        by_table = output.reshape(-1, len(target), output.shape[1])
        return self._target.loss.sample_losses(target, by_table, self._solved.target_scaling)

    def _head(self) -> Head:
        blocks = blocks_of(self._target.loss, len(self._solved.target_scaling.scale))
        return Head("prediction", blocks, flat=self._flat(sum(block.n for block in blocks)))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the linear part on the original scale of X and y: (d,), or (n_outputs, d) for several outputs.

        Where a loss predicts exp(output), they are on the scale of the logarithm of y: one unit more of a column multiplies
        the prediction by exp(coefficient), as far as the linear part goes.
        """
        coefficients = self._coefficients()
        return coefficients[0] if self._flat(len(coefficients)) else coefficients

    def _flat(self, n_outputs: int) -> bool:
        """Say whether a result with so many columns is to be 1-D."""
        return self._target.shape == () and n_outputs == 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
