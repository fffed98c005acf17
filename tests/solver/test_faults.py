"""Memory that is too small gives smaller blocks with the same result; steps that are too long are shortened."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from riata import (
    LassoNetClassifier,
    LassoNetCoxRegressor,
    LassoNetIntervalRegressor,
    LassoNetRegressor,
    LassoNetRegressorCV,
    together,
)
from riata.network.blocked import BlockedPass
from riata.network.stacked import AnyPass, Network
from riata.network.user.network import UserNetwork
from riata.solver.descent import Descent
from riata.solver.faults import in_parts, learning_rates
from riata.solver.solve import Solver
from tests.conftest import start_descent, with_training

N = 120
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 6))
signal = X[:, 0] - X[:, 1] + np.abs(X[:, 2])
TIMES = np.column_stack([np.exp(signal / 3), rng.random(N) < 0.7])
VISITS = np.column_stack([0.8 * np.exp(signal / 3), 1.3 * np.exp(signal / 3)])
EXACT = {
    "hidden_dims": (5,),
    "dtype": "float64",
    "n_iters": (60, 10),
    "path_multiplier": 1.5,
    "select": "best",
    "random_state": 0,
}


def network(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 4), nn.Tanh(), nn.Linear(4, n_outputs))


CASES = {
    "classes": (LassoNetClassifier, np.digitize(signal, [-1, 1]), {}),
    "numbers": (LassoNetRegressor, np.column_stack([signal, X[:, 3]]), {}),
    "survival": (LassoNetCoxRegressor, TIMES, {}),
    "intervals": (LassoNetIntervalRegressor, VISITS, {}),
    "a network of the user": (LassoNetRegressor, signal, {"hidden_dims": network}),
    "mini-batches": (LassoNetRegressor, signal, {"batch_size": 64, "n_iters": (10, 3)}),
    "without validation": (LassoNetRegressor, signal, {"val_size": 0, "n_features_to_select": 3}),
}


@contextmanager
def warned(match):
    """Expect a warning, beside others."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    texts = [str(each.message) for each in found]
    assert any(re.search(match, text) for text in texts), texts


@pytest.fixture
def memory(monkeypatch):
    """Limit the samples that a pass may hold, as the memory of a device does."""

    def limit(largest, **more):
        for cls in (Network, UserNetwork):

            def passes(self, n_replicas, n_samples, like, *, learns=True, original=cls.passes):
                if learns and n_samples * n_replicas > largest:
                    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
                return original(self, n_replicas, n_samples, like, learns=learns)

            monkeypatch.setattr(cls, "passes", passes)

    return limit


@pytest.mark.parametrize("case", CASES)
def test_a_fit_in_blocks_is_the_fit_of_all_samples(case, memory):
    Estimator, target, params = CASES[case]
    fit = {**EXACT, **params}
    whole = Estimator(**with_training(**fit)).fit(X, target)
    memory(60)
    with warned("goes on in blocks of (48|60) samples"):
        blocks = Estimator(**with_training(**fit)).fit(X, target)
    np.testing.assert_array_equal(blocks.path_.n_selected, whole.path_.n_selected)
    np.testing.assert_array_equal(blocks.selected_, whole.selected_)
    np.testing.assert_allclose(blocks.predict(X), whole.predict(X), rtol=1e-6, atol=1e-6)  # sums in another order


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_pass_in_blocks_has_the_outputs_and_gradients_of_a_pass_over_all_samples(replicas):
    built = Network(2, (4, 3))
    weights = built.init(6, list(range(replicas)), torch.float64, torch.device("cpu"))
    layers, given = built.layers(weights), torch.from_numpy(X)
    found = []
    for made in (AnyPassOf(built, replicas), BlockedPass(built, replicas, N, weights.rows, block=50)):
        output = made.forward(layers, given).clone()
        made.output_gradient.copy_(output.cos())
        gradient = type(weights)(*(torch.full_like(part, torch.nan) for part in weights))
        made.backward(layers, given, built.layers(gradient))
        found.append((output, *gradient))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def AnyPassOf(built: Network, replicas: int) -> AnyPass:
    return built.passes(replicas, N, torch.zeros(1, dtype=torch.float64))


def test_features_that_violate_optimality_are_found_in_blocks_too(make_problem):
    problem = make_problem(X, signal)
    gradients = []
    for block in (None, 50):
        descent = Descent(problem, 1e-3, block_size=block)
        start = Solver(problem).feasible(problem.network.init(6, [0], torch.float64, torch.device("cpu")))
        start_descent(descent, start, 0.1)
        solver = Solver(problem, block_size=block)
        parts = solver._gradients(descent, 4)
        gradients.append(torch.cat([gradient for _, gradient in parts], 1))
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_with_dropout_an_update_has_no_more_samples_than_a_block(memory):
    memory(60)
    params = {**EXACT, "dropout": 0.1, "n_iters": (10, 3), "refit": "scratch"}
    with warned("goes on in blocks of 48 samples"):
        model = LassoNetRegressor(**with_training(**params)).fit(X, signal)
    assert np.isfinite(model.predict(X)).all()
    small = Solver(model._solved.refit.solver.problem, block_size=48)
    assert small.batch_of(small.problem) == 48


def test_folds_side_by_side_that_are_too_many_are_solved_one_half_after_the_other(memory, monkeypatch):
    fit = with_training(**{**EXACT, "n_iters": (20, 4), "path_multiplier": 3.0}, refit=False, cv=3)
    alone = LassoNetRegressorCV(**fit, n_jobs=1).fit(X, signal)
    monkeypatch.setattr(together, "pays", lambda device: True)
    memory(150)
    with warned("too small for 4 problems side by side: they are solved in two parts"):
        halves = LassoNetRegressorCV(**fit).fit(X, signal)
    np.testing.assert_array_equal(halves.selected_, alone.selected_)
    np.testing.assert_allclose(halves.predict(X), alone.predict(X), rtol=1e-5, atol=1e-5)


def test_memory_that_holds_nothing_is_an_error_with_the_remedies(memory):
    memory(3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the memory of the device")
        with pytest.raises(torch.OutOfMemoryError, match=r"blocks of .* samples: use Training\(device='cpu'\)"):
            LassoNetRegressor(**with_training(**EXACT)).fit(X, signal)


def test_parts_have_the_order_of_the_whole():
    def work(items):
        if len(items) > 2:
            raise torch.OutOfMemoryError
        return [10 * item for item in items]

    with warned("side by side"):
        assert in_parts(work, range(7)) == [10 * item for item in range(7)]


# Steps that are too long.


def steep(output, target):
    """A loss that overflows a few units from its minimum."""
    return torch.exp((output - target).abs() * 8)


@pytest.mark.parametrize("estimator", [LassoNetRegressor, LassoNetClassifier])
def test_steps_that_are_too_long_are_shortened_with_a_warning(estimator):
    target = signal if estimator is LassoNetRegressor else (signal > 0).astype(int)
    fit = {**EXACT, "dtype": "float32", "loss": steep, "batch_size": 30, "n_iters": (10, 3)}
    with warned(r"did not stay finite with learning_rate=10: .* with 1; "):
        model = estimator(**with_training(**fit, learning_rate=10)).fit(X, target)
    assert np.isfinite([point.loss for point in model.path_]).all()
    assert np.isfinite(model.predict(X)).all()
    assert all(np.isfinite(point.weights.skip).all() for point in model.path_)


def test_steps_on_all_samples_are_shortened_without_a_word():
    fit = {**EXACT, "dtype": "float32", "loss": steep, "learning_rate": 10}
    model = LassoNetRegressor(**with_training(**fit)).fit(X, signal)
    assert np.isfinite([point.loss for point in model.path_]).all() and np.isfinite(model.predict(X)).all()


def test_steps_that_are_always_too_long_are_an_error():
    with (
        warned("did not stay finite"),
        pytest.raises(FloatingPointError, match="even with learning_rate=1e-06"),
    ):
        list(learning_rates(1.0))
