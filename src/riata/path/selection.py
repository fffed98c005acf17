"""Selection rules: which point of a path is the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from riata.path.points import Path, Point, mean_and_error

__all__ = ["at_lambda", "at_most", "best", "best_of_few", "elbow", "fewest", "nearest", "one_standard_error", "select"]

Floats = NDArray[np.float64]
_FEW = 30  # validation samples below which a standard error is unreliable
_COARSE = 0.6  # ratio of one number of features that is tried to the last
_HOPELESS = 3  # times as much as is allowed: two such losses in a row end the search
_FINE = 0.9  # numbers of features nearer to each other than this ratio are not told apart
TOLERANCE = 0.005  # share of what the best model explains that may be given up for fewer features


def select(
    path: Path,
    n_features: int | None,
    rule: str | float,
    *,
    refit: Callable[[Point], Point] | None = None,
    stacklevel: int = 2,
) -> Point:
    """Apply the selection rule of the estimators, with a warning where it cannot be applied as it is.

    Parameters
    ----------
    path : Path
        The points.
    n_features : int or None
        Select the densest point with at most so many features.
    rule : {"1se", "best"} or float
        What to do otherwise: the fewest features that are close to the best, the lowest validation loss, or the last point
        whose λ does not exceed a number.
    refit : callable, optional
        Losses are compared after it.
    stacklevel : int
        Of warnings, from the caller of this function on.
    """
    if n_features is not None:
        return _with_at_most(path, n_features, stacklevel)
    if not isinstance(rule, str):
        return path[at_lambda(path, rule)]
    if path.val_weights is None:
        _warn(
            "without validation rows nothing says which point is best: taking the last one that has features; "
            "set n_features_to_select, or give select a lambda_",
            stacklevel,
        )
        return next((p for p in reversed(path) if p.n_selected), path[-1])
    if rule == "best":
        return path[best(path)]
    if len(path.val_weights) < _FEW:
        _warn(
            f"only {len(path.val_weights)} validation rows: the one-standard-error rule is unreliable below {_FEW}; "
            "raise val_size, or set n_features_to_select",
            stacklevel,
        )
    return path[fewest(path, refit)]


def _with_at_most(path: Path, n_features: int, stacklevel: int) -> Point:
    sparsest = min(reversed(path), key=lambda point: point.n_selected)
    if sparsest.n_selected <= n_features:
        return path[at_most(path, n_features)]
    _warn(
        f"the path ends before n_features_to_select={n_features}: taking the sparsest point, with "
        f"{sparsest.n_selected} features",
        stacklevel + 1,
    )
    return sparsest


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
    compared = _Compared(path, positions, refit)
    tried = _tried(path, positions, compared, coarse=refit is not None)
    good = max((i for i in tried if compared.excess(i) <= 1), default=0)
    bad = min((i for i in tried if i > good), default=good)
    while bad - good > 1 and counts[positions[bad]] < _FINE * counts[positions[good]]:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if compared.excess(middle) <= 1 else (good, middle)
    return positions[max((i for i in compared.known if compared.excess(i) <= 1), default=0)]


def _tried(path: Path, positions: list[int], compared: _Compared, *, coarse: bool) -> list[int]:
    """Compare points from many features to few, all or at coarse steps, until the search is hopeless; return which."""
    counts = path.n_selected
    penalised = np.array([path[i].val_loss for i in positions])
    lowest = np.minimum.accumulate(penalised[::-1])[::-1]  # of each number and all smaller ones
    tried: list[int] = []
    for i in range(len(positions)):
        if coarse and tried and counts[positions[i]] > _COARSE * counts[positions[tried[-1]]]:
            continue
        tried.append(i)
        if min(compared.excess(j) for j in tried[-2:]) > _HOPELESS and lowest[i] == penalised[i]:
            break
    return tried


class _Compared:
    """Points of a path, refitted when they are asked for, and by how much their losses exceed the best so far."""

    def __init__(self, path: Path, positions: list[int], refit: Callable[[Point], Point] | None):
        self._path, self._positions, self._refit = path, positions, refit
        self.known: dict[int, Point] = {}

    def excess(self, i: int) -> float:
        """Return the excess over the best, in units of what is allowed."""
        if i not in self.known:
            point = self._path[self._positions[i]]
            self.known[i] = self._refit(point) if self._refit else point
        return _excess(self.known[i], list(self.known.values()), self._path)


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


def best_of_few(path: Path, most: int) -> int:
    """Position of the lowest validation loss among points with at most so many features, and among all if there are none."""
    losses = _val_losses(path)
    few = np.where(path.n_selected <= most, losses, np.inf)
    return best(path) if np.isinf(few).all() else _sparsest(path, np.flatnonzero(few == np.nanmin(few)))


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

    Losses are those of validation samples, where there are any, and where all are positive their logarithms: a unit is worth
    what it takes away of what the others leave. Of points with the same number the one with the lowest counts.
    """
    losses = np.array([point.loss if np.isnan(point.val_loss) else point.val_loss for point in path])
    losses = np.log(losses) if (losses > 0).all() else losses
    counts = path.n_selected
    lowest = {k: np.flatnonzero(counts == k)[losses[counts == k].argmin()] for k in np.unique(counts)}
    at = np.array(list(lowest.values()))
    k, loss = counts[at].astype(float), losses[at]
    line = np.interp(k, k[[0, -1]], loss[[0, -1]])
    return int(at[(loss - line).argmin()])


def _val_losses(path: Path) -> Floats:
    losses = np.array([point.val_loss for point in path])
    if np.isnan(losses).all():
        raise ValueError("without validation rows a point is selected by n_features or lambda_, not by validation loss")
    return losses


def _sparsest(path: Path, candidates: NDArray[np.int64]) -> int:
    """Of some points the one with the fewest features; of equals, the one with the lowest validation loss."""
    return int(min(candidates, key=lambda i: (path[i].n_selected, path[i].val_loss)))


def _warn(message: str, stacklevel: int) -> None:
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 2)  # from the caller of select on
