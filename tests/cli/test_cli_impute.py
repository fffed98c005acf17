"""Promises of ``riata impute``: what is known stays, what is missing is filled, and the errors are honest."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from rich.console import Console
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import riata
from riata import cli
from riata.cli import filling, masking
from riata.files import Source, prepare_to_fill
from tests.cli.test_cli import refused, riata_cli, saved

LENGTHS = ["sepal length", "sepal width", "petal length", "petal width"]
FILLED = [*LENGTHS, "age", "flag", "when"]


def impute(file: Path, out: Path, *options: object) -> Result:
    return CliRunner().invoke(cli.app, ["impute", *map(str, (file, "--out", out, "--hidden", 4, *options))])


def iris() -> pd.DataFrame:
    """Iris with gaps, whole numbers, flags and dates with and without, an empty column and text."""
    data, draw = load_iris(as_frame=True), np.random.default_rng(0)
    frame = data.data.set_axis(LENGTHS, axis=1)
    for j, name in enumerate(LENGTHS):
        frame.loc[draw.random(150) < 0.05 * (j + 1), name] = np.nan
    frame.insert(0, "code", [f"{i:04d}" for i in range(150)])
    frame["species"] = data.target_names[data.target].astype(object)
    frame["plot"] = draw.integers(0, 5, 150)
    frame["age"] = pd.array(draw.integers(20, 90, 150), dtype="Int64")
    frame["flag"] = pd.array(frame["petal length"] > 3, dtype="boolean")
    frame["wild"] = draw.random(150) < 0.5
    frame["nothing"] = np.nan
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(range(150), unit="D")
    frame.loc[[3, 50], ["species", "age", "flag"]] = None
    frame.loc[[7, 90], "when"] = pd.NaT
    return frame


def read_cells(file: Path, separator: str = ",") -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter=separator))


def summary_of(out: Path) -> dict:
    text = out.with_name(out.stem + ".summary.json").read_text(encoding="utf-8")
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.fixture(scope="module")
def iris_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Result]:
    folder = tmp_path_factory.mktemp("iris")
    file, out = saved(iris(), folder), folder / "new" / "folder" / "filled.csv"
    file.write_text(
        file.read_text().replace("0000,5.1,", "0000,5.10,")
    )  # a number that would be written in another way
    return file, out, impute(file, out, "--drop", "code")


# ---- what is written ------------------------------------------------------------------------------------------------


def test_all_files_are_written_and_nothing_else(iris_run):
    _, out, result = iris_run
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out.parent)) == ["filled.csv", "filled.errors.csv", "filled.summary.json"]


def test_what_was_in_a_cell_is_there_as_it_was_written_and_gaps_hold_what_their_column_holds(iris_run):
    file, out, _ = iris_run
    before, after = read_cells(file), read_cells(out)
    assert before[0] == after[0] and len(before) == len(after) == 151
    assert after[1][:2] == ["0000", "5.10"]
    for old, new in zip(before[1:], after[1:], strict=True):
        for name, was, now in zip(before[0], old, new, strict=True):
            if was or name not in FILLED:
                assert now == was
            elif name == "flag":
                assert now in ("True", "False")
            elif name == "when":
                assert pd.Timestamp("2026-01-01") <= pd.to_datetime(now, format="%Y-%m-%d") < pd.Timestamp("2026-06-01")
            elif name == "age":
                assert 20 <= int(now) < 90
            else:
                assert np.isfinite(float(now))


def test_what_is_filled_in_stays_between_the_values_of_its_column(iris_run):
    known, filled = iris()[LENGTHS], pd.read_csv(iris_run[1])[LENGTHS]
    margin = 1e-6 * known.abs().max()  # the limits are held in float32 while training
    assert ((known.min() - margin <= filled.min()) & (filled.max() <= known.max() + margin)).all()


def test_the_errors_are_those_of_hidden_entries_columns_with_most_gaps_first(iris_run):
    errors = pd.read_csv(iris_run[1].with_name("filled.errors.csv"))
    assert errors["gaps"].is_monotonic_decreasing
    assert (
        dict(zip(errors["column"], errors["gaps"], strict=True))
        == iris()[[*FILLED, "plot", "wild"]].isna().sum().to_dict()
    )
    assert errors["hidden"].tolist() == ((150 - errors["gaps"]) // 10).tolist()
    share = 1 - (errors["error"] / errors["error_of_mean"]) ** 2
    np.testing.assert_allclose(errors["explained"], share, rtol=1e-9)
    explained = errors.set_index("column")["explained"]
    assert (explained[["petal length", "petal width"]] > 0.5).all()


def test_the_summary_holds_what_is_needed_to_repeat_and_to_check_the_run(iris_run):
    summary, errors = summary_of(iris_run[1]), pd.read_csv(iris_run[1].with_name("filled.errors.csv"))
    assert summary["versions"]["riata"] == riata.__version__
    assert (summary["seed"], summary["k"], summary["rows"], summary["gaps"]) == (0, None, 150, errors["gaps"].sum())
    assert summary["columns"] == {
        "file": 12,
        "numbers": 9,
        "with_gaps": 7,
        "empty": ["nothing"],
        "unused": ["code", "species"],
    }
    assert summary["parameters"].keys() == riata.LassoNetImputer().get_params().keys()
    assert summary["hidden"]["entries"] == errors["hidden"].sum()
    assert 0 < summary["hidden"]["explained"] < 1
    pd.testing.assert_frame_equal(pd.DataFrame(summary["errors"]), errors)
    assert summary["inputs"] == [*LENGTHS, "plot", "age", "flag", "wild", "when"]


def test_the_result_is_printed_with_the_errors_and_what_was_decided(iris_run):
    _, out, result = iris_run
    n = summary_of(out)["hidden"]["entries"]
    for text in (
        "typical error",
        "petal width",
        f"Hidden for this check: {n} entries; ",
        "(column means: 0 %)",
        str(out.parent),
    ):
        assert text in result.stdout
    assert (
        "passed through, neither filled nor used to fill others: 'code' (left out), 'species' (category, 2 gaps not filled)"
        in (result.stderr)
    )
    assert "no value of 'nothing' is known: left empty" in result.stderr


def test_parquet_keeps_types_labels_and_bits(tmp_path):
    frame = iris().set_index(pd.Index([f"row {i % 100}" for i in range(150)]))
    frame["petal width"] = frame["petal width"].astype("float32")
    frame["sepal width"] = frame["sepal width"].astype("Float64")
    frame["big"] = 2**60 + np.arange(150)
    frame.to_parquet(tmp_path / "data.parquet")
    result = impute(tmp_path / "data.parquet", tmp_path / "filled.pq")
    assert result.exit_code == 0, result.stderr
    filled = pd.read_parquet(tmp_path / "filled.pq")
    assert filled.index.tolist() == frame.index.tolist() and filled.columns.tolist() == frame.columns.tolist()
    assert filled["petal width"].dtype == "float32" and filled["sepal width"].dtype == "Float64"
    for name in ("age", "flag", "when"):
        assert filled[name].dtype == frame[name].dtype
    same = ["code", "species", "plot", "wild", "nothing", "big"]
    pd.testing.assert_frame_equal(filled[same], pd.read_parquet(tmp_path / "data.parquet")[same], check_exact=True)
    for name in FILLED:
        known = frame[name].notna().to_numpy()
        assert (filled[name].to_numpy()[known] == frame[name].to_numpy()[known]).all(), name
        assert filled[name].notna().all()


def test_the_same_seed_gives_the_same_bytes_and_formats_differ_in_nothing_else(iris_run, tmp_path):
    file, out, _ = iris_run
    again = tmp_path / "filled.csv"
    assert impute(file, again, "--drop", "code", "--quiet").output == ""
    for name in ("filled.csv", "filled.errors.csv"):
        assert (tmp_path / name).read_bytes() == out.with_name(name).read_bytes()
    summaries = [summary_of(out), summary_of(again)]
    for summary in summaries:
        del summary["parameters"]["verbose"]
    assert summaries[0] == summaries[1]
    for name in ("filled.parquet", "filled.csv.gz", "seed.csv.gz"):
        options = ["--seed", 1] if "seed" in name else []
        assert impute(file, tmp_path / name, "--drop", "code", "--quiet", *options).exit_code == 0
    expected = pd.read_csv(out)
    stored = pd.read_parquet(tmp_path / "filled.parquet")
    assert (stored[LENGTHS] - expected[LENGTHS]).abs().max().max() <= 0.05 + 1e-9  # text has the decimals of its column
    assert (stored[["age", "flag"]] == expected[["age", "flag"]]).all(axis=None)
    assert stored["when"].dt.strftime("%Y-%m-%d").tolist() == expected["when"].tolist()
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "filled.csv.gz"), expected, check_exact=True)
    assert not pd.read_csv(tmp_path / "seed.csv.gz").equals(expected)


def test_with_k_all_columns_are_filled_from_at_most_so_many(tmp_path):
    file, out = saved(iris()[LENGTHS], tmp_path), tmp_path / "filled.csv"
    result = impute(file, out, "--k", 2, "--seed", 3)
    assert result.exit_code == 0, result.stderr
    summary = summary_of(out)
    assert (summary["k"], summary["seed"], summary["parameters"]["hidden_dims"]) == (2, 3, [4])
    assert 1 <= summary["n_inputs"] == len(summary["inputs"]) <= 2
    errors = pd.read_csv(tmp_path / "filled.errors.csv")
    assert set(errors.loc[errors["input"], "column"]) == set(summary["inputs"])
    assert summary["hidden_in_other_columns"]["entries"] == errors.loc[~errors["input"], "hidden"].sum()
    assert f"Columns to measure: {', '.join(summary['inputs'])}" in result.stdout
    assert f"Reconstruction of the other {4 - summary['n_inputs']} from " in result.stdout
    assert pd.read_csv(out).notna().all(axis=None)


def test_without_gaps_the_same_table_is_written_and_nothing_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(filling, "_fit", lambda *_: pytest.fail("fitted"))
    file = saved(iris()[["code", "plot", "nothing", "species"]], tmp_path)
    result = impute(file, tmp_path / "out" / "filled.csv")
    assert result.exit_code == 0, result.stderr
    assert "nothing to fill" in result.stdout
    assert os.listdir(tmp_path / "out") == ["filled.csv"]
    assert (tmp_path / "out" / "filled.csv").read_bytes() == file.read_bytes()
    assert impute(file, tmp_path / "filled.parquet").exit_code == 0
    expected = pd.read_csv(file, dtype={"code": str})  # 0001 is a code
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "filled.parquet"), expected)


def test_separators_names_left_blank_and_words_for_gaps_are_understood(tmp_path):
    file, numbers = tmp_path / "data.csv", np.random.default_rng(0).standard_normal(20)
    rows = [f"r{i};{x};{'NA' if i == 4 else 2 * x};NA;[red]\n" for i, x in enumerate(numbers)]
    file.write_text(";x;[bold]y;country;z\n" + "".join(rows))
    result = impute(file, tmp_path / "filled.csv")
    assert result.exit_code == 0, result.stderr
    assert "[bold]y" in result.stdout
    after = read_cells(tmp_path / "filled.csv", ";")
    assert after[0] == ["", "x", "[bold]y", "country", "z"]
    assert [row[3:] for row in after[1:]] == [["NA", "[red]"]] * 20
    assert float(after[5][2]) and after[6] == ["r5", str(numbers[5]), str(2 * numbers[5]), "NA", "[red]"]


# ---- how accurate it is ---------------------------------------------------------------------------------------------


def test_a_tenth_of_every_column_is_hidden_from_the_fit_unless_few_entries_are_known(tmp_path, monkeypatch):
    seen = []
    for name in ("fit", "predict_entries"):
        method = getattr(riata.LassoNetImputer, name)
        monkeypatch.setattr(
            riata.LassoNetImputer, name, lambda self, X, method=method: seen.append(X.notna()) or method(self, X)
        )
    frame = iris()[LENGTHS]
    frame.loc[10:, "sepal width"] = np.nan
    result = impute(saved(frame, tmp_path), tmp_path / "filled.csv")
    assert result.exit_code == 0, result.stderr
    counts = frame.notna().sum()
    expected = counts - (counts // 10).where(counts > masking.FEW, 0)
    fitted, predicted, filled = seen
    assert fitted.sum().to_dict() == expected.to_dict()
    assert predicted.equals(fitted)
    assert filled.equals(frame.notna())
    assert "not checked, as 10 entries or fewer are known: 'sepal width'" in result.stderr
    assert "sepal width" in result.stdout and "–" in result.stdout


def test_the_mean_explains_nothing_the_truth_everything_and_a_constant_has_nothing_to_explain():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.standard_normal((50, 3)) * [1, 100, 1], columns=list("abc")).assign(c=0.1)
    hidden = masking.hide(X, 0)
    means = np.broadcast_to(X.mask(hidden).mean().to_numpy(), X.shape)
    everything = np.ones(3, dtype=bool)
    errors = masking.measure(X, hidden, means, everything)
    assert errors["explained"].tolist()[:2] == [0, 0] and np.isnan(errors["explained"][2])
    assert masking.overall(errors) == (10, 0.0)
    assert masking.overall(masking.measure(X, hidden, X.to_numpy(), everything)) == (10, 1.0)
    # Every column is scaled by its standard deviation, whatever its unit.
    half = X.assign(a=means[:, 0]).to_numpy()
    other_unit = masking.measure(X * [1000, 1, 1], hidden, half * [1000, 1, 1], everything)
    assert masking.overall(other_unit)[1] == pytest.approx(
        masking.overall(masking.measure(X, hidden, half, everything))[1]
    )


def test_columns_that_are_no_better_than_their_mean_and_rows_without_anything_are_pointed_out(tmp_path):
    draw = np.random.default_rng(0)
    x = draw.standard_normal(60)
    frame = pd.DataFrame({"a": x, "b": x + 0.1 * draw.standard_normal(60), "noise": draw.standard_normal(60)})
    frame.loc[:5, "noise"] = np.nan
    frame.loc[[20, 30]] = np.nan
    result = impute(saved(frame.assign(y="y"), tmp_path), tmp_path / "filled.csv")
    assert result.exit_code == 0, result.stderr
    errors = pd.read_csv(tmp_path / "filled.errors.csv").set_index("column")
    assert (errors["explained"] <= 0).tolist() == [True, False, False]
    assert "no better than the mean of the column: 'noise'" in result.stderr
    assert "2 rows without any known input" in result.stderr


def test_ten_rows_are_filled_and_reported_as_unchecked(tmp_path):
    frame = iris()[LENGTHS].dropna()[:10].reset_index(drop=True)
    frame.loc[2, "petal width"] = np.nan
    result = impute(saved(frame, tmp_path), tmp_path / "filled.csv")
    assert result.exit_code == 0, result.stderr
    assert "The error cannot be measured" in result.stdout
    assert summary_of(tmp_path / "filled.csv")["hidden"] == {"entries": 0, "explained": None}


def test_only_columns_of_the_first_page_are_printed():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 20)), columns=[f"[red]x{i:02d}" for i in range(20)])
    errors = masking.measure(X, masking.hide(X, 0), np.zeros(X.shape), np.ones(20, dtype=bool))
    console = Console(width=100, file=io.StringIO())
    console.print(filling._error_table(errors, "filled.errors.csv"))
    text = console.file.getvalue()
    assert "[red]x14" in text and "[red]x15" not in text and "and 5 more in filled.errors.csv" in text


def test_a_column_that_numbers_the_rows_is_passed_through_and_text_among_numbers_stays():
    frame = iris()[LENGTHS].assign(row=range(150), size=[str(i % 50) for i in range(149)] + ["?"])
    table = prepare_to_fill(Source(frame, ".", ""))
    assert "'row' (identifier)" in table.notes[0] and "row" not in table.X
    assert (
        "'size' holds 1 cell that cannot be read and stays as it is: '?'; to fill such cells, --na TEXT" in table.notes
    )
    assert table.n_gaps == frame[LENGTHS].isna().sum().sum()
    assert table.filled(np.full(table.X.shape, 7.2))["size"].tolist() == frame["size"].tolist()
    marked = prepare_to_fill(Source(frame.assign(size=frame["size"].where(frame["size"] != "?", None)), ".", ""))
    assert marked.filled(np.full(table.X.shape, 7.2))["size"].iloc[-1] == 7


def test_words_decimal_commas_and_dates_are_written_as_their_column_writes_them(tmp_path):
    draw = np.random.default_rng(0)
    rows = []
    for i, x in enumerate(draw.random(60)):
        cells = [
            f"{x:.3f}".replace(".", ","),
            f"{2 * x:.3f}".replace(".", ","),
            "TRUE" if x > 0.5 else "FALSE",
            f"{i % 28 + 1:02d}.03.2026",
        ]
        rows.append(";".join("" if i == 10 + j else cell for j, cell in enumerate(cells)))
    (tmp_path / "data.csv").write_text("a;b;c;d\n" + "\n".join(rows) + "\n")
    result = impute(tmp_path / "data.csv", tmp_path / "filled.csv")
    assert result.exit_code == 0, result.output
    filled = read_cells(tmp_path / "filled.csv", ";")[1:]
    assert all(re.fullmatch(r"\d,\d{3}", cell) for cell in (filled[10][0], filled[11][1]))
    assert filled[12][2] in ("TRUE", "FALSE")
    assert pd.to_datetime(filled[13][3], format="%d.%m.%Y").month == 3


def test_dates_in_an_unusual_format_are_left_and_named(tmp_path):
    draw = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2026-01-01", periods=40).strftime("%b %d, %Y")).where(
        lambda _: draw.random(40) > 0.1
    )
    frame = pd.DataFrame({"a": draw.random(40), "b": draw.random(40), "day": days})
    frame.loc[3, "a"] = None
    result = impute(saved(frame, tmp_path), tmp_path / "filled.csv")
    assert result.exit_code == 0, result.output
    assert f"'day' (date, {days.isna().sum()} gaps not filled)" in result.stderr
    assert pd.read_csv(tmp_path / "filled.csv")["day"].isna().sum() == days.isna().sum()


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.fixture
def untrained(monkeypatch):
    monkeypatch.setattr(filling, "_fit", lambda *_: pytest.fail("fitted"))


@pytest.mark.usefixtures("untrained")
def test_tables_that_cannot_be_filled_are_refused_and_leave_nothing_behind(tmp_path):
    frame, out = iris()[LENGTHS], tmp_path / "out" / "filled.csv"
    for table, texts in (
        (iris()[["code", "species"]].assign(code="x"), ("no column holds numbers",)),
        (frame[["petal width"]].assign(y="y"), ("only 'petal width' holds numbers", "leave out fewer")),
        (frame[:9], ("9 rows", "at least 10")),
    ):
        refused(impute(saved(table, tmp_path), out), *texts)
    refused(impute(saved(iris(), tmp_path), out, "--drop", "Plott"), "no column 'Plott'", "did you mean 'plot'?")
    refused(impute(tmp_path / "no.csv", out), "no.csv", "No such file")
    big = frame.assign(big=pd.array([2**60 + 1, None] * 75, dtype="Int64"))
    big.to_parquet(tmp_path / "big.parquet")
    refused(impute(tmp_path / "big.parquet", out), "'big'", "2^53", "--drop big")
    assert not out.parent.exists()


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (("--k", 0), ("between 1 and the number of columns of numbers, 4",)),
        (("--k", 5), ("between 1 and the number of columns of numbers, 4",)),
        (("--hidden", "4,x"), ("--hidden", "'4,x'")),
    ],
)
def test_options_out_of_range_are_refused(tmp_path, options, texts):
    refused(impute(saved(iris()[LENGTHS], tmp_path), tmp_path / "out" / "filled.csv", *options), *texts)
    assert os.listdir(tmp_path) == ["data.csv"]


@pytest.mark.usefixtures("untrained")
def test_a_place_that_cannot_be_written_to_is_refused_before_the_fit(tmp_path, monkeypatch):
    file = saved(iris()[LENGTHS], tmp_path)
    before = file.read_bytes()
    refused(impute(file, tmp_path / "filled.xlsx"), "neither .csv nor .parquet", "--out")
    refused(impute(file, tmp_path), "neither .csv nor .parquet")
    (tmp_path / "folder.csv").mkdir()
    refused(impute(file, tmp_path / "folder.csv"), "is a folder", "--out")
    refused(impute(file, tmp_path / ".." / tmp_path.name / "data.csv"), "is the file to read", "--out")
    errors = file.rename(tmp_path / "data.errors.csv")
    refused(impute(errors, tmp_path / "data.parquet"), "data.errors.csv is the file to read")
    refused(impute(errors, errors / "filled.csv"), "cannot write to", "--out")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(impute(errors, tmp_path / "filled.parquet"), "pip install 'riata[parquet]'")
    assert sorted(os.listdir(tmp_path)) == ["data.errors.csv", "folder.csv"]
    assert errors.read_bytes() == before


def test_a_full_disk_leaves_an_older_result_alone_and_no_drafts(tmp_path, monkeypatch):
    file, out = saved(iris()[LENGTHS], tmp_path), tmp_path / "out" / "filled.csv"
    out.parent.mkdir()
    out.write_bytes(b"old")

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    refused(impute(file, out, "--quiet"), "No space left on device")
    assert os.listdir(out.parent) == ["filled.csv"]
    assert out.read_bytes() == b"old"


def test_an_interrupt_exits_with_130_and_writes_nothing(tmp_path, monkeypatch):
    def interrupted(self: riata.LassoNetImputer, X: pd.DataFrame) -> riata.LassoNetImputer:
        raise KeyboardInterrupt

    monkeypatch.setattr(riata.LassoNetImputer, "fit", interrupted)
    result = impute(saved(iris()[LENGTHS], tmp_path), tmp_path / "filled.csv", "--k", 1, "--quiet")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    assert os.listdir(tmp_path) == ["data.csv"]


@pytest.mark.parametrize("sep, decimal", [(";", ","), (",", ".")])
def test_gaps_are_filled_with_the_unit_and_the_decimals_of_their_column(tmp_path, sep, decimal):
    draw = np.random.default_rng(0)
    size = draw.normal(170, 10, 60)
    written = [f"{value:.1f} cm".replace(".", decimal) for value in size]
    frame = pd.DataFrame(
        {"size": written, "weight": np.rint(size / 2), "price": [f"€{int(value)}" for value in size]}, dtype=object
    )
    frame.loc[:9, "size"], frame.loc[10:19, "price"] = None, None
    file = tmp_path / "data.csv"
    frame.to_csv(file, index=False, sep=sep)
    result = riata_cli("impute", file, "--out", tmp_path / "filled.csv", "--hidden", 4, "--quiet")
    assert result.exit_code == 0, result.stderr
    filled = pd.read_csv(tmp_path / "filled.csv", sep=sep, dtype=str)
    assert filled["size"].str.fullmatch(rf"\d+[{decimal}]\d cm").all()
    assert filled["price"].str.fullmatch(r"€\d+").all()
    assert filled["size"].iloc[10:].tolist() == written[10:]
    result = riata_cli("impute", file, "--out", tmp_path / "filled.parquet", "--hidden", 4, "--quiet")
    assert pd.read_parquet(tmp_path / "filled.parquet")["size"].str.fullmatch(rf"\d+[{decimal}]\d cm").all()
