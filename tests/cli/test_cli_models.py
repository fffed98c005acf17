"""Stored models on the command line: predictions and reports of new tables are those of the library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import riata
from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor, losses
from tests.cli.test_cli import mixed, numbers, riata_cli, saved
from tests.cli.test_cli_report import summary_of
from tests.cli.test_cli_survival import a_frame


def with_dates(n: int = 150) -> pd.DataFrame:
    """Text, flags, dates written with the day first, decimal commas, gaps and an identifier."""
    frame = mixed(n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 70, unit="D")
    frame.insert(0, "code", [f"s{i:03d}x" for i in range(n)])
    frame["seen"] = day.strftime("%d.%m.%Y")
    frame["size"] = [f"{value:.4f} mg".replace(".", ",") for value in frame["size"]]
    frame.loc[5:8, "city"] = None
    return frame


RUNS = {
    "classes": (with_dates, ("--target", "y"), ";"),
    "numbers": (numbers, ("--target", "y", "--k", 3), ","),
    "times": (a_frame, ("--time", "days", "--event", "status=dead"), ","),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory) -> tuple[Path, Path, tuple[object, ...]]:
    """A folder of results, the table, and the options that name the target."""
    make, options, sep = RUNS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    file = folder / "data.csv"
    make().to_csv(file, index=False, sep=sep)
    result = riata_cli("select", file, *options, "--hidden", 4, "--out", folder / "out", "--no-report", "--quiet")
    assert result.exit_code == 0, result.stderr
    return folder / "out", file, options


def table_of(file: Path, options: tuple[object, ...]) -> riata.files.Table:
    names = [str(name).removeprefix("--") for name in options[::2]]
    given = dict(zip(names, options[1::2], strict=True))
    return riata.read_table(file, **{name: value for name, value in given.items() if name != "k"})


def test_predictions_of_a_file_are_those_of_the_model_on_the_table(run, tmp_path):
    out, file, options = run
    result = riata_cli("predict", out / "model.riata", file, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.stderr
    model, table = riata.load(out / "model.riata"), table_of(file, options)
    found = pd.read_csv(tmp_path / "p.csv", sep=riata.files.read(file).sep)
    column = "log hazard" if table.task == "survival" else "prediction"
    expected = model.predict(table.X)
    if table.task == "classification":
        assert found[column].tolist() == expected.tolist()
        shown = found[[f"probability of {label}" for label in model.classes_]]
        np.testing.assert_allclose(shown, model.predict_proba(table.X), rtol=1e-12)
        assert found["code"].tolist() == [f"s{i:03d}x" for i in range(len(found))]
    else:
        np.testing.assert_allclose(found[column], expected, rtol=1e-12)


def test_where_the_target_is_known_predictions_are_scored(run, tmp_path):
    out, file, options = run
    result = riata_cli("predict", out / "model.riata", file, "--out", tmp_path / "p.csv", "--json")
    assert result.exit_code == 0, result.stderr
    scores = json.loads(result.stdout)["scores"]
    model, table = riata.load(out / "model.riata"), table_of(file, options)
    name = {"classification": "accuracy", "regression": "R²", "survival": "concordance"}[table.task]
    assert scores[name] == pytest.approx(model.score(table.X, table.y), rel=1e-9)


def test_only_selected_columns_are_needed_to_predict(run, tmp_path):
    out, file, _ = run
    source = riata.files.read(file)
    model = riata.load(out / "model.riata")
    few = tmp_path / "few.csv"
    source.frame[model.get_feature_names_out().tolist()].iloc[::-1].to_csv(few, index=False, sep=source.sep)
    whole, part = (
        riata_cli("predict", out / "model.riata", each, "--out", "-").stdout.splitlines() for each in (file, few)
    )
    assert len(part) == len(whole) == 1 + len(source.frame)
    drop = 1 if "code" in whole[0] else 0  # an identifier that the second file has not
    assert [line.split(",")[drop:] for line in whole[1:]] == [line.split(",") for line in part[:0:-1]]


def test_the_description_names_what_was_selected_and_how_to_repeat_it(run):
    out, _, options = run
    result = riata_cli("info", out / "model.riata", "--json")
    assert result.exit_code == 0, result.stderr
    found, summary = json.loads(result.stdout), json.loads((out / "summary.json").read_text("utf-8"))
    assert [row["name"] for row in found["selected"]] == summary["selected"]
    assert found["scores"] == summary["scores"]["selected"] and found["rows"] == summary["rows"]
    text = riata_cli("info", out / "model.riata").stdout
    assert all(name in text for name in (*summary["selected"], "riata select", str(options[1]), "held-out scores"))


def test_a_report_of_a_stored_model_has_the_scores_of_the_new_table(run, tmp_path):
    out, file, options = run
    result = riata_cli("report", out / "model.riata", "--data", file, "--out", tmp_path / "report.html")
    assert result.exit_code == 0, result.stderr
    shown = summary_of(tmp_path / "report.html")
    table, model = table_of(file, options), riata.load(out / "model.riata")
    assert shown["n_held_out"] == len(table.X)
    assert shown["points"][shown["at"]]["score"] == pytest.approx(model.score(table.X, table.y), rel=1e-3)
    assert shown["command"].startswith("riata report") and shown["features"]["kind"]


def test_survival_is_predicted_until_given_times(tmp_path):
    file = saved(a_frame(), tmp_path)
    given = ("--time", "days", "--event", "status=dead", "--hidden", 4, "--no-report", "--quiet")
    assert riata_cli("select", file, *given, "--out", tmp_path / "out").exit_code == 0
    result = riata_cli("predict", tmp_path / "out" / "model.riata", file, "--out", tmp_path / "p.csv", "--at", 0.5)
    assert result.exit_code == 0, result.stderr
    table = table_of(file, given[:4])
    curves = riata.load(tmp_path / "out" / "model.riata").predict_survival_function(table.X)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv")["survival until 0.5"], [curve(0.5) for curve in curves])


def test_a_model_saved_in_python_predicts_by_the_names_of_its_columns(tmp_path):
    frame = load_iris(as_frame=True).frame.assign(site=lambda f: np.where(f["target"] > 0, "A", "B"))
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    model = LassoNetClassifier((4,), random_state=0).fit(X, y)
    model.save(tmp_path / "m.riata")
    file = saved(frame.rename(columns={"target": "species"}), tmp_path)
    result = riata_cli("predict", tmp_path / "m.riata", file, "--out", tmp_path / "p.csv", "--target", "species")
    assert result.exit_code == 0, result.stderr
    assert pd.read_csv(tmp_path / "p.csv")["prediction"].tolist() == model.predict(X).tolist()
    assert f"accuracy: {model.score(X, y):.4g}" in result.stdout


def test_quantiles_saved_in_python_are_columns(tmp_path):
    frame = numbers(200)
    model = LassoNetRegressor((4,), loss=losses.Quantile((0.1, 0.9)), random_state=0).fit(
        frame[list("abcd")], frame["y"]
    )
    model.save(tmp_path / "m.riata")
    result = riata_cli("predict", tmp_path / "m.riata", saved(frame, tmp_path), "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv"), model.predict(frame[list("abcd")]), rtol=1e-12)


def test_tables_and_models_that_do_not_fit_are_refused_with_the_remedy(run, tmp_path):
    out, file, _ = run
    model = out / "model.riata"
    source = riata.files.read(file).frame
    lost = riata.load(model).get_feature_names_out()[0]
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    damaged = tmp_path / "damaged.riata"
    shutil.copy(model, damaged)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    source.drop(columns=lost).to_csv(tmp_path / "lost.csv", index=False)
    cases = [
        (("predict", model, tmp_path / "lost.csv"), ("missing", repr(lost))),
        (("predict", tmp_path / "none.riata", file), ("No such file",)),
        (("predict", damaged, file), ("damaged.riata", "incomplete")),
        (("predict", model, file, "--out", tmp_path / "p.docx"), (".csv", ".parquet")),
        (("predict", model, file, "--out", "-", "--json"), ("--out",)),
        (("info", file), ("no model of riata",)),
        (("report", model, "--data", tmp_path / "lost.csv"), ("missing", repr(lost))),
        (("report", model, "--data", file, "--out", tmp_path / "report.pdf"), (".html",)),
        (("report", model, "--data", file, "--image", "3x3"), ("--image",)),
    ]
    for words, texts in cases:
        options = words if "--out" in words or words[0] == "info" else (*words, "--out", tmp_path / f"{words[0]}.csv")
        if words[0] == "report" and "--out" not in words:
            options = (*words, "--out", tmp_path / "r.html")
        result = riata_cli(*options)
        assert result.exit_code == 2 and result.stderr.startswith("error: "), (words, result.output)
        assert all(text in result.stderr for text in texts), (words, result.stderr)
    assert not (tmp_path / "r.html").exists() and not (tmp_path / "predict.csv").exists()


def test_what_has_no_target_is_described_and_not_predicted(tmp_path):
    X = load_iris(as_frame=True).data
    LassoNetAutoencoder(n_features_to_select=2, random_state=0).fit(X).save(tmp_path / "m.riata")
    assert "2 of 4 features" in riata_cli("info", tmp_path / "m.riata").stdout
    result = riata_cli("predict", tmp_path / "m.riata", saved(X, tmp_path))
    assert result.exit_code == 2 and "no target" in result.stderr


def test_a_model_of_an_array_says_that_its_columns_have_no_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    LassoNetClassifier((4,), random_state=0).fit(X, y).save(tmp_path / "m.riata")
    assert riata_cli("info", tmp_path / "m.riata").exit_code == 0
    result = riata_cli("predict", tmp_path / "m.riata", saved(numbers(), tmp_path))
    assert result.exit_code == 2 and "no names" in result.stderr


def test_targets_that_cannot_be_read_are_noted_unless_they_were_asked_for(tmp_path):
    file = saved(numbers(), tmp_path)
    riata_cli("select", file, "--target", "y", "--hidden", 4, "--out", tmp_path / "out", "--no-report", "--quiet")
    saved(numbers().assign(y="high"), tmp_path)
    words = ("predict", tmp_path / "out" / "model.riata", file, "--out", tmp_path / "p.csv")
    result = riata_cli(*words)
    assert result.exit_code == 0 and "not scored" in result.stderr
    assert riata_cli(*words, "--target", "y").exit_code == 2
