"""What is fuzzed: each function takes any bytes, and raises nothing; an exception that escapes is a finding."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import riata
from riata.estimators import stored
from riata.files import TableError, read
from riata.storage import ModelFileError
from riata.storage.archive import FORMAT, SCHEMA

BETWEEN = b"\n\0\n"  # the values and the arrays of an input that begins with P
# Not feather: pyarrow ends the process where it cannot allocate what a damaged file asks for.
ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".xlsx")


def models(data: bytes) -> None:
    """Read a model file: Z and an archive, or P and parts of one, to which checksums that fit are added."""
    if data[:1] == b"P":
        values, _, arrays = data[1:].partition(BETWEEN)
        data = b"Z" + archive(values, arrays)
    with in_a_file(data[1:], "m.riata") as path, contextlib.suppress(ModelFileError):
        assert stored.read(path).model.point_ is not None


def tables(data: bytes) -> None:
    """Read a table: a digit for the ending of its name, and its contents; prepare it for each of its first targets."""
    kind = data[0] % len(ENDINGS) if data else 0
    with in_a_file(data[1:], f"table{ENDINGS[kind]}") as path, contextlib.suppress(TableError):
        names = read(path).frame.columns
        for name in names[:2]:
            with contextlib.suppress(TableError):
                riata.read_table(path, str(name))


TARGETS: dict[str, Callable[[bytes], None]] = {"models": models, "tables": tables}


@contextlib.contextmanager
def in_a_file(data: bytes, name: str):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def archive(values: bytes, arrays: bytes) -> bytes:
    """Return an archive of these parts, with a manifest that says so."""
    parts = {"model.json": values, "arrays.safetensors": arrays}
    sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    manifest = {"format": FORMAT, "schema": SCHEMA, "riata": "0", "sha256": sums}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as made:
        for name, part in {"manifest.json": json.dumps(manifest).encode(), **parts}.items():
            made.writestr(zipfile.ZipInfo(name), part)
    return buffer.getvalue()


def parts_of(data: bytes) -> bytes:
    """Return an archive as an input that begins with P."""
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        return b"P" + made.read("model.json") + BETWEEN + made.read("arrays.safetensors")
