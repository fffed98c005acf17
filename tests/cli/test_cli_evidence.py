"""Promises of the command line about folds, half-samples and knockoffs: what each option adds, and what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from joblib import Parallel
from typer.testing import CliRunner

import riata.evidence.stability
from riata import cli, jobs
from riata.cli import evidence, selecting
from riata.cli.options import Job
from riata.files import Source, prepare

FILES = ["columns.csv", "model.riata", "path.csv", "path.png", "report.html", "selected.csv"]
FILES += ["summary.json"]
COMPLETE = [name for name in FILES if name != "report.html"]  # when further selections begin
ALL = ("--cv", 3, "--stability", "--max-false", 2, "--fdr", 0.5)


@pytest.fixture(scope="module", autouse=True)
def few_half_samples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "HALF_SAMPLES", 6)
        yield


def select(file: Path, out: Path, *options: object) -> Result:
    arguments = ["select", file, "--target", "y", "--hidden", 3, "--out", out, *options]
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def mixed(n: int = 100) -> pd.DataFrame:
    """Two columns that matter, a number and a text, and two that do not; the target has two classes."""
    draw = np.random.default_rng(0)
    city = draw.choice(["Oslo", "Rome", "Lima"], n)
    size = draw.standard_normal(n)
    frame = pd.DataFrame({"size": size, "noise": draw.standard_normal(n), "hum": draw.standard_normal(n), "city": city})
    frame["y"] = np.where(size + 2.0 * (city == "Rome") + 0.2 * draw.standard_normal(n) > 0.5, "yes", "no")
    return frame


def numbers(n: int = 60, d: int = 4, *, related: bool = True) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    X = draw.standard_normal((n, d))
    y = related * (3 * X[:, 0] - X[:, 1]) + 0.1 * draw.standard_normal(n)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).assign(y=y)


def saved(frame: pd.DataFrame, folder: Path) -> Path:
    file = folder / "data.csv"
    frame.to_csv(file, index=False)
    return file


def summary_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("everything")
    return folder / "out", select(saved(mixed(), folder), folder / "out", *ALL)


# ---- all options together, with a text column -----------------------------------------------------------------------


def test_every_option_adds_its_files(everything):
    out, result = everything
    assert result.exit_code == 0, result.stderr
    added = ["cv.csv", "cv.png", "knockoffs.csv", "stability.csv", "stability.png"]
    assert sorted(os.listdir(out)) == sorted(FILES + added)
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in ("cv.png", "stability.png"))
    assert all(name in result.stdout.splitlines()[-1] for name in added)


def test_a_text_column_is_one_row_of_every_table(everything):
    out, _ = everything
    stability, knockoffs = (pd.read_csv(out / f"{name}.csv") for name in ("stability", "knockoffs"))
    assert stability.columns.tolist() == ["feature", "frequency", "selected"]
    assert knockoffs.columns.tolist() == ["feature", "statistic", "selected"]
    for frame, number in ((stability, "frequency"), (knockoffs, "statistic")):
        assert set(frame["feature"]) == {"size", "noise", "hum", "city"}
        assert frame[number].is_monotonic_decreasing
        assert set(frame["feature"][:2]) == {"size", "city"}


def test_selected_features_have_the_frequency_of_their_column_and_the_loss_without_it(everything):
    chosen = pd.read_csv(everything[0] / "selected.csv")
    frequencies = pd.read_csv(everything[0] / "stability.csv").set_index("feature")["frequency"]
    assert chosen["frequency"].tolist() == frequencies[chosen["name"]].tolist()
    assert (chosen["loss_rise_low"] < chosen["loss_rise"]).all() and (
        chosen["loss_rise"] < chosen["loss_rise_high"]
    ).all()
    rise = chosen.set_index("name")["loss_rise"]
    assert rise["size"] > 0.1 and rise["city"] > 0.1


def test_the_summary_holds_the_settings_and_the_results(everything):
    out, _ = everything
    summary, results = summary_of(out), pd.read_csv(out / "cv.csv")
    assert summary["estimator"] == "LassoNetClassifierCV"
    folds = summary["cv"]
    row = results[(results["lambda_"] == folds["lambda"])].iloc[0]
    assert (folds["folds"], folds["score"]) == (3, "accuracy")
    best = results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True]).iloc[0]
    assert folds["n_selected"] <= row["n_selected"]
    assert best["mean_test_score"] - best["se_test_score"] - 1e-12 <= folds["mean"] <= row["mean_test_score"]
    assert folds["standard_error"] == pytest.approx(row["se_test_score"])
    stability, knockoffs = summary["stability"], summary["knockoffs"]
    assert (stability["max_false"], stability["half_samples"], stability["threshold"]) == (2, 6, evidence.THRESHOLD)
    assert 0 < stability["bound"] <= 2
    assert knockoffs["fdr"] == 0.5
    for name, part in (("stability", stability), ("knockoffs", knockoffs)):
        frame = pd.read_csv(out / f"{name}.csv")
        assert part["selected"] == frame.loc[frame["selected"], "feature"].tolist()
        assert part["n_selected"] == len(part["selected"])


def test_printed_results_are_narrow_and_labelled(everything):
    _, result = everything
    lines = result.stdout.splitlines()[:-1]  # the last one names a folder
    assert max(map(len, lines)) <= 90
    for text in (
        "Cross-validated accuracy of 3 folds",
        "±",
        "Stability: ",
        "Knockoffs: ",
        "no more often than by chance",
    ):
        assert text in result.stdout
    assert "The features of the model are selected by 3-fold cross-validation, and its scores" in result.stdout
    assert "are those of the held-out rows: the evidence from stability and knockoffs changes neither." in result.stdout
    tables = [line for line in lines if line.startswith(" ")]
    assert max(map(len, tables)) <= 80


def test_knockoffs_of_zeros_and_ones_are_noted_and_kept_in_the_summary(everything):
    out, result = everything
    (note,) = summary_of(out)["knockoffs"]["notes"]
    assert "(city)" in note and "approximately" in note
    assert f"note: {note}" in result.stderr


def test_the_same_seed_gives_the_same_files(everything, tmp_path):
    result = select(saved(mixed(), tmp_path), tmp_path / "out", *ALL, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    differing = {"summary.json", "model.riata", "report.html"}  # which hold the command
    for name in sorted({*os.listdir(everything[0])} - differing):
        assert (tmp_path / "out" / name).read_bytes() == (everything[0] / name).read_bytes(), name
    summaries = [summary_of(out) for out in (tmp_path / "out", everything[0])]
    for summary in summaries:
        del summary["parameters"]["verbose"]
    assert summaries[0] == summaries[1]


def test_folds_half_samples_and_knockoffs_are_distributed_among_jobs(tmp_path, monkeypatch):
    asked = []

    def parallel(n_jobs: int | None) -> Parallel:
        asked.append(n_jobs)
        return Parallel(n_jobs=1)

    monkeypatch.setattr(jobs, "_parallel", parallel)
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--cv", 2, "--stability", "--fdr", 0.5, "--jobs", -1)
    assert result.exit_code == 0, result.stderr
    assert asked.count(-1) >= 4  # folds, half-samples, knockoffs, and columns to permute


# ---- one option at a time -------------------------------------------------------------------------------------------


def test_without_options_there_is_nothing_but_the_path(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == FILES
    summary = summary_of(tmp_path / "out")
    assert [summary[name] for name in ("cv", "stability", "knockoffs")] == [None, None, None]
    assert "squared error" in result.stdout and " are selected by " not in result.stdout


def test_folds_select_at_most_k_features(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--cv", 2, "--k", 1)
    assert result.exit_code == 0, result.stderr
    assert pd.read_csv(tmp_path / "out" / "selected.csv")["name"].tolist() == ["x0"]
    summary = summary_of(tmp_path / "out")
    assert (summary["k"], summary["n_selected"], summary["cv"]["score"]) == (1, 1, "R²")
    counts = pd.read_csv(tmp_path / "out" / "cv.csv")["n_selected"]
    assert abs(summary["cv"]["n_selected"] - 1) == pytest.approx((counts - 1).abs().min())
    assert "Cross-validated R² of 2 folds: " in result.stdout
    assert " are selected by " not in result.stdout


@pytest.mark.parametrize(
    ("options", "added", "how"),
    [
        (("--stability",), ["stability.csv", "stability.png"], "the validation loss along the path"),
        (("--fdr", "0.5", "--k", "2"), ["knockoffs.csv"], "--k 2 along the path"),
    ],
)
def test_evidence_does_not_change_the_selection_of_the_path(tmp_path, options, added, how):
    file = saved(numbers(), tmp_path)
    result = select(file, tmp_path / "out", *options)
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "out")) == sorted(FILES + added)
    assert f"are selected by {how}, and its scores\nare those of the held-out rows" in result.stdout
    plain = [option for option in options if option in ("--k", "2")]
    assert select(file, tmp_path / "plain", *plain).exit_code == 0
    for name in ("path.csv", "path.png"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    assert select(file, tmp_path / "out", *plain).exit_code == 0
    assert sorted(os.listdir(tmp_path / "out")) == FILES  # nothing of another selection is left beside this one


def test_where_nothing_is_found_there_is_advice(tmp_path):
    file = saved(numbers(30, 10, related=False), tmp_path)
    result = select(file, tmp_path / "out", "--fdr", 0.1, "--stability", "--max-false", 0.2)
    assert result.exit_code == 0, result.stderr
    assert "note: nothing is selected at --fdr 0.1" in result.stderr
    assert "raise --max-false, or inspect stability.csv" in result.stderr
    assert "Stability: 0 of 10 columns" in result.stdout and "Knockoffs: 0 of 10 columns" in result.stdout
    assert "These " not in result.stdout
    summary = summary_of(tmp_path / "out")
    assert summary["knockoffs"]["selected"] == summary["stability"]["selected"] == []
    assert summary["knockoffs"]["threshold"] is None  # infinite


def test_a_model_without_features_has_its_files_too(tmp_path):
    result = select(saved(numbers(40, related=False), tmp_path), tmp_path / "out", "--stability")
    assert result.exit_code == 0, result.stderr
    chosen = pd.read_csv(tmp_path / "out" / "selected.csv")
    assert {"loss_rise", "frequency"} <= set(chosen.columns)


# ---- what is refused ------------------------------------------------------------------------------------------------


def refused(result: Result, *texts: str) -> None:
    """Exit with 2, one line on standard error, nothing on standard output, no traceback."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for text in texts:
        assert text in line


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (("--cv", 1), ("--cv must be at least 2 folds; got 1",)),
        (("--cv", 25), ("--cv 25 needs two rows for each fold; 48 are fitted",)),
        (("--fdr", 0), ("--fdr must be above 0 and at most 1", "got 0")),
        (("--fdr", 1.5), ("--fdr must be above 0 and at most 1", "got 1.5")),
        (("--fdr", "nan"), ("--fdr must be above 0",)),
        (
            ("--fdr", 0.1),
            ("--fdr 0.1 needs at least 10 columns", "has 4 that are not constant: use --fdr 0.25 or more"),
        ),
        (("--stability", "--max-false", 0), ("--max-false must be above 0", "got 0")),
        (("--stability", "--max-false", 0.001), ("--max-false 0.001 cannot be kept with 4 columns", "or more")),
        (("--max-false", 1), ("give --stability too",)),
        (("--cv", 3, "--jobs", 0), ("--jobs must be at least 1, or -1 for all cores; got 0",)),
    ],
)
def test_options_that_cannot_be_kept_are_refused_before_any_training(tmp_path, monkeypatch, options, texts):
    monkeypatch.setattr(selecting, "_fit", lambda *_: pytest.fail("fitted"))
    refused(select(saved(numbers(), tmp_path), tmp_path / "out", *options), *texts)
    assert not (tmp_path / "out").exists()


def test_the_rates_and_bounds_that_are_suggested_can_be_kept():
    table = prepare(Source(numbers(), ".", ""), "y")
    rows = np.arange(48)
    job = Job(Path("out"), 0, max_false=0.001)
    with pytest.raises(ValueError, match="cannot be kept") as error:
        evidence.check(table, rows, job)
    suggested = float(str(error.value).split("use ")[1].split()[0])
    evidence.check(table, rows, replace(job, max_false=suggested, fdr=0.25))


@pytest.mark.parametrize(("options", "needed"), [(("--cv", 6), 6), (("--stability",), 4)])
def test_classes_with_too_few_rows_are_refused_by_name(tmp_path, options, needed):
    frame = mixed()
    frame.loc[: 3 + (needed == 6), "y"] = "rare"
    expected = f"{' '.join(map(str, options))} needs {needed} rows of every class"
    refused(select(saved(frame, tmp_path), tmp_path / "out", *options), expected, "'rare' (", "merge rare classes")


def test_a_replica_that_fails_is_named_in_one_line(tmp_path, monkeypatch):
    def fails(*_: object) -> None:
        raise FloatingPointError("the loss is\nnot finite")

    monkeypatch.setattr(riata.evidence.stability, "_importances", fails)
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--stability", "--quiet")
    refused(result, "half 1 of 6: FloatingPointError: the loss is not finite")
    assert sorted(os.listdir(tmp_path / "out")) == COMPLETE


def test_an_interrupt_exits_with_130_and_leaves_what_was_complete(tmp_path, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(riata.evidence.stability, "_importances", interrupted)
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--stability", "--fdr", 0.5)
    assert result.exit_code == 130
    assert sorted(os.listdir(tmp_path / "out")) == COMPLETE
    assert "interrupted; complete, in" in result.stderr and "Traceback" not in result.output
    monkeypatch.setattr(selecting, "_fit", interrupted)
    result = select(saved(numbers(), tmp_path), tmp_path / "new")
    assert (result.exit_code, os.listdir(tmp_path / "new")) == (130, [])
