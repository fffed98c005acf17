"""Pick one point of a path."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from riata.path.points import Path, Point, mean_and_error

__all__ = ["at_lambda", "at_most", "best", "elbow", "fewest", "nearest", "one_standard_error", "pick"]

_FEW = 30  # validation rows below which a standard error says little
_COARSE = 0.6  # ratio of one number of features that is tried to the last
_HOPELESS = 3  # times as much as is allowed: two such losses in a row end the search
_FINE = 0.9  # numbers of features nearer to each other than this ratio are not told apart
TOLERANCE = 0.005  # share of what the best model explains that may be given up for fewer features


def pick(
    path: Path,
    n_features_to_select: int | None,
    select: str | float,
    depth: int = 0,
    about: tuple[float, float] | None = None,
    refit: Callable[[Point], Point] | None = None,
) -> Point:
    """Apply the selection rule of the estimators, with a warning where it cannot do what it says.

    ``depth`` is how many calls lie between the user's and the one that picks; ``about`` says how many features
    were asked for on other rows, and how many were too few. Losses are compared after ``refit``.
    """
    if n_features_to_select is not None:
        sparsest = min(reversed(path), key=lambda point: point.n_selected)
        if sparsest.n_selected <= n_features_to_select:
            return path[at_most(path, n_features_to_select)]
        _warn(
            f"the path ends before n_features_to_select={n_features_to_select}: taking the sparsest point, with "
            f"{sparsest.n_selected} features",
            depth,
        )
        return sparsest
    if not isinstance(select, str):
        return path[at_lambda(path, select) if about is None else nearest(path, *about, select)]
    if path.val_weights is None:
        _warn(
            "without validation rows nothing says which point is best: taking the last one that has features; "
            "set n_features_to_select, or give select a lambda_",
            depth,
        )
        return next((p for p in reversed(path) if p.n_selected), path[-1])
    if select == "best":
        return path[best(path)]
    if len(path.val_weights) < _FEW:
        _warn(
            f"only {len(path.val_weights)} validation rows: the one-standard-error rule is unreliable below {_FEW}; "
            "raise val_size, or set n_features_to_select",
            depth,
        )
    return path[fewest(path, refit)]


def fewest(path: Path, refit: Callable[[Point], Point] | None = None) -> int:
    """Position of the point with the fewest features k whose validation loss is close to the best.

    loss(k) ≤ best + max(standard error of the difference, 0.005 × (loss of the sparsest point − best)).

    With ``refit`` losses are compared after it. Not all points are refitted: numbers of features fall to 0.6 of themselves
    until two in a row exceed the best by three times as much and the path itself has no lower loss further on; bisection
    between the fewest that are close and the next number finds the rest. One number that is not close says little
    about fewer: losses go up and down with every refit.
    """
    counts = path.n_selected
    positions = [int(np.argmax(counts == k)) for k in np.unique(counts)[::-1]]  # of each number the first point
    penalised = np.array([path[i].val_loss for i in positions])
    lowest = np.minimum.accumulate(penalised[::-1])[::-1]  # of each number and all smaller ones
    found: dict[int, Point] = {}

    def excess(i: int) -> float:
        if i not in found:
            found[i] = refit(path[positions[i]]) if refit else path[positions[i]]
        return _excess(found[i], list(found.values()), path)

    tried: list[int] = []
    for i in range(len(positions)):
        if tried and refit and counts[positions[i]] > _COARSE * counts[positions[tried[-1]]]:
            continue
        tried.append(i)
        if min(excess(j) for j in tried[-2:]) > _HOPELESS and lowest[i] == penalised[i]:
            break
    good = max((i for i in tried if excess(i) <= 1), default=0)
    bad = min((i for i in tried if i > good), default=good)
    while bad - good > 1 and counts[positions[bad]] < _FINE * counts[positions[good]]:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if excess(middle) <= 1 else (good, middle)
    return positions[max((i for i in found if excess(i) <= 1), default=0)]


def _excess(point: Point, others: list[Point], path: Path) -> float:
    """Return by how much a loss exceeds the best of some points, in units of what is allowed."""
    best = min(others, key=lambda other: other.val_loss)
    if point is best:
        return 0.0
    if path.val_weights is None or point.val_losses is None or best.val_losses is None:
        return np.inf
    difference, error = mean_and_error(point.val_losses - best.val_losses, path.val_weights)
    allowed = max(error, TOLERANCE * (path[-1].val_loss - best.val_loss))
    return difference / allowed if allowed > 0 else 0.0 if difference <= 0 else np.inf


def best(path: Path) -> int:
    """Position of the lowest validation loss; of equals, the sparsest."""
    losses = _val_losses(path)
    return _sparsest(path, np.flatnonzero(losses == np.nanmin(losses)))


def one_standard_error(path: Path, *, paired: bool = True) -> int:
    """Position of the sparsest point whose validation loss is within one standard error of the best.

    The ``paired`` error is that of the mean difference to the best point, sample by sample. What both points find hard
    cancels, so it is much smaller than the error of either loss alone.
    """
    losses = _val_losses(path)
    reference = path[best(path)]
    close = []
    for i, point in enumerate(path):
        if not paired or point.val_losses is None or reference.val_losses is None or path.val_weights is None:
            close.append(losses[i] <= reference.val_loss + reference.val_loss_se)
            continue
        difference, error = mean_and_error(point.val_losses - reference.val_losses, path.val_weights)
        close.append(difference <= error)
    return _sparsest(path, np.flatnonzero(close))


def at_most(path: Path, n_features: int) -> int:
    """Position of the densest point with at most so many features; of equals, the one with the smallest λ."""
    counts = path.n_selected
    if counts.min() > n_features:
        raise ValueError(
            f"no point of the path has at most {n_features} features: it ends with {counts.min()}; "
            "fit again with a smaller n_features_to_select, a longer lambda_seq, or without feature_costs of 0"
        )
    return int(np.argmax(np.where(counts <= n_features, counts, -1)))


def at_lambda(path: Path, lambda_: float) -> int:
    """Position of the last point whose λ does not exceed the given one."""
    reached = np.flatnonzero(path.lambdas <= lambda_ * (1 + 1e-9))
    if not len(reached):
        raise ValueError(f"the path starts at lambda_={path.lambdas[0]:.4g}; got {lambda_}")
    return int(reached[-1])


def nearest(path: Path, n_features: float, too_few: float, lambda_: float) -> int:
    """Position of the point with about so many features, but not too few; of equals, the one with more, and the nearest λ."""
    counts = path.n_selected
    away = np.where(counts <= too_few, np.inf, np.abs(counts - n_features))
    return int(np.lexsort([np.abs(path.lambdas - lambda_), -counts, away])[0])


def elbow(path: Path) -> int:
    """Position of the point farthest below the straight line from the densest to the emptiest, losses against numbers.

    Losses are those of validation rows, where there are any, and where all are positive their logarithms: a unit is worth what
    it takes away of what the others leave. Of points with the same number the one with the lowest counts.
    """
    losses = np.array([point.loss if np.isnan(point.val_loss) else point.val_loss for point in path])
    losses = np.log(losses) if (losses > 0).all() else losses
    counts = path.n_selected
    lowest = {k: np.flatnonzero(counts == k)[losses[counts == k].argmin()] for k in np.unique(counts)}
    at = np.array(list(lowest.values()))
    k, loss = counts[at].astype(float), losses[at]
    line = np.interp(k, k[[0, -1]], loss[[0, -1]])
    return int(at[(loss - line).argmin()])


def _val_losses(path: Path) -> np.ndarray:
    losses = np.array([point.val_loss for point in path])
    if np.isnan(losses).all():
        raise ValueError("without validation rows a point is chosen by n_features or lambda_, not by validation loss")
    return losses


def _sparsest(path: Path, candidates: np.ndarray) -> int:
    """Of some points the one with the fewest features; of equals, the one with the lowest validation loss."""
    return int(min(candidates, key=lambda i: (path[i].n_selected, path[i].val_loss)))


def _warn(message: str, depth: int) -> None:
    warnings.warn(message, UserWarning, stacklevel=4 + depth)  # the user's line, beyond pick and fit
