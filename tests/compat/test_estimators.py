"""Estimators with the names of lassonet: what its scripts write runs, and means what the page says."""

from __future__ import annotations

import random
import warnings
from functools import partial
from itertools import count

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"gamma": 0.1}, "gamma and gamma_skip are not used"),
        ({"gamma_skip": 0.1}, "gamma and gamma_skip are not used"),
        ({"optim": partial(torch.optim.Adam, lr=1e-2)}, "optim is not used"),
        ({"tol": 0.9}, "tol is not used as a factor"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_parameter_that_means_something_else_is_named_once(asked, said, cancer):
    model = compat.LassoNetClassifier(**SMALL, **asked)
    with pytest.warns(compat.LassoNetDifference, match=said):
        model.path(*cancer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", compat.LassoNetDifference)
        model.path(*cancer)


def test_lists_frames_and_tensors_are_taken_as_arrays_are(cancer):
    X, y = cancer
    made = [
        compat.LassoNetClassifier(**SMALL).path(*samples)
        for samples in (cancer, (X.tolist(), y.tolist()), (pd.DataFrame(X), pd.Series(y)), map(torch.tensor, cancer))
    ]
    for path in made:
        assert [item.loss for item in path] == [item.loss for item in made[0]]


@pytest.mark.parametrize("X", [np.zeros((50, 0)), np.zeros(50)], ids=["no columns", "one dimension"])
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match="X must hold samples in rows and features in columns; its shape is"):
        compat.LassoNetRegressor(**SMALL).path(X, np.zeros(50))


def test_the_lambda_of_a_sequence_are_solved_as_they_are_given(cancer):
    def solved(seq):
        return [item.lambda_ for item in compat.LassoNetClassifier(**SMALL).path(*cancer, lambda_seq=seq)]

    assert solved([1, 10.3, 1000]) == solved(iter([0, 1, 10.3, 1000])) == [0, 1, 10.3, 1000]
    assert solved([]) == [0]
    without_end = solved(4.0**k for k in count())
    assert without_end == [0, *(4.0**k for k in range(len(without_end) - 1))]
    highest = compat.LassoNetClassifier(**SMALL, lambda_start=1.0).path(*cancer, lambda_max=20)[-1].lambda_
    assert highest < 20 < 1.2 * highest


def test_dense_only_is_the_first_item_of_the_path(cancer):
    X, y = cancer
    model = compat.LassoNetClassifier(**SMALL).fit(X, y, dense_only=True)
    assert len(model.path_) == 1 and model.path_[0].selected.all() and model.score(X, y) > 0.9


def test_a_clone_keeps_all_parameters_and_set_params_has_an_effect():
    model = compat.LassoNetClassifierCV(cv=3, class_weight=[1, 2], **SMALL)
    assert clone(model).get_params() == model.get_params()
    model.set_params(n_iters=(7, 3), patience=4)
    assert (model.n_iters_init, model.n_iters_path, model.patience_init, model.patience_path) == (7, 3, 4, 4)


def test_halves_of_stability_selection_follow_random_state_or_pythons_generator(cancer):
    def probability(random_state, seed):
        random.seed(seed)
        model = compat.LassoNetClassifier(**{**SMALL, "random_state": random_state})
        return model.stability_selection(*cancer, n_models=2)[-1]

    assert torch.equal(probability(0, 0), probability(0, 1))
    assert not torch.equal(probability(0, 0)[:9], probability(1, 0)[:9])
    paths = [
        compat.LassoNetClassifier(**{**SMALL, "val_size": 0, "random_state": None})._stability_selection_path(*cancer)
        for seed in (0, 0, 1)
        if random.seed(seed) is None
    ]
    assert paths[0][0].loss == paths[1][0].loss != paths[2][0].loss


def test_stability_selection_ranks_the_true_features_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = 2 * X[:, 1] + X[:, 4] + 0.1 * rng.normal(size=200)
    _, order, wrong, paths, prob = compat.LassoNetRegressor(**SMALL).stability_selection(X, y, n_models=6)
    assert set(order[:2].tolist()) == {1, 4} and len(paths) == 6 and prob.shape[1] == 8
    assert (wrong.diff() >= 0).all() and (prob.diff(dim=0) <= 0).all()


def test_cross_validation_ends_at_the_lambda_with_the_best_mean_score(cancer):
    X, y = cancer
    model = compat.LassoNetClassifierCV(3, **SMALL).fit(X, y)
    assert len(model.raw_paths_) == len(model.raw_scores_) == model.interp_scores_.shape[1] == 3
    assert model.best_cv_score_ == model.interp_scores_.mean(axis=1).max()
    assert model.path_[-1].lambda_ == pytest.approx(model.best_lambda_)
    assert torch.equal(model.model.input_mask(), model.best_selected_) and model.score(X, y) > 0.9


def test_figures_leave_the_model_where_it_was(cancer):
    X, y = cancer
    model = compat.LassoNetClassifierCV(3, **SMALL)
    model.path(X, y)
    before = model.predict_proba(X)
    compat.plot_path(model, X, y)
    compat.plot_cv(model, X, y, score_function=lambda truth, found: (truth == found).mean())
    assert [len(plt.figure(i).axes) for i in plt.get_fignums()] == [3, 2]
    plt.close("all")
    np.testing.assert_array_equal(model.predict_proba(X), before)
