"""The points of a path that a report shows, and how good each is on held-out samples."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riata.path.points import Path, Point
from riata.report.numbers import Floats, short, shorter
from riata.report.outcomes import Outcome

__all__ = ["Shown", "shown", "summarise_point"]

_MOST = 40  # points of a report
_ALL_UP_TO = 12  # features: of each number there is a point, if the path has one
_WEIGHTS = 25  # linear weights of a point that are shown
_GROUPS = 20  # of samples, each of which is left out for a standard error


@dataclass(frozen=True, eq=False)
class Shown:
    """A point of the path as it predicts."""

    point: Point
    refitted: bool
    is_model: bool


def shown(model: Any) -> list[Shown]:
    """Return the points that a report shows, from few features to many, as :meth:`at` would return them.

    Of each number of features the point with the smallest λ; of more than 40 numbers those up to 12, and about every eleventh
    part more. The point that the model is at is always among them.
    """
    path, at = model.path_, model.point_
    found = []
    for count in _counts(path, at):
        if count == at.n_selected:
            found.append(Shown(at, _refitted(model, at), True))
            continue
        point = path[int(np.argmax(path.n_selected == count))]
        if model._solved.knows(point, model.refit):
            point = model._solved.finished(point, model.refit)
        found.append(Shown(point, _refitted(model, point), False))
    return found


def _refitted(model: Any, point: Point) -> bool:
    return bool(model._solved.is_refitted(point) or not point.n_selected)


def _counts(path: Path, at: Point) -> list[int]:
    """Return the numbers of features to show, increasing."""
    counts = np.unique(np.append(path.n_selected, at.n_selected))
    if len(counts) <= _MOST:
        return [int(count) for count in counts]
    few, many = counts[counts <= _ALL_UP_TO], counts[counts > _ALL_UP_TO]
    steps = np.geomspace(many[0], many[-1], _MOST - 1 - len(few))
    nearest = many[np.abs(np.log(many[:, None] / steps)).argmin(axis=0)]
    return [int(count) for count in np.unique(np.concatenate([few, nearest, [at.n_selected]]))]


def summarise_point(model: Any, each: Shown, samples: NDArray[np.floating], y: Any, outcome: Outcome) -> dict[str, Any]:
    """Return what a report says of a point: its features, losses, score and predictions."""
    moved = copy.copy(model).load(each.point)
    point = each.point
    output = moved._solved.output(point.weights, samples)
    score, error = _score(moved, output, y, outcome.units)
    return {
        "n": point.n_selected,
        "lambda": short(point.lambda_),
        "refitted": each.refitted,
        "selected": np.flatnonzero(point.selected).tolist(),
        "loss": short(point.loss),
        "val_loss": short(point.val_loss),
        "val_loss_se": short(point.val_loss_se),
        "score": short(score),
        "score_se": short(error),
        "weights": _weights(point),
        **outcome.at(moved, output),
    }


def _weights(point: Point) -> list[list[float]]:
    """Return the largest linear weights as pairs of a feature and a number.

    The number is the weight itself where there is one output and the feature is one input, else the norm of all of them.
    """
    skip, features = point.weights.skip.astype(np.float64), point.weights.features
    d = len(point.selected)
    if skip.shape[1] == 1 and len(np.unique(features)) == len(features):
        values = np.bincount(features, skip[:, 0], d)
    else:
        values = np.sqrt(np.bincount(features, np.square(skip).sum(axis=1), d))
    order = np.argsort(-np.abs(values), kind="stable")[: min(_WEIGHTS, point.n_selected)]
    return [[int(j), shorter(values[j])] for j in order if values[j]]


def _score(model: Any, output: Floats, y: Any, units: NDArray[np.int64]) -> tuple[float, float]:
    """Return the score, and its standard error by a jackknife over groups of samples."""
    n = len(output)
    score = model._score_of(output, y, None)
    n_units = int(units.max()) + 1
    n_groups = min(_GROUPS, n_units)
    if n_groups < 2:
        return score, float("nan")
    group = np.random.default_rng(0).permutation(n_units)[units] % n_groups
    try:
        without = np.array([model._score_of(output, y, (group != g).astype(np.float64)) for g in range(n_groups)])
    except ValueError:  # nothing to compare without a group
        return score, float("nan")
    assert len(group) == n
    return score, float(np.sqrt((n_groups - 1) / n_groups * np.square(without - without.mean()).sum()))
