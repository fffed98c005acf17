"""What cross-validation does with its folds: the path of a candidate on the samples of a fold, its scores, and their table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from riata.estimators import saving
from riata.estimators.fitting import prepare
from riata.estimators.solving import Solved, solve
from riata.estimators.supervised import Supervised
from riata.path import selection
from riata.path.points import Path, Point
from riata.path.refit import Plan
from riata.storage import UNSAVED, Checkpoint

_FURTHER = 1.1 ** np.arange(1, 16)  # where the path goes on if features are left at the last λ of the first path
# A point is scored if it has at most this share of the features of the last one that was; finer where less than half is left,
# since few features are asked for, and small networks train fast.
_LESS = (0.9, 0.95)
_MORE = 3  # times the λ of the last point that was scored
_ROUNDING = 1e-9  # of a number of features

Indices = NDArray[np.int64]


class Samples(NamedTuple):
    """Checked data: what every replica takes its rows from."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    def take(self, rows: Indices) -> Samples:
        """Return some of them."""
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return Samples(X, self.y[rows], None if self.weights is None else self.weights[rows])


class Plans(NamedTuple):
    """How to refit where no sample validates: as validated best on the first path, by number of features."""

    n_features: tuple[int, ...]  # increasing
    plans: tuple[Plan, ...]

    def nearest(self, n_features: int) -> Plan:
        """Return the plan of the nearest number of features, on a scale of ratios."""
        away = np.abs(np.log(np.array(self.n_features) / max(n_features, 1)))
        return self.plans[int(away.argmin())]


class First(NamedTuple):
    """What the first path of a candidate says."""

    path: Path
    scored: tuple[float, ...]
    plans: Plans


class Candidate(NamedTuple):
    """An estimator for replicas, which knows its λ, those of them to score, and how to refit them for that."""

    estimator: Supervised
    scored: tuple[float, ...]
    refit: str | bool
    plans: Plans


class Fold(NamedTuple):
    """Where to train and where to score."""

    name: str
    fit: Indices
    test: Indices


class Choice(NamedTuple):
    """What is selected of a table of scores."""

    row: int
    n_selected: float
    score: float
    too_few: float  # features


class Scores(NamedTuple):
    """Scores of one candidate on one fold, as far as its path was solved."""

    score: NDArray[np.float64]  # (λ,)
    n_selected: Indices  # (λ,)


class Whole(NamedTuple):
    """The path on all samples, and the estimator that checked them."""

    estimator: Supervised
    solved: Solved


# Jobs: solve the path on all samples or on those of a fold, and score its points on the others.


def _solved(estimator: Supervised, rows: Samples, saved: Checkpoint = UNSAVED) -> tuple[Supervised, Solved]:
    """Check samples, prepare them and solve the path; return the estimator that checked them, not fitted yet."""
    settings = estimator._settings()
    checked = estimator._check(rows.X, rows.y, rows.weights, None, None, saved)
    return estimator, solve(prepare(checked, settings), settings, saved)


def first(estimator: Supervised, rows: Samples, refit: str | bool) -> First:
    """Solve the first path, with a part of the samples to validate on, and find how long to refit its points."""
    with saving.opened(estimator, False) as saved:
        _, solved = _solved(clone(estimator), rows, saved)
        points = _worth_scoring(solved.path, refit)
        plans = Plans((1,), (Plan(0, 0),))
        if refit and solved.refit is not None:
            solved.refit.ahead(points, refit)
            found = {point.n_selected: solved.refit.plan(point, refit) for point in points if point.n_selected}
            if found:  # without a column that varies there is nothing to refit
                plans = Plans(*map(tuple, zip(*sorted(found.items()), strict=True)))
    return First(solved.path, tuple(point.lambda_ for point in points), plans)


def scores(replica: Supervised, candidate: Candidate, rows: Samples, fold: Fold, scorer: Any) -> Scores:
    """Solve the path on a fold's samples and score its points on the others."""
    with saving.opened(replica, False) as saved:
        return _scored(*_solved(replica, rows.take(fold.fit), saved), candidate, rows.take(fold.test), scorer)


def _scored(model: Supervised, solved: Solved, candidate: Candidate, test: Samples, scorer: Any) -> Scores:
    weights = {"sample_weight": test.weights} if test.weights is not None and _weighs(scorer) else {}
    points = [solved.path[selection.at_lambda(solved.path, lambda_)] for lambda_ in candidate.scored]
    solved = solved.with_plans(candidate.plans.nearest)
    if solved.refit is not None:
        solved.refit.ahead(points, candidate.refit)
    refitted = solved.compared(candidate.refit)
    model._store(solved, solved.path[0])
    models = (model.load(refitted(point) if refitted else point) for point in points)
    found = [float(scorer(each, test.X, test.y, **weights)) for each in models]
    return Scores(np.array(found), np.array([point.n_selected for point in points]))


def whole(estimator: Supervised, rows: Samples) -> Whole:
    """Solve the path on all samples."""
    return Whole(*_solved(estimator, rows))


def final(
    estimator: Supervised,
    candidate: Candidate,
    rows: Samples,
    choose: Callable[[Path], Point],
    known: Whole | None = None,
) -> Supervised:
    """Solve the path on all samples if it is not known, select a point, and refit it as was best for its number of features."""
    with saving.opened(estimator, False) as saved:
        model, solved = known or Whole(*_solved(estimator, rows, saved))
        solved = solved.with_plans(candidate.plans.nearest)
        fitted: Supervised = model.set_params(refit=candidate.refit)._store(solved, choose(solved.path))
        return fitted


def _weighs(scorer: Any) -> bool:
    """Say whether a scorer takes weights of samples."""
    parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(p.name == "sample_weight" or p.kind == p.VAR_KEYWORD for p in parameters)


# Between jobs.


def candidate(estimator: Supervised, ahead: First, refit: str | bool) -> Candidate:
    """Settle how replicas go: along the same λ, with a dense model trained as long as was best, and nothing held out."""
    shared = estimator._path_settings()
    further = [] if estimator.lambda_seq is not None else ahead.path.visited[-1] * _FURTHER
    training = clone(shared.training).set_params(
        n_iters=(max(1, ahead.path[0].best_iter), shared.sparse.n_iters or None),
        patience=(None, shared.sparse.patience),
    )
    replica = clone(estimator).set_params(
        lambda_seq=tuple(map(float, [*ahead.path.visited, *further])), training=training, val_size=0
    )
    return Candidate(replica, ahead.scored, refit, ahead.plans)


def _worth_scoring(path: Path, refit: str | bool) -> list[Point]:
    """Return the points before which enough has changed since the last one; all, if they are scored as they are.

    Enough is a share of the features that has left, or a multiple of λ: folds lose features at other λ than all samples do.
    """
    if not refit:
        return list(path)
    much, little = _LESS
    scored: list[Point] = []
    for point in path:
        last = scored[-1] if scored else None
        share = much if last is None or last.n_selected > path[0].n_selected / 2 else little
        if last is None or point.n_selected <= last.n_selected * share or point.lambda_ > _MORE * last.lambda_ > 0:
            scored.append(point)
    return scored


def in_use(part: Any, weights: NDArray[np.float64] | None) -> Indices:
    """Return the samples of a part of a split, given by position or as a mask, without those of weight zero."""
    rows = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part)
    rows = rows if weights is None else rows[weights[rows] > 0]
    if not len(rows):
        raise ValueError("a fold has no rows of positive weight to train on, or none to score: use fewer folds")
    return rows


def table(candidate: Candidate, folds: Sequence[Scores]) -> pd.DataFrame:
    """One row for each λ of a candidate that all folds have come to."""
    n = min(len(fold.n_selected) for fold in folds)
    found = np.array([fold.score[:n] for fold in folds])  # (folds, λ)
    counts = np.array([fold.n_selected[:n] for fold in folds])
    return pd.DataFrame(
        {
            "hidden_dims": [candidate.estimator.hidden_dims] * found.shape[1],
            "M": float(candidate.estimator.M),
            "lambda_": candidate.scored[:n],
            "n_selected": counts.mean(axis=0),
            "mean_test_score": found.mean(axis=0),
            "se_test_score": found.std(axis=0, ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else np.nan,
            **{f"split{i}_test_score": score for i, score in enumerate(found)},
        }
    )


def binomial_error(results: pd.DataFrame, folds: Sequence[Fold]) -> Any:
    """Return the standard error that an accuracy has for its number of samples alone.

    A handful of folds that happen to agree would claim less.
    """
    n = len(np.unique(np.concatenate([fold.test for fold in folds])))
    share = (results["mean_test_score"] * n + 1) / (n + 2)
    return np.sqrt(share * (1 - share) / n)


def best(results: pd.DataFrame) -> Choice:
    """Select the highest score; of equals, the one with the fewest features."""
    ordered = results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True])
    count, score = map(float, ordered.iloc[0][["n_selected", "mean_test_score"]])
    return Choice(int(ordered.index[0]), count, score, _none(count))


def _none(count: float) -> float:
    """Return what is too few where nothing says so: no features, unless that was selected."""
    return 0.0 if count else -1.0


def fewest(line: pd.DataFrame, lowest: float) -> Choice:
    """Select the fewest features that will do, on a line through the scores of one network along its path.

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
