"""Commands that break off and are continued write the files of an unbroken run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from experiments.kill_and_resume import digest, incomplete
from riata import LassoNetRegressor, StabilitySelector
from riata.storage import UnwritableError
from tests.cli.test_cli import numbers, riata_cli, saved
from tests.estimators.test_checkpoints import Stop, stopping

OPTIONS = ("--target", "y", "--hidden", 4, "--no-report", "--checkpoint", "run")
SELECT = ("select", "data.csv", *OPTIONS, "--stability", "--max-false", 2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of an unbroken run."""
    folder = tmp_path_factory.mktemp("whole")
    saved(numbers(), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("riata.cli.evidence.HALF_SAMPLES", 4)
        result = riata_cli(*SELECT)
    assert result.exit_code == 0, result.stderr
    return contents(folder / "result")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def broken_off(monkeypatch, after: int, *command: object) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, after)
        with pytest.raises(Stop):
            raise riata_cli(*command).exception or AssertionError("it came to an end")


@pytest.mark.parametrize("after", [8, 60])  # while the path is solved, and while half-samples are fitted
def test_a_run_that_is_continued_writes_the_same_files(tmp_path, monkeypatch, whole, after):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("riata.cli.evidence.HALF_SAMPLES", 4)
    saved(numbers(), tmp_path)
    broken_off(monkeypatch, after, *SELECT)
    assert (Path("run") / "stability").exists() == (after == 60)
    again = riata_cli(*SELECT)
    assert again.exit_code == 2
    assert "run holds a run that is not finished: --resume continues it; delete the folder" in again.stderr
    result = riata_cli(*SELECT, "--resume")
    assert result.exit_code == 0, result.stderr
    assert contents(Path("result")) == whole
    changed = riata_cli(*SELECT, "--resume", "--M", 5)
    assert changed.exit_code == 2 and "is of another fit: M was 10 and is 5" in changed.stderr


def test_a_table_is_filled_as_by_an_unbroken_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers()
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1).to_csv("data.csv", index=False)
    command = ("impute", "data.csv", "--hidden", 4, "--k", 2, "--checkpoint")
    assert riata_cli(*command, "whole", "--out", "whole.csv").exit_code == 0
    broken_off(monkeypatch, 5, *command, "run", "--out", "filled.csv")
    assert riata_cli(*command, "run", "--resume", "--out", "filled.csv").exit_code == 0
    assert Path("filled.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_resume_needs_a_folder(tmp_path):
    result = riata_cli("select", saved(numbers(), tmp_path), "--target", "y", "--resume")
    assert result.exit_code == 2
    assert "--resume continues what is in a folder: also give --checkpoint FOLDER" in result.stderr


# ---- processes that are killed, disks that are full -------------------------------------------------------------------

SCRIPT = """
import sys
from tests.cli.test_cli_checkpoints import halves
print("begin", flush=True)
halves(sys.argv[1], n_jobs=2, resume=True)
"""


def halves(folder: str | None, *, n_jobs: int = 1, resume: bool = False) -> StabilitySelector:
    """Fit what takes a second or two."""
    frame = numbers(400)
    estimator = LassoNetRegressor((20,), random_state=0)
    selector = StabilitySelector(estimator, n_resamples=4, max_false=2, random_state=0, n_jobs=n_jobs)
    return selector.set_params(checkpoint=folder).fit(frame.drop(columns="y"), frame["y"], resume=resume)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="kills groups of processes, as POSIX has them")
def test_a_process_that_is_killed_at_a_random_moment_loses_nothing_that_was_complete(tmp_path):
    folder, draw = tmp_path / "run", np.random.default_rng()
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline()
    time.sleep(draw.uniform(0.1, 2.0))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert incomplete(folder) == []
    assert digest(halves(str(folder), resume=True)) == digest(halves(None))
    assert not list(folder.glob(".*.tmp"))


@pytest.mark.parametrize("limit", [500, 1500, 4000])
def test_a_disk_that_takes_no_more_is_an_error_that_says_what_to_do(tmp_path, limit):
    resource = pytest.importorskip("resource")
    folder, before = tmp_path / "run", resource.getrlimit(resource.RLIMIT_FSIZE)
    frame = numbers(200)
    model = LassoNetRegressor((4,), random_state=0, checkpoint=folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(
            UnwritableError, match=r"cannot write the checkpoint .*; what was complete is kept: make room"
        ):
            model.fit(frame.drop(columns="y"), frame["y"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not hasattr(model, "path_")
    assert incomplete(folder) == [] and not list(folder.glob(".*"))
    model.fit(frame.drop(columns="y"), frame["y"], resume=True)
    assert digest(model) == digest(model.set_params(checkpoint=None).fit(frame.drop(columns="y"), frame["y"]))
