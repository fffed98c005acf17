"""Refits of points: they keep features and λ, depend on nothing else, and use only the samples they may use."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor
from riata.network.stacked import SparseWeights
from riata.path import selection
from riata.path.points import Path, Point
from riata.path.refit import Refit
from tests.conftest import with_training

N, D = 300, 8
tables = np.random.default_rng(0)
X = tables.normal(size=(N, D))
y = 2 * X[:, 0] - X[:, 1] + np.abs(X[:, 2]) + 0.5 * tables.normal(size=N)
label = (y > 0.8).astype(int)
QUICK = {"hidden_dims": (8,), "path_multiplier": 1.3, "n_iters": (200, 20), "select": "best", "random_state": 0}
HOW = pytest.mark.parametrize("how", ["warm", "scratch"])
BOTH = pytest.mark.parametrize(("Estimator", "target"), [(LassoNetRegressor, y), (LassoNetClassifier, label)])


def fitted(Estimator=LassoNetRegressor, target=y, **params):
    return Estimator(**with_training(**{**QUICK, **params})).fit(X, target)


def same_weights(one: Point, two: Point) -> bool:
    parts = ("columns", "features", "skip", "first", "upper")
    return all(np.array_equal(getattr(one.weights, part), getattr(two.weights, part)) for part in parts)


def several(path: Path) -> list[Point]:
    """One point for each number of features, without the dense one and the empty one."""
    first = {point.n_selected: point for point in reversed(path.points) if point.lambda_ and point.n_selected}
    return list(first.values())


@pytest.fixture(scope="module")
def model():
    """A model whose points are refitted by tests; they share it as `at` does, without leaving anything behind."""
    return fitted()


# What a refit is.


@BOTH
@HOW
def test_a_refit_keeps_features_and_lambda_and_the_hierarchy(Estimator, target, how):
    found = fitted(Estimator, target, refit=how, n_features_to_select=3)
    for point in several(found.path_):
        new = found.at(lambda_=point.lambda_).point_
        assert (new.lambda_, new.n_selected) == (point.lambda_, point.n_selected)
        np.testing.assert_array_equal(new.selected, point.selected)
        assert set(new.weights.features) <= set(np.flatnonzero(point.selected))
        norms = np.zeros(D)
        np.add.at(norms, new.weights.features, np.square(new.weights.skip, dtype=np.float64).sum(axis=1))
        bound = found.M * np.sqrt(norms)[new.weights.features][:, None]
        assert (np.abs(new.weights.first) <= bound * (1 + 1e-4)).all()


@HOW
def test_columns_that_are_not_selected_do_not_matter_to_the_refit(how):
    found = fitted(refit=how, n_features_to_select=3)
    changed = X.copy()
    changed[:, ~found.selected_] = 99.0
    np.testing.assert_array_equal(found.predict(X), found.predict(changed))


@BOTH
@HOW
def test_a_refit_lowers_the_validation_loss_of_a_penalised_point(Estimator, target, how):
    found = fitted(Estimator, target, refit=how, lambda_seq=(3.0,), select=3.0)
    penalised = found.path_[-1]
    assert penalised.n_selected
    assert found.point_.val_loss < penalised.val_loss
    assert found._solved.refit(penalised, how).val_loss == found.point_.val_loss


@HOW
def test_without_a_hierarchy_a_refit_is_least_squares_on_the_selected_columns(how):
    params = {"M": 0, "gamma": 0, "lambda_seq": (0.3,), "select": 0.3, "val_size": 0, "dtype": "float64"}
    found = fitted(refit=how, **{**params, "n_iters": 5000, "tol": 1e-12, "patience": None})
    assert 0 < found.n_selected_ < D
    design = np.column_stack([X[:, found.selected_], np.ones(N)])
    exact = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(found.coef_[found.selected_], exact[:-1], atol=1e-3)


def test_empty_points_and_false_change_nothing(model):
    refit = model._solved.refit
    assert isinstance(refit, Refit)
    empty = model.path_[-1]
    assert empty.n_selected == 0
    for how in ("warm", "scratch", False):
        assert refit(empty, how) is refit.finish(empty, how) is empty
    for point in model.path_:
        assert refit(point, False) is refit.finish(point, False) is point


def test_a_model_that_does_not_refit_is_the_point_of_its_path():
    found = fitted(refit=False)
    assert found.point_ in found.path_.points
    assert found.at(n_features=2).point_ in found.path_.points


# Which points are refitted, and when.


def test_the_path_holds_penalised_points_whatever_the_refit(model):
    plain = fitted(refit=False)
    assert len(plain.path_) == len(model.path_)
    for one, two in zip(model.path_, plain.path_, strict=True):
        assert one.lambda_ == two.lambda_
        assert same_weights(one, two)


def test_at_without_refit_and_load_give_the_penalised_network(model):
    point = several(model.path_)[1]
    penalised = model.at(lambda_=point.lambda_, refit=False)
    assert penalised.point_ is point
    assert not same_weights(model.at(lambda_=point.lambda_).point_, point)
    loaded = copy.deepcopy(model).load(point)
    np.testing.assert_array_equal(loaded.predict(X), penalised.predict(X))


def test_refits_are_alike_whatever_was_refitted_before():
    one, two = fitted(), fitted()
    points = several(one.path_)
    for point in points:
        one.at(lambda_=point.lambda_)
    for point in reversed(points):
        assert same_weights(one.at(lambda_=point.lambda_).point_, two.at(lambda_=point.lambda_).point_)
    batches = [fitted(batch_size=40, dropout=0.2) for _ in range(2)]
    batches[0].at(n_features=3)
    assert same_weights(*(found.at(n_features=2).point_ for found in batches))


@pytest.mark.parametrize("refit", ["warm", False])
def test_at_so_many_features_is_a_fit_that_asks_for_them(refit):
    whole = fitted(refit=refit)
    for k in (1, 2, 4):
        asked = fitted(refit=refit, n_features_to_select=k)
        there = whole.at(n_features=k)
        assert there.lambda_ == asked.lambda_
        np.testing.assert_array_equal(there.selected_, asked.selected_)
        np.testing.assert_array_equal(there.predict(X), asked.predict(X))


def test_a_point_is_refitted_once(monkeypatch):
    found = fitted()
    calls, finish = [], Refit.finish
    monkeypatch.setattr(Refit, "finish", lambda self, *given: calls.append(1) or finish(self, *given))
    points = [found.at(n_features=2).point_ for _ in range(2)]
    assert points[0] is points[1]
    assert found.at(n_features=3).at(n_features=2).point_ is points[0]
    assert len(calls) == 2
    assert found.at(lambda_=found.lambda_).point_ is found.point_
    assert len(calls) == 2


def test_at_leaves_the_model_where_it_was():
    found = fitted()
    before = found.point_
    found.at(n_features=2)
    assert found.point_ is before


# Copies.


def test_a_pickle_holds_the_points_that_were_asked_for_and_no_samples():
    found = fitted()
    found.at(n_features=2)
    back = pickle.loads(pickle.dumps(found))
    assert back._solved.refit is None
    np.testing.assert_array_equal(back.predict(X), found.predict(X))
    np.testing.assert_array_equal(back.at(n_features=2).predict(X), found.at(n_features=2).predict(X))
    with pytest.warns(UserWarning, match="with 1 features was not asked for before the model was pickled") as warned:
        other = back.at(n_features=1)
    assert warned[0].filename == __file__
    assert other.point_ in back.path_.points


def test_a_pickle_of_a_pickle_and_of_a_model_without_a_fit_are_pickles():
    found = fitted(n_features_to_select=3)
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(found))))
    np.testing.assert_array_equal(twice.predict(X), found.predict(X))
    assert pickle.loads(pickle.dumps(LassoNetRegressor(M=3))).get_params() == LassoNetRegressor(M=3).get_params()


def test_a_pickle_does_not_warn_of_the_penalised_network_when_that_is_asked_for(model):
    back = pickle.loads(pickle.dumps(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert back.at(n_features=1, refit=False).point_ in back.path_.points
        assert back.at(n_features=0).n_selected_ == 0


def test_pickling_takes_nothing_from_the_model():
    found = fitted()
    pickle.dumps(found)
    assert not same_weights(found.at(n_features=2).point_, found.at(n_features=2, refit=False).point_)


def test_a_deep_copy_refits_like_the_model_itself():
    found = fitted()
    twin = copy.deepcopy(found)
    assert same_weights(twin.at(n_features=2).point_, found.at(n_features=2).point_)
    assert not hasattr(clone(found), "_solved")


def test_another_fit_forgets_the_refits_of_the_last():
    found = fitted()
    found.at(n_features=2)
    again = found.fit(X, -y)
    assert np.corrcoef(again.at(n_features=2).predict(X), y)[0, 1] < 0


# Which samples a refit learns from.


@BOTH
@HOW
def test_the_last_refit_learns_from_the_validation_part_too(Estimator, target, how):
    """Points compared with each other have not: losses are theirs. The dense point is no exception."""
    found = fitted(Estimator, target, refit=how)
    for point in (found.path_[0], *several(found.path_)):
        compared, last = found._solved.refit(point, how), found.at(lambda_=point.lambda_).point_
        for name in ("loss", "val_loss", "val_loss_se"):
            assert getattr(last, name) == getattr(compared, name)
        assert not same_weights(last, compared)


@pytest.mark.parametrize("lambda_", [0.0, 1.0], ids=["dense", "penalised"])
def test_samples_given_to_validate_on_are_never_trained_on(lambda_):
    """With targets far from all others, training on them would change the training loss and the predictions."""
    fit, held_out = np.arange(200), np.arange(200, N)
    settings = {**QUICK, "lambda_seq": (1.0,), "select": lambda_, "n_iters": (60, 20), "patience": None, "tol": 0}
    found = LassoNetRegressor(**with_training(**settings)).fit(X[fit], y[fit], X_val=X[held_out], y_val=y[held_out])
    compared = found._solved.refit(found.path_[selection.at_lambda(found.path_, lambda_)], "warm")
    assert same_weights(found.point_, compared)
    far = LassoNetRegressor(**with_training(**settings)).fit(X[fit], y[fit], X_val=X[held_out], y_val=y[held_out] + 1e3)
    assert far.predict(X).max() < y.max() + 10


def test_without_validation_samples_there_is_one_refit():
    found = fitted(val_size=0, lambda_seq=(1.0,), select=1.0)
    assert same_weights(found.point_, found._solved.refit(found.path_[-1], "warm"))
    assert found.point_.loss < found.path_[-1].loss


@BOTH
@pytest.mark.parametrize("val_size", [0, 0.2])
def test_samples_of_little_weight_have_little_influence_on_a_refit(Estimator, target, val_size):
    weights = np.where(np.arange(N) < 200, 1.0, 1e-6)
    wrong = np.where(weights < 1, -target if Estimator is LassoNetRegressor else 1 - target, target)
    settings = {**QUICK, "n_features_to_select": 4, "val_size": val_size}
    found = Estimator(**with_training(**settings)).fit(X, wrong, sample_weight=weights)
    outputs = found.predict(X) if Estimator is LassoNetRegressor else found.decision_function(X)
    assert np.corrcoef(outputs[200:], y[200:])[0, 1] > 0.8


def test_a_sample_of_weight_two_is_refitted_as_two(rng):
    weights = rng.integers(1, 3, size=N).astype(float)
    rows = np.repeat(np.arange(N), weights.astype(int))
    settings = {**QUICK, "val_size": 0, "lambda_seq": (1.0,), "select": 1.0, "dtype": "float64"}
    one = LassoNetRegressor(**with_training(**settings)).fit(X, y, sample_weight=weights)
    two = LassoNetRegressor(**with_training(**settings)).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-9)


# The selection rule.


def path_of(losses: dict[int, np.ndarray]) -> Path:
    """A path with these numbers of features and these validation losses, from dense to empty."""
    d, none = max(losses), np.empty(0)
    weights = SparseWeights(*(none.astype(np.int64),) * 2, *(none,) * 3)
    points = [
        Point(
            lambda_=float(i),
            selected=np.arange(d) < k,
            n_selected=k,
            loss=0.0,
            val_loss=float(each.mean()),
            val_loss_se=0.0,
            penalty=0.0,
            objective=0.0,
            n_iters=1,
            weights=weights,
            val_losses=each,
        )
        for i, (k, each) in enumerate(losses.items())
    ]
    return Path(points, val_weights=np.full(40, 1 / 40))


NOISE = np.random.default_rng(1).normal(size=40)
NOISE = (NOISE - NOISE.mean()) / NOISE.std(ddof=1)


def test_of_points_close_to_the_best_the_one_with_the_fewest_features_is_selected():
    """Close is within one standard error of the paired difference; noise that all points share cancels."""
    shared = 10 * NOISE
    level = {64: 1.0, 32: 1.0, 16: 1.0, 8: 1.0, 4: 1.05, 2: 1.5, 1: 1.9, 0: 2.0}
    path = path_of({k: v + shared for k, v in level.items()})
    assert path[selection.fewest(path)].n_selected == 8
    noisy = {k: v + shared + (0.06 * np.sqrt(40) * NOISE[::-1] if k == 4 else 0) for k, v in level.items()}
    assert path_of(noisy)[selection.fewest(path_of(noisy))].n_selected == 4


def test_a_loss_that_is_too_high_by_chance_does_not_end_the_search():
    """Losses of refits go up and down: a bad one with 32 features does not rule out 8."""
    path = path_of({k: np.full(40, v) for k, v in {64: 1.0, 32: 1.5, 16: 1.0, 8: 1.0, 4: 1.5, 0: 2.0}.items()})
    assert path[selection.fewest(path)].n_selected == 8
    assert path[selection.fewest(path, lambda point: point)].n_selected == 8


def test_two_hopeless_losses_in_a_row_end_the_search():
    level = {64: 1.0, 32: 1.0, 16: 1.5, 8: 1.6, 4: 1.7, 2: 1.8, 1: 1.9, 0: 2.0}
    path, visited = path_of({k: np.full(40, v) for k, v in level.items()}), []
    chosen = path[selection.fewest(path, lambda point: visited.append(point.n_selected) or point)]
    assert chosen.n_selected == 32
    assert min(visited) == 8


def test_hopeless_losses_do_not_end_the_search_while_the_path_improves_further_on():
    """With many features of noise a network is worse than with the few that matter."""
    level = {64: 1.0, 32: 1.5, 16: 1.5, 8: 1.4, 4: 1.0, 2: 1.8, 0: 2.0}
    path = path_of({k: np.full(40, v) for k, v in level.items()})
    assert path[selection.fewest(path, lambda point: point)].n_selected == 4


def test_a_small_share_of_what_the_best_point_explains_may_be_given_up():
    for excess, k in ((0.0049, 4), (0.0051, 8)):
        path = path_of({16: np.ones(40), 8: np.ones(40), 4: np.full(40, 1 + excess), 0: np.full(40, 2.0)})
        assert path[selection.fewest(path)].n_selected == k


def test_losses_are_compared_after_the_refit():
    """Shrinkage raises the loss of sparse points: refitted, two features are as good as eight."""
    path = path_of({8: np.ones(40), 4: np.full(40, 1.2), 2: np.full(40, 1.5), 1: np.full(40, 1.9), 0: np.full(40, 2.0)})
    better = path_of({8: np.ones(40), 4: np.ones(40), 2: np.ones(40), 1: np.full(40, 1.9), 0: np.full(40, 2.0)})
    assert path[selection.fewest(path)].n_selected == 8
    assert path[selection.fewest(path, lambda point: better[int(point.lambda_)])].n_selected == 2


@pytest.mark.parametrize("enough", [0, 1, 3, 37, 200, 256])
def test_few_points_are_refitted_to_find_the_fewest_features(enough):
    """Numbers are halved while they will do, then bisected until they differ by a tenth: 2 log₂ d refits instead of d."""
    levels = {k: np.full(40, 1.0 if k >= enough else 1.5) for k in range(256, -1, -1)}
    levels[0] = np.full(40, 2.0 if enough else 1.0)
    path, refitted = path_of(levels), []
    k = path[selection.fewest(path, lambda point: refitted.append(point.n_selected) or point)].n_selected
    assert k == enough or enough < k <= (enough - 1) / 0.9
    assert len(set(refitted)) <= 18


@pytest.mark.parametrize("refit", ["warm", "scratch", False])
def test_the_fit_is_at_the_point_its_rule_selects(refit):
    found = fitted(refit=refit, select="1se")
    rule = selection.fewest(found.path_, lambda point: found._solved.refit(point, refit))
    assert found.lambda_ == found.path_[rule].lambda_
    assert found.n_selected_ < D


def test_an_autoencoder_refits_its_points():
    found = LassoNetAutoencoder(**with_training(**{**QUICK, "n_features_to_select": 3})).fit(X)
    for k in (3, 4):
        there, penalised = found.at(n_features=k), found.at(n_features=k, refit=False)
        np.testing.assert_array_equal(there.selected_, penalised.selected_)
        assert there.point_.val_loss < penalised.point_.val_loss


def test_an_unknown_refit_is_refused():
    for wrong in ("noisy", True, "cold", 1):
        with pytest.raises(ValueError, match="refit"):
            fitted(refit=wrong)
