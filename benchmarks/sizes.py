"""Time of whole fits by the number of rows and of columns: riata beside the packages that are used for the same job.

The target is a sum of functions of four columns and noise; a method is right if it ranks these first. Each fit is a process
of its own that is stopped after a time limit. Packages are at their defaults but for what follows:

* lassonet and stochastic gates get 100 hidden units and standardised columns; gates the step and updates of the experiments.
* skglm solves 100 values of α from the largest that matters to a thousandth of it, and a tenth of the rows choose one.
* LightGBM ranks by gain; the random forest has 500 trees.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import table
from benchmarks.clock import now
from benchmarks.memory import kilobytes, reset_peak
from benchmarks.paths import Cell
from experiments.baselines.packages import quiet
from experiments.baselines.task import by

ROWS = tuple((n, 100) for n in (1_000, 10_000, 100_000, 1_000_000))
COLUMNS = tuple((1_000, d) for d in (100, 1_000, 10_000, 100_000))
_HIDDEN = (100,)
_N_TRUE = 4
_ALPHAS, _SMALLEST = 100, 1e-3
_GATE_UPDATES, _GATE_BATCH = 10_000, 100
_SEED = 0

AXES = {"rows": ROWS, "columns": COLUMNS}
Fit = Callable[[NDArray[np.float32], NDArray[np.float32], str], NDArray[Any]]  # to features, the most important first


def draw(n: int, d: int) -> tuple[NDArray[np.float32], NDArray[np.float32], list[int]]:
    """Draw columns, a target, and the positions of the four columns that the target depends on."""
    rng = np.random.default_rng(_SEED)
    X = rng.standard_normal((n, d), dtype=np.float32)
    true = np.sort(rng.choice(d, _N_TRUE, replace=False))
    a, b, c, e = X[:, true].T
    y = 2 * a + 2 * np.abs(b) + 2 * np.sin(2 * c) + e * (1 + a) + rng.standard_normal(n, dtype=np.float32)
    return X, y.astype(np.float32), true.tolist()


def _riata(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from riata import LassoNetRegressor, Training

    model = LassoNetRegressor(_HIDDEN, training=Training(device=device), random_state=_SEED).fit(X, y)
    return by(model.feature_importances_)


def _lassonet(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from lassonet import LassoNetRegressor

    model = LassoNetRegressor(hidden_dims=_HIDDEN, random_state=_SEED, torch_seed=_SEED, device=device, verbose=0)
    model.path(X, y, disable_lambda_warning=True)
    return by(np.asarray(model.feature_importances_, dtype=np.float64))


def _gates(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from experiments.baselines.packages import stochastic_gates

    torch.manual_seed(_SEED)
    settings = {"hidden_dims": [*_HIDDEN], "sigma": 0.5, "lam": 0.1, "learning_rate": 1e-3, "batch_size": _GATE_BATCH}
    model = stochastic_gates()(device=device, input_dim=X.shape[1], output_dim=1, task_type="regression", **settings)
    model.fit(X, y[:, None], nr_epochs=-(-_GATE_UPDATES * _GATE_BATCH // len(X)), verbose=False, shuffle=True)
    return by(model.get_gates("raw"))


def _skglm(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from skglm import Lasso

    fit, held_out = slice(len(X) // 10, None), slice(None, len(X) // 10)
    X, y = np.asfortranarray(X), y - y[fit].mean()
    alphas = np.geomspace(1, _SMALLEST, _ALPHAS) * np.abs(X[fit].T @ y[fit]).max() / len(y[fit])
    coefs = Lasso(fit_intercept=False).path(np.asfortranarray(X[fit]), y[fit], alphas)[1]  # (d, alphas)
    best = int(np.square(X[held_out] @ coefs - y[held_out, None]).mean(axis=0).argmin())
    entered = (coefs != 0).argmax(axis=1)  # the position of the first α with the feature
    return by(np.where(coefs[:, best] != 0, 1.0 + _ALPHAS - entered, 0.0))


def _lightgbm(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from lightgbm import LGBMRegressor

    return by(LGBMRegressor(importance_type="gain", random_state=_SEED, verbosity=-1).fit(X, y).feature_importances_)


def _forest(X: NDArray[np.float32], y: NDArray[np.float32], device: str) -> NDArray[Any]:
    from sklearn.ensemble import RandomForestRegressor

    return by(RandomForestRegressor(500, random_state=_SEED, n_jobs=os.cpu_count()).fit(X, y).feature_importances_)


METHODS: dict[str, Fit] = {
    "riata": _riata,
    "lassonet": _lassonet,
    "stg": _gates,
    "skglm": _skglm,
    "lightgbm": _lightgbm,
    "forest": _forest,
}


def shapes(names: Sequence[str]) -> list[tuple[int, int]]:
    """Read "rows", "columns" and sizes such as 1000x50."""
    return [shape for name in names for shape in AXES.get(name) or [tuple(map(int, name.split("x")))]]


def measure(tables: Sequence[tuple[int, int]], device: str, methods: Sequence[str], limit: float) -> Iterator[Cell]:
    """Time each method on each size; a method that was stopped is not tried on a larger table."""
    known = ["forest", *(name for name in METHODS if find_spec(name) is not None)]
    for name in [name for name in METHODS if name in methods and name in known]:
        stopped: list[tuple[int, int]] = []
        for n, d in tables:
            if any(n >= rows and d >= columns for rows, columns in stopped):
                continue
            found = _in_process(name, n, d, device, limit)
            yield {"method": name, "n": n, "d": d, **(found or {"seconds": None, "limit": limit})}
            if found is None:
                stopped.append((n, d))


def _in_process(name: str, n: int, d: int, device: str, limit: float) -> Cell | None:
    """Run one fit in a new process; None if it did not end in time."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, name, n, d, device))
    process.start()
    theirs.close()
    try:
        ours.recv()  # once the data are drawn
        found = ours.recv() if ours.poll(limit) else None
    except EOFError:
        raise RuntimeError(f"{name} failed on {n:,} x {d:,}; its error is above") from None
    finally:
        process.kill()
        process.join()
    return found


def _run(results: Connection, name: str, n: int, d: int, device: str) -> None:
    """Warm up, fit, send what was found."""
    fit = METHODS[name]
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ValueError):  # a table so small may be too small for a method
            fit(*draw(300, 5)[:2], device)
        X, y, true = draw(n, d)
        results.send("ready")
        reset_peak()
        before, start = kilobytes("VmRSS"), now(device)
        order = fit(X, y, device)
        seconds = now(device) - start
    first = sum(int(feature) in true for feature in order[:_N_TRUE])
    peak = 1024 * (kilobytes("VmHWM") - before)
    results.send({"seconds": seconds, "true_first": first, "peak_bytes": peak, "X_bytes": X.nbytes})


def page(cells: Sequence[Cell]) -> str:
    """Render one line per size, one column per method."""
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    found = {(cell["n"], cell["d"], cell["method"]): cell for cell in cells}
    shapes = sorted({(n, d) for n, d, _ in found})
    rows = [[f"{n:,}", f"{d:,}", *(_entry(found.get((n, d, name))) for name in methods)] for n, d in shapes]
    note = f"Seconds of a whole fit, and how many of the {_N_TRUE} true columns are ranked first; a dash: not run."
    return f"{table.markdown(['rows', 'columns', *methods], rows)}\n\n{note}"


def _entry(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    if cell["seconds"] is None:
        return f"over {cell['limit']:,.0f}"
    return f"{table.number(cell['seconds'])} ({cell['true_first']})"
