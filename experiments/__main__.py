"""Run the paper's experiments and render their results.

    python -m experiments all                                  everything; hours
    python -m experiments all --quick                          two small data sets, one split; minutes
    python -m experiments table1 --data isolet --seeds 5       one experiment
    python -m experiments table1 --methods riata fisher        some methods
    python -m experiments tables --only added=random share=75  some cells: those with these settings
    python -m experiments page                                 render what there is

What is done is not done again: each result is a file, and a run that was interrupted goes on where it was. Data are read
from the folder in RIATA_DATA (default: shared/data beside the repository).

An experiment is a module of this package with ``cells(options)``, its jobs, and ``page(store)``, its section of the pages,
None without results; ``run(cell, needed)`` stands in the module that a cell's kind names. To add one, write it and add its
name to EXPERIMENTS.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from experiments import page, runner
from experiments.cells import Cell, Options, Store

EXPERIMENTS = (
    "table1",
    "curves",
    "mice_path",
    "mnist56",
    "boston",
    "recovery",
    "interactions",
    "survival",
    "survival_interactions",
    "nulls",
    "tables",
    "mixed",
    "levels",
    "completion",
    "fewer_columns",
    "unsupervised",
    "one_digit",
    "discoveries",
    "stability",
    "crossvalidation",
    "ablation",
    "cost",
)
_FULL = Path(__file__).parent / "results"
_QUICK = Path("results/quick")  # not to be mixed up with the full results


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run, render; 1 if a cell failed."""
    asked = _parse(arguments)
    options = Options(
        data=tuple(asked.data) if asked.data else None,
        methods=tuple(asked.methods) if asked.methods else None,
        n_seeds=asked.seeds,
        first_seed=asked.first_seed,
        quick=asked.quick,
    )
    store = Store(asked.out or (_QUICK if asked.quick else _FULL))
    wanted = {"all": EXPERIMENTS, "page": ()}.get(asked.experiment, (asked.experiment,))
    cells = [cell for name in wanted for cell in _module(name).cells(options) if _asked(cell, asked.only)]
    failed = runner.run(cells, store, jobs=asked.jobs, threads=asked.threads, redo=asked.redo)
    command = (
        f"python -m experiments all{' --quick' if asked.quick else ''}"  # what gives all of the store, in parts or not
    )
    sections = [_module(name).page(store) for name in EXPERIMENTS]
    folder = page.write([section for section in sections if section is not None], store, command)
    print(f"{len(cells)} cells, {len(failed)} failed; pages in {folder}")
    return 1 if failed else 0


def _asked(cell: Cell, only: Sequence[str]) -> bool:
    """Say whether a cell has the settings asked for, each of the form KEY=VALUE; of one key any value will do."""
    wanted: dict[str, set[str]] = {}
    for setting in only:
        key, _, value = setting.partition("=")
        wanted.setdefault(key, set()).add(value)
    return all(str(cell.config.get(key)) in values for key, values in wanted.items())


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"experiments.{name}")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("experiment", choices=("all", *EXPERIMENTS, "page"))
    add("--data", nargs="+", help="default: the paper's, and the stand-in for Activity, as far as the files are there")
    add("--methods", nargs="+", choices=page.KNOWN, metavar="METHOD", help=f"of {', '.join(page.KNOWN)}; default: all")
    add("--seeds", type=int, help="number of splits; by default 10 for Mice Protein and COIL-20, 5 for the others")
    add("--first-seed", type=int, default=0, help="seed of the first split")
    add("--only", nargs="+", default=(), metavar="KEY=VALUE", help="cells with these settings, as files name them")
    add("--quick", action="store_true", help="two small data sets, one split, no slow methods")
    add("--jobs", type=int, default=1, help="cells to run at a time; use 1 where seconds matter")
    add(
        "--threads", type=int, default=1, help="threads per cell; more than one waits for the slowest on a busy machine"
    )
    add("--redo", action="store_true", help="run again what is done")
    add("--out", type=Path, help=f"folder of the results; default: experiments/results, or {_QUICK} with --quick")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
