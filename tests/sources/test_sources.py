"""Tables that are read block by block: every form gives the numbers of the array, and one pass checks them all."""

from __future__ import annotations

from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from riata import Rows, open_rows
from riata.sources import Order, in_memory, limits, n_held, numbers, recognised, steps, survey
from tests.sources.tables import FORMS, OnlySlices, Recorded, as_memmap


@pytest.fixture
def table(rng):
    return rng.normal(size=(100, 5)).astype(np.float32)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_rows_and_columns_of_the_array(form, table, tmp_path):
    rows = recognised(FORMS[form](table, tmp_path))
    assert rows.shape == table.shape
    ranges = [(0, 100), (0, 7), (7, 33), (33, 40), (5, 12), (99, 100), (40, 99)]  # on, back, across groups and files
    for start, stop in ranges:
        np.testing.assert_array_equal(rows.rows(start, stop), table[start:stop])
        for columns in ([0, 1, 2, 3, 4], [1, 4], [2]):
            here = rows.rows(start, stop, np.array(columns))
            np.testing.assert_array_equal(here, table[start:stop, columns])
            assert here.dtype == np.float32


@pytest.mark.parametrize("form", FORMS)
def test_blocks_cover_every_row_once_and_in_order(form, table, tmp_path):
    rows = recognised(FORMS[form](table, tmp_path))
    for size in (1, 8, 30, 1000):
        edges = rows.edges(size)
        assert edges[0] == 0 and edges[-1] == 100 and (np.diff(edges) > 0).all()
    assert [start for start, _ in steps(rows)][1:] == [stop for _, stop in steps(rows)][:-1]


def test_a_mapped_file_can_be_written_to_between_reads(table, tmp_path):
    """Its pages are handed back after each read, which must lose nothing."""
    np.save(tmp_path / "table.npy", table)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r+")
    rows = recognised(mapped)
    rows.rows(0, 100)
    mapped[3, 2] = 7
    assert rows.rows(3, 4)[0, 2] == 7
    copied = np.load(tmp_path / "table.npy", mmap_mode="c")  # what is written stays in memory
    rows = recognised(copied)
    copied[3, 2] = 8
    rows.rows(0, 100)
    assert rows.rows(3, 4)[0, 2] == 8


def test_what_is_in_memory_is_no_table_to_read_block_by_block(table, tmp_path):
    folder = tmp_path / "joblib_memmapping_folder_1_2"
    folder.mkdir()
    joblib.dump(table, folder / "X")
    handed_over = joblib.load(folder / "X", mmap_mode="r")  # as joblib hands arrays to its workers
    assert isinstance(handed_over, np.memmap)
    frame = pd.DataFrame(table)
    for X in (table, table.tolist(), frame, csr_matrix(table), torch.tensor(table), frame[0], handed_over, None, "X"):
        assert recognised(X) is None
        assert in_memory(X, "it") is X


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.float16, np.float32),
        (np.bool_, np.float32),
        (np.int32, np.float64),
        (np.int64, np.float64),
        (np.float64, np.float64),
    ],
)
def test_a_type_is_kept_until_a_block_is_converted_and_then_no_number_changes(given, needed, rng, tmp_path):
    table = rng.integers(0, 2 if given is np.bool_ else 100, size=(20, 3)).astype(given)
    block = recognised(as_memmap(table, tmp_path)).rows(3, 9)
    assert block.dtype == given and numbers(block).dtype == needed
    np.testing.assert_array_equal(numbers(block), table[3:9].astype(float))


def test_missing_numbers_of_parquet_are_nan_and_whole_numbers_stay_exact(tmp_path):
    frame = pd.DataFrame({"a": pd.array([2**40 + 1, None, 3], dtype="Int64"), "b": [True, False, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    rows = open_rows(tmp_path / "t.parquet")
    np.testing.assert_array_equal(rows.rows(0, 3), [[2**40 + 1, 1], [np.nan, 0], [3, 1]])


def test_columns_and_target_of_parquet_are_given_by_name(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2], "y": ["u", "v"], "b": [3.0, 4], "text": ["s", "t"]})
    frame.to_parquet(tmp_path / "t.parquet")
    rows = open_rows(str(tmp_path / "t.parquet"), columns=["b", "a"], target="y")
    assert rows.names == ("b", "a") and rows.target.tolist() == ["u", "v"] and rows.shape == (2, 2)
    assert rows.rows(0, 2).tolist() == [[3, 1], [4, 2]]
    with pytest.raises(ValueError, match=r"must hold numbers; others are 'text'.*columns="):
        open_rows(tmp_path / "t.parquet", target="y")
    with pytest.raises(ValueError, match="no column 'z'; it has 'a', 'y'"):
        open_rows(tmp_path / "t.parquet", columns=["z"])
    with pytest.raises(ValueError, match="no column 'z'"):
        open_rows(tmp_path / "t.parquet", target="z")


def test_what_is_no_table_is_refused(table):
    with pytest.raises(ValueError, match="shape of rows and columns; got list"):
        open_rows([1, 2])
    with pytest.raises(ValueError, match="columns and target are names of columns of a Parquet table"):
        open_rows(table, target="y")
    assert open_rows(table).rows(0, 2).shape == (2, 5)
    with pytest.raises(ValueError, match="one name for each of the 5 columns; got 1"):
        Recorded(table, names=["a"])


def test_so_many_rows_are_held_that_their_inputs_fit():
    assert n_held(10**6, 10) == 10**6  # a table that fits is held whole
    assert n_held(10**8, 10) == limits.MOST_ROWS
    assert n_held(10**6, 500) * 500 * 6 <= limits.MOST_INPUTS
    assert n_held(10**6, 100_000) * 100_000 <= limits.MOST_INPUTS
    assert n_held(100, 10**9) == 100 or n_held(100, 10**9) >= 1


def test_a_table_in_memory_is_read_whole_where_it_fits_and_refused_elsewhere(table, tmp_path, monkeypatch):
    np.testing.assert_array_equal(in_memory(OnlySlices(table), "it"), table)
    named = in_memory(FORMS["parquet"](table, tmp_path), "it")
    assert list(named.columns) == ["x0", "x1", "x2", "x3", "x4"]
    np.testing.assert_array_equal(np.asarray(Recorded(table)), table)
    monkeypatch.setattr(limits, "MOST_INPUTS", 300)
    monkeypatch.setattr(limits, "_FEWEST", 16)
    with pytest.raises(ValueError, match="SomeSelector needs all rows in memory, and X has 100 of 5 columns"):
        in_memory(OnlySlices(table), "SomeSelector")
    with pytest.raises(ValueError, match="larger than what is held in memory"):
        np.asarray(Recorded(table))


# ---- the order in which blocks are read


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 5), st.lists(st.integers(0, 80), max_size=5)
)
def test_an_order_has_every_row_once_in_each_round_however_it_is_cut(sizes, seed, cuts):
    edges = np.append(0, np.cumsum(sizes))
    n, order = int(edges[-1]), Order(edges, seed)
    ends = sorted({0, 3 * n, *(cut for cut in cuts if cut < 3 * n)})
    rows = [r for a, b in pairwise(ends) for here in order.ranges(a, b) for r in range(*here)]
    assert rows == [r for here in Order(edges, seed).ranges(0, 3 * n) for r in range(*here)]
    for turn in range(3):
        assert sorted(rows[turn * n : (turn + 1) * n]) == list(range(n))


def test_an_order_depends_on_its_seed_and_differs_between_rounds():
    edges = np.arange(0, 1001, 10)
    first, other = (list(Order(edges, seed).ranges(0, 2000)) for seed in (0, 1))
    assert first != other and first[:100] != first[100:]


# ---- the pass over all rows


def test_a_pass_returns_the_rows_asked_for_and_which_columns_vary(rng):
    table = rng.normal(size=(50, 4))
    table[:, 1] = 3
    table[5, 2] = np.nan
    found = survey(Recorded(table), np.array([0, 5, 17, 49]), allow_gaps=True)
    np.testing.assert_array_equal(found.drawn, table[[0, 5, 17, 49]])
    assert found.varies.tolist() == [True, False, True, True]
    assert found.gaps.tolist() == [False, False, True, False]


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_one_bad_number_in_any_row_is_refused_with_its_column(value, what, rng, monkeypatch):
    monkeypatch.setattr("riata.sources.one_pass._ENTRIES", 40)
    table = rng.normal(size=(200, 4))
    table[123, 2] = value
    with pytest.raises(ValueError, match=f"contains {what}: between rows 120 and 130, in column c"):
        survey(Recorded(table, names=list("abcd")), np.arange(3), allow_gaps=False)


def test_a_column_that_hardly_ever_varies_is_named(rng):
    table = rng.normal(size=(200, 3))
    table[:, 1] = 0
    table[150, 1] = 1
    with pytest.warns(UserWarning, match="1 columns hold one number in all of the 100 rows that were drawn.*: 1$"):
        survey(Recorded(table), np.arange(100), allow_gaps=False)


def test_text_and_tables_without_rows_are_refused():
    with pytest.raises(
        ValueError, match=r"X holds <U1, and a table that is read block by block must hold real numbers"
    ):
        survey(Recorded(np.array([["a"], ["b"]])), np.arange(1), allow_gaps=False)
    with pytest.raises(ValueError, match="X has no rows"):
        survey(Recorded(np.empty((0, 2))), np.arange(0), allow_gaps=False)


def test_a_table_of_ones_own_needs_rows_alone(table):
    class Halves(Rows):
        def rows(self, start, stop, columns=None):
            found = table[start:stop] / 2
            return found if columns is None else found[:, columns]

    rows = Halves(table.shape)
    assert len(rows) == 100 and recognised(rows) is rows
    np.testing.assert_array_equal(np.asarray(rows), table / 2)
