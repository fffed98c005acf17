"""Samples that take the place of others between two iterations."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from riata.network.stacked import Weights
from riata.solver.feed import Refill, Serving
from riata.solver.solve import Solver
from riata.solver.stopping import Stopping


@dataclass(frozen=True, eq=False)
class ArrayFeed:
    """Serves the rows of arrays, one part after another."""

    X: np.ndarray
    target: np.ndarray
    columns: np.ndarray
    size: int = 20
    delay: float = 0.0
    broken: bool = False

    def only(self, columns):
        return replace(self, columns=self.columns[columns])

    def serving(self, k):
        time.sleep(self.delay)
        if self.broken and threading.current_thread() is not threading.main_thread():
            raise OSError("the disk is gone")
        rows = np.arange(k * self.size, (k + 1) * self.size) % len(self.X)
        return Serving(self.X[rows][:, self.columns], self.target[rows], np.ones(self.size))


def make_feed(X, y, **how):
    return ArrayFeed(X, y.reshape(len(y), -1), np.arange(X.shape[1]), **how)


def solved(problem, lambdas=(0.0, 1.0, 4.0, 0.05), n_iters=60, learning_rate=5e-2):
    """Solve at several λ, one after another; return the weights at each."""
    solver = Solver(problem, learning_rate=learning_rate, batch_size=16, draw=torch.Generator().manual_seed(3))
    network = problem.network
    weights = solver.feasible(network.init(problem.n_columns, [0], problem.X.dtype, problem.X.device))
    found = []
    for lambda_ in lambdas:
        solution = solver.minimise(
            weights, torch.tensor([lambda_], dtype=problem.X.dtype), Stopping(n_iters, None, 0.0)
        )
        weights = solution.weights
        found.append(Weights(*(part.clone() for part in weights)))
    return found


def same(one, other):
    return all(torch.equal(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


@pytest.fixture
def problem(make_problem, diabetes):
    return make_problem(*(part[:200] for part in diabetes))


def test_a_feed_of_the_very_samples_in_place_changes_nothing(problem):
    """Whatever is replaced, narrowed, put back or read ahead."""
    feed = make_feed(problem.X.numpy(), problem.target.numpy())
    plain, fed = solved(problem), solved(replace(problem, feed=feed))
    assert 0 < (plain[2].rows[0].norm(dim=-1) == 0).sum() < 10  # some features have left
    assert same(plain, fed)


def test_what_is_found_does_not_depend_on_how_long_reading_takes(problem, diabetes):
    fast, slow = (make_feed(*diabetes, delay=delay) for delay in (0.0, 0.003))
    assert same(solved(replace(problem, feed=fast)), solved(replace(problem, feed=slow)))


def test_a_problem_keeps_its_own_samples(problem, diabetes):
    before = problem.X.clone(), problem.target.clone(), problem.weights.clone()
    solved(replace(problem, feed=make_feed(*diabetes)))
    for part, kept in zip((problem.X, problem.target, problem.weights), before, strict=True):
        assert torch.equal(part, kept)


def test_the_oldest_samples_are_replaced_first_and_the_next_are_read_ahead(diabetes):
    X, y = diabetes
    feed = make_feed(X, y, size=30)
    held, target, weights = torch.zeros(110, 10), torch.zeros(110, 1), torch.full((2, 100), 0.01)
    refill = Refill()
    for _ in range(4):
        refill(feed, held, target, weights)
    np.testing.assert_allclose(held[:20], X[100:120], rtol=1e-6)  # round once, and on from the beginning
    np.testing.assert_allclose(held[20:100], X[20:100], rtol=1e-6)
    assert (held[100:] == 0).all()  # those to validate on
    np.testing.assert_allclose(target[20:100, 0], y[20:100], rtol=1e-6)
    np.testing.assert_allclose(weights, 0.01)


def test_what_was_read_ahead_serves_fewer_columns_and_is_read_again_for_more(diabetes):
    X, y = diabetes
    feed, refill = make_feed(X, y, size=10), Refill()
    target, weights = torch.zeros(100, 1), torch.full((1, 100), 0.01)
    place = 0
    for columns in ([0, 1, 2, 5, 9], [1, 5, 9], [1, 9], [0, 1, 4, 9], [1]):
        held = torch.zeros(100, len(columns), dtype=torch.float64)
        refill(feed.only(np.array(columns)), held, target, weights)
        np.testing.assert_array_equal(held[place : place + 10], X[place : place + 10, columns])
        place += 10


def test_an_error_of_the_thread_that_reads_reaches_the_caller(problem, diabetes):
    with pytest.raises(OSError, match="the disk is gone"):
        solved(replace(problem, feed=make_feed(*diabetes, broken=True)))


def test_features_that_are_out_are_judged_on_one_set_of_samples(problem, diabetes):
    """With X of some samples and gradients of others, any feature might seem to belong into the model."""
    X, y = problem.X.numpy(), problem.target.numpy()
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = replace(problem, feed=make_feed(X[order], y[order]))
    lambda_, found = torch.tensor([0.3], dtype=torch.float64), []
    for given in (problem, shuffled):
        solver = Solver(given, learning_rate=1e-2, batch_size=16, draw=torch.Generator().manual_seed(3))
        weights = solver.feasible(given.network.init(10, [0], torch.float64, "cpu"))
        active = torch.zeros(1, 10, dtype=torch.bool)
        active[:, 2] = True
        weights = Weights(weights.rows.clone() * active.unsqueeze(-1), weights.upper)
        lambdas = given.groups.scatter(given.lambdas(lambda_, weights.rows))
        descent = solver._restrict(active)
        if given is shuffled:
            solver._descend(descent, weights, active, lambdas, Stopping(3, None, 0.0), np.array([3]))
        solver._start(descent, weights, Weights(weights.rows[:, 2:3], weights.upper), active, lambdas)
        found.append(solver._violations(descent, active, lambdas))
    assert torch.equal(*found) and found[0].any() and not found[0].all()
