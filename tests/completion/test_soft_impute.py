"""The linear model that completion begins with."""

from __future__ import annotations

import numpy as np
import pytest

from riata.completion import soft_impute


def table(n: int = 60, d: int = 8, rank: int = 2, noise: float = 0.3, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    chance = rng.random(X.shape)
    return X, chance < 0.7, np.where(chance > 0.85, X, np.nan)


def resting(Q: np.ndarray, row: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Solve Q_mm x_m = −Q_mo x_o."""
    out = row.copy()
    out[~known] = -np.linalg.solve(Q[np.ix_(~known, ~known)], Q[np.ix_(~known, known)] @ row[known])
    return out


def test_the_resting_points_of_the_map_are_the_solution_of_soft_impute():
    X, known, judged = table()
    Q = soft_impute.precision(X, known, judged)
    fitted = np.array([resting(Q, row, there) for row, there in zip(X, known, strict=True)])
    # Soft-Impute is optimal where data less fit, on known entries, is λ times a subgradient of the nuclear norm at the fit.
    low_rank = fitted @ (np.eye(len(Q)) - Q)
    residual = np.where(known, X - low_rank, 0)
    U, s, Vt = np.linalg.svd(low_rank, full_matrices=False)
    r = int((s > 1e-3 * s[0]).sum())
    lambda_ = np.linalg.norm(residual, 2)
    np.testing.assert_allclose(np.diag(U[:, :r].T @ residual @ Vt[:r].T), lambda_, rtol=0.02)


def test_q_is_positive_definite_and_symmetric():
    Q = soft_impute.precision(*table())
    np.testing.assert_allclose(Q, Q.T, atol=1e-12)
    assert np.linalg.eigvalsh(Q)[0] > 0


@pytest.mark.parametrize("columns", [np.arange(8), np.array([0, 2, 3, 7]), np.array([5])])
def test_filling_again_and_again_with_the_regressions_arrives_at_the_resting_point(columns):
    X, known, judged = table()
    Q = soft_impute.precision(X, known, judged)
    maps = soft_impute.regressions(Q, columns)
    for row, there in zip(X[:10], known[:10], strict=True):
        there = there & np.isin(np.arange(8), columns)  # what is no input is not known
        filled = np.where(there, row, 0)
        for _ in range(3000):
            output = filled[columns] @ maps
            filled = np.where(there, row, output)
        np.testing.assert_allclose(filled, resting(Q, row, there), atol=1e-6)


def test_a_column_is_not_predicted_from_itself_where_that_converges():
    X, known, judged = table(noise=1.0)
    maps = soft_impute.regressions(soft_impute.precision(X, known, judged), np.arange(8))
    np.testing.assert_allclose(np.diag(maps), np.diag(maps)[0], atol=1e-12)
    assert 0 <= np.diag(maps)[0] < 0.5


def test_lambda_is_chosen_on_the_judged_entries():
    X, known, judged = table(n=200, noise=0.0)
    exact = soft_impute.precision(X, known, judged)
    rough = soft_impute.precision(
        X, known, np.where(np.isnan(judged), np.nan, 0.0)
    )  # zero everywhere: the largest λ is best
    spread = [np.abs(np.eye(8) - Q).max() for Q in (exact, rough)]
    assert spread[0] > 5 * spread[1]


def test_wide_tables_use_the_smaller_gram_matrix():
    X, known, judged = table(n=6, d=30)
    V, s = soft_impute._right_singular(X)
    _, expected, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(np.sort(s)[::-1], expected[: len(s)], rtol=1e-8)
    np.testing.assert_allclose(V @ V.T, Vt[: len(s)].T @ Vt[: len(s)], atol=1e-8)
    assert soft_impute.precision(X, known, judged).shape == (30, 30)


def test_a_table_of_zeros_predicts_zeros():
    Q = soft_impute.precision(np.zeros((5, 3)), np.ones((5, 3), dtype=bool), np.full((5, 3), np.nan))
    np.testing.assert_array_equal(soft_impute.regressions(Q, np.arange(3)), 0)
