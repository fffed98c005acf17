"""Replicas as jobs: the same results one after another, on other processes, under Dask and under Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from riata import LassoNetRegressor, LassoNetRegressorCV, ReplicaError, StabilitySelector
from riata.jobs import Job, run
from tests.conftest import with_training

pytestmark = pytest.mark.xdist_group("clusters")  # one after the other: two clusters at once starve each other
N_REPLICAS = 4


@pytest.fixture(scope="module")
def table():
    X, y = load_diabetes(return_X_y=True)
    return np.hstack([X, np.random.default_rng(0).normal(size=X.shape)])[:200], y[:200]


def replicas(X, y):
    """One job for each of several networks: what a path finds."""
    estimators = [
        LassoNetRegressor((8,), **with_training(path_multiplier=1.2, random_state=seed)) for seed in range(N_REPLICAS)
    ]
    return [Job(f"replica {i}", (estimator, X, y)) for i, estimator in enumerate(estimators)]


def solve(estimator, X, y):
    path = estimator.fit(X, y).path_
    return path.lambdas, path.selected, np.array([point.loss for point in path])


def assert_same(one, other):
    for mine, yours in zip(one, other, strict=True):
        for a, b in zip(mine, yours, strict=True):
            np.testing.assert_array_equal(a, b)


@contextmanager
def loky():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield


@contextmanager
def dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        yield


@contextmanager
def ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray", n_jobs=2):
            yield
    finally:
        ray.shutdown()


@pytest.mark.filterwarnings("default")  # of the backends
@pytest.mark.parametrize("backend", [loky, dask, ray])
def test_one_run_of_many_replicas_equals_separate_runs_whatever_the_backend(table, backend):
    X, y = table
    with backend():
        together = run(solve, replicas(X, y))
    assert_same([run(solve, [job])[0] for job in replicas(X, y)], together)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("backend", [loky, dask])
def test_scores_and_frequencies_do_not_depend_on_the_backend(table, backend):
    X, y = table

    def fits():
        chosen = LassoNetRegressorCV((8,), **with_training(cv=2, path_multiplier=1.3, random_state=0)).fit(X, y)
        return chosen, StabilitySelector(_small(), n_features=4, n_resamples=4, random_state=0).fit(X, y)

    chosen, stable = fits()
    with backend():
        cv, selector = fits()
    assert cv.cv_results_.equals(chosen.cv_results_)
    np.testing.assert_array_equal(cv.predict(X), chosen.predict(X))
    np.testing.assert_array_equal(selector.path_frequencies_, stable.path_frequencies_)


def _small():
    return LassoNetRegressor((4,), **with_training(path_multiplier=1.3, val_size=0.3))


def _slowly(seed, folder):
    """Leave a file that names the process at work, then take a while."""
    (folder / f"{seed}-{os.getpid()}").touch()
    time.sleep(0.5)
    return seed, np.random.default_rng(seed).normal()


@pytest.mark.filterwarnings("default")
def test_a_killed_dask_worker_does_not_lose_the_run(tmp_path):
    pytest.importorskip("distributed")
    killed = []

    def kill():
        while not (traces := list(tmp_path.iterdir())):
            time.sleep(0.05)
        killed.append(int(traces[0].name.split("-")[1]))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    jobs = [Job(f"replica {seed}", (seed, tmp_path)) for seed in range(8)]
    with dask():
        killer.start()
        found = run(_slowly, jobs)
        killer.join()
    assert found == [(seed, np.random.default_rng(seed).normal()) for seed in range(8)]
    workers = {int(trace.name.split("-")[1]) for trace in tmp_path.iterdir()}
    assert killed[0] in workers
    assert os.getpid() not in workers
    assert len(list(tmp_path.iterdir())) > len(jobs)  # what the killed one had begun was begun once more


def _fail_at_two(number):
    if number == 2:
        raise KeyError("nothing here")
    return number


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_its_replica(n_jobs):
    jobs = [Job(f"replica {i} of 4", (i,)) for i in range(4)]
    with pytest.raises(ReplicaError, match=r"replica 2 of 4: KeyError: 'nothing here'") as caught:
        run(_fail_at_two, jobs, n_jobs=n_jobs)
    assert isinstance(caught.value, ValueError)


def test_a_half_without_a_class_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.zeros(40)
    with pytest.raises(ReplicaError, match=r"half 1 of 4: ValueError"):
        StabilitySelector(_Refusing(), n_features=1, threshold=0.9, n_resamples=4, random_state=0).fit(X, y)


class _Refusing(LassoNetRegressor):
    def fit(self, X, y):
        raise ValueError("not these rows")


def test_jobs_run_on_one_thread_and_restore_the_number_of_threads():
    before = torch.get_num_threads()
    assert run(_threads, [Job("one", ())]) == [1]
    assert torch.get_num_threads() == before


def _threads():
    return torch.get_num_threads()


def _interrupted():
    raise KeyboardInterrupt


def test_an_interrupt_ends_the_run():
    with pytest.raises(KeyboardInterrupt):
        run(_interrupted, [Job("one", ()), Job("two", ())])


def test_an_interrupted_path_ends_the_run_as_well(table, monkeypatch):
    """An interrupt during the path of a fold is raised; it is never taken for the end of that path."""
    from riata.solver.solve import Solver

    minimise, calls = Solver.minimise, []

    def interrupt(self, *args, **options):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return minimise(self, *args, **options)

    monkeypatch.setattr(Solver, "minimise", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LassoNetRegressorCV((8,), **with_training(cv=2, path_multiplier=1.3, random_state=0)).fit(*table)


def test_progress_is_shown_on_request(capsys):
    run(_threads, [Job("one", ()), Job("two", ())], title="halves", shown=True)
    assert "halves" in capsys.readouterr().err
