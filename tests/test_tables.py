"""Laws of reading a table: what becomes a feature, what becomes a class, and what is pointed out."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from riata.tables import TableError, prepare, read


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


@pytest.mark.parametrize(
    ("values", "task", "why"),
    [
        (["a", "b"] * 20, "classification", "is text with 2 distinct values"),
        ([True, False] * 20, "classification", "is true or false"),
        (pd.Categorical([1.5, 2.5] * 20), "classification", "is text with 2 distinct values"),
        ([0, 1] * 20, "classification", "has whole numbers with 2 distinct values (--task regression otherwise)"),
        (list(range(40)), "regression", "has whole numbers with 40 distinct values (--task classification otherwise)"),
        ([0.5, 1.0] * 20, "regression", "has numbers with decimals"),
    ],
)
def test_the_task_is_decided_by_the_target_and_the_decision_explained(values, task, why):
    table = prepare(pd.DataFrame({"x": np.random.default_rng(0).random(40), "y": values}), "y")
    assert table.task == task
    assert table.notes[0].startswith(f"task: {task}, as 'y'")
    assert why in table.notes[0]


def test_classes_stored_as_floats_because_some_are_missing_stay_classes(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("x,y\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(30)) + "0.5,\n")
    table = prepare(read(file), "y")
    assert (table.task, table.n_dropped, table.y.dtype) == ("classification", 1, int)
    file.write_text("x,y\n" + "".join(f"{i / 7},{i % 2 == 0}\n" for i in range(30)) + "0.5,\n")
    assert set(prepare(read(file), "y").y) == {"True", "False"}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv_is_read_with_any_usual_separator_and_with_a_byte_order_mark(tmp_path, separator, encoding):
    frame = mixed().rename(columns={"size": "größe"})
    frame.to_csv(tmp_path / "data.csv.gz", index=False, sep=separator, encoding=encoding)
    pd.testing.assert_frame_equal(read(tmp_path / "data.csv.gz"), frame)


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path):
    numbers().set_index("a").to_parquet(tmp_path / "data.parquet")
    assert read(tmp_path / "data.parquet").columns.tolist() == list("abcdy")


def test_numbers_are_used_as_they_are_and_text_becomes_zeros_and_ones():
    frame = mixed().assign(code=pd.Categorical([1, 2, 3] * 50), count=pd.array([4, 5] * 75, dtype="Int64"))
    table = prepare(frame, "y")
    assert table.X["flag"].tolist() == frame["flag"].astype(float).tolist()
    assert table.X["count"].tolist() == [4.0, 5.0] * 75
    assert table.groups is not None
    assert table.groups[3:5] == [["city=Lima", "city=Oslo", "city=Rome"], ["code=1", "code=2", "code=3"]]
    assert sorted(itertools.chain.from_iterable(table.groups)) == sorted(table.X)
    assert (table.X[table.groups[3]].sum(axis=1) == 1).all()
    assert prepare(numbers(), "y").groups is None


def test_encoded_names_that_exist_already_are_refused():
    with pytest.raises(TableError, match="'city' gives city=Rome, which is a column already"):
        prepare(mixed().assign(**{"city=Rome": 1.5})[["city=Rome", "city", "size", "y"]], "y")


def test_doubtful_columns_are_pointed_out():
    frame = numbers().assign(row=range(1, 101), age=[str(i % 30) for i in range(99)] + ["?"])
    frame["name"] = [f"n{i // 2 + (i % 2) * (i < 60) * 100}" for i in range(100)]
    notes = "\n".join(prepare(frame, "y").notes)
    assert "'row' numbers the rows; if it is no feature, leave it out: --drop row" in notes
    assert "'age' is encoded as text with 31 levels because of '?' among its numbers" in notes
    assert "'name' is text with 80 levels in 100 rows" in notes
