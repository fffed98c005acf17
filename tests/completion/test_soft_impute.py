"""The linear model that completion starts from."""

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


def fixed_point(Q: np.ndarray, sample: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Solve Q_mm x_m = −Q_mo x_o."""
    out = sample.copy()
    missing = ~observed
    out[missing] = -np.linalg.solve(Q[np.ix_(missing, missing)], Q[np.ix_(missing, observed)] @ sample[observed])
    return out


def test_the_fixed_points_of_the_map_are_the_solution_of_soft_impute():
    X, observed, validation = table()
    Q = soft_impute.precision(X, observed, validation)
    fitted = np.array([fixed_point(Q, sample, its) for sample, its in zip(X, observed, strict=True)])
    # At the optimum the residual on observed entries is λ times a subgradient of the nuclear norm at the fit.
    low_rank = fitted @ (np.eye(len(Q)) - Q)
    residual = np.where(observed, X - low_rank, 0)
    U, s, Vt = np.linalg.svd(low_rank, full_matrices=False)
    r = int((s > 1e-3 * s[0]).sum())
    lambda_ = np.linalg.norm(residual, 2)
    np.testing.assert_allclose(np.diag(U[:, :r].T @ residual @ Vt[:r].T), lambda_, rtol=0.02)


def test_q_is_positive_definite_and_symmetric():
    Q = soft_impute.precision(*table())
    np.testing.assert_allclose(Q, Q.T, atol=1e-12)
    assert np.linalg.eigvalsh(Q)[0] > 0


@pytest.mark.parametrize("columns", [np.arange(8), np.array([0, 2, 3, 7]), np.array([5])])
def test_repeated_filling_with_the_regressions_converges_to_the_fixed_point(columns):
    X, observed, validation = table()
    Q = soft_impute.precision(X, observed, validation)
    maps = soft_impute.regressions(Q, columns)
    is_input = np.isin(np.arange(8), columns)
    for sample, shown in zip(X[:10], observed[:10] & is_input, strict=True):
        filled = np.where(shown, sample, 0)
        for _ in range(3000):
            output = filled[columns] @ maps
            filled = np.where(shown, sample, output)
        np.testing.assert_allclose(filled, fixed_point(Q, sample, shown), atol=1e-6)


def test_a_column_has_a_small_weight_on_itself_if_that_converges():
    X, observed, validation = table(noise=1.0)
    maps = soft_impute.regressions(soft_impute.precision(X, observed, validation), np.arange(8))
    np.testing.assert_allclose(np.diag(maps), np.diag(maps)[0], atol=1e-12)
    assert 0 <= np.diag(maps)[0] < 0.5


def test_lambda_has_the_lowest_error_on_the_validation_entries():
    X, observed, validation = table(n=200, noise=0.0)
    exact = soft_impute.precision(X, observed, validation)
    rough = soft_impute.precision(
        X, observed, np.where(np.isnan(validation), np.nan, 0.0)
    )  # zero everywhere: the largest λ is best
    largest = [np.abs(np.eye(8) - Q).max() for Q in (exact, rough)]
    assert largest[0] > 5 * largest[1]


def test_wide_tables_use_the_smaller_gram_matrix():
    X, observed, validation = table(n=6, d=30)
    V, s = soft_impute._right_singular(X)
    _, expected, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(np.sort(s)[::-1], expected[: len(s)], rtol=1e-8)
    np.testing.assert_allclose(V @ V.T, Vt[: len(s)].T @ Vt[: len(s)], atol=1e-8)
    assert soft_impute.precision(X, observed, validation).shape == (30, 30)


def test_a_table_of_zeros_predicts_zeros():
    Q = soft_impute.precision(np.zeros((5, 3)), np.ones((5, 3), dtype=bool), np.full((5, 3), np.nan))
    np.testing.assert_array_equal(soft_impute.regressions(Q, np.arange(3)), 0)


def test_small_tables_are_solved_closely_and_large_ones_within_a_bounded_number_of_multiplications():
    assert soft_impute._effort(200, 10) == (30, 200)
    assert soft_impute._effort(20_000, 2000) == (12, 3)
    n_lambdas, n_iters = soft_impute._effort(2000, 100)
    assert 3 < n_iters < 200
    assert n_lambdas * n_iters * 100**2 * 2000 <= 4e9


def test_of_long_tables_an_even_part_of_the_samples_is_used():
    X, observed, validation = table(n=4000)
    changed = X.copy()
    changed[1::2] = 100.0
    Q = soft_impute.precision(X, observed, validation)
    np.testing.assert_array_equal(soft_impute.precision(changed, observed, validation), Q)
