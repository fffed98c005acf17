"""Peak memory and speed of fits on a mapped file as it grows, beside a fit on rows in memory.

    python -m benchmarks.streaming --folder /tmp/rows                        0.5 to 8 GB of 250 columns of random numbers
    python -m benchmarks.streaming --gigabytes 0.5 1 --full                  whole paths, rather than few points

One file holds the largest table; smaller ones are its first rows. The target is that of ``benchmarks.sizes``, from four of the
columns. Every fit is a process of its own, with the same size of batches. Memory is the peak of the process less what it had
before the fit. *Rows trained per second* are those of all updates over the time of the path and of refits, without the pass
over the table, and also over the seconds of the processor that training took, which other processes do not change; in memory
they are those of a fit on as many rows as the stream holds. Writes JSON and Markdown to --out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import table
from benchmarks.memory import kilobytes, reset_peak

_TRUE = (3, 50, 111, 200)
_ROWS_AT_A_TIME = 20_000
_BATCH = 256


def write(folder: Path, n_rows: int, n_columns: int) -> Path:
    """Write a table of random numbers and its target, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"X{n_rows}x{n_columns}.npy"
    target = _target_of(file)
    if target.exists():
        return file
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(n_rows, n_columns))
    y = np.empty(n_rows, dtype=np.float32)
    for start in range(0, n_rows, _ROWS_AT_A_TIME):
        here = slice(start, min(start + _ROWS_AT_A_TIME, n_rows))
        block = rng.standard_normal((here.stop - here.start, n_columns), dtype=np.float32)
        a, b, c, e = block[:, _TRUE].T
        y[here] = 2 * a + 2 * np.abs(b) + 2 * np.sin(2 * c) + e * (1 + a) + rng.standard_normal(len(block))
        X[here] = block
    X.flush()
    np.save(target, y)
    return file


def _target_of(file: Path) -> Path:
    return file.with_name(f"y{file.name[1:]}")


_CLOCKS = ("training (s)", "its thread (s)", "all threads (s)")


def _clocks() -> tuple[float, float, float]:
    """Seconds on the clock, and of the processor: of the thread that trains, and of that and those that read."""
    return time.perf_counter(), time.thread_time(), time.process_time()


@contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """Count the rows of all updates, and the seconds of the pass over the table and of training."""
    from riata.estimators import base, streaming
    from riata.solver.descent import Descent

    found: dict[str, Any] = {"rows trained": 0.0, "pass (s)": 0.0}
    run, survey, solve = Descent.run, streaming.survey, base.solve

    def counted(self: Any, n_iters: int) -> None:
        found["rows trained"] += n_iters * self.problem.n_fit
        run(self, n_iters)

    def timed(*arguments: Any, **how: Any) -> Any:
        start = time.perf_counter()
        survey_found = survey(*arguments, **how)
        found["pass (s)"] = time.perf_counter() - start
        return survey_found

    def solved(*arguments: Any) -> Any:
        found["clocks"] = _clocks()
        return solve(*arguments)

    Descent.run, streaming.survey, base.solve = counted, timed, solved
    try:
        yield found
    finally:
        Descent.run, streaming.survey, base.solve = run, survey, solve
        for name, before, after in zip(_CLOCKS, found.pop("clocks"), _clocks(), strict=True):
            found[name] = after - before


def fit(file: Path, n_rows: int, *, streams: bool, full: bool, few: bool = False) -> dict[str, Any]:
    """Fit once in this process; return what it took and what was selected."""
    from riata import LassoNetRegressor, Training
    from riata.sources import limits, n_held

    if few:
        limits.MOST_INPUTS = 2**24

    X, y = np.load(file, mmap_mode="r"), np.load(_target_of(file))
    training = Training(batch_size=_BATCH) if full else Training(batch_size=_BATCH, n_iters=(6, 1), path_multiplier=1.5)
    model = LassoNetRegressor(training=training, n_features_to_select=None if full else 4, random_state=0)
    rng = np.random.default_rng(1)
    warm = LassoNetRegressor(training=Training(n_iters=(2, 1), path_multiplier=2.0, batch_size=64), random_state=0)
    warm.fit(rng.normal(size=(300, 5)), rng.normal(size=300))  # compiles
    X, y = X[:n_rows], y[:n_rows]
    held = n_held(*X.shape)
    if not streams:
        X, y = np.array(X[:held]), y[:held]
    gc.collect()
    reset_peak()
    before, start, processor = kilobytes("VmRSS"), time.perf_counter(), time.process_time()
    with measured() as found:
        model.fit(X, y)
    seconds, peak = time.perf_counter() - start, kilobytes("VmHWM") - before
    return {
        "GB": n_rows * X.shape[1] * 4 / 1e9,
        "rows": n_rows,
        "in memory": len(X) if not streams else held,
        "peak (MB)": peak / 1e3,
        **found,
        "rows per s": found["rows trained"] / found["training (s)"],
        "rows per s of its thread": found["rows trained"] / found["its thread (s)"],
        "fit (s)": seconds,
        "processor (s)": time.process_time() - processor,
        "selected": np.flatnonzero(model.selected_).tolist(),
        "streams": streams,
    }


def alone(*arguments: Any, **how: Any) -> dict[str, Any]:
    """Do it in a new process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(fit, arguments, how)


def page(cells: list[dict[str, Any]]) -> str:
    """Return the results as a table."""
    header = [
        "GB",
        "rows",
        "in memory",
        "peak (MB)",
        "pass (s)",
        "MB/s of the pass",
        "rows trained per s",
        "per s of the processor",
        "reading (s of the processor)",
        "fit (s)",
        "selected",
    ]
    rows = [
        [
            f"{each['GB']:.2g}" if each["streams"] else "in memory",
            f"{each['rows']:,}",
            f"{each['in memory']:,}",
            f"{each['peak (MB)']:,.0f}",
            f"{each['pass (s)']:.1f}",
            f"{each['GB'] * 1e3 / each['pass (s)']:,.0f}" if each["pass (s)"] else "",
            f"{each['rows per s']:,.0f}",
            f"{each['rows per s of its thread']:,.0f}",
            f"{each['all threads (s)'] - each['its thread (s)']:.1f}",
            f"{each['fit (s)']:.0f}",
            str(each["selected"]),
        ]
        for each in cells
    ]
    return table.markdown(header, rows)


def _compare(file: Path, n_rows: int, n_pairs: int) -> None:
    """Print the fastest of fits in memory and of streamed ones, with an eighth of the usual rows in memory."""
    kinds = (False, True)
    cells = [[alone(file, n_rows, streams=kind, full=False, few=True) for kind in kinds] for _ in range(n_pairs)]
    for name in ("rows per s", "rows per s of its thread"):
        memory, stream = (max(pair[i][name] for pair in cells) for i in (0, 1))
        print(f"{name}: {memory:,.0f} in memory, {stream:,.0f} streamed, {stream / memory:.2f}", flush=True)


def main() -> None:
    """Parse, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "riata-rows")
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.5, 1, 2, 4, 8])
    parser.add_argument("--columns", type=int, default=250)
    parser.add_argument("--full", action="store_true", help="whole paths")
    parser.add_argument("--pairs", type=int, default=0, help="compare speeds: so many fits of each kind, in turn")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    arguments = parser.parse_args()
    sizes = [int(size * 1e9) // (4 * arguments.columns) for size in sorted(arguments.gigabytes)]
    file = write(arguments.folder, sizes[-1], arguments.columns)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.pairs:
        _compare(file, sizes[-1], arguments.pairs)
        return
    cells = []
    for n_rows, streams in [(sizes[0], False), *((size, True) for size in sizes)]:
        cells.append(alone(file, n_rows, streams=streams, full=arguments.full))
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "streaming.json").write_text(json.dumps(cells, indent=1))
        (arguments.out / "streaming.md").write_text(page(cells))
        print(page(cells[-1:]), flush=True)


if __name__ == "__main__":
    main()
