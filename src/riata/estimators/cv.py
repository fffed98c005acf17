"""λ, M and the widths of the network by cross-validation.

First every candidate (a value of M, a shape of the network) is followed once on all rows, with a part of them to validate on.
That says which λ to visit, how long to train the dense model, and at which λ enough has changed to be worth a score.
Then each fold's training rows are followed along these λ with nothing held out but the fold, and scored on the fold; in the
end all rows are. A replica is what the plain estimator does with ``lambda_seq``, ``n_iters`` and ``val_size=0``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from riata import check, choose
from riata.estimators import categories
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.documentation import documented
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.supervised import Supervised
from riata.jobs import Job, run
from riata.network import Weights
from riata.path import Path, Point
from riata.solver import Solver
from riata.stopping import Stopping, affordable

__all__ = ["LassoNetClassifierCV", "LassoNetRegressorCV"]

_FURTHER = 1.1 ** np.arange(1, 16)  # where the path goes on if features are left at the last λ of the first path
_AGAIN = (
    50  # passes of training again: outputs recover from the penalty; many more overfit where many features are left
)
_LESS = 0.9  # a point is scored if it has at most this share of the features of the last one that was

Indices = NDArray[np.int64]


class Rows(NamedTuple):
    """Checked data: what every replica takes its rows from."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    def take(self, rows: Indices) -> Rows:
        """Return some of them."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return Rows(X, self.y[rows], None if self.weights is None else self.weights[rows])


class Candidate(NamedTuple):
    """An estimator for replicas, which knows its λ, and those of them to score."""

    estimator: Supervised
    scored: tuple[float, ...]


class Fold(NamedTuple):
    """Where to train and where to score."""

    name: str
    fit: Indices
    test: Indices


class Scores(NamedTuple):
    """What one fold says of one candidate, one number for each λ."""

    score: NDArray[np.float64]
    n_selected: Indices


class _Scoring(Supervised):
    """Trains all the points that are to be scored, rather than one, again."""

    _refit_passes = _AGAIN
    _scored: tuple[float, ...] = ()

    def _settle(self, solver: Solver, stopping: Stopping, fresh: Weights | None) -> Point:
        points = [self.path_[choose.at_lambda(self.path_, lambda_)] for lambda_ in self._scored]
        self._points = [self._refitted(point, solver, stopping, fresh) for point in points]
        return points[0]


class _ScoringClassifier(_Scoring, LassoNetClassifier): ...


class _ScoringRegressor(_Scoring, LassoNetRegressor): ...


class CrossValidated(Supervised):
    """Chooses a point of the path, and the best of several networks, by scores of rows left out in turn."""

    _single: type[Supervised]  # the estimator of all rows
    _scoring: type[_Scoring]  # that of a fold

    def __init__(self, hidden_dims=(100,), *, cv=5, scoring=None, refit="warm", n_jobs=None, **shared):
        super().__init__(hidden_dims, refit=refit, **shared)
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Score the points of the path on rows left out, choose one, and follow the path on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without gaps, and categories (``categorical_features``). Column names of a data frame are kept.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, in training and in scores.
        groups : array-like of shape (n_samples,), optional
            Rows that stay together, such as those of one patient or one batch: passed to the splitter.

        Returns
        -------
        self
            The estimator fitted on all rows, at the chosen point.
        """
        rows = self._rows(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        estimators = self._estimators(seed)
        folds = self._folds(rows, groups, seed)
        scorer = self._scorer()
        candidates = self._candidates(estimators, rows)
        results = self._results(candidates, rows, folds, scorer)
        best = self._choose(results)
        final = clone(candidates[results["candidate"][best]].estimator).set_params(
            select=float(results["lambda_"][best]) if isinstance(self.select, str) else self.select,
            n_features_to_select=self.n_features_to_select,
            verbose=self.verbose,
        )
        final._refit_passes = _AGAIN
        if isinstance(self.select, str):  # at the end of a path all rows may have lost what every fold still holds
            final._fewest = int(results["fewest"][best])
        (fitted,) = run(_fitted, [Job("the path on all rows", (final, rows))])
        for name in vars(fitted).keys() - final.get_params().keys():
            setattr(self, name, vars(fitted)[name])
        self.cv_results_, self.cv_index_ = results.drop(columns=["candidate", "fewest"]), int(best)
        self.M_, self.hidden_dims_ = float(final.M), final.hidden_dims
        self.cv_score_, self.cv_score_se_ = (float(results[f"{name}_test_score"][best]) for name in ("mean", "se"))
        return self

    def path(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Path:
        """Fit, and return the path on all rows; :meth:`load` moves the model to any of its points."""
        return self.fit(X, y, sample_weight, groups=groups).path_

    # Steps of fit.

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        self._categories = categories.learn(X, self.categorical_features, sample_weight)
        checked, y = self._validated(X, y, ensure_min_samples=2)
        self._check_number()
        self._check_y(y, fitting=True)
        weights = None if sample_weight is None else check.sample_weight(sample_weight, len(checked))
        names = getattr(self, "feature_names_in_", None)
        if self._categories is not None:  # every fold learns its own levels
            return Rows(categories.as_frame(X), y, weights)
        return Rows(checked if names is None else pd.DataFrame(checked, columns=names), y, weights)

    def _estimators(self, seed: int) -> list[Supervised]:
        """Return one estimator for each pair of a shape and an M, all of them checked."""
        shapes = [()] if self.network is not None else _shapes(self.hidden_dims)
        strengths = list(self.M) if isinstance(self.M, Iterable) else [self.M]
        if not shapes or not strengths:
            raise ValueError("hidden_dims and M must hold at least one candidate each")
        names = self._single().get_params().keys()
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        if self._categories is not None:  # by type, some rows of a column might look like numbers
            shared["categorical_features"] = list(self._categories.columns)
        found = []
        for shape, M in product(shapes, strengths):
            own = {"hidden_dims": shape, "M": M, "verbose": 0, "random_state": seed}
            found.append(self._single(**{**shared, **own}))
            found[-1]._settings()
        return found

    def _folds(self, rows: Rows, groups: Any, seed: int) -> list[Fold]:
        """Return the rows of every fold; a number of folds means shuffled ones, stratified by class."""
        classes = is_classifier(self) and not check.is_table(rows.y)
        if isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool):
            kinds = (StratifiedKFold, StratifiedGroupKFold) if classes else (KFold, GroupKFold)
            kind = kinds[0] if groups is None else kinds[1]
            splitter = kind(check.whole("cv", self.cv, 2), shuffle=True, random_state=seed)
        else:
            splitter = check_cv(self.cv, rows.y, classifier=classes)
        splits = list(splitter.split(rows.X, rows.y, groups))
        parts = [[_in_use(part, rows.weights) for part in split] for split in splits]
        return [Fold(f"fold {i} of {len(splits)}", *each) for i, each in enumerate(parts, 1)]

    def _scorer(self) -> Any:
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be one scorer, as λ is chosen by one score; got {self.scoring!r}")
        return check_scoring(self._single(), self.scoring)

    def _candidates(self, estimators: Sequence[Supervised], rows: Rows) -> list[Candidate]:
        """Follow every estimator's path once."""
        whole = [estimator.set_params(select=0.0, n_features_to_select=None) for estimator in estimators]
        jobs = [Job(f"the first path with {_described(estimator)}", (estimator, rows)) for estimator in whole]
        ahead = run(_ahead, jobs, n_jobs=self.n_jobs, title="first paths", shown=bool(self.verbose))
        return [_candidate(*each, rows.X.size) for each in zip(whole, ahead, strict=True)]

    def _results(self, candidates: Sequence[Candidate], rows: Rows, folds: Sequence[Fold], scorer: Any) -> pd.DataFrame:
        """Follow the path of every candidate on every fold; one row for each candidate and λ."""
        jobs = []
        for candidate, fold in product(candidates, folds):
            replica = self._scoring(**candidate.estimator.get_params())
            name = f"{fold.name} with {_described(replica)}"
            jobs.append(Job(name, (replica, candidate.scored, rows, fold, scorer)))
        scores = iter(run(_scores, jobs, n_jobs=self.n_jobs, title="folds", shown=bool(self.verbose)))
        frames = [_frame(candidate, [next(scores) for _ in folds]) for candidate in candidates]
        results = pd.concat(frames, keys=range(len(frames)), names=["candidate", None]).reset_index("candidate")
        if is_classifier(self) and self.scoring in (None, "accuracy"):
            results["se_test_score"] = np.maximum(results["se_test_score"], _binomial_error(results, folds))
        return results.reset_index(drop=True)

    def _choose(self, results: pd.DataFrame) -> Any:
        """Return the row of the chosen candidate and λ."""
        if results["mean_test_score"].isna().all():
            raise ValueError(
                "no fold has a score: check that scoring suits the target, and that folds are large enough"
            )
        if self.n_features_to_select is not None:
            away = (results["n_selected"] - self.n_features_to_select).abs()
            return _best(results.loc[away.groupby(results["candidate"]).idxmin()])
        if not isinstance(self.select, str):
            return _best(results[results["lambda_"] <= self.select * (1 + 1e-9)].groupby("candidate").tail(1))
        best = _best(results)
        if self.select == "best":
            return best
        lowest = float(results["mean_test_score"][best]) - float(results["se_test_score"][best])
        if np.isnan(lowest):
            raise ValueError('select="1se" needs at least two folds: give more, or select="best"')
        close = results[results["mean_test_score"] >= lowest]
        return close.sort_values(["n_selected", "mean_test_score"], ascending=[True, False]).index[0]


@documented
class LassoNetClassifierCV(CrossValidated, LassoNetClassifier):
    """Classifier that chooses λ, and M and the network where several are given, by cross-validation.

    Every point of the path is scored on the rows of each fold, by networks that have not seen them. The chosen λ is then
    applied to a path on all rows, which is what the fitted estimator holds.

    Parameters
    ----------
    <cv parameters>
    <parameters>
    <classification loss>
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with those of the rows.

    Attributes
    ----------
    <cv attributes>
    <attributes>
    classes_ : array
        The classes; for a table of labels, the positions of its columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from riata import LassoNetClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LassoNetClassifierCV(hidden_dims=(10,), cv=3, path_multiplier=1.1, random_state=0).fit(X, y)
    >>> model.n_selected_ < 30 and model.cv_score_ > 0.9
    True
    """

    _single, _scoring = LassoNetClassifier, _ScoringClassifier


@documented
class LassoNetRegressorCV(CrossValidated, LassoNetRegressor):
    """Regressor that chooses λ, and M and the network where several are given, by cross-validation.

    Every point of the path is scored on the rows of each fold, by networks that have not seen them. The chosen λ is then
    applied to a path on all rows, which is what the fitted estimator holds.

    Parameters
    ----------
    <cv parameters>
    <parameters>
    <regression loss>

    Attributes
    ----------
    <cv attributes>
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressorCV(hidden_dims=(10,), M=[0, 10], cv=3, random_state=0).fit(X, y)
    >>> model.M_ in (0, 10) and model.n_selected_ <= 10
    True
    """

    _single, _scoring = LassoNetRegressor, _ScoringRegressor


def _in_use(part: Any, weights: NDArray[np.float64] | None) -> Indices:
    """Return the rows of a part of a split, given by position or as a mask, without those of weight zero."""
    rows = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part)
    rows = rows if weights is None else rows[weights[rows] > 0]
    if not len(rows):
        raise ValueError("a fold has no rows of positive weight to train on, or none to score: use fewer folds")
    return rows


def _shapes(hidden_dims: Any) -> list[tuple[int, ...]]:
    nested = isinstance(hidden_dims, Iterable) and all(isinstance(shape, Iterable) for shape in hidden_dims)
    return [check.hidden_dims(shape) for shape in (hidden_dims if nested else [hidden_dims])]


def _described(estimator: Supervised) -> str:
    network = f"hidden_dims={estimator.hidden_dims}" if estimator.network is None else "the network"
    return f"M={estimator.M:g}, {network}"


def _worth_scoring(path: Path) -> list[float]:
    """Return the λ at which enough features have left since the last one."""
    scored, last = [], np.inf
    for point in path:
        if point.n_selected <= _LESS * last:
            scored.append(point.lambda_)
            last = point.n_selected
    return scored


def _candidate(estimator: Supervised, ahead: Path, n_entries: int) -> Candidate:
    """Settle how replicas go: along the same λ, with a dense model trained as long as was best, and nothing held out."""
    stay = check.per_stage("n_iters", estimator.n_iters, 1, optional=True)[1]
    patience = check.per_stage("patience", estimator.patience, 1, optional=True)[1]
    further = [] if estimator.lambda_seq is not None else ahead.visited[-1] * _FURTHER
    replica = clone(estimator).set_params(
        lambda_seq=tuple(map(float, [*ahead.visited, *further])),
        n_iters=(max(1, ahead[0].best_iter), stay or estimator._dwell * affordable(n_entries)),
        patience=(None, patience),
        val_size=0,
    )
    return Candidate(replica, tuple(_worth_scoring(ahead) if estimator.refit else map(float, ahead.lambdas)))


# The work of jobs.


def _fitted(estimator: Supervised, rows: Rows) -> Supervised:
    return estimator.fit(rows.X, rows.y, rows.weights)


def _ahead(estimator: Supervised, rows: Rows) -> Path:
    return _fitted(clone(estimator).set_params(refit=False), rows).path_


def _scores(replica: _Scoring, scored: tuple[float, ...], rows: Rows, fold: Fold, scorer: Any) -> Scores:
    """Follow the path on a fold's rows and score its points on the others."""
    replica._scored = scored
    points = _fitted(replica, rows.take(fold.fit))._points
    held_out = rows.take(fold.test)
    weights = {} if held_out.weights is None or not _weighs(scorer) else {"sample_weight": held_out.weights}
    scores = [scorer(replica.load(point), held_out.X, held_out.y, **weights) for point in points]
    return Scores(np.array(scores), np.array([point.n_selected for point in points]))


def _weighs(scorer: Any) -> bool:
    """Say whether a scorer takes weights of rows."""
    parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)


# Their results.


def _frame(candidate: Candidate, folds: Sequence[Scores]) -> pd.DataFrame:
    """One row for each λ of a candidate."""
    scores = np.array([fold.score for fold in folds])
    return pd.DataFrame(
        {
            "hidden_dims": [candidate.estimator.hidden_dims] * scores.shape[1],
            "M": float(candidate.estimator.M),
            "lambda_": candidate.scored,
            "n_selected": np.mean([fold.n_selected for fold in folds], axis=0),
            "mean_test_score": scores.mean(axis=0),
            "se_test_score": scores.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan,
            **{f"split{i}_test_score": score for i, score in enumerate(scores)},
            "fewest": np.min([fold.n_selected for fold in folds], axis=0),
        }
    )


def _binomial_error(results: pd.DataFrame, folds: Sequence[Fold]) -> Any:
    """Return the standard error that an accuracy has for its number of rows alone.

    A handful of folds that happen to agree would claim less.
    """
    n = len(np.unique(np.concatenate([fold.test for fold in folds])))
    share = (results["mean_test_score"] * n + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / n)


def _best(results: pd.DataFrame) -> Any:
    """Return the row with the highest score; of equals, the one with the fewest features."""
    return results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True]).index[0]
