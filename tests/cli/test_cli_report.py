"""The report of a run shows how to repeat it, and comes last; the model file is the model."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

import riata
from riata.cli import evidence, selecting
from tests.cli.test_cli import FILES, mixed, numbers, riata_cli, saved
from tests.cli.test_cli_survival import a_frame


def summary_of(report: Path) -> dict[str, Any]:
    """What a report shows."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.read_text("utf-8"), re.S)
    return json.loads(found[1])


def run_lines(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the Python lines of a report in an empty folder."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {}
    exec(compile(code, "lines of the report", "exec"), namespace)
    return namespace


WEIRD = "<script>alert(1)</script>"
RUNS = {
    "classes": (
        lambda: mixed().rename(columns={"noise": WEIRD}),
        ("--target", "y", "--k", 2, "--stability", "--max-false", 3, "--drop", "flag", "--na", "Lima"),
    ),
    "numbers": (numbers, ("--target", "y", "--M", 2, "--fdr", 0.5, "--seed", 3)),
    "times": (a_frame, ("--time", "days", "--event", "status=dead", "--cv", 2)),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory) -> tuple[Path, Result, pd.DataFrame, tuple[object, ...]]:
    frame, options = RUNS[request.param][0](), RUNS[request.param][1]
    folder = tmp_path_factory.mktemp("run")
    given = (saved(frame, folder), *options, "--hidden", 4, "--out", folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "HALF_SAMPLES", 6)
        result = riata_cli("select", *given)
    assert result.exit_code == 0, result.stderr
    return folder / "out", result, frame, given


def spelled(word: object) -> str:
    """A word of a command, numbers without needless decimals."""
    try:
        return f"{float(str(word)):g}"
    except ValueError:
        return str(word)


@pytest.mark.filterwarnings("ignore")  # what the fits warn of
def test_the_python_lines_of_a_report_repeat_the_run(run, tmp_path, monkeypatch):
    out = run[0]
    shown = summary_of(out / "report.html")
    namespace = run_lines(shown["code"], tmp_path / "elsewhere", monkeypatch)
    chosen = pd.read_csv(out / "selected.csv")["name"].tolist()
    assert set(namespace["model"].get_feature_names_out()) == set(chosen) and chosen
    again = summary_of(Path("report.html"))
    shown["features"].pop("kind")  # which only the command line knows
    for name in ("points", "features", "effects", "stability", "knockoffs", "cv"):
        assert again[name] == shown[name], name


def test_the_command_of_a_report_is_the_command(run):
    out, given = run[0], run[3]
    words = shlex.split(summary_of(out / "report.html")["command"])
    assert words[:2] == ["riata", "select"]
    assert sorted(map(spelled, words[2:])) == sorted(map(spelled, given))


def test_the_model_file_predicts_as_the_model_and_tells_of_the_run(run):
    out = run[0]
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    stored = riata.estimators.stored.read(out / "model.riata")
    assert type(stored.model).__name__ == summary["estimator"] and stored.about["rows"] == summary["rows"]
    assert stored.about["scores"] == summary["scores"]["selected"]
    assert set(stored.model.get_feature_names_out()) == set(summary["selected"])


def test_a_weird_name_is_text_in_the_report(run):
    out, _, frame, _ = run
    text = (out / "report.html").read_text("utf-8")
    assert WEIRD not in text
    assert ("&lt;script&gt;alert(1)&lt;/script&gt;" in text) == (WEIRD in frame)  # in the table of columns
    without = text.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    assert "alert(1)" not in re.sub(r'<script type="application/json".*?</script>', "", without, flags=re.S)
    assert (WEIRD in summary_of(out / "report.html")["names"]) == (WEIRD in frame)


def test_a_report_that_fails_leaves_all_other_results(tmp_path, monkeypatch):
    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("of this test")

    monkeypatch.setattr(selecting, "report_file", fail)
    result = riata_cli("select", saved(numbers(), tmp_path), "--target", "y", "--hidden", 4, "--out", tmp_path / "out")
    assert result.exit_code != 0 and "ZeroDivisionError: of this test" in result.stderr
    assert sorted(os.listdir(tmp_path / "out")) == [name for name in FILES if name != "report.html"]


def test_without_a_report_none_is_written_and_an_old_one_goes(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("of an earlier run")
    result = riata_cli(
        "select", saved(numbers(), tmp_path), "--target", "y", "--hidden", 4, "--out", out, "--no-report"
    )
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out)) == [name for name in FILES if name != "report.html"]


def images(n: int = 80) -> pd.DataFrame:
    """Images of 2 x 3 pixels, of which the first is always dark."""
    draw = np.random.default_rng(0)
    pixels = draw.integers(0, 16, (n, 6))
    pixels[:, 0] = 0
    frame = pd.DataFrame(pixels, columns=[f"p{j}" for j in range(6)])
    return frame.assign(y=np.where(pixels[:, 3] > 7, "bright", "dark"))


@pytest.mark.filterwarnings("ignore")
def test_images_are_shown_as_images_with_their_constant_pixels(tmp_path, monkeypatch):
    file = saved(images(), tmp_path)
    shared = ("select", file, "--target", "y", "--hidden", 4, "--k", 2, "--out", tmp_path / "out")
    result = riata_cli(*shared, "--image", "2x3")
    assert result.exit_code == 0, result.stderr
    shown = summary_of(tmp_path / "out" / "report.html")
    assert shown["image_shape"] == [2, 3] and shown["names"] == [f"p{j}" for j in range(6)]
    namespace = run_lines(shown["code"], tmp_path / "elsewhere", monkeypatch)
    assert set(namespace["model"].get_feature_names_out()) == set(
        pd.read_csv(tmp_path / "out" / "selected.csv")["name"]
    )
    refused = riata_cli(*shared, "--image", "2x4")
    assert refused.exit_code != 0 and "needs 8 features, one for each pixel; the table has 6" in refused.stderr
    assert "--image must be rows and columns" in riata_cli(*shared, "--image", "big").stderr


@pytest.mark.filterwarnings("ignore")
def test_the_report_says_what_happened_to_columns_and_what_selectors_noted(tmp_path):
    frame = numbers().assign(site="A1", who=[f"p{i}" for i in range(len(numbers()))])
    frame.loc[[2, 5, 9], "c"] = -999
    shared = ("--target", "y", "--hidden", 4, "--out", tmp_path / "out", "--fdr", 0.3)
    result = riata_cli("select", saved(frame, tmp_path), *shared)
    assert result.exit_code == 0, result.stderr
    shown = summary_of(tmp_path / "out" / "report.html")
    columns = {name: (kind, use) for name, kind, _, use in shown["columns"]}
    assert columns["site"][0] == "constant" and columns["who"][1].startswith("left out")
    assert shown["n_columns"] == len(columns) == frame.shape[1] - 1
    assert any(note.startswith("'c': 3 cells are -999") for note in shown["notes"])
    noted = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["knockoffs"]["notes"]
    assert [note for note in shown["notes"] if note.startswith("knockoffs: ")] == [
        f"knockoffs: {note}" for note in noted
    ]
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Columns of the file" in text and "every cell is &#39;A1&#39;" in text
