"""Select columns with a bound on the share of false ones: an estimator, fitted on the columns and their knockoffs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from riata import check, jobs
from riata.evidence import gaussian, inner, knockoffs
from riata.evidence.knockoffs import Floats, Ids
from riata.preprocess import categories, marginal

__all__ = ["KnockoffSelector"]

_FEWEST_ROWS = 3  # fewer have no covariance


class KnockoffSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features so that the expected share of false ones among them stays below ``fdr``.

    For every column a knockoff is drawn: a column that relates to all others as the original does, and says nothing of the
    target. The estimator is fitted on both. W, the importance of a column less that of its knockoff, is as often negative as
    positive where a column says nothing of the target that the others do not say, so the negative ones show how many of the
    positive ones are false.

    What the bound means: over many repetitions of data, knockoffs and selection, the share of false features among the
    selected (0 where none is selected) is at most ``fdr`` *on average*, if the rows are independent draws from the Gaussian
    that was estimated from X. A feature is false if the target does not depend on it given all other features; columns that
    merely go along with a true one are false. No assumption is made about how the target depends on the features, or about
    the estimator: a bad one selects few features, not false ones.

    What it does not mean: the share in this one selection may be larger; a single feature is not significant at ``fdr``; a
    feature that is not selected is not shown to be irrelevant; and nothing is said of causes. The bound is approximate
    where X is not Gaussian, such as with columns of few values, or where its covariance is estimated from few rows. It
    does not survive trying several values of ``fdr``, seeds or estimators and keeping the one that selects most.

    A selection has at least ⌈1 / fdr⌉ features, or none: 10 at ``fdr=0.1``.

    Parameters
    ----------
    estimator : estimator
        A LassoNet, anything with ``feature_importances_`` or ``coef_`` once it is fitted, or a pipeline that ends in one and
        keeps the columns. Its random states are set from that of the selector.
    fdr : float, default=0.1
        The bound, above 0 and up to 1.
    n_draws : int, default=1
        How often to draw knockoffs. With one draw another seed may select other features. With more, the features are
        selected by the average of their e-values over the draws, each with its threshold at ``fdr / 2``: less depends on
        chance, and each draw must select ⌈2 / fdr⌉ features or none.
    n_fits : int, default=4
        How many fits with seeds of their own to average for each draw, where the estimator has a ``random_state``.
    importance : {"auto", "reliance", "own"}, default="auto"
        What is compared. "reliance": how far the predictions move, in the mean square over rows, when a column is set to its
        mean; for a LassoNet at the sparsest point of its path within one standard error of the lowest validation loss, and
        half of it in the linear model that it is with M = 0, which finds more where effects are linear.
        "own": ``feature_importances_``, for a LassoNet the λ at which a feature leaves its path, or ``coef_``. "auto" is
        reliance for a LassoNet with validation rows, and own otherwise.
    method : {"mvr", "sdp", "equicorrelated"}, default="mvr"
        What knockoffs should be like. "mvr": as hard to tell from the other columns as possible; "sdp": as little correlated
        with their originals as possible; "equicorrelated": the same, with one correlation for all.
    covariance : {"ledoit-wolf", "graphical-lasso", "empirical"}, default="ledoit-wolf"
        How the covariance of the columns is estimated; "empirical" where there are many rows for each column.
    feature_groups : list, dict or array, optional
        Groups of columns that are selected together, such as the one-hot columns of one variable, as one label per feature
        or as lists of columns. None is the ``feature_groups`` of the estimator, if it has any.
    n_jobs : int, optional
        How many fits to work on at once, as in joblib; -1 for as many as there are cores. Results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None
        Seed of the knockoffs and of the estimator.

    Attributes
    ----------
    selected_ : bool array of shape (d,)
        The selected features. A constant column is never one of them.
    n_selected_ : int
        Their number.
    groups_ : int array of shape (d,)
        The group of each feature, from 0 on; its own position without groups.
    statistics_ : array of shape (groups,) or (n_draws, groups)
        W of each group, as a share of all importance; 0 where all columns are constant.
    threshold_ : float or array of shape (n_draws,)
        The smallest W that is selected, infinite if none is; with several draws, the smallest with an e-value in each.
    e_values_ : array of shape (groups,)
        E-value of each group, averaged over the draws: large values speak against its being false.
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

    def __init__(
        self,
        estimator,
        *,
        fdr=0.1,
        n_draws=1,
        n_fits=4,
        importance="auto",
        method="mvr",
        covariance="ledoit-wolf",
        feature_groups=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.estimator = estimator
        self.fdr = fdr
        self.n_draws = n_draws
        self.n_fits = n_fits
        self.importance = importance
        self.method = method
        self.covariance = covariance
        self.feature_groups = feature_groups
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Draw knockoffs, fit the estimator on both, and select.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Numbers and dates, with the mean of the column for gaps, and categories, by type or by the estimator's
            ``categorical_features``. A category is compared as a group of 0/1 columns, one for each level but the commonest.
        y : array of shape (n,) or (n, outputs)
            What the estimator predicts.
        sample_weight : array of shape (n,), optional
            Handed on to the estimator; rows of weight 0 are left out.
        """
        self._check_settings(sample_weight)
        self.__dict__.pop("selected_", None)  # of an earlier fit, if this one is interrupted
        rows, source, target, weights = self._check_rows(X, y, sample_weight)
        columns = self._columns((np.ptp(rows, axis=0) > 0) & (rows.std(axis=0) > 0), source)
        rows = rows[:, columns.used]
        self._warn_of_few_values(rows, columns)
        model = knockoffs.prepare(gaussian.learn(rows, self.covariance), columns.ids, self.method)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_draws)
        n_fits = self.n_fits if inner.random(self.estimator) else 1
        data = self.estimator, self.importance, model, columns, rows, target, weights
        todo = [
            jobs.Job(f"draw {i} of {self.n_draws}, fit {fit} of {n_fits}", (*data, int(seed), fit))
            for i, seed in enumerate(seeds, start=1)
            for fit in range(1, n_fits + 1)
        ]
        pairs = np.array(jobs.run(_pair, todo, n_jobs=self.n_jobs, title="knockoffs", shown=bool(self.verbose)))
        own, copied = pairs.reshape(self.n_draws, n_fits, 2, -1).mean(axis=1).transpose(1, 0, 2)
        self._select(own - copied, columns)
        if not self.n_selected_:
            self._warn_of_nothing(own - copied)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "selected_")
        return self.selected_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    # Steps of fit.

    def _check_settings(self, sample_weight: Any) -> None:
        check.number("fdr", self.fdr, high=1, above=True)
        check.whole("n_draws", self.n_draws, 1)
        check.whole("n_fits", self.n_fits, 1)
        check.one_of("importance", self.importance, ("auto", "reliance", "own"))
        check.one_of("method", self.method, knockoffs.METHODS)
        check.one_of("covariance", self.covariance, tuple(gaussian.COVARIANCES))
        if not get_tags(inner.last_step(self.estimator)).target_tags.required:
            raise ValueError(f"estimator must predict a target from features; {self.estimator!r} needs none")
        if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"fit of {type(self.estimator).__name__} takes no sample_weight: leave it out")

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, Ids, Any, Floats | None]:
        """Check X, y and weights, leave out rows of weight zero, and turn categories into 0/1 columns.

        Also return the feature that each column comes from.
        """
        asked = inner.given(self.estimator, "categorical_features")
        learnt = categories.learn(X, "from_dtype" if asked is None else asked, sample_weight)
        if learnt is not None:
            X = learnt.encode(X)
        X = check.numeric_frame(X, type(self).__name__)
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            multi_output=True,
            ensure_min_samples=_FEWEST_ROWS,
            ensure_all_finite="allow-nan",
        )
        X = self._filled(X)
        weights = None
        if sample_weight is not None:
            weights = check.sample_weight(sample_weight, len(X))
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        if learnt is None:
            return X, np.arange(X.shape[1]), y, weights
        n_levels = learnt.n_levels(X.shape[1])  # the commonest has the code 0
        parts = [X[:, [j]] if n < 2 else X[:, [j]] == np.arange(1, n) for j, n in enumerate(n_levels)]
        source = np.repeat(np.arange(X.shape[1]), [part.shape[1] for part in parts])
        return np.hstack(parts).astype(np.float64), source, y, weights

    def _filled(self, X: Floats) -> Floats:
        """Put means in the place of gaps: knockoffs are drawn for whole columns, and the target has no part in this."""
        gaps = np.isnan(X)
        if not gaps.any():
            return X
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        warnings.warn(
            f"{int(gaps.any(axis=0).sum())} of {X.shape[1]} columns have missing values "
            f"({', '.join(str(name) for name in names[gaps.any(axis=0)][:5])}), in whose place knockoffs see the mean of the "
            "column: whether values are missing plays no part in the selection",
            UserWarning,
            stacklevel=4,
        )
        n_known = (~gaps).sum(axis=0)
        return np.where(gaps, np.where(gaps, 0, X).sum(axis=0) / np.maximum(n_known, 1), X)

    def _columns(self, used: NDArray[np.bool_], source: Ids) -> _Columns:
        """Learn which columns go together."""
        names, d = getattr(self, "feature_names_in_", None), self.n_features_in_
        given = self.feature_groups
        if given is None:
            given = inner.given(self.estimator, "feature_groups")
        grouped = check.groups(given, names, d)
        weights = inner.given(self.estimator, "feature_costs")
        costs = None if weights is None else check.costs(weights, names, d, grouped)[source[used]]
        groups = np.arange(d) if grouped is None else grouped
        live, ids = np.unique(groups[source[used]], return_inverse=True)
        self._check_number(len(live), "columns" if grouped is None else "groups")
        return _Columns(used, source[used], groups, live, ids, len(live) < len(ids) or grouped is not None, costs)

    def _check_number(self, n_groups: int, what: str) -> None:
        """Refuse what cannot select anything, whatever the data."""
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

    def _warn_of_few_values(self, X: Floats, columns: _Columns) -> None:
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

    def _select(self, W: Floats, columns: _Columns) -> None:
        """Select from the statistics of all draws, (n_draws, live groups)."""
        level = self._level()
        # With one draw this is knockoff+: all groups that reach its threshold have the e-value that they need.
        e = np.mean([knockoffs.e_values(w, level) for w in W], axis=0)
        thresholds = np.array([knockoffs.threshold(w, level) for w in W])
        one = self.n_draws == 1
        self.groups_ = columns.groups
        self.threshold_ = float(thresholds[0]) if one else thresholds
        self.statistics_ = columns.over_all(W[0] if one else W)
        self.e_values_ = columns.over_all(e)
        varies = np.isin(np.arange(self.n_features_in_), columns.source)
        self.selected_ = columns.over_all(knockoffs.e_bh(e, self.fdr))[columns.groups] & varies
        self.n_selected_ = int(self.selected_.sum())

    def _warn_of_nothing(self, W: Floats) -> None:
        best = min((knockoffs.best_cut(w) for w in W), key=lambda cut: cut.estimate)
        one = self.n_draws == 1
        where = "" if one else f" in the best of {self.n_draws} draws"
        reached = int(np.isfinite(self.threshold_).sum())
        found = (
            f"the best cut{where} has {best.size} of {W.shape[1]} and an estimated share of false ones of {best.estimate:.2g}"
            if best.size
            else "no feature is more important than its knockoff"
        )
        again = (
            "" if one else f" ({reached} draws reached their threshold at fdr / 2: with n_draws=1 more may be selected)"
        )
        warnings.warn(
            f"nothing is selected at fdr={self.fdr:g}: {found}{again}. Fewer than {knockoffs.fewest(self.fdr)} can never be "
            "selected at this fdr; if you expect fewer true features, set a larger fdr before looking at the data. Otherwise "
            "more rows, feature_groups for columns that say nearly the same, or a better estimator may help",
            UserWarning,
            stacklevel=3,
        )


class _Columns(NamedTuple):
    """Which columns go together."""

    used: NDArray[np.bool_]  # those that vary: nothing can be told from the knockoff of a constant
    source: Ids  # the feature of each column in use
    groups: Ids  # (d,), of the features
    live: Ids  # (G,), the groups with columns in use
    ids: Ids  # one per column in use, from 0 to G − 1
    grouped: bool
    costs: Floats | None  # one per column in use, where the estimator has costs

    def over_all(self, values: NDArray[Any]) -> NDArray[Any]:
        """Fill in zero for the groups that are not in use."""
        filled = np.zeros((*values.shape[:-1], self.groups.max() + 1), dtype=values.dtype)
        filled[..., self.live] = values
        return filled


def _pair(
    estimator: Any,
    importance: str,
    model: knockoffs.Knockoffs,
    columns: _Columns,
    X: Floats,
    y: Any,
    weights: Floats | None,
    seed: int,
    fit: int,
) -> Floats:
    """Draw knockoffs, the same for every fit of a draw, and weigh them against the columns."""
    copies = model.draw(X, np.random.default_rng(seed))
    return weigh(estimator, importance, columns, X, copies, y, weights, np.random.default_rng([seed, fit]))


def weigh(
    estimator: Any,
    importance: str,
    columns: _Columns,
    X: Floats,
    copies: Floats,
    y: Any,
    weights: Floats | None,
    random: np.random.Generator,
) -> Floats:
    """Return the shares of all importance in a fit on both that the groups have, and that their knockoffs have: (2, G).

    Which of the two comes first is drawn for every group, so that nothing depends on it.
    """
    swapped = random.random(len(columns.live)) < 0.5
    swap = swapped[columns.ids]
    both = np.hstack([np.where(swap, copies, X), np.where(swap, X, copies)])
    model, given = _adapted(estimator, columns, random), {} if weights is None else {"sample_weight": weights}
    model.fit(both, y, **given)
    ids = np.append(columns.ids, columns.ids + len(columns.live))
    if importance == "reliance" or (importance == "auto" and inner.validated(model)):
        linear = inner.linear(model)
        models = [model] if linear is None else [model, linear.fit(both, y, **given)]
        found = np.sum([_share(inner.reliance(each, both, ids)) for each in models], axis=0)
    else:
        found = np.zeros(2 * len(columns.live))
        np.maximum.at(found, ids, inner.importances(model, both.shape[1]))
    found = np.where(
        _unclear(columns, both, ids, y, weights, classes=is_classifier(model) and np.ndim(y) == 1), 0, found
    )
    pair = _share(found).reshape(2, -1)
    return np.where(swapped, pair[::-1], pair)


def _share(found: Floats) -> Floats:
    return found / max(found.sum(), np.finfo(float).tiny)


def _unclear(
    columns: _Columns, both: Floats, ids: Ids, y: Any, weights: Floats | None, *, classes: bool
) -> NDArray[np.bool_]:
    """Say which groups, and which of their knockoffs, hold a category without a clear marginal association, (2G,).

    Clear is what one in 2G groups of noise would show. A network relies on noise with many levels more than on noise in
    numbers, and the sign of one large statistic would decide. Swapping a group and its knockoff swaps this, too.
    """
    n_features = np.bincount(columns.ids[np.unique(columns.source, return_index=True)[1]], minlength=len(columns.live))
    words = np.tile(np.bincount(columns.ids) > n_features, 2)
    if not words.any():
        return words
    target = pd.get_dummies(y).to_numpy() if classes else np.asarray(y).reshape(len(both), -1)
    share = marginal.effective(np.ones(len(both)) if weights is None else weights)
    seen = marginal.measure(both, target.astype(np.float64), share)
    chance = marginal.of_groups(seen, both, target.astype(np.float64), share, ids).p_values
    return words & (chance * len(chance) > 1)


def _adapted(estimator: Any, columns: _Columns, random: np.random.Generator) -> Any:
    """Return a fresh copy with seeds of its own that knows about twice as many columns."""
    model = inner.seeded(estimator, random)
    settings: dict[str, Any] = {}
    for key in model.get_params():
        name = key.rpartition("__")[-1]
        if name == "feature_groups" and columns.grouped:
            settings[key] = np.append(columns.ids, columns.ids + len(columns.live))
        elif name == "feature_costs" and columns.costs is not None:
            settings[key] = np.tile(columns.costs, 2)
        elif name == "categorical_features":
            settings[key] = None
    return model.set_params(**settings)
