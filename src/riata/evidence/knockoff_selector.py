"""Select features with a bound on the expected share of false ones, by comparing each with its knockoff."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from riata import check, jobs
from riata.estimators import saving
from riata.evidence import gaussian, inner, knockoffs
from riata.evidence.knockoff_statistics import IMPORTANCES, Columns, Comparison, draw_and_compare
from riata.evidence.knockoffs import Floats, Ids
from riata.preprocess import categories
from riata.sources import in_memory
from riata.storage import Checkpoint

__all__ = ["KnockoffSelector"]
_LARGE = 1e100  # numbers whose squares, and those of their inverses, neither overflow nor vanish


@dataclass(repr=False, eq=False)
class KnockoffSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features so that the expected share of false ones among them stays below ``fdr``.

    For every column a knockoff is drawn: a column that is correlated with all others as the original is, and independent of the
    target given the originals. The estimator is fitted on both. The statistic W of a column is its importance less that of its
    knockoff. Where the target does not depend on the column given all others, W is as often negative as positive, so the
    number of negative W estimates how many of the positive ones are false.

    What the bound means: over many repetitions of data, knockoffs and selection, the share of false features among the
    selected (0 where none is selected) is at most ``fdr`` *on average*, if the samples are independent draws from the Gaussian
    that was estimated from X. A feature is false if the target does not depend on it given all other features; columns that
    are merely correlated with a true one are false. No assumption is made about how the target depends on the features, or
    about the estimator: a bad one selects few features, not false ones.

    What it does not mean: the share in this one selection may be larger; a single feature is not significant at ``fdr``; a
    feature that is not selected is not shown to be irrelevant; and nothing follows about causes. The bound is approximate
    where X is not Gaussian, such as with columns of few values, or where its covariance is estimated from few samples. It
    does not hold for the best of several values of ``fdr``, seeds or estimators.

    A selection has at least ⌈1 / fdr⌉ features, or none: 10 at ``fdr=0.1``.

    Parameters
    ----------
    estimator : estimator
        A LassoNet, anything with ``feature_importances_`` or ``coef_`` once it is fitted, or a pipeline that ends in one and
        keeps the columns. Its random states are set from that of the selector.
    fdr : float, default=0.1
        The bound, above 0 and up to 1.
    n_draws : int, default=1
        How many times knockoffs are drawn. With one draw another seed may select other features. With more, the features are
        selected by the average of their e-values over the draws, each with its threshold at ``fdr / 2``: the selection
        depends less on the seed, and each draw must select ⌈2 / fdr⌉ features or none.
    n_fits : int, default=4
        How many fits with different seeds to average for each draw, where the estimator has a ``random_state``.
    importance : {"auto", "prediction_change", "estimator"}, default="auto"
        The importances that are compared. "prediction_change": the mean squared change of the predictions when a column is
        set to its mean; for a LassoNet at the sparsest point of its path within one standard error of the lowest validation
        loss, averaged with that of the linear model (M = 0), which finds more where effects are linear. "estimator":
        ``feature_importances_``, for a LassoNet the λ at which a feature leaves its path, or ``coef_``. "auto" is
        "prediction_change" for a LassoNet with validation samples, and "estimator" otherwise.
    method : {"mvr", "sdp", "equicorrelated"}, default="mvr"
        The objective that knockoffs optimise. "mvr": as hard to predict from the other columns as possible; "sdp": as little
        correlated with their originals as possible; "equicorrelated": the same, with one correlation for all.
    covariance : {"ledoit-wolf", "graphical-lasso", "empirical"}, default="ledoit-wolf"
        How the covariance of the columns is estimated; "empirical" where there are many samples per column.
    feature_groups : list, dict or array, optional
        Groups of columns that are selected together, such as the one-hot columns of one variable, as one label per feature
        or as lists of columns. None is the ``feature_groups`` of the estimator, if it has any.
    n_jobs : int, optional
        How many fits to run at once, as in joblib; -1 for as many as there are cores. Results do not depend on it. If not
        given, on a GPU the networks of all fits are trained side by side.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None
        Seed of the knockoffs and of the estimator.
    checkpoint : str or path, optional
        A folder, which is made, for what is complete: the importances of each fit, and of fits under way their paths.
        ``fit(..., resume=True)`` continues after the last of it, and selects what an unbroken run does. With a checkpoint
        networks are trained one by one on a GPU, too.

    Attributes
    ----------
    selected_ : bool array of shape (d,)
        The selected features. A constant column is never one of them.
    n_selected_ : int
        Their number.
    groups_ : int array of shape (d,)
        The group of each feature, from 0 on; its position where there are no groups.
    statistics_ : array of shape (groups,) or (n_draws, groups)
        W of each group, as a share of the sum of all importances; 0 where all columns are constant.
    threshold_ : float or array of shape (n_draws,)
        The smallest W that is selected, infinite if none is; with several draws, the smallest with an e-value in each.
    e_values_ : array of shape (groups,)
        E-value of each group, averaged over the draws: large values are evidence against its being false.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : array of shape (d,)
        Their names, if X has names.

    Examples
    --------
    >>> from riata.evidence import KnockoffSelector
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import LassoCV
    >>> X, y = make_regression(n_samples=300, n_features=40, n_informative=15, noise=10, shuffle=False, random_state=1)
    >>> selector = KnockoffSelector(LassoCV(), fdr=0.1, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)  # the first 15 are true, and one in ten may be false
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 34])
    """

    estimator: Any
    _: KW_ONLY
    fdr: float = 0.1
    n_draws: int = 1
    n_fits: int = 4
    importance: str = "auto"
    method: str = "mvr"
    covariance: str = "ledoit-wolf"
    feature_groups: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None
    checkpoint: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, resume: bool = False) -> Self:
        """Draw knockoffs, fit the estimator on columns and knockoffs, and select.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Numbers and dates, with missing values replaced by the mean of the column, and categories, by type or by the
            estimator's ``categorical_features``. A category is compared as a group of 0/1 columns, one for each level but the
            most common.
        y : array of shape (n,) or (n, outputs)
            The target of the estimator.
        sample_weight : array of shape (n,), optional
            Weights for the estimator; samples of weight 0 are left out.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.
        """
        self._check_settings(sample_weight)
        self.__dict__.pop("selected_", None)  # of an earlier fit, if this one is interrupted
        table, source, target, weights = self._check_data(X, y, sample_weight)
        columns = self._columns((np.ptp(table, axis=0) > 0) & (table.std(axis=0) > 0), source)
        table = table[:, columns.varying]
        self._warn_of_few_values(table, columns)
        prepared = knockoffs.prepare(gaussian.learn(table, self.covariance), columns.ids, self.method)
        comparison = Comparison(self.estimator, self.importance, columns, table, target, weights)
        with saving.opened(self, resume) as saved:
            random = check_random_state(saved.seed(self.random_state))
            seeds = random.randint(np.iinfo(np.int32).max, size=self.n_draws)
            data = {"X": table, "y": target, "sample_weight": weights, "the groups of columns": columns}
            saved.begin(lambda: saving.fingerprint(self, data))
            found = self._run(comparison, prepared, seeds.tolist(), saved)
        pairs = np.array(found).reshape(self.n_draws, -1, 2, found[0].shape[1]).mean(axis=1)
        W = pairs[:, 0] - pairs[:, 1]  # (n_draws, G)
        self._select(W, columns)
        if not self.n_selected_:
            self._warn_of_nothing(W)
        return self

    def _run(
        self, comparison: Comparison, prepared: knockoffs.Knockoffs, seeds: list[int], saved: Checkpoint
    ) -> list[Floats]:
        """Return the importances of every fit of every draw."""
        n_fits, todo = self.n_fits if inner.random(self.estimator) else 1, []
        for i, seed in enumerate(seeds):
            for fit in range(1, n_fits + 1):
                part = saved.part("fit", i * n_fits + fit)
                arguments = (draw_and_compare, part, comparison._replace(part=part), prepared, seed, fit)
                todo.append(jobs.Job(f"draw {i + 1} of {self.n_draws}, fit {fit} of {n_fits}", arguments))
        beside = self.checkpoint is None and jobs.beside(self.n_jobs, inner.on_gpu(self.estimator))
        return jobs.run(
            saving.kept, todo, n_jobs=self.n_jobs, side_by_side=beside, title="knockoffs", shown=bool(self.verbose)
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "selected_")
        return self.selected_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    # Steps of fit.

    def _check_settings(self, sample_weight: Any) -> None:
        inner.refuse_distributed(self.estimator, type(self).__name__)
        inner.without_checkpoint(self.estimator)
        check.number("fdr", self.fdr, high=1, above=True)
        check.whole("n_draws", self.n_draws, 1)
        check.whole("n_fits", self.n_fits, 1)
        check.one_of("importance", self.importance, IMPORTANCES)
        check.one_of("method", self.method, knockoffs.METHODS)
        check.one_of("covariance", self.covariance, tuple(gaussian.COVARIANCES))
        if not get_tags(inner.last_step(self.estimator)).target_tags.required:
            raise ValueError(
                f"estimator must predict a target from features; {self.estimator!r} needs none, as its tags say"
            )
        if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"fit of {type(self.estimator).__name__} takes no sample_weight: leave it out")

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, Ids, Any, Floats | None]:
        """Check X, y and weights, leave out samples of weight zero, and turn categories into 0/1 columns.

        Also return the feature that each column comes from.
        """
        X = in_memory(X, type(self).__name__)
        asked = inner.given(self.estimator, "categorical_features")
        learnt = categories.learn(X, "from_dtype" if asked is None else asked, sample_weight)
        if learnt is not None:
            X = learnt.encode(X)
        X = check.numeric_frame(X, type(self).__name__)
        X, y = validate_data(
            self,
            X,
            inner.plain_target(self.estimator, y),
            dtype=np.float64,
            multi_output=True,
            ensure_min_samples=3,  # fewer have no covariance
            ensure_all_finite="allow-nan",
        )
        X = self._filled(_in_range(X))
        weights = None
        if sample_weight is not None:
            weights = check.sample_weight(sample_weight, len(X))
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        if learnt is None:
            return X, np.arange(X.shape[1]), y, weights
        n_levels = learnt.n_levels(X.shape[1])  # the most common level has the code 0
        parts = [X[:, [j]] if n < 2 else X[:, [j]] == np.arange(1, n) for j, n in enumerate(n_levels)]
        source = np.repeat(np.arange(X.shape[1]), [part.shape[1] for part in parts])
        return np.hstack(parts).astype(np.float64), source, y, weights

    def _filled(self, X: Floats) -> Floats:
        """Replace missing values by the mean of the column, which does not depend on the target."""
        missing = np.isnan(X)
        if not missing.any():
            return X
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        warnings.warn(
            f"{int(missing.any(axis=0).sum())} of {X.shape[1]} columns have missing values "
            f"({', '.join(str(name) for name in names[missing.any(axis=0)][:5])}), which are replaced by the mean of the "
            "column: whether values are missing plays no part in the selection",
            UserWarning,
            stacklevel=4,
        )
        n_known = (~missing).sum(axis=0)
        return np.where(missing, np.where(missing, 0, X).sum(axis=0) / np.maximum(n_known, 1), X)

    def _columns(self, varying: NDArray[np.bool_], source: Ids) -> Columns:
        """Resolve groups and costs of the columns that are not constant."""
        names, d = getattr(self, "feature_names_in_", None), self.n_features_in_
        given = self.feature_groups
        if given is None:
            given = inner.given(self.estimator, "feature_groups")
        grouped = check.groups(given, names, d)
        costs = inner.given(self.estimator, "feature_costs")
        costs = None if costs is None else check.costs(costs, names, d, grouped)[source[varying]]
        groups = np.arange(d) if grouped is None else grouped
        varying_groups, ids = np.unique(groups[source[varying]], return_inverse=True)
        self._check_number(len(varying_groups), "columns" if grouped is None else "groups")
        several = grouped is not None or len(varying_groups) < len(ids)
        return Columns(varying, source[varying], groups, varying_groups, ids, several, costs)

    def _check_number(self, n_groups: int, what: str) -> None:
        """Refuse numbers of columns from which nothing can be selected, whatever the data."""
        needed = knockoffs.fewest(self._level())
        if n_groups >= needed:
            return
        least = self.fdr / self._level() / n_groups if n_groups else np.inf
        remedies = (
            [f"use fdr={np.ceil(1000 * least) / 1000:g} or more"] if least <= 1 else [f"there must be more {what}"]
        )
        if self.n_draws > 1 and n_groups:
            remedies.append("use n_draws=1")
        raise ValueError(
            f"fdr={self.fdr:g} with n_draws={self.n_draws} needs at least {needed} {what}, as fewer can never be selected; "
            f"X has {n_groups} that are not constant: {', or '.join(remedies)}"
        )

    def _level(self) -> float:
        """Return the level of the threshold of each draw."""
        return self.fdr if self.n_draws == 1 else self.fdr / 2

    def _warn_of_few_values(self, X: Floats, columns: Columns) -> None:
        few = np.unique(columns.source[[gaussian.has_few_values(x) for x in X.T]])
        if len(few):
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            shown = ", ".join(str(names[j]) for j in few[:5]) + (" …" if len(few) > 5 else "")
            warnings.warn(
                f"{len(few)} of {self.n_features_in_} columns have at most {gaussian.FEW_VALUES} different values ({shown}): "
                "their knockoffs match them in mean and covariance only, so that fdr holds approximately",
                UserWarning,
                stacklevel=3,
            )

    def _select(self, W: Floats, columns: Columns) -> None:
        """Select from the statistics of all draws, (n_draws, G)."""
        level = self._level()
        # With one draw this is knockoff+: all groups that reach its threshold have a sufficient e-value.
        e = np.mean([knockoffs.e_values(w, level) for w in W], axis=0)
        thresholds = np.array([knockoffs.threshold(w, level) for w in W])
        one = self.n_draws == 1
        self.groups_ = columns.groups
        self.threshold_ = float(thresholds[0]) if one else thresholds
        self.statistics_ = columns.scatter(W[0] if one else W)
        self.e_values_ = columns.scatter(e)
        varies = np.isin(np.arange(self.n_features_in_), columns.source)
        self.selected_ = columns.scatter(knockoffs.e_bh(e, self.fdr))[columns.groups] & varies
        self.n_selected_ = int(self.selected_.sum())

    def _warn_of_nothing(self, W: Floats) -> None:
        best = min((knockoffs.best_cut(w) for w in W), key=lambda cut: cut.estimate)
        if best.size:
            where = "" if self.n_draws == 1 else f" in the best of {self.n_draws} draws"
            found = (
                f"the best cut{where} has {best.size} of {W.shape[1]} and an estimated share of false ones of "
                f"{best.estimate:.2g}"
            )
        else:
            found = "no feature is more important than its knockoff"
        if self.n_draws > 1:
            reached = int(np.isfinite(self.threshold_).sum())
            found += f" ({reached} draws reached their threshold at fdr / 2: with n_draws=1 more may be selected)"
        warnings.warn(
            f"nothing is selected at fdr={self.fdr:g}: {found}. Fewer than {knockoffs.fewest(self.fdr)} can never be "
            "selected at this fdr; if you expect fewer true features, set a larger fdr before looking at the data. Otherwise "
            "more samples, feature_groups for columns that are strongly correlated, or a better estimator may help",
            UserWarning,
            stacklevel=3,
        )


def _in_range(X: Floats) -> Floats:
    """Bring columns whose squares would overflow or vanish to another unit, which plays no part in the selection."""
    largest = np.nanmax(np.abs(X), axis=0, initial=0.0)
    far = (largest > _LARGE) | ((largest > 0) & (largest < 1 / _LARGE))
    if not far.any():
        return X
    _, exponents = np.frexp(largest)
    scaled: Floats = np.ldexp(X, -np.where(far, exponents, 0))
    return scaled
