"""The examples run, and find what they were made to find."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = Path(os.environ.get("RIATA_DATA", "../shared/data"))


def run(name: str, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_quantile_regression_finds_the_columns_and_draws_a_picture(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    run("quantile_regression.py", str(picture), monkeypatch=monkeypatch)
    assert picture.stat().st_size > 10_000
    assert "selected columns: 0, 1, 2, 3, 4 " in capsys.readouterr().out


def test_interactions_are_found_and_drawn(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    run("interactions.py", str(picture), monkeypatch=monkeypatch)
    assert picture.stat().st_size > 10_000
    told = capsys.readouterr().out
    assert told.count("columns 12 and 200") == 3 and told.count("selected: 12, 200\n") == 3


def test_features_of_survival_times_are_selected_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sksurv", reason="scikit-survival is not installed")
    picture = tmp_path / "picture.png"
    run("survival.py", str(picture), monkeypatch=monkeypatch)
    assert picture.stat().st_size > 10_000
    selected, concordance, linear, *_ = capsys.readouterr().out.splitlines()
    assert {"pnodes", "progrec"} <= set(selected.partition(": ")[2].split(", "))
    assert float(concordance.split()[-1]) > 0.6 and float(linear.split()[-1]) > 0.6


def test_three_lines_make_a_loop_select(monkeypatch, capsys):
    run("torch_loop.py", monkeypatch=monkeypatch)
    plain, sparse = capsys.readouterr().out.splitlines()
    assert "with all 20 inputs" in plain
    assert "bmi" in sparse and "s5" in sparse and sparse.count("noise") <= 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of skorch's own making
def test_skorch_selects_with_one_callback(monkeypatch, capsys):
    pytest.importorskip("skorch", reason="skorch is not installed")
    run("skorch_selection.py", monkeypatch=monkeypatch)
    words = capsys.readouterr().out.split()
    assert float(words[1]) > 0.9
    assert 1 <= int(words[4]) < 30


def test_the_factors_of_a_table_are_counted(monkeypatch, capsys):
    run("latent_units.py", "--factors", "2", monkeypatch=monkeypatch)
    words = capsys.readouterr().out.split()
    assert abs(int(words[3].rstrip(",")) - 2) <= 1 and abs(int(words[7]) - 2) <= 1


def test_filters_are_selected_and_drawn(tmp_path, monkeypatch, capsys):
    if not (DATA / "mnist_10k.npz").exists():
        pytest.skip(f"mnist_10k.npz is not in {DATA}: set RIATA_DATA to the folder with the data sets")
    monkeypatch.setenv("RIATA_DATA", str(DATA))
    picture = tmp_path / "picture.png"
    run("mnist_filters.py", "--quick", "--out", str(picture), monkeypatch=monkeypatch)
    assert picture.stat().st_size > 10_000
    assert "of 32 filters" in capsys.readouterr().out
