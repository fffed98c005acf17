"""Values come back equal; nothing that is not known beforehand is written or built."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from riata.storage import Kind, ModelFileError, Reader, Writer


@dataclass(frozen=True, eq=False)
class Leaf:
    array: np.ndarray
    hidden: object = None


class Pair(NamedTuple):
    left: object
    right: object


KINDS = {"leaf": Kind(Leaf, without=("hidden",)), "Pair": Kind(Pair)}


def there_and_back(value: object) -> object:
    writer = Writer(KINDS)
    tree = json.loads(json.dumps(writer.write(value, "value"), allow_nan=False))
    return Reader(KINDS, writer.arrays).read(tree)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.floats(allow_nan=False), inner)
    ),
    max_leaves=20,
)


@given(values)
def test_plain_values_come_back_equal_and_of_the_same_type(value):
    found = there_and_back(value)
    assert found == value and type(found) is type(value)


def test_numbers_that_json_has_not_come_back():
    assert np.isnan(there_and_back(float("nan"))) and there_and_back([np.inf, -np.inf]) == [np.inf, -np.inf]
    assert there_and_back(np.float32(0.1)) == float(np.float32(0.1))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([[True], [False]]),
        np.array(["a", "<b>", "ü"]),
        np.array(["a", 1, None, 2.5, True], dtype=object),
        np.array(["2026-01-31", "NaT"], dtype="datetime64[D]"),
        np.array(2.5),
        np.zeros((3, 0)),
    ],
)
def test_arrays_come_back_with_their_type_and_shape(array):
    found = there_and_back(array)
    assert found.dtype == array.dtype and found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_an_array_that_was_read_can_be_changed():
    found = there_and_back(np.zeros(2))
    found[0] = 1  # the buffer of a file could not be


def test_frames_indexes_dates_tensors_and_dtypes_come_back():
    frame = pd.DataFrame({"number": [1.5, np.nan], 2: ["a", None], "tuple": [(1,), (2, 3)]})
    pd.testing.assert_frame_equal(there_and_back(frame), frame, check_dtype=False)
    assert there_and_back(pd.Index(["a", 1, date(2026, 1, 31)], dtype=object)).tolist() == ["a", 1, date(2026, 1, 31)]
    stamp = pd.Timestamp("2026-01-31 12:00:00.123456789")
    assert there_and_back([stamp, datetime(2026, 1, 31, 12)]) == [stamp, datetime(2026, 1, 31, 12)]
    assert there_and_back(np.dtype("int32")) == np.dtype("int32")
    torch.testing.assert_close(there_and_back(torch.arange(3.0)), torch.arange(3.0), rtol=0, atol=0)


def test_an_object_that_is_referred_to_twice_stays_one_object():
    leaf = Leaf(np.arange(3), hidden="not stored")
    found = there_and_back([Pair(leaf, {"again": leaf}), leaf])
    assert found[0].left is found[0].right["again"] is found[1]
    assert found[1].hidden is None and found[1].array.tolist() == [0, 1, 2]


class Other(NamedTuple):
    field: int


@pytest.mark.parametrize("value", [print, object(), {1, 2}, 1j, pytest, lambda: 0, Leaf, Other(1)])
def test_what_is_not_known_is_not_written(value):
    with pytest.raises(ModelFileError, match=r"thing\[0\] cannot be part of a model file"):
        Writer(KINDS).write([value], "thing")


@pytest.mark.parametrize(
    "tree",
    [
        {"is": "os.system", "with": {"command": "true"}},
        {"is": "leaf", "with": {"array": 1, "__class__": 2}},
        {"is": "leaf", "with": {"hidden": 1}},
        {"is": "leaf", "with": {}},
        {"is": "leaf"},
        {"is": ["leaf"], "with": {}},
        {"same": 0},
        {"same": "x"},
        {"array": "a9"},
        {"float": "1e5"},
        {"dtype": "O"},
        {"dtype": "no such type"},
        {"objects": [1], "shape": [2], "dtype": "|O"},
        {"objects": [1], "shape": [1], "dtype": "|V8"},
        {"dict": [[[1], 2]]},
        {"tuple": 5},
        {"frame": [1], "columns": []},
        {"date": "yesterday", "timestamp": False},
        {},
        {"__reduce__": []},
    ],
)
def test_what_no_writer_writes_is_refused(tree):
    with pytest.raises(ModelFileError):
        Reader(KINDS, {}).read([tree])
