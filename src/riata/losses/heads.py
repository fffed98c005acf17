"""A loss of its own for each column of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses.loss import NumberLoss
from riata.preprocess.scaling import Scaling

__all__ = ["Heads"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SideBySide(Scaling):
    """The scalings of several blocks of columns, side by side."""

    parts: tuple[Scaling, ...]

    def apply(self, X: NDArray[np.floating], dtype: type | np.dtype, *_: object, **__: object) -> Floats:
        """Scale each block in its own way."""
        stops = np.cumsum([len(part.scale) for part in self.parts])[:-1]
        blocks = zip(self.parts, np.split(X, stops, axis=1), strict=True)
        return np.hstack([part.apply(block, dtype) for part, block in blocks])


@dataclass(frozen=True)
class Heads(NumberLoss):
    """The sum of several losses, one for each column of the target.

    Parameters
    ----------
    losses : tuple of NumberLoss
        In the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetRegressor, losses
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = np.column_stack([X[:, 0] + rng.normal(size=300), rng.poisson(np.exp(X[:, 1]))])
    >>> both = losses.Heads((losses.SquaredError(), losses.Poisson()))  # as loss=["squared_error", "poisson"]
    >>> LassoNetRegressor(hidden_dims=(10,), loss=both, random_state=0).fit(X, y).predict(X).shape
    (300, 2)
    """

    losses: tuple[NumberLoss, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "iters_factor", max(loss.iters_factor for loss in self.losses))

    def evaluate(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Add up the losses, and put their derivatives side by side."""
        heads = [loss.evaluate(output[..., own], target[..., own]) for loss, own in self._heads()]
        total, *others = (losses for losses, _ in heads)
        return sum(others, start=total), torch.cat([slope for _, slope in heads], -1)

    def check(self, target: Floats) -> None:
        """Show each loss its column."""
        for j, loss in enumerate(self.losses):
            try:
                loss.check(target[:, [j]])
            except ValueError as error:
                raise ValueError(f"column {j} of y: {error}") from None

    def expanded(self, target: Floats) -> Floats:
        """Repeat each column as often as its loss has outputs."""
        return np.repeat(target, [loss.width for loss in self.losses], axis=1)

    def scaled(self, target: Floats, weights: Floats, standardize: bool) -> Scaling:
        """Scale each column as its loss does."""
        parts = tuple(loss.scaled(target[:, own], weights, standardize) for loss, own in self._heads())
        center, scale = (np.concatenate([getattr(part, name) for part in parts]) for name in ("center", "scale"))
        return SideBySide(center, scale, parts)

    def tuned(self, target: Floats) -> NumberLoss:
        """Tune each loss to its column."""
        return Heads(tuple(loss.tuned(target[:, own]) for loss, own in self._heads()))

    def screened(self, target: Floats) -> Floats:
        """Return the targets of all losses for the screening of columns."""
        return self._side_by_side(target, lambda loss: loss.screened)

    def predicted(self, linear: Floats) -> Floats:
        """Let each loss turn its linear predictors into predictions."""
        return self._side_by_side(linear, lambda loss: loss.predicted)

    def _side_by_side(self, table: Floats, what: Callable[[NumberLoss], Callable[[Floats], Floats]]) -> Floats:
        return np.hstack([what(loss)(table[:, own]) for loss, own in self._heads()])

    def _heads(self) -> Iterator[tuple[NumberLoss, slice]]:
        """Yield each loss with its columns of the output."""
        stops = list(accumulate(loss.width for loss in self.losses))
        for loss, stop in zip(self.losses, stops, strict=True):
            yield loss, slice(stop - loss.width, stop)
