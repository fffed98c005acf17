"""Laws of survival times in tables: what an event is, what a time is, and what is refused before any training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riata.files import ColumnOptions, Source, SurvivalColumns, Table, TableError, prepare_survival

PLAIN = SurvivalColumns("days", "status")


def a_frame(n: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"age": draw.normal(size=n), "days": draw.integers(3, 90, n), "status": np.arange(n) % 2})
    return frame.assign(clinic=np.where(np.arange(n) % 3 == 0, "north", "south"), patient=np.arange(n) // 2)


def prepared(frame: pd.DataFrame, names: SurvivalColumns = PLAIN, **options: tuple[str, ...]) -> Table:
    return prepare_survival(Source(frame, ".", "a frame"), names, ColumnOptions(**options))


def test_columns_of_the_target_leave_the_features_and_become_y():
    frame = a_frame().assign(start=1.0)
    table = prepared(frame, SurvivalColumns("days", "status", "start", "clinic", "patient"))
    assert table.X.columns.tolist() == ["age"]
    assert (table.task, table.target) == ("survival", "days, status, start, clinic, patient")
    expected = pd.DataFrame(
        {
            "time": frame["days"].astype(float),
            "entry": 1.0,
            "event": frame["status"] == 1,
            "strata": frame["clinic"],
            "id": frame["patient"],
        }
    )
    pd.testing.assert_frame_equal(table.y, expected, check_dtype=False)
    assert prepared(frame).y.columns.tolist() == ["time", "event"]
    assert {"start", "clinic"} & set(prepared(frame.assign(start=frame["age"])).X) == {"start", "clinic"}


@pytest.mark.parametrize(
    ("event", "censored"),
    [
        (1, 0), (1.0, 0.0), (True, False), ("yes", "no"), ("Y", "N"), ("TRUE", "false"), (" dead ", "alive"),
        ("Deceased", "Living"), ("1:DECEASED", "0:LIVING"), ("event", "censored"), ("1", "0"),
    ],
)  # fmt: skip
def test_an_event_is_what_its_name_says(event, censored):
    frame = a_frame()
    expected = (frame["status"] == 1).tolist()
    frame["status"] = [event if each else censored for each in expected]
    assert prepared(frame).y["event"].tolist() == expected


@pytest.mark.parametrize(
    ("event", "censored", "level"), [("a", "b", "a"), (2, 1, "2"), (2.5, 1.0, "2.5"), ("x=y", "z", "x=y")]
)
def test_a_level_names_the_event_where_its_name_does_not(event, censored, level):
    frame = a_frame()
    expected = (frame["status"] == 1).tolist()
    frame["status"] = [event if each else censored for each in expected]
    with pytest.raises(TableError, match="name the level that is the event, --event"):
        prepared(frame)
    assert prepared(frame, SurvivalColumns("days", f"status={level}")).y["event"].tolist() == expected
    with pytest.raises(TableError, match="'status' never is 'other'; it is "):
        prepared(frame, SurvivalColumns("days", "status=other"))


def test_of_several_levels_the_named_one_is_the_event_and_all_others_are_censored():
    frame = a_frame()
    frame["status"] = ["relapse", "death", "none", "lost"] * 10
    table = prepared(frame, SurvivalColumns("days", "status=relapse"))
    assert table.y["event"].sum() == 10
    assert (
        "10 of 40 rows end with the event: 'status' is relapse; censored where it is death, lost, none" in table.notes
    )


def test_a_column_may_have_an_equals_sign_in_its_name():
    frame = a_frame().rename(columns={"status": "a=b"})
    assert prepared(frame, SurvivalColumns("days", "a=b")).y["event"].sum() == 20
    assert prepared(frame, SurvivalColumns("days", "a=b=0")).y["event"].sum() == 20


def test_a_column_of_many_values_is_no_event():
    with pytest.raises(TableError, match=r"'days' has .* different values; the column of --event says whether"):
        prepared(a_frame(), SurvivalColumns("age", "days"))


def test_rows_without_a_time_an_event_a_stratum_or_a_subject_are_left_out_with_a_note():
    frame = a_frame().astype({"days": float, "status": float, "patient": float})
    frame.loc[[0, 7], "days"] = [np.nan, np.inf]
    frame.loc[1, "status"] = frame.loc[2, "patient"] = np.nan
    frame.loc[3, "clinic"] = None
    table = prepared(frame, SurvivalColumns("days", "status", strata="clinic", id="patient"))
    assert table.rows.tolist() == [i for i in range(40) if i not in (0, 1, 2, 3, 7)]
    assert len(table.X) == len(table.y) == 35 and table.y.index.tolist() == list(range(35))
    for text in (
        "2 rows without a value of 'days'",
        *(f"1 row without a value of '{c}'" for c in ("status", "clinic", "patient")),
    ):
        assert f"left out {text}" in table.notes


def test_cells_of_time_that_are_no_numbers_are_named():
    frame = a_frame().astype({"days": object})
    frame.loc[4, "days"] = "unknown"
    assert any("not numbers: 'unknown' (row 5)" in note for note in prepared(frame).notes)


def test_dates_become_days_since_the_entry():
    frame = a_frame()
    begin = pd.Timestamp("2020-01-31") + pd.to_timedelta(np.arange(40), "D")
    end = begin + pd.to_timedelta(frame["days"].to_numpy(), "D")
    text = frame.assign(begin=begin.strftime("%d.%m.%Y"), days=end.strftime("%Y-%m-%d"))
    table = prepared(text, SurvivalColumns("days", "status", "begin"))
    assert table.y["time"].tolist() == frame["days"].tolist()
    assert "entry" not in table.y
    assert "times are days from 'begin' to 'days'" in table.notes


def test_with_subjects_dates_become_days_since_the_first_entry_of_each():
    frame = a_frame(24)
    begin = pd.Timestamp("2020-01-31") + pd.to_timedelta(np.arange(24) % 2 * 10 + np.arange(24) // 2, "D")
    dated = frame.assign(begin=begin, end=begin + pd.to_timedelta(10, "D"))
    y = prepared(dated, SurvivalColumns("end", "status", "begin", id="patient")).y
    assert y["entry"].tolist() == [0, 10] * 12 and y["time"].tolist() == [10, 20] * 12


def dated(days: object = "2020-03-01", start: object = "2020-01-01") -> pd.DataFrame:
    return a_frame().assign(days=days, start=start)


@pytest.mark.parametrize(
    ("frame", "names", "message"),
    [
        (a_frame(), SurvivalColumns("dais", "status"), "no column 'dais': did you mean 'days'"),
        (a_frame(), SurvivalColumns("days", "statsu=1"), "no column 'statsu': did you mean 'status'"),
        (a_frame(), SurvivalColumns("days", "days"), "'days' is given with --time and with --event"),
        (
            a_frame(),
            SurvivalColumns("clinic", "status"),
            "'clinic' must hold times, numbers or dates; it holds 'north'",
        ),
        (a_frame().replace({"days": 3}, -2).assign(days=-2), PLAIN, r"'days' is negative in rows 1, .* \(-2\)"),
        (
            a_frame().assign(start=3.0, days=3),
            SurvivalColumns("days", "status", "start"),
            "not after 'start' in rows 1",
        ),
        (a_frame().assign(status=0), PLAIN, r"no row ends with an event \('status'\); at least 5 are needed"),
        (a_frame().assign(status=[1] * 4 + [0] * 36), PLAIN, "4 of 40 rows end with an event"),
        (a_frame(9), PLAIN, "the table has 9 rows"),
        (
            a_frame().assign(status=[1] * 8 + [None] * 32),
            PLAIN,
            "8 rows have values of all of 'days', 'status'; 10 are",
        ),
        (dated(), PLAIN, "'days' holds dates: give the column with the dates .* --entry COL"),
        (dated(start=3), SurvivalColumns("days", "status", "start"), "'days' holds dates and 'start' numbers"),
        (dated(days=3), SurvivalColumns("days", "status", "start"), "'start' holds dates and 'days' numbers"),
        (
            dated(start="2021-01-01"),
            SurvivalColumns("days", "status", "start"),
            "'days' is before 'start' in rows 1, 2",
        ),
        (a_frame()[["days", "status"]], PLAIN, "no column can be a feature"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_remedy(frame, names, message):
    with pytest.raises(TableError, match=message):
        prepared(frame, names)


def test_columns_of_the_target_cannot_be_dropped_or_categories():
    with pytest.raises(TableError, match="the target 'status' cannot be dropped"):
        prepared(a_frame(), drop=("status",))
    with pytest.raises(TableError, match="'days' is given with --time, so that it cannot be a category"):
        prepared(a_frame(), categorical=("days",))
    with pytest.raises(TableError, match="no column 'x'"):
        prepared(a_frame(), drop=("x",))


def test_digits_are_dates_on_request():
    frame = a_frame().assign(days=20200301, start=[20200101 + i % 9 for i in range(40)])
    y = prepared(frame, SurvivalColumns("days", "status", "start"), dates=("days", "start")).y
    assert y["time"].tolist() == [60 - i % 9 for i in range(40)]
