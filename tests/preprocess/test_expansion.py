"""Columns become inputs: piecewise-linear expansion, groups of pieces, heavy tails, and what they improve."""

import numpy as np
import pytest
from torch import nn

from riata import LassoNetClassifier, LassoNetRegressor
from riata.preprocess import expansion, scaling
from tests.conftest import with_training

N, D = 240, 6
tables = np.random.default_rng(0)
X = tables.uniform(-1, 1, size=(N, D))
ones = np.ones(N)
QUICK = {"hidden_dims": (8,), "path_multiplier": 1.3, "n_iters": (200, 20), "random_state": 0}


def expanded(table, pieces, weights=None):
    learnt = expansion.learn(table, np.ones(len(table)) if weights is None else weights, pieces)
    return learnt, learnt.apply(table, np.arange(learnt.n_columns))


def test_pieces_of_a_column_add_up_to_any_function_with_kinks_at_the_knots():
    learnt, Z = expanded(X[:, :1], 4)
    knots = learnt.low[1:]
    kinked = np.interp(X[:, 0], [X[:, 0].min(), *knots, X[:, 0].max()], [3, -1, 4, 1, 5])
    design = np.column_stack([ones, Z])
    fitted = design @ np.linalg.lstsq(design, kinked, rcond=None)[0]
    np.testing.assert_allclose(fitted, kinked, atol=1e-9)


def test_beyond_the_knots_the_outer_pieces_are_linear_and_the_inner_ones_constant():
    learnt, _ = expanded(X[:, :1], 3)
    far = learnt.apply(np.array([[-10.0], [10.0]]), np.arange(3))
    assert far[0, 0] < -1
    assert far[1, 2] > 1
    assert (far[0, 1:] == 0).all()
    assert (far[1, :2] == 1).all()


def test_pieces_hold_equal_shares_of_the_samples():
    _, Z = expanded(X, 4)
    inside = ((Z > 0) & (Z < 1)).reshape(N, D, 4).sum(0)
    assert (np.abs(inside - N / 4) <= 2).all()


def test_a_sample_of_weight_two_counts_as_two_and_one_of_weight_zero_not_at_all(rng):
    weights = rng.integers(0, 3, size=N).astype(float)
    one, _ = expanded(X, 5, weights)
    two, _ = expanded(np.repeat(X, weights.astype(int), axis=0), 5)
    np.testing.assert_array_equal(one.low, two.low)
    np.testing.assert_array_equal(one.width, two.width)


def test_columns_with_few_values_have_few_pieces(rng):
    table = np.column_stack([X[:, 0] > 0, rng.integers(0, 3, size=N), np.zeros(N), X[:, 1]]).astype(float)
    learnt, Z = expanded(table, 6)
    assert learnt.n_pieces.tolist() == [1, 2, 1, 6]
    np.testing.assert_array_equal(Z[:, 0], table[:, 0])


def test_a_short_table_has_fewer_pieces():
    assert expansion.affordable_pieces(1_000) > expansion.affordable_pieces(150) > expansion.affordable_pieces(20) == 1


def test_large_offsets_lose_nothing():
    _, near = expanded(X, 4)
    _, far = expanded(X + 1e6, 4)
    np.testing.assert_allclose(near, far, atol=1e-8)


@pytest.mark.parametrize("Estimator", [LassoNetClassifier, LassoNetRegressor])
def test_masks_and_importances_are_those_of_the_columns_given(Estimator):
    target = (np.abs(X[:, 0]) + X[:, 1] > 0.5).astype(int)
    model = Estimator(**with_training(**QUICK, preprocessing="piecewise")).fit(X, target)
    assert model.path_.selected.shape[1] == len(model.feature_importances_) == D
    assert len(np.unique(model.feature_importances_)) == D
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}
    assert model.transform(X).shape == (N, model.n_selected_)
    for point in model.path_:
        assert point.n_selected == point.selected.sum()
        pieces = np.bincount(point.weights.features, minlength=D)
        assert (pieces == 3 * point.selected).all()  # all pieces of a feature, or none
        norms = np.zeros(D)
        np.add.at(norms, point.weights.features, np.square(point.weights.skip).sum(1))
        bound = model.M * np.sqrt(norms)[point.weights.features][:, None]
        assert (np.abs(point.weights.first) <= bound * (1 + 1e-5)).all()


def test_a_column_out_of_the_model_does_not_matter_to_it():
    target = np.abs(X[:, 0])
    model = LassoNetRegressor(**with_training(**QUICK, preprocessing="piecewise", n_features_to_select=2)).fit(
        X, target
    )
    changed = X.copy()
    changed[:, ~model.selected_] = 99.0
    np.testing.assert_array_equal(model.predict(X), model.predict(changed))
    assert model.score(X, target) > 0.8


def test_auto_expands_networks_but_not_the_lasso():
    target = X @ np.arange(D)
    lasso, plain = (
        LassoNetRegressor(**with_training(**QUICK, M=0, preprocessing=p)).fit(X, target) for p in ("auto", "standard")
    )
    np.testing.assert_array_equal(lasso.predict(X), plain.predict(X))
    assert lasso.coef_.shape == (D,)


def wide(n_columns=40):
    """More columns than samples can afford pieces of."""
    return np.hstack([X, np.random.default_rng(5).uniform(-1, 1, size=(N, n_columns - D))])


@pytest.mark.parametrize("table", [X, np.exp(3 * X)], ids=["light tails", "heavy tails"])
def test_the_slope_of_an_expanded_column_is_the_average_over_its_pieces(table):
    """Without hierarchy the model is its linear part, a function with kinks at the knots."""
    target = X[:, 0] + 2 * np.abs(X[:, 1])
    model = LassoNetRegressor(
        **with_training(**QUICK, M=0, preprocessing="piecewise", select=0.0, val_size=0, dtype="float64")
    )
    model.fit(table, target)
    learnt = model._solved.preprocessing.expansion
    assert (learnt.n_pieces > 1).all()
    for j in range(D):
        low, width = (part[learnt.source == j] for part in (learnt.low, learnt.width))
        ends = np.zeros((2, len(low), D))
        ends[:, :, j] = low, low + width
        rise = model.predict(ends[1]) - model.predict(ends[0])
        assert model.coef_[j] == pytest.approx(np.mean(rise / width), rel=1e-6)
    assert (model.at(n_features=0).coef_ == 0).all()


def test_groups_and_costs_are_those_of_the_columns():
    target = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = LassoNetClassifier(
        **with_training(
            **QUICK, preprocessing="piecewise", feature_groups=[0, 0, 1, 1, 2, 2], feature_costs={4: 0, 5: 0}
        )
    ).fit(X, target)
    for point in model.path_:
        assert point.selected[0] == point.selected[1]
        assert point.selected[2] == point.selected[3]
        assert point.selected[4:].all()
    assert model.path_[-1].n_selected == 2


@pytest.mark.parametrize("refit", ["warm", "scratch"])
def test_a_refit_keeps_the_columns_of_its_features(refit):
    target = np.abs(X[:, 0]) - np.abs(X[:, 1])
    model = LassoNetRegressor(
        **with_training(**QUICK, preprocessing="piecewise", refit=refit, n_features_to_select=3)
    ).fit(X, target)
    assert model.score(X, target) > 0.8
    assert set(model.point_.weights.features) <= set(np.flatnonzero(model.selected_))


@pytest.mark.parametrize("wrong", ["linear", 0, 3, True, False, [3]])
def test_an_unknown_preprocessing_is_refused(wrong):
    with pytest.raises(ValueError, match="preprocessing"):
        LassoNetRegressor(**with_training(**QUICK, preprocessing=wrong)).fit(X, X[:, 0])


def made_of(table, target, **params):
    """Return how the columns of a table became inputs, and these inputs."""
    model = LassoNetRegressor(**with_training(**{**QUICK, "select": 0.0, "refit": False, **params})).fit(table, target)
    learnt = model._solved.preprocessing
    return learnt.expansion, learnt.inputs(table, np.float64)


def test_auto_expands_only_nonlinear_columns_where_samples_are_few():
    Z, target = wide(), X @ np.arange(D) + np.sin(X[:, 1])
    learnt, _ = made_of(Z, target, val_size=0)
    assert learnt.trivial
    learnt, _ = made_of(Z, target + 20 * np.abs(X[:, 0]), val_size=0)
    assert np.flatnonzero(learnt.n_pieces > 1).tolist() == [0]


def test_auto_expands_every_column_where_samples_are_plenty():
    learnt, _ = made_of(X, X[:, 0])
    n_fit = int(0.8 * N)
    assert (learnt.n_pieces == expansion.affordable_pieces(n_fit, D)).all()
    assert expansion.affordable_pieces(n_fit, D) > 1 == expansion.affordable_pieces(5 * D, D)


def test_piecewise_expands_all_columns_into_as_many_pieces_as_samples_afford():
    learnt, _ = made_of(wide(), X[:, 0], preprocessing="piecewise")
    assert (learnt.n_pieces == expansion.affordable_pieces(int(0.8 * N))).all()


def test_columns_may_have_different_numbers_of_pieces():
    several = np.array([1, 2, 3, 4, 5, 6])
    learnt, Z = expanded(X, several)
    assert learnt.n_pieces.tolist() == several.tolist()
    for j, pieces in enumerate(several):
        np.testing.assert_array_equal(Z[:, learnt.source == j], expanded(X[:, [j]], int(pieces))[1])


def test_standard_is_the_plain_standardisation_of_the_training_samples():
    learnt, Z = made_of(np.exp(4 * X), X[:, 0], preprocessing="standard", val_size=0)
    assert learnt.trivial
    column = np.exp(4 * X)
    np.testing.assert_allclose(Z, (column - column.mean(0)) / column.std(0), atol=1e-12)


def test_none_leaves_columns_and_target_as_they_are():
    model = LassoNetRegressor(**with_training(**QUICK, preprocessing=None, select=0.0)).fit(7 * X, 3 * X[:, 0] + 5)
    np.testing.assert_array_equal(model._solved.preprocessing.inputs(7 * X, np.float64), 7 * X)
    target_scaling = model._solved.target_scaling
    assert (target_scaling.scale == 1).all() and (target_scaling.center == 0).all()


def test_a_module_of_a_fixed_width_gets_the_columns_of_standard():
    target = np.abs(X[:, 0])

    def fitted(preprocessing):
        network = nn.Sequential(nn.Linear(D, 4), nn.ReLU(), nn.Linear(4, 1))
        for p in network.parameters():
            nn.init.constant_(p, 0.1)
        return LassoNetRegressor(
            **with_training(**{**QUICK, "hidden_dims": network}, preprocessing=preprocessing, select=0.0)
        ).fit(X, target)

    np.testing.assert_array_equal(fitted("auto").predict(X), fitted("standard").predict(X))


# Heavy tails.

HEAVY = np.random.default_rng(2).lognormal(size=(1000, 1))


def tamed(table, weights=None):
    learnt = expansion.learn(table, np.ones(len(table)) if weights is None else weights, 1, tame=True)
    return learnt, learnt.apply(table, np.arange(learnt.n_columns))


def test_heavy_tails_are_tamed_and_others_are_not(rng):
    table = np.column_stack([HEAVY, rng.standard_t(1.5, size=1000), rng.normal(size=1000), rng.uniform(size=1000)])
    learnt, _ = tamed(table)
    assert np.isfinite(learnt.unit).tolist() == [True, True, False, False]
    assert (learnt.n_pieces == 1).all()


def test_a_tamed_column_is_an_arcsinh_of_the_distance_from_its_median_in_typical_distances():
    _, Z = tamed(HEAVY)
    median = np.median(HEAVY)
    unit = np.median(np.abs(HEAVY - median))
    np.testing.assert_allclose(Z, np.arcsinh((HEAVY - median) / unit), rtol=1e-9, atol=1e-12)
    assert np.array_equal(np.argsort(Z[:, 0]), np.argsort(HEAVY[:, 0]))


def test_over_its_run_a_piece_of_a_tamed_column_rises_by_one():
    learnt = expansion.learn(HEAVY, np.ones(1000), 4, tame=True)
    assert np.isfinite(learnt.unit).all() and learnt.n_columns == 4
    start = learnt.median + learnt.unit * np.sinh(learnt.low)
    ends = (learnt.apply(at[:, None], np.arange(4)) for at in (start, start + learnt.run))
    np.testing.assert_allclose(np.diagonal(np.subtract(*ends)), -1)


def test_taming_does_not_depend_on_unit_and_offset():
    _, Z = tamed(HEAVY)
    for unit, offset in ((1e-200, 0.0), (1e200, 0.0), (-3.0, 10.0)):
        _, other = tamed(unit * HEAVY + offset)
        np.testing.assert_allclose(np.sign(unit) * other, Z, atol=1e-9)


def test_the_largest_numbers_are_tamed_like_others():
    _, Z = tamed(np.where(HEAVY > 5, np.finfo(float).max, HEAVY))
    assert np.isfinite(Z).all()


def test_the_median_of_a_column_that_is_mostly_the_same_does_not_hide_its_unit():
    """Counts and pixels: the unit is that of the entries that differ."""
    counts = np.where(np.arange(1000)[:, None] % 5 == 0, 100 * HEAVY, 0.0)
    learnt, _ = tamed(counts)
    assert learnt.median[0] == 0
    assert learnt.unit[0] == pytest.approx(np.median(counts[counts > 0]))


def test_taming_weighs_samples(rng):
    weights = rng.integers(0, 3, size=1000).astype(float)
    one, _ = tamed(HEAVY, weights)
    two, _ = tamed(np.repeat(HEAVY, weights.astype(int), axis=0))
    np.testing.assert_allclose(one.median, two.median, rtol=0.05)  # medians of an even number lie between two values
    np.testing.assert_allclose(one.unit, two.unit, rtol=0.05)


def test_codes_of_categories_are_not_tamed():
    codes = np.where(np.arange(1000) == 0, 40.0, np.arange(1000) % 2)[:, None]
    learnt = expansion.learn(codes, np.ones(1000), 1, np.array([41]), tame=True)
    assert np.isinf(learnt.unit).all() and learnt.n_columns == 41


def test_values_far_off_are_taken_for_the_limit():
    target = X[:, 0] + X[:, 1]
    model = LassoNetRegressor(**with_training(**QUICK, select=0.0)).fit(wide(), target)
    assert model._solved.preprocessing.scaling.limit == scaling.LIMIT
    far, farther = wide(), wide()
    far[:, 0], farther[:, 0] = 1e3, 1e9
    np.testing.assert_array_equal(model.predict(far), model.predict(farther))
    plain = LassoNetRegressor(**with_training(**QUICK, select=0.0, preprocessing="standard")).fit(wide(), target)
    assert np.abs(plain.predict(farther)).min() > 1e6 * np.abs(model.predict(farther)).max()


def test_a_rare_value_is_not_drowned_by_a_heavy_tail():
    """A column that matters through its logarithm, with values up to a million."""
    draw = np.random.default_rng(3)
    table = draw.normal(size=(300, 10))
    table[:, 0] = np.exp(3 * table[:, 0])
    target = np.log(table[:, 0]) + table[:, 1] + 0.3 * draw.normal(size=300)
    fit, test = np.arange(200), np.arange(200, 300)
    scores = [
        LassoNetRegressor(**with_training(**QUICK, preprocessing=p, n_features_to_select=2))
        .fit(table[fit], target[fit])
        .score(table[test], target[test])
        for p in ("auto", "standard")
    ]
    assert scores[0] > 0.9 > scores[1] + 0.1


def test_a_ring_is_found_with_pieces_and_missed_without():
    ring = np.random.default_rng(1).uniform(size=(800, 20))  # the same whichever tests ran before
    label = (np.abs(np.hypot(ring[:, 3] - 0.5, ring[:, 7] - 0.5) - 0.35) <= 0.1151).astype(int)
    with_pieces = LassoNetClassifier(random_state=0).fit(ring, label)
    without = LassoNetClassifier(random_state=0, preprocessing="standard", adaptive=0).fit(ring, label)
    assert set(np.argsort(-with_pieces.feature_importances_)[:2]) == {3, 7}
    assert set(np.argsort(-without.feature_importances_)[:2]) != {3, 7}


def test_a_weak_nonlinear_column_does_not_rank_above_strong_linear_ones():
    """Its six pieces would have the penalty of a single column each if their number did not raise it."""
    draw = np.random.default_rng(1)  # the same table whichever tests ran before
    table = draw.normal(size=(600, 12))
    y = table[:, 0] + table[:, 1] + table[:, 2] + 0.4 * np.abs(table[:, 3]) + 0.2 * draw.normal(size=600)
    for seed in range(3):
        model = LassoNetRegressor((10,), random_state=seed).fit(table, y)
        order = np.argsort(-model.feature_importances_)
        assert set(order[:3]) == {0, 1, 2}
        assert order[3] == 3
