"""Time riata against the lassonet package in one process, on the same splits, and against the floor of the machine.

    python -m benchmarks                                  both libraries: time, accuracy, memory, floor
    python -m benchmarks --quick                          the same on little data, and a little of --scaling: minutes
    python -m benchmarks --data synthetic                 1,000 x 30,000: riata alone, unless --reference
    python -m benchmarks --batch-size 0 256 --reference-points 20
                                                          each library's default, and 256; the reference's time with batches
                                                          is extrapolated from its first points
    python -m benchmarks --iterations 10 20 40 80         time and accuracy by iterations per point
    python -m benchmarks --scaling                        time against n, d, K and R
    python -m benchmarks --replicas [DATA]                one fit, 5 folds, 50 half-samples
    python -m benchmarks --sizes rows columns             whole fits on 1,000 to 1,000,000 rows, on 100 to 100,000 columns,
                                                          beside other packages: install riata[bench]
    python -m benchmarks.kernel                           the update against the bandwidth of a GPU
    python -m benchmarks.sparse                           time and memory of a fit on a sparse table

Data are read from the folder in RIATA_DATA (default: ../shared/data). Writes JSON and Markdown to --out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from benchmarks import data, floor, iterations, paths, replicas, scaling, sizes, table
from benchmarks.libraries import LIBRARIES, warm_up
from benchmarks.paths import Cell, Plan


def main() -> None:
    """Parse, measure, write."""
    arguments = _parse()
    plan = Plan(
        seeds=arguments.seeds,
        multiplier=arguments.multiplier,
        device=arguments.device,
        batch_sizes=tuple(size or None for size in arguments.batch_size),
        reference=arguments.reference,
        reference_points=arguments.reference_points,
        memory=not arguments.no_memory,
    )
    special = arguments.iterations or arguments.scaling or arguments.replicas or arguments.sizes
    if arguments.quick or not special:
        _run_paths(arguments, plan)
    if arguments.iterations:
        warm_up("riata", plan.device)
        cells = (cell for name in arguments.data for cell in iterations.measure(name, arguments.iterations, plan))
        _collect(arguments, "iterations", cells, iterations.page)
    if arguments.scaling or arguments.quick:
        shape, doublings = (scaling.SMALL, 2) if arguments.quick else (scaling.Shape(), 3)
        _collect(arguments, "scaling", scaling.measure(shape, doublings, plan.device), scaling.page)
    if arguments.replicas:
        warm_up("riata", plan.device)
        cells = replicas.measure(arguments.replicas, plan.multiplier, plan.device, floor.rates(plan.device))
        _collect(arguments, "replicas", cells, replicas.page)
    if arguments.sizes:
        cells = sizes.measure(sizes.shapes(arguments.sizes), plan.device, arguments.methods, arguments.limit)
        _collect(arguments, "sizes", cells, sizes.page)


def _run_paths(arguments: argparse.Namespace, plan: Plan) -> None:
    for library in LIBRARIES:
        warm_up(library, plan.device)
    rates = floor.rates(plan.device)
    cells = (cell for name in arguments.data for cell in paths.measure(name, plan, rates))
    _collect(arguments, "paths", cells, lambda found: paths.page(found, rates), rates=rates.report())


def _collect(
    arguments: argparse.Namespace,
    name: str,
    cells: Iterable[Cell],
    page: Callable[[Sequence[Cell]], str],
    **more: object,
) -> None:
    """Write the results after every cell: a long run that is interrupted leaves what it has."""
    found: list[Cell] = []
    for cell in cells:
        found.append(cell)
        print(cell, flush=True)
        table.write(arguments.out, name, arguments.device, {**more, "cells": found}, page(found))
    print(f"\n{page(found)}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    names = ", ".join((*data.FILES, data.SYNTHETIC, "digits"))
    add("--data", nargs="+", help=f"of {names}; default: mice_protein coil20, or digits without a data folder")
    add("--seeds", type=int, default=3, help="number of splits")
    add("--multiplier", type=float, default=1.02, help="path_multiplier of both libraries")
    add("--device", default="cpu", choices=("cpu", "cuda"))
    add("--batch-size", type=int, nargs="+", default=[0], help="samples per update; 0 for each library's default")
    add("--reference", nargs="?", const="always", default="auto", choices=("auto", "always", "never"))
    add("--reference-points", type=int, help="stop the reference after so many points")
    add("--no-memory", action="store_true", help="leave out peak memory, which takes another fit per library")
    add("--quick", action="store_true", help="digits and mice_protein, one split, wider steps, a little scaling")
    add("--iterations", type=int, nargs="+", metavar="N", help="maximal iterations per point to compare")
    add("--scaling", action="store_true")
    add("--replicas", nargs="?", const="coil20", metavar="DATA")
    add("--sizes", nargs="+", metavar="AXIS", help="rows, columns, or sizes such as 1000x50")
    add("--methods", nargs="+", default=list(sizes.METHODS), choices=list(sizes.METHODS), help="of --sizes")
    add("--limit", type=float, default=600, help="seconds after which a fit of --sizes is stopped")
    add("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device here: use --device cpu")
    if arguments.quick:
        arguments.seeds, arguments.multiplier = 1, 1.1
    arguments.data = arguments.data or _default_data(arguments.quick)
    return arguments


def _default_data(quick: bool) -> list[str]:
    wanted = ("mice_protein",) if quick else ("mice_protein", "coil20")
    found = [name for name in wanted if data.here(name)]
    return ["digits", *found] if quick or not found else found


if __name__ == "__main__":
    main()
