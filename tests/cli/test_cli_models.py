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
from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetImputer, LassoNetRegressor, losses
from riata.cli.opening import NewTable, open_model
from riata.cli.options import read_options
from tests.cli.test_cli import mixed, numbers, riata_cli, saved
from tests.cli.test_cli_report import summary_of
from tests.cli.test_cli_survival import a_frame
from tests.conftest import given_to


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


def given_again(file: Path, folder: Path) -> Path:
    """The same rows in a file with other bytes, as a table that the model was not fitted on."""
    copy = folder / f"copy of {file.name}"
    copy.write_bytes(file.read_bytes() + b"\n")
    return copy


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
        np.testing.assert_allclose(shown, model.predict_proba(table.X), rtol=1e-7)
        assert found["code"].tolist() == [f"s{i:03d}x" for i in range(len(found))]
    else:
        np.testing.assert_allclose(found[column], expected, rtol=1e-7)


def test_where_the_target_is_known_predictions_are_scored(run, tmp_path):
    out, file, options = run
    copy = given_again(file, tmp_path)
    result = riata_cli("predict", out / "model.riata", copy, "--out", tmp_path / "p.csv", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    model, table = riata.load(out / "model.riata"), table_of(file, options)
    name = {"classification": "accuracy", "regression": "R²", "survival": "concordance"}[table.task]
    assert found["scores"][name] == pytest.approx(model.score(table.X, table.y), rel=1e-9)
    assert found["scored"] == {"rows": len(table.X), "held_out": False}
    text = riata_cli("predict", out / "model.riata", copy, "--out", tmp_path / "p.csv").stdout
    assert f"scored on the {len(table.X)} rows given" in text


def test_of_the_table_of_the_fit_only_held_out_rows_are_scored(run, tmp_path):
    out, file, options = run
    given = ("predict", out / "model.riata", file, "--out", tmp_path / "p.csv")
    table = table_of(file, options)
    fit, held_out = table.split(0)
    found = json.loads(riata_cli(*given, "--json").stdout)
    expected = json.loads((out / "summary.json").read_text("utf-8"))["scores"]["selected"]
    assert found["scores"] == pytest.approx(expected, rel=1e-9)
    assert found["scored"] == {"rows": len(held_out), "held_out": True} and found["rows"] == len(table.X)
    text = f"scored on the {len(held_out)} rows that were held out; the model was fitted on the other {len(fit)}"
    assert text in riata_cli(*given).stdout
    riata_cli("report", out / "model.riata", file, "--out", tmp_path / "report.html", "--quiet")
    shown = summary_of(tmp_path / "report.html")
    assert shown["n_held_out"] == len(held_out) and f"{len(held_out)} held-out samples" in shown["answer"][1]
    assert text in shown["notes"][0]


def test_a_table_of_the_fit_that_is_read_in_another_way_is_not_called_held_out(tmp_path):
    file = saved(numbers().assign(y=lambda frame: frame["y"].round(1)), tmp_path)
    riata_cli("select", file, "--target", "y", "--hidden", 4, "--out", tmp_path / "out", "--no-report", "--quiet")
    least = pd.read_csv(file)["y"].min()
    given = ("predict", tmp_path / "out", file, "--out", tmp_path / "p.csv", "--na", least)
    assert json.loads(riata_cli(*given, "--json").stdout)["scored"]["held_out"] is False
    assert "read in another way" in riata_cli(*given).stdout


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
    assert [line.split(source.sep)[drop:] for line in whole[1:]] == [line.split(source.sep) for line in part[:0:-1]]


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
    copy = given_again(file, tmp_path)
    result = riata_cli("report", out / "model.riata", "--data", copy, "--out", tmp_path / "report.html")
    assert result.exit_code == 0, result.stderr
    shown = summary_of(tmp_path / "report.html")
    assert f"On the {len(copy.read_text('utf-8').splitlines()) - 2} samples given" in shown["answer"][1]
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
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv"), model.predict(frame[list("abcd")]), rtol=1e-7)


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
        (("info", file), ("is a table", "model.riata")),
        (("predict", file, model), ("is a table", "model file first")),
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


def test_an_exported_model_predicts_what_the_stored_one_does(run, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    out, file, _ = run
    result = riata_cli("export", out / "model.riata", tmp_path / "m.onnx")
    assert result.exit_code == 0 and f"Wrote {tmp_path / 'm.onnx'}, with" in result.stdout, result.output
    opened = open_model(out / "model.riata")
    X = NewTable.read(file, opened, read_options(None, None, None, 0), all_features=True).X
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    expected = opened.model.predict_proba(X) if opened.task == "classification" else opened.model.predict(X)
    np.testing.assert_allclose(session.run(None, given_to(session, X))[-1], expected, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_exported_is_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    LassoNetClassifier((4,), random_state=0).fit(X, y).save(tmp_path / "m.riata")
    LassoNetImputer((4,), random_state=0, n_features_to_select=2).fit(X).save(tmp_path / "i.riata")
    for model, out, text in [
        ("m", "m.pt", "ends in .onnx"),
        ("i", "i.onnx", "cannot be exported"),
        ("no", "m.onnx", "No such"),
    ]:
        result = riata_cli("export", tmp_path / f"{model}.riata", tmp_path / out)
        assert result.exit_code == 2 and text in result.stderr, result.output


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


@pytest.fixture(scope="module")
def clinic(tmp_path_factory) -> tuple[Path, pd.DataFrame]:
    """Results for a table with semicolons, decimal commas, a unit, a date and a text, of which two columns are selected."""
    draw = np.random.default_rng(0)
    n = 200
    dose, town = draw.normal(100, 10, n), draw.choice(["Rom", "Oslo"], n)
    frame = pd.DataFrame(
        {
            "Nr": [f"P{i:04d}" for i in range(n)],
            "doctor": draw.choice(["A", "B"], n),
            "day": (pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 300, n), unit="D")).strftime(
                "%d.%m.%Y"
            ),
            "dose": [f"{value:.2f} mg".replace(".", ",") for value in dose],
            "town": town,
            "y": [
                f"{value:.2f}".replace(".", ",")
                for value in dose / 10 + 3 * (town == "Rom") + 0.1 * draw.normal(size=n)
            ],
        }
    )
    folder = tmp_path_factory.mktemp("clinic")
    frame.to_csv(folder / "data.csv", sep=";", index=False)
    given = ("--target", "y", "--hidden", 4, "--no-report", "--quiet", "--out", folder / "out")
    result = riata_cli("select", folder / "data.csv", *given)
    assert result.exit_code == 0, result.stderr
    assert set(pd.read_csv(folder / "out" / "selected.csv")["name"]) == {"dose", "town"}
    return folder / "out", frame


def predicted(out: Path, frame: pd.DataFrame, folder: Path, *words: object, sep: str = ";"):
    frame.to_csv(folder / "new.csv", sep=sep, index=False)
    return riata_cli("predict", out, folder / "new.csv", "--out", folder / "p.csv", *words)


def test_rows_unlike_those_of_the_fit_are_noted(clinic, tmp_path):
    out, frame = clinic
    new = frame.head(10).copy()
    new.loc[2, "dose"], new.loc[3, "town"], new.loc[5, "dose"], new.loc[4, "doctor"] = "1116,51 mg", "Lima", None, "Z"
    result = predicted(out, new, tmp_path)
    assert result.exit_code == 0
    assert "'dose' is 1116.51 in row 3 and between" in result.stderr
    assert "'dose' is missing in row 6 and in no training row" in result.stderr
    assert "row 4) holds a level of 'town' that no training row has: 'Lima'" in result.stderr
    assert "doctor" not in result.stderr  # which the model does not use
    assert "training row" not in predicted(out, frame.head(10), tmp_path).stderr


def test_a_model_saved_in_python_notes_levels_that_it_does_not_know(tmp_path):
    frame = pd.DataFrame({"town": ["Rom", "Oslo"] * 80, "size": np.arange(160.0), "y": [1.0, 2.0] * 80})
    LassoNetRegressor((4,), random_state=0).fit(frame[["town", "size"]], frame["y"]).save(tmp_path / "m.riata")
    new = frame.head(4).assign(town=["Rom", "Lima", "Rom", "Oslo"], size=1e9)
    result = predicted(tmp_path / "m.riata", new, tmp_path)
    assert "'Lima'" in result.stderr and "'size'" not in result.stderr


def test_columns_that_the_model_does_not_use_are_not_read(clinic, tmp_path):
    out, frame = clinic
    expected = predicted(out, frame.head(9), tmp_path).exit_code or (tmp_path / "p.csv").read_text("utf-8")
    odd = frame.head(9).assign(day="in spring", doctor=1.5)
    assert predicted(out, odd, tmp_path).exit_code == 0
    assert (tmp_path / "p.csv").read_text("utf-8") == expected


def test_predictions_are_written_like_the_table(clinic, tmp_path):
    out, frame = clinic
    assert predicted(out, frame, tmp_path).exit_code == 0
    first, *lines = (tmp_path / "p.csv").read_text("utf-8").splitlines()
    assert first == "Nr;prediction" and all("." not in line and "," in line for line in lines)
    found = pd.read_csv(tmp_path / "p.csv", sep=";", decimal=",")["prediction"]
    table = riata.read_table(tmp_path / "new.csv", "y")
    np.testing.assert_allclose(found, riata.load(out / "model.riata").predict(table.X), rtol=1e-7)
    assert max(len(line.split(";")[1]) for line in lines) <= len("12,345678")
    shown = riata_cli("predict", out, tmp_path / "new.csv", "--out", "-").stdout
    assert shown == (tmp_path / "p.csv").read_text("utf-8")
    assert "an earlier file is replaced" in predicted(out, frame, tmp_path).stdout


def test_columns_that_only_seem_to_name_rows_are_not_copied(tmp_path):
    frame = numbers().assign(code=[f"p{i}" for i in range(100)], visit=[f"v{i // 3 * 2}x{i % 2}" for i in range(100)])
    frame.loc[1, "visit"] = frame.loc[0, "visit"]
    file = saved(frame, tmp_path)
    riata_cli("select", file, "--target", "y", "--hidden", 4, "--out", tmp_path / "out", "--no-report", "--quiet")
    kinds = pd.read_csv(tmp_path / "out" / "columns.csv").set_index("name")["kind"]
    assert kinds["code"] == kinds["visit"] == "identifier"
    shown = riata_cli("predict", tmp_path / "out", file, "--out", "-").stdout
    assert shown.startswith("code,prediction\n")


def test_other_units_and_names_are_named(clinic, tmp_path):
    out, frame = clinic
    grams = frame.head(9).assign(dose=[f"0,{i}7 g" for i in range(9)])
    result = predicted(out, grams, tmp_path)
    assert result.exit_code == 2 and "'dose' has the unit 'g'" in result.stderr and "had the unit 'mg'" in result.stderr
    result = predicted(out, frame.rename(columns={"dose": "Dose "}), tmp_path)
    assert result.exit_code == 2 and "'dose' (did you mean 'Dose'?)" in result.stderr


def test_without_a_target_it_is_said_that_nothing_is_scored(clinic, tmp_path):
    out, frame = clinic
    assert "not scored: the table has no column 'y'" in predicted(out, frame.drop(columns="y"), tmp_path).stdout
    assert "did you mean 'Y'?" in predicted(out, frame.rename(columns={"y": "Y"}), tmp_path).stdout


def test_a_report_leaves_out_models_with_columns_that_the_table_has_not(clinic, tmp_path):
    out, frame = clinic
    model = riata.load(out / "model.riata")
    frame.drop(columns="doctor").assign(day="in spring").to_csv(tmp_path / "new.csv", sep=";", index=False)
    result = riata_cli("report", out, tmp_path / "new.csv", "--out", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    shown = summary_of(tmp_path / "r.html")
    assert shown["points"][shown["at"]]["n"] == model.n_selected_
    assert all(point["n"] <= 2 for point in shown["points"]) and "with all features" not in shown["answer"][1]
    assert "'doctor', 'day'" in " ".join(shown["notes"])


def test_no_row_is_called_held_out_for_another_target_than_that_of_the_fit(tmp_path):
    frame = numbers()
    file = saved(frame.assign(z=frame["y"] + frame["b"]), tmp_path)
    riata_cli("select", file, "--target", "y", "--drop", "z", "--hidden", 4, "--out", tmp_path / "out", "--quiet")
    words = ("predict", tmp_path / "out" / "model.riata", file, "--out", tmp_path / "p.csv", "--json")
    same, other = (json.loads(riata_cli(*words, "--target", name).stdout)["scored"] for name in ("y", "z"))
    assert (same["rows"], same["held_out"]) == (20, True) and (other["rows"], other["held_out"]) == (100, False)
