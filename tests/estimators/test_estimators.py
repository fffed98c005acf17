"""Laws of the estimators: what goes in, what comes out, and that every parameter does what it says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from rich.progress import Progress
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, recall_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from riata import LassoNetClassifier, LassoNetRegressor, Training
from riata.estimators import solving
from riata.network.stacked import Network
from riata.path import selection
from riata.solver.solve import Solver
from tests.conftest import with_training

QUICK = {
    "preprocessing": "standard",
    "hidden_dims": (8,),
    "M": 1.0,
    "path_multiplier": 1.5,
    "n_iters": (200, 50),
    "random_state": 0,
}
ESTIMATORS = [LassoNetClassifier, LassoNetRegressor]
both = pytest.mark.parametrize("Estimator", ESTIMATORS)

# Columns 0 and 1 matter most, 2 and 3 through their product only, the others not at all.
N, D = 160, 8  # a fifth of 160 is 32 validation samples, enough for a standard error
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D))
y = 3 * X[:, 0] - 2.5 * X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=N)
label = (y > 0).astype(int)
NAMES = np.array([f"gene {j}" for j in range(D)])


def gelu_network(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_inputs, 8), nn.GELU(), nn.Linear(8, n_outputs))


def classifier(**params) -> LassoNetClassifier:
    return LassoNetClassifier(**with_training(**(QUICK | params)))


def regressor(**params) -> LassoNetRegressor:
    return LassoNetRegressor(**with_training(**(QUICK | params)))


def quick(Estimator, **params):
    """Fit on the target that suits the estimator."""
    return Estimator(**with_training(**(QUICK | params))).fit(X, target_of(Estimator))


def target_of(Estimator):
    return label if Estimator is LassoNetClassifier else y


def same_path(one, two) -> bool:
    return (
        len(one) == len(two)
        and (one.lambdas == two.lambdas).all()
        and all(np.array_equal(p.weights.upper, q.weights.upper) for p, q in zip(one, two, strict=True))
        and all(np.array_equal(p.weights.skip, q.weights.skip) for p, q in zip(one, two, strict=True))
    )


def uses_only(model, columns) -> bool:
    """Whether predictions stay as they are, to the last bit, when all other columns change."""
    changed = np.random.default_rng(1).normal(size=X.shape) * 100
    changed[:, columns] = X[:, columns]
    predict = getattr(model, "decision_function", model.predict)
    return np.array_equal(predict(X), predict(changed))


@pytest.fixture(scope="module")
def models():
    """One fitted model per estimator, for tests that leave it as it is."""
    return {Estimator: quick(Estimator, select="best") for Estimator in ESTIMATORS}


@pytest.fixture(scope="module")
def many():
    """A lasso among many columns that do not matter, where the two rules select different points."""
    noisy = np.random.default_rng(0)
    Z = noisy.normal(size=(200, 20))
    target = Z[:, 0] - Z[:, 1] + noisy.normal(size=200)
    settings = {"hidden_dims": (2,), "M": 0, "path_multiplier": 1.2, "refit": False, "random_state": 0}
    return {
        rule: LassoNetRegressor(**with_training(select=rule, **settings)).fit(Z, target) for rule in ("best", "1se")
    }


# Targets.


@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [-1, 1], [False, True], [10, 3.0], ["b", "a", "c"], [3, 700, 9]],
    ids=["words", "signs", "truth", "floats", "three words", "gaps"],
)
def test_labels_are_only_names(names):
    codes = np.digitize(y, np.quantile(y, np.linspace(0, 1, len(names) + 1)[1:-1]))
    names = np.sort(np.array(names))
    labels = names[codes]
    cheap = {"lambda_seq": (1.0, 30.0), "n_iters": (60, 10)}
    plain = classifier(**cheap).fit(X, codes)
    named = classifier(**cheap).fit(X, labels)
    assert np.array_equal(named.classes_, names)
    predicted = named.predict(X)
    assert predicted.dtype == labels.dtype
    assert np.array_equal(predicted, names[plain.predict(X)])
    assert np.array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert named.score(X, labels) > 0.6


def test_labels_may_be_a_list_or_a_series_of_categories():
    words = np.array(["no", "yes"])[label]
    cheap = {"lambda_seq": (1.0,), "n_iters": 20, "select": "best"}
    fits = [classifier(**cheap).fit(X, t) for t in (words, list(words), pd.Series(words, dtype="category"))]
    for model in fits[1:]:
        assert np.array_equal(model.predict(X), fits[0].predict(X))


def test_a_target_comes_back_in_the_shape_it_had():
    cheap = {"lambda_seq": (1.0,), "n_iters": 20}
    flat = regressor(**cheap).fit(X, y)
    column = regressor(**cheap).fit(X, y[:, None])
    pair = regressor(**cheap).fit(X, np.column_stack([y, -y]))
    assert flat.predict(X).shape == (N,)
    assert flat.coef_.shape == (D,)
    assert column.predict(X).shape == (N, 1)
    assert column.coef_.shape == (1, D)
    assert np.array_equal(column.predict(X)[:, 0], flat.predict(X))
    assert pair.predict(X).shape == (N, 2)
    assert pair.coef_.shape == (2, D)


def test_two_targets_are_learnt_together():
    Y = np.column_stack([3 * X[:, 0] - X[:, 1], 1e3 * X[:, 1] + 1e4])
    model = regressor(select="best").fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert list(np.argsort(model.feature_importances_)[-2:]) in ([0, 1], [1, 0])


def test_a_constant_target_is_predicted_as_it_is():
    model = regressor(select="best").fit(X, np.full(N, 7.0))
    np.testing.assert_allclose(model.predict(X), 7, atol=0.5)


def test_probabilities_sum_to_one_and_agree_with_predictions(models):
    model = models[LassoNetClassifier]
    three = classifier(lambda_seq=(1.0,), n_iters=30).fit(X, np.digitize(y, [-1, 1]))
    for fit, shape in ((model, (N,)), (three, (N, 3))):
        probability = fit.predict_proba(X)
        assert fit.decision_function(X).shape == shape
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        assert np.array_equal(fit.classes_[probability.argmax(axis=1)], fit.predict(X))


# Tables and the selector's interface.


@pytest.mark.parametrize(
    ("table", "kind"),
    [(lambda: pd.DataFrame(X, columns=NAMES), "pandas"), (lambda: pl.DataFrame(X, schema=list(NAMES)), "polars")],
    ids=["pandas", "polars"],
)
def test_tables_come_with_names_and_leave_with_them(table, kind, models):
    frame = table()
    plain = models[LassoNetClassifier].at(n_features=4)
    model = classifier(select="best").fit(frame, label).at(n_features=4)
    kept = list(NAMES[plain.selected_])
    assert 0 < len(kept) <= 4
    assert list(model.feature_names_in_) == list(NAMES)
    assert list(model.get_feature_names_out()) == kept
    assert np.array_equal(model.predict_proba(frame), plain.predict_proba(X))
    shown = model.set_output(transform=kind).transform(frame)
    assert type(shown) is type(frame)
    assert list(shown.columns) == kept
    assert np.array_equal(shown.to_numpy(), X[:, plain.selected_])


def test_a_selector_keeps_the_selected_columns_as_they_are(models):
    model = models[LassoNetRegressor].at(n_features=3)
    mask = model.selected_
    assert model.n_selected_ == mask.sum() == len(model.get_support(indices=True))
    assert np.array_equal(model.get_support(), mask)
    kept = model.transform(X)
    assert np.array_equal(kept, X[:, mask])
    back = model.inverse_transform(kept)
    assert np.array_equal(back, np.where(mask, X, 0))
    assert model.transform(X.astype(np.float32)).dtype == np.float32


def test_a_model_selects_for_the_next_step_of_a_pipeline():
    pipeline = make_pipeline(classifier(n_features_to_select=3), LogisticRegression()).fit(X, label)
    assert 0 < pipeline[-1].n_features_in_ <= 3
    assert pipeline[-1].n_features_in_ == pipeline[0].n_selected_
    assert pipeline.score(X, label) > 0.8


@both
def test_a_clone_has_the_parameters_and_nothing_else(Estimator):
    training = Training(n_iters=2)
    params = {"hidden_dims": [4, 3], "lambda_seq": [1.0, 2.0], "feature_costs": {0: 2.0}, "M": 3}
    model = Estimator(**params, training=training).fit(X, target_of(Estimator))
    twin = clone(model)
    assert twin.training is not training
    one, two = ({k: v for k, v in each.get_params().items() if k != "training"} for each in (model, twin))
    assert one == two
    assert two.items() >= (params | {"training__n_iters": 2}).items()
    assert not hasattr(twin, "path_")


@both
def test_fit_leaves_all_parameters_as_they_are(Estimator):
    training = Training(n_iters=(20, 2), device="cpu")
    model = Estimator((4,), training=training, lambda_seq=(1.0,), select=1.0, random_state=0)
    before = model.get_params()
    after = model.fit(X, target_of(Estimator)).get_params()
    assert after == before and after["training"] is training


def test_parameters_of_training_are_searched_and_set_by_their_nested_names():
    model = regressor(tol=1e-3)
    assert model.set_params(training__tol=1e-2, training__dropout=0.1).training.get_params()["tol"] == 1e-2
    search = GridSearchCV(regressor(n_iters=(20, 2), n_features_to_select=4), {"training__gamma": [0, 0.1]}, cv=2)
    assert set(search.fit(X, y).cv_results_["param_training__gamma"]) == {0, 0.1}


@both
def test_no_training_is_the_training_of_the_defaults(Estimator):
    cheap = {"hidden_dims": (4,), "lambda_seq": (1.0,), "select": 1.0, "random_state": 0}
    one, two = (Estimator(training=t, **cheap).path(X, target_of(Estimator)) for t in (None, Training()))
    assert same_path(one, two)


@both
def test_a_pickled_model_predicts_the_same(Estimator, models):
    model = models[Estimator]
    there = model.at(n_features=2)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.at(n_features=2).predict(X), there.predict(X))
    assert same_path(back.path_, model.path_)


def test_a_grid_search_over_M_and_widths_runs():
    cheap = {"n_iters": (40, 5), "n_features_to_select": 4}
    grid = {"M": [0, 10.0], "hidden_dims": [(3,), (3, 2)]}
    search = GridSearchCV(classifier(**cheap), grid, cv=2, error_score="raise").fit(X, label)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.n_selected_ <= 4


# Weights of samples and classes.


def test_weights_travel_through_a_pipeline():
    weights = np.random.default_rng(2).integers(1, 4, N).astype(float)
    cheap = {"lambda_seq": (1.0, 10.0), "n_iters": 20}
    scaled = StandardScaler().fit_transform(X)
    direct = classifier(**cheap).fit(scaled, label, sample_weight=weights)
    unweighted = classifier(**cheap).fit(scaled, label)
    with sklearn.config_context(enable_metadata_routing=True):
        model = classifier(**cheap).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, label, sample_weight=weights)
    assert np.array_equal(pipeline.predict_proba(X), direct.predict_proba(scaled))
    assert not np.array_equal(unweighted.predict_proba(scaled), direct.predict_proba(scaled))


def test_weights_travel_through_cross_validation():
    weights = np.random.default_rng(2).integers(1, 4, N).astype(float)
    cheap = {"lambda_seq": (1.0, 10.0), "n_iters": 20, "select": "best"}
    folds = KFold(2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor(**cheap).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        result = cross_validate(model, X, y, cv=folds, params={"sample_weight": weights}, return_estimator=True)
    for k, (fit, test) in enumerate(folds.split(X)):
        direct = regressor(**cheap).fit(X[fit], y[fit], sample_weight=weights[fit])
        assert np.array_equal(result["estimator"][k].predict(X), direct.predict(X))
        assert result["test_score"][k] == direct.score(X[test], y[test], sample_weight=weights[test])


def test_a_sample_of_weight_zero_is_left_out():
    odd = np.arange(N) % 2 == 1
    wild, wrong = X.copy(), label.copy()
    wild[odd], wrong[odd] = 1e9, 7
    cheap = {"lambda_seq": (1.0,), "n_iters": 20, "select": "best"}
    weighted = classifier(**cheap).fit(wild, wrong, sample_weight=~odd)
    without = classifier(**cheap).fit(X[~odd], label[~odd])
    assert np.array_equal(weighted.classes_, [0, 1])
    assert np.array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("val_size", [0, 0.2])
@pytest.mark.parametrize("factor", [1000, 1000.5, 1 / 3])
@pytest.mark.parametrize("high", [4, 9000], ids=["counts", "survey"])
def test_a_factor_common_to_all_weights_changes_nothing(high, factor, val_size):
    """A path amplifies rounding errors: importances, not bits, are compared."""
    weights = np.random.default_rng(4).integers(1, high, N).astype(float)
    cheap = {"lambda_seq": (0.5, 1.0, 2.0), "select": 1.0, "val_size": val_size, "dtype": "float64"}
    one, other = (regressor(**cheap).fit(X, y, sample_weight=w) for w in (weights, weights * factor))
    assert np.array_equal(one.path_.selected, other.path_.selected)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-6)


def test_without_a_validation_part_all_samples_twice_are_all_samples_of_weight_two():
    cheap = {"lambda_seq": (0.5, 1.0, 2.0), "select": 1.0, "val_size": 0}
    twice = regressor(**cheap).fit(np.vstack([X, X]), np.append(y, y))
    heavy = regressor(**cheap).fit(X, y, sample_weight=np.full(N, 2.0))
    assert same_path(twice.path_, heavy.path_)


def test_weights_of_classes_are_weights_of_samples():
    rare = (y > 4).astype(int)
    cheap = {"lambda_seq": (1.0, 10.0), "n_iters": 30}
    per_class = N / (2 * np.bincount(rare))
    named = classifier(class_weight={0: per_class[0], 1: per_class[1]}, **cheap).fit(X, rare)
    balanced = classifier(class_weight="balanced", **cheap).fit(X, rare)
    rows = classifier(**cheap).fit(X, rare, sample_weight=per_class[rare])
    assert np.array_equal(named.predict_proba(X), rows.predict_proba(X))
    np.testing.assert_allclose(balanced.predict_proba(X), rows.predict_proba(X), rtol=1e-3)


def test_validation_samples_are_weighted_by_the_classes_of_the_training_samples():
    rare = (y > 4).astype(int)
    fit = np.arange(N) < N // 2
    val = ~fit & ((rare == 1) | (np.arange(N) % 5 == 0))  # in other proportions
    per_class = fit.sum() / (2 * np.bincount(rare[fit]))
    held_out = {"X_val": X[val], "y_val": rare[val]}
    cheap = {"lambda_seq": (1.0,), "n_iters": 20, "select": "best"}
    for named in ({0: per_class[0], 1: per_class[1]}, "balanced"):
        path = classifier(class_weight=named, **cheap).fit(X[fit], rare[fit], **held_out).path_
        weights = per_class[rare[val]]
        np.testing.assert_allclose(path.val_weights, weights / weights.sum(), rtol=1e-6)


def test_a_heavier_class_is_found_more_often():
    rare = (y + 3 * np.random.default_rng(3).normal(size=N) > 5).astype(int)
    cheap = {"lambda_seq": (1.0,), "n_iters": 100, "select": "best"}
    plain, balanced, heavy = (
        recall_score(rare, classifier(class_weight=w, **cheap).fit(X, rare).predict(X))
        for w in (None, "balanced", {1: 100.0})
    )
    assert plain < balanced < heavy


# Samples are predicted in blocks.


def sizes_of_passes(monkeypatch, network) -> list[int]:
    """Record the number of samples of every forward pass from now on."""
    sizes, passes = [], type(network).passes

    def noted(self, n_replicas, n_samples, like, *, learns=True):
        assert not learns
        sizes.append(n_samples)
        return passes(self, n_replicas, n_samples, like, learns=learns)

    monkeypatch.setattr(type(network), "passes", noted)
    return sizes


@pytest.mark.parametrize(("network", "n_hidden"), [((8,), 8), (gelu_network, 9)], ids=["built in", "user-supplied"])
@pytest.mark.parametrize("n", [1, 50, 100, 160])
def test_predictions_in_blocks_are_those_of_all_samples_at_once(monkeypatch, network, n_hidden, n):
    model = regressor(lambda_seq=(0.5,), n_iters=20, select="best", hidden_dims=network).fit(X, y)
    whole = model.predict(X[:n])
    sizes = sizes_of_passes(monkeypatch, model._solved.network)
    monkeypatch.setattr(solving, "_ENTRIES", 50 * (8 + 9 + n_hidden))
    np.testing.assert_allclose(model.predict(X[:n]), whole, rtol=1e-12)
    assert max(sizes) == min(n, 50)


def test_the_memory_of_a_prediction_has_a_bound(monkeypatch):
    model = regressor(lambda_seq=(0.5,), n_iters=20, select="best", hidden_dims=(8, 100)).fit(X, y)
    sizes = sizes_of_passes(monkeypatch, model._solved.network)
    model.predict(np.zeros((200_000, D)))
    assert max(sizes) * (8 + 9 + 108) <= solving._ENTRIES


def test_a_pass_that_does_not_learn_has_no_buffers_for_gradients():
    network = Network(2, (5, 7))
    for learns in (True, False):
        one = network.passes(1, 30, torch.zeros(1), learns=learns)
        assert {t.shape[1] for t in (one.product_gradient, *one._hidden_gradients)} == {30 if learns else 0}


# The linear part.


@pytest.mark.parametrize("unit", [1, 1000])
def test_without_hidden_layers_a_prediction_is_linear_in_the_columns_given(unit):
    model = regressor(M=0, select="best").fit(X * unit, y)
    rest = model.predict(X * unit) - X * unit @ model.coef_
    np.testing.assert_allclose(rest, rest[0], rtol=1e-9)
    assert model.score(X * unit, y) > 0.7


def test_coefficients_belong_to_the_scale_of_the_columns():
    units = np.array([1000.0, 1.0] * (D // 2))
    exact = {"M": 0, "dtype": "float64", "lambda_seq": (0.05, 0.2), "select": 0.2}
    plain = regressor(**exact).fit(X, y)
    scaled = regressor(**exact).fit(X * units, y * 50)
    np.testing.assert_allclose(scaled.coef_ * units, 50 * plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(scaled.predict(X * units), 50 * plain.predict(X), rtol=1e-6)
    assert (plain.coef_[~plain.selected_] == 0).all()
    assert (plain.coef_[plain.selected_] != 0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_of_a_classifier_give_its_logits(n_classes):
    codes = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    model = classifier(M=0, lambda_seq=(0.02,), select="best").fit(1000 * X, codes)
    assert model.coef_.shape == (1 if n_classes == 2 else 3, D)
    logits = model.decision_function(1000 * X).reshape(N, -1)
    rest = logits - 1000 * X @ model.coef_.T
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=1e-9)


# The path, its points, and moving between them.


@both
def test_importances_order_features_by_when_they_leave_the_path(Estimator, models):
    model = models[Estimator]
    path, importances = model.path_, model.path_.importances()
    assert np.isfinite(importances).all()
    assert len(np.unique(importances)) == D
    last = np.array([max(i for i, p in enumerate(path) if p.selected[j]) for j in range(D)])
    norms = np.array(
        [{f: np.linalg.norm(s) for f, s in zip(p.weights.features, p.weights.skip, strict=True)} for p in path]
    )
    for j in range(D):
        for k in range(D):
            if (last[j], norms[last[j]][j]) > (last[k], norms[last[k]][k]):
                assert importances[j] > importances[k]
    assert set(np.argsort(importances)[-2:]) == {0, 1}


@both
@pytest.mark.parametrize(
    "params", [{"select": "best"}, {"select": "1se"}, {"n_features_to_select": 3}, {"select": 1e9}]
)
def test_importances_are_those_of_the_path_for_selected_features_and_strengths_for_the_others(Estimator, params):
    model = quick(Estimator, n_iters=(50, 10), **params)
    selected, importances = model.selected_, model.feature_importances_
    assert len(np.unique(importances)) == D and (importances > 0).all()
    assert np.array_equal(importances[selected], model.path_.importances()[selected])
    assert importances[~selected].max() < importances[selected].min(initial=np.inf)
    strength, along = model._solved.strength[~selected], model.path_.importances()[~selected]
    assert np.array_equal(np.argsort(importances[~selected]), np.lexsort([along, strength]))  # of equals, the path's


def test_a_redundant_feature_comes_before_noise():
    draw = np.random.default_rng(5)
    Z = draw.normal(size=(400, 8))
    Z[:, 7] = Z[:, 0] + 0.3 * draw.normal(size=400)
    model = regressor().fit(Z, 2 * Z[:, 0] + Z[:, 1] + 0.3 * draw.normal(size=400))
    assert not model.selected_[7]
    assert list(np.argsort(-model.feature_importances_)[:3]) == [0, 1, 7]


@both
def test_importances_at_another_point_begin_with_its_features_in_the_order_of_the_path(Estimator, models):
    model = models[Estimator]
    before = model.feature_importances_
    model.feature_importances_[:] *= 2  # a copy
    assert np.array_equal(model.feature_importances_, before)
    for k in (2, D):
        few = model.at(n_features=k)
        order = np.argsort(-few.feature_importances_)
        assert few.selected_[order[: few.n_selected_]].all()
        along = model.path_.importances()[few.selected_]
        assert np.array_equal(few.feature_importances_[few.selected_], along)


@both
def test_a_path_goes_from_dense_to_empty(Estimator, models):
    path = models[Estimator].path_
    assert path.lambdas[0] == 0
    assert (np.diff(path.lambdas) > 0).all()
    assert path.n_selected[0] == D
    assert path.n_selected[-1] == 0
    for point in path:
        assert point.n_selected == point.selected.sum() == len(point.weights.features)
        assert point.objective == point.loss + point.penalty


@both
@pytest.mark.parametrize("M", [0, 0.5, 10])
def test_every_point_keeps_the_hierarchy_and_the_dense_one_learns(Estimator, M):
    model = quick(Estimator, M=M, n_iters=(300, 10), select=0.0)
    for point in model.path_:
        bound = M * np.linalg.norm(point.weights.skip, axis=1, keepdims=True)
        assert (np.abs(point.weights.first) <= bound * (1 + 1e-5)).all()
    assert model.score(X, target_of(Estimator)) > 0.75


@both
def test_moving_to_a_point_leaves_the_original_as_it_is(Estimator, models):
    model = copy.deepcopy(models[Estimator]).set_output(transform="default")
    point, before = model.point_, model.predict(X)
    for there in (model.at(n_features=2), model.at(lambda_=model.path_.lambdas[3]), model.at(lambda_=0)):
        assert there is not model
        assert there.path_ is model.path_
        assert uses_only(there, there.selected_)
        there.set_output(transform="pandas").set_params(M=3)
    assert model.point_ is point
    assert model.M == 1
    assert np.array_equal(model.predict(X), before)
    assert isinstance(model.transform(X), np.ndarray)


@both
def test_a_point_is_found_by_its_number_of_features(Estimator, models):
    model = models[Estimator]
    counts = model.path_.n_selected
    for n_features in range(D + 1):
        assert model.at(n_features=n_features).n_selected_ == max(c for c in counts if c <= n_features)


@both
def test_a_point_is_found_by_its_lambda(Estimator, models):
    model = models[Estimator]
    lambdas = model.path_.lambdas
    for i, lambda_ in enumerate(lambdas):
        assert model.at(lambda_=lambda_, refit=False).point_ is model.path_[i]
        assert model.at(lambda_=lambda_).lambda_ == lambda_
    assert model.at(lambda_=(lambdas[2] + lambdas[3]) / 2, refit=False).point_ is model.path_[2]
    assert model.at(lambda_=2 * lambdas[-1]).point_ is model.path_[-1]


@both
def test_loading_a_point_moves_the_model(Estimator, models):
    model = pickle.loads(pickle.dumps(models[Estimator]))
    point = next(p for p in model.path_ if p.n_selected <= 3)
    assert model.load(point) is model
    assert model.lambda_ == point.lambda_
    assert model.n_selected_ == point.n_selected
    assert np.array_equal(model.predict(X), model.at(lambda_=point.lambda_, refit=False).predict(X))
    assert uses_only(model, point.selected)


def test_the_empty_model_predicts_one_value(models):
    assert len(np.unique(models[LassoNetRegressor].at(n_features=0).predict(X))) == 1
    assert len(np.unique(models[LassoNetClassifier].at(n_features=0).predict_proba(X), axis=0)) == 1


@both
def test_path_and_fit_solve_the_same_path(Estimator):
    cheap = QUICK | {"n_iters": (30, 5), "select": "best"}
    target = target_of(Estimator)
    model = Estimator(**with_training(**cheap))
    path = model.path(X, target)
    assert path is model.path_
    assert same_path(path, Estimator(**with_training(**cheap)).fit(X, target).path_)


def test_a_path_visits_exactly_the_lambdas_it_is_given():
    lambdas = (0.01, 0.02, 5.0, 50.0, 51.0)
    path = regressor(M=0, lambda_seq=lambdas[:3], select="best").path(X, y)
    assert tuple(path.lambdas) == (0, *lambdas[:3])
    path = regressor(lambda_seq=np.array(lambdas), n_iters=(30, 5), select="best").path(X, y)
    assert tuple(path.lambdas) == (0, *lambdas)[: len(path)]
    assert len(path) == 6 or path[-1].n_selected == 0


# Selecting a point.


def test_nearest_has_about_as_many_features_but_some(many):
    path = many["1se"].path_
    counts = path.n_selected
    for wanted in (0.1, 1.0, 2.4, counts[0] / 2, counts[0] + 1.0):
        point = path[selection.nearest(path, wanted, 0, path.lambdas[-1])]
        assert point.n_selected > 0
        assert abs(point.n_selected - wanted) == np.abs(counts[counts > 0] - wanted).min()
        assert point.lambda_ == path.lambdas[counts == point.n_selected].max()
    assert path[selection.nearest(path, 0.0, -1, 0.0)].n_selected == 0
    smallest = counts[counts > 0].min()
    assert path[selection.nearest(path, smallest, smallest, 0.0)].n_selected == counts[counts > smallest].min()


def test_one_standard_error_is_sparser_than_the_best_or_equal(many):
    best, sparser = many["best"], many["1se"]
    assert same_path(best.path_, sparser.path_)
    assert best.point_.val_loss == min(p.val_loss for p in best.path_)
    assert sparser.n_selected_ < best.n_selected_
    assert {0, 1} <= set(sparser.get_support(indices=True))


def test_one_standard_error_is_that_of_the_paired_difference(many):
    """Or 0.5 % of what the best point explains may be given up; points that the search does not compare do not count."""
    path, compared = many["1se"].path_, []
    selected = path[selection.fewest(path, lambda point: compared.append(point) or point)]
    best = min(compared, key=lambda p: p.val_loss)
    n = len(best.val_losses)
    for point in path:
        np.testing.assert_allclose(point.val_loss, point.val_losses.mean(), rtol=1e-6)
        np.testing.assert_allclose(point.val_loss_se, point.val_losses.std(ddof=1) / n**0.5, rtol=1e-5)
    close = []
    for point in compared:
        difference = point.val_losses - best.val_losses
        given_up = selection.TOLERANCE * (path[-1].val_loss - best.val_loss)
        if difference.mean() <= max(difference.std(ddof=1) / n**0.5, given_up):
            close.append(point)
    assert many["1se"].point_ is selected is min(close, key=lambda p: p.n_selected)


@both
@pytest.mark.parametrize("k", [1, 3])
def test_a_number_of_features_ends_the_path(Estimator, k):
    model = quick(Estimator, n_features_to_select=k, n_iters=(50, 10))
    *before, last = model.path_
    assert last.n_selected <= k < min(p.n_selected for p in before)
    assert model.lambda_ == last.lambda_
    assert np.array_equal(model.selected_, last.selected)


def test_a_number_selects_the_point_at_that_lambda(models):
    lambdas = models[LassoNetRegressor].path_.lambdas
    model = quick(LassoNetRegressor, select=lambdas[4] * 1.01)
    assert same_path(model.path_, models[LassoNetRegressor].path_)
    assert model.lambda_ == lambdas[4]


@both
def test_without_validation_samples_the_last_point_with_features_is_selected_with_a_warning(Estimator):
    with pytest.warns(UserWarning, match="without validation rows.*n_features_to_select"):
        model = quick(Estimator, val_size=0, n_iters=(30, 5))
    assert model.n_selected_ > 0
    sparser = [p for p in model.path_ if p.lambda_ > model.lambda_]
    assert all(p.n_selected == 0 for p in sparser)
    assert all(np.isnan(p.val_loss) for p in model.path_)


@pytest.mark.parametrize("params", [{"n_features_to_select": 2}, {"select": 5.0}, {"select": "best", "val_size": 0.1}])
def test_where_no_standard_error_is_needed_there_is_no_warning(params):
    quick(LassoNetRegressor, n_iters=(30, 5), **({"val_size": 0} | params))


def test_a_standard_error_of_few_samples_is_warned_about():
    with pytest.warns(UserWarning, match="only 16 validation rows.*below 30"):
        quick(LassoNetRegressor, val_size=0.1, n_iters=(30, 5))


def test_a_warning_points_to_the_line_of_the_user():
    for params in ({"val_size": 0.1}, {"val_size": 0}, {"lambda_seq": (1e-3,), "n_features_to_select": 2}):
        with pytest.warns(UserWarning) as caught:
            regressor(n_iters=(30, 5), **params).fit(X, y)
        assert [warning.filename for warning in caught] == [__file__]


@both
def test_a_sequence_that_ends_too_early_gives_its_sparsest_point_with_a_warning(Estimator):
    with pytest.warns(UserWarning, match="n_features_to_select=2"):
        model = quick(Estimator, lambda_seq=(1e-3, 2e-3), n_features_to_select=2, n_iters=(30, 5))
    assert model.lambda_ == model.path_[-1].lambda_
    assert np.isfinite(model.predict(X)).all()


# Refits on the selected features.


@both
@pytest.mark.parametrize("how", ["warm", "scratch"])
def test_a_refit_keeps_the_features_and_lowers_the_validation_loss(Estimator, how):
    penalised = quick(Estimator, lambda_seq=(3.0,), select=3.0, refit=False)
    model = quick(Estimator, lambda_seq=(3.0,), select=3.0, refit=how)
    assert penalised.n_selected_
    assert same_path(model.path_, penalised.path_)
    assert np.array_equal(model.selected_, penalised.selected_)
    assert model.lambda_ == penalised.lambda_
    assert model.point_.val_loss < penalised.point_.val_loss  # what training stops on
    assert uses_only(model, model.selected_)


# Validation samples.


def test_the_validation_loss_of_a_classifier_is_that_of_the_samples_it_is_given():
    fit, held_out = np.arange(120), np.arange(120, N)
    model = classifier(dtype="float64", select="best", n_iters=(60, 10))
    model.fit(X[fit], label[fit], X_val=X[held_out], y_val=label[held_out])
    for point in model.path_[::3]:
        probability = model.load(point).predict_proba(X)
        np.testing.assert_allclose(point.val_loss, log_loss(label[held_out], probability[held_out]), rtol=1e-9)
        np.testing.assert_allclose(point.loss, log_loss(label[fit], probability[fit]), rtol=1e-9)


def test_the_validation_loss_of_a_regressor_is_that_of_the_samples_it_is_given():
    fit, held_out = np.arange(120), np.arange(120, N)
    model = regressor(dtype="float64", select="best", n_iters=(60, 10))
    model.fit(X[fit], y[fit], X_val=X[held_out], y_val=y[held_out])
    for point in model.path_[::3]:
        error = np.square(model.load(point).predict(X) - y) / y[fit].var()
        np.testing.assert_allclose(point.val_loss, error[held_out].mean(), rtol=1e-9)
        np.testing.assert_allclose(point.loss, error[fit].mean(), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_validation_part_holds_every_class_in_its_proportion(seed):
    rare = (np.arange(N) % 10 == 0).astype(int)
    model = classifier(random_state=seed, class_weight={1: 5.0}, lambda_seq=(1.0,), n_iters=1, select="best").fit(
        X, rare
    )
    weights = model.path_.val_weights  # the heavier samples are those of the rare class
    assert len(weights) == 32
    assert (weights > 2 / 32).sum() == 3  # of 3.2


# Groups and costs.

IDS = np.array([2, 0, 0, 1, 1, 0, 2, 2])


@pytest.fixture(scope="module")
def grouped():
    return regressor(feature_groups=IDS, select="best", n_iters=(200, 100)).path(X, y)


@pytest.mark.parametrize(
    "params",
    [
        {"feature_groups": [7, 2, 2, 5, 5, 2, 7, 7]},
        {"feature_groups": ["c", "a", "a", "b", "b", "a", "c", "c"]},
        {"feature_groups": [[1, 2, 5], [3, 4], [0, 6, 7]]},
        {"feature_groups": [list(NAMES[[1, 2, 5]]), NAMES[[3, 4]], pd.Index(NAMES[[0, 6, 7]])]},
        {"feature_groups": {"a": list(NAMES[[1, 2, 5]]), "b": [3, 4], "c": (0, 6, 7)}},
    ],
    ids=["ids", "labels", "positions", "names", "dict"],
)
def test_groups_enter_and_leave_whole_however_they_are_written(params, grouped):
    model = regressor(select="best", n_iters=(200, 100), **params).fit(pd.DataFrame(X, columns=NAMES), y)
    for mask in model.path_.selected:
        assert all(len(set(mask[g == IDS])) == 1 for g in range(3))
    assert len(set(model.path_.n_selected)) > 2
    assert same_path(model.path_, grouped)


def test_a_feature_without_a_penalty_never_leaves():
    costs = np.ones(D)
    costs[7] = 0
    model = regressor(feature_costs=costs, select="best").fit(X, y)
    assert all(p.selected[7] for p in model.path_)
    assert model.path_.n_selected[-1] == 1
    assert model.feature_importances_.argmax() == 7


def test_a_feature_with_a_large_penalty_weight_leaves_first():
    model = regressor(feature_costs=[300, 1, 1, 1, 1, 1, 1, 1], select="best").fit(X, y)
    assert model.feature_importances_.argmin() == 0


def test_costs_by_name_are_costs_by_position():
    cheap = {"n_iters": (30, 5), "select": "best"}
    frame = pd.DataFrame(X, columns=NAMES)
    named = regressor(feature_costs={NAMES[3]: 20.0, 0: 5.0}, **cheap).path(frame, y)
    assert same_path(named, regressor(feature_costs=[5, 1, 1, 20, 1, 1, 1, 1], **cheap).path(frame, y))
    assert not same_path(named, regressor(**cheap).path(frame, y))


# Every other parameter does something.


def test_gamma_shrinks_the_weights_above_the_first_layer():
    weak, strong = (regressor(gamma=g, lambda_seq=(1.0,), select="best").path(X, y)[0].weights for g in (0, 0.3))
    matrix = slice(8, 16)  # behind the 8 biases of the hidden layer, which are not penalised
    assert np.linalg.norm(strong.upper[matrix]) < 0.8 * np.linalg.norm(weak.upper[matrix])


def test_dropout_changes_the_path_and_can_be_repeated():
    cheap = {"n_iters": (30, 5), "lambda_seq": (1.0, 10.0), "select": "best"}
    one, two = (regressor(dropout=0.5, **cheap).path(X, y) for _ in range(2))
    assert same_path(one, two)
    assert not same_path(one, regressor(**cheap).path(X, y))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_with_full_batches_the_size_of_steps_is_found_whatever_the_first(dropout):
    cheap = {"n_iters": (200, 5), "patience": None, "lambda_seq": (1e-3,), "select": 0.0, "dropout": dropout}
    losses = [regressor(learning_rate=rate, **cheap).path(X, y)[0].loss for rate in (1e-5, 1e-3)]
    assert max(losses) < 0.2  # of a variance of 1


@both
@pytest.mark.parametrize("params", [{}, {"batch_size": 32}])
def test_the_random_state_is_all_that_is_random(Estimator, params):
    cheap = {"n_iters": (20, 4), "select": "best"} | params
    one, two, other = (quick(Estimator, random_state=s, **cheap).path_ for s in (0, 0, 1))
    assert same_path(one, two)
    assert not same_path(one, other)


@pytest.mark.parametrize(
    "params",
    [
        {"hidden_dims": (9,)},
        {"M": 2.0},
        {"path_multiplier": 3.0},
        {"learning_rate": 1e-2},
        {"batch_size": 64},
        {"n_iters": (5, 2)},
        {"patience": 1},
        {"tol": 0.4},
        {"val_size": 0.4},
        {"preprocessing": None},
        {"dtype": "float64"},
    ],
    ids=lambda params: next(iter(params)),
)
def test_a_parameter_changes_the_path(params):
    cheap = {"n_iters": (150, 25), "select": "best"}
    assert not same_path(regressor(**cheap).path(2 * X, y), regressor(**(cheap | params)).path(2 * X, y))


def test_batches_with_an_incomplete_last_one_learn():
    model = classifier(batch_size=50, select="best").fit(X, label)  # 128 training samples: two batches and a half
    assert model.score(X, label) > 0.85
    assert {0, 1} <= set(model.at(n_features=4).get_support(indices=True))


@both
def test_a_batch_larger_than_the_data_learns_as_well_as_a_full_batch(Estimator, models):
    long = {"n_iters": (1000, 30), "learning_rate": 1e-2, "select": "best"}
    batch = quick(Estimator, batch_size=10 * N, **long)
    score = batch.score(X, target_of(Estimator))
    assert abs(score - models[Estimator].score(X, target_of(Estimator))) < 0.15
    assert set(np.argsort(batch.feature_importances_)[-2:]) == {0, 1}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype_is_the_precision_of_training(dtype):
    point = regressor(dtype=dtype, lambda_seq=(1.0,), n_iters=5, select="best").path(X, y)[0]
    assert point.weights.upper.dtype == point.weights.skip.dtype == dtype


def test_two_hidden_layers_are_two_hidden_layers():
    model = regressor(hidden_dims=(6, 4), select="best").fit(X, y)
    weights = model.path_[0].weights
    assert weights.first.shape == (D, 6)
    assert len(weights.upper) == 6 + (6 * 4 + 4) + (4 + 1)
    assert model.score(X, y) > 0.8
    assert uses_only(model.at(n_features=3), model.at(n_features=3).selected_)


def test_without_standardising_the_unit_of_a_column_matters():
    cheap = {"n_iters": (30, 5), "select": "best", "preprocessing": None}
    assert not same_path(regressor(**cheap).path(X, y), regressor(**cheap).path(X * 2, y))


# Difficult data.


@both
@pytest.mark.parametrize(
    ("unit", "offset"),
    [(1e6, 1e6), ([1e6, 1, 1e-6, 1] * 2, [0, 1e6, 0, -1e6] * 2), ([1e200, 1e-200] * 4, 0)],
    ids=["large", "mixed", "extreme"],
)
def test_columns_of_any_unit_and_offset_are_learnt_from(Estimator, unit, offset, models):
    awkward = X * np.array(unit) + np.array(offset)
    target = target_of(Estimator)
    model = Estimator(**with_training(**QUICK, select="best")).fit(awkward, target)
    assert np.isfinite(model.predict(awkward).astype(float)).all()
    assert abs(model.score(awkward, target) - models[Estimator].score(X, target)) < 0.1
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}


@pytest.mark.parametrize("unit", [1e-200, 1e6, 1e200])
def test_a_target_of_any_unit_is_learnt(unit, models):
    model = regressor(select="best").fit(X, y * unit + unit)
    np.testing.assert_allclose(model.predict(X) / unit - 1, models[LassoNetRegressor].predict(X), atol=0.5)


def test_of_thirty_thousand_columns_the_few_that_matter_are_selected():
    draw = np.random.default_rng(4)
    wide = draw.standard_normal((200, 30_000), dtype=np.float32)
    planted = [5, 17_000, 29_999]
    target = wide[:, planted] @ [3.0, -3.0, 2.0] + 0.1 * draw.normal(size=200)
    settings = QUICK | {"hidden_dims": (4,), "n_iters": (50, 10)}
    model = LassoNetRegressor(**with_training(n_features_to_select=50, refit="warm", **settings)).fit(wide, target)
    assert 3 <= model.n_selected_ <= 50
    assert model.selected_[planted].all()
    assert np.isfinite(model.path_.to_frame().to_numpy()).all()
    assert np.isfinite(model.feature_importances_).all()
    assert model.score(wide, target) > 0.5


@both
def test_constant_columns_never_enter(Estimator):
    padded = np.column_stack([np.zeros(N), X[:, :4], np.full(N, 1e9), np.full(N, 0.1)])
    model = Estimator(**with_training(**QUICK, select="best")).fit(padded, target_of(Estimator))
    assert not model.path_.selected[1:, [0, 5, 6]].any()
    assert (model.coef_.reshape(-1, 7)[:, [0, 5, 6]] == 0).all()
    assert np.isfinite(model.feature_importances_).all()
    changed = padded.copy()
    changed[:, [0, 5, 6]] += 1e3
    assert np.array_equal(model.predict(changed), model.predict(padded))


def test_a_column_that_is_constant_in_the_training_samples_is_not_used():
    odd = X.copy()
    odd[:120, 6] = 3.0
    model = regressor(select="best").fit(odd[:120], y[:120], X_val=odd[120:], y_val=y[120:])
    assert not model.path_.selected[1:, 6].any()
    assert uses_only(model, np.arange(D) != 6)


def test_constant_columns_alone_give_the_empty_model():
    model = regressor(select="best").fit(np.ones((N, 3)), y)
    assert model.n_selected_ == 0
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y.mean(), atol=y.std() / 2)


@both
def test_one_column_is_enough(Estimator):
    model = Estimator(**with_training(**QUICK, select="best")).fit(X[:, :1], target_of(Estimator))
    assert list(model.path_.n_selected[[0, -1]]) == [1, 0]
    assert model.selected_.all()


# Watching and interrupting.


def test_a_progress_bar_shows_lambda_and_features_on_standard_error(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(Progress, "update", lambda self, task, **change: shown.append(change["description"]))
    model = quick(LassoNetRegressor, verbose=1, n_iters=(30, 5), select="best")
    last = model.path_[-1]
    assert any(f"λ {last.lambda_:9.3g}" in text and f"{last.n_selected} features" in text for text in shown)
    assert capsys.readouterr().out == ""


def test_the_line_that_stays_does_not_read_as_a_result(capsys):
    quick(LassoNetRegressor, verbose=1, n_iters=(30, 5), select="best")
    out, err = capsys.readouterr()
    assert out == "" and "path of " in err and "features" not in err and "loss" not in err


def test_a_quiet_model_writes_nothing(capsys):
    quick(LassoNetRegressor, n_iters=(30, 5), select="best")
    assert capsys.readouterr() == ("", "")


def interrupt_after(monkeypatch, n_calls: int) -> None:
    minimise, calls = Solver.minimise, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == n_calls + 1:
            raise KeyboardInterrupt
        return minimise(*args, **kwargs)

    monkeypatch.setattr(Solver, "minimise", interrupted)


@both
@pytest.mark.parametrize("n_calls", [0, 4])
def test_an_interrupt_is_raised_and_leaves_an_estimator_that_is_not_fitted(Estimator, n_calls, monkeypatch):
    model = quick(Estimator)
    interrupt_after(monkeypatch, n_calls)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, target_of(Estimator))
    assert not hasattr(model, "path_")
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_representation_of_a_fitted_model_names_its_point():
    model = quick(LassoNetRegressor)
    assert "features" not in repr(LassoNetRegressor())
    one = model.at(n_features=1)
    assert repr(one).endswith(f") with 1 of 8 features, λ = {one.lambda_:.3g}")
    assert repr(model.at(lambda_=0)).endswith(") with 8 of 8 features, λ = 0")


def test_features_that_were_never_in_are_ordered_below_all_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 3)), np.ones(60), np.zeros(60)])
    model = LassoNetRegressor((4,), random_state=0, select="best").fit(X, X[:, 0])
    importances = model.feature_importances_
    assert len(set(importances)) == 5
    assert 0 < max(importances[3:]) < min(importances[:3])


def test_a_model_is_not_asked_for_more_features_than_there_are(rng):
    X = rng.standard_normal((60, 3))
    model = LassoNetRegressor(**with_training(n_iters=5, hidden_dims=(4,), val_size=0.5)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="n_features=99 exceeds the 3 features of X"):
        model.at(n_features=99)
