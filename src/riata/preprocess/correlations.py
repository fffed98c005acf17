"""Correlations and ridge regressions on the columns of a sparse table, which are centred and scaled in its products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, lsqr

__all__ = ["Standardised", "standardise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standardised:
    """The columns of a table of n weighted samples, centred, with a sum of squares of 1, or of 0 where they are constant."""

    table: csr_array  # (n, d)
    root: Floats  # (n,) of the shares of samples
    mean: Floats  # (d,)
    spread: Floats  # (d,) infinite for a constant column

    def correlations(self, target: Floats) -> Floats:
        """Return the products with columns that are weighed like these, (n, o): (d, o)."""
        weighed = self.root[:, None] * target
        found: Floats = (self.table.T @ weighed - self.mean[:, None] * weighed.sum(axis=0)) / self.spread[:, None]
        return found

    def columns(self, which: NDArray[np.int64]) -> Floats:
        """Return some of the columns, (n, k)."""
        written = self.table[:, which].toarray() - self.mean[which]
        columns: Floats = self.root[:, None] * written / self.spread[which]
        return columns

    def ridge(self, target: Floats, strength: float) -> Floats:
        """Return the coefficients of columns that are weighed like these, (n, o), in ridge regressions: (d, o)."""

        def forward(x: Floats) -> Floats:
            x = x.ravel() / self.spread
            product: Floats = self.root * (self.table @ x - self.mean @ x)
            return product

        def backward(y: Floats) -> Floats:
            return self.correlations(y.reshape(-1, 1)).ravel()

        operator = LinearOperator(self.table.shape, forward, backward, dtype=np.float64)
        solutions = [lsqr(operator, y, damp=np.sqrt(strength))[0] for y in target.T]
        return np.stack(solutions, axis=1)


def standardise(table: csr_array, share: Floats) -> Standardised:
    """Centre and scale the columns of a table whose samples have these shares."""
    mean = table.T @ share
    variance = table.power(2).T @ share - np.square(mean)
    spread = np.sqrt(np.maximum(variance, 0))
    return Standardised(table, np.sqrt(share), mean, np.where(spread > 0, spread, np.inf))
