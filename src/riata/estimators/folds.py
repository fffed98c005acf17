"""What cross-validation does with its folds: the path of a candidate on the rows of a fold, its scores, and their table."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from riata import check, choose
from riata.again import Again
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.supervised import Supervised
from riata.path import Path, Point
from riata.stopping import affordable

AGAIN = 50  # passes of training again: outputs recover from the penalty; many more overfit where many features are left
_FURTHER = 1.1 ** np.arange(1, 16)  # where the path goes on if features are left at the last λ of the first path
_LESS = 0.9  # a point is scored if it has at most this share of the features of the last one that was

Indices = NDArray[np.int64]
Way = str | bool


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
    """An estimator for replicas, which knows its λ, those of them to score, and how to train them again for that."""

    estimator: Supervised
    scored: tuple[float, ...]
    ways: tuple[Way, ...]


class Fold(NamedTuple):
    """Where to train and where to score."""

    name: str
    fit: Indices
    test: Indices


class Scores(NamedTuple):
    """What one fold says of one candidate, one number for each way and λ."""

    score: NDArray[np.float64]
    n_selected: Indices


# Jobs: fit on all rows, follow a first path, follow and score that of a fold.


def fitted(estimator: Supervised, rows: Rows) -> Supervised:
    """Fit on all of the rows."""
    return estimator.fit(rows.X, rows.y, rows.weights)


def ahead(estimator: Supervised, rows: Rows) -> Path:
    """Follow the first path, with a part of the rows to validate on."""
    return fitted(clone(estimator), rows).path_


def scores(replica: Scoring, candidate: Candidate, rows: Rows, fold: Fold, scorer: Any) -> Scores:
    """Follow the path on a fold's rows and score its points on the others."""
    replica._scored, replica._tried = candidate.scored, candidate.ways
    points = fitted(replica, rows.take(fold.fit))._points
    held_out = rows.take(fold.test)
    weights = {} if held_out.weights is None or not _weighs(scorer) else {"sample_weight": held_out.weights}
    found = [scorer(replica.load(point), held_out.X, held_out.y, **weights) for point in points]
    return Scores(np.array(found), np.array([point.n_selected for point in points]))


def _weighs(scorer: Any) -> bool:
    """Say whether a scorer takes weights of rows."""
    parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)


class Scoring(Supervised):
    """Trains all the points that are to be scored, rather than one, again in every way."""

    _warm_passes = AGAIN
    _scored: tuple[float, ...] = ()
    _tried: tuple[Way, ...] = ()

    def _settle(self, again: Again) -> Point:
        points = [self.path_[choose.at_lambda(self.path_, lambda_)] for lambda_ in self._scored]
        self._points = [again(point, way) for way, point in product(self._tried, points)]
        return points[0]


class ScoringClassifier(Scoring, LassoNetClassifier):
    """The classifier of a fold."""


class ScoringRegressor(Scoring, LassoNetRegressor):
    """The regressor of a fold."""


# Between jobs.


def candidate(estimator: Supervised, first: Path, ways: tuple[Way, ...], n_entries: int) -> Candidate:
    """Settle how replicas go: along the same λ, with a dense model trained as long as was best, and nothing held out."""
    stay = check.per_stage("n_iters", estimator.n_iters, 1, optional=True)[1]
    patience = check.per_stage("patience", estimator.patience, 1, optional=True)[1]
    further = [] if estimator.lambda_seq is not None else first.visited[-1] * _FURTHER
    replica = clone(estimator).set_params(
        lambda_seq=tuple(map(float, [*first.visited, *further])),
        n_iters=(max(1, first[0].best_iter), stay or estimator._dwell * affordable(n_entries)),
        patience=(None, patience),
        val_size=0,
    )
    scored = tuple(_worth_scoring(first) if any(ways) else map(float, first.lambdas))
    return Candidate(replica, scored, ways)


def _worth_scoring(path: Path) -> list[float]:
    """Return the λ at which enough features have left since the last one."""
    scored, last = [], np.inf
    for point in path:
        if point.n_selected <= _LESS * last:
            scored.append(point.lambda_)
            last = point.n_selected
    return scored


def in_use(part: Any, weights: NDArray[np.float64] | None) -> Indices:
    """Return the rows of a part of a split, given by position or as a mask, without those of weight zero."""
    rows = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part)
    rows = rows if weights is None else rows[weights[rows] > 0]
    if not len(rows):
        raise ValueError("a fold has no rows of positive weight to train on, or none to score: use fewer folds")
    return rows


def table(candidate: Candidate, folds: Sequence[Scores]) -> pd.DataFrame:
    """One row for each way and λ of a candidate."""
    found = np.array([fold.score for fold in folds])
    return pd.DataFrame(
        {
            "hidden_dims": [candidate.estimator.hidden_dims] * found.shape[1],
            "M": float(candidate.estimator.M),
            "refit": np.repeat(np.array(candidate.ways, dtype=object), len(candidate.scored)),
            "lambda_": np.tile(candidate.scored, len(candidate.ways)),
            "n_selected": np.mean([fold.n_selected for fold in folds], axis=0),
            "mean_test_score": found.mean(axis=0),
            "se_test_score": found.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan,
            **{f"split{i}_test_score": score for i, score in enumerate(found)},
            "fewest": np.min([fold.n_selected for fold in folds], axis=0),
        }
    )


def binomial_error(results: pd.DataFrame, folds: Sequence[Fold]) -> Any:
    """Return the standard error that an accuracy has for its number of rows alone.

    A handful of folds that happen to agree would claim less.
    """
    n = len(np.unique(np.concatenate([fold.test for fold in folds])))
    share = (results["mean_test_score"] * n + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / n)


def best(results: pd.DataFrame) -> Any:
    """Return the row with the highest score; of equals, the one with the fewest features."""
    return results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True]).index[0]
