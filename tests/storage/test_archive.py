"""Archives come back as they were, or are refused with a reason."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riata.storage import ModelFileError, pack, unpack
from riata.storage.archive import SCHEMA

TREE = {"name": "ü\ud800", "numbers": [1, 2.5, None, True], "empty": {}}
ARRAYS = {
    "a0": np.arange(6.0).reshape(2, 3),
    "a1": np.zeros((0, 4), np.float32),
    "a2": np.array([True, False]),
    "a3": np.array(7),
}
DATA = pack(TREE, ARRAYS)


def rebuilt(**changed: bytes) -> bytes:
    """The archive with some members replaced, or added."""
    with zipfile.ZipFile(io.BytesIO(DATA)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in (members | changed).items():
            archive.writestr(name, data)
    return buffer.getvalue()


def manifest(**changed: object) -> bytes:
    with zipfile.ZipFile(io.BytesIO(DATA)) as archive:
        return json.dumps(json.loads(archive.read("manifest.json")) | changed).encode()


def same(found: tuple) -> bool:
    tree, arrays = found
    equal = all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in ARRAYS.items()
    )
    return tree == TREE and arrays.keys() == ARRAYS.keys() and equal


def test_what_is_packed_comes_back_and_packs_to_the_same_bytes():
    assert same(unpack(DATA))
    assert pack(*unpack(DATA)) == DATA


@given(st.integers(0, len(DATA) - 1))
def test_a_truncated_archive_is_refused(length):
    with pytest.raises(ModelFileError):
        unpack(DATA[:length])


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(place, change):
    """Dates and attributes of members, for instance, may be anything."""
    data = bytearray(DATA)
    data[place] ^= change
    try:
        found = unpack(bytes(data))
    except ModelFileError:
        return
    assert same(found)


@given(st.binary(max_size=300))
def test_anything_else_is_refused(data):
    with pytest.raises(ModelFileError, match="no model of riata"):
        unpack(data)


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "model.json/../x", "extra.txt"])
def test_an_archive_with_other_members_is_refused(name):
    with pytest.raises(ModelFileError, match="and nothing else"):
        unpack(rebuilt(**{name: b"1"}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused():
    buffer = io.BytesIO(DATA)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("model.json", b"{}")
    with pytest.raises(ModelFileError, match="and nothing else"):
        unpack(buffer.getvalue())


def test_compressed_members_are_refused_so_that_nothing_grows_in_memory():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("manifest.json", "model.json", "arrays.safetensors"):
            archive.writestr(name, b"0" * 10**6)
    with pytest.raises(ModelFileError, match="compressed"):
        unpack(buffer.getvalue())


def test_other_contents_than_those_of_the_checksums_are_refused():
    with pytest.raises(ModelFileError, match="checksum differs"):
        unpack(rebuilt(**{"model.json": b"{}"}))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schema": SCHEMA + 1, "riata": "9.9"}, "newer riata .9.9"),
        ({"schema": 0}, "whole number"),
        ({"schema": True}, "whole number"),
        ({"schema": "1"}, "whole number"),
        ({"format": "torch"}, "something else"),
        ({"sha256": None}, "something else"),
        ({"sha256": {}}, "checksum differs"),
        ({"padding": "x" * 10**5}, "too long"),
    ],
)
def test_manifests_of_other_files_and_newer_versions_are_refused(changed, message):
    with pytest.raises(ModelFileError, match=message):
        unpack(rebuilt(**{"manifest.json": manifest(**changed)}))


def test_a_manifest_that_is_no_json_is_refused():
    with pytest.raises(ModelFileError, match="cannot be read"):
        unpack(rebuilt(**{"manifest.json": b"[" * 60_000}))
