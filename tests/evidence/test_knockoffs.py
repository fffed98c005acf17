"""Laws of knockoffs: their distribution, and what is selected from statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag, toeplitz

from riata.evidence import knockoffs
from riata.evidence.gaussian import Gaussian, learn

METHODS = pytest.mark.parametrize("method", knockoffs.METHODS)

# Twelve columns; in groups, columns 0 to 2 and 7 are one, and 3 and 4 another.
D = 12
SCALE = np.linspace(0.5, 3, D)
AR = toeplitz(0.6 ** np.arange(D))
EQUAL = 0.5 * np.ones((D, D)) + 0.5 * np.eye(D)
TWINS = block_diag([[1, 0.999], [0.999, 1]], toeplitz(0.3 ** np.arange(D - 2)))
CORRELATIONS = pytest.mark.parametrize(
    "correlation", [AR, EQUAL, TWINS, np.eye(D)], ids=["ar", "equal", "twins", "none"]
)
SINGLE = np.arange(D)
GROUPED = np.array([0, 0, 0, 1, 1, 2, 3, 0, 4, 5, 6, 7])
IDS = pytest.mark.parametrize("ids", [SINGLE, GROUPED], ids=["single", "grouped"])

X = np.random.default_rng(1).normal(size=(300, 30)) @ np.linalg.cholesky(toeplitz(0.3 ** np.arange(30))).T


def gaussian_of(correlation) -> Gaussian:
    return Gaussian(np.arange(D, dtype=float), correlation * np.outer(SCALE, SCALE))


def prepared(correlation, ids=SINGLE, method="mvr") -> knockoffs.Knockoffs:
    return knockoffs.prepare(gaussian_of(correlation), ids, method)


def joint(covariance, S):
    return np.block([[covariance, covariance - S], [covariance - S, covariance]])


# S.


@METHODS
@CORRELATIONS
@IDS
def test_samples_and_knockoffs_have_a_joint_covariance(method, correlation, ids):
    found = prepared(correlation, ids, method)
    covariance = gaussian_of(correlation).covariance
    assert np.linalg.eigvalsh(joint(covariance, found.S) / np.outer(*2 * [np.tile(SCALE, 2)]))[0] > 1e-10
    blocks = found.gamma[:, None] * np.where(ids[:, None] == ids, covariance, 0)
    assert np.allclose(found.S, blocks, atol=1e-10)
    assert all(np.ptp(found.gamma[ids == g]) == 0 for g in ids)
    assert (found.gamma > 0).all()


def objective_of_mvr(gamma, A) -> float:
    margin = 2 * A - np.diag(gamma)
    if gamma.min() <= 0 or np.linalg.eigvalsh(margin)[0] <= 0:
        return np.inf
    return float((1 / gamma).sum() + np.trace(np.linalg.inv(margin)))


@CORRELATIONS
@IDS
def test_no_other_gamma_improves_mvr(correlation, ids):
    found, rng = prepared(correlation, ids), np.random.default_rng(0)
    least = objective_of_mvr(found.gamma, found.correlation)
    for size in (1e-4, 1e-2, 0.3):
        for _ in range(30):
            factor = np.exp(size * rng.normal(size=D))[ids]
            assert objective_of_mvr(found.gamma * factor, found.correlation) >= least * (1 - 1e-12)


@CORRELATIONS
@IDS
def test_no_gamma_of_sdp_can_be_raised_alone(correlation, ids):
    found = prepared(correlation, ids, "sdp")
    assert np.linalg.eigvalsh(2 * found.correlation - np.diag(found.gamma))[0] > 0
    for g in np.unique(ids):
        raised = found.gamma + 1e-3 * (ids == g)
        assert raised.max() > 1 or np.linalg.eigvalsh(2 * found.correlation - np.diag(raised))[0] < 0


def test_sdp_and_mvr_have_their_closed_form_solutions():
    # With independent columns nothing is better than independent knockoffs; with equal correlations of at least a half,
    # sdp is equicorrelated.
    assert np.allclose(prepared(np.eye(D)).gamma, 1, atol=1e-6)
    assert np.allclose(prepared(np.eye(D), method="sdp").gamma, 1, atol=1e-3)
    strong = 0.3 * np.eye(D) + 0.7
    assert np.allclose(prepared(strong, method="sdp").gamma, 0.6, atol=1e-3)
    assert np.allclose(prepared(strong, method="equicorrelated").gamma, 0.6, atol=1e-3)


def test_derivatives_are_those_of_the_functions():
    members = knockoffs.csr_array((np.ones(D), (np.arange(D), GROUPED)))
    A = prepared(AR, GROUPED).correlation
    at = np.linspace(0.1, 0.2, 8)
    for function in (knockoffs._mvr, lambda *a: knockoffs._sdp(*a, 0.1)):
        terms = function(at, A, members)
        for g in range(8):
            h = 1e-5 * (np.arange(8) == g)
            up, down = function(at + h, A, members), function(at - h, A, members)
            assert np.isclose((up.value - down.value) / 2e-5, terms.gradient[g], rtol=1e-5)
            assert np.allclose((up.gradient - down.gradient) / 2e-5, terms.hessian[g], rtol=1e-5, atol=1e-4)


@METHODS
def test_gamma_is_permuted_with_the_columns(method):
    order = np.random.default_rng(0).permutation(D)
    g = gaussian_of(AR)
    permuted = knockoffs.prepare(Gaussian(g.mean[order], g.covariance[np.ix_(order, order)]), GROUPED[order], method)
    assert np.allclose(permuted.gamma, prepared(AR, GROUPED, method).gamma[order], rtol=1e-5)


@METHODS
def test_units_do_not_matter(method):
    plain = knockoffs.prepare(Gaussian(np.zeros(D), AR), GROUPED, method)
    assert np.allclose(plain.gamma, prepared(AR, GROUPED, method).gamma, rtol=1e-6)


@METHODS
def test_one_hot_columns_that_sum_to_one_have_knockoffs(method):
    levels = np.random.default_rng(0).integers(4, size=400)
    table = np.hstack([np.eye(4)[levels], X[:300].repeat(2, axis=0)[:400, :3]])
    ids = np.array([0, 0, 0, 0, 1, 2, 3])
    exact = Gaussian(table.mean(axis=0), np.cov(table.T))  # singular: nothing was shrunk
    for gaussian in (learn(table), exact):
        found = knockoffs.prepare(gaussian, ids, method)
        drawn = found.draw(table, np.random.default_rng(1))
        assert np.isfinite(drawn).all()
        assert (found.gamma > 0.5).all()
        assert np.allclose(drawn.std(axis=0), table.std(axis=0), rtol=0.15)


# Draws.


@METHODS
@IDS
def test_a_large_sample_has_the_joint_covariance(method, ids):
    g, rng = gaussian_of(AR), np.random.default_rng(0)
    found = prepared(AR, ids, method)
    samples = rng.multivariate_normal(g.mean, g.covariance, size=40_000)
    both = np.hstack([samples, found.draw(samples, rng)])
    unit = np.tile(SCALE, 2)
    # Five standard errors: those of a correlation are below 1 / sqrt(n), and of a variance sqrt(2 / n).
    assert np.allclose(both.mean(axis=0) / unit, np.tile(g.mean, 2) / unit, atol=5 / 200)
    errors = (np.cov(both.T) - joint(g.covariance, found.S)) / np.outer(unit, unit)
    assert np.abs(errors).max() < 5 * np.sqrt(2) / 200


@IDS
def test_swapping_a_group_with_its_knockoff_changes_no_second_moment(ids):
    covariance = gaussian_of(AR).covariance
    moments = joint(covariance, prepared(AR, ids).S)
    swapped = np.arange(2 * D)
    group = np.flatnonzero(ids == 0)
    swapped[group], swapped[group + D] = group + D, group
    assert np.allclose(moments[np.ix_(swapped, swapped)], moments, atol=1e-10)


def test_draws_depend_on_their_generator_only():
    found, samples = prepared(AR), X[:50, :D]
    np.random.seed(0)
    first = found.draw(samples, np.random.default_rng(3))
    np.random.seed(1)
    assert np.array_equal(first, found.draw(samples, np.random.default_rng(3)))
    assert not np.array_equal(first, found.draw(samples, np.random.default_rng(4)))


# Thresholds.


def estimate(W, t) -> float:
    above = sum(w >= t for w in W)
    return (1 + sum(w <= -t for w in W)) / above if above else np.inf


STATISTICS = st.lists(st.integers(-6, 12), min_size=1, max_size=40).map(lambda w: np.array(w) / 4)


@given(W=STATISTICS, fdr=st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5, 1.0]))
@settings(max_examples=100, deadline=None)
def test_the_threshold_is_the_smallest_with_a_low_enough_estimate(W, fdr):
    below = [t for t in np.linspace(0.125, 4, 32) if estimate(W, t) <= fdr]
    found = knockoffs.threshold(W, fdr)
    assert np.isinf(found) == (not below)
    if below:
        # Statistics are quarters, so that every cut lies on a quarter or between two.
        assert np.array_equal(found <= W, below[0] <= W)
        assert np.count_nonzero(found <= W) >= knockoffs.fewest(fdr)


@given(W=STATISTICS, fdr=st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5, 1.0]))
@settings(max_examples=100, deadline=None)
def test_e_values_of_one_draw_select_what_the_threshold_selects(W, fdr):
    e = knockoffs.e_values(W, fdr)
    assert np.array_equal(knockoffs.e_bh(e, fdr), knockoffs.threshold(W, fdr) <= W)


@given(W=STATISTICS)
@settings(max_examples=100, deadline=None)
def test_no_cut_has_a_lower_estimate_than_the_best(W):
    best = knockoffs.best_cut(W)
    least = min((estimate(W, t) for t in np.abs(W[W != 0])), default=np.inf)
    assert best.estimate == (least if np.isfinite(least) else 1.0)
    assert best.size == np.count_nonzero(best.threshold <= W)


def test_there_is_no_cut_where_every_knockoff_is_more_important():
    assert knockoffs.best_cut(np.array([-1.0, -2.0, 0.0])).size == 0
    assert knockoffs.threshold(np.array([-1.0, 0.0]), 1.0) == np.inf
    assert knockoffs.threshold(np.zeros(20), 1.0) == np.inf


def test_e_values_by_hand():
    W = np.array([5.0, 4, 3, 2, 1, -0.5, -2.5, 0])
    # At 0.5 the cut at 2 has four above and one below: (1 + 1) / 4; the cut at 1 has five, and at 0.5 two below: 3 / 5.
    assert knockoffs.threshold(W, 0.5) == 1.0
    assert np.array_equal(knockoffs.e_values(W, 0.5), [4, 4, 4, 4, 4, 0, 0, 0])


@pytest.mark.parametrize(
    ("e", "fdr", "selected"),
    [
        ([10, 10, 0, 0, 0], 0.25, [0, 1]),  # 5 / (2 × 10) = 0.25
        ([10, 9, 0, 0, 0], 0.25, []),
        ([20, 9, 7, 5, 0], 0.25, [0, 1, 2, 3]),  # 5 / (4 × 5) = 0.25 takes in all above it
        ([0, 0, 0, 0, 0], 1.0, []),
        ([1, 1, 1, 1, 1], 1.0, [0, 1, 2, 3, 4]),
    ],
)
def test_e_bh_by_hand(e, fdr, selected):
    assert np.flatnonzero(knockoffs.e_bh(np.array(e, dtype=float), fdr)).tolist() == selected


@pytest.mark.parametrize(("fdr", "fewest"), [(1, 1), (0.5, 2), (0.3, 4), (0.2, 5), (0.1, 10), (0.05, 20), (0.01, 100)])
def test_fewest_is_one_over_fdr(fdr, fewest):
    assert knockoffs.fewest(fdr) == fewest


def test_e_values_of_null_features_are_one_on_average():
    rng = np.random.default_rng(0)
    # Signs of null features are independent and random, whatever their sizes and whatever those of the others.
    means = []
    for _ in range(2000):
        W = rng.exponential(size=40) * rng.choice([-1, 1], 40)
        W[:12] = 1 + rng.exponential(size=12)
        means.append(knockoffs.e_values(W, 0.2)[12:].sum() / 40)
    assert np.mean(means) < 1 + 3 * np.std(means) / np.sqrt(len(means))
