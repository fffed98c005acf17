"""Laws of the screening of interactions: what it finds, what it does not, and what must not matter to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

from riata import LassoNetClassifier, LassoNetClassifierCV, LassoNetRegressor, plot
from riata.preprocess import interactions, marginal
from riata.preprocess.interactions import search, statistics
from riata.preprocess.interactions.basis import expand
from riata.preprocess.interactions.residuals import Target


def screened(X, y, weights=None, n_levels=None, **how):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float).reshape(len(X), -1)
    weights = np.ones(len(X)) if weights is None else weights
    p_values = marginal.measure(X, y, weights, n_levels).p_values
    return interactions.screen(X, y, weights, p_values, n_levels, **how)


def found(*given, **how):
    return [tuple(int(j) for j in row if j >= 0) for row in screened(*given, **how).features]


def uniform(n, d, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, d))


# ---- what is found --------------------------------------------------------------------------------------------------


def ring(X):
    return np.abs(np.hypot(X[:, 3], X[:, 7]) - 0.7) < 0.23


TARGETS = {
    "xor": lambda X, e: X[:, 3] * X[:, 7] > 0,
    "ring": lambda X, e: ring(X),
    "threshold": lambda X, e: ((X[:, 3] > 0.2) & (X[:, 7] > 0.2)) + 0.3 * e,
    "product in numbers": lambda X, e: X[:, 3] * X[:, 7] + 0.3 * e,
    "product with heavy tails": lambda X, e: np.sinh(3 * (X[:, 3] * X[:, 7] + 0.2 * e)),
    "counts": lambda X, e: np.floor(np.exp(1 + 2 * X[:, 3] * X[:, 7] + 0.2 * e)),
    "three classes": lambda X, e: np.digitize(X[:, 3] * X[:, 7], [-0.1, 0.1])[:, None] == np.arange(3),
    "one of two outputs": lambda X, e: np.column_stack([e, X[:, 3] * X[:, 7] + 0.3 * e[::-1]]),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_pair_is_found_among_all_others(kind):
    X = uniform(600, 40)
    y = TARGETS[kind](X, np.random.default_rng(1).standard_normal(len(X)))
    result = screened(X, y)
    assert result.features[0].tolist() == [3, 7, -1]
    assert result.p_value[0] < 1e-6 and (result.p_value[1:] > 1e-3).all()


def test_levels_of_categories_interact():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 800), rng.standard_normal((800, 10)), rng.integers(0, 3, 800)])
    y = np.where(X[:, 0] % 2 == 0, 1, -1) * X[:, 4] + 0.5 * rng.standard_normal(800)
    assert found(X, y, n_levels=np.array([4] + [0] * 10 + [3])) == [(0, 4)]


def test_codes_of_two_loci_without_marginal_effects_are_found():
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.5, (1600, 100)).astype(float)
    penetrance = np.array([[0.0, 0.2, 0.0], [0.2, 0.0, 0.2], [0.0, 0.2, 0.0]]) * 4
    y = rng.random(1600) < penetrance[X[:, 11].astype(int), X[:, 90].astype(int)]
    assert found(X, y) == [(11, 90)]


def test_a_three_way_parity_is_found():
    X = uniform(1000, 20)
    y = np.prod(X[:, [2, 9, 13]], axis=1) > 0
    assert found(X, y) == [(2, 9, 13)]


def test_missing_values_leave_the_pair():
    X = uniform(1000, 30)
    y = X[:, 3] * X[:, 7] > 0
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    assert found(X, y) == [(3, 7)]


def test_what_a_strong_interaction_hides_is_found_once_that_is_subtracted():
    X = uniform(700, 60, seed=3)
    y = (X[:, 3] * X[:, 7] > 0) | ring(X[:, [0, 0, 0, 20, 0, 0, 0, 40]])
    assert set(found(X, y)) == {(3, 7), (20, 40)}


# ---- what is not found ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["normal", "rare", "classes"])
def test_tables_without_interactions_report_none_in_most_cases(kind):
    reported = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 20)) if kind == "normal" else (rng.random((300, 20)) < 0.05) * 1.0
        if kind == "classes":
            X[:, :10] = rng.standard_t(2, (300, 10))
        y = rng.standard_normal(300) if kind == "normal" else rng.random(300) < 0.1
        reported += bool(found(X, y))
    assert reported <= binom.isf(1e-3, 30, 0.05)  # 6 of 30


def test_strong_effects_that_add_up_are_no_interaction():
    reported = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 10))
        reported += bool(found(X, 2 * X[:, 0] + 2 * X[:, 1] + rng.logistic(size=500) > 0))
    assert reported <= binom.isf(1e-3, 20, 0.05)


def test_a_column_and_its_copy_do_not_interact():
    X = uniform(600, 10)
    y = X[:, 0] ** 4 + 0.1 * np.random.default_rng(1).standard_normal(600)
    assert found(np.hstack([X, X]), y) == []


# ---- what must not matter -------------------------------------------------------------------------------------------


def case():
    X = uniform(400, 30)
    return X, (X[:, 3] * X[:, 7] > 0) & (X[:, 5] > -0.5)


def test_any_increasing_function_of_a_column_gives_the_same_result():
    X, y = case()
    plain, skewed = screened(X, y), screened(np.exp(5 * X), y)
    np.testing.assert_array_equal(plain.features, skewed.features)
    # The additive model that is subtracted takes the columns themselves.
    np.testing.assert_allclose(plain.statistic, skewed.statistic, rtol=0.1)


def test_the_order_of_columns_does_not_matter_so_a_column_and_its_knockoff_swap_statistics():
    X, y = case()
    plain = screened(X, y)
    order = np.random.default_rng(2).permutation(X.shape[1])
    other = screened(X[:, order], y)
    named = [frozenset(order[row[row >= 0]].tolist()) for row in other.features]
    assert named == [frozenset(row[row >= 0].tolist()) for row in plain.features]
    np.testing.assert_allclose(other.p_value, plain.p_value, rtol=1e-5)


def test_the_size_of_blocks_does_not_matter(monkeypatch):
    X, y = case()
    plain = screened(X, y)
    monkeypatch.setattr(search, "_ENTRIES", {"cpu": 200})
    np.testing.assert_array_equal(screened(X, y).p_value, plain.p_value)


def test_a_sample_of_weight_two_is_the_sample_twice():
    X, y = case()
    weights = np.random.default_rng(4).integers(1, 4, len(X)).astype(float)
    times = weights.astype(int)
    weighted, repeated = screened(X, y, weights), screened(np.repeat(X, times, 0), np.repeat(y, times))
    np.testing.assert_array_equal(weighted.features, repeated.features)
    np.testing.assert_allclose(weighted.statistic, repeated.statistic, rtol=1e-3)  # of the solver of the regression


# ---- p-values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.02, 0.1, 0.5])
def test_the_tail_is_that_of_a_binomial(mean):
    n = 200
    for k in range(int(n * mean) + 5, int(n * mean) + 40, 5):
        # A continuous curve through the steps of a discrete tail, which fall by a factor of ten each where the mean is 0.02.
        low, high = binom.sf(k, n, mean), binom.sf(k - 1, n, mean)
        assert low < statistics.tail(np.ones(n), np.full(n, mean), np.ones(n), k - n * mean) < high


def test_the_tail_is_normal_for_many_small_terms():
    rng = np.random.default_rng(0)
    x, mean = rng.uniform(-1, 1, 20_000), np.full(20_000, 0.5)
    deviation = np.sqrt(np.sum(np.square(x)) / 4)
    for z in (1.0, 3.0, 5.0):
        assert statistics.tail(x, mean, np.ones(len(x)), z * deviation) == pytest.approx(norm.sf(z), rel=0.02)


def grid_p_values(residual, mean=None, n_tables=300):
    """P-values of the cells of two features that are independent of the residual that is drawn for each table."""
    found = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        first, second = rng.integers(0, 4, (2, 400))
        target = Target(residual(rng, first, second), None if mean is None else np.full(400, mean))
        found.append(statistics.grid_p_value(first, second, target, np.ones(400)))
    return np.array(found)


NULLS = {
    "normal": (lambda rng, i, j: rng.standard_normal(400), None),
    "main effects": (lambda rng, i, j: rng.standard_normal(400) + 0.3 * i - 0.2 * j, None),
    "another variance in each cell": (lambda rng, i, j: rng.standard_normal(400) * np.where(i == j, 2, 0.5), None),
    "rare class": (lambda rng, i, j: (rng.random(400) < 0.1) - 0.1, 0.1),
}


@pytest.mark.parametrize("kind", NULLS)
def test_p_values_of_cells_are_not_too_small(kind):
    p_values = grid_p_values(*NULLS[kind])
    for level in (0.01, 0.1, 0.3):
        assert (p_values <= level).sum() <= binom.isf(1e-3, len(p_values), level)


def test_cells_find_interactions_that_no_product_does():
    X = uniform(800, 2)
    y = (np.floor(6 * (X[:, 0] + 1) / 2) + np.floor(6 * (X[:, 1] + 1) / 2)) % 2  # a board of 36 squares
    target = Target(y - 0.5, np.full(800, 0.5))
    basis = expand(X, np.ones(800), None)
    by_products = [statistics.product_test(basis, [i, j], target, np.ones(800), 1.0)[1] for i in (0, 1) for j in (2, 3)]
    bins = (basis.bins(j, 6) for j in (0, 1))
    assert min(by_products) > 1e-6 and statistics.grid_p_value(*bins, target, np.ones(800)) < 1e-30


# ---- the path uses it -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    X = uniform(700, 500)
    return X, (X[:, 3] * X[:, 7] > 0).astype(int)


def test_an_xor_among_many_columns_is_selected_with_pairs_and_not_without(wide):
    model = LassoNetClassifier(random_state=0).fit(*wide)
    assert model.selected_[[3, 7]].all() and model.n_selected_ <= 10  # of 500
    assert set(np.argsort(-model.feature_importances_)[:2]) == {3, 7}
    assert model.score(uniform(500, 500, seed=9), uniform(500, 500, seed=9)[:, [3, 7]].prod(1) > 0) > 0.95
    plain = LassoNetClassifier(random_state=0, screening="marginal").fit(*wide)
    assert not plain.selected_[[3, 7]].all()


def test_results_name_the_features_that_interact_and_what_was_tested(wide):
    X = pd.DataFrame(wide[0][:, :40]).add_prefix("x")
    model = LassoNetClassifier(random_state=0).fit(X, wide[1])
    frame = model.interactions_
    assert frame.columns.tolist() == ["feature_1", "feature_2", "feature_3", "statistic", "p_value", "selected"]
    assert frame.iloc[0, :3].tolist() == ["x3", "x7", None]
    assert frame["selected"][0] and frame["p_value"][0] < 1e-20
    assert model.screening_ == "pairs and triples"
    assert not model.at(n_features=1).interactions_["selected"].any()


@pytest.mark.parametrize(("screening", "tested"), [("marginal", "marginal"), (None, "none")])
def test_screening_can_be_less(screening, tested):
    X = uniform(200, 10)
    model = LassoNetRegressor(random_state=0, screening=screening).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    assert model.screening_ == tested and model.interactions_.empty


def test_too_many_pairs_are_tested_only_if_asked(monkeypatch):
    monkeypatch.setattr(search, "_WORK", {"cpu": 1e3, "cuda": 1e3})
    X = uniform(200, 10)
    fits = {s: LassoNetRegressor(random_state=0, screening=s).fit(X, X[:, 1] * X[:, 2]) for s in ("auto", "pairs")}
    assert {s: model.screening_.split()[0] for s, model in fits.items()} == {"auto": "marginal:", "pairs": "pairs"}
    assert fits["auto"].screening_.endswith("10 features have too many pairs")


def test_pairs_are_not_tested_where_too_many_main_effects_would_be_mistaken_for_them():
    X = uniform(400, 30)
    y = X[:, :20].sum(axis=1)
    model = LassoNetRegressor(random_state=0).fit(X, y)
    assert model.interactions_.empty and "are associated with the target by themselves" in model.screening_
    assert LassoNetRegressor(random_state=0, screening="pairs").fit(X, y).screening_.startswith("pairs")


def test_an_unknown_screening_is_refused():
    with pytest.raises(ValueError, match="screening"):
        LassoNetRegressor(screening="triples").fit(uniform(50, 3), np.arange(50.0))


def test_folds_screen_their_own_samples(wide):
    X, y = wide[0][:, :100], wide[1]
    model = LassoNetClassifierCV(cv=3, random_state=0).fit(X, y)
    assert model.selected_[[3, 7]].all() and model.n_selected_ <= 4
    assert model.cv_score_ > 0.9


# ---- the picture ----------------------------------------------------------------------------------------------------


def test_a_picture_holds_the_means_of_cells():
    x = np.array([0, 0, 1, 1, 0, 1.0])
    ax = plot.interaction(x, ["a", "b", "a", "b", "a", "b"], [1.0, 2, 3, 4, 5, np.nan], names=("u", "v", "y"))
    np.testing.assert_array_equal(ax.collections[0].get_array(), [[3, 3], [2, 4]])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("u", "v")


def test_a_picture_of_three_classes_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        plot.interaction([0, 1, 2.0], [0, 1, 2.0], ["a", "b", "c"])
