"""Many networks at once are the same networks one by one, and a weight is a number of rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.losses import BinaryCrossEntropy, CrossEntropy, SquaredError
from riata.network import Network, Weights
from riata.path import Grid, follow
from riata.solver import Solver, Stopping, _gradient, _slope

CPU = torch.device("cpu")
STOPPING = Stopping(100, None, 1e-4)
GRID = Grid(seq=(0.02, 0.1, 0.3, 0.8))


def paths(problem, seeds):
    start = problem.network.init(problem.X.shape[1], seeds, torch.float64, CPU)
    return follow(Solver(problem), start, GRID, STOPPING, STOPPING)


def assert_same_path(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.selected, b.selected)
        assert a.n_iters == b.n_iters
        assert a.objective == pytest.approx(b.objective, rel=1e-8)
        np.testing.assert_allclose(a.weights.skip, b.weights.skip, atol=1e-7)
        np.testing.assert_allclose(a.weights.first, b.weights.first, atol=1e-7)


def test_replicas_trained_together_equal_each_trained_alone(diabetes, make_problem):
    X, y = diabetes
    weights = np.random.default_rng(0).integers(0, 3, size=(3, len(X))).astype(float)
    hierarchy = [0.0, 1.0, 10.0]
    seeds = [5, 6, 7]
    together = paths(make_problem(X, y, weights=weights, M=hierarchy, gamma=1e-3), seeds)
    assert len({len(path) for path in together} | {p.n_iters for path in together for p in path}) > 2
    for r in range(3):
        alone = paths(make_problem(X, y, weights=weights[r], M=hierarchy[r], gamma=1e-3), [seeds[r]])[0]
        assert_same_path(together[r], alone)


def test_a_row_of_weight_zero_is_a_row_left_out(diabetes, make_problem):
    X, y = diabetes
    weights = np.ones(len(X))
    weights[::5] = 0
    zero = paths(make_problem(X, y, weights=weights, gamma=1e-3), [0])[0]
    gone = paths(make_problem(X[weights > 0], y[weights > 0], gamma=1e-3), [0])[0]
    assert_same_path(zero, gone)


def test_a_row_of_weight_two_is_the_row_twice(diabetes, make_problem):
    X, y = diabetes
    weights = np.ones(len(X))
    weights[:40] = 2
    double = paths(make_problem(X, y, weights=weights, gamma=1e-3), [0])[0]
    twice = paths(make_problem(np.vstack([X, X[:40]]), np.append(y, y[:40]), gamma=1e-3), [0])[0]
    assert_same_path(double, twice)


@pytest.mark.parametrize("hidden", [(4,), (5, 3), (4, 3, 2)])
@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (SquaredError(), np.random.default_rng(1).normal(size=(30, 2))),
        (BinaryCrossEntropy(), np.arange(30)[:, None] % 2),
        (CrossEntropy(), np.eye(3)[np.arange(30) % 3]),
    ],
    ids=["squared", "binary", "classes"],
)
def test_the_closed_form_gradient_equals_autograd(make_problem, hidden, loss, target):
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(2, 30))
    problem = make_problem(
        rng.normal(size=(30, 4)), target, loss, hidden=hidden, weights=weights, gamma=0.1, gamma_skip=0.2
    )
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    trace = problem.network.forward(start, problem.X)
    closed = _gradient(problem, start, problem.X, trace, _slope(problem, trace))

    leaf = Weights(*(w.clone().requires_grad_() for w in start))
    losses = loss.per_sample(problem.network.forward(leaf, problem.X).output, problem.target)
    objective = (problem.weights * losses).sum() + 0.2 * problem.skip(leaf.rows).square().sum()
    matrices, _ = problem.network.matrices(leaf.upper)
    (objective + 0.1 * sum(m.square().sum() for m in matrices)).backward()
    np.testing.assert_allclose(closed.rows, leaf.rows.grad, atol=1e-12)
    np.testing.assert_allclose(closed.upper, leaf.upper.grad, atol=1e-12)


def test_dropout_drops_the_stated_share_and_keeps_the_mean():
    network = Network(1, (200,))
    weights = network.init(3, [0], torch.float64, CPU)
    X = torch.ones(50, 3, dtype=torch.float64)
    draw = torch.Generator().manual_seed(0)
    trace = network.forward(weights, X, 0.25, draw)
    factor = trace.kept[0]
    assert factor is not None
    assert float((factor == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    assert float(factor.mean()) == pytest.approx(1.0, abs=0.02)


@given(batch=st.integers(3, 29))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_gradients_of_batches_average_to_that_of_the_whole(make_problem, batch):
    """The last, incomplete batch counts by its size."""
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(29, 4)), rng.normal(size=29), weights=rng.uniform(size=(2, 29)))
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    seen = []

    class Recorder:
        def step(self, now, gradient, moving):
            seen.append(gradient.rows)
            return now

    solver = Solver(problem, batch_size=batch, draw=torch.Generator().manual_seed(0))
    solver._epoch(problem, start, Recorder(), np.ones(2, dtype=bool))
    sizes = [min(batch, 29 - i) for i in range(0, 29, batch)]
    assert len(seen) == len(sizes)
    mean = sum(g * size / 29 for g, size in zip(seen, sizes, strict=True))
    trace = problem.network.forward(start, problem.X)
    whole = _gradient(problem, start, problem.X, trace, _slope(problem, trace)).rows
    np.testing.assert_allclose(mean, whole, atol=1e-12)
