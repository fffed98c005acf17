"""A user-supplied network is trained as the built-in one is, and the user's objects do not change."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import Lasso
from torch import nn

from riata import (
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
    plot,
)
from riata.losses import BinaryCrossEntropy, CrossEntropy, SquaredError
from riata.network.stacked import Network, Weights
from riata.network.user import build
from riata.path.grid import Grid
from riata.path.solve import solve_path
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import gradient_of, start_descent, with_training

CPU = torch.device("cpu")


class Block(nn.Module):
    """A residual block with dropout."""

    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width))

    def forward(self, h):
        return h + self.inner(self.norm(h))


def residual(n_inputs, n_outputs, dropout=0.0):
    return nn.Sequential(nn.Linear(n_inputs, 8), Block(8, dropout), nn.GELU(), nn.Linear(8, n_outputs))


def dropping(n_inputs, n_outputs):
    return residual(n_inputs, n_outputs, 0.2)


def smooth(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 3), nn.Tanh(), nn.Linear(3, n_outputs))


class Attention(nn.Module):
    """The first layer's output as four tokens of four numbers that attend to each other."""

    def __init__(self, n_inputs, n_outputs):
        super().__init__()
        self.first = nn.Linear(n_inputs, 16)
        self.block = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.last = nn.Linear(16, n_outputs)

    def forward(self, x):
        return self.last(self.block(self.first(x).unflatten(1, (4, 4))).flatten(1))


def made(network, n_inputs=12, n_outputs=1):
    """A module with the same weights each time."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return network(n_inputs, n_outputs)


def built(network, n_inputs, n_outputs, seed=0):
    return build(network, n_inputs, n_outputs, seed, torch.float64, CPU)


def with_user_network(problem, network):
    return replace(problem, network=built(network, problem.X.shape[1], problem.target.shape[1]))


def built_in_as_module(network: Network, weights: Weights) -> nn.Module:
    """The module of the first replica."""
    return network.module(weights.rows[0, :, network.n_outputs :], weights.upper[0])


# The same engine.


@pytest.mark.parametrize("hidden", [(5,), (6, 4)])
def test_the_layers_of_the_built_in_network_as_a_module_have_the_same_path(diabetes, make_problem, hidden):
    built_in = make_problem(*diabetes, hidden=hidden, gamma=1e-3)
    start = built_in.network.init(10, [3], torch.float64, CPU)
    supplied = with_user_network(built_in, built_in_as_module(built_in.network, start))
    user_start = supplied.network.init(10, [3], torch.float64, CPU)
    np.testing.assert_array_equal(user_start.rows, start.rows)
    stopping = Stopping(300, None, 1e-6)
    grid = Grid(seq=(0.02, 0.1, 0.5, 2.0, 20.0))
    one, other = (
        solve_path(Solver(problem), weights, grid, stopping, stopping)[0]
        for problem, weights in ((built_in, start), (supplied, user_start))
    )
    assert one[-1].n_selected < one[0].n_selected
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.selected, b.selected)
        assert (a.lambda_, a.n_iters) == (b.lambda_, b.n_iters)
        assert a.objective == pytest.approx(b.objective, rel=1e-8)
        assert a.loss == pytest.approx(b.loss, rel=1e-8)
        np.testing.assert_allclose(a.weights.first, b.weights.first, atol=1e-7)


def test_the_same_holds_for_estimators(diabetes):
    X, y = diabetes
    settings = {
        "dtype": "float64",
        "random_state": 0,
        "preprocessing": "standard",
        "path_multiplier": 1.3,
        "n_iters": (200, 10),
    }
    one = LassoNetRegressor(**with_training(hidden_dims=(6,), **settings)).fit(X, y)
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3)[2])
    module = built_in_as_module(one._solved.network, one._solved.network.init(10, [seed], torch.float64, CPU))
    other = LassoNetRegressor(**with_training(hidden_dims=module, **settings)).fit(X, y)
    np.testing.assert_allclose(one.path_.lambdas, other.path_.lambdas, rtol=1e-8)
    np.testing.assert_array_equal(one.path_.selected, other.path_.selected)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (SquaredError(), np.random.default_rng(1).normal(size=(30, 2))),
        (BinaryCrossEntropy(), np.arange(30.0)[:, None] % 2),
        (CrossEntropy(), np.eye(3)[np.arange(30) % 3]),
    ],
    ids=["squared", "binary", "classes"],
)
@pytest.mark.parametrize("network", [smooth, residual, Attention])
def test_gradients_are_those_of_autograd_on_the_whole_model(make_problem, network, loss, target):
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(2, 30))
    problem = with_user_network(make_problem(rng.normal(size=(30, 4)), target, loss, weights=weights), network)
    o = problem.network.n_outputs
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    start = Weights(start.rows, start.upper + 0.1 * torch.from_numpy(rng.normal(size=start.upper.shape)))
    found = gradient_of(problem, start)

    for r in range(2):
        module = problem.network.module(start.rows[r, :, o:], start.upper[r])
        skip = start.rows[r, :, :o].clone().requires_grad_()
        output = problem.X @ skip + module(problem.X)
        slope = loss.evaluate(output.detach()[None], problem.target)[1][0]
        output.backward(problem.weights[r].unsqueeze(-1) * slope)
        layers = list(module.parameters())  # the first layer's weight comes first
        rows = torch.cat([skip.grad, layers[0].grad.T], -1)
        np.testing.assert_allclose(found.rows[r], rows, atol=1e-12)
        upper = torch.cat([p.grad.flatten() for p in layers[1:]])
        np.testing.assert_allclose(found.upper[r], upper, atol=1e-12)


def test_replicas_trained_together_equal_each_trained_alone(diabetes, make_problem):
    X, y = diabetes
    weights = np.random.default_rng(0).integers(0, 3, size=(2, len(X))).astype(float)
    stopping, grid = Stopping(60, None, 1e-4), Grid(seq=(0.05, 0.3, 0.8))

    def paths(weights, M, seeds):
        problem = with_user_network(make_problem(X, y, weights=weights, M=M, gamma=1e-3), smooth)
        start = problem.network.init(10, seeds, torch.float64, CPU)
        return solve_path(Solver(problem), start, grid, stopping, stopping)

    together = paths(weights, [1.0, 10.0], [5, 6])
    for r, M in enumerate([1.0, 10.0]):
        for a, b in zip(together[r], paths(weights[r], M, [5 + r])[0], strict=True):
            np.testing.assert_array_equal(a.selected, b.selected)
            assert a.n_iters == b.n_iters
            assert a.objective == pytest.approx(b.objective, rel=1e-8)


@pytest.mark.parametrize("batch_size", [None, 7])
def test_the_gradient_from_the_product_is_exact_also_after_updates_and_when_computed_twice(make_problem, batch_size):
    rng = np.random.default_rng(0)
    problem = with_user_network(make_problem(rng.normal(size=(20, 4)), rng.normal(size=20)), dropping)
    descent = Descent(problem, 1e-2, batch_size, torch.Generator().manual_seed(0))
    start_descent(descent, problem.network.init(4, [0], torch.float64, CPU), 0.1)
    descent.run(3)
    exact = gradient_of(replace(problem, network=_fixed(problem.network)), descent.state.now.weights).rows
    for _ in range(2):
        np.testing.assert_allclose(problem.X.mT @ next(descent.product_gradients())[1], exact, atol=1e-12)


def _fixed(network):
    fixed = copy.copy(network)
    fixed.is_random = False
    return fixed


def test_gamma_acts_on_parameters_of_two_dimensions_and_more():
    network = built(residual, 4, 2)
    expected = [torch.full((p.numel(),), float(p.ndim >= 2)) for p in residual(4, 2).parameters()]
    expected[0] = torch.empty(0)  # the first layer's weights are stored with the features
    torch.testing.assert_close(network.is_matrix(torch.empty(0)), torch.cat(expected))


# The stated problem.


@pytest.mark.parametrize("network", [smooth, residual])
def test_without_hierarchy_any_network_gives_the_lasso(diabetes, network):
    X, y = diabetes
    lambdas = (0.05, 0.2, 0.5)
    model = LassoNetRegressor(
        **with_training(hidden_dims=network, M=0, val_size=0, dtype="float64", patience=None, tol=1e-10, n_iters=(20, 1500),
        lambda_seq=lambdas, select=lambdas[-1], refit=False, random_state=0,
    )).fit(X, y)  # fmt: skip
    for lambda_ in lambdas:
        lasso = Lasso(alpha=lambda_ / 2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(model.at(lambda_=lambda_).coef_ * X.std(0) / y.std(), lasso.coef_, atol=1e-4)


def test_with_hierarchy_points_are_stationary(diabetes, make_problem):
    X, y = diabetes
    problem = with_user_network(make_problem(X[:150, :6], y[:150], M=10.0, gamma=0.02), smooth)
    solver = Solver(problem)
    start = problem.network.init(6, [1], torch.float64, CPU)
    dense, sparse = Stopping(1000, None, 1e-6), Stopping(30_000, None, 1e-8)
    path = solve_path(solver, start, Grid(seq=(0.5, 2.0, 4.0)), dense, sparse)[0]
    assert path[-1].n_selected < path[0].n_selected
    for point in path[1:]:
        rows = torch.zeros(1, 6, problem.network.width, dtype=torch.float64)
        rows[0, point.weights.features] = torch.from_numpy(np.hstack([point.weights.skip, point.weights.first]))
        weights = Weights(rows, torch.from_numpy(point.weights.upper)[None])
        gradient = gradient_of(problem, weights).rows[0]
        bound = problem.skip(gradient).norm(dim=-1) + 10 * problem.first(gradient).abs().sum(-1)
        assert (bound.numpy()[~point.selected] <= point.lambda_ * (1 + 1e-6)).all()
        lambda_ = torch.tensor([point.lambda_], dtype=torch.float64)
        further = solver.minimise(weights, lambda_, Stopping(1000, None, 0.0))
        assert -1e-12 <= point.objective - float(further.evaluation.objective[0]) <= 1e-4 * point.objective


# Selection. Columns 0 to 2 matter.

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 12))
signal = 2 * X[:, 0] - 1.5 * X[:, 1] + 1.5 * X[:, 1] * X[:, 2] + X[:, 2]
y = signal + 0.3 * rng.normal(size=400)
labels = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
QUICK = {"path_multiplier": 1.1, "n_iters": (150, None), "random_state": 0}
BRIEF = {"path_multiplier": 1.5, "n_iters": (40, 3), "random_state": 0}  # where what is selected does not matter


@pytest.mark.parametrize(("network", "batch_size"), [(residual, None), (dropping, 64), (Attention, None)])
def test_the_columns_that_matter_are_found(network, batch_size):
    settings = QUICK | {
        "hidden_dims": network,
        "batch_size": batch_size,
        "n_features_to_select": 3,
        "path_multiplier": 1.3,
    }
    for model, target in (
        (LassoNetRegressor(**with_training(**settings)), y),
        (LassoNetClassifier(**with_training(**settings)), labels),
    ):
        assert np.flatnonzero(model.fit(X, target).selected_).tolist() == [0, 1, 2]
        assert model.at(lambda_=0).score(X, target) > 0.7


def test_columns_are_reconstructed_from_few():
    table = X[:, [0, 1, 2, 0, 1, 2]] + 0.05 * X[:, 6:]
    model = LassoNetAutoencoder(
        **with_training(hidden_dims=smooth, n_features_to_select=3, n_iters=(300, 20), random_state=0)
    ).fit(table)
    assert sorted(np.flatnonzero(model.selected_) % 3) == [0, 1, 2]
    assert model.score(table) > 0.9


def test_frozen_parameters_stay_what_they_are():
    module = made(smooth)
    module[2].requires_grad_(False)
    model = LassoNetRegressor(**with_training(hidden_dims=module, **QUICK)).fit(X, y)
    assert model._solved.network.n_upper == 3  # the first layer's bias
    trained = model.module_.network
    torch.testing.assert_close(trained[2].weight, module[2].weight.double())
    assert not torch.allclose(trained[0].bias, module[0].bias.double())


@pytest.mark.parametrize("refit", ["warm", "scratch"])
def test_a_refit_starts_from_the_module(refit):
    model = LassoNetRegressor(
        **with_training(hidden_dims=made(residual), refit=refit, n_features_to_select=3, **QUICK)
    ).fit(X, y)
    assert model.n_selected_ == 3 and model.point_.loss < 0.1


# What the user supplied, and the global generators.


def state(module):
    return {name: values.clone() for name, values in module.state_dict().items()}


def test_a_fit_in_inference_mode_is_a_fit():
    with torch.inference_mode():
        model = LassoNetRegressor(**with_training(hidden_dims=made(smooth), **QUICK)).fit(X, y)
        twin = LassoNetRegressor(**with_training(hidden_dims=smooth, **QUICK)).fit(X, y)
    assert model.selected_[:3].all() and twin.selected_[:3].all()


@pytest.mark.parametrize("network", [made(residual), residual, dropping], ids=["module", "function", "dropout"])
def test_two_fits_are_equal_and_leave_the_module_and_the_generators_alone(network):
    given = state(network) if isinstance(network, nn.Module) else {}
    torch.manual_seed(7)
    expected = torch.rand(3)
    fits = []
    for _ in range(2):
        torch.manual_seed(7)
        fits.append(LassoNetRegressor(**with_training(hidden_dims=network, **BRIEF)).fit(X, y))
        fits[-1].predict(X)
        fits[-1].module_  # noqa: B018
        torch.testing.assert_close(torch.rand(3), expected)
        torch.manual_seed(8)  # the state of the global generators does not matter
    np.testing.assert_array_equal(fits[0].path_.lambdas, fits[1].path_.lambdas)
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    for name, values in given.items():
        assert torch.equal(values, network.state_dict()[name])
    if given:
        assert network.training and all(p.grad is None for p in network.parameters())


def test_a_function_draws_other_weights_for_another_seed():
    one, other = (built(residual, 4, 1, seed).init(4, [0], torch.float64, CPU) for seed in (0, 1))
    assert not torch.equal(one.upper, other.upper)
    np.testing.assert_array_equal(one.rows[..., :1], other.rows[..., :1])


@pytest.mark.parametrize("network", [made(dropping), Attention], ids=["module", "function"])
def test_fitted_models_are_cloned_copied_and_pickled(network):
    model = LassoNetRegressor(**with_training(hidden_dims=network, **BRIEF)).fit(X, y)
    expected = model.predict(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(twin.predict(X), expected)
        np.testing.assert_array_equal(twin.selected_, model.selected_)
    assert "hidden_dims=" in repr(model)


@pytest.mark.parametrize("network", [(6, 4), residual, dropping, Attention])
@pytest.mark.parametrize("preprocessing", ["standard", "piecewise", "auto", None])
def test_a_fitted_model_as_a_module_predicts_what_the_estimator_does(network, preprocessing):
    table = np.column_stack([X, np.ones(len(X)), np.exp(2 * X[:, 5])])  # a constant column and a heavy-tailed one too
    settings = BRIEF | {"hidden_dims": network, "preprocessing": preprocessing}
    regressor = LassoNetRegressor(**with_training(**settings)).fit(table, y)
    classifier = LassoNetClassifier(**with_training(**settings)).fit(table, labels)
    for model, expected in (
        (regressor, regressor.predict(table)[:, None]),
        (classifier, classifier.decision_function(table)),
        (classifier.at(lambda_=0), classifier.at(lambda_=0).decision_function(table)),
    ):
        module = model.module_
        with torch.no_grad():
            np.testing.assert_allclose(module(torch.from_numpy(table)), expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(module.float()(torch.from_numpy(table)), expected, rtol=1e-3, atol=1e-4)


def test_the_exported_network_has_the_class_of_the_module():
    trained = LassoNetRegressor(**with_training(hidden_dims=made(Attention), **BRIEF)).fit(X, y).module_.network
    assert isinstance(trained, Attention) and isinstance(trained.first, nn.Linear)
    assert not trained.training


def test_predictions_in_many_threads_are_those_of_one():
    model = LassoNetRegressor(**with_training(hidden_dims=Attention, **BRIEF)).fit(X, y)
    parts = [X[start : start + 40] for start in range(0, 400, 40)] * 10
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.predict, parts))
    for part, prediction in zip(parts, found, strict=True):
        np.testing.assert_allclose(prediction, model.predict(part), rtol=1e-10)


# Tools around estimators.


def test_cross_validation_takes_a_network_as_one_candidate():
    settings = {"cv": 2, "M": [1, 10], "preprocessing": "standard", **QUICK}
    model = LassoNetClassifierCV(**with_training(hidden_dims=smooth, **settings)).fit(X, labels)
    assert model.selected_[:3].all() and model.cv_score_ > 0.75
    assert (set(model.cv_results_["hidden_dims"]), model.hidden_dims_) == ({smooth}, smooth)
    assert set(model.cv_results_["M"]) == {1, 10}
    assert plot.cv(model).lines
    model = LassoNetRegressorCV(**with_training(hidden_dims=made(smooth), cv=2, **QUICK)).fit(X, y)
    assert model.selected_[:2].all()


def test_stability_selection_takes_a_network():
    settings = {"hidden_dims": smooth, "path_multiplier": 1.3, "n_iters": (60, 5)}
    selector = StabilitySelector(
        LassoNetRegressor(**with_training(**settings)), n_resamples=4, n_features=3, threshold=0.9, random_state=0
    )
    assert selector.fit(X, y).selected_[:2].all()


def test_a_given_module_leaves_columns_as_they_are():
    nonlinear = np.square(X[:, 0])
    one, other = (
        LassoNetRegressor(**with_training(hidden_dims=network, **BRIEF)).fit(X, nonlinear)
        for network in (made(smooth), smooth)
    )
    assert one._solved.preprocessing.expansion.trivial and not other._solved.preprocessing.expansion.trivial
