"""What a descent is asked on its way does not change the way, and its passes leave nothing behind in their buffers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from riata.network.stacked import Network, Pass, Weights
from riata.path.grid import Grid
from riata.path.solve import follow
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping
from tests.conftest import enter, gradient_of, output_of

CPU = torch.device("cpu")
N_FIT = 20


@pytest.fixture(params=[10, 20, 30], ids=lambda n: f"{n} validation rows")
def watched(request, make_problem):
    """A problem whose last rows are only looked at: fewer than those to train on, as many, and more."""
    rng, n_val = np.random.default_rng(0), request.param
    X = rng.normal(size=(N_FIT + n_val, 6))
    val_weights = np.repeat([[0.0, 1 / n_val]], [N_FIT, n_val], axis=1)
    return make_problem(
        X, X[:, 0] + rng.normal(size=len(X)), weights=np.ones(N_FIT), val_weights=val_weights, gamma=1e-3
    )


def started(problem, **kwargs) -> Descent:
    descent = Descent(problem, 1e-2, **kwargs)
    start = problem.network.init(problem.X.shape[1], range(problem.n_replicas), torch.float64, CPU)
    enter(descent, Solver(problem).feasible(start), 0.1)
    return descent


def test_looking_does_not_change_the_way(watched):
    looked_at, alone = started(watched), started(watched)
    for _ in range(10):
        looked_at.evaluate()
        for descent in (looked_at, alone):
            descent.run(1)
        for mine, theirs in zip(looked_at.state.now.weights, alone.state.now.weights, strict=True):
            assert torch.equal(mine, theirs)


def test_a_look_says_the_same_twice(watched):
    descent = started(watched)
    descent.run(5)
    looks = [descent.evaluate()[0] for _ in range(2)]
    for name in ("loss", "penalty", "val_loss"):
        np.testing.assert_array_equal(getattr(looks[0], name), getattr(looks[1], name))


def test_a_look_sees_the_losses_of_all_rows(watched):
    descent = started(watched)
    descent.run(5)
    look = descent.evaluate()[0]
    losses = (output_of(watched.network, descent.state.now.weights, watched.X) - watched.target).square().sum(-1)
    np.testing.assert_allclose(look.val_losses, losses, rtol=1e-12)
    np.testing.assert_allclose(look.val_loss, losses[:, N_FIT:].mean(-1), rtol=1e-12)
    np.testing.assert_allclose(look.loss, losses[:, :N_FIT].mean(-1), rtol=1e-12)


def pulled(descent: Descent) -> torch.Tensor:
    problem = descent.problem
    return problem.X[: problem.n_fit].mT @ descent.pull()


def test_the_pull_on_features_is_the_gradient_also_after_a_look(watched):
    descent = started(watched)
    descent.run(5)
    descent.evaluate()
    exact = gradient_of(watched, Weights(*(w.clone() for w in descent.state.now.weights))).rows
    np.testing.assert_allclose(pulled(descent), exact, atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 7, 20, 25])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_pull_on_features_is_the_gradient_of_the_whole_network_also_after_batches_and_dropout(
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
    np.testing.assert_allclose(pulled(descent), leaf.rows.grad, atol=1e-12)


def test_validation_rows_that_no_rule_listens_to_change_nothing(watched):
    """Without patience and with the lowest objective kept, the validation rows are only reported on."""
    blind = replace(watched, X=watched.X[:N_FIT], target=watched.target[:N_FIT], val_weights=None)
    stopping = Stopping(200, None, 1e-6)
    start = watched.network.init(6, [0], torch.float64, CPU)
    seeing, unseeing = (
        follow(Solver(problem), start, Grid(seq=(0.05, 0.2, 0.5)), stopping, stopping)[0]
        for problem in (watched, blind)
    )
    for a, b in zip(seeing, unseeing, strict=True):
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
    part.slope.copy_(output)  # of half the squared output
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
