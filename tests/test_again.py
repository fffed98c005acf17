"""Training again on the features of a point: with noise on the columns it is what theory says, and repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from riata import LassoNetClassifier, LassoNetRegressor

N, D = 400, 6
tables = np.random.default_rng(0)
X = tables.normal(size=(N, D)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(D)).T * [1, 2, 0.5, 1, 1, 1]
y = X @ [1.0, 0.3, -1.0, 0.5, 0.0, 0.0] + 0.3 * tables.normal(size=N)
LINEAR = {
    "M": 0.0,
    "gamma": 0.0,
    "lambda_seq": (1e-4,),
    "select": 1e-4,
    "val_size": 0,
    "dtype": "float64",
    "random_state": 0,
}


@pytest.mark.parametrize("standardize", [True, False])
def test_in_a_linear_model_noise_on_the_columns_is_a_ridge(standardize):
    """E(y - (x + z)β)² = E(y - xβ)² + Σ (σ_j β_j)², with σ_j half the standard deviation of a column."""
    model = LassoNetRegressor((1,), refit="noisy", standardize=standardize, **LINEAR).fit(X, y)
    centred, target = X - X.mean(axis=0), y - y.mean()
    expected = np.linalg.solve(centred.T @ centred / N + 0.25 * np.diag(X.var(axis=0)), centred.T @ target / N)
    plain = np.linalg.lstsq(centred, target, rcond=None)[0]
    spread = X.std(axis=0)
    error, bias = (np.linalg.norm((found - expected) * spread) for found in (model.coef_.ravel(), plain))
    assert error < bias / 10


def test_rows_of_little_weight_have_little_say():
    weights = np.where(np.arange(N) < N // 2, 1.0, 1e-6)
    other = np.where(weights < 1, -y, y)
    model = LassoNetRegressor((1,), refit="noisy", **LINEAR).fit(X, other, weights)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.95


QUICK = {"hidden_dims": (5,), "path_multiplier": 1.3, "random_state": 0, "n_features_to_select": 2}


class Keeping(LassoNetRegressor):
    """Keeps what trains its points."""

    def _settle(self, again):
        self.again = again
        return super()._settle(again)


@pytest.fixture(scope="module")
def model():
    return Keeping(**QUICK).fit(X, y)


def test_points_are_trained_alike_whatever_was_trained_before(model):
    point = model.path_[len(model.path_) // 2]
    first, second = (model.again([point], "noisy")[0] for _ in range(2))
    np.testing.assert_array_equal(first.weights.first, second.weights.first)
    assert not np.array_equal(first.weights.first, point.weights.first)


def test_what_is_trained_together_is_what_is_trained_alone(model):
    """Networks see the same batches, noise and dropped units; more columns than their own would be other noise."""
    point = next(point for point in model.path_ if point.n_selected == 3)
    (alone,) = model.again([point], "noisy")
    for one in model.again._trained([point] * 3, "noisy"):
        for part in ("columns", "skip", "first", "upper"):
            np.testing.assert_allclose(getattr(one.weights, part), getattr(alone.weights, part), rtol=1e-4, atol=1e-5)


def test_of_points_with_the_same_features_one_is_trained(model):
    """Where they begin makes no difference to what noise ends with, but each keeps its λ."""
    same = [point for point in model.path_ if point.n_selected == 6]
    assert len(same) > 1
    trained = model.again(same, "noisy")
    assert [point.lambda_ for point in trained] == [point.lambda_ for point in same]
    assert all(point.weights is trained[0].weights for point in trained)
    (alone,) = model.again(same[-1:], "noisy")
    assert alone.loss == pytest.approx(trained[0].loss, rel=0.1)
    three = next(point for point in model.path_ if point.n_selected == 3)
    others = np.setdiff1d(np.arange(6), three.weights.columns)
    other = replace(three, selected=~three.selected, weights=replace(three.weights, columns=others))
    assert model.again([three, other], "noisy")[1].weights.columns.tolist() == others.tolist()


def test_of_networks_trained_together_each_has_its_own_features(model):
    points = list({point.n_selected: point for point in model.path_}.values())
    assert [point.n_selected for point in points] == [6, 4, 3, 2]
    trained = model.again(points, "noisy")
    assert [point.lambda_ for point in trained] == [point.lambda_ for point in points]
    for new, old in zip(trained, points, strict=True):
        np.testing.assert_array_equal(new.weights.columns, old.weights.columns)
        np.testing.assert_array_equal(new.selected, old.selected)
        (alone,) = model.again([old], "noisy")
        assert new.loss == pytest.approx(alone.loss, rel=0.1)


def test_points_without_features_and_ways_that_are_none_change_nothing(model):
    empty = LassoNetRegressor(**{**QUICK, "n_features_to_select": None, "select": 1e9}).fit(X, y).path_[-1]
    assert empty.n_selected == 0
    assert model.again([empty], "noisy")[0] is empty
    assert model.again([model.path_[0]], False)[0] is model.path_[0]


def test_with_half_of_the_features_noise_makes_better_networks():
    pixels, digits = load_digits(return_X_y=True)
    scores = []
    for seed in range(3):
        parts = train_test_split(pixels, digits, test_size=0.4, random_state=seed, stratify=digits)
        quick = {"hidden_dims": (50,), "path_multiplier": 1.1, "val_size": 0, "n_features_to_select": 30}
        models = [
            LassoNetClassifier(refit=way, n_iters=(60, 7), random_state=seed, **quick).fit(parts[0], parts[2])
            for way in ("warm", "noisy")
        ]
        assert np.array_equal(models[0].selected_, models[1].selected_)
        scores.append([model.score(parts[1], parts[3]) for model in models])
    warm, noisy = np.mean(scores, axis=0)  # 0.970 and 0.977 over four seeds
    assert noisy > warm
