"""A constant beside the outputs of a network is trained as a bias would be, and changes nothing else."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from riata.losses.interval import EXACT, RIGHT, IntervalLikelihood
from riata.network.constant import WithConstants, constants, with_constants
from riata.network.stacked import Network, Weights
from riata.network.user import build
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import FORMS, gradient_of, output_of, start_descent

CPU = torch.device("cpu")


def smooth(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 3), nn.Tanh(), nn.Linear(3, n_outputs))


@pytest.fixture
def problem(rng, make_problem):
    """Three replicas of right-censored samples with different weights, and one constant."""
    X = rng.normal(size=(40, 6))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=40)
    kind = np.where(rng.random(40) < 0.3, RIGHT, EXACT)
    given = make_problem(
        X,
        np.column_stack([y, y, kind]),
        IntervalLikelihood("logistic", (EXACT, RIGHT)),
        weights=rng.uniform(size=(3, 40)),
        M=[0.0, 1.0, 10.0],
        gamma=0.01,
    )
    return replace(given, network=with_constants(Network(1, (5, 4)), 1))


def started(problem, seeds=(1, 2, 3)):
    return problem.network.init(problem.X.shape[1], list(seeds), problem.X.dtype, CPU)


def nudged(weights):
    """Constants other than 0."""
    upper = weights.upper.clone()
    upper[:, -1] = torch.linspace(-0.05, 0.04, len(upper))
    return Weights(weights.rows, upper)


def test_no_constant_is_the_network_itself():
    network = Network(1, (3,))
    assert with_constants(network, 0) is network


def test_constants_start_at_0_without_a_penalty_and_the_rest_starts_as_without_them():
    inner = Network(2, (4, 3))
    network = WithConstants(inner, 2)
    weights, plain = (each.init(5, [7, 8], torch.float32, CPU) for each in (network, inner))
    assert (network.n_outputs, network.width, network.n_upper) == (2, inner.width, inner.n_upper + 2)
    torch.testing.assert_close(weights.rows, plain.rows)
    torch.testing.assert_close(weights.upper[:, :-2], plain.upper)
    assert not weights.upper[:, -2:].any()
    assert not network.is_matrix(weights.rows)[-2:].any()


def test_a_pass_puts_constants_beside_the_outputs_of_every_sample(problem):
    weights = nudged(started(problem))
    output = problem.network.passes(3, 40, problem.X, learns=False).forward(problem.network.layers(weights), problem.X)
    inner = output_of(problem.network.network, Weights(weights.rows, weights.upper[:, :-1]), problem.X)
    torch.testing.assert_close(output[..., :1], inner)
    for r in range(3):
        np.testing.assert_allclose(output[r, :, 1], constants(weights.upper[r].numpy(), 1)[0])
        assert output[r, 0, 1] != 0


@pytest.mark.parametrize("supplied", [False, True], ids=["built-in", "module"])
def test_gradients_are_those_of_autograd(problem, supplied):
    inner = problem.network.network
    if supplied:
        inner = build(smooth, 6, 1, 0, torch.float64, CPU)
        problem = replace(problem, network=with_constants(inner, 1))
    weights = nudged(started(problem))
    found = gradient_of(problem, weights)
    for r in range(3):
        constant = weights.upper[r, -1].clone().requires_grad_()
        rows, upper = weights.rows[r : r + 1].clone().requires_grad_(), weights.upper[r, :-1].clone().requires_grad_()
        if supplied:
            module = inner.module(weights.rows[r, :, 1:], upper.detach())
            with torch.no_grad():
                f = problem.X @ rows[0, :, :1] + module(problem.X)
            f = f[None]
        else:
            f = output_of(inner, Weights(rows, upper[None]), problem.X)
        log_scale = 10 * constant
        low = (problem.target[:, 0] - f[0, :, 0]) / log_scale.exp()
        exact = problem.target[:, 2] == EXACT
        log_density = nn.functional.logsigmoid(low) + nn.functional.logsigmoid(-low) - log_scale
        loss = -(problem.weights[r] * torch.where(exact, log_density, nn.functional.logsigmoid(-low))).sum()
        loss.backward()
        torch.testing.assert_close(found.upper[r, -1], constant.grad)
        if not supplied:
            torch.testing.assert_close(found.rows[r], rows.grad[0])
            torch.testing.assert_close(found.upper[r, :-1], upper.grad)


@pytest.mark.parametrize("batch_size", [None, 16])
def test_replicas_trained_together_equal_each_trained_alone(problem, batch_size):
    stopping, weights = Stopping(30, None, 0.0), started(problem)

    def minimised(part, start):
        draw = torch.Generator().manual_seed(0)
        solver = Solver(part, learning_rate=1e-2, batch_size=batch_size, draw=draw)
        return solver.minimise(start, torch.full_like(part.M, 0.05), stopping).weights.upper

    together = minimised(problem, weights)
    assert (together[:, -1] != 0).all()
    for r in range(3):
        one = slice(r, r + 1)
        alone = replace(problem, weights=problem.weights[one], M=problem.M[one])
        np.testing.assert_allclose(minimised(alone, Weights(*(w[one] for w in weights)))[0], together[r], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_form_of_the_update_lowers_the_loss_by_the_constant_alone(problem, form, dtype):
    """With all features out and the bias as it is, what is left to learn is the scale."""
    cast = {name: getattr(problem, name).to(dtype) for name in ("X", "target", "weights", "M", "costs")}
    problem = replace(problem, **cast, gamma=0.0)
    weights = started(problem)
    weights.rows.zero_()
    descent = Descent(problem, 1e-2)
    descent._update = form(descent.state)
    start_descent(descent, weights, 100.0, torch.zeros_like(descent.state.active))
    before, _ = descent.evaluate()
    descent.run(200)
    after, _ = descent.evaluate()
    assert (after.loss < before.loss).all()
    assert (descent.state.now.weights.upper[:, -1].abs() > 0.001).all()
    assert not descent.state.now.weights.rows.any()


def test_the_module_of_a_network_with_a_constant_is_that_of_the_network(problem):
    weights = nudged(started(problem))
    module = problem.network.module(weights.rows[0, :, 1:], weights.upper[0])
    g = problem.network.network.module(weights.rows[0, :, 1:], weights.upper[0, :-1])
    torch.testing.assert_close(module(problem.X), g(problem.X))


def test_a_network_with_a_constant_can_be_copied(problem):
    assert copy.deepcopy(problem.network) == problem.network
