"""Estimators with the names of lassonet: what its scripts write runs, and means what the page says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

from riata.compat import lassonet as compat
from riata.compat.lassonet.differences import differs

SMALL = {"hidden_dims": (5,), "path_multiplier": 1.2, "n_iters": (50, 10), "random_state": 0, "torch_seed": 0}


@pytest.fixture(autouse=True)
def told():
    """Differences that are said once are said anew in each test; those of fit are no news."""
    differs.cache_clear()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "after fit the model is", compat.LassoNetDifference)
        yield


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return ((X - X.mean(0)) / X.std(0))[::3], y[::3]


def survival_data(n: int = 120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    time = rng.exponential(np.exp(-X[:, 0] + X[:, 1]))
    censored = rng.exponential(2, size=n)
    return X, np.column_stack([np.minimum(time, censored), time <= censored]).astype(float)


def interval_data(n: int = 120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    time = np.exp(X[:, 0] + 0.3 * rng.normal(size=n))
    left, right = time < 0.5, time > 2
    U = np.where(left, 0.5, np.where(right, 2.0, 0.8 * time))
    V = np.where(left, 0.5, np.where(right, 2.0, 1.2 * time))
    return X, np.column_stack([U, V, left, ~left & ~right, right]).astype(float)


def cases():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    return {
        "regressor": (compat.LassoNetRegressor(**SMALL), X, X[:, 0] + X[:, 1] ** 2),
        "two targets": (compat.LassoNetRegressor(**SMALL), X, X[:, :2] @ rng.normal(size=(2, 2))),
        "classes": (compat.LassoNetClassifier(**SMALL), X, labels),
        "two classes": (compat.LassoNetClassifier(**SMALL), X, (labels > 0).astype(int)),
        "class weights": (compat.LassoNetClassifier([1, 2, 0, 1.0], **SMALL), X, labels + (labels == 2)),
        "cox": (compat.LassoNetCoxRegressor("breslow", **SMALL), *survival_data()),
        "efron": (compat.LassoNetCoxRegressor("efron", val_size=0.2, **SMALL), *survival_data()),
        "interval": (compat.LassoNetIntervalRegressor(**SMALL), *interval_data()),
        "groups": (compat.LassoNetRegressor(groups=[[0, 1], [2], [3, 4]], **SMALL), X, X[:, 0]),
        "deep": (compat.LassoNetRegressor(**{**SMALL, "hidden_dims": (4, 3)}), X, X[:, 0]),
        "batches": (
            compat.LassoNetRegressor(batch_size=32, dropout=0.1, **{**SMALL, "n_iters": (300, 10)}),
            X,
            X[:, 0],
        ),
        "autoencoder": (compat.LassoNetAutoEncoder(**SMALL), X, X),
    }


@pytest.mark.parametrize("case", cases().values(), ids=cases().keys())
def test_an_item_of_a_path_is_the_network_that_its_fields_describe(case):
    model, X, y = case
    model.val_size = 0
    path = model.path(X, y)
    assert path[0].lambda_ == 0 and path[0].selected.all() and not path[-1].selected.any()
    assert [item.lambda_ for item in path] == sorted(item.lambda_ for item in path)
    target = model._convert_y(y)
    for item in (path[0], path[len(path) // 2], path[-1]):
        model.load(item.state_dict)
        network = model.model
        assert torch.equal(network.input_mask(), item.selected)
        with torch.no_grad():
            loss = float(model.criterion(network(torch.tensor(X, dtype=torch.float32)), target))
        assert item.loss == pytest.approx(loss, rel=1e-4, abs=1e-6) and item.val_loss == item.loss
        assert item.objective == pytest.approx(item.loss + item.lambda_ * item.regularization)
        skip, first = network.skip.weight.detach(), network.layers[0].weight.detach()
        bound = model.M * skip.norm(dim=0)
        if model.groups:
            for group in model.groups:
                bound[group] = model.M * skip[:, group].norm()
        assert (first.abs().amax(0) <= bound * (1 + 1e-4) + 1e-7).all()
    assert min(item.loss for item in path) < path[-1].loss


def test_fit_leaves_a_model_that_predicts_and_says_once_that_lassonet_does_not(cancer):
    X, y = cancer
    model = compat.LassoNetClassifier(**SMALL)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert clone(model).fit(X, y).score(X, y) > 0.9
        model.fit(X, y)
    assert [str(w.message)[:9] for w in said if w.category is compat.LassoNetDifference] == ["after fit"]
    best = min(model.path_, key=lambda item: item.val_loss)
    assert model.model.selected_count() == int(best.selected.sum()) > 0


def test_predictions_are_arrays_for_arrays_and_tensors_for_others():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = compat.LassoNetClassifier(**SMALL)
    model.path(X, y)
    model.load(model.path_[0])
    assert isinstance(model.predict(X.to_numpy()), np.ndarray) and isinstance(model.predict(X), torch.Tensor)
    probability = model.predict_proba(torch.tensor(X.to_numpy()))
    assert probability.shape == (150, 3) and torch.allclose(probability.sum(1), torch.ones(150))
    assert model.predict_proba(X.to_numpy())[0].shape == (3,)
