"""How many iterations are made where no number is given, and when a replica stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from riata.solver.stopping import Monitor, Stopping, affordable


def test_tables_of_over_a_million_entries_get_fewer_iterations_down_to_half():
    assert [affordable(n) for n in (1, 2**20, 2**21, 2**22, 2**30)] == [14, 14, 9, 7, 7]


def test_mini_batches_get_the_iterations_of_a_hundred_updates():
    assert [affordable(1, n_batches) for n_batches in (2, 10, 40, 1000)] == [14, 10, 3, 1]
    assert affordable(2**22, 10) == 5


def test_limits_in_mini_batches_are_numbers_of_updates_but_at_least_so_many_iterations():
    stopping = Stopping(1000, 100, 1e-4)
    assert stopping.in_batches(1) == stopping
    assert stopping.in_batches(20) == replace(stopping, n_iters=600, patience=15)
    assert stopping.in_batches(10_000) == replace(stopping, n_iters=50, patience=5)
    assert replace(stopping, n_iters=10, patience=None).in_batches(20) == Stopping(10, None, 1e-4)


def record(monitor: Monitor, objective: float, n_iters: int = 10, *, short_steps: bool = False) -> bool:
    value = np.array([objective])
    return bool(monitor.record(value, value, np.array([short_steps]), n_iters)[0])


def started(**rules) -> Monitor:
    monitor = Monitor(Stopping(**{"n_iters": 1000, "patience": None, "tol": 0.01} | rules), np.array([1000]))
    assert record(monitor, 1.0, 0)
    return monitor


def test_a_replica_converges_when_its_objective_falls_by_less_than_the_tolerance_in_20_iterations():
    monitor = started()
    for objective, live in ((0.995, True), (0.98, True), (0.979, True), (0.975, False)):
        assert record(monitor, objective)
        assert monitor.live[0] == live
    assert monitor.converged[0] and monitor.best[0] == 40


def test_a_replica_with_short_steps_is_restarted_once_before_it_converges():
    monitor = started()
    for _ in range(2):
        record(monitor, 1.0, short_steps=True)
    assert monitor.live[0] and monitor.restart[0]
    for _ in range(2):
        record(monitor, 1.0, short_steps=True)
    assert not monitor.live[0] and monitor.converged[0]


@pytest.mark.parametrize("n_iters", [10, 25])
def test_patience_counts_iterations_without_a_better_objective(n_iters):
    monitor = started(patience=30, tol=0.0)
    used = 0
    while monitor.live[0]:
        assert not record(monitor, 2.0 - used / 1e6, n_iters)  # it falls, but stays above the first
        used += n_iters
        if used >= 30:
            break
    assert not monitor.live[0] and monitor.best[0] == 0
