"""What cross-validation does with its folds: the path of a candidate on the rows of a fold, its scores, and their table."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from riata import check, choose
from riata.again import Again, alike
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.supervised import Supervised
from riata.path import Path, Point
from riata.stopping import affordable

AGAIN = 50  # passes of training again: outputs recover from the penalty; many more overfit where many features are left
_FURTHER = 1.1 ** np.arange(1, 16)  # where the path goes on if features are left at the last λ of the first path
# A point is scored if it has at most this share of the features of the last one that was; finer where less than half is left,
# since few are looked for, and small networks are cheap.
_LESS, _LESS_NOISY = (0.9, 0.95), (0.75, 0.85)
_FAR = 3  # standard errors by which models are so much worse than the best that sparser ones need not be looked at
_ROUNDING = 1e-9  # of a number of features
_PARTS, _FEW = 10, 100  # of the rows that are left out, for a standard error; too few rows for one

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
    stops: bool  # whether a fold's path may end where models are far worse than the best


class Fold(NamedTuple):
    """Where to train and where to score."""

    name: str
    fit: Indices
    test: Indices


class Choice(NamedTuple):
    """What is chosen of a table of scores."""

    row: int
    n_selected: float
    score: float
    too_few: float  # features


class Scores(NamedTuple):
    """What one fold says of one candidate, as far as its path was followed."""

    score: NDArray[np.float64]  # (λ, ways)
    n_selected: Indices  # (λ,)


# Jobs: fit on all rows, follow a first path, follow and score that of a fold.


def fitted(estimator: Supervised, rows: Rows) -> Supervised:
    """Fit on all of the rows."""
    return estimator.fit(rows.X, rows.y, rows.weights)


def ahead(estimator: Supervised, rows: Rows) -> Path:
    """Follow the first path, with a part of the rows to validate on."""
    return fitted(clone(estimator), rows).path_


def scores(replica: Scoring, candidate: Candidate, rows: Rows, fold: Fold, scorer: Any) -> Scores:
    """Follow the path on a fold's rows and score its points on the others."""
    replica._exam = exam = Exam(candidate, rows.take(fold.test), scorer)
    fitted(replica, rows.take(fold.fit))
    del replica._exam  # and the rows it holds
    return exam.result


class Exam:
    """Points of a fold's path are trained again and put before the rows that are left out."""

    def __init__(self, candidate: Candidate, rows: Rows, scorer: Any):
        self._candidate, self._rows, self._scorer = candidate, rows, scorer
        self._weighs = rows.weights is not None and _weighs(scorer)
        self._stops = candidate.stops and len(rows.y) >= _FEW
        self._waiting: list[Point] = []
        self._marks: list[list[float]] = []  # one for each λ: (ways,)
        self._n_selected: list[int] = []
        self._best: tuple[float, Point] | None = None
        self._over = False

    @property
    def result(self) -> Scores:
        """The scores so far."""
        return Scores(np.array(self._marks), np.array(self._n_selected))

    def hear(self, replica: Scoring, point: Point, again: Again) -> bool:
        """Take note of a new point of the path; say whether sparser ones are hopeless."""
        left = self._candidate.scored[len(self._marks) + len(self._waiting) :]
        if not self._stops or not left or point.lambda_ < left[0] * (1 - 1e-9):
            return False
        if self._waiting and not alike(self._waiting[0], point):
            replica.path_ = Path(self._waiting)  # the model is asked before its path is complete
            self._over = self._mark(replica, again)
        self._waiting.append(point)
        return self._over

    def end(self, replica: Scoring, again: Again) -> None:
        """Score what is left at the end of the path."""
        if not self._over:
            left = self._candidate.scored[len(self._marks) + len(self._waiting) :]
            self._waiting += [replica.path_[choose.at_lambda(replica.path_, lambda_)] for lambda_ in left]
            self._mark(replica, again)

    def _mark(self, replica: Scoring, again: Again) -> bool:
        """Train the points that wait, and score them; say whether all are far worse than the best so far."""
        trained = zip(*(again(self._waiting, way) for way in self._candidate.ways), strict=True)
        marked = [[(self._score(replica.load(point), self._rows), point) for point in points] for points in trained]
        self._marks += [[score for score, _ in ways] for ways in marked]
        self._n_selected += [point.n_selected for point in self._waiting]
        self._waiting = []
        new = [mark for ways in marked for mark in ways]
        before, self._best = self._best, max([*new, *filter(None, [self._best])], key=lambda mark: mark[0])
        if not self._stops or self._best is not before:
            return False
        best, of_best = self._best[0], self._without_parts(replica, self._best[1])
        return all(_is_far(best - score, of_best - self._without_parts(replica, point)) for score, point in new)

    def _without_parts(self, replica: Scoring, point: Point) -> NDArray[np.float64]:
        """Score a point on the rows without each of their parts."""
        model, part = replica.load(point), np.arange(len(self._rows.y)) % _PARTS
        return np.array([self._score_if_any(model, self._rows.take(np.flatnonzero(part != i))) for i in range(_PARTS)])

    def _score_if_any(self, model: Scoring, rows: Rows) -> float:
        """Score some of the rows; where a class is missing among them there may be no score, and nothing to be said."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._score(model, rows)
        except Exception:
            return np.nan

    def _score(self, model: Scoring, rows: Rows) -> float:
        weights = {"sample_weight": rows.weights} if self._weighs else {}
        return float(self._scorer(model, rows.X, rows.y, **weights))


def _is_far(difference: float, without_parts: NDArray[np.float64]) -> bool:
    """Compare a difference of scores with its standard error, by the jackknife: as it is without each part of the rows."""
    n = len(without_parts)
    error = np.sqrt((n - 1) / n * np.square(without_parts - without_parts.mean()).sum())
    return bool(error > 0 and difference > _FAR * error)


def _weighs(scorer: Any) -> bool:
    """Say whether a scorer takes weights of rows."""
    parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)


class Scoring(Supervised):
    """Has all the points that are to be scored, rather than one, trained again in every way."""

    _warm_passes = AGAIN
    _exam: Exam

    def _enough(self, point: Point, again: Again) -> bool:
        return self._exam.hear(self, point, again)

    def _settle(self, again: Again) -> Point:
        self._exam.end(self, again)
        return self.path_[0]


class ScoringClassifier(Scoring, LassoNetClassifier):
    """The classifier of a fold."""


class ScoringRegressor(Scoring, LassoNetRegressor):
    """The regressor of a fold."""


# Between jobs.


def candidate(estimator: Supervised, first: Path, ways: tuple[Way, ...], n_entries: int, *, far: bool) -> Candidate:
    """Settle how replicas go: along the same λ, with a dense model trained as long as was best, and nothing held out.

    They go on to the end if that does not take long, or if they are to go ``far``.
    """
    stay = check.per_stage("n_iters", estimator.n_iters, 1, optional=True)[1]
    patience = check.per_stage("patience", estimator.patience, 1, optional=True)[1]
    further = [] if estimator.lambda_seq is not None else first.visited[-1] * _FURTHER
    replica = clone(estimator).set_params(
        lambda_seq=tuple(map(float, [*first.visited, *further])),
        n_iters=(max(1, first[0].best_iter), stay or estimator._dwell * affordable(n_entries)),
        patience=(None, patience),
        val_size=0,
    )
    return Candidate(replica, _worth_scoring(first, ways), ways, "noisy" in ways and not far)


def _worth_scoring(path: Path, ways: tuple[Way, ...]) -> tuple[float, ...]:
    """Return the λ at which enough features have left since the last one; all of them, if points are taken as they are."""
    if not any(ways):
        return tuple(map(float, path.lambdas))
    much, little = _LESS_NOISY if "noisy" in ways else _LESS
    scored, last = [], np.inf
    for point in path:
        if point.n_selected <= last * (much if last > path[0].n_selected / 2 else little):
            scored.append(point.lambda_)
            last = point.n_selected
    return tuple(scored)


def in_use(part: Any, weights: NDArray[np.float64] | None) -> Indices:
    """Return the rows of a part of a split, given by position or as a mask, without those of weight zero."""
    rows = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part)
    rows = rows if weights is None else rows[weights[rows] > 0]
    if not len(rows):
        raise ValueError("a fold has no rows of positive weight to train on, or none to score: use fewer folds")
    return rows


def table(candidate: Candidate, folds: Sequence[Scores]) -> pd.DataFrame:
    """One row for each way and λ of a candidate that all folds have come to."""
    n = min(len(fold.n_selected) for fold in folds)
    found = np.array([fold.score[:n].T.ravel() for fold in folds])  # (folds, ways and λ)
    counts = np.tile([fold.n_selected[:n] for fold in folds], len(candidate.ways))
    return pd.DataFrame(
        {
            "hidden_dims": [candidate.estimator.hidden_dims] * found.shape[1],
            "M": float(candidate.estimator.M),
            "refit": np.repeat(np.array(candidate.ways, dtype=object), n),
            "lambda_": np.tile(candidate.scored[:n], len(candidate.ways)),
            "n_selected": counts.mean(axis=0),
            "mean_test_score": found.mean(axis=0),
            "se_test_score": found.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan,
            **{f"split{i}_test_score": score for i, score in enumerate(found)},
        }
    )


def cut_short(candidates: Sequence[Candidate], results: pd.DataFrame, lowest: float) -> bool:
    """Say whether folds ended somewhere, but at a score that is not below the lowest one that would do."""
    for i, candidate in enumerate(candidates):
        rows = results[results["candidate"] == i]
        last = rows["lambda_"].max()
        if last < candidate.scored[-1] and (rows["mean_test_score"][rows["lambda_"] == last] >= lowest).any():
            return True
    return False


def binomial_error(results: pd.DataFrame, folds: Sequence[Fold]) -> Any:
    """Return the standard error that an accuracy has for its number of rows alone.

    A handful of folds that happen to agree would claim less.
    """
    n = len(np.unique(np.concatenate([fold.test for fold in folds])))
    share = (results["mean_test_score"] * n + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / n)


def best(results: pd.DataFrame) -> Choice:
    """Choose the highest score; of equals, the one with the fewest features."""
    ordered = results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True])
    count, score = map(float, ordered.iloc[0][["n_selected", "mean_test_score"]])
    return Choice(int(ordered.index[0]), count, score, _none(count))


def _none(count: float) -> float:
    """Return what is too few where nothing says so: no features, unless that was chosen."""
    return 0.0 if count else -1.0


def fewest(line: pd.DataFrame, lowest: float) -> Choice:
    """Choose the fewest features that will do, on a line through the scores of one network along its path.

    A score is known at some numbers of features only. The row is the one with the fewest of those that will do; the
    number may be smaller, between it and the next one, which will not.
    """
    known = line.sort_values("mean_test_score", ascending=False).drop_duplicates("n_selected").sort_values("n_selected")
    known = known.dropna(subset="mean_test_score")
    counts, scores = known["n_selected"].to_numpy(), known["mean_test_score"].to_numpy()
    at = int(np.argmax(scores >= lowest))
    count, score = counts[at], scores[at]
    too_few = counts[at - 1] if at else _none(count)
    if at and np.isfinite(scores[at - 1]):
        slope = (score - scores[at - 1]) / (count - too_few)
        needed = np.ceil(count - (score - lowest) / slope - _ROUNDING)  # a part of a feature is none
        enough = min(count, max(needed, np.floor(too_few) + 1))
        count, score = enough, score - slope * (count - enough)
    return Choice(int(known.index[at]), float(count), float(score), float(too_few))
