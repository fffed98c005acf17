"""Run cells: those that are not done yet, each on its own, so that a failure or an interruption costs one cell."""

from __future__ import annotations

import importlib
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from experiments.cells import Cell, Result, Store, facts


def run(cells: Sequence[Cell], store: Store, *, jobs: int = 1, threads: int = 1, redo: bool = False) -> list[Cell]:
    """Run what is not done yet, first what it needs; return the cells that failed."""
    stages = list(_stages(list(dict.fromkeys(cells)), store, redo))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failed = []
    with Progress(*columns) as progress:
        task = progress.add_task("cells", total=sum(map(len, stages)))
        for stage in stages:
            for cell, result in _results(stage, store.folder, jobs, threads):
                if result["error"] is not None:
                    failed.append(cell)
                outcome = f"{result['seconds']:.1f} s" if result["error"] is None else result["error"].splitlines()[-1]
                progress.console.print(f"{cell.kind} {cell.name}: {outcome}", highlight=False, markup=False)
                progress.advance(task)
    return failed


def _stages(cells: Sequence[Cell], store: Store, redo: bool) -> Iterator[list[Cell]]:
    """Cells that are not done, after those that they need."""
    missing = [cell for cell in cells if redo or not store.done(cell)]
    if missing:
        yield from _stages(list(dict.fromkeys(need for cell in missing for need in cell.needs)), store, redo)
        yield missing


def _results(cells: Iterable[Cell], folder: Path, jobs: int, threads: int) -> Iterator[tuple[Cell, Result]]:
    if jobs == 1:
        yield from ((cell, compute(cell, folder, threads)) for cell in cells)
        return
    # Fresh processes: a fork of one in which torch has started threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            futures = {pool.submit(compute, cell, folder, threads): cell for cell in cells}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def compute(cell: Cell, folder: Path, threads: int) -> Result:
    """Run one cell and write its file; an exception becomes part of the result."""
    store = Store(folder)
    scores, error = None, None
    start = time.perf_counter()
    try:
        with threadpool_limits(threads):
            torch.set_num_threads(threads)
            scores = _run(cell)(cell, [_needed(need, store) for need in cell.needs])
    except Exception:
        error = traceback.format_exc()
    seconds = time.perf_counter() - start
    result = {
        "config": cell.config,
        "scores": scores,
        "error": error,
        "seconds": round(seconds, 3),
        "threads": threads,
        **facts(),
    }
    store.write(cell, result)
    return result


def _run(cell: Cell) -> Callable[[Cell, Sequence[Result]], dict]:
    return importlib.import_module(f"experiments.{cell.kind}").run


def _needed(cell: Cell, store: Store) -> Result:
    result = store.read(cell)
    if result is None or result["error"] is not None:
        raise RuntimeError(f"{cell.kind} {cell.name}, which this needs, failed")
    return result
