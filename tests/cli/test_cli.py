"""Promises of the command line: what it writes, what it refuses, and that it repeats."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from rich.console import Console
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

import riata
from riata import cli
from riata.cli import printing, selecting
from riata.cli.columns import show_columns
from riata.cli.output import SHOWN, as_json, write
from riata.files import ColumnOptions, TableError, prepare, read

FILES = ["columns.csv", "model.riata", "path.csv", "path.png", "report.html", "selected.csv"]
FILES += ["summary.json"]


def riata_cli(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def select(file: Path, out: Path, *options: object, target: str = "y") -> Result:
    return riata_cli("select", file, "--target", target, "--hidden", 4, "--out", out, *options)


def mixed(n: int = 150) -> pd.DataFrame:
    """Two useful columns (a number and a text), a flag and noise; the target has two classes."""
    draw = np.random.default_rng(0)
    city = draw.choice(["Oslo", "Rome", "Lima"], n)
    size = draw.standard_normal(n)
    frame = pd.DataFrame({"size": size, "noise": draw.standard_normal(n), "flag": draw.random(n) < 0.5, "city": city})
    frame["y"] = np.where(size + 2.0 * (city == "Rome") + 0.2 * draw.standard_normal(n) > 0.5, "yes", "no")
    return frame


def numbers(n: int = 100) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    X = draw.standard_normal((n, 4))
    return pd.DataFrame(X, columns=list("abcd")).assign(y=3 * X[:, 0] - X[:, 1] + 0.1 * draw.standard_normal(n))


def saved(frame: pd.DataFrame, folder: Path) -> Path:
    file = folder / "data.csv"
    frame.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def mixed_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("mixed")
    return folder / "out", select(saved(mixed(), folder), folder / "out")


# ---- what is written ------------------------------------------------------------------------------------------------


def test_all_files_are_written_and_nothing_else(mixed_run):
    out, result = mixed_run
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out)) == FILES
    assert (out / "path.png").read_bytes().startswith(b"\x89PNG")


def test_a_text_column_is_one_feature_and_the_most_important_comes_first(mixed_run):
    chosen = pd.read_csv(mixed_run[0] / "selected.csv")
    effect, rise = ["effect", "shape", "size", "towards"], ["loss_rise", "loss_rise_low", "loss_rise_high"]
    assert chosen.columns.tolist() == ["name", "kind", "importance", *effect, *rise]
    assert chosen["importance"].is_monotonic_decreasing
    assert (
        dict(zip(chosen["name"], chosen["kind"], strict=True)).items() >= {"size": "number", "city": "category"}.items()
    )
    by_name = chosen.set_index("name")
    assert by_name.loc["size", "shape"] == "rises" and (chosen["towards"] == "yes").all()
    assert by_name.loc["city", "effect"].startswith("probability of yes +")
    assert " for Rome, " in by_name.loc["city", "effect"]


def test_the_command_line_is_the_library(mixed_run):
    """The same frame, the same rows and the same settings: the same path, selection and importances."""
    frame = mixed()
    fit, _ = train_test_split(np.arange(150), test_size=30, stratify=frame["y"], random_state=0)
    rows = frame.iloc[np.sort(fit)]
    with pytest.warns(UserWarning, match="only 24 validation rows"):
        model = riata.LassoNetClassifier((4,), random_state=0).fit(rows.drop(columns="y"), rows["y"])
    pd.testing.assert_frame_equal(pd.read_csv(mixed_run[0] / "path.csv"), model.path_.to_frame(), check_dtype=False)
    chosen = pd.read_csv(mixed_run[0] / "selected.csv")
    assert set(chosen["name"]) == set(model.get_feature_names_out())
    importances = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert chosen["importance"].tolist() == pytest.approx([importances[name] for name in chosen["name"]], rel=1e-12)


def test_the_path_file_goes_from_all_features_to_none(mixed_run):
    path = pd.read_csv(mixed_run[0] / "path.csv")
    assert path["n_selected"].iloc[0] == 4
    assert path["n_selected"].iloc[-1] == 0
    assert path["lambda_"].iloc[0] == 0


def test_the_summary_holds_what_is_needed_to_repeat_the_run(mixed_run):
    text = (mixed_run[0] / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert summary["versions"].keys() >= {"riata", "torch", "scikit-learn", "numpy"}
    assert summary["versions"]["riata"] == riata.__version__
    assert (summary["seed"], summary["task"]) == (0, "classification")
    assert summary["rows"] == {"used": 150, "fitted": 120, "held_out": 30}
    assert summary["columns"] == {"file": 4, "features": 4, "kinds": {"number": 3, "category": 1}}
    assert summary["parameters"].keys() == riata.LassoNetClassifier().get_params().keys()
    assert summary["lambda"] in pd.read_csv(mixed_run[0] / "path.csv")["lambda_"].to_numpy()
    chosen = pd.read_csv(mixed_run[0] / "selected.csv")
    assert summary["selected"] == chosen["name"].tolist()
    assert summary["n_selected"] == len(chosen)


def test_selected_features_beat_the_baseline_and_all_scores_are_there(mixed_run):
    scores = json.loads((mixed_run[0] / "summary.json").read_text(encoding="utf-8"))["scores"]
    assert scores.keys() == {"selected", "all", "baseline"}
    assert all(row.keys() == {"accuracy", "balanced accuracy", "log loss"} for row in scores.values())
    assert scores["selected"]["accuracy"] > scores["baseline"]["accuracy"]
    assert scores["baseline"]["balanced accuracy"] == 0.5


def test_the_result_is_printed_with_the_place_of_the_files(mixed_run):
    out, result = mixed_run
    for text in (
        "size",
        " for Rome",
        "probability of yes",
        "balanced accuracy",
        "without features (most frequent class)",
        str(out),
    ):
        assert text in result.stdout
    assert "task: classification, as 'y' is text with 2 distinct values" in result.stderr


def test_only_features_of_the_first_page_are_printed():
    rise = {"loss_rise": 0.5, "loss_rise_low": 0.4, "loss_rise_high": 0.6}
    numbers = {"importance": 1.0, "effect": "[red]rises by 1", **rise}
    frame = pd.DataFrame({"name": [f"[red]x{i:02d}" for i in range(20)], **numbers})
    printed = printing.feature_table(frame, 30)
    assert printed.row_count == SHOWN
    console = Console(width=80, file=io.StringIO())
    console.print(printed)
    text = console.file.getvalue()
    assert "[red]x14" in text and "[red]x15" not in text and "and 5 more" in text and "0.50 ± 0.10" in text


def test_a_loss_rise_whose_interval_is_not_above_zero_is_marked():
    rise = {"loss_rise": [0.5, 0.01], "loss_rise_low": [0.4, -0.01], "loss_rise_high": [0.6, 0.03]}
    frame = pd.DataFrame({"name": ["size", "noise"], "importance": 1.0, "effect": "rises by 1", **rise})
    console = Console(width=80, file=io.StringIO())
    console.print(printing.feature_table(frame, 30))
    marked = [line for line in console.file.getvalue().splitlines() if "°" in line]
    assert len(marked) == 1 and "noise" in marked[0] and "0.010 ± 0.020 °" in marked[0]


def test_footnotes_explain_every_number_of_the_printed_table(mixed_run):
    _, result = mixed_run
    for text in (
        " importance: the penalty λ at which",
        " loss rise: of the held-out log loss",
        " effect: on the mean probability",
    ):
        assert text in result.stdout
    assert "not tested" not in result.stdout and "\n\n\n" not in result.stdout


def test_the_same_seed_gives_the_same_files_and_parquet_the_same_as_csv(mixed_run, tmp_path):
    file = tmp_path / "data.parquet"
    mixed().to_parquet(file)
    assert select(file, tmp_path / "out", "--quiet").exit_code == 0
    for name in ("selected.csv", "path.csv", "path.png"):
        assert (tmp_path / "out" / name).read_bytes() == (mixed_run[0] / name).read_bytes(), name
    summaries = [json.loads((out / "summary.json").read_text("utf-8")) for out in (tmp_path / "out", mixed_run[0])]
    for summary in summaries:
        del summary["parameters"]["verbose"]
    assert summaries[0] == summaries[1]


def test_regression_writes_its_scores_and_quiet_prints_nothing(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--quiet", "--seed", 3)
    assert (result.exit_code, result.output) == (0, "")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["scores"]["selected"].keys() == {"R²", "RMSE"}
    assert summary["scores"]["selected"]["R²"] > 0.5 > summary["scores"]["baseline"]["R²"]
    assert (summary["seed"], summary["parameters"]["random_state"]) == (3, 3)
    assert "task: regression" in summary["notes"][0]


def test_k_bounds_the_number_of_features_and_options_reach_the_estimator(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--k", 1, "--M", 2, "--hidden", "4,3")
    assert result.exit_code == 0, result.stderr
    assert pd.read_csv(tmp_path / "out" / "selected.csv")["name"].tolist() == ["a"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert (summary["k"], summary["parameters"]["M"], summary["parameters"]["hidden_dims"]) == (1, 2, [4, 3])


def test_of_many_classes_an_effect_names_the_one_it_favours(tmp_path):
    frame = numbers(90)
    frame["y"] = pd.qcut(frame["y"], 3, labels=["low", "mid", "high"])
    assert select(saved(frame, tmp_path), tmp_path / "out").exit_code == 0
    chosen = pd.read_csv(tmp_path / "out" / "selected.csv").set_index("name")
    expected = {"rises": "high", "falls": "low"}
    assert chosen.loc["a", "towards"] == expected[chosen.loc["a", "shape"]]


def test_names_in_any_script_and_with_any_sign_are_kept(tmp_path):
    frame = numbers().rename(columns={"a": "特征", "b": "[bold]$x_{"})
    result = select(saved(frame, tmp_path), tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert {"特征", "[bold]$x_{"} <= set(pd.read_csv(tmp_path / "out" / "selected.csv")["name"])
    assert "[bold]$x_{" in result.stdout


def test_rows_without_a_target_are_left_out_with_a_message(tmp_path):
    frame = numbers()
    frame.loc[:4, "y"] = np.nan
    result = select(saved(frame, tmp_path), tmp_path / "out")
    assert result.exit_code == 0
    assert "left out 5 rows without a value of 'y'" in result.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["rows"]["used"] == 95


def test_the_demo_counts_the_noise_among_the_selected(tmp_path, monkeypatch):
    fit = selecting._fit
    monkeypatch.setattr(selecting, "_fit", lambda table, rows, job: fit(table, rows, replace(job, hidden=(3,), k=5)))
    result = riata_cli("demo", "--out", tmp_path)
    assert result.exit_code == 0, result.stderr
    names = pd.read_csv(tmp_path / "selected.csv")["name"]
    noise = names.str.startswith("noise_").sum()
    assert f"{noise} of the {len(names)} selected features are among the 30 columns of noise." in result.stdout
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert summary["columns"]["file"] == 60
    assert summary["rows"]["used"] == 569


# ---- what is refused ------------------------------------------------------------------------------------------------


def refused(result: Result, *texts: str) -> None:
    """Exit with 2, one or two lines on standard error, nothing on standard output, no traceback."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 2, lines
    assert lines[0].startswith("error: ")
    for text in texts:
        assert text in result.stderr


def test_a_file_that_is_missing_unreadable_or_of_another_kind_is_refused(tmp_path):
    refused(select(tmp_path / "no.csv", tmp_path / "out"), "no.csv", "No such file")
    (tmp_path / "folder.csv").mkdir()
    refused(select(tmp_path / "folder.csv", tmp_path / "out"), "Is a directory")
    for name, content, reason in (
        ("empty.csv", b"", "it is empty"),
        ("short.csv.gz", b"\x1f\x8b\x08", "end-of-stream"),
        ("ragged.csv", b"a,y\n1,2\n1,2,3\n", "line 3 has 3 fields, those above it 2"),
        ("long.csv", b"a,y\n1,2,3\n1,2,3\n", "more fields than the header"),
        ("fake.parquet", b"a,y\n1,2\n", "fake.parquet"),
        ("data.json", b"", "save it as csv, tsv, txt, parquet, feather, xlsx or h5ad"),
        ("data.xlsx", b"no book", "data.xlsx"),
    ):
        (tmp_path / name).write_bytes(content)
        refused(select(tmp_path / name, tmp_path / "out"), reason)
    assert not (tmp_path / "out").exists()


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    numbers().to_parquet(tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    refused(select(tmp_path / "data.parquet", tmp_path / "out"), "pip install 'riata[parquet]'")


def test_an_unknown_target_or_column_to_drop_is_refused_with_similar_names(tmp_path):
    file = saved(numbers().rename(columns={"y": "Price"}), tmp_path)
    refused(select(file, tmp_path / "out", target="prise"), "no column 'prise'", "did you mean 'Price'?")
    refused(select(file, tmp_path / "out", target="zzz"), "there are 'a', 'b', 'c', 'd', 'Price'")
    refused(select(file, tmp_path / "out", "--drop", "pryce", target="Price"), "did you mean 'Price'?")
    refused(select(file, tmp_path / "out", "--drop", "Price", target="Price"), "cannot be dropped")


def test_duplicate_column_names_are_refused(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text('a,"b, c",a,y\n' + "1,2,3,4\n" * 20)
    refused(select(file, tmp_path / "out"), "'a' (2 times)")


def test_a_constant_target_is_refused(tmp_path):
    refused(select(saved(numbers().assign(y=1), tmp_path), tmp_path / "out"), "'y' has only one value")


def test_a_table_without_usable_features_is_refused(tmp_path):
    file = saved(numbers()[["y"]], tmp_path)
    refused(select(file, tmp_path / "out"), "no columns are left")
    file = saved(numbers()[["y"]].assign(a=1, b="x"), tmp_path)
    refused(select(file, tmp_path / "out"), "'a', 'b' (constant)")


@pytest.mark.parametrize("k", [0, -1, 5])
def test_k_out_of_range_is_refused(tmp_path, k):
    refused(select(saved(mixed(), tmp_path), tmp_path / "out", "--k", k), "between 1 and the number of features, 4")


@pytest.mark.parametrize("hidden", ["", "0", "10,x"])
def test_hidden_layers_that_are_no_widths_are_refused(tmp_path, hidden):
    refused(select(saved(mixed(), tmp_path), tmp_path / "out", "--hidden", hidden), "--hidden", repr(hidden))


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(selecting, "_fit", lambda *_: pytest.fail("fitted"))
    file = saved(mixed(), tmp_path)
    refused(select(file, file), "cannot write to", "--out")
    folder = tmp_path / "locked"
    folder.mkdir()

    def touch(self: Path) -> None:  # a read-only folder, also for an administrator
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", touch)
    refused(select(file, folder), "cannot write to", "Permission denied", "--out")


def test_missing_values_are_those_of_the_estimators(tmp_path):
    frame = mixed()
    frame.loc[:2, "size"] = np.nan
    frame.loc[0, "city"] = None
    result = select(saved(frame, tmp_path), tmp_path / "out", "--cv", 2, "--stability", "--fdr", 0.5)
    assert result.exit_code == 0, result.output
    assert "3 missing" in result.stdout and "1 missing" in result.stdout
    assert "columns have missing values (size)" in " ".join(result.stderr.split())  # the message of knockoffs


def redundant(n: int = 150) -> pd.DataFrame:
    """One column that matters, and six of noise; few rows, so that a model with all of them is worse."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(draw.standard_normal((n, 7)), columns=list("abcdefg"))
    return frame.assign(y=np.where(frame["a"] + 0.5 * draw.standard_normal(n) > 0, "yes", "no"))


def test_it_is_noted_where_fewer_features_than_k_are_better(tmp_path):
    result = select(saved(redundant(), tmp_path), tmp_path / "out", "--k", 7, "--no-report")
    assert result.exit_code == 0, result.stderr
    text = r"--k 7 gives 7 features, with a validation loss of ([.\d]+); (\d) features? ha(?:s|ve) ([.\d]+):"
    found = re.search(text, result.stderr)
    assert found is not None and int(found[2]) < 7 and float(found[3]) < float(found[1])
    model = riata.load(tmp_path / "out" / "model.riata")
    assert float(found[1]) == pytest.approx(model.point_.val_loss, rel=0.01)
    assert found[0] in " ".join(json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["notes"])


def test_with_folds_the_better_score_of_fewer_features_is_noted(tmp_path):
    result = select(saved(redundant(60), tmp_path), tmp_path / "out", "--k", 7, "--cv", 3, "--no-report")
    scores = pd.read_csv(tmp_path / "out" / "cv.csv")
    chosen = scores.loc[(scores["n_selected"] - 7).abs().idxmin()]
    fewer = scores[(scores["n_selected"] < chosen["n_selected"]) & (scores["n_selected"] > 0)]
    better = fewer["mean_test_score"].max() > chosen["mean_test_score"] + 0.001
    assert ("--k 7 gives" in result.stderr) == better


def test_without_better_models_k_is_not_commented_on(tmp_path):
    assert "--k" not in select(saved(mixed(), tmp_path), tmp_path / "out", "--k", 1, "--no-report").stderr


def test_results_of_another_command_are_named_when_they_are_replaced(tmp_path):
    file, out = saved(numbers(), tmp_path), tmp_path / "out"
    assert "replaced" not in select(file, out, "--no-report").stderr
    assert "replaced" not in select(file, out, "--no-report").stderr  # the same command has the same results
    text = " ".join(select(file, out, "--no-report", "--seed", 1).stderr.split())
    assert f"replaced the results in {out} of: riata select {file}" in text
    (out / "model.riata").write_bytes(b"of something else")
    assert f"replaced {out / 'model.riata'}" in select(file, out, "--no-report").stderr


def test_a_table_of_columns_has_a_line_for_each_and_fits_a_terminal(tmp_path):
    frame = numbers().assign(**{"a very long name of a column": [f"a rather long level {i % 9}" for i in range(100)]})
    table = riata.read_table(saved(frame.assign(code=[f"{i % 60}x" for i in range(100)]), tmp_path), "y")
    for console in (Console(width=80, force_terminal=True), Console(width=80)):
        with console.capture() as printed:
            show_columns(console, table, "data.csv")
        lines = re.sub(r"\x1b\[[\d;]*m", "", printed.get()).splitlines()
        rows = lines[2 : 2 + len(table.columns)]
        assert [row.split()[0] for row in rows] == [name.split()[0] for name in [*"abcd", "a", "code"]]
        assert "keep it with" not in printed.get()
        assert max(map(len, rows)) <= 80 or not console.is_terminal
        assert any("…" in row for row in rows) == console.is_terminal or "…" in table.columns[4].holds


def test_an_identifier_is_left_out_unless_it_is_asked_for(tmp_path):
    frame = numbers().assign(**{"the id": [f"p{i // 2 * 2}{i % 4 // 3}" for i in range(100)]})
    file = saved(frame, tmp_path)
    columns = pd.read_csv(tmp_path / "out" / "columns.csv") if select(file, tmp_path / "out").exit_code == 0 else None
    assert columns["use"].iloc[-1] == "left out; keep it with --categorical 'the id'"
    assert "the id" not in prepare(read(file), "y").X
    assert "the id" in prepare(read(file), "y", options=ColumnOptions(categorical=("the id",))).X


def test_a_column_that_names_rows_is_left_out_without_advice_that_fails(tmp_path):
    file = saved(numbers().assign(code=[f"p{i}" for i in range(100)]), tmp_path)
    assert select(file, tmp_path / "out", "--no-report").exit_code == 0
    assert pd.read_csv(tmp_path / "out" / "columns.csv")["use"].iloc[-1] == "left out"
    refused(select(file, tmp_path / "out", "--categorical", "code"), "100 of its 100 cells differ", "--drop code")
    file = saved(numbers()[["y"]].assign(code=[f"p{i}" for i in range(100)]), tmp_path)
    result = select(file, tmp_path / "out")
    refused(result, "'code' (identifier)")
    assert "--categorical" not in result.stderr


def test_two_numbers_in_a_cell_are_to_be_split(tmp_path):
    draw = np.random.default_rng(0)
    pressure = [f"{a}/{b}" for a, b in zip(draw.integers(100, 150, 100), draw.integers(60, 99, 100), strict=True)]
    sizes = draw.choice(["2x4", "4x4"], 100)
    file = saved(numbers().assign(pressure=pressure, sizes=sizes), tmp_path)
    columns = riata.read_table(file, "y").kinds.set_index("name")
    assert columns.loc["pressure", "use"] == "left out; split it into two columns of numbers"
    assert columns.loc["sizes", "kind"] == "category"
    assert "pressure" not in columns.index[columns["kind"] == "identifier"]


def test_values_of_other_types_are_refused(tmp_path):
    frame = numbers().assign(parts=[[1, i] for i in range(100)])
    frame.to_parquet(tmp_path / "data.parquet")
    refused(select(tmp_path / "data.parquet", tmp_path / "out"), "'parts' holds", "--drop parts")


def test_too_few_rows_are_refused(tmp_path):
    refused(select(saved(numbers(9), tmp_path), tmp_path / "out"), "9 rows", "at least 10")
    refused(select(saved(numbers(), tmp_path), tmp_path / "out", "--decimal", "'"), "--decimal must be . or ,")


def test_classes_that_cannot_be_split_are_refused(tmp_path):
    frame = mixed()
    frame.loc[:1, "y"] = "rare"
    refused(select(saved(frame, tmp_path), tmp_path / "out"), "fewer than 3 rows: 'rare' (2)")
    file = saved(numbers(), tmp_path)
    refused(select(file, tmp_path / "out", "--task", "classification"), "100 distinct values", "--task regression")
    file = saved(mixed(), tmp_path)
    refused(select(file, tmp_path / "out", "--task", "regression"), "is text", "--task classification")


def test_what_the_estimator_refuses_is_one_line_too(tmp_path):
    refused(select(saved(numbers(), tmp_path), tmp_path / "out", "--M", 1e9, "--quiet"), "M must be")


# ---- files are whole or absent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_or_an_interrupt_leaves_old_files_alone_and_no_drafts(tmp_path, monkeypatch, trouble):
    (tmp_path / "a.csv").write_bytes(b"old")

    def fsync(_: int) -> None:
        raise trouble

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises((TableError, KeyboardInterrupt)):
        write(tmp_path, {"a.csv": b"new", "b.csv": b"new"})
    assert os.listdir(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_bytes() == b"old"


def test_json_has_null_where_a_number_is_not_finite():
    value = {"a": [np.nan, np.float32(1.5), np.inf], "b": (np.int64(2), None, True), "c": np.float64}
    assert json.loads(as_json(value)) == {
        "a": [None, 1.5, None],
        "b": [2, None, True],
        "c": "<class 'numpy.float64'>",
    }


# ---- the command itself ---------------------------------------------------------------------------------------------


def test_the_version_is_printed_and_help_names_the_commands():
    assert riata_cli("--version").stdout == f"riata {riata.__version__}\n"
    help_text = riata_cli("--help").stdout
    assert "select" in help_text and "demo" in help_text


def test_main_is_the_same_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["riata", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out == f"riata {riata.__version__}\n"
