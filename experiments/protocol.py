"""The paper's protocol: how rows are split and scaled, and how good selected features are.

Rows are split 70-10-20, in proportion to the classes. Gaps are filled with the mean of the column's training rows, and
columns are scaled by their training rows, alike for every method and both learners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from experiments.network import Networks
from riata.preprocess import scaling

N_FEATURES = 50
LEARNERS = ("network", "trees")
N_TREES = 50
WIDTHS = (1 / 3, 2 / 3, 1, 4 / 3)  # of hidden layers, in numbers of features


class Part(NamedTuple):
    """Rows of a split."""

    X: NDArray[np.float32]
    y: NDArray


class Split(NamedTuple):
    """Rows to train on, to validate on and to test on."""

    fit: Part
    val: Part
    test: Part

    @property
    def regression(self) -> bool:
        """Say whether the target is a number."""
        return self.fit.y.dtype.kind == "f"

    def only(self, features: NDArray[np.integer]) -> Split:
        """Keep some features."""
        return Split(*(Part(part.X[:, features], part.y) for part in self))


def rows(y: NDArray, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split 70-10-20, in proportion to the classes if there are any."""
    strata = None if y.dtype.kind == "f" else y
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=strata, random_state=seed)
    below = None if strata is None else strata[rest]
    fit, val = train_test_split(rest, test_size=0.125, stratify=below, random_state=seed)
    return fit, val, test


def split(X: NDArray, y: NDArray, seed: int) -> Split:
    """Split, fill gaps and scale.

    Columns are divided by their standard deviation, but by no less than a fifth of the largest deviation from the mean: a
    pixel that is nearly always off would otherwise be a spike of dozens of standard deviations where it is on.
    """
    parts = rows(y, seed)
    fit = parts[0]
    X = np.where(np.isnan(X), np.nanmean(X[fit], axis=0), X)
    learnt = scaling.learn(X[fit], np.ones(len(fit)), floor=scaling.FLOOR)
    return Split(*(Part(learnt.apply(X[part], np.float32), y[part]) for part in parts))


def widths(k: int) -> list[int]:
    """Widths of a hidden layer that the paper tries on k features."""
    return sorted({max(1, round(share * k)) for share in WIDTHS})


def score(parts: Split, seed: int) -> dict[str, float]:
    """Test accuracy (R² for regression) of both learners."""
    return {"network": network(parts, seed), "trees": trees(parts, seed)}


def network(parts: Split, seed: int, hidden: Sequence[int] | None = None) -> float:
    """Train one hidden layer of each width (default: the paper's), and test the one that is best on validation rows."""
    target, code = _target(parts.fit.y)
    models = Networks(hidden or widths(parts.fit.X.shape[1]), seed).fit(
        parts.fit.X, target, softmax=not parts.regression
    )
    val, test = (
        [quality(part.y, code(output)) for output in models.outputs(part.X)] for part in (parts.val, parts.test)
    )
    return test[int(np.argmax(val))]


def _target(y: NDArray) -> tuple[NDArray[np.float32], Callable[[NDArray], NDArray]]:
    """Return what the networks learn, (n, o), and how to read their outputs."""
    if y.dtype.kind == "f":
        center, scale = y.mean(), y.std()
        return ((y - center) / scale)[:, None].astype(np.float32), lambda output: output[:, 0] * scale + center
    classes, codes = np.unique(y, return_inverse=True)
    return np.eye(len(classes), dtype=np.float32)[codes], lambda output: classes[output.argmax(1)]


def quality(y: NDArray, predicted: NDArray) -> float:
    """Accuracy, or R² for numbers."""
    return float(r2_score(y, predicted) if y.dtype.kind == "f" else np.mean(y == predicted))


def trees(parts: Split, seed: int) -> float:
    """Train and test extremely randomised trees."""
    learner = ExtraTreesRegressor if parts.regression else ExtraTreesClassifier
    return float(learner(N_TREES, random_state=seed).fit(*parts.fit).score(*parts.test))
