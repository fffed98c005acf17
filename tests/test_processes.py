"""A fit gives the same result, to the bit, in threads at once, in a forked or spawned child, and under joblib."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed

from riata import LassoNetClassifier, LassoNetRegressor, Training, threads

_BRIEF = {
    "hidden_dims": (6,),
    "training": Training(n_iters=(30, 5), path_multiplier=1.5),
    "select": "best",
    "random_state": 0,
}


def fitted(seed: int) -> bytes:
    """Return everything that a small fit found, in bytes: one in full batches, one in mini-batches with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 8))
    y = X[:, 0] - X[:, 1] + np.abs(X[:, 2])
    found = [LassoNetRegressor(**_BRIEF).fit(X, y)]
    X[rng.random(X.shape) < 0.05] = np.nan
    batches = _BRIEF | {"training": Training(n_iters=(10, 3), path_multiplier=1.5, batch_size=50, dropout=0.1)}
    found.append(LassoNetClassifier(**batches).fit(X, (y > 0).astype(int)))
    parts = [[model.predict(X), model.path_.lambdas, *(p.weights.first for p in model.path_)] for model in found]
    return pickle.dumps(parts)


@pytest.fixture(scope="module")
def expected() -> list[bytes]:
    return [fitted(seed) for seed in range(3)]


def test_fits_in_threads_at_once_are_those_of_one_thread(expected):
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fitted, range(3))) == expected


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_under_joblib_are_those_of_the_main_process(expected, backend):
    assert Parallel(n_jobs=2, backend=backend)(delayed(fitted)(seed) for seed in range(3)) == expected


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_fits_in_a_child_are_those_of_its_parent(expected, method, monkeypatch):
    """The parent has fitted before, on several threads of torch: a forked child has none of these."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {method}")
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "_PAYING", 0)  # in a forked child even small fits would have several threads
    with warnings.catch_warnings():  # newer Pythons warn of threads that a fork leaves behind
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        torch.set_num_threads(2)
        try:
            torch.randn(600, 600) @ torch.randn(600, 600)
            with multiprocessing.get_context(method).Pool(1) as pool:
                assert pool.apply_async(os.getpid).get(timeout=60) != os.getpid()
                assert pool.apply_async(fitted, (1,)).get(timeout=120) == expected[1]
        finally:
            torch.set_num_threads(before)
