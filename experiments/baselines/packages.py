"""Methods from packages of their own; install ``riata[experiments]`` for them."""

from __future__ import annotations

import collections.abc
import contextlib
import importlib
import io
import warnings
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.baselines.networks import device
from experiments.baselines.task import Task, by
from experiments.protocol import widths

_MOST = 100  # features that paths are followed to
_BLOCK, _SHUFFLES = 20, 3  # the package's defaults: kernels on blocks of 20 rows, of three orders of the rows
_ENTRIES = 150_000  # most entries of all blocks together: memory is this times the number of features

_GATE_PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
_GATE_UPDATES = 10_000
_GATE_BATCH = 100
_CLOSED = -0.5  # a gate at this or below passes nothing


def hsic_lasso(task: Task) -> NDArray[np.int64]:
    """Order in which features enter the path of the block HSIC-Lasso (package pyHSICLasso).

    The package stops at k features. Its path to k is the beginning of its path to more, so that one run gives all k.
    """
    rows = np.random.default_rng(task.seed).permutation(len(task.X))
    most = min(len(rows), _ENTRIES // _BLOCK)
    rows = rows[: max(most // _BLOCK, 1) * _BLOCK]  # a last block that is not full would be left out anyway
    shuffles = int(np.clip(_ENTRIES // (_BLOCK * len(rows)), 1, _SHUFFLES))
    model = _hsic_lasso()()
    with quiet():
        model.input(task.X[rows].astype(np.float64), task.y[rows].astype(np.float64))
        run = model.regression if task.regression else model.classification
        run(min(max(task.k, _MOST), task.d - 1), B=min(_BLOCK, len(rows)), M=shuffles, n_jobs=1, max_neighbors=0)
    return _entered(model.path, model.A)


def _hsic_lasso():
    """Import the package; where columns are copies it asks ``numpy`` for a name that has moved to ``numpy.linalg``."""
    from pyHSICLasso import HSICLasso

    linalg = SimpleNamespace(**vars(np.linalg))
    linalg.linalg = np.linalg
    nlars = importlib.import_module("pyHSICLasso.nlars")
    nlars.np = SimpleNamespace(**{**vars(np), "linalg": linalg})
    return HSICLasso


def _entered(path: NDArray, chosen: list[int]) -> NDArray[np.int64]:
    """Order the chosen features by the step at which they entered the path for good; steps are columns."""
    outside = np.asarray(path)[chosen] == 0  # (k, steps)
    last_out = outside.shape[1] - 1 - outside[:, ::-1].argmax(axis=1)
    return np.asarray(chosen)[np.argsort(np.where(outside.any(axis=1), last_out, -1), kind="stable")]


def stg(task: Task) -> NDArray[np.int64]:
    """Rank by the penalty at which stochastic gates (package stg) open, from the largest down; at one penalty by the gates.

    Penalties fall until 100 gates have opened (k, if that is more); the rest is ranked by the gates at the last of them, so
    that one run gives all k. One hidden layer of d/3 units. The package's step of 1e-5 would take hours: it is 1e-3 here, and
    10,000 updates for each penalty.
    """
    order: list[int] = []
    ranked: list[int] = []
    for penalty in _GATE_PENALTIES:
        gates = _gates(task, penalty)
        ranked = by(gates).tolist()
        order += [feature for feature in ranked if gates[feature] > _CLOSED and feature not in order]
        if len(order) >= min(max(task.k, _MOST), task.d):
            break
    return np.array(order + [feature for feature in ranked if feature not in order])


def _gates(task: Task, penalty: float) -> NDArray[np.float32]:
    """Train a network behind gates."""
    n_outputs = 1 if task.regression else len(np.unique(task.y))
    torch.manual_seed(task.seed)
    with quiet():
        model = stochastic_gates()(
            device=device(),
            input_dim=task.d,
            output_dim=n_outputs,
            hidden_dims=[widths(task.d)[0]],
            sigma=0.5,
            lam=penalty,
            learning_rate=1e-3,
            batch_size=_GATE_BATCH,
            task_type="regression" if task.regression else "classification",
        )
        epochs = -(-_GATE_UPDATES * _GATE_BATCH // len(task.X))
        y = task.y[:, None] if task.regression else task.y
        model.fit(task.X, y, nr_epochs=epochs, verbose=False, shuffle=True)
    return model.get_gates("raw")


def stochastic_gates():
    """Import the package; it asks ``collections`` for names that have moved to ``collections.abc``."""
    from stg import STG, utils

    moved = {name: getattr(collections.abc, name) for name in ("Mapping", "Sequence", "Set")}
    utils.collections = SimpleNamespace(**vars(collections), **moved)
    return STG


@contextlib.contextmanager
def quiet():
    """Keep prints and warnings of a package to itself."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
