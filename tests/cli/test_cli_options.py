"""Losses, summaries as JSON, tables of AnnData, and help."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_pinball_score, d2_tweedie_score

import riata
from riata import LassoNetRegressor, losses
from riata.cli.examples import COMMANDS
from tests.cli.test_cli import mixed, numbers, riata_cli, saved, select


def counts(n: int = 200) -> pd.DataFrame:
    frame = numbers(n).drop(columns="y")
    return frame.assign(y=np.random.default_rng(2).poisson(np.exp(0.5 * frame["a"] + 1)))


@pytest.mark.parametrize(
    "name, loss, frame",
    [
        ("quantile=0.8", losses.Quantile(0.8), numbers(200)),
        ("absolute_error", losses.AbsoluteError(), numbers(200)),
        ("poisson", losses.Poisson(), counts()),
        ("tweedie=1.3", losses.Tweedie(1.3), counts()),
        ("huber=0.5", losses.Huber(0.5), numbers(200)),
    ],
)
def test_a_loss_is_that_of_the_library_and_has_its_score(tmp_path, name, loss, frame):
    file = saved(frame, tmp_path)
    result = select(file, tmp_path / "out", "--loss", name, "--no-report", "--quiet")
    assert result.exit_code == 0, result.stderr
    table = riata.read_table(file, "y", task="regression")
    fit, held_out = table.split()
    model = LassoNetRegressor((4,), loss=loss, random_state=0).fit(table.X.iloc[fit], table.y_of(fit))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert set(summary["selected"]) == set(model.get_feature_names_out()) and summary["lambda"] == model.lambda_
    expected = model.score(table.X.iloc[held_out], table.y_of(held_out))
    assert summary["scores"]["selected"][model.score_name] == pytest.approx(expected, abs=1e-9)
    y, seen = table.y_of(held_out), table.y_of(fit)
    best = {"quantile=0.8": 0.8, "absolute_error": 0.5}.get(name)
    if best is not None:
        constant = d2_pinball_score(y, np.full(len(y), np.quantile(seen, best)), alpha=best)
    elif isinstance(loss, losses.Huber):
        return
    else:
        constant = d2_tweedie_score(y, np.full(len(y), seen.mean()), power=loss.power)
    assert summary["scores"]["baseline"][model.score_name] == pytest.approx(constant, abs=1e-9)


def test_a_loss_says_what_the_task_is(tmp_path):
    frame = mixed().assign(y=np.arange(150) % 3)  # whole numbers with three values would be classes
    result = select(saved(frame, tmp_path), tmp_path / "out", "--loss", "poisson", "--no-report", "--json")
    assert json.loads(result.stdout)["task"] == "regression"
    result = select(saved(frame, tmp_path), tmp_path / "out", "--loss", "ordinal", "--no-report", "--json")
    assert json.loads(result.stdout)["task"] == "classification"


@pytest.mark.parametrize(
    "options, texts",
    [
        (("--loss", "hinge"), ("--loss", "'hinge'", "quantile")),
        (("--loss", "quantile=2"), ("quantile=2", "between 0 and 1")),
        (("--loss", "quantile=high"), ("quantile=high",)),
        (("--loss", "quantile=0,9"), ("'0,9' is no number", "decimal point")),
        (("--loss", "hubber"), ("did you mean 'huber'?",)),
        (("--loss", "poisson=2"), ("no parameter",)),
        (("--loss", "poisson", "--task", "classification"), ("--loss poisson", "regression")),
        (("--loss", "focal", "--task", "regression"), ("--loss focal", "classification")),
    ],
)
def test_losses_that_cannot_be_used_are_refused(tmp_path, options, texts):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", *options)
    assert result.exit_code == 2 and not (tmp_path / "out").exists()
    assert all(text in result.stderr for text in texts), result.stderr


def test_a_loss_that_does_not_suit_text_is_named(tmp_path):
    file = saved(mixed(), tmp_path)
    for loss, texts in (("poisson", ("for numbers", "'y' holds text")), ("ordinal", ("numbers in its place",))):
        result = select(file, tmp_path / "out", "--loss", loss)
        assert result.exit_code == 2 and not (tmp_path / "out").exists()
        assert all(text in result.stderr for text in (f"--loss {loss}", *texts)) and "--task" not in result.stderr


def test_the_parameter_that_a_loss_has_by_default_is_noted(tmp_path):
    file = saved(numbers(200), tmp_path)
    result = select(file, tmp_path / "one", "--no-report", "--loss", "quantile")
    assert "--loss quantile is quantile=0.5, the median" in result.stderr
    assert "--loss" not in select(file, tmp_path / "two", "--no-report", "--loss", "quantile=0.5").stderr


def test_a_separator_is_one_sign(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--sep", ";;")
    assert result.exit_code == 2 and "--sep must be one sign" in result.stderr


def test_survival_times_have_a_loss_of_their_own(tmp_path):
    file = saved(numbers(), tmp_path)
    result = riata_cli("select", file, "--time", "a", "--event", "b", "--loss", "poisson")
    assert result.exit_code == 2 and "--loss is for --target" in result.stderr


def test_the_python_lines_of_a_report_name_the_loss(tmp_path):
    result = select(saved(numbers(), tmp_path), tmp_path / "out", "--loss", "quantile=0.8", "--k", 2, "--quiet")
    assert result.exit_code == 0, result.stderr
    assert "loss=riata.losses.Quantile(levels=(0.8,))" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_json_is_the_summary_and_all_that_is_printed(tmp_path):
    file = saved(numbers(), tmp_path)
    result = select(file, tmp_path / "out", "--json", "--no-report")
    assert result.stdout == (tmp_path / "out" / "summary.json").read_text("utf-8")
    gaps = saved(numbers().mask(np.random.default_rng(0).random((100, 5)) < 0.1), tmp_path)
    result = riata_cli("impute", gaps, "--out", tmp_path / "filled.csv", "--hidden", 4, "--json")
    assert result.stdout == (tmp_path / "filled.summary.json").read_text("utf-8")
    result = riata_cli("impute", tmp_path / "filled.csv", "--out", tmp_path / "again.csv", "--json")
    assert json.loads(result.stdout)["gaps"] == 0


def anndata_file(folder: Path, *, sparse: bool) -> Path:
    from scipy import sparse as matrices

    draw = np.random.default_rng(0)
    X = draw.poisson(2.0, (120, 6)).astype(np.float32)
    label = np.where(X[:, 1] + X[:, 3] > 4, "T cell", "B cell")
    obs = {"label": label.astype(object), "batch": draw.choice(["a", "b"], 120).astype(object), "total": X.sum(1)}
    return written(folder / "cells.h5ad", matrices.csr_matrix(X) if sparse else X, obs, [f"gene{j}" for j in range(6)])


def written(file: Path, X: Any, obs: dict[str, Any], genes: list[str]) -> Path:
    """Write a file of AnnData, with names as objects: this version cannot write the text of newer versions of pandas."""
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings(action="ignore"), pd.option_context("future.infer_string", False):
        samples = pd.DataFrame(obs, index=pd.Index([f"cell{i}" for i in range(X.shape[0])], dtype=object))
        names = pd.DataFrame(index=pd.Index(genes, dtype=object))
        anndata.AnnData(X, samples, names).write_h5ad(file)
    return file


@pytest.mark.parametrize("sparse", [False, True])
def test_of_anndata_genes_are_features_and_annotations_only_on_request(tmp_path, sparse):
    file = anndata_file(tmp_path, sparse=sparse)
    table = riata.read_table(file, "label")
    assert list(table.X) == [f"gene{j}" for j in range(6)] and set(table.y) == {"T cell", "B cell"}
    kinds = table.kinds.set_index("name")["kind"]
    assert kinds[["obs_names", "batch", "total"]].tolist() == ["left out"] * 3
    more = riata.read_table(file, "label", categorical="batch", numeric="total")
    assert list(more.X) == ["batch", "total", *table.X]


def test_anndata_and_a_csv_of_it_give_the_same_selection(tmp_path):
    file = anndata_file(tmp_path, sparse=True)
    table = riata.read_table(file, "label")
    table.X.assign(label=table.y).to_csv(tmp_path / "cells.csv", index=False)
    chosen = []
    for each in (file, tmp_path / "cells.csv"):
        result = select(each, tmp_path / "out", "--no-report", "--json", target="label")
        assert result.exit_code == 0, result.stderr
        summary = json.loads(result.stdout)
        chosen.append((summary["selected"], summary["lambda"]))
    assert chosen[0] == chosen[1] and {"gene1", "gene3"} <= set(chosen[0][0])
    result = riata_cli("predict", tmp_path / "out" / "model.riata", file, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0 and "accuracy" in result.stdout


def test_names_that_are_in_obs_and_in_var_are_refused(tmp_path):
    file = written(tmp_path / "both.h5ad", np.ones((20, 2), np.float32), {"x": range(20)}, ["x", "z"])
    result = select(file, tmp_path / "out", target="x")
    assert result.exit_code == 2 and "in both are 'x'" in result.stderr


def test_a_damaged_file_of_anndata_is_refused(tmp_path):
    (tmp_path / "cells.h5ad").write_bytes(b"not HDF5")
    result = select(tmp_path / "cells.h5ad", tmp_path / "out")
    assert result.exit_code == 2 and "cannot read" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_examples_and_exit_codes(name):
    shown = riata_cli(name, "--help").stdout
    assert f"riata {name}" in shown and "Exit codes:" in shown and "130" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_all_commands_says_what_that_of_each_says(name):
    module, text = COMMANDS[name]
    command = getattr(import_module(f"riata.cli.{module}"), name)
    assert command.__doc__.splitlines()[0] == text


def test_the_help_of_all_commands_imports_no_library_that_takes_seconds():
    heavy = "{'torch', 'sklearn', 'scipy', 'pandas', 'numpy', 'matplotlib'}"
    run = "from typer.testing import CliRunner; from riata.cli import app; r = CliRunner().invoke(app, ['--help'])"
    code = f"import sys; {run}; sys.exit(r.exit_code or str({heavy} & set(sys.modules)) != 'set()')"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "words, texts",
    [
        (("select",), ("missing argument 'FILE'", "riata select --help")),
        (("select", "a.csv", "the state"), ("--target 'the state'",)),
        (("predict", "m.riata", "--bogus"), ("no such option: --bogus", "riata predict --help")),
        (("selct",), ("no such command 'selct'", "riata --help")),
    ],
)
def test_options_that_cannot_be_used_are_errors_in_one_line(words, texts):
    result = riata_cli(*words)
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert all(text in result.stderr for text in texts), result.stderr
