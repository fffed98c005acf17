"""An evaluation does not change the iterates, and passes leave nothing behind in their buffers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from riata.network.stacked import Network, Pass, Weights
from riata.path.grid import Grid
from riata.path.solve import solve_path
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import gradient_of, output_of, start_descent

CPU = torch.device("cpu")
N_FIT = 20


@pytest.fixture(params=[10, 20, 30], ids=lambda n: f"{n} validation samples")
def validated(request, make_problem):
    """A problem whose last samples are for validation only: fewer than those to train on, as many, and more."""
    rng, n_val = np.random.default_rng(0), request.param
    X = rng.normal(size=(N_FIT + n_val, 6))
    val_weights = np.repeat([[0.0, 1 / n_val]], [N_FIT, n_val], axis=1)
    return make_problem(
        X, X[:, 0] + rng.normal(size=len(X)), weights=np.ones(N_FIT), val_weights=val_weights, gamma=1e-3
    )


def started(problem, **kwargs) -> Descent:
    descent = Descent(problem, 1e-2, **kwargs)
    start = problem.network.init(problem.X.shape[1], range(problem.n_replicas), torch.float64, CPU)
    start_descent(descent, Solver(problem).feasible(start), 0.1)
    return descent


def test_evaluations_do_not_change_the_iterates(validated):
    evaluated, alone = started(validated), started(validated)
    for _ in range(10):
        evaluated.evaluate()
        for descent in (evaluated, alone):
            descent.run(1)
        for mine, theirs in zip(evaluated.state.now.weights, alone.state.now.weights, strict=True):
            assert torch.equal(mine, theirs)


def test_two_evaluations_of_an_iterate_are_equal(validated):
    descent = started(validated)
    descent.run(5)
    evaluations = [descent.evaluate()[0] for _ in range(2)]
    for name in ("loss", "penalty", "val_loss"):
        np.testing.assert_array_equal(getattr(evaluations[0], name), getattr(evaluations[1], name))


def test_an_evaluation_has_the_losses_of_all_samples(validated):
    descent = started(validated)
    descent.run(5)
    evaluation = descent.evaluate()[0]
    losses = (output_of(validated.network, descent.state.now.weights, validated.X) - validated.target).square().sum(-1)
    np.testing.assert_allclose(evaluation.val_losses, losses, rtol=1e-12)
    np.testing.assert_allclose(evaluation.val_loss, losses[:, N_FIT:].mean(-1), rtol=1e-12)
    np.testing.assert_allclose(evaluation.loss, losses[:, :N_FIT].mean(-1), rtol=1e-12)


def feature_gradient(descent: Descent) -> torch.Tensor:
    problem = descent.problem
    return problem.X[: problem.n_fit].mT @ next(descent.product_gradients())[1]


def test_the_gradient_from_the_product_is_exact_also_after_an_evaluation(validated):
    descent = started(validated)
    descent.run(5)
    descent.evaluate()
    exact = gradient_of(validated, Weights(*(w.clone() for w in descent.state.now.weights))).rows
    np.testing.assert_allclose(feature_gradient(descent), exact, atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 7, 20, 25])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_gradient_from_the_product_is_that_of_the_whole_network_also_after_batches_and_dropout(
    make_problem, batch_size, dropout
):
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(20, 4)), rng.normal(size=20), hidden=(8, 5), dropout=dropout)
    descent = started(problem, batch_size=batch_size, draw=torch.Generator().manual_seed(0))
    descent.run(3)
    leaf = Weights(*(w.clone().requires_grad_() for w in descent.state.now.weights))
    loss = (output_of(problem.network, leaf, problem.X) - problem.target).square().sum(-1).mean()
    loss.backward()
    np.testing.assert_allclose(descent.evaluate()[0].loss, loss.item(), rtol=1e-12)
    np.testing.assert_allclose(feature_gradient(descent), leaf.rows.grad, atol=1e-12)


def test_validation_samples_that_no_rule_monitors_change_nothing(validated):
    """Without patience and with the lowest objective kept, the validation loss is only reported."""
    unvalidated = replace(validated, X=validated.X[:N_FIT], target=validated.target[:N_FIT], val_weights=None)
    stopping = Stopping(200, None, 1e-6)
    start = validated.network.init(6, [0], torch.float64, CPU)
    with_them, without = (
        solve_path(Solver(problem), start, Grid(seq=(0.05, 0.2, 0.5)), stopping, stopping)[0]
        for problem in (validated, unvalidated)
    )
    for a, b in zip(with_them, without, strict=True):
        assert a.n_iters == b.n_iters
        np.testing.assert_array_equal(a.selected, b.selected)
        assert a.objective == pytest.approx(b.objective, rel=1e-12)
        np.testing.assert_allclose(a.weights.skip, b.weights.skip, rtol=1e-10)


def test_with_dropout_the_gradient_is_that_of_the_units_that_were_kept():
    network, rate = Network(2, (6, 5)), 0.4
    weights = network.init(3, [0, 1], torch.float64, CPU)
    X = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    gradient = Weights(*(torch.empty_like(w) for w in weights))
    part = Pass(network, 2, 8, X)
    for _ in range(2):
        output = part.forward(network.layers(weights), X, rate, torch.Generator().manual_seed(0))
    part.output_gradient.copy_(output)  # of half the squared output
    part.backward(network.layers(weights), X, network.layers(gradient))

    leaf = Weights(*(w.clone().requires_grad_() for w in weights))
    layers, draw = network.layers(leaf), torch.Generator().manual_seed(0)
    h, skip = X @ leaf.rows[..., 2:], X @ leaf.rows[..., :2]
    for bias, matrix in zip(layers.biases, layers.matrices, strict=False):
        h = (h + bias).relu()
        kept = torch.rand(h.shape[1:], generator=draw, dtype=torch.float64) >= rate  # of both networks
        h = h * kept / (1 - rate) @ matrix
    by_hand = skip + h + layers.biases[-1]
    np.testing.assert_allclose(output, by_hand.detach(), atol=1e-12)
    (by_hand.square().sum() / 2).backward()
    for mine, exact in zip(gradient, leaf, strict=True):
        np.testing.assert_allclose(mine, exact.grad, atol=1e-12)


@pytest.mark.parametrize("size", [7, 10, N_FIT])
def test_mini_batches_from_a_seed_repeat_to_the_last_bit(validated, size):
    ends = []
    for _ in range(2):
        descent = started(validated, batch_size=size, draw=torch.Generator().manual_seed(0))
        descent.run(5)
        ends.append(descent.state.now.weights)
    for mine, theirs in zip(*ends, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("size", [7, 10])
def test_the_gradients_of_the_batches_of_an_iteration_have_the_mean_of_all_samples(validated, size):
    """With steps of no length all batches meet the same weights."""
    descent = started(validated, batch_size=size, draw=torch.Generator().manual_seed(0))
    whole, mean = gradient_of(validated, descent.state.now.weights), [0.0, 0.0]

    def add() -> None:
        share = min(size, N_FIT - size * n_seen[0]) / N_FIT
        n_seen[0] += 1
        for i, part in enumerate(descent.state.gradient):
            mean[i] = mean[i] + share * part

    n_seen = [0]
    descent._update = add
    descent.run(1)
    for mine, theirs in zip(mean, whole, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-14)
