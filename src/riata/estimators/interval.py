"""Feature selection for interval-censored times: a network for the logarithm of the time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.estimators.documentation import documented
from riata.estimators.fitting import Settings
from riata.estimators.supervised import Supervised
from riata.estimators.training import Stages
from riata.losses.censoring import Intervals, LogTimes, learn_intervals
from riata.losses.rates import LARGEST
from riata.losses.targets import Target
from riata.network.head import Block, Head
from riata.survival.curve import SurvivalCurve, survival
from riata.survival.distributions import DISTRIBUTIONS

__all__ = ["LassoNetIntervalRegressor"]

Floats = NDArray[np.float64]


@documented
@dataclass(repr=False, eq=False)
class LassoNetIntervalRegressor(Supervised):
    """Model of times known to lie in intervals that says which few features matter and uses only those.

    The time T of a sample follows the accelerated failure time model log T = f(x) + σ · error, with a residual network
    f(x) = skip(x) + g(x), one σ for all samples, and errors of a given distribution. The negative logarithm of the likelihood,
    as a mean over samples, plus λ Σ ‖skip_j‖ is minimised over the network and σ, where feature j may enter the hidden layers
    only as far as its linear weights allow. A sample with an exact time counts with the density, one of which an interval is
    known with the probability of the interval. With M = 0 and λ = 0 this is the parametric model of survival analysis.

    Censoring is taken to be independent of the time given the features.

    The target has lower and upper times, as the two columns of an array or as columns ``lower`` and ``upper`` of a data frame.
    Of equal ones the time is exact; an upper time of inf is right-censored, a lower time of 0 left-censored, and others are
    known to lie in between. For exact and right-censored times also a data frame with columns ``time`` and ``event``, or a
    structured array with a boolean field for the event and a field for the time, as scikit-survival makes them.

    Parameters
    ----------
    <parameters>
    distribution : {"normal", "logistic", "extreme_value"}, default="normal"
        Of the error: times are log-normal, log-logistic, or follow a Weibull distribution.

    Attributes
    ----------
    <attributes>
    scale_ : float
        σ, on the scale of the logarithm of the time.
    unique_times_ : array of shape (n_times,)
        The times in y, at which survival functions are tabulated.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetIntervalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> time = np.exp(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=300))
    >>> visits = np.array([0, 0.5, 1, 2, 4, np.inf])
    >>> after = np.searchsorted(visits, time)
    >>> y = np.column_stack([visits[after - 1], visits[after]])
    >>> model = LassoNetIntervalRegressor(hidden_dims=(10,), n_features_to_select=2, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.selected_), bool(0.3 < model.scale_ < 0.7)
    (array([0, 1]), True)
    >>> model.predict(X[:2]).shape, model.predict_survival_function(X[:2])[0](0.5).shape
    ((2,), ())
    """

    _: KW_ONLY
    distribution: str = "normal"

    # An error of a given size costs more the smaller σ is, and the loss of good models is smaller than that of others by less.
    _stages = Stages(n_iters=(None, None), patience=(50, 10), tol=1e-5)

    def predict(self, X: ArrayLike) -> Floats:
        """Return the median time of each sample, (n,): exp(f(x) + σ · median of the error).

        The median is 0 for normal and logistic errors, and log(log 2) for those of the extreme value distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,)
            The times.
        """
        location = self._location(X) + self._median_error()
        times: Floats = np.exp(np.clip(location, -LARGEST, LARGEST))
        return times

    def predict_survival_function(self, X: ArrayLike, *, return_array: bool = False) -> NDArray[Any]:
        """Return the survival function of each sample, the probability that its time is later than t.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        return_array : bool, default=False
            Return the values at ``unique_times_``, (n_samples, n_times), instead of functions of time.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_times)
            Functions of time, or their values.
        """
        output, times = self._output(X), self.unique_times_
        if return_array:
            return self._survival_of(output, times)
        location, scale = output[:, 0], self.scale_
        functions = np.empty(len(location), dtype=object)
        functions[:] = [SurvivalCurve(times, float(each), scale, self.distribution) for each in location]
        return functions

    def _survival_of(self, output: Floats, times: Floats) -> Floats:
        """Return the probabilities that times are later than some, (n, times)."""
        return survival(times, output[:, :1], self.scale_, self.distribution)

    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean logarithm of the likelihood: of the density of exact times, and of the probability of intervals.

        In another unit of time the density of an exact time is another number, so compare scores on the same y only.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : array-like
            Their intervals, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
            The mean.
        """
        return self._score_of(self._output(X), y, sample_weight)

    def _score_of(self, output: Floats, y: Any, sample_weight: Any) -> float:
        location = output[:, 0]
        learnt, weights = cast(Intervals, self._solved.target), check.sample_weight(sample_weight, len(location))
        target = learnt.encode(y)
        check_consistent_length(location, target)
        return float(np.average(learnt.log_likelihood(target, location, self.scale_), weights=weights))

    @property
    def score_name(self) -> str:
        """What ``score`` returns."""
        return "mean log-likelihood"

    @property
    def coef_(self) -> Floats:
        """Weights of the linear part on the original scale of X, (d,): one unit more multiplies the time by the exp of it."""
        coefficients: Floats = self._coefficients()[0]
        return coefficients

    @property
    def scale_(self) -> float:
        """The scale σ of the error, on the scale of the logarithm of the time."""
        check_is_fitted(self, "point_")
        (log_scale,) = self._solved.constants(self.point_.weights)
        return float(np.exp(log_scale) * self._solved.target_scaling.scale[0])

    @property
    def unique_times_(self) -> Floats:
        """The times in y, at which survival functions are tabulated."""
        check_is_fitted(self, "point_")
        return cast(LogTimes, self._solved.target_scaling).times

    # Steps of fit.

    def _plain_target(self, y: Any) -> Any:
        return y if y is None else check.intervals(y)

    def _settings(self) -> Settings:
        check.one_of("distribution", self.distribution, tuple(DISTRIBUTIONS))
        return super()._settings()

    def _learn_target(self, y: Any, weights: Floats) -> tuple[Target, Floats]:
        return learn_intervals(y, self.distribution)

    def _labels(self, y: Any) -> tuple[Any, Any]:
        return Intervals(self.distribution).strata(y), None

    def _sample_losses(self, X: Any, y: Floats, weights: Floats) -> Floats:
        """Return the loss of every sample in each of b tables, stacked to (b · n, d), for checked times: (b, n)."""
        location, learnt = self._location(X), cast(Intervals, self._solved.target)
        repeated = np.tile(y, (len(location) // len(y), 1))
        return -learnt.log_likelihood(repeated, location, self.scale_).reshape(-1, len(y))

    def _median_error(self) -> float:
        """Return the median of the error, on the scale of the logarithm of the time."""
        return self.scale_ * DISTRIBUTIONS[self.distribution].median

    def _head(self) -> Head:
        return Head("prediction", (Block("exp", 1),), offset=self._median_error(), flat=True)

    def _location(self, X: ArrayLike) -> Floats:
        """Return f(x), on the scale of the logarithm of the time."""
        return self._output(X)[:, 0]
