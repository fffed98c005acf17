"""The linear model that the completion of a table begins with: Soft-Impute, written as regressions between columns.

Soft-Impute fills a table Y with low-rank values and rests where every gap equals its own entry of

    Y A,    A = V diag(max(1 − λ / s, 0)) Vᵀ,    Y = U diag(s) Vᵀ.

Q = I − A is positive definite. A row x with gaps m and known entries o therefore rests at x_m = −Q_mm⁻¹ Q_mo x_o, whatever
positive numbers the rows of Q are multiplied with. Divided by their diagonal they say how to predict each column from the
others, which arrives much sooner than A itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["precision", "regressions"]

Floats = NDArray[np.float64]
_LAMBDAS, _FEW_LAMBDAS = 30, 12  # from just under the largest singular value down to a thousandth of it
_LARGE = 500  # columns from which on there are few
_ROWS = 4  # times as many rows as columns are enough to know how columns go together; and two thousand
_RISES = 4  # λ in a row without a lower error after which smaller ones are not tried
_WORK = 4e9  # multiplications that all decompositions together may take, roughly
_FEWEST_ITERS, _MOST_ITERS = 3, 200
_TOL = 1e-7  # squared relative change of the fitted values


def precision(values: Floats, known: NDArray[np.bool_], judged: Floats) -> Floats:
    """Return Q of Soft-Impute, with the λ of lowest error.

    Parameters
    ----------
    values : array of shape (n, d)
        Centred columns; what stands at unknown entries is not looked at.
    known : bool array of shape (n, d)
        The entries to learn from.
    judged : array of shape (n, d)
        Values of the entries to choose λ with, NaN elsewhere. Without any, λ is where the known entries are fitted to
        nine tenths.

    Of very many rows, an even part is looked at.
    """
    step = max(1, len(values) // max(2000, _ROWS * values.shape[1]))
    values, known, judged = values[::step], known[::step], judged[::step]
    there = ~np.isnan(judged)
    data = np.where(known, values, 0.0)
    fitted = np.zeros_like(data)
    largest = float(np.linalg.norm(data, 2))
    n_lambdas = _LAMBDAS if data.shape[1] < _LARGE else _FEW_LAMBDAS
    work = n_lambdas * min(data.shape) ** 2 * max(data.shape)
    n_iters = int(np.clip(_WORK / work, _FEWEST_ITERS, _MOST_ITERS))
    lowest, since, best = np.inf, 0, np.eye(data.shape[1])
    if largest == 0:
        return best
    for lambda_ in np.geomspace(0.95, 1e-3, n_lambdas) * largest:
        fitted, Q = _soft_impute(data, known, fitted, lambda_, n_iters)
        if there.any():
            error = float(np.square(fitted[there] - judged[there]).mean())
        else:
            error = abs(float(np.square((fitted - data)[known]).sum() / np.square(data).sum()) - 0.1)
        since += 1
        if error < lowest:
            lowest, since, best = error, 0, Q
        if since == _RISES:
            break
    return best


def regressions(Q: Floats, columns: NDArray[np.int64]) -> Floats:
    """Return the map from some columns to all, (k, d), whose resting point for any gaps is that of Q.

    Columns that are never inputs are eliminated: they follow from the others, −Q_uu⁻¹ Q_us. The rest predict each other, in
    steps short enough that filling again and again converges.
    """
    rest = np.setdiff1d(np.arange(len(Q)), columns)
    follow = -np.linalg.solve(Q[np.ix_(rest, rest)], Q[np.ix_(rest, columns)])  # (d − k, k)
    inner = Q[np.ix_(columns, columns)] + Q[np.ix_(columns, rest)] @ follow
    inner = (inner + inner.T) / 2
    diagonal = np.maximum(np.diag(inner), np.finfo(np.float64).tiny)
    scaled = inner / np.sqrt(np.outer(diagonal, diagonal))
    step = min(1.0, 1.9 / float(np.linalg.eigvalsh(scaled)[-1]))
    maps = np.zeros((len(columns), len(Q)))
    maps[:, columns] = np.eye(len(columns)) - step * (inner / diagonal[:, None]).T
    maps[:, rest] = follow.T
    return maps


def _soft_impute(
    data: Floats, known: NDArray[np.bool_], fitted: Floats, lambda_: float, n_iters: int
) -> tuple[Floats, Floats]:
    """Minimise ½ Σ_known (data − fitted)² + λ ‖fitted‖_* from a first guess; return the fit and its Q."""
    Q = np.eye(data.shape[1])
    for _ in range(n_iters):
        filled = np.where(known, data, fitted)
        V, s = _right_singular(filled)
        Q = np.eye(data.shape[1]) - (V * np.maximum(1 - lambda_ / s, 0)) @ V.T
        update = filled - filled @ Q
        change = np.square(update - fitted).sum()
        fitted = update
        if change <= _TOL * np.square(fitted).sum():
            break
    return fitted, Q


def _right_singular(Y: Floats) -> tuple[Floats, Floats]:
    """Right singular vectors, (d, min(n, d)), and values; from the smaller of the two Gram matrices."""
    wide = Y.shape[1] > Y.shape[0]
    squares, vectors = np.linalg.eigh(Y @ Y.T if wide else Y.T @ Y)
    s = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    keep = s > 1e-9 * s[-1]
    return (Y.T @ vectors[:, keep] / s[keep], s[keep]) if wide else (vectors[:, keep], s[keep])
