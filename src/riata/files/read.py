"""Tables in files: their format, and their cells."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from riata.files.annotated import ANNDATA, read_annotated
from riata.files.convert import decimal_of
from riata.files.messages import TableError, counted, first_few

__all__ = ["PARQUET", "ReadOptions", "Source", "ending_of", "read", "read_text"]

PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
EXCEL = (".xlsx",)
_PACKAGES = {".xlsx": ("openpyxl", "excel"), ".h5ad": ("anndata", "anndata")}
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", r"\s+": "spaces"}
_TITLE = "; if names are below a title, give --skip with the number of rows above them"
_SAMPLE = 200  # lines from which the separator and the decimal sign are detected


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None detects it from the file."""

    sep: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    skip: int = 0  # rows above the names
    text: tuple[str, ...] = ()  # columns whose cells stay text, even if all are numbers
    usual_decimal: str = "."  # where the decimal sign is ambiguous


@dataclass(frozen=True, eq=False)
class Source:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        Numbers where all cells of a column are plain numbers, else text or what the file stores.
    decimal : str
        The decimal sign of numbers in text.
    file_format : str
        A description of the file's format: "separated by commas, UTF-8".
    is_text : bool
        Whether cells can be read as they are written.
    sep : str
        The separator of the fields of a text.
    na : tuple of str
        Cells that stand for missing values, beside the usual ones.
    beside : frozenset of str
        Columns that describe the samples, which are features only if a user says so.
    sha256 : str
        Of the bytes of the file.
    """

    frame: pd.DataFrame
    decimal: str
    file_format: str
    is_text: bool = False
    sep: str = ","
    na: tuple[str, ...] = ()
    beside: frozenset[str] = frozenset()
    sha256: str = ""


def ending_of(path: Path) -> str:
    """Return how the name of a table ends, ``.csv.gz`` for instance; ``""`` for other files."""
    endings = (*(f"{ending}.gz" for ending in TEXT), *TEXT, *PARQUET, *FEATHER, *EXCEL, *ANNDATA)
    return next((ending for ending in endings if path.name.lower().endswith(ending)), "")


def read(path: Path, options: ReadOptions = ReadOptions()) -> Source:  # noqa: B008 — frozen
    """Read a table from a file, or from standard input where the path is ``-``.

    Parameters
    ----------
    path : Path
        Text with a header (csv, tsv, txt; compressed with gzip or not), parquet, feather, xlsx or h5ad.
    options : ReadOptions
        What is not to be detected from the file.

    Returns
    -------
    Source
        The table, and its format.

    Raises
    ------
    TableError
        If it cannot be read, or two columns have the same name.
    """
    data, ending = _contents(path)
    is_text = ending not in PARQUET + FEATHER + EXCEL + ANNDATA
    separator = ","
    beside: tuple[str, ...] = ()
    try:
        if ending in ANNDATA:
            (frame, beside), decimal, file_format = read_annotated(path), ".", "h5ad"
        elif is_text:
            frame, decimal, file_format, separator = _text(data, options)
        else:
            frame, decimal, file_format = _stored(data, ending, options.skip)
        frame.columns = frame.columns.map(str).str.strip()
        _refuse_duplicates(frame.columns)
    except TableError as error:
        raise TableError(f"cannot read {path}: {error}") from None
    except ImportError:
        package, extra = _PACKAGES.get(ending, ("pyarrow", "parquet"))
        raise TableError(f"reading {ending[1:]} needs {package}: pip install 'riata[{extra}]'") from None
    except (OSError, EOFError, ValueError, KeyError, csv.Error, zlib.error) as error:
        raise TableError(f"cannot read {path}: {_why(error)}") from None
    digest = hashlib.sha256(data).hexdigest()
    return Source(frame, decimal, file_format, is_text, separator, options.na, frozenset(beside), digest)


def _why(error: Exception) -> str:
    """Say in words of a table why it cannot be read."""
    text = " ".join(str(error).split())
    ragged = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if ragged is not None:
        expected, line, found = ragged.groups()
        return f"line {line} has {counted(int(found), 'field')}, those above it {expected}: correct it{_TITLE}"
    return text + (_TITLE if isinstance(error, pd.errors.ParserError) else "")


def read_text(path: Path, options: ReadOptions = ReadOptions()) -> pd.DataFrame:  # noqa: B008 — frozen
    """Read every cell of a text file as it is written, with the names of its header."""
    text = _below(_decoded(_contents(path)[0])[0], options.skip)
    separator = options.sep or _separator(text)
    cells = _parsed(text, separator, header=None, dtype=str, keep_default_na=False)
    return cells[1:].set_axis(cells.iloc[0].to_list(), axis=1).reset_index(drop=True)


def _contents(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a table, and how its name ends or, from standard input, should."""
    if str(path) == "-":
        data = sys.stdin.buffer.read()
        magic = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"PK\x03\x04": ".xlsx"}
        return data, next((ending for start, ending in magic.items() if data.startswith(start)), ".csv")
    ending = ending_of(path)
    if not ending:
        raise TableError(
            f"{path} is no table that can be read: save it as csv, tsv, txt, parquet, feather, xlsx or h5ad"
        )
    try:
        return path.read_bytes(), ending
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror}") from None


def _stored(data: bytes, ending: str, skip: int) -> tuple[pd.DataFrame, str, str]:
    """Read a file that stores the types of its columns; return the table, the decimal sign and the format."""
    try:
        return _parsed_file(data, ending, skip)
    except (ImportError, TableError):
        raise
    except Exception as error:  # readers of these formats raise anything where a file is damaged
        text = " ".join(str(error).split())[:200]
        raise TableError(f"it is no {ending[1:]} file, or is damaged ({type(error).__name__}: {text})") from None


def _parsed_file(data: bytes, ending: str, skip: int) -> tuple[pd.DataFrame, str, str]:
    if ending in EXCEL:
        with pd.ExcelFile(io.BytesIO(data)) as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = pd.read_excel(book, sheet_name=sheets[0], skiprows=skip)
        others = f", the first of its sheets ({first_few(sheets)})" if len(sheets) > 1 else ""
        return frame, _decimal(frame), f"xlsx{others}"
    parquet = ending in PARQUET
    frame = pd.read_parquet(io.BytesIO(data)) if parquet else pd.read_feather(io.BytesIO(data))
    named = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index() if named else frame
    return frame, _decimal(frame), "parquet" if parquet else "feather"


def _decimal(frame: pd.DataFrame) -> str:
    """Return the decimal sign in columns of text."""
    is_text = [types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes]
    texts = frame.loc[:, is_text].head(_SAMPLE)
    return decimal_of([cell for name in texts for cell in texts[name] if isinstance(cell, str)])


# ---- text -----------------------------------------------------------------------------------------------------------


def _text(data: bytes, options: ReadOptions) -> tuple[pd.DataFrame, str, str, str]:
    """Read text; return the table, the decimal sign, the format and the separator."""
    text, encoding = _decoded(data)
    text = _below(text, options.skip)
    separator = options.sep or _separator(text)
    names = _parsed(text, separator, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].str.strip()
    _refuse_duplicates(name for name in names if name)  # pandas would rename them silently
    cells = [cell for row in _rows(text, separator)[1:] for cell in row]
    decimal = options.decimal or (
        "." if separator == "," and '"' not in text else decimal_of(cells, options.usual_decimal)
    )
    codes = {
        j: str for j, column in enumerate(zip(*_rows(text, separator)[1:], strict=False)) if any(map(_is_code, column))
    }
    codes |= {j: str for j, name in enumerate(names) if name in options.text}
    frame = _parsed(text, separator, decimal=decimal, na_values=list(options.na), low_memory=False, dtype=codes)
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError(f"its rows have more fields than the header has names: name every column{_TITLE}")
    properties = [f"separated by {_SEPARATORS.get(separator, repr(separator))}", encoding]
    return frame, decimal, ", ".join(properties + ["decimal commas"] * (decimal == ",")), separator


def _below(text: str, skip: int) -> str:
    """Remove rows above the names."""
    return "".join(text.splitlines(keepends=True)[skip:]) if skip else text


def _is_code(cell: str) -> bool:
    """Whether digits begin with a zero, which a number would lose."""
    return len(cell) > 1 and cell[0] == "0" and cell.isdigit()


def _decoded(data: bytes) -> tuple[str, str]:
    """Return text and its encoding."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    if data.startswith(b"\xef\xbb\xbf"):
        return data.decode("utf-8-sig"), "UTF-8 with a byte order mark"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16"), "UTF-16"
    if b"\0" in data[:1000]:  # in UTF-16 every other byte of Latin letters is 0; no other encoding has zeros
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be"), "UTF-16"
    try:
        return data.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        try:
            return data.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            return data.decode("latin-1"), "Latin-1"


def _rows(text: str, separator: str) -> list[list[str]]:
    """Return the fields of the first lines."""
    lines = [line for _, line in zip(range(_SAMPLE), io.StringIO(text, newline=None), strict=False) if line.strip()]
    if separator == r"\s+":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True)) if len(separator) == 1 else []


def _separator(text: str) -> str:
    """Return the separator with which most rows have as many fields as the header; of equals, that with most fields."""

    def agreement(separator: str) -> tuple[float, int]:
        header, *others = _rows(text, separator) or [[]]
        agree = sum(len(row) == len(header) for row in others)
        return (agree / max(len(others), 1) if len(header) > 1 else 0.0), len(header)

    found = {separator: agreement(separator) for separator in _SEPARATORS}
    *usual, spaces = found
    best = max(usual, key=found.__getitem__)
    return best if found[best][1] > 1 or found[spaces][0] < 1 else spaces


def _parsed(text: str, separator: str, **options: Any) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pd.read_csv(io.StringIO(text), sep=separator, skipinitialspace=True, **options)
    except pd.errors.EmptyDataError:
        raise TableError("it is empty: a table needs a row of names and rows of values") from None
    return frame


def _refuse_duplicates(names: Iterable[str]) -> None:
    twice = [f"{name!r} ({counted(count, 'time')})" for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(f"column names must differ; found {first_few(twice)}: rename or remove the copies")
