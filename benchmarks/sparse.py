"""Time and peak memory of a whole fit on a sparse table, in a process of its own.

    python -m benchmarks.sparse                           20,000 x 50,000 with 0.5 % of the entries
    python -m benchmarks.sparse --rows 2000 --columns 5000

The target is a sum of functions of four of the columns and noise. Peak memory is what the process held at most, beyond
what it held before the fit, X included. Writes JSON and Markdown.
"""

from __future__ import annotations

import argparse
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, random_array

from benchmarks import table
from benchmarks.clock import now
from benchmarks.memory import kilobytes, reset_peak
from experiments.baselines.task import by

_N_TRUE, _NOISE, _SEED = 4, 0.3, 0


def draw(n: int, d: int, density: float) -> tuple[csr_array, NDArray[np.float64], list[int]]:
    """Draw a table of normal entries, a target, and the positions of the four columns that the target depends on."""
    rng = np.random.default_rng(_SEED)
    X = csr_array(random_array((n, d), density=density, rng=rng, data_sampler=lambda size: rng.standard_normal(size)))
    true = np.sort(rng.choice(d, _N_TRUE, replace=False))
    a, b, c, e = X[:, true].toarray().T
    return X, 3 * (a + np.abs(b) + np.sin(2 * c) + e) + _NOISE * rng.standard_normal(n), true.tolist()


def measure(n: int, d: int, density: float, device: str) -> dict[str, Any]:
    """Fit in a new process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (n, d, density, device))


def _measured(n: int, d: int, density: float, device: str) -> dict[str, Any]:
    from riata import LassoNetRegressor, Training

    def estimator() -> LassoNetRegressor:
        return LassoNetRegressor(training=Training(device=device), random_state=_SEED)

    estimator().fit(*draw(300, 20, 0.2)[:2])  # compiles
    X, y, true = draw(n + n // 10, d, density)
    held_out = X[n:], y[n:]
    X, y = X[:n], y[:n]
    reset_peak()
    before, start, worked = kilobytes("VmRSS"), now(device), process_time()
    model = estimator().fit(X, y)
    seconds, worked = now(device) - start, process_time() - worked
    first = sum(int(feature) in true for feature in by(model.feature_importances_)[:_N_TRUE])
    return {
        "n": n,
        "d": d,
        "density": density,
        "seconds": seconds,
        "processor_seconds": worked,
        "peak_bytes": 1024 * (kilobytes("VmHWM") - before),
        "X_bytes": X.data.nbytes + X.indices.nbytes + X.indptr.nbytes,
        "dense_bytes": 4 * n * d,
        "points": len(model.path_),
        "weights_bytes": sum(point.weights.first.nbytes + point.weights.skip.nbytes for point in model.path_),
        "n_selected": model.n_selected_,
        "true_first": first,
        "score": model.score(*held_out),
    }


def page(cell: dict[str, Any]) -> str:
    """Render what was measured."""
    rows = [
        ["seconds", table.number(cell["seconds"])],
        ["seconds of the processor", table.number(cell["processor_seconds"])],
        ["points of the path", str(cell["points"])],
        ["peak memory beyond X (MB)", f"{cell['peak_bytes'] / 1e6:,.0f}"],
        ["of which the weights of all points (MB)", f"{cell['weights_bytes'] / 1e6:,.0f}"],
        ["X as it was given (MB)", f"{cell['X_bytes'] / 1e6:,.0f}"],
        ["X as an array in single precision (MB)", f"{cell['dense_bytes'] / 1e6:,.0f}"],
        ["features selected", str(cell["n_selected"])],
        [f"of {_N_TRUE} true columns among the {_N_TRUE} most important", str(cell["true_first"])],
        ["R² on held-out samples", f"{cell['score']:.3f}"],
    ]
    return f"{cell['n']:,} x {cell['d']:,}, {cell['density']:.2%} stored\n\n{table.markdown(['what', ''], rows)}"


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--density", type=float, default=0.005)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    cell = measure(arguments.rows, arguments.columns, arguments.density, arguments.device)
    table.write(arguments.out, "sparse", arguments.device, {"cell": cell}, page(cell))
    print(page(cell))


if __name__ == "__main__":
    main()
