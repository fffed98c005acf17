"""Columns expanded into pieces: what a piece is, how the pieces of a feature stay together, and what they are good for."""

import numpy as np
import pytest

from riata import LassoNetClassifier, LassoNetRegressor, embedding

N, D = 240, 6
tables = np.random.default_rng(0)
X = tables.uniform(-1, 1, size=(N, D))
ones = np.ones(N)
QUICK = {"hidden_dims": (8,), "path_multiplier": 1.3, "n_iters": (200, 20), "random_state": 0}


def expanded(table, pieces, weights=None):
    learnt = embedding.learn(table, np.ones(len(table)) if weights is None else weights, pieces)
    return learnt, learnt.apply(table, np.arange(learnt.n_columns))


def test_pieces_of_a_column_add_up_to_any_function_that_bends_at_the_knots():
    learnt, Z = expanded(X[:, :1], 4)
    knots = learnt.low[1:]
    bent = np.interp(X[:, 0], [X[:, 0].min(), *knots, X[:, 0].max()], [3, -1, 4, 1, 5])
    design = np.column_stack([ones, Z])
    fitted = design @ np.linalg.lstsq(design, bent, rcond=None)[0]
    np.testing.assert_allclose(fitted, bent, atol=1e-9)


def test_beyond_the_knots_the_outer_pieces_go_on_and_the_inner_ones_rest():
    learnt, _ = expanded(X[:, :1], 3)
    far = learnt.apply(np.array([[-10.0], [10.0]]), np.arange(3))
    assert far[0, 0] < -1
    assert far[1, 2] > 1
    assert (far[0, 1:] == 0).all()
    assert (far[1, :2] == 1).all()


def test_each_piece_has_its_share_of_the_rows():
    _, Z = expanded(X, 4)
    inside = ((Z > 0) & (Z < 1)).reshape(N, D, 4).sum(0)
    assert (np.abs(inside - N / 4) <= 2).all()


def test_a_row_of_weight_two_counts_as_two_and_one_of_weight_zero_not_at_all(rng):
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
    assert embedding.affordable_pieces(1_000) > embedding.affordable_pieces(150) > embedding.affordable_pieces(20) == 1


def test_large_offsets_lose_nothing():
    _, near = expanded(X, 4)
    _, far = expanded(X + 1e6, 4)
    np.testing.assert_allclose(near, far, atol=1e-8)


@pytest.mark.parametrize("Estimator", [LassoNetClassifier, LassoNetRegressor])
def test_masks_and_importances_speak_of_the_columns_given(Estimator):
    target = (np.abs(X[:, 0]) + X[:, 1] > 0.5).astype(int)
    model = Estimator(**QUICK, embedding=3).fit(X, target)
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
    model = LassoNetRegressor(**QUICK, embedding=4, n_features_to_select=2).fit(X, target)
    changed = X.copy()
    changed[:, ~model.selected_] = 99.0
    np.testing.assert_array_equal(model.predict(X), model.predict(changed))
    assert model.score(X, target) > 0.8


def test_auto_expands_networks_but_not_the_lasso():
    target = X @ np.arange(D)
    lasso, plain = (LassoNetRegressor(**QUICK, M=0, embedding=e).fit(X, target) for e in ("auto", None))
    np.testing.assert_array_equal(lasso.predict(X), plain.predict(X))
    assert lasso.coef_.shape == (D,)


def test_an_expanded_column_has_no_single_slope():
    target = X[:, 0] + 2 * np.abs(X[:, 1])
    model = LassoNetRegressor(**QUICK).fit(X, target).at(lambda_=0)
    assert np.isnan(model.coef_[1])
    assert np.isfinite(model.coef_[0]) and model.coef_[0] != 0
    few = model.at(n_features=0)
    assert (few.coef_ == 0).all()


def test_groups_and_costs_are_those_of_the_columns():
    target = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = LassoNetClassifier(**QUICK, embedding=2, groups=[0, 0, 1, 1, 2, 2], feature_costs={4: 0, 5: 0}).fit(
        X, target
    )
    for point in model.path_:
        assert point.selected[0] == point.selected[1]
        assert point.selected[2] == point.selected[3]
        assert point.selected[4:].all()
    assert model.path_[-1].n_selected == 2


@pytest.mark.parametrize("refit", ["warm", "scratch", "noisy"])
def test_a_model_trained_again_keeps_its_columns(refit):
    target = np.abs(X[:, 0]) - np.abs(X[:, 1])
    model = LassoNetRegressor(**QUICK, embedding=4, refit=refit, n_features_to_select=3).fit(X, target)
    assert model.score(X, target) > 0.8
    assert set(model.point_.weights.features) <= set(np.flatnonzero(model.selected_))


@pytest.mark.parametrize("wrong", ["linear", 0, -1, 2.5, True, [3]])
def test_an_unknown_embedding_is_refused(wrong):
    with pytest.raises(ValueError, match="embedding"):
        LassoNetRegressor(**QUICK, embedding=wrong).fit(X, X[:, 0])


def test_auto_leaves_straight_columns_alone():
    model = LassoNetRegressor(**QUICK).fit(X, X @ np.arange(D) + np.sin(X[:, 1]))
    assert model.coef_.shape == (D,)


def test_a_ring_is_found_with_pieces_and_missed_without():
    ring = np.random.default_rng(1).uniform(size=(800, 20))  # the same whichever tests ran before
    label = (np.abs(np.hypot(ring[:, 3] - 0.5, ring[:, 7] - 0.5) - 0.35) <= 0.1151).astype(int)
    with_pieces = LassoNetClassifier(random_state=0).fit(ring, label)
    without = LassoNetClassifier(random_state=0, embedding=None, adaptive=0).fit(ring, label)
    assert set(np.argsort(-with_pieces.feature_importances_)[:2]) == {3, 7}
    assert set(np.argsort(-without.feature_importances_)[:2]) != {3, 7}


def test_a_weak_bent_column_does_not_pass_for_a_strong_one():
    """Its pieces would be six cheap columns if they did not have to be paid for."""
    own = np.random.default_rng(1)  # the same table whichever tests ran before
    table = own.normal(size=(600, 12))
    y = table[:, 0] + table[:, 1] + table[:, 2] + 0.4 * np.abs(table[:, 3]) + 0.2 * own.normal(size=600)
    for seed in range(3):
        model = LassoNetRegressor((10,), random_state=seed).fit(table, y)
        order = np.argsort(-model.feature_importances_)
        assert set(order[:3]) == {0, 1, 2}
        assert order[3] == 3
