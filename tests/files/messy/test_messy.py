"""Messy files through the command line: kinds, selection, messages and exit codes as a new user should meet them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
import pytest
from click.testing import Result
from typer.testing import CliRunner

from riata import cli
from tests.files.messy.cases import CASES, REFUSED, TRUE, Case, csv, friedman

pytestmark = pytest.mark.xdist_group("messy")
BY_NAME = {case.name: case for case in [*CASES, *REFUSED]}


@cache
def outcome(name: str) -> tuple[Path, Result]:
    """Run a case once, for all that is asked of it."""
    case, folder = BY_NAME[name], Path(mkdtemp())
    options = ["select", str(case.write(folder)), "--target", case.target, "--out", str(folder / "out"), *case.options]
    return folder / "out", CliRunner().invoke(cli.app, options, env={"COLUMNS": "200"})


def selected(name: str) -> set[str]:
    return set(pd.read_csv(outcome(name)[0] / "selected.csv")["name"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_each_column_holds_is_printed_before_training(case: Case):
    out, result = outcome(case.name)
    assert result.exit_code == case.exit_code, result.output
    columns = pd.read_csv(out / "columns.csv").set_index("name")
    assert {name: columns.loc[name, "kind"] for name in case.kinds} == case.kinds
    for text in case.printed:
        assert text in result.stdout
    for text in case.notes:
        assert text in result.stderr
    assert result.stdout.index("column ") < result.stdout.index("Scores on")


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_cannot_be_used_is_refused_with_the_remedy_and_writes_nothing(case: Case):
    out, result = outcome(case.name)
    assert result.exit_code == 2, result.output
    assert result.stdout == "" and not out.exists()
    assert result.stderr.startswith("error: ") and len(result.stderr.splitlines()) <= 2
    assert "Traceback" not in result.stderr and "np." not in result.stderr
    for text in case.notes:
        assert text in result.stderr


def test_the_five_true_columns_and_at_most_one_other_are_found_in_nine_cases_of_ten():
    cases = [case.name for case in CASES if case.friedman]
    right = [name for name in cases if selected(name) >= TRUE and len(selected(name)) <= 6]
    assert len(cases) >= 40
    assert len(right) >= 0.9 * len(cases), {name: selected(name) for name in cases if name not in right}


def test_one_column_is_one_feature_in_every_table():
    for name in ("30 levels of noise", "80 levels of noise", "dates", "yes and no, true and false with gaps"):
        out, result = outcome(name)
        n = len(pd.read_csv(out / "columns.csv"))
        summary = json.loads((out / "summary.json").read_text("utf-8"))
        assert summary["columns"]["features"] == n == pd.read_csv(out / "path.csv")["n_selected"].iloc[0]
        assert f"of {n} features" in result.stdout


def test_a_linear_model_with_an_outlier_in_a_held_out_row_says_which_row():
    """The column is far outside what was fitted: the score says nothing, and a note says why."""
    for seed in range(20):
        frame = friedman()
        frame.loc[3, "X4"] = 1e9
        folder = Path(mkdtemp())
        file = csv(frame)(folder)
        options = ["select", str(file), "--target", "y", "--M", "0", "--seed", str(seed), "--out", str(folder / "out")]
        result = CliRunner().invoke(cli.app, options)
        summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
        if summary["scores"]["selected"]["R²"] < -1e6:
            assert "'X4' is 1e+09 in row 4, which was held out" in result.stderr
            return
    pytest.fail("the row was never held out")


def test_standard_input_is_a_file_too(tmp_path):
    data = friedman().to_csv(index=False, sep=";").encode()
    result = CliRunner().invoke(cli.app, ["select", "-", "--target", "y", "--out", str(tmp_path)], input=data)
    assert result.exit_code == 0, result.output
    plain = pd.read_csv(outcome("plain")[0] / "selected.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "selected.csv"), plain)
