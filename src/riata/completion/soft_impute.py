"""The linear model that completion starts from: Soft-Impute, written as regressions between columns.

Soft-Impute fills a table Y with low-rank values. At its fixed point every gap equals its own entry of

    Y A,    A = V diag(max(1 − λ / s, 0)) Vᵀ,    Y = U diag(s) Vᵀ.

Q = I − A is positive definite. For a sample x with missing entries m and observed entries o the fixed point is therefore
x_m = −Q_mm⁻¹ Q_mo x_o, whatever positive numbers the rows of Q are multiplied with. Divided by their diagonal the rows are
regressions of each column on the others, and repeated filling with these converges much faster than with A itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["precision", "regressions"]

Floats = NDArray[np.float64]


def precision(values: Floats, observed: NDArray[np.bool_], validation: Floats) -> Floats:
    """Return Q of Soft-Impute, with the λ of lowest validation error.

    Parameters
    ----------
    values : array of shape (n, d)
        Centred columns; values at entries that are not observed are ignored.
    observed : bool array of shape (n, d)
        The entries to learn from.
    validation : array of shape (n, d)
        Values of the entries to select λ with, NaN elsewhere. Without any, λ is selected so that nine tenths of the sum of
        squares of the observed entries are fitted.

    Notes
    -----
    Of long tables an even part of the samples is used: about 4 d, and at least 2,000, are enough to estimate how the columns
    are associated. λ falls from just below the largest singular value to a thousandth of it; the search ends after four λ
    without a lower error.
    """
    every = max(1, len(values) // max(2000, 4 * values.shape[1]))
    values, observed, validation = values[::every], observed[::every], validation[::every]
    data = np.where(observed, values, 0.0)
    fitted, best = np.zeros_like(data), np.eye(data.shape[1])
    largest = float(np.linalg.norm(data, 2))
    if largest == 0:
        return best
    n_lambdas, n_iters = _effort(*data.shape)
    lowest_error, n_higher = np.inf, 0
    for lambda_ in np.geomspace(0.95, 1e-3, n_lambdas) * largest:
        fitted, Q = _soft_impute(data, observed, fitted, lambda_, n_iters)
        error = _error(fitted, data, observed, validation)
        n_higher += 1
        if error < lowest_error:
            lowest_error, n_higher, best = error, 0, Q
        if n_higher == 4:
            break
    return best


def _effort(n: int, d: int) -> tuple[int, int]:
    """Return the number of λ, and of iterations at each.

    There are 30 λ, or 12 from 500 columns on. The decompositions, of about min(n, d)² max(n, d) multiplications each, may take
    4·10⁹ multiplications together, but there are 3 to 200 iterations.
    """
    n_lambdas = 30 if d < 500 else 12
    return n_lambdas, int(np.clip(4e9 / (n_lambdas * min(n, d) ** 2 * max(n, d)), 3, 200))


def _error(fitted: Floats, data: Floats, observed: NDArray[np.bool_], validation: Floats) -> float:
    """Return the validation error or, without validation entries, how far the unexplained share is from a tenth."""
    held_out = ~np.isnan(validation)
    if held_out.any():
        return float(np.square(fitted[held_out] - validation[held_out]).mean())
    return abs(float(np.square((fitted - data)[observed]).sum() / np.square(data).sum()) - 0.1)


def regressions(Q: Floats, columns: NDArray[np.int64]) -> Floats:
    """Return the linear map from some columns to all, (k, d), with the fixed point of Q for any gaps.

    Columns that are never inputs are eliminated: they are predicted from the others with −Q_uu⁻¹ Q_us. The other columns
    predict each other, with a step size at which repeated filling converges.
    """
    others = np.setdiff1d(np.arange(len(Q)), columns)
    predict_others = -np.linalg.solve(Q[np.ix_(others, others)], Q[np.ix_(others, columns)])  # (d − k, k)
    schur = Q[np.ix_(columns, columns)] + Q[np.ix_(columns, others)] @ predict_others  # (k, k)
    schur = (schur + schur.T) / 2
    diagonal = np.maximum(np.diag(schur), np.finfo(np.float64).tiny)
    scaled = schur / np.sqrt(np.outer(diagonal, diagonal))
    step = min(1.0, 1.9 / float(np.linalg.eigvalsh(scaled)[-1]))
    maps = np.zeros((len(columns), len(Q)))
    maps[:, columns] = np.eye(len(columns)) - step * (schur / diagonal[:, None]).T
    maps[:, others] = predict_others.T
    return maps


def _soft_impute(
    data: Floats, observed: NDArray[np.bool_], fitted: Floats, lambda_: float, n_iters: int
) -> tuple[Floats, Floats]:
    """Minimise ½ Σ_observed (data − fitted)² + λ ‖fitted‖_* from a first fit; return the fit and its Q."""
    Q = np.eye(data.shape[1])
    for _ in range(n_iters):
        filled = np.where(observed, data, fitted)
        V, s = _right_singular(filled)
        Q = np.eye(data.shape[1]) - (V * np.maximum(1 - lambda_ / s, 0)) @ V.T
        update = filled - filled @ Q
        change = np.square(update - fitted).sum()
        fitted = update
        if change <= 1e-7 * np.square(fitted).sum():
            break
    return fitted, Q


def _right_singular(Y: Floats) -> tuple[Floats, Floats]:
    """Right singular vectors, (d, min(n, d)), and values; from the smaller of the two Gram matrices."""
    wide = Y.shape[1] > Y.shape[0]
    squares, vectors = np.linalg.eigh(Y @ Y.T if wide else Y.T @ Y)
    s = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    keep = s > 1e-9 * s[-1]
    return (Y.T @ vectors[:, keep] / s[keep], s[keep]) if wide else (vectors[:, keep], s[keep])
