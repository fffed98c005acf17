"""Problems solved side by side have the solutions that each has alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from riata.losses import CrossEntropy, SquaredError
from riata.network.stacked import Network
from riata.path.grid import Grid
from riata.path.solve import solve_path
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.solve import Solver
from riata.solver.stack import Stack, stackable
from riata.solver.stopping import Stopping

DENSE, SPARSE = Stopping(60, None, 0.0), Stopping(7, None, 0.0)


def posed(
    seed: int, n: int = 40, n_val: int = 10, ids: list[int] | None = None, M: float = 10.0, d: int = 6
) -> Problem:
    """A small problem whose first two features matter; some of its samples validate."""
    draw = np.random.default_rng(seed)
    ids = list(range(d)) if ids is None else ids
    X = draw.normal(size=(n + n_val, len(ids)))
    y = 2 * X[:, ids.index(0)] - X[:, ids.index(1)] + 0.3 * draw.normal(size=n + n_val)
    weights, val_weights = draw.uniform(0.5, 1.5, (1, n)), np.zeros((1, n + n_val))
    val_weights[0, n:] = 1 / max(n_val, 1)
    tensor = torch.from_numpy
    return Problem(
        network=Network(1, (4,)),
        loss=SquaredError(),
        X=tensor(X),
        target=tensor(y[:, None]),
        weights=tensor(weights / weights.sum()),
        val_weights=tensor(val_weights) if n_val else None,
        M=torch.full((1,), M, dtype=torch.float64),
        costs=tensor(draw.uniform(1, 2, int(max(ids)) + 1)[ids]),
        groups=Groups(None if len(set(ids)) == len(ids) else torch.tensor(ids), len(ids)),
        gamma=0.01,
        adaptive=0.5,
        embedded=np.array(ids),
    )


def start(problem: Problem, seed: int):
    return problem.network.init(problem.n_columns, [seed], torch.float64, torch.device("cpu"))


def solved(problem: Problem, weights, batch_size=None, draw=None, grid=None, draws=()):
    solver = Solver(problem, batch_size=batch_size, draw=draw, draws=draws, learning_rate=0.01)
    return solve_path(solver, weights, grid or Grid(1.3), DENSE, SPARSE)


def check_equal(together, alone, rtol=1e-6):
    assert [len(path) for path in together] == [len(path) for path in alone]
    for one, other in zip(together, alone, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.lambda_ == pytest.approx(b.lambda_, rel=1e-12)
            np.testing.assert_array_equal(a.selected, b.selected)
            np.testing.assert_array_equal(a.weights.columns, b.weights.columns)
            np.testing.assert_array_equal(a.weights.features, b.weights.features)
            np.testing.assert_allclose(a.weights.skip, b.weights.skip, rtol=rtol, atol=1e-9)
            np.testing.assert_allclose([a.loss, a.val_loss], [b.loss, b.val_loss], rtol=rtol)


CASES = {
    "the same shape": [posed(0), posed(1), posed(2)],
    "other numbers of samples": [posed(0, 40, 10), posed(1, 37, 12), posed(2, 41, 9)],
    "no validation": [posed(0, 40, 0), posed(1, 37, 0)],
    "other pieces": [posed(0, ids=[0, 0, 1, 2, 3]), posed(1, ids=[0, 1, 1, 2, 3, 3]), posed(2, ids=[0, 1, 2, 3])],
    "groups out of order": [posed(0, ids=[3, 0, 1, 2, 0]), posed(1, ids=[1, 0, 2, 3, 3])],
    "other M": [posed(0, M=0.0), posed(0, M=1.0), posed(0, M=10.0)],
}


@pytest.mark.parametrize("case", CASES)
def test_the_paths_of_many_problems_at_once_are_those_of_each_alone(case):
    problems = CASES[case]
    assert stackable(problems)
    starts = [start(problem, seed) for seed, problem in enumerate(problems)]
    stack = Stack(problems)
    together = solved(stack.problem, stack.weights(starts))
    check_equal(together, [solved(problem, weights)[0] for problem, weights in zip(problems, starts, strict=True)])


def test_with_mini_batches_of_their_own_order_too():
    problems = [posed(seed) for seed in range(3)]
    starts = [start(problem, seed) for seed, problem in enumerate(problems)]
    draws = [[torch.Generator().manual_seed(seed) for seed in range(3)] for _ in range(2)]
    stack, grid = Stack(problems), Grid(seq=(0.1, 0.2, 0.4, 0.8))
    together = solved(stack.problem, stack.weights(starts), 16, None, grid, draws[0])
    each = zip(problems, starts, draws[1], strict=True)
    check_equal(together, [solved(problem, weights, 16, draw, grid)[0] for problem, weights, draw in each])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1, max_size=4), st.randoms())
def test_every_column_has_a_place_of_its_own_in_its_group(sizes, random):
    from riata.solver.stack import _places

    ids = [[g for g, size in enumerate(own) for _ in range(size)] for own in sizes]
    for own in ids:
        random.shuffle(own)
    n = max(map(len, sizes))
    widths = np.max([np.bincount(own, minlength=n) for own in ids], axis=0)
    groups = np.repeat(np.arange(n), widths)
    for own in ids:
        places = _places(np.array(own), widths)
        assert len(set(places)) == len(own) and groups[places].tolist() == own


def test_problems_that_differ_in_more_than_data_are_not_stacked():
    from dataclasses import replace

    one = posed(0)
    assert not stackable([one, replace(one, network=Network(1, (5,)))])
    assert not stackable([one, replace(one, loss=CrossEntropy())])
    assert not stackable([one, posed(0, n_val=0)])
    assert not stackable([replace(one, dropout=0.2)])
