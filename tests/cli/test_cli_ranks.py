"""``riata select`` in several processes that torchrun starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_regression
from typer.testing import CliRunner

from riata.cli import app

TORCHRUN = [
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--nproc-per-node=2",
    "--standalone",
    "-m",
    "riata",
    "select",
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, y = make_regression(200, 6, n_informative=2, noise=5, random_state=0)
    path = tmp_path_factory.mktemp("ranks") / "data.csv"
    pd.DataFrame(X, columns=list("abcdef")).assign(y=y).to_csv(path, index=False)
    return path


def run(*command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def test_two_processes_select_what_one_does_and_the_first_writes_and_prints(file, tmp_path):
    options = ["--target", "y", "--hidden", "5", "--no-report"]
    several = run(*TORCHRUN, str(file), *options, "--out", str(tmp_path / "two"))
    assert several.returncode == 0, several.stderr
    alone = CliRunner().invoke(app, ["select", str(file), *options, "--out", str(tmp_path / "one")])
    assert several.stdout.count("Wrote ") == alone.stdout.count("Wrote ") == 1
    assert {each.name for each in (tmp_path / "two").iterdir()} == {each.name for each in (tmp_path / "one").iterdir()}
    paths = [pd.read_csv(tmp_path / name / "path.csv") for name in ("one", "two")]
    summaries = [json.loads((tmp_path / name / "summary.json").read_text()) for name in ("one", "two")]
    assert summaries[0]["selected"] == summaries[1]["selected"]
    assert summaries[0]["rows"] == summaries[1]["rows"]
    np.testing.assert_allclose(paths[0]["loss"][0], paths[1]["loss"][0], rtol=1e-3)  # of the dense model, in float32


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--target", "y", "--cv", "3"], "--cv makes many fits, each by one process: start riata without torchrun"),
        (["--target", "y", "--stability"], "--stability makes many fits"),
        (["--target", "y", "--fdr", "0.1"], "--fdr makes many fits"),
        (["--target", "y", "--checkpoint", "run"], "--checkpoint: a fit by several processes keeps none"),
        (["--time", "a", "--event", "b"], "--time: a Cox model is fitted by one process"),
    ],
)
def test_what_several_processes_cannot_do_is_refused_before_they_meet(file, tmp_path, monkeypatch, options, says):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    found = CliRunner().invoke(app, ["select", str(file), *options, "--out", str(tmp_path / "none")])
    assert found.exit_code == 2
    assert found.stderr.startswith(f"rank 1: error: {says}")
    assert not (tmp_path / "none").exists()
