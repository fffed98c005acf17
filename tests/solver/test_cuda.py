"""The kernels for CUDA, and fits on the device. Skipped where there is none."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from riata import LassoNetAutoencoder, LassoNetImputer, LassoNetRegressor
from riata.network.stacked import Weights
from riata.prox import Groups, hier_prox
from riata.solver.descent import Descent
from riata.solver.kernels import plain
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from tests.conftest import start_descent, with_training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def on_cuda(problem: Problem) -> Problem:
    """Move everything of a problem to the device."""
    moved = {
        f.name: getattr(problem, f.name).cuda()
        for f in fields(problem)
        if isinstance(getattr(problem, f.name), torch.Tensor)
    }
    index = problem.groups.index
    groups = Groups(None if index is None else index.cuda(), len(problem.costs))
    return replace(problem, **moved, groups=groups)


def descent_on(problem: Problem, start: Weights, lambda_: list[float], **kwargs) -> Descent:
    draw = torch.Generator(problem.X.device).manual_seed(0)
    descent = Descent(problem, 1e-2, draw=draw, **kwargs)
    start_descent(descent, Solver(problem).feasible(start), lambda_)
    return descent


@pytest.mark.parametrize("groups", [None, np.array([0, 1, 0, 2, 2, 3, 1])], ids=["features", "groups"])
@pytest.mark.parametrize("o", [1, 3])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-5)], ids=["double", "single"]
)
def test_recorded_updates_equal_plain_ones(make_problem, groups, o, dtype, tolerance):
    rng = np.random.default_rng(0)
    problem = on_cuda(
        make_problem(
            rng.normal(size=(40, 7)),
            rng.normal(size=(40, o)),
            weights=rng.uniform(size=(3, 40)),
            M=[0.0, 1.0, 10.0],
            hidden=(33,),
            groups=groups,
            gamma=0.1,
            dtype=dtype,
        )
    )
    start = problem.network.init(7, [0, 1, 2], dtype, problem.X.device)
    one, other = (descent_on(problem, start, [0.0, 0.5, 50.0]) for _ in range(2))
    other._update = partial(plain.update, other.state)
    one.run(12)
    for _ in range(12):
        other._iterate()
    for name in ("rows", "upper"):
        mine, theirs = (getattr(d.state.now.weights, name) for d in (one, other))
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance * float(theirs.abs().max()))
    assert torch.equal(one.state.now.norms == 0, other.state.now.norms == 0)
    torch.testing.assert_close(one.state.scale, other.state.scale)


@pytest.mark.parametrize("M", [0.0, 0.5, 10.0])
@pytest.mark.parametrize("K", [1, 5, 133, 256])
@pytest.mark.parametrize("o", [1, 10])
def test_the_kernel_agrees_with_the_operator(make_problem, M, K, o):
    """On random weights, and on weights of zeros, of ties, without a skip part and without a first layer."""
    rng = np.random.default_rng(K)
    d = 300
    problem = on_cuda(
        make_problem(rng.normal(size=(5, d)), rng.normal(size=(5, o)), M=M, hidden=(K,), dtype=torch.float32)
    )
    rows = torch.from_numpy(rng.normal(size=(1, d, o + K)) * rng.lognormal(sigma=2, size=(1, d, 1))).float()
    rows[:, 0] = 0
    rows[:, 1, :o] = 0
    rows[:, 2, o:] = 0
    rows[:, 3] = 1
    start = Weights(torch.zeros(1, d, o + K).cuda(), torch.zeros(1, problem.network.n_upper).cuda())
    descent = descent_on(problem, start, [3.0])
    state = descent.state
    state.gradient.rows.copy_(-rows.cuda())
    descent._update()
    moments = rows.double().square().mean(-1)  # (1, d)
    alpha = (1e-3 / (moments.sqrt() + 1e-5)).clamp_max(1e3)  # (1 - momentum) times the learning rate
    moved = alpha.unsqueeze(-1) * rows.double()
    grown = float(state.scale)
    skip, first = hier_prox(moved[..., :o] * grown, moved[..., o:] * grown, lambda_=3.0 * alpha * grown, M=M)
    expected = torch.cat([skip, first], -1)
    got = state.now.weights.rows.cpu().double()
    size = moved.abs().amax(-1, keepdim=True)
    assert ((got - expected).abs() <= 2e-6 * size).all()


def test_a_path_on_the_device_equals_that_on_the_host():
    X, y = load_diabetes(return_X_y=True)
    on_host, on_device = (
        LassoNetRegressor(
            (5,), **with_training(lambda_seq=(0.1, 0.5, 1.0), dtype="float64", device=device, random_state=0)
        ).fit(X, y)
        for device in ("cpu", "cuda")
    )
    for a, b in zip(on_host.path_, on_device.path_, strict=True):
        np.testing.assert_array_equal(a.selected, b.selected)
        assert a.objective == pytest.approx(b.objective, rel=1e-6)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_batches_and_dropout_repeat_from_the_seed(dropout):
    X, y = load_diabetes(return_X_y=True)
    one, other = (
        LassoNetRegressor(
            (8,),
            **with_training(
                batch_size=64, dropout=dropout, path_multiplier=1.5, n_iters=(30, 5), device="cuda", random_state=0
            ),
        ).fit(X, y)
        for _ in range(2)
    )
    np.testing.assert_allclose(one.path_.lambdas, other.path_.lambdas)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-4)


def test_a_table_is_completed_on_the_device_as_well_as_on_the_host():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((150, 8))
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    errors = [
        np.square(
            LassoNetImputer((16, 16), **with_training(n_iters=(150, 5), device=device, random_state=0)).fit_transform(
                gaps
            )
            - X
        ).mean()
        for device in ("cpu", "cuda")  # other entries are hidden: each device draws its own numbers
    ]
    assert max(errors) < 1.3 * min(errors) < 0.1


def test_columns_without_a_target_are_the_same_on_the_device():
    X = load_diabetes().data
    on_host, on_device = (
        LassoNetAutoencoder(
            (5,),
            **with_training(
                lambda_seq=(0.02, 0.05, 0.1), n_iters=(100, 20), dtype="float64", device=device, random_state=0
            ),
        ).fit(X)
        for device in ("cpu", "cuda")
    )
    for a, b in zip(on_host.path_, on_device.path_, strict=True):
        np.testing.assert_array_equal(a.selected, b.selected)
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
