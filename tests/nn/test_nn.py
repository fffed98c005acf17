"""The operator in a user's training loop: the same iterates as the solver's, and the stated λ for every optimizer."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso, MultiTaskLasso
from torch import nn

from riata import hier_prox
from riata.network.stacked import Weights
from riata.nn import HeavyBall, Hierarchy, LassoInput, hier_prox_, hierarchies
from riata.solver.descent import Descent
from riata.solver.solve import Solver
from tests.conftest import standardised, start_descent

CPU = torch.device("cpu")


class Model(nn.Module):
    """The network of the estimators, written by hand."""

    def __init__(self, d: int, K: int, o: int, activation: type[nn.Module] = nn.ReLU, **pair):
        super().__init__()
        self.input = LassoInput(d, K, o, **pair)
        self.rest = nn.Sequential(activation(), nn.Linear(K, o))
        self.double()

    def forward(self, x):
        skip, hidden = self.input(x)
        return skip + self.rest(hidden)

    def objective(self, X, y, lambda_: float = 0.0, gamma: float = 0.0):
        loss = (self(X) - y).square().sum(-1).mean() + gamma * self.rest[1].weight.square().sum()
        return loss + self.input.hierarchy.penalty(lambda_) if lambda_ else loss


def tensors(X, y) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(X), torch.from_numpy(y.reshape(len(X), -1))


def train(model, optimizer, X, y, lambda_, M, n_steps, *, gamma=0.0, schedule=None):
    for _ in range(n_steps):
        optimizer.zero_grad()
        model.objective(X, y, gamma=gamma).backward()
        optimizer.step()
        hier_prox_(model, lambda_, M, optimizer)
        if schedule is not None:
            schedule.step()


def load(model: Model, weights: Weights, network) -> None:
    """Give a model the weights of the solver's first replica."""
    layers, o = network.layers(weights), network.n_outputs
    with torch.no_grad():
        model.input.skip.weight.copy_(layers.rows[0, :, :o].T)
        model.input.first.weight.copy_(layers.rows[0, :, o:].T)
        model.input.first.bias.copy_(layers.biases[0][0, 0])
        model.rest[1].weight.copy_(layers.matrices[0][0].T)
        model.rest[1].bias.copy_(layers.biases[1][0, 0])


# The solver and the loop.


@pytest.mark.parametrize("M", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 2, 2, 2, 3, 4, 5, 6]], ids=["features", "groups"])
def test_a_loop_with_the_solvers_steps_has_the_solvers_iterates(make_problem, diabetes, M, groups):
    lambda_, gamma, lr = 0.3 * (1 + M), 1e-3, 1e-2
    Y = standardised(np.column_stack([diabetes[1], diabetes[0][:, 2] * diabetes[1]]))
    problem = make_problem(diabetes[0], Y, hidden=(7,), M=M, gamma=gamma, groups=groups)
    start = Solver(problem).feasible(problem.network.init(10, [0], torch.float64, CPU))
    model = Model(10, 7, 2, groups=groups)
    load(model, start, problem.network)
    optimizer = HeavyBall(model.parameters(), lr, hierarchies(model))
    # With one batch of all samples the solver's learning rate is constant, as in the loop.
    descent = Descent(problem, lr, batch_size=len(Y), draw=torch.Generator().manual_seed(0))
    start_descent(descent, start, lambda_)
    for _ in range(300):
        descent.run(1)
        train(model, optimizer, *tensors(diabetes[0], Y), lambda_, M, 1, gamma=gamma)
        twin = copy.deepcopy(model)
        load(twin, descent.state.now.weights, problem.network)
        for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-8)
    assert 0 < model.input.hierarchy.n_selected < 10


# λ is the λ of the objective.

OPTIMIZERS = {
    "SGD": lambda ps: torch.optim.SGD(ps, lr=0.05),
    "momentum": lambda ps: torch.optim.SGD(ps, lr=0.02, momentum=0.9),
    "Nesterov": lambda ps: torch.optim.SGD(ps, lr=0.02, momentum=0.9, nesterov=True),
    "dampened": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, dampening=0.8),
    "Adam": lambda ps: torch.optim.Adam(ps, lr=0.01),
    "AMSGrad": lambda ps: torch.optim.Adam(ps, lr=0.01, amsgrad=True),
    "AdamW": lambda ps: torch.optim.AdamW(ps, lr=0.01, weight_decay=0),
}


def train_to_convergence(model, make, X, y, lambda_, M, n_steps=1000, gamma=0.0):
    """Train with a learning rate that decays linearly."""
    optimizer = make(model.parameters())
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1e-3, total_iters=n_steps)
    train(model, optimizer, X, y, lambda_, M, n_steps, gamma=gamma, schedule=schedule)
    return optimizer


@pytest.mark.parametrize(
    ("make", "lambda_"),
    [*((make, 0.5) for make in OPTIMIZERS.values()), (OPTIMIZERS["Adam"], 0.05)],
    ids=[*OPTIMIZERS, "small-lambda"],
)
def test_without_hierarchy_a_loop_converges_to_the_lasso(diabetes, make, lambda_):
    model = Model(10, 3, 1)
    train_to_convergence(model, make, *tensors(*diabetes), lambda_, 0.0)
    lasso = Lasso(alpha=lambda_ / 2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(*diabetes)
    found = model.input.skip.weight[0].detach().numpy()
    np.testing.assert_allclose(found, lasso.coef_, atol=1e-4)
    assert (model.input.selected.numpy() == (lasso.coef_ != 0)).all()


@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_without_hierarchy_a_loop_with_two_outputs_converges_to_the_multitask_lasso(diabetes, name):
    X, y = diabetes
    Y = standardised(np.column_stack([y, X[:, 2] * y]))
    model = Model(10, 3, 2)
    train_to_convergence(model, OPTIMIZERS[name], *tensors(X, Y), 0.3, 0.0)
    lasso = MultiTaskLasso(alpha=0.15, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(model.input.skip.weight.detach().numpy(), lasso.coef_, atol=1e-4)


@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_with_hierarchy_a_loop_converges_to_a_stationary_point(diabetes, name):
    lambda_, M, gamma = 0.3, 10.0, 0.02
    X, y = tensors(*diabetes)
    model = Model(10, 5, 1, nn.Tanh)
    optimizer = train_to_convergence(model, OPTIMIZERS[name], X, y, lambda_, M, 2500, gamma)
    reached = model.objective(X, y, lambda_, gamma).item()
    train(model, optimizer, X, y, lambda_, M, 1000, gamma=gamma)
    model.zero_grad()
    model.objective(X, y, gamma=gamma).backward()
    assert reached - model.objective(X, y, lambda_, gamma).item() < 1e-4 * reached
    skip, first = model.input.skip.weight, model.input.first.weight
    out = ~model.input.selected
    assert 0 < int(out.sum()) < 10
    bound = skip.grad.abs().sum(0) + M * first.grad.abs().sum(0)
    assert (bound[out] <= lambda_ * (1 + 1e-6)).all()
    # The prox-gradient map, which is zero at stationary points and nowhere else.
    step = 1e-3
    moved = hier_prox(
        (skip - step * skip.grad).detach().T, (first - step * first.grad).detach().T, lambda_=step * lambda_, M=M
    )
    gaps = [(new - old.detach().T).abs().max().item() / step for new, old in zip(moved, (skip, first), strict=True)]
    assert max(gaps) < 1e-3
    for parameter in model.rest.parameters():
        assert parameter.grad.abs().max() < 1e-3


# Units of all kinds.


@pytest.mark.parametrize("name", ["momentum", "Adam"])
@pytest.mark.parametrize("layout", ["linear", "convolution", "flattened", "outputs"])
def test_units_lie_along_the_axis_dim(name, layout):
    skip, dim = nn.Linear(4, 3, bias=False), 1
    first = {
        "linear": nn.Linear(4, 5),
        "convolution": nn.Conv2d(4, 5, 3),
        "flattened": nn.Linear(4 * 6, 5),
        "outputs": nn.Linear(5, 4),
    }[layout]
    if layout == "outputs":
        dim = (1, 0)
    hierarchy = Hierarchy(skip, first, dim)
    optimizer = OPTIMIZERS[name]([*skip.parameters(), *first.parameters()])
    scale = torch.tensor([3.0, 0.01, 1.0, 0.02])
    with torch.no_grad():
        skip.weight.mul_(scale)
        first.weight.mul_(1e-3)
    skip.weight.grad, first.weight.grad = torch.full_like(skip.weight, 0.1), torch.zeros_like(first.weight)
    optimizer.step()
    hier_prox_(hierarchy, 0.3, 2.0, optimizer)
    assert hierarchy.selected.tolist() == [True, False, True, False]
    bound = 2.0 * hierarchy.skip_by_unit().norm(dim=-1, keepdim=True)
    assert (hierarchy.first_by_unit().abs() <= bound * (1 + 1e-6)).all()
    if layout == "flattened":
        assert not first.weight[:, 6:12].any() and first.weight[:, :6].any()


@pytest.mark.parametrize("make", [OPTIMIZERS["Adam"], OPTIMIZERS["momentum"]], ids=["Adam", "momentum"])
def test_the_units_of_a_group_enter_and_leave_together(diabetes, make):
    ids = [0, 0, 1, 1, 1, 2, 3, 3, 4, 4]
    model = Model(10, 4, 1, groups=ids)
    optimizer = make(model.parameters())
    X, y = tensors(*diabetes)
    for lambda_ in (0.1, 1.5):
        train(model, optimizer, X, y, lambda_, 10.0, 150)
        selected = model.input.selected
        for group in range(5):
            members = selected[[i for i, other in enumerate(ids) if other == group]]
            assert members.all() or not members.any()
    assert 0 < int(selected.sum()) < 10


def test_a_unit_of_penalty_weight_zero_never_leaves(diabetes):
    model = Model(10, 4, 1, costs=[0.0] + [1.0] * 9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    train(model, optimizer, *tensors(*diabetes), 100.0, 10.0, 100)
    assert model.input.selected.tolist() == [True] + [False] * 9


def test_parameter_groups_with_different_learning_rates_converge_to_the_same_lasso(diabetes):
    model = Model(10, 3, 1)
    parts = [{"params": model.input.skip.parameters(), "lr": 0.03}, {"params": model.input.first.parameters()}]
    optimizer = torch.optim.SGD([*parts, {"params": model.rest.parameters()}], lr=0.01, momentum=0.9)
    train(model, optimizer, *tensors(*diabetes), 0.5, 0.0, 1000)
    lasso = Lasso(alpha=0.25, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(*diabetes)
    np.testing.assert_allclose(model.input.skip.weight[0].detach().numpy(), lasso.coef_, atol=1e-4)


def test_a_copy_of_a_model_has_a_hierarchy_over_its_own_weights():
    model = Model(4, 3, 1)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.input.skip.weight[:, 1] = 0
    assert model.input.selected.all()
    assert other.input.selected.tolist() == [True, False, True, True]
    assert len(hierarchies([model, model.input, other])) == 2


# Invalid input.


def stepped(make, **pair) -> tuple[Model, torch.optim.Optimizer]:
    model = Model(4, 3, 1, **pair)
    optimizer = make(model.parameters())
    model(torch.randn(5, 4, dtype=torch.float64)).sum().backward()
    optimizer.step()
    return model, optimizer


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda ps: torch.optim.SGD(ps, lr=0.1, weight_decay=1e-4), ValueError, "parameter group with weight_decay=0"),
        (lambda ps: torch.optim.AdamW(ps, lr=0.1), ValueError, "weight_decay=0.01 on the input pair"),
        (lambda ps: torch.optim.SGD(ps, lr=0.1, maximize=True), ValueError, "minimise the negative of the objective"),
        (lambda ps: torch.optim.RMSprop(ps, lr=0.1), TypeError, "use SGD, Adam, AdamW or riata.nn.HeavyBall"),
    ],
)
def test_an_optimizer_with_other_fixed_points_is_refused(make, error, message):
    model, optimizer = stepped(make)
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(error, match=message):
        hier_prox_(model, 0.1, 1.0, optimizer)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])


def test_weight_decay_on_other_weights_is_allowed():
    model = Model(4, 3, 1)
    groups = [{"params": model.input.parameters()}, {"params": model.rest.parameters(), "weight_decay": 0.1}]
    hier_prox_(model, 0.1, 1.0, torch.optim.SGD(groups, lr=0.1))


def test_the_order_of_calls_is_checked():
    model = Model(4, 3, 1)
    with pytest.raises(ValueError, match="after loss"):
        hier_prox_(model, 0.1, 1.0, torch.optim.Adam(model.parameters()))
    with pytest.raises(ValueError, match="pass all parameters"):
        hier_prox_(model, 0.1, 1.0, torch.optim.SGD(model.rest.parameters(), lr=0.1))
    with pytest.raises(ValueError, match="there is no hierarchy here"):
        hier_prox_(model.rest, 0.1, 1.0, torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(TypeError, match="modules or hierarchies"):
        hier_prox_(3, 0.1, 1.0, torch.optim.SGD(model.parameters(), lr=0.1))


@pytest.mark.parametrize(
    "bad", [{"lambda_": -1.0}, {"M": -1.0}, {"lambda_": float("nan")}, {"M": float("inf")}, {"lambda_": float("inf")}]
)
def test_lambda_and_M_must_be_finite_and_not_negative(bad):
    model, optimizer = stepped(OPTIMIZERS["SGD"])
    with pytest.raises(ValueError, match="finite"):
        hier_prox_(model, **{"lambda_": 0.1, "M": 1.0, **bad}, optimizer=optimizer)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"first": nn.Linear(5, 2)}, ValueError, "no multiple of the 4 units"),
        ({"dim": 2}, ValueError, "has no axis dim=2"),
        ({"groups": [0, 1]}, ValueError, "one id for each of the 4 units"),
        ({"costs": [1, 1, 1, -1]}, ValueError, "none of them negative"),
        ({"costs": [1, 2, 1, 1], "groups": [0, 0, 1, 1]}, ValueError, "the same for all units of a group"),
        ({"first": nn.ReLU()}, TypeError, "a module with a weight"),
        ({"first": []}, ValueError, "at least one weight"),
        ({"skip": torch.ones(3, 4)}, TypeError, "torch.nn.Parameter"),
    ],
)
def test_weights_that_form_no_pair_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Hierarchy(**{"skip": nn.Linear(4, 3), "first": nn.Linear(4, 2), **arguments})


def test_a_weight_belongs_to_one_hierarchy():
    layer = nn.Linear(4, 4, bias=False)
    pairs = [Hierarchy(nn.Linear(4, 2), layer), Hierarchy(nn.Linear(4, 2), layer, (1, 0))]
    with pytest.raises(ValueError, match="two hierarchies share a weight"):
        hierarchies(pairs)


# Special cases of optimizers.


@pytest.mark.parametrize("name", ["momentum", "Adam"])
def test_a_learning_rate_of_zero_changes_no_weight_that_is_feasible(name):
    # As at the start of a warm-up.
    model, optimizer = stepped(OPTIMIZERS[name])
    hier_prox_(model, 0.0, 1.0, optimizer)
    before = copy.deepcopy(model.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    hier_prox_(model, 0.1, 1.0, optimizer)
    for key, weight in model.state_dict().items():
        torch.testing.assert_close(weight, before[key])


def test_a_copy_of_heavy_ball_continues_in_the_same_way():
    model = Model(4, 3, 1)
    optimizer = HeavyBall(model.parameters(), 1e-2, hierarchies(model))
    X, y = torch.randn(20, 4, dtype=torch.float64), torch.randn(20, 1, dtype=torch.float64)
    train(model, optimizer, X, y, 0.1, 10.0, 2)
    twin, other = copy.deepcopy((model, optimizer))
    for module, its_optimizer in ((model, optimizer), (twin, other)):
        train(module, its_optimizer, X, y, 0.1, 10.0, 3)
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    with pytest.raises(ValueError, match="not among params"):
        HeavyBall(model.rest.parameters(), 1e-2, hierarchies(model))
