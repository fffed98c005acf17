"""Laws of reading a table: what cells hold, what becomes a feature, what becomes a class, and which remarks are made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riata.files import (
    ColumnOptions,
    ReadOptions,
    Seen,
    Source,
    TableError,
    extreme_target,
    kinds,
    prepare,
    read,
    read_table,
    unlike_training,
)
from riata.files.convert import decimal_of, to_dates, to_numbers


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


def table(frame: pd.DataFrame, **options):
    return prepare(Source(frame, ".", ""), "y", options=ColumnOptions(**options))


# ---- cells ----------------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([",", "."]))
def test_a_number_that_is_written_is_read_back(value, decimal):
    assert to_numbers([repr(value).replace(".", decimal)], decimal)[0] == value


@given(
    st.integers(-(10**12), 10**12),
    st.integers(0, 99),
    st.sampled_from([(",", "."), (".", ","), (" ", "."), ("\u202f", ",")]),
)
def test_thousands_are_read_back_with_any_usual_sign(whole, cents, signs):
    thousands, decimal = signs
    written = f"{whole:,}".replace(",", thousands) + decimal + f"{cents:02d}"
    expected = float(f"{whole}.{cents:02d}")
    assert to_numbers([written, f"$ {written}", f"{written} %"], decimal).tolist() == [expected] * 3
    if thousands != " " and abs(whole) >= 10**6 and thousands in ",.":
        assert decimal_of([written]) == decimal


@pytest.mark.parametrize("cell", ["", "x", "1x", "1,23,4", "12,34.5", "1.2.3", "--1", "1e", "nan", "0x10", "1 23"])
def test_what_is_no_number_is_none(cell):
    assert np.isnan(to_numbers([cell], ".")).all()


def test_ambiguous_numbers_count_for_neither_decimal_sign():
    assert decimal_of(["1,234", "123,456"]) == "."
    assert decimal_of(["1,234", "0,5"]) == ","
    assert decimal_of(["1,5", "2.5", "3.5"]) == "."


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%B %d, %Y", "%Y-%m-%d %H:%M:%S",
     "%Y-%m-%dT%H:%M", "%d.%m.%y", "%Y-%m-%dT%H:%M:%SZ"],
)  # fmt: skip
def test_dates_are_read_back_in_any_usual_format(form):
    days = pd.date_range("2019-11-25 03:00", periods=90, freq="25h").round("h")
    days = days if "%H" in form else days.normalize()
    found = to_dates(days.strftime(form).tolist())
    assert found.values.tolist() == days.tolist() and found.remark == ""


def test_ambiguous_days_and_months_are_remarked():
    assert "the month comes first, as in 3/4/2026" in to_dates(["3/4/2026", "5/6/2026"]).remark
    assert to_dates(["3.4.2026"]).values[0] == pd.Timestamp("2026-04-03")
    assert to_dates(["30/13/2026", "soon", "20260131"]).values.isna().all()
    assert to_dates(["20260131"], digits=True).values[0] == pd.Timestamp("2026-01-31")


@pytest.mark.parametrize(
    ("cell", "value"),
    [("12 €", 12), ("€12", 12), ("USD 1,200", 1200), ("-$5", -5), ("$-5", -5), ("(629)", -629), ("\u22125.2", -5.2)],
)
def test_currencies_and_other_minus_signs_are_understood(cell, value):
    assert to_numbers([cell], ".")[0] == value


def test_morning_and_afternoon_are_told_apart():
    cells = ["03/21/2024 12:00:12 AM", "03/21/2024 01:30 PM", "3/21/2024 12:05 pm"]
    hours = [(moment.hour, moment.minute) for moment in to_dates(cells).values]
    assert hours == [(0, 0), (13, 30), (12, 5)]


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_text_is_read_with_any_usual_separator_and_encoding(tmp_path, separator, encoding):
    frame = mixed().rename(columns={"size": "größe"})
    frame.to_csv(tmp_path / "data.csv.gz", index=False, sep=separator, encoding=encoding)
    pd.testing.assert_frame_equal(read(tmp_path / "data.csv.gz").frame, frame)


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path):
    numbers().set_index("a").to_parquet(tmp_path / "data.parquet")
    assert read(tmp_path / "data.parquet").frame.columns.tolist() == list("abcdy")


def test_a_user_can_name_cells_that_stand_for_missing_values(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n" + "1,-9\n2,x\n3,5\n" * 5)
    assert kinds(read(tmp_path / "data.csv", ReadOptions(na=("-9", "x"))).frame)[1].holds.endswith("10 missing")


def test_a_table_in_python_is_that_of_the_command_line(tmp_path):
    frame = mixed()
    frame.to_csv(tmp_path / "data.csv", index=False)
    found = read_table(str(tmp_path / "data.csv"), "y", drop=["noise"])
    assert found.X.columns.tolist() == ["size", "flag", "city"] and found.task == "classification"
    assert found.kinds["kind"].tolist() == ["number", "left out", "number", "category"]


# ---- kinds ----------------------------------------------------------------------------------------------------------


def test_columns_stay_columns_whatever_they_hold():
    frame = mixed().assign(code=pd.Categorical([1, 2, 3] * 50), count=pd.array([4, 5] * 75, dtype="Int64"))
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(range(150), unit="D")
    found = table(frame)
    assert found.X.columns.tolist() == [name for name in frame if name != "y"]
    expected = {"flag": "number", "city": "category", "code": "category", "count": "number", "when": "date"}
    assert {column.name: column.kind for column in found.columns}.items() >= expected.items()


def test_numbers_with_few_bad_cells_are_numbers_and_codes_with_many_letters_are_categories():
    n = 200
    plain = [str(i % 50) for i in range(n)]
    cells = {"typos": [*plain[:-3], "4o", "l7", "1..2"], "marks": ["?" if i % 3 == 0 else plain[i] for i in range(n)]}
    cells["codes"] = [f"{i % 9}A" if i % 2 else str(i % 9) for i in range(n)]
    found = {column.name: column for column in kinds(pd.DataFrame(cells))}
    assert {name: column.kind for name, column in found.items()} == {
        "typos": "number",
        "marks": "number",
        "codes": "category",
    }
    assert found["typos"].invalid.tolist() == ["4o", "l7", "1..2"]
    assert "'4o', 'l7', '1..2' (rows 198, 199, 200)" in found["typos"].use


def test_a_unit_that_all_cells_share_is_ignored_with_a_remark():
    cells = {"dose": [f"{i % 9} mg" for i in range(100)], "code": [f"{i % 9}{'ab'[i % 2]}" for i in range(100)]}
    dose, code = kinds(pd.DataFrame(cells))
    assert (dose.kind, code.kind) == ("number", "category")
    assert dose.values.tolist()[:3] == [0, 1, 2] and "the unit 'mg' is ignored" in dose.use


def test_digits_with_leading_zeros_are_codes(tmp_path):
    (tmp_path / "data.csv").write_text("zip,x\n" + "".join(f"0{i % 7}139,{i}\n1{i % 7}139,{i}.5\n" for i in range(30)))
    zip_, _ = kinds(read(tmp_path / "data.csv").frame)
    assert zip_.kind == "category" and zip_.values[0] == "00139"


def test_a_number_far_from_all_others_that_repeats_may_be_a_code_for_missing_values():
    age = np.random.default_rng(0).integers(18, 90, 200)
    coded, plain = kinds(pd.DataFrame({"coded": np.where(np.arange(200) % 12 == 0, -99, age), "age": age}))
    assert "17 cells are -99, far from all others: if that stands for missing, --na -99" in coded.use
    assert plain.use == "as it is"
    note = table(numbers().assign(y=np.where(np.arange(100) % 9, np.linspace(82, 144, 100), -99.0))).notes[0]
    assert "12 cells are -99" in note


def test_levels_that_differ_in_capitals_only_are_remarked_and_spaces_around_them_do_not_count():
    (column,) = kinds(pd.DataFrame({"smoker": ["yes", "Yes", "no", " no"] * 10}))
    assert column.holds.startswith("3 levels") and "'Yes'" in column.use and "differ in capitals only" in column.use


def test_names_below_a_title_are_reached_with_skip(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("Sales of 2024\n\na,b,c,y\n" + "".join(f"{i / 3},{i % 7},{i % 5},{i}\n" for i in range(40)))
    with pytest.raises(TableError, match="--skip"):
        read_table(file, "y")
    assert read_table(file, "y", skip=2).X.shape == (40, 3)
    numbers().to_excel(tmp_path / "data.xlsx", index=False, startrow=2)
    with pytest.raises(TableError, match="--skip"):
        read_table(tmp_path / "data.xlsx", "y")
    found = read_table(tmp_path / "data.xlsx", "y", skip=2, drop="a")
    assert repr(found) == "Table(100 rows, 3 features of 4 columns, target 'y', regression)"


def test_a_user_overrules_the_inferred_kind():
    frame = numbers().assign(
        row=range(1, 101), zip=[f"{i % 7}" for i in range(100)], name=[f"n{i // 5 * 4 + i % 4}" for i in range(100)]
    )
    assert [column.kind for column in kinds(frame)][-3:] == ["identifier", "number", "identifier"]
    options = ColumnOptions(numeric=("row",), categorical=("zip", "name"), drop=("a",))
    assert [column.kind for column in kinds(frame, options=options)][-3:] == ["number", "category", "category"]
    assert kinds(frame, options=options)[0].kind == "left out"
    with pytest.raises(TableError, match="did you mean 'zip'"):
        kinds(frame, options=ColumnOptions(drop=("zipp",)))


# ---- the target -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "task", "why"),
    [
        (["a", "b"] * 20, "classification", "is text with 2 distinct values"),
        ([True, False] * 20, "classification", "is true or false"),
        (pd.Categorical([1.5, 2.5] * 20), "classification", "is text with 2 distinct values"),
        ([0, 1] * 20, "classification", "has whole numbers with 2 distinct values (--task regression otherwise)"),
        (list(range(40)), "regression", "has whole numbers with 40 distinct values (--task classification otherwise)"),
        ([0.5, 1.0] * 20, "regression", "has numbers with decimals"),
        ([f"{i},5" for i in range(40)], "regression", "has numbers with decimals"),
    ],
)
def test_the_task_is_decided_by_the_target_and_the_decision_explained(values, task, why):
    found = table(pd.DataFrame({"x": np.random.default_rng(0).random(40), "y": values}))
    assert found.task == task
    assert found.notes[0].startswith(f"task: {task}, as 'y'")
    assert why in found.notes[0]


def test_classes_stored_as_floats_because_some_are_missing_stay_classes(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("x,y\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(30)) + "0.5,\n")
    found = prepare(read(file), "y")
    assert (found.task, len(found.y), found.y.dtype) == ("classification", 30, int)
    file.write_text("x,y\n" + "".join(f"{i / 7},{i % 2 == 0}\n" for i in range(30)) + "0.5,\n")
    assert set(prepare(read(file), "y").y) == {"True", "False"}


def test_rows_keep_their_number_in_the_file_where_others_have_no_target():
    frame = numbers()
    frame.loc[[0, 5], "y"] = np.nan
    assert table(frame).rows[:5].tolist() == [1, 2, 3, 4, 6]


# ---- unusual rows -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e9]))
def test_targets_of_the_usual_shapes_are_not_extreme_in_any_unit(seed, unit):
    draw = np.random.default_rng(seed)
    for y in (
        draw.standard_normal(300),
        draw.exponential(size=300),
        draw.integers(0, 5, 300).astype(float),
        np.ones(300),
    ):
        assert extreme_target(unit * y, np.arange(300), "y") == ""


def test_a_few_rows_that_hold_all_of_the_variation_are_named():
    y = np.random.default_rng(0).standard_normal(500)
    y[[7, 20]] = 1e6, -3e6
    text = extreme_target(y, np.arange(500), "price")
    assert "rows 8, 21 of 'price' hold 1e+06, -3e+06" in text and "--na 1000000 --na -3000000" in text


def test_held_out_rows_unlike_the_training_rows_are_named_with_their_column():
    X = pd.DataFrame({"a": np.linspace(0, 1, 20), "b": ["x", "y"] * 10, "c": np.linspace(0, 1, 20)})
    X.loc[19, ["a", "b", "c"]] = [50.0, "z", None]
    seen, levels = [Seen.of(X[name][:15]) for name in X], {"b": pd.Index(["x", "y"])}
    notes = unlike_training(X[15:], seen, levels, np.arange(115, 120))
    assert "'a' is 50 in row 120, which was held out, and between 0 and" in notes[0]
    assert "(row 120) holds a level of 'b' that no training row has: 'z'" in notes[1]
    assert "'c' is missing in row 120" in notes[2]
    assert unlike_training(X[15:19], seen, levels, np.arange(15, 19)) == []
    assert "held out" not in " ".join(unlike_training(X[15:], seen, levels, np.arange(115, 120), held_out=False))
