"""The example scripts of the ``lassonet`` package run with the import changed, on small data and for a few iterations."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
import torch
from sklearn.utils import Bunch

from riata.compat.lassonet import training
from riata.path.grid import Grid
from riata.solver.stopping import Stopping

FOLDER = Path(os.environ.get("RIATA_LASSONET_EXAMPLES", Path(__file__).parents[2] / "../shared/lassonet-examples"))
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
NONE = "no scripts: RIATA_LASSONET_EXAMPLES is the folder of the examples of lassonet"
IMPORT = re.compile(r"^( *(?:from|import) )lassonet\b", re.MULTILINE)


def load_boston() -> Bunch:
    """A table of the shape that scikit-learn's loader, which is gone, had."""
    X = np.random.default_rng(0).normal(size=(120, 13))
    return Bunch(data=X, target=X[:, 0] + X[:, 1] ** 2, feature_names=[f"x{i}" for i in range(13)])


def fetch_openml(name: str, return_X_y: bool) -> tuple[pd.DataFrame, pd.Series]:
    """Protein levels of eight kinds of mice with gaps, or images of three digits; the scripts look at the 251st three."""
    rng = np.random.default_rng(0)
    if name == "miceprotein":
        y = rng.permutation(np.repeat(list("abcdefgh"), 16))
        X = rng.normal(size=(len(y), 77))
        return pd.DataFrame(np.where(rng.random(X.shape) < 0.01, np.nan, X)), pd.Series(y)
    y = np.repeat(["3", "5", "6"], [260, 60, 60])
    X = rng.integers(256, size=(len(y), 784)) * (rng.random(784) < 0.2)
    return pd.DataFrame(X), pd.Series(y)


def write_survival_data(folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng(0)
    X, event = rng.normal(size=(120, 6)), rng.integers(2, size=120)
    y = np.column_stack([rng.exponential(np.exp(X[:, 0])), event])
    for name, table in (("hnscc_x", X), ("hnscc_y", y)):
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header="names", comments="")


@pytest.fixture
def short(monkeypatch):
    """Three iterations per λ, and λ that double."""
    convert = training.convert

    def hurried(*given: Any) -> training.Converted:
        settings, unit = convert(*given)
        grid = settings.grid if settings.grid.seq else Grid(2.0, settings.grid.start)
        dense, sparse = Stopping(20, None, 0.0), Stopping(3, None, 0.0)
        return training.Converted(replace(settings, grid=grid, dense=dense, sparse=sparse), unit)

    monkeypatch.setattr(training, "convert", hurried)


@pytest.mark.parametrize("name", SCRIPTS or [pytest.param("", marks=pytest.mark.skip(NONE))])
def test_a_script_runs_to_its_end(name, short, tmp_path, monkeypatch):
    text, n_imports = IMPORT.subn(r"\1riata.compat.lassonet", (FOLDER / name).read_text(encoding="utf-8"))
    assert n_imports
    for loader in (load_boston, fetch_openml):
        monkeypatch.setitem(vars(sklearn.datasets), loader.__name__, loader)
    monkeypatch.chdir(tmp_path)
    write_survival_data(tmp_path / "data")
    plt.switch_backend("agg")
    np.random.seed(0)
    torch.manual_seed(0)
    made: dict[str, Any] = {"__name__": "__main__", "__file__": str(tmp_path / name)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the scripts, which are not ours
        exec(compile(text, name, "exec"), made)
    plt.close("all")
    path = made["model"].path_
    assert path[0].selected.all() and not path[-1].selected.any()
    assert list(tmp_path.glob("*.png")) or "plt.show()" in text
