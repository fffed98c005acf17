"""Many networks at once are the same networks one by one, and a weight is a number of copies of a sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from riata.losses import BinaryCrossEntropy, CrossEntropy, SquaredError
from riata.network.stacked import Network, Pass, Weights
from riata.path.grid import Grid
from riata.path.solve import solve_path
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import FORMS, gradient_of, matrices_of, output_of, start_descent

CPU = torch.device("cpu")
STOPPING = Stopping(100, None, 1e-4)
GRID = Grid(seq=(0.02, 0.1, 0.3, 0.8))


def paths(problem, seeds):
    start = problem.network.init(problem.X.shape[1], seeds, torch.float64, CPU)
    return solve_path(Solver(problem), start, GRID, STOPPING, STOPPING)


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


def test_a_sample_of_weight_zero_is_a_sample_left_out(diabetes, make_problem):
    X, y = diabetes
    weights = np.ones(len(X))
    weights[::5] = 0
    zero = paths(make_problem(X, y, weights=weights, gamma=1e-3), [0])[0]
    gone = paths(make_problem(X[weights > 0], y[weights > 0], gamma=1e-3), [0])[0]
    assert_same_path(zero, gone)


def test_a_sample_of_weight_two_is_the_sample_twice(diabetes, make_problem):
    X, y = diabetes
    weights = np.ones(len(X))
    weights[:40] = 2
    double = paths(make_problem(X, y, weights=weights, gamma=1e-3), [0])[0]
    twice = paths(make_problem(np.vstack([X, X[:40]]), np.append(y, y[:40]), gamma=1e-3), [0])[0]
    assert_same_path(double, twice)


@pytest.mark.parametrize("hidden", [(4,), (5, 3), (4, 3, 2)])
@pytest.mark.parametrize(
    ("loss", "target", "by_hand"),
    [
        (SquaredError(), np.random.default_rng(1).normal(size=(30, 2)), lambda f, y: (f - y).square().sum(-1)),
        (
            BinaryCrossEntropy(),
            np.arange(30)[:, None] % 2,
            lambda f, y: functional.binary_cross_entropy_with_logits(f, y.expand_as(f), reduction="none").squeeze(-1),
        ),
        (
            CrossEntropy(),
            np.eye(3)[np.arange(30) % 3],
            lambda f, y: functional.cross_entropy(f.mT, y.mT.expand_as(f.mT), reduction="none"),
        ),
    ],
    ids=["squared", "binary", "classes"],
)
def test_the_closed_form_gradient_equals_autograd(make_problem, hidden, loss, target, by_hand):
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(2, 30))
    problem = make_problem(rng.normal(size=(30, 4)), target, loss, hidden=hidden, weights=weights)
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    closed = gradient_of(problem, start)

    leaf = Weights(*(w.clone().requires_grad_() for w in start))
    losses = (problem.weights * by_hand(output_of(problem.network, leaf, problem.X), problem.target)).sum(-1)
    losses.sum().backward()
    np.testing.assert_allclose(closed.rows, leaf.rows.grad, atol=1e-12)
    np.testing.assert_allclose(closed.upper, leaf.upper.grad, atol=1e-12)

    descent = Descent(problem, 1e-3)
    start_descent(descent, start, 0.0)
    np.testing.assert_allclose(descent.evaluate()[0].loss, losses.detach(), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hidden", [(4,), (5, 3), (4, 3, 2)])
def test_an_update_with_gamma_is_one_with_the_gradient_of_its_terms_added(make_problem, hidden, form):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    common = {"weights": rng.uniform(size=(2, 30)), "hidden": hidden, "M": [1.0, 10.0]}
    given, by_hand = (
        Descent(make_problem(*data, **common, **terms), 1e-2, batch_size=30, draw=torch.Generator().manual_seed(0))
        for terms in ({"gamma": 0.1}, {})
    )
    problem = by_hand.problem
    start = Solver(problem).feasible(problem.network.init(4, [0, 1], torch.float64, CPU))
    advance = form(by_hand.state)

    def with_terms():
        leaf = Weights(*(w.clone().requires_grad_() for w in by_hand.state.now.weights))
        (0.1 * matrices_of(problem.network, leaf.upper).square().sum()).backward()
        by_hand.state.gradient.upper.add_(leaf.upper.grad)
        advance()

    given._update, by_hand._update = form(given.state), with_terms
    for descent in (given, by_hand):
        start_descent(descent, start, [0.01, 0.3])
        descent.run(5)
    for mine, other in zip(given.state.now.weights, by_hand.state.now.weights, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    assert (given.state.now.weights.rows - start.rows).abs().max() > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_the_objective_that_adapts_the_steps_is_the_stated_one(make_problem, form):
    rng = np.random.default_rng(0)
    groups, costs = np.array([0, 0, 1, 2]), np.array([2.0, 2.0, 0.0, 1.0])
    problem = make_problem(
        rng.normal(size=(30, 4)), rng.normal(size=(30, 2)), weights=rng.uniform(size=(2, 30)), hidden=(5, 3),
        groups=groups, costs=costs, gamma=0.1,
    )  # fmt: skip
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    lambda_ = torch.tensor([0.1, 0.7], dtype=torch.float64)
    skip = problem.skip(start.rows)
    norms = torch.stack([skip[:, groups == g].flatten(1).norm(dim=-1) for g in range(3)], -1)
    penalty = lambda_ * (norms @ torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64))
    penalty += 0.1 * matrices_of(problem.network, start.upper).square().sum(-1)
    losses = (output_of(problem.network, start, problem.X) - problem.target).square().sum(-1)
    objective = (problem.weights * losses).sum(-1) + penalty

    descent = Descent(problem, 1e-3)
    descent._update = form(descent.state)
    start_descent(descent, start, lambda_)
    np.testing.assert_allclose(descent.evaluate()[0].penalty, penalty, rtol=1e-12)
    np.testing.assert_allclose(descent.evaluate()[0].objective, objective, rtol=1e-12)
    descent.run(1)
    np.testing.assert_allclose(descent.state.last_objective, objective, rtol=1e-12)


def test_dropout_drops_the_stated_share_and_keeps_the_mean():
    network = Network(200, (200,))
    weights = Weights(torch.zeros(1, 3, network.width), torch.zeros(1, network.n_upper))
    layers = network.layers(weights)
    layers.biases[0].fill_(1)
    layers.matrices[0].copy_(torch.eye(200))  # the output is the hidden layer, and without dropout it is 1
    factor = Pass(network, 1, 50, weights.rows).forward(
        layers, torch.ones(50, 3), 0.25, torch.Generator().manual_seed(0)
    )
    np.testing.assert_allclose(factor.unique(), [0, 1 / 0.75], rtol=1e-6)
    assert float((factor == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    assert float(factor.mean()) == pytest.approx(1.0, abs=0.02)


def test_units_are_dropped_in_all_replicas_alike(make_problem):
    """So a replica has the same iterates alone and with others."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(29, 4)), rng.normal(size=29)
    ends = []
    for weights in (np.ones((1, 29)), np.ones((3, 29))):
        problem = make_problem(*data, weights=weights, dropout=0.3)
        descent = Descent(problem, 1e-3, 8, torch.Generator().manual_seed(0))
        start_descent(descent, problem.network.init(4, [0] * len(weights), torch.float64, CPU), 0.0)
        descent.run(3)
        ends.append(descent.state.now.weights.rows)
    for one in ends[1]:
        np.testing.assert_allclose(one, ends[0][0], atol=1e-12)


@given(batch=st.integers(3, 29))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_the_gradients_of_batches_average_to_that_of_the_whole(make_problem, batch):
    """The last, incomplete batch counts by its size."""
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(29, 4)), rng.normal(size=29), weights=rng.uniform(size=(2, 29)))
    start = problem.network.init(4, [0, 1], torch.float64, CPU)
    descent, seen = Descent(problem, 1e-3, batch, torch.Generator().manual_seed(0)), []
    descent._update = lambda: seen.append(Weights(*(g.clone() for g in descent.state.gradient)))
    start_descent(descent, start, 0.0)
    descent.run(1)
    sizes = [min(batch, 29 - i) for i in range(0, 29, batch)]
    assert len(seen) == len(sizes)
    for parts, whole in zip(zip(*seen, strict=True), gradient_of(problem, start), strict=True):
        mean = sum(g * size / 29 for g, size in zip(parts, sizes, strict=True))
        np.testing.assert_allclose(mean, whole, atol=1e-12)
