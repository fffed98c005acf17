"""Laws of knockoffs: what they look like, what may be selected in comparison with them, and how often it is false."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag, toeplitz
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LassoCV, LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor
from riata.evidence import KnockoffSelector, inner, knockoff_selector, knockoffs
from riata.evidence.gaussian import Gaussian, learn
from riata.jobs import ReplicaError

QUICK = {"hidden_dims": (4,), "M": 1.0, "preprocessing": "standard", "path_multiplier": 1.3, "n_iters": (60, 10)}
METHODS = pytest.mark.parametrize("method", knockoffs.METHODS)
NOTHING = pytest.mark.filterwarnings("ignore:nothing is selected")
FEW_VALUES = pytest.mark.filterwarnings("ignore:.* different values")

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

# Thirty columns, of which every other one of the first 24 matters.
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 30)) @ np.linalg.cholesky(toeplitz(0.3 ** np.arange(30))).T
TRUE = (np.arange(30) % 2 == 0) & (np.arange(30) < 24)
y = X[:, TRUE] @ rng.choice([-1.0, 1.0], 12) + rng.normal(size=300)


def gaussian_of(correlation) -> Gaussian:
    return Gaussian(np.arange(D, dtype=float), correlation * np.outer(SCALE, SCALE))


def prepared(correlation, ids=SINGLE, method="mvr") -> knockoffs.Knockoffs:
    return knockoffs.prepare(gaussian_of(correlation), ids, method)


def joint(covariance, S):
    return np.block([[covariance, covariance - S], [covariance - S, covariance]])


def lasso(**params) -> KnockoffSelector:
    return KnockoffSelector(LassoCV(), **({"random_state": 0} | params))


# S.


@METHODS
@CORRELATIONS
@IDS
def test_rows_and_knockoffs_have_a_joint_covariance(method, correlation, ids):
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
    found, draw = prepared(correlation, ids), np.random.default_rng(0)
    least = objective_of_mvr(found.gamma, found.correlation)
    for size in (1e-4, 1e-2, 0.3):
        for _ in range(30):
            factor = np.exp(size * draw.normal(size=D))[ids]
            assert objective_of_mvr(found.gamma * factor, found.correlation) >= least * (1 - 1e-12)


@CORRELATIONS
@IDS
def test_no_gamma_of_sdp_can_be_raised_alone(correlation, ids):
    found = prepared(correlation, ids, "sdp")
    assert np.linalg.eigvalsh(2 * found.correlation - np.diag(found.gamma))[0] > 0
    for g in np.unique(ids):
        raised = found.gamma + 1e-3 * (ids == g)
        assert raised.max() > 1 or np.linalg.eigvalsh(2 * found.correlation - np.diag(raised))[0] < 0


def test_sdp_and_mvr_have_the_solutions_that_can_be_written_down():
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
def test_gamma_follows_its_columns(method):
    order = np.random.default_rng(0).permutation(D)
    g = gaussian_of(AR)
    there = knockoffs.prepare(Gaussian(g.mean[order], g.covariance[np.ix_(order, order)]), GROUPED[order], method)
    assert np.allclose(there.gamma, prepared(AR, GROUPED, method).gamma[order], rtol=1e-5)


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
        copies = found.draw(table, np.random.default_rng(1))
        assert np.isfinite(copies).all()
        assert (found.gamma > 0.5).all()
        assert np.allclose(copies.std(axis=0), table.std(axis=0), rtol=0.15)


# Draws.


@METHODS
@IDS
def test_a_large_sample_has_the_joint_covariance(method, ids):
    g, draw = gaussian_of(AR), np.random.default_rng(0)
    found = prepared(AR, ids, method)
    rows = draw.multivariate_normal(g.mean, g.covariance, size=40_000)
    both = np.hstack([rows, found.draw(rows, draw)])
    unit = np.tile(SCALE, 2)
    # Five standard errors: those of a correlation are below 1 / sqrt(n), and of a variance sqrt(2 / n).
    assert np.allclose(both.mean(axis=0) / unit, np.tile(g.mean, 2) / unit, atol=5 / 200)
    errors = (np.cov(both.T) - joint(g.covariance, found.S)) / np.outer(unit, unit)
    assert np.abs(errors).max() < 5 * np.sqrt(2) / 200


@IDS
def test_changing_places_changes_no_second_moment(ids):
    covariance = gaussian_of(AR).covariance
    moments = joint(covariance, prepared(AR, ids).S)
    swapped = np.arange(2 * D)
    group = np.flatnonzero(ids == 0)
    swapped[group], swapped[group + D] = group + D, group
    assert np.allclose(moments[np.ix_(swapped, swapped)], moments, atol=1e-10)


def test_draws_depend_on_their_generator_only():
    found, rows = prepared(AR), X[:50, :D]
    np.random.seed(0)
    first = found.draw(rows, np.random.default_rng(3))
    np.random.seed(1)
    assert np.array_equal(first, found.draw(rows, np.random.default_rng(3)))
    assert not np.array_equal(first, found.draw(rows, np.random.default_rng(4)))


# Thresholds.


def estimate(W, t) -> float:
    above = sum(w >= t for w in W)
    return (1 + sum(w <= -t for w in W)) / above if above else np.inf


STATISTICS = st.lists(st.integers(-6, 12), min_size=1, max_size=40).map(lambda w: np.array(w) / 4)


@given(W=STATISTICS, fdr=st.sampled_from([0.05, 0.1, 0.2, 0.25, 0.5, 1.0]))
@settings(max_examples=100, deadline=None)
def test_the_threshold_is_the_smallest_that_will_do(W, fdr):
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


def test_no_cut_where_everything_is_behind_its_knockoff():
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
    draw = np.random.default_rng(0)
    # Signs of null features are coins, whatever their sizes and whatever the others do.
    means = []
    for _ in range(2000):
        W = draw.exponential(size=40) * draw.choice([-1, 1], 40)
        W[:12] = 1 + draw.exponential(size=12)
        means.append(knockoffs.e_values(W, 0.2)[12:].sum() / 40)
    assert np.mean(means) < 1 + 3 * np.std(means) / np.sqrt(len(means))


# Statistics.


def compared(rows, copies, estimator, ids=None, seed=0, importance="auto"):
    d = rows.shape[1]
    ids = np.arange(d) if ids is None else ids
    columns = knockoff_selector._Columns(
        np.ones(d, bool), np.arange(d), ids, np.unique(ids), ids, ids is not None, None
    )
    draw = np.random.default_rng(seed)
    own, copied = knockoff_selector.weigh(estimator, importance, columns, rows, copies, y, None, draw)
    return own - copied


@pytest.mark.parametrize("importance", ["own", "reliance"])
@pytest.mark.parametrize("ids", [np.arange(30), np.arange(30) // 2], ids=["single", "grouped"])
def test_a_group_that_changes_places_changes_its_sign(ids, importance):
    exact = LassoCV(tol=1e-9, max_iter=100_000)
    copies = knockoffs.prepare(learn(X), ids).draw(X, np.random.default_rng(0))
    W = compared(X, copies, exact, ids, importance=importance)
    moved = np.isin(ids, [0, 3, 8])
    other = compared(np.where(moved, copies, X), np.where(moved, X, copies), exact, ids, importance=importance)
    sign = np.where(np.isin(np.arange(len(W)), [0, 3, 8]), -1, 1)
    assert np.abs(W[[0, 3, 8]]).max() > 0.02
    assert np.allclose(other, sign * W, atol=1e-5)


def test_reliance_on_a_column_of_a_line_is_its_share_of_the_variance():
    line = LinearRegression().fit(X, y)
    np.testing.assert_allclose(inner.reliance(line, X, np.arange(30)), line.coef_**2 * X.var(axis=0))
    pairs = np.arange(30) // 2
    by_hand = [np.var(X[:, pairs == g] @ line.coef_[pairs == g]) for g in range(15)]
    np.testing.assert_allclose(inner.reliance(line, X, pairs), by_hand)


def test_reliance_is_read_at_the_point_that_predicts_best():
    model = LassoNetRegressor(**QUICK, random_state=0).fit(X, y)
    found = inner.reliance(model, X, np.arange(30))
    best = min(model.path_, key=lambda point: (point.val_loss, point.n_selected))
    assert model.point_ is best
    assert (found > 0).sum() == best.n_selected
    assert not inner.validated(LassoNetRegressor(**QUICK, val_size=0, n_features_to_select=5, random_state=0).fit(X, y))


def test_fits_of_one_draw_share_their_knockoffs_and_are_averaged(monkeypatch):
    seen = []
    weigh = knockoff_selector.weigh

    def spy(*args):
        seen.append((args[4].copy(), weigh(*args)))
        return seen[-1][1]

    monkeypatch.setattr(knockoff_selector, "weigh", spy)
    selector = KnockoffSelector(LassoNetRegressor(**QUICK), n_fits=3, random_state=0).fit(X, y)
    (first, _), (second, _), (third, _) = seen
    assert (first == second).all()
    assert (first == third).all()
    pairs = np.array([pair for _, pair in seen])
    assert np.ptp(pairs, axis=0).max() > 0  # each with a seed of its own
    np.testing.assert_allclose(selector.statistics_, (pairs[:, 0] - pairs[:, 1]).mean(axis=0))
    seen.clear()
    KnockoffSelector(LassoCV(), n_fits=3, random_state=0).fit(X, y)
    assert len(seen) == 3
    seen.clear()
    KnockoffSelector(make_pipeline(StandardScaler(), LinearRegression()), n_fits=3, random_state=0).fit(X, y)
    assert len(seen) == 1  # no seed, no difference


def test_which_one_comes_first_does_not_matter():
    exact = LassoCV(tol=1e-9, max_iter=100_000)
    copies = knockoffs.prepare(learn(X), np.arange(30)).draw(X, np.random.default_rng(0))
    assert np.allclose(compared(X, copies, exact, seed=0), compared(X, copies, exact, seed=1), atol=1e-4)


def test_groups_of_one_are_no_groups():
    one = lasso().fit(X, y)
    other = lasso(feature_groups=np.arange(30)).fit(X, y)
    assert np.array_equal(one.statistics_, other.statistics_)
    assert np.array_equal(one.selected_, other.selected_)


# The selector.


def shares(selected, true=TRUE):
    """Share of false ones among the selected, and of the true ones that are selected."""
    return (selected & ~true).sum() / max(1, selected.sum()), selected[true].mean()


@pytest.mark.parametrize(
    ("method", "covariance"),
    [
        ("mvr", "ledoit-wolf"),
        ("sdp", "ledoit-wolf"),
        ("equicorrelated", "ledoit-wolf"),
        ("mvr", "graphical-lasso"),
        ("mvr", "empirical"),
    ],
)
def test_true_features_are_found(method, covariance):
    false, found = shares(lasso(method=method, covariance=covariance).fit(X, y).selected_)
    assert found == 1
    assert false <= 0.3


@NOTHING
def test_few_are_false_on_average():
    results = []
    for seed in range(40):
        draw = np.random.default_rng(seed)
        rows = draw.normal(size=(300, 30)) + draw.normal(size=(300, 1))
        target = rows[:, TRUE] @ draw.choice([-0.3, 0.3], 12) + draw.normal(size=300)
        selector = KnockoffSelector(Lasso(alpha=0.02), fdr=0.2, random_state=seed)
        results.append(shares(selector.fit(rows, target).selected_))
    false, found = np.mean(results, axis=0)
    assert false < 0.2 + 0.06  # two standard errors
    assert found > 0.5


@NOTHING
def test_noise_rarely_selects():
    n_selected = []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        selector = KnockoffSelector(LinearRegression(), fdr=0.2, random_state=seed)
        n_selected.append(selector.fit(draw.normal(size=(80, 20)), draw.normal(size=80)).n_selected_)
    # All features are false, so that every selection is: at most one in five.
    assert np.mean(np.array(n_selected) > 0) < 0.2


def test_a_selection_of_nothing_says_why():
    noise = np.random.default_rng(0).normal(size=300)
    why = r"nothing is selected at fdr=0.1: the best cut has \d+ of 30 and .* Fewer than 10 can never be selected"
    with pytest.warns(UserWarning, match=why) as caught:
        selector = KnockoffSelector(LinearRegression(), random_state=0).fit(X, noise)
    assert caught[0].filename == __file__
    assert selector.threshold_ == np.inf
    assert not selector.selected_.any()
    with pytest.warns(UserWarning, match=r"best of 3 draws has .*\(0 draws reached .*n_draws=1"):
        KnockoffSelector(LinearRegression(), n_draws=3, random_state=0).fit(X, noise)
    with pytest.warns(UserWarning, match="no feature is more important than its knockoff"):
        KnockoffSelector(Lasso(alpha=100), random_state=0).fit(X, noise)


@pytest.mark.parametrize(
    "estimator",
    [
        LassoNetRegressor(**QUICK),
        RandomForestRegressor(30, min_samples_leaf=5),
        LinearRegression(),
        make_pipeline(StandardScaler(), LassoCV()),
    ],
    ids=["lassonet", "forest", "least squares", "pipeline"],
)
def test_any_regressor_will_do(estimator):
    selector = KnockoffSelector(estimator, fdr=0.2, random_state=0).fit(X, y)
    false, found = shares(selector.selected_)
    assert found >= 0.5
    assert false <= 0.4


@pytest.mark.parametrize("estimator", [LassoNetClassifier(**QUICK), LogisticRegression()], ids=["lassonet", "logistic"])
def test_any_classifier_will_do(estimator):
    label = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    selector = KnockoffSelector(estimator, fdr=0.2, random_state=0).fit(X, label)
    false, found = shares(selector.selected_)
    assert found >= 0.7
    assert false <= 0.4


def test_a_target_may_have_several_columns():
    targets = np.column_stack([y, X[:, 1]])
    selector = KnockoffSelector(LinearRegression(), random_state=0).fit(X, targets)
    assert selector.selected_[1]
    assert selector.selected_[TRUE].all()


def test_attributes_fit_together():
    selector = lasso().fit(X, y)
    W = selector.statistics_
    assert W.shape == (30,)
    assert selector.threshold_ == knockoffs.threshold(W, 0.1)
    assert np.array_equal(selector.selected_, selector.threshold_ <= W)
    assert selector.n_selected_ == selector.selected_.sum()
    assert selector.transform(X).shape == (300, selector.n_selected_)
    assert np.array_equal(selector.groups_, np.arange(30))


def test_many_draws_are_averaged():
    selector = lasso(n_draws=5, fdr=0.2).fit(X, y)
    assert selector.statistics_.shape == (5, 30)
    e = [knockoffs.e_values(w, 0.1) for w in selector.statistics_]
    assert np.allclose(selector.e_values_, np.mean(e, axis=0))
    assert (selector.e_values_ <= 30).all()
    assert np.array_equal(selector.threshold_, [knockoffs.threshold(w, 0.1) for w in selector.statistics_])
    assert np.array_equal(selector.selected_, knockoffs.e_bh(selector.e_values_, 0.2))
    assert shares(selector.selected_)[1] == 1


def test_the_first_of_many_draws_is_the_only_one_of_one():
    assert np.array_equal(lasso(n_draws=2, fdr=0.2).fit(X, y).statistics_[0], lasso().fit(X, y).statistics_)


@pytest.mark.parametrize("n_draws", [1, 3])
def test_one_seed_is_one_result(n_draws):
    np.random.seed(0)
    one = lasso(n_draws=n_draws, fdr=0.2).fit(X, y)
    np.random.seed(1)
    assert np.array_equal(one.statistics_, lasso(n_draws=n_draws, fdr=0.2).fit(X, y).statistics_)
    other = lasso(n_draws=n_draws, fdr=0.2, random_state=1).fit(X, y)
    assert not np.array_equal(one.statistics_, other.statistics_)


def test_draws_side_by_side_equal_draws_in_a_row():
    params = {"fdr": 0.2, "n_draws": 2, "random_state": 0}
    row, side = (KnockoffSelector(LassoNetRegressor(**QUICK), n_jobs=n, **params).fit(X, y) for n in (1, 2))
    assert np.array_equal(row.statistics_, side.statistics_)
    assert np.array_equal(row.e_values_, side.e_values_)


def test_the_seed_of_the_estimator_does_not_matter():
    fits = [
        KnockoffSelector(LassoNetRegressor(**QUICK, random_state=seed), fdr=0.2, random_state=0).fit(X, y)
        for seed in (1, 2)
    ]
    assert np.array_equal(fits[0].statistics_, fits[1].statistics_)
    assert fits[0].estimator.random_state == 1


@NOTHING
def test_sample_weight_reaches_the_estimator():
    good = np.arange(300) < 200
    spoilt = np.where(good, y, 100 * np.sin(np.arange(300)))
    least_squares = KnockoffSelector(LinearRegression(), random_state=0)
    weighted = clone(least_squares).fit(X, spoilt, sample_weight=np.where(good, 1.0, 1e-9))
    assert shares(weighted.selected_)[1] > 0.9
    assert clone(least_squares).fit(X, spoilt).n_selected_ == 0


def test_a_row_of_weight_zero_is_no_row():
    good = np.arange(300) < 200
    weighted = lasso().fit(X, y, sample_weight=good.astype(float))
    assert np.array_equal(weighted.statistics_, lasso().fit(X[good], y[good], sample_weight=np.ones(200)).statistics_)


# Groups and constants.

PAIRS = np.arange(30) // 2


def test_groups_are_selected_whole():
    selector = lasso(feature_groups=PAIRS).fit(X, y)
    assert selector.statistics_.shape == (15,)
    assert np.array_equal(selector.selected_[::2], selector.selected_[1::2])
    assert selector.selected_[:24].all()


def test_groups_of_the_estimator_are_those_of_the_selector(monkeypatch):
    given = []
    spied = LassoNetRegressor.fit

    def fit(self, X, y):
        given.append(self.feature_groups)
        return spied(self, X, y)

    monkeypatch.setattr(LassoNetRegressor, "fit", fit)
    labels = [f"pair {p:02d}" for p in PAIRS]
    selectors = [
        KnockoffSelector(LassoNetRegressor(**QUICK, feature_groups=labels), n_fits=1, random_state=0),
        KnockoffSelector(LassoNetRegressor(**QUICK), feature_groups=labels, n_fits=1, random_state=0),
    ]
    fits = [selector.fit(X, y) for selector in selectors]
    assert len(given) == 4  # a network and a linear model each
    assert all(np.array_equal(groups, np.append(PAIRS, PAIRS + 15)) for groups in given)
    assert np.array_equal(fits[1].statistics_, fits[0].statistics_)


@NOTHING
def test_costs_of_the_estimator_hold_for_knockoffs_too():
    costs = np.where(np.arange(30) < 15, 1.0, 50.0)
    selector = KnockoffSelector(
        LassoNetRegressor(**QUICK, feature_costs=costs), importance="own", n_fits=1, random_state=0
    ).fit(X, y)
    plain = KnockoffSelector(LassoNetRegressor(**QUICK), importance="own", n_fits=1, random_state=0).fit(X, y)
    assert np.abs(selector.statistics_[15:]).max() < np.abs(plain.statistics_[15:]).max() / 5


@FEW_VALUES
@NOTHING
def test_a_variable_with_levels_is_one_group():
    draw = np.random.default_rng(0)
    levels = draw.integers(4, size=300)
    table = np.hstack([np.eye(4)[levels], X])
    groups = [[0, 1, 2, 3], *[[j] for j in range(4, 34)]]
    target = y + np.array([0, 3, -3, 1])[levels]
    selected = lasso(feature_groups=groups).fit(table, target).selected_
    assert selected[:4].all()
    assert selected[4:][TRUE].all()


def test_constant_columns_are_left_out():
    table = np.insert(X, [0, 10, 30], [7.0, 0.0, 0.1], axis=1)
    constant = np.ptp(table, axis=0) == 0
    selector = lasso().fit(table, y)
    plain = lasso().fit(X, y)
    assert np.array_equal(selector.statistics_[~constant], plain.statistics_)
    assert np.array_equal(selector.selected_[~constant], plain.selected_)
    assert not selector.statistics_[constant].any()
    assert not selector.selected_[constant].any()


def test_constant_columns_of_a_selected_group_are_not_selected():
    table = np.insert(X, 0, 1.0, axis=1)
    selector = lasso(feature_groups=np.append(0, np.arange(30))).fit(table, y)
    assert selector.statistics_.shape == (30,)
    assert selector.selected_[:2].tolist() == [False, True]


# scikit-learn.


def test_names_are_kept():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
    selector = lasso().set_output(transform="pandas").fit(frame, y)
    assert np.array_equal(selector.feature_names_in_, frame.columns)
    assert list(selector.get_feature_names_out()) == list(frame.columns[selector.selected_])
    assert list(selector.transform(frame).columns) == list(frame.columns[selector.selected_])


def test_a_clone_has_the_same_parameters():
    selector = KnockoffSelector(
        LassoCV(eps=0.01), fdr=0.3, n_draws=4, method="sdp", feature_groups=PAIRS, random_state=3
    )
    copy = clone(selector)
    assert copy.get_params()["estimator__eps"] == 0.01
    assert {k: v for k, v in copy.get_params().items() if k not in ("estimator", "feature_groups")} == {
        k: v for k, v in selector.get_params().items() if k not in ("estimator", "feature_groups")
    }


def test_it_works_in_a_pipeline():
    model = make_pipeline(StandardScaler(), lasso(), LinearRegression()).fit(X, y)
    assert model.score(X, y) > 0.8


@FEW_VALUES
@NOTHING
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_scikit_learn_checks():
    selector = KnockoffSelector(LinearRegression(), fdr=1.0, random_state=0)
    # Knockoffs are drawn for rows, and a row that is there twice has two.
    check_estimator(
        selector, on_skip=None, expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": "draws"}
    )


# Errors and warnings.


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fdr": 0}, "fdr must be a finite number in \\(0, 1\\]"),
        ({"fdr": 1.5}, "fdr must be"),
        ({"n_draws": 0}, "n_draws must be an integer of at least 1"),
        ({"method": "asdp"}, "method must be one of 'mvr', 'sdp', 'equicorrelated'"),
        ({"covariance": "oracle"}, "covariance must be one of"),
        ({"feature_groups": [0, 1]}, "groups must hold one label per feature"),
        ({"fdr": 0.01}, r"needs at least 100 columns.*X has 30.*use fdr=0.034 or more"),
        ({"n_draws": 2, "fdr": 0.05}, r"n_draws=2 needs at least 40 columns.*use fdr=0.067 or more, or use n_draws=1"),
        ({"feature_groups": np.arange(30) // 4}, r"needs at least 10 groups.*X has 8.*use fdr=0.125 or more"),
    ],
)
def test_parameters_that_cannot_work_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        lasso(**params).fit(X, y)


def test_the_remedy_works():
    with pytest.raises(ValueError, match=r"use fdr=0\.143 or more"):
        lasso().fit(X[:, :7], y)
    assert lasso(fdr=0.143).fit(X[:, TRUE][:, :7], y).n_selected_ == 7


def test_what_cannot_be_selected_from_is_refused():
    with pytest.raises(ValueError, match="X has 0 that are not constant: there must be more columns"):
        lasso().fit(np.ones((20, 12)), y[:20])
    with pytest.raises(ValueError, match="minimum of 3"):
        lasso().fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="infinity"):
        lasso().fit(np.where(X > 2, np.inf, X), y)
    with pytest.raises(ValueError, match="KnockoffSelector needs numbers; X is an array with text: give a data frame"):
        lasso().fit(X.astype(str) + "a", y)


def test_gaps_are_the_means_of_their_columns_and_a_warning_says_so():
    gaps = np.where(X > 1.5, np.nan, X)
    with pytest.warns(UserWarning, match="columns have missing values .* whether values are missing plays no part"):
        found = lasso().fit(gaps, y)
    whole = lasso().fit(np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps), y)
    np.testing.assert_array_equal(found.statistics_, whole.statistics_)


def test_estimators_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="must predict a target"):
        KnockoffSelector(LassoNetAutoencoder()).fit(X, y)
    with pytest.raises(ReplicaError, match=r"draw 1 of 1, fit 1 of 1: .*neither feature_importances_ nor coef_"):
        KnockoffSelector(KNeighborsRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        KnockoffSelector(KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="one number per row"):
        lasso().fit(X, y, sample_weight=np.ones(3))


def test_columns_of_few_values_are_named():
    table = X.copy()
    table[:, 4] = table[:, 4] > 0
    with pytest.warns(
        UserWarning, match=r"1 of 30 columns have at most 10 different values \(4\).*mean and covariance"
    ) as caught:
        lasso().fit(table, y)
    assert caught[0].filename == __file__
    frame = pd.DataFrame(table.round(0), columns=[f"gene {j}" for j in range(30)])
    with pytest.warns(UserWarning, match=r"30 of 30 .*\(gene 0, gene 1, gene 2, gene 3, gene 4 …\)"):
        lasso().fit(frame, y)


def test_a_category_of_noise_has_no_large_statistic_and_a_true_one_has():
    """Without a clear association neither a category nor its knockoff counts: else the sign of one large statistic decides."""
    statistics = {"noise": [], "true": []}
    for seed in range(4):
        draw = np.random.default_rng(seed)
        X = pd.DataFrame(draw.standard_normal((250, 8)), columns=list("abcdefgh"))
        X["town"] = [f"T{i}" for i in draw.integers(0, 40, 250)]
        y = X[list("abcd")].sum(axis=1) + draw.standard_normal(250)
        means = pd.Series(2 * draw.standard_normal(40), index=[f"T{i}" for i in range(40)])
        for name, target in (("noise", y), ("true", y + X["town"].map(means))):
            selector = KnockoffSelector(LassoNetRegressor((10,), path_multiplier=1.2), fdr=0.5, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of 0/1 columns
                statistics[name].append(selector.fit(X, target).statistics_[-1])
    assert np.median(np.abs(statistics["noise"])) == 0
    assert min(statistics["true"]) > 0.05
