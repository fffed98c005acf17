"""Feature selection for survival times: a network for the hazard relative to a baseline of any shape."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.estimators.documentation import documented
from riata.estimators.fitting import Settings
from riata.estimators.plots import SurvivalPlots
from riata.estimators.solving import Solved
from riata.estimators.supervised import Supervised
from riata.losses.survival import EVENT, Ranks, Survival, learn_survival
from riata.losses.targets import Target
from riata.network.head import Block, Head
from riata.path import selection
from riata.path.points import Point
from riata.survival.baseline import Baseline, breslow
from riata.survival.concordance import concordance
from riata.survival.step_function import StepFunction

__all__ = ["Baselines", "LassoNetCoxRegressor", "most_features"]

Floats = NDArray[np.float64]
_EVENTS_PER_FEATURE = 5  # Vittinghoff and McCulloch (2007)


@documented
@dataclass(repr=False, eq=False)
class LassoNetCoxRegressor(SurvivalPlots, Supervised):
    """Survival model that says which few features matter and uses only those: Cox's model with a network.

    The hazard of a sample is h(t | x) = h₀(t) exp(f(x)), with a baseline hazard h₀ of any shape and a residual network
    f(x) = skip(x) + g(x). The negative logarithm of the partial likelihood, as a mean over samples, plus λ Σ ‖skip_j‖ is
    minimised, where feature j may enter the hidden layers only as far as its linear weights allow. With M = 0 this is the lasso
    of Cox's model: ``CoxnetSurvivalAnalysis`` of scikit-survival with ``alphas=[λ]`` and ``l1_ratio=1``.

    Censoring is taken to be independent of the event given the features.

    The target has one row for each sample: a structured array with a boolean field for the event and a field for the time, as
    scikit-survival makes them; an array with the columns time and event, or entry, time and event; or a data frame with
    columns ``time`` and ``event`` and, where they apply, ``entry`` (the sample is under observation after this time only),
    ``strata`` (labels of groups with a baseline hazard of their own) and ``id`` (of the subject). Covariates that change over
    time are several rows of a subject, each from ``entry`` to ``time``; with ``id`` all or none of them are held
    out.

    Parameters
    ----------
    <parameters>
    select : {"auto", "best", "1se"} or float, default="auto"
        How a point is selected otherwise. "auto": the lowest validation loss among points with at most one feature for five
        events; "best": the lowest of the path; "1se": the fewest features whose validation loss exceeds the best by no more
        than one standard error of the difference, after a refit; a number: the last point whose λ does not exceed it.
        "1se" is not the default, as with a few hundred events one standard error is about all that features explain.
    ties : {"breslow", "efron"}, default="breslow"
        How events at the same time count. Efron's is the better approximation where many are tied; only with Breslow's a sample
        of weight two is the same as two samples.

    Attributes
    ----------
    <attributes>
    unique_times_ : array of shape (n_times,)
        The times of the training samples, at which survival functions are known.
    strata_ : array or None
        The strata of y, each of which has its own baseline hazard.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetCoxRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> time, censored = rng.exponential(np.exp(-X[:, 0] - X[:, 1])), rng.exponential(2, size=300)
    >>> y = np.column_stack([np.minimum(time, censored), time <= censored])
    >>> model = LassoNetCoxRegressor(hidden_dims=(10,), n_features_to_select=2, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.selected_), model.score(X, y) > 0.7
    (array([0, 1]), True)
    >>> model.predict_survival_function(X[:2])[0](0.5).round(1).shape
    ()
    """

    _: KW_ONLY
    select: str | float = "auto"
    ties: str = "breslow"

    _rules = ("auto", "best", "1se")

    def predict(self, X: ArrayLike) -> Floats:
        """Return the logarithm of each sample's hazard, (n,): higher where events come earlier.

        It is relative to a sample whose features have their means or, with ``preprocessing=None``, are zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples,)
            The log hazards.
        """
        log_hazard: Floats = self._output(X)[:, 0] - self._at_average()
        return log_hazard

    def predict_cumulative_hazard_function(
        self, X: ArrayLike, strata: ArrayLike | None = None, *, return_array: bool = False
    ) -> NDArray[Any]:
        """Return the cumulative hazard function of each sample: exp(f(x)) times Breslow's estimate of the baseline.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        strata : array-like of shape (n_samples,), optional
            The stratum of each sample; needed if y had strata.
        return_array : bool, default=False
            Return the values at ``unique_times_``, (n_samples, n_times), instead of functions of time.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_times)
            Functions of time, or their values.
        """
        hazard = self._cumulative_hazard(X, strata)
        return hazard if return_array else _functions(self.unique_times_, hazard, 0.0)

    def predict_survival_function(
        self, X: ArrayLike, strata: ArrayLike | None = None, *, return_array: bool = False
    ) -> NDArray[Any]:
        """Return the survival function of each sample, exp(−cumulative hazard).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        strata : array-like of shape (n_samples,), optional
            The stratum of each sample; needed if y had strata.
        return_array : bool, default=False
            Return the values at ``unique_times_``, (n_samples, n_times), instead of functions of time.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_times)
            Functions of time, or their values.
        """
        survival = np.exp(-self._cumulative_hazard(X, strata))
        return survival if return_array else _functions(self.unique_times_, survival, 1.0)

    def score(self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the concordance: the share of comparable pairs in which the sample with the higher risk has its event first.

        Harrell's index, with half a pair for equal risks; 0.5 for random risks. Samples are compared within strata, and while
        both are under observation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : array-like
            Their times and events, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
            The concordance.
        """
        return self._score_of(self._output(X), y, sample_weight)

    def _score_of(self, output: Floats, y: Any, sample_weight: Any) -> float:
        target, risk = check.survival(y), output[:, 0]
        check_consistent_length(risk, target)
        return concordance(target, risk, check.sample_weight(sample_weight, len(risk)))

    @property
    def coef_(self) -> Floats:
        """Weights of the linear part on the original scale of X, (d,).

        With M = 0 they are logarithms of hazard ratios. Otherwise the hidden layers may add to an effect, or reverse it:
        :func:`riata.feature_effects` describes whole effects.
        """
        coefficients: Floats = self._coefficients()[0]
        return coefficients

    @property
    def unique_times_(self) -> Floats:
        """The times of the training samples, at which survival functions are known."""
        check_is_fitted(self, "point_")
        return cast(Ranks, self._solved.target_scaling).times

    @property
    def strata_(self) -> NDArray[Any] | None:
        """The strata of y, each of which has its own baseline hazard."""
        check_is_fitted(self, "point_")
        return self._strata

    @property
    def score_name(self) -> str:
        """What ``score`` returns."""
        return "concordance"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = type(self).__new__(type(self))  # without the estimate that a pickle needs
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "point_"):
            self._baselines.at(self.point_)  # estimated while the training samples are there
        state: dict[str, Any] = super().__getstate__()
        return state

    # Steps of fit.

    def _plain_target(self, y: Any) -> Any:
        return y if y is None else check.survival(y)

    def _settings(self) -> Settings:
        check.one_of("ties", self.ties, ("breslow", "efron"))
        return super()._settings()

    def _validated(self, X: Any, y: Any, *, reset: bool, **how: Any) -> tuple[Any, Any]:
        strata = None if y is None else check.survival_strata(y)
        if reset:
            self._strata = strata
        elif strata is not None and self._strata is None:
            raise ValueError("y_val has strata, y has not: give both the column strata, or neither")
        return super()._validated(X, y, reset=reset, **how)

    def _learn_target(self, y: Any, weights: Floats) -> tuple[Target, Floats]:
        return learn_survival(y, self.ties)

    def _select(self, solved: Solved) -> Point:
        if self.select != "auto" or self.n_features_to_select is not None or solved.path.val_weights is None:
            rule = "best" if self.select == "auto" else self.select
            compared = solved.compared(self.refit)
            return selection.select(solved.path, self.n_features_to_select, rule, refit=compared, stacklevel=4)
        assert solved.refit is not None
        n_events = int(solved.refit.solver.problem.target[:, EVENT].sum())
        return solved.path[selection.best_of_few(solved.path, most_features(n_events))]

    def _store(self, solved: Solved, point: Point) -> Self:
        self._baselines = Baselines(solved, 1 if self._strata is None else len(self._strata))
        return super()._store(solved, point)

    def _labels(self, y: Any) -> tuple[Any, Any]:
        target = Survival(self.ties)
        return target.strata(y), target.subjects(y)

    def _sample_losses(self, X: Any, y: Floats, weights: Floats) -> Floats:
        """Return the loss of every sample in each of b tables, stacked to (b · n, d), for checked times, (n, 5): (b, n)."""
        log_hazards = self.predict(X).reshape(-1, len(y))
        return Survival(self.ties).losses(y, weights, log_hazards)

    # Hazards.

    def _at_average(self) -> float:
        """Return the output for a sample whose inputs are zero."""
        average = torch.zeros(1, self._solved.preprocessing.n_inputs)
        return float(self._solved.output_on_inputs(self.point_.weights, average)[0, 0])

    def _head(self) -> Head:
        return Head("log_hazard", (Block("linear", 1),), offset=-self._at_average(), flat=True)

    def _cumulative_hazard(self, X: ArrayLike, strata: ArrayLike | None) -> Floats:
        log_hazard = self._output(X)[:, 0]
        return self._baselines.at(self.point_).cumulative_hazard(log_hazard, self._codes(strata, len(log_hazard)))

    def _codes(self, strata: ArrayLike | None, n: int) -> NDArray[np.int64]:
        labels = self.strata_
        if labels is None:
            return np.zeros(n, dtype=np.int64)
        if strata is None:
            raise ValueError(
                "the model has strata, each with its own baseline hazard: give strata, one for each sample"
            )
        given = column_or_1d(np.asarray(strata))
        if len(given) != n:
            raise ValueError(f"strata must have one label for each of the {n} samples; it has {len(given)}")
        codes: NDArray[np.int64] = pd.Index(labels).get_indexer(pd.Index(given))
        if (codes < 0).any():
            unknown = pd.unique(given[codes < 0])[:10].tolist()
            raise ValueError(f"strata holds labels that y of fit does not: {', '.join(map(repr, unknown))}")
        return codes


@dataclass(frozen=True, eq=False)
class Baselines:
    """The baseline hazards of the points of a path, each estimated when it is first asked for.

    A pickle, which does not hold the training samples, has those of the points that were refitted, and of the one it is at.
    """

    solved: Solved
    n_strata: int
    known: dict[tuple[float, bool], Baseline] = field(default_factory=dict)  # by λ, and whether it is after a refit

    def at(self, point: Point) -> Baseline:
        """Return the estimate from the samples that a point was trained on."""
        key = point.lambda_, self.solved.is_refitted(point)
        if key not in self.known:
            self.known[key] = self._estimate(point)
        return self.known[key]

    def _estimate(self, point: Point) -> Baseline:
        refit = self.solved.refit
        if refit is None:
            raise ValueError(
                "the baseline hazard of this point needs the training samples, which a pickled or loaded model does not hold: "
                "move to the point before you pickle or save"
            )
        problem = refit.solver.problem
        weights = problem.weights if refit.all_weights is None else refit.all_weights
        n = weights.shape[1]
        inputs, _ = problem.samples(0, n)
        return breslow(
            problem.target[:n].cpu().numpy().astype(np.float64),
            cast(Ranks, self.solved.target_scaling).times,
            weights[0].cpu().numpy().astype(np.float64),
            self.solved.output_on_inputs(point.weights, inputs)[:, 0],
            self.n_strata,
        )

    def __getstate__(self) -> dict[str, Any]:
        if self.solved.refit is not None:
            for point in self.solved.refitted_points:
                self.at(point)
        return vars(self)

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # what is known of a point does not change


def most_features(n_events: int) -> int:
    """Return how many features so many events can tell from noise: one for five, a rule of thumb of regression models."""
    return max(1, n_events // _EVENTS_PER_FEATURE)


def _functions(times: Floats, values: Floats, start: float) -> NDArray[Any]:
    """Return an array of functions of time, one for each row of values."""
    functions = np.empty(len(values), dtype=object)
    functions[:] = [StepFunction(times, row, start) for row in values]
    return functions
