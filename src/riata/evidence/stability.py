"""Select the features that many random halves of the samples agree on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from riata import check
from riata.estimators import saving
from riata.estimators.selector import ColumnSelector, named
from riata.evidence import bounds, halves, inner
from riata.jobs import Job, beside, run
from riata.preprocess import categories
from riata.sources import in_memory
from riata.storage import Checkpoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StabilitySelector"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(repr=False, eq=False)
class StabilitySelector(ColumnSelector, MetaEstimatorMixin, BaseEstimator):
    """Select features that many random halves of the samples agree on, with a bound on false selections.

    The samples are split at random into two halves, ``n_resamples / 2`` times. On each half the estimator ranks the features,
    and the q most important ones are taken. Features taken from at least a share ``threshold`` of the halves are selected.

    What the bound means: over many repetitions of data and halves, the number of selected features that are taken no more
    often than by chance (with probability q / p) is at most ``max_false`` *on average*. If features that are not associated
    with the target are taken no more often than a random choice would take them, they are among these. What it does not mean:
    that a column correlated with a true one counts as false, that this one selection holds no more false ones, or that a
    feature that is not selected is irrelevant: there may be more than q, and of redundant columns each is taken from some of
    the halves.

    Parameters
    ----------
    estimator : estimator
        Anything with ``feature_importances_`` or ``coef_`` once it is fitted. Features of importance zero are never
        taken. Its random states are set from that of the selector.
    max_false : float, default=1
        Bound on the expected number of false selections.
    n_features : int, optional
        q, the number of features (of groups) taken from each half. By default the largest for which ``threshold`` keeps
        the bound.
    threshold : float, optional
        Share of the halves, above 0.5. By default the smallest that keeps the bound, or 0.75 where ``n_features`` is not
        given either. With both given, ``max_false`` is not used, and ``false_bound_`` is the bound that they imply.
    n_resamples : int, default=100
        Number of halves, even: they come in complementary pairs.
    assumption : {"r-concave", "unimodal", "none"}, default="r-concave"
        What is assumed of the distribution of selection frequencies of a feature that is taken by chance: that it is
        r-concave (a tail of moderate shape), that it is unimodal, or nothing. Less assumed means fewer features selected.
    feature_groups : sequence, optional
        Columns that are taken together, as for :class:`LassoNetClassifier`; by default those of the estimator. A group is as
        important as its most important column.
    n_jobs : int, optional
        How many halves to fit at once, as in joblib; -1 for all cores. Results do not depend on it. If not given, on a GPU the
        networks of all halves are trained side by side.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves and of the estimators.
    checkpoint : str or path, optional
        A folder, which is made, for what is complete: the importances on each half, and of fits under way their paths.
        ``fit(..., resume=True)`` continues after the last of it, and selects what an unbroken run does. With a checkpoint
        networks are trained one by one on a GPU, too.

    Attributes
    ----------
    selected_ : bool array of shape (n_features,)
        The features that are taken often enough.
    n_selected_ : int
        Their number.
    frequencies_ : array of shape (n_features,)
        Share of the halves that each feature is taken from.
    path_frequencies_ : DataFrame of shape (n_groups, n_features)
        The same for every number of features taken, from 1 to all.
    threshold_, n_features_taken_ : float, int
        τ and q as they were used.
    false_bound_ : float
        Bound on the expected number of false selections for these.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from riata import LassoNetClassifier, StabilitySelector, Training
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> estimator = LassoNetClassifier(hidden_dims=(10,), training=Training(path_multiplier=1.1))
    >>> selector = StabilitySelector(estimator, n_resamples=10, random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] == selector.n_selected_
    True
    """

    estimator: Any
    _: KW_ONLY
    max_false: float = 1.0
    n_features: int | None = None
    threshold: float | None = None
    n_resamples: int = 100
    assumption: str = "r-concave"
    feature_groups: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None
    checkpoint: Any = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Rank the features on every half, and select those that are taken from enough of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, and missing values, dates and categories where the estimator accepts them. Column names of a data frame
            are kept.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target, as the estimator takes it. Halves keep the shares of classes, and of events.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, for the estimator.
        groups : array-like of shape (n_samples,), optional
            Samples that go to the same half, such as those of one patient.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.

        Returns
        -------
        self
            The fitted selector.
        """
        n_pairs = self._check_settings()
        self.__dict__.pop("selected_", None)  # of an earlier fit, if this one is interrupted
        table, target = self._check_data(X, y)
        n = table.shape[0]
        weights = self._check_weights(sample_weight, n)
        ids = self._ids()
        self._complete(int(ids.max()) + 1, n_pairs)
        with saving.opened(self, resume) as saved:
            random = check_random_state(saved.seed(self.random_state))
            rng = np.random.default_rng(random.randint(np.iinfo(np.int32).max))
            units, strata = halves.sampling_units(n, *inner.labels(self.estimator, target, groups))
            samples = [half for _ in range(n_pairs) for half in halves.complementary(units, strata, rng)]
            data = {
                "X": table,
                "y": target,
                "sample_weight": weights,
                "the groups of columns": ids,
                "the halves": samples,
            }
            saved.begin(lambda: saving.fingerprint(self, data))
            found = self._run([(table, target, weights, half) for half in samples], rng, saved)
            self._select(np.array([_ranks(values, ids, rng) for values in found]), ids)
        return self

    @property
    def n_selected_(self) -> int:
        """Number of selected features."""
        check_is_fitted(self, "selected_")
        return int(self.selected_.sum())

    def plot(self, *, names: Sequence[str] | None = None, top: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the selection frequencies of the most stable features as bars, and the threshold.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the columns; those with the same name are one bar. By default the names of ``fit``.
        top : int
            How many features to show at most.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.stability`.
        """
        check_is_fitted(self, "selected_")
        from riata import plot

        return plot.stability(self, names=names, top=top, ax=ax)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "selected_")
        selected: NDArray[np.bool_] = self.selected_
        return selected

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        tags.classifier_tags = get_tags(self.estimator).classifier_tags
        return tags

    # Steps of fit.

    def _check_settings(self) -> int:
        """Check the parameters; return the number of pairs."""
        inner.refuse_distributed(self.estimator, type(self).__name__)
        inner.without_checkpoint(self.estimator)
        if check.whole("n_resamples", self.n_resamples, 2) % 2:
            raise ValueError(f"n_resamples must be even, as halves come in pairs; got {self.n_resamples}")
        check.number("max_false", self.max_false, above=True)
        check.one_of("assumption", self.assumption, bounds.ASSUMPTIONS)
        if self.threshold is not None:
            check.number("threshold", self.threshold, 0.5, 1.0, above=True)
        return self.n_resamples // 2

    def _check_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Check X and y; the columns of X keep their names."""
        X = in_memory(X, type(self).__name__)
        which = getattr(inner.last_step(self.estimator), "categorical_features", None)
        self._categories = categories.learn(X, which)
        numbers, y = validate_data(
            self,
            self._encoded(X, reset=True),
            inner.plain_target(self.estimator, y),
            multi_output=True,
            ensure_min_samples=4,
            **self._kinds(),
        )
        numbers = check.in_rows(numbers)
        if self._categories is not None:  # each half learns the levels that it holds
            return categories.as_frame(X), y
        names = getattr(self, "feature_names_in_", None)
        return named(numbers, names), y

    def _check_weights(self, sample_weight: Any, n: int) -> Floats | None:
        if sample_weight is None:
            return None
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} takes no sample_weight: leave it out")
        return check.sample_weight(sample_weight, n)

    def _ids(self) -> Ids:
        """Return the group of each column."""
        given = self.feature_groups
        if given is None:
            given = inner.given(self.estimator, "feature_groups")
        ids = check.groups(given, getattr(self, "feature_names_in_", None), self.n_features_in_)
        return np.arange(self.n_features_in_) if ids is None else ids

    def _complete(self, p: int, n_pairs: int) -> None:
        """Compute the threshold and the number of features to take, where they are not given, and the bound."""
        tau, q = self.threshold, self.n_features
        if q is not None and check.whole("n_features", q, 1) > p:
            raise ValueError(f"n_features={q} exceeds the {p} features or groups of X")
        if q is None:
            tau = 0.75 if tau is None else tau  # Meinshausen and Bühlmann (2010): of 0.6 to 0.9
            q = bounds.largest_number(self.max_false, tau, p, n_pairs, self.assumption)
            given = f"threshold={tau:g}"
        elif tau is None:
            tau = bounds.smallest_threshold(self.max_false, q, p, n_pairs, self.assumption)
            given = f"n_features={q}"
        if not q or tau is None:
            raise ValueError(
                f"max_false={self.max_false:g} cannot be kept with {given}, {p} features and n_resamples="
                f"{self.n_resamples}: raise max_false or n_resamples, or take fewer features"
            )
        self.threshold_, self.n_features_taken_ = float(tau), int(q)
        self.false_bound_ = bounds.false_selections(q, tau, p, n_pairs, self.assumption)

    def _run(self, samples: Sequence[Any], rng: np.random.Generator, saved: Checkpoint) -> list[Floats]:
        """Return the importances of the columns on every half."""
        jobs = []
        for i, each in enumerate(samples, 1):
            part = saved.part("half", i)
            estimator = inner.kept_in(inner.seeded(self.estimator, rng), part)
            jobs.append(Job(f"half {i} of {len(samples)}", (_importances, part, estimator, *each)))
        return run(
            saving.kept,
            jobs,
            n_jobs=self.n_jobs,
            side_by_side=self.checkpoint is None and beside(self.n_jobs, inner.on_gpu(self.estimator)),
            title="half-samples",
            shown=bool(self.verbose),
        )

    def _select(self, ranks: Ids, ids: Ids) -> None:
        """Select from the ranks of the groups on every half, (halves, groups)."""
        taken = ranks[:, :, None] < np.arange(1, ranks.shape[1] + 1)
        path = taken.mean(axis=0).T[:, ids]  # (number taken, column)
        names = getattr(self, "feature_names_in_", np.arange(len(ids)))
        self.path_frequencies_ = pd.DataFrame(path, columns=names, index=np.arange(1, len(path) + 1))
        self.path_frequencies_.index.name = "n_features"
        self.frequencies_ = path[self.n_features_taken_ - 1]
        self.selected_ = self.frequencies_ >= self.threshold_ - 1e-9
        if not self.selected_.any():
            warnings.warn(
                f"no feature was taken from {self.threshold_:.0%} of the halves (the most stable one from "
                f"{self.frequencies_.max():.0%}): raise max_false, or inspect frequencies_",
                UserWarning,
                stacklevel=3,
            )


def _importances(estimator: Any, X: Any, y: Any, weights: Floats | None, samples: Ids) -> Floats:
    """Fit on some samples, and return the importance of each column."""
    part = X.iloc[samples] if isinstance(X, pd.DataFrame) else X[samples]
    weighted = {} if weights is None else {"sample_weight": weights[samples]}
    return inner.importances(estimator.fit(part, y[samples], **weighted), X.shape[1])


def _ranks(importances: Floats, ids: Ids, rng: np.random.Generator) -> Ids:
    """Rank the groups from 0, the most important, ties in random order; those of importance zero come after all others."""
    highest = np.zeros(int(ids.max()) + 1)
    np.maximum.at(highest, ids, importances)
    ranks = np.empty(len(highest), dtype=np.int64)
    ranks[np.lexsort([rng.permutation(len(highest)), -highest])] = np.arange(len(highest))
    return np.where(highest > 0, ranks, len(highest))
