"""An interrupt reaches the caller: nothing goes on, nothing short is scored, nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.interrupted import X, y

LATEST = 2.0  # seconds; a promise to users, not a measure of speed
RIATA = [sys.executable, "-c", "from riata.cli import main; main()"]


def left_running(group: int) -> list[str]:
    """Return the processes of a group that still run when they had the time to end."""
    deadline = time.monotonic() + LATEST
    while (found := _running(group)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _running(group: int) -> list[str]:
    """Return the processes of a group that run; those that ended and were not waited for do not."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgid, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if group in (int(pgid), int(session)) and state != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("name", "n_jobs"),
    [
        ("fit", 1),
        ("script", 1),
        ("cross-validation", 1),
        ("cross-validation", 2),
        ("stability", 2),
        ("knockoffs", 2),
        ("impute", 1),
    ],
)
def test_an_interrupt_at_any_moment_is_raised_at_once_and_leaves_nothing_behind(name, n_jobs):
    command = [sys.executable, "-m", "tests.cli.interrupted", name, str(n_jobs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    lines = process.communicate(timeout=120)[0].splitlines()
    # A worker of joblib that was still starting when its parent ended may print what it could not read.
    (result,) = (json.loads(line) for line in lines if line.startswith('{"found"'))
    interrupted = [each for each in result["found"] if "late" in each]
    assert len(interrupted) >= 8  # a quick fit may end before its interrupt comes
    assert max(each["late"] for each in interrupted) < LATEST
    assert all(each["fitted"] == [] for each in interrupted)
    assert not result["scored"]
    assert left_running(process.pid) == []


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("interrupts") / "data.csv"
    pd.DataFrame(X[:3000], columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y[:3000]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("after", ["path.csv", None])
def test_the_command_line_stops_writes_what_is_complete_and_exits_with_130(file, tmp_path, to_group, after):
    """During stability selection, after the first files, or at a random moment of the path; from a terminal or a program."""
    out = tmp_path / "out"
    options = ["select", str(file), "--target", "y", "--out", str(out), "--stability", "--jobs", "2"]
    process = subprocess.Popen([*RIATA, *options], stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (out / after if after else out).exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    time.sleep(float(np.random.default_rng().uniform(0.2, 1.5)))
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    sent = time.monotonic()
    _, printed = process.communicate(timeout=60)
    assert time.monotonic() - sent < LATEST
    assert process.returncode == 130
    assert printed.endswith("interrupted\n") and "Traceback" not in printed
    files = {"columns.csv", "model.riata", "path.csv", "path.png", "selected.csv", "summary.json"} if after else set()
    assert set(os.listdir(out)) == files
    assert left_running(process.pid) == []
