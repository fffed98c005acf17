"""The archive of a model file: a zip of JSON and safetensors that are stored as they are, with their checksums.

Nothing is compressed, so that an archive cannot be larger in memory than it is on the disk. The same model gives the same
bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

__all__ = ["CHECKPOINT", "FORMAT", "SCHEMA", "ModelFileError", "pack", "unpack"]

FORMAT = "riata model"
CHECKPOINT = "riata checkpoint"
SCHEMA = 1
_MANIFEST, _VALUES, _ARRAYS = "manifest.json", "model.json", "arrays.safetensors"
_LONGEST_MANIFEST = 2**16  # bytes
_LARGEST = 2**33  # bytes of an archive
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold


class ModelFileError(ValueError):
    """A model file that cannot be written or read; the message says why.

    Examples
    --------
    >>> import tempfile
    >>> from riata import ModelFileError, load
    >>> with tempfile.NamedTemporaryFile(suffix=".riata") as file:
    ...     try:
    ...         load(file.name)
    ...     except ModelFileError as error:
    ...         print(error)
    cannot read ...: it is no model of riata, or is incomplete: File is not a zip file
    """


def pack(values: Any, arrays: Mapping[str, NDArray[Any]], format: str = FORMAT) -> bytes:
    """Return the archive of a tree of JSON types and of the arrays that it refers to."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    parts = {_VALUES: _as_json(values), _ARRAYS: save(plain)}
    manifest = {
        "format": format,
        "schema": SCHEMA,
        "riata": version("riata"),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {_MANIFEST: _as_json(manifest), **parts}.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data)
    return buffer.getvalue()


def unpack(data: bytes, format: str = FORMAT) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the tree and the arrays of an archive.

    Raises
    ------
    ModelFileError
        If it is of another format, is incomplete or was changed, or comes from a newer version.
    """
    if len(data) > _LARGEST:
        raise ModelFileError(f"it has {len(data):,} bytes; at most {_LARGEST:,} are read")
    noun = format.split()[-1]
    parts = _parts(data, noun)
    manifest = _parsed(parts.pop(_MANIFEST), "its manifest")
    _check(manifest, format)
    for name, part in parts.items():
        if manifest["sha256"].get(name) != hashlib.sha256(part).hexdigest():
            raise ModelFileError(f"{name} in it is damaged or was changed: its checksum differs")
    try:
        arrays = load(parts[_ARRAYS])
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"its arrays cannot be read: {error}") from None
    return _parsed(parts[_VALUES], "what it holds"), arrays


def _as_json(value: Any) -> bytes:
    return (json.dumps(value, allow_nan=False, separators=(",", ":")) + "\n").encode()


def _parsed(data: bytes, what: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read: {error}") from None


def _parts(data: bytes, noun: str) -> dict[str, bytes]:
    """Return the contents of an archive that holds what it must, as it must, and nothing else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if sorted(names) != sorted((_MANIFEST, _VALUES, _ARRAYS)):
                raise ModelFileError(
                    f"it is no {noun} of riata: it must hold a manifest, values and arrays, and nothing else"
                )
            for member in members:
                plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
                if not plain or member.file_size != member.compress_size or member.file_size > len(data):
                    raise ModelFileError(
                        f"{member.filename} in it is compressed or encrypted, which {noun} files are not"
                    )
                if member.filename == _MANIFEST and member.file_size > _LONGEST_MANIFEST:
                    raise ModelFileError(f"its manifest has {member.file_size:,} bytes, which is too long")
            return {name: archive.read(name) for name in names}
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError, OverflowError) as error:
        raise ModelFileError(f"it is no {noun} of riata, or is incomplete: {error}") from None


def _check(manifest: Any, format: str) -> None:
    """Raise an error for an archive of something else, or of a newer version."""
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != format
        or not isinstance(manifest.get("sha256"), dict)
    ):
        raise ModelFileError(f"it is no {format.split()[-1]} of riata: its manifest is of something else")
    schema = manifest.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ModelFileError(f"its schema must be a whole number from 1 on; it is {schema!r}")
    if schema > SCHEMA:
        made_by = str(manifest.get("riata"))[:40]
        raise ModelFileError(f"it was written by a newer riata ({made_by}, schema {schema}): upgrade riata to read it")
