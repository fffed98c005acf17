"""Promises of the command line about survival times: the result is the library's, and what cannot be used is refused."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

import riata
from riata import cli
from riata.cli import evidence, selecting
from riata.evidence import permutation_importance
from riata.files import Source, SurvivalColumns, prepare_survival

FILES = ["columns.csv", "model.riata", "path.csv", "path.png", "report.html", "selected.csv"]
FILES += ["summary.json", "survival.png"]
TARGET = ("--time", "days", "--event", "status")


@pytest.fixture(scope="module", autouse=True)
def few_half_samples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "HALF_SAMPLES", 6)
        yield


def select(file: Path, out: Path, *options: object) -> Result:
    arguments = ["select", file, "--hidden", 4, "--out", out, *options]
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def a_frame(n: int = 150) -> pd.DataFrame:
    """Risk rises with one column and in one town; a third of the rows is censored."""
    draw = np.random.default_rng(0)
    dose, town = draw.normal(size=n), draw.choice(["Oslo", "Rome", "Lima"], n)
    time, censored = draw.exponential(np.exp(-1.5 * dose - 1.5 * (town == "Rome"))), draw.exponential(2, n)
    frame = pd.DataFrame({"dose": dose, "noise": draw.normal(size=n), "town": town})
    return frame.assign(days=100 * np.minimum(time, censored), status=np.where(time <= censored, "dead", "alive"))


def saved(frame: pd.DataFrame, folder: Path) -> Path:
    file = folder / "data.csv"
    frame.to_csv(file, index=False)
    return file


def summary_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("plain")
    return folder / "out", select(saved(a_frame(), folder), folder / "out", *TARGET, "--k", 2)


# ---- what is written ------------------------------------------------------------------------------------------------


def test_all_files_are_written_with_survival_curves(plain):
    out, result = plain
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out)) == FILES
    assert (out / "survival.png").read_bytes().startswith(b"\x89PNG")


def held_out_rows(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    fit, held_out = train_test_split(np.arange(len(frame)), test_size=30, stratify=frame["status"], random_state=0)
    return np.sort(fit), np.sort(held_out)


def test_the_command_line_is_the_library(plain):
    """The same frame, the same rows and the same settings: the same path, selection and concordance."""
    out, frame = plain[0], pd.read_csv(plain[0].parent / "data.csv")
    fit, held_out = held_out_rows(frame)
    X = frame[["dose", "noise", "town"]]
    y = pd.DataFrame({"time": frame["days"], "event": frame["status"] == "dead"})
    model = riata.LassoNetCoxRegressor((4,), random_state=0, select="best").fit(X.iloc[fit], y.iloc[fit])
    model = model.at(n_features=2)
    pd.testing.assert_frame_equal(pd.read_csv(out / "path.csv"), model.path_.to_frame(), check_dtype=False)
    chosen = pd.read_csv(out / "selected.csv")
    assert set(chosen["name"]) == set(model.get_feature_names_out()) == {"dose", "town"}
    scores = summary_of(out)["scores"]
    assert scores["selected"] == {"concordance": model.score(X.iloc[held_out], y.iloc[held_out])}
    assert scores["selected"]["concordance"] > 0.7 > scores["baseline"]["concordance"] == 0.5


def test_the_summary_counts_events_and_the_notes_say_what_they_are(plain):
    out, result = plain
    summary, frame = summary_of(out), a_frame()
    n = int((frame["status"] == "dead").sum())
    held_out = int((frame["status"].iloc[held_out_rows(frame)[1]] == "dead").sum())
    assert summary["events"] == {"used": n, "fitted": n - held_out, "held_out": held_out}
    assert abs(held_out - n / 5) < 1
    assert (summary["task"], summary["estimator"]) == ("survival", "LassoNetCoxRegressor")
    assert f"{n} of 150 rows end with the event: 'status' is dead; censored where it is alive" in summary["notes"]
    assert f"{n} of 150 rows end with the event" in result.stderr
    for text in (
        "of the held-out negative log partial likelihood",
        "concordance",
        "log hazard",
        "equal risks",
        f"{held_out} of the held-out rows end with the event",
    ):
        assert text in result.stdout


def test_an_effect_is_on_the_logarithm_of_the_hazard(plain):
    chosen = pd.read_csv(plain[0] / "selected.csv").set_index("name")
    assert chosen.loc["dose", "shape"] == "rises"
    assert chosen.loc["town", "effect"].startswith("+1") and " for Rome, " in chosen.loc["town", "effect"]


def test_the_loss_rise_is_the_permutation_importance_of_the_library(plain):
    out, frame = plain[0], pd.read_csv(plain[0].parent / "data.csv")
    fit, held_out = held_out_rows(frame)
    X = frame[["dose", "noise", "town"]]
    y = pd.DataFrame({"time": frame["days"], "event": frame["status"] == "dead"})
    model = riata.LassoNetCoxRegressor((4,), random_state=0, select="best").fit(X.iloc[fit], y.iloc[fit])
    model = model.at(n_features=2)
    found = permutation_importance(model, X.iloc[held_out], y.iloc[held_out], random_state=0).set_index("feature")
    chosen = pd.read_csv(out / "selected.csv").set_index("name")
    for ours, theirs in {"loss_rise": "importance", "loss_rise_low": "low", "loss_rise_high": "high"}.items():
        np.testing.assert_allclose(chosen[ours], found.loc[chosen.index, theirs], rtol=1e-9)
    assert chosen["loss_rise_low"].min() > 0


SUBJECTS = ("--entry", "start", "--strata", "ward", "--id", "patient")


def with_subjects() -> pd.DataFrame:
    """Two rows for each subject, the event in the second; wards and subjects are text."""
    frame, draw = a_frame(80), np.random.default_rng(1)
    frame = frame.assign(ward=draw.choice(["east", "west"], 80), patient=[f"p{i}" for i in range(80)], start=0.0)
    first = frame.assign(days=frame["days"] / 2, status="alive")
    return pd.concat([first, frame.assign(start=frame["days"] / 2)], ignore_index=True)


def test_stability_and_knockoffs_are_those_of_the_library(tmp_path):
    """With text labels of strata and subjects, of which each goes to one half."""
    out, evidence_too = tmp_path / "out", ("--stability", "--max-false", 2, "--fdr", 0.5)
    result = select(saved(with_subjects(), tmp_path), out, *TARGET, *SUBJECTS, *evidence_too, "--k", 2)
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out)) == sorted([*FILES, "stability.csv", "stability.png", "knockoffs.csv"])
    frame = pd.read_csv(tmp_path / "data.csv")
    roles = {"days": "time", "start": "entry", "ward": "strata", "patient": "id"}
    y = frame[list(roles)].rename(columns=roles).assign(event=frame["status"] == "dead")
    subjects = frame["patient"].iloc[:80].to_numpy()
    dead = (frame["status"] == "dead").to_numpy()[80:]
    _, drawn = train_test_split(np.arange(80), test_size=16, stratify=dead, random_state=0)
    fit = np.flatnonzero(~frame["patient"].isin(subjects[drawn]))
    X, ranker = frame[["dose", "noise", "town"]].iloc[fit], riata.LassoNetCoxRegressor((4,), select=0.0)
    stable = riata.StabilitySelector(ranker, max_false=2, threshold=0.75, n_resamples=6, random_state=0)
    stable.fit(X, y.iloc[fit])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        knockoffs = riata.evidence.KnockoffSelector(ranker, fdr=0.5, random_state=0).fit(X, y.iloc[fit])
    for name, column, selector, values in (
        ("stability", "frequency", stable, stable.frequencies_),
        ("knockoffs", "statistic", knockoffs, knockoffs.statistics_),
    ):
        written = pd.read_csv(out / f"{name}.csv").set_index("feature").loc[list(X.columns)]
        np.testing.assert_allclose(written[column], values, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(written["selected"], selector.selected_)
        selected = summary_of(out)[name]["selected"]
        assert sorted(selected) == sorted(X.columns[selector.selected_])
        assert name.capitalize() in result.stdout
    assert "dose" in summary_of(out)["stability"]["selected"]


def test_the_summary_is_complete(plain):
    """It has the entries of any selection, and the numbers of events."""
    out, frame = plain[0].parent / "dose", plain[0].parent / "data.csv"
    assert select(frame, out, "--target", "dose", "--drop", "days", "--k", 1).exit_code == 0
    summary, other = summary_of(plain[0]), summary_of(out)
    assert summary.keys() - other.keys() == {"events"} and not other.keys() - summary.keys()
    assert (summary["parameters"]["ties"], summary["n_selected"]) == ("breslow", 2)
    assert summary["selected"] == pd.read_csv(plain[0] / "selected.csv")["name"].tolist()


def test_cross_validation_is_by_concordance(tmp_path):
    result = select(saved(a_frame(100), tmp_path), tmp_path / "out", *TARGET, "--cv", 2, "--k", 2)
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "out")) == sorted([*FILES, "cv.csv", "cv.png"])
    summary = summary_of(tmp_path / "out")
    assert (summary["estimator"], summary["cv"]["score"]) == ("LassoNetCoxRegressorCV", "concordance")
    assert 0.6 < summary["cv"]["mean"] < 1
    assert set(summary["selected"]) == {"dose", "town"}


def test_entries_strata_and_subjects_are_those_of_the_library(tmp_path):
    """Subjects in two intervals each, with strata: the same path as the library on the same rows."""
    draw, once = np.random.default_rng(1), a_frame(100)
    once = once.assign(ward=draw.choice(["a", "b"], 100), patient=[f"p{i}" for i in range(100)], start=0.0)
    first = once.assign(days=once["days"] / 2, status="alive", noise=0.0)
    frame = pd.concat([first, once.assign(start=once["days"] / 2)], ignore_index=True)
    columns = ("--entry", "start", "--strata", "ward", "--id", "patient")
    result = select(saved(frame, tmp_path), tmp_path / "out", *TARGET, *columns, "--k", 1)
    assert result.exit_code == 0, result.stderr
    read = pd.read_csv(tmp_path / "data.csv")
    y = read[["days", "start", "ward", "patient"]].set_axis(["time", "entry", "strata", "id"], axis=1)
    y["event"] = read["status"] == "dead"
    dead = once["status"] == "dead"
    _, drawn = train_test_split(np.arange(100), test_size=20, stratify=dead, random_state=0)
    fit = np.flatnonzero(~y["id"].isin(once["patient"].iloc[drawn]))
    X = read[["dose", "noise", "town"]]
    model = riata.LassoNetCoxRegressor((4,), random_state=0, select="best").fit(X.iloc[fit], y.iloc[fit])
    path = pd.read_csv(tmp_path / "out" / "path.csv")
    pd.testing.assert_frame_equal(path, model.path_.to_frame(), check_dtype=False)
    assert summary_of(tmp_path / "out")["rows"] == {"used": 200, "fitted": 160, "held_out": 40}


# ---- what is held out -----------------------------------------------------------------------------------------------


def a_table(frame: pd.DataFrame, **more: str) -> Any:
    return prepare_survival(Source(frame, ".", ""), SurvivalColumns("days", "status", **more))


def test_rows_of_a_subject_are_held_out_together_and_events_in_proportion():
    frame = a_frame(150).assign(patient=np.arange(150) // 3)
    table = a_table(frame, id="patient")
    for seed in range(5):
        fit, held_out = table.split(seed)
        assert sorted([*fit, *held_out]) == list(range(150)) and len(held_out) == 30
        assert not set(frame["patient"].iloc[fit]) & set(frame["patient"].iloc[held_out])
        with_event = table.y["event"].groupby(frame["patient"]).any()
        share = with_event[sorted(set(frame["patient"].iloc[held_out]))].mean()
        assert abs(share - with_event.mean()) <= 0.1


def test_subjects_of_one_row_are_split_as_rows():
    frame = a_frame(60)
    named = frame.assign(patient=[f"p{i * 7 % 60}" for i in range(60)])
    for rows, of_subjects in zip(a_table(frame).split(3), a_table(named, id="patient").split(3), strict=True):
        np.testing.assert_array_equal(rows, of_subjects)


# ---- what is refused ------------------------------------------------------------------------------------------------


def rows_of_one_ward() -> pd.DataFrame:
    """Each row of the first held-out ones has a ward of its own."""
    frame = a_frame().assign(ward="a")
    frame.loc[held_out_rows(frame)[1][:2], "ward"] = ["b", "c"]
    return frame


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ((), ("give the column to predict, --target COL, or survival times, --time COL --event COL",)),
        (("--time", "days", "--target", "dose"), ("--time is for survival times, and --target for other",)),
        (("--entry", "days", "--target", "dose"), ("--entry is for survival times, and --target for other",)),
        (("--time", "days"), ("also need --event COL",)),
        (("--event", "status"), ("also need --time COL",)),
        (("--strata", "town"), ("--strata is for survival times", "--time COL")),
        ((*TARGET, "--task", "regression"), ("--task regression is for --target", "leave it out")),
        (("--time", "dys", "--event", "status"), ("no column 'dys': did you mean 'days'?",)),
        (
            ("--time", "days", "--event", "town"),
            ("'Lima' (", "name the level that is the event, such as --event town=Lima"),
        ),
        ((*TARGET, "--drop", "days"), ("'days' cannot be dropped",)),
        ((*TARGET, "--cv", "60"), ("--cv 60 needs 120 events among the 120 rows that are fitted", "use fewer folds")),
        ((*TARGET, "--strata", "ward"), ("strata whose rows were all held out: 'b', 'c'; merge small strata",)),
        ((*TARGET, "--id", "one"), ("--id has one subject only",)),
        ((*TARGET, "--k", "9"), ("between 1 and the number of features, 4",)),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_training(tmp_path, monkeypatch, options, messages):
    monkeypatch.setattr(selecting, "_fit", lambda *_: pytest.fail("fitted"))
    result = select(saved(rows_of_one_ward().assign(one=[1] * 150), tmp_path), tmp_path / "out", *options)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ") and result.stdout == ""
    for text in messages:
        assert text in result.stderr
    assert not (tmp_path / "out").exists()


def test_held_out_rows_that_cannot_be_compared_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(selecting, "_fit", lambda *_: pytest.fail("fitted"))
    frame = a_frame(25).assign(status="alive")
    frame.loc[frame["days"].nlargest(5).index, "status"] = "dead"  # one of them is held out, after all others
    result = select(saved(frame, tmp_path), tmp_path / "out", *TARGET)
    assert result.exit_code == 2
    assert "no two of the 5 held-out rows can be compared" in result.stderr


def test_another_selection_leaves_no_survival_curves_behind(tmp_path):
    (tmp_path / "survival.png").write_bytes(b"of an earlier run")
    frame = a_frame(60)
    assert select(saved(frame, tmp_path), tmp_path, "--target", "dose", "--k", 1).exit_code == 0
    assert "survival.png" not in os.listdir(tmp_path)
