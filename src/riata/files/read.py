"""Tables in files: what they are written in, and what their cells hold."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from riata.files.convert import decimal_of
from riata.files.messages import TableError, counted, some

__all__ = ["ENDINGS", "PARQUET", "STDIN", "Reading", "Source", "ending_of", "read", "read_text"]

STDIN = "-"
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
EXCEL = (".xlsx",)
TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat")
ENDINGS = (*(f"{ending}.gz" for ending in TEXT), *TEXT, *PARQUET, *FEATHER, *EXCEL)
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", r"\s+": "spaces"}
_TITLE = "; if names stand below a title, give --skip with the number of rows above them"
_SAMPLE = 200  # lines from which separators and decimal commas are told


@dataclass(frozen=True)
class Reading:
    """How a user says a file is to be read; None leaves it to what the file shows."""

    sep: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    skip: int = 0  # rows above the names


@dataclass(frozen=True, eq=False)
class Source:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        Numbers where all cells of a column are plain numbers, else text or what the file stores.
    decimal : str
        What stands before the decimals of numbers in text.
    how : str
        What the file is written in, for people: "separated by commas, UTF-8".
    is_text : bool
        Whether cells can be read as they are written.
    sep : str
        What separates the fields of a text.
    """

    frame: pd.DataFrame
    decimal: str
    how: str
    is_text: bool = False
    sep: str = ","


def ending_of(path: Path) -> str:
    """Return how the name of a table ends, ``.csv.gz`` for instance; nothing for other files."""
    return next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), "")


def read(path: Path, reading: Reading = Reading()) -> Source:  # noqa: B008 — frozen
    """Read a table from a file, or from standard input where the path is ``-``.

    Parameters
    ----------
    path : Path
        Text with a header (csv, tsv, txt; compressed with gzip or not), parquet, feather or xlsx.
    reading : Reading
        What is not to be told from the file.

    Returns
    -------
    Source
        The table, and how it was read.

    Raises
    ------
    TableError
        If it cannot be read, or two columns have the same name.
    """
    data, ending = _contents(path)
    try:
        if ending in PARQUET + FEATHER + EXCEL:
            frame, decimal, how = _stored(data, ending, reading.skip)
            separator = ","
        else:
            frame, decimal, how, separator = _text(data, reading)
        frame.columns = frame.columns.map(str).str.strip()
        _refuse_duplicates(frame.columns)
    except TableError as error:
        raise TableError(f"cannot read {path}: {error}") from None
    except ImportError:
        package = "openpyxl: pip install 'riata[excel]'" if ending in EXCEL else "pyarrow: pip install 'riata[parquet]'"
        raise TableError(f"reading {ending[1:]} needs {package}") from None
    except (OSError, EOFError, ValueError, KeyError) as error:
        ragged = isinstance(error, pd.errors.ParserError)
        hint = _TITLE if ragged else ""
        raise TableError(f"cannot read {path}: {' '.join(str(error).split())}{hint}") from None
    return Source(frame, decimal, how, is_text=ending not in PARQUET + FEATHER + EXCEL, sep=separator)


def read_text(path: Path, reading: Reading = Reading()) -> pd.DataFrame:  # noqa: B008 — frozen
    """Read every cell of a text file as it is written, with the names of its header."""
    text = _below(_decoded(_contents(path)[0])[0], reading.skip)
    separator = reading.sep or _separator(text)
    cells = _parsed(text, separator, header=None, dtype=str, keep_default_na=False)
    return cells[1:].set_axis(cells.iloc[0].to_list(), axis=1).reset_index(drop=True)


def _contents(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a table, and how its name ends or, from standard input, should."""
    if str(path) == STDIN:
        data = sys.stdin.buffer.read()
        magic = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"PK\x03\x04": ".xlsx"}
        return data, next((ending for start, ending in magic.items() if data.startswith(start)), ".csv")
    ending = ending_of(path)
    if not ending:
        raise TableError(f"{path} is no table that can be read: save it as csv, tsv, txt, parquet, feather or xlsx")
    try:
        return path.read_bytes(), ending
    except OSError as error:
        raise TableError(f"cannot read {path}: {error.strerror}") from None


def _stored(data: bytes, ending: str, skip: int) -> tuple[pd.DataFrame, str, str]:
    """Read a file that knows the types of its columns."""
    if ending in EXCEL:
        with pd.ExcelFile(io.BytesIO(data)) as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = pd.read_excel(book, sheet_name=sheets[0], skiprows=skip)
        others = f", the first of its sheets ({some(sheets)})" if len(sheets) > 1 else ""
        return frame, _decimal(frame), f"xlsx{others}"
    parquet = ending in PARQUET
    frame = pd.read_parquet(io.BytesIO(data)) if parquet else pd.read_feather(io.BytesIO(data))
    named = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index() if named else frame
    return frame, _decimal(frame), "parquet" if parquet else "feather"


def _decimal(frame: pd.DataFrame) -> str:
    """Tell how decimals are written in columns of text."""
    texts = frame.head(_SAMPLE).select_dtypes(include=["object", "str"])
    return decimal_of([cell for name in texts for cell in texts[name] if isinstance(cell, str)])


# ---- text -----------------------------------------------------------------------------------------------------------


def _text(data: bytes, reading: Reading) -> tuple[pd.DataFrame, str, str, str]:
    text, encoding = _decoded(data)
    text = _below(text, reading.skip)
    separator = reading.sep or _separator(text)
    names = _parsed(text, separator, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].str.strip()
    _refuse_duplicates(name for name in names if name)  # pandas would rename them without a word
    cells = [cell for row in _rows(text, separator)[1:] for cell in row]
    decimal = reading.decimal or ("." if separator == "," and '"' not in text else decimal_of(cells))
    codes = {
        j: str for j, column in enumerate(zip(*_rows(text, separator)[1:], strict=False)) if any(map(_is_code, column))
    }
    frame = _parsed(text, separator, decimal=decimal, na_values=list(reading.na), low_memory=False, dtype=codes)
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError(f"its rows have more fields than the header has names: name every column{_TITLE}")
    how = [f"separated by {_SEPARATORS.get(separator, repr(separator))}", encoding]
    return frame, decimal, ", ".join(how + ["decimal commas"] * (decimal == ",")), separator


def _below(text: str, skip: int) -> str:
    """Leave out rows above the names."""
    return "".join(text.splitlines(keepends=True)[skip:]) if skip else text


def _is_code(cell: str) -> bool:
    """Say whether digits begin with a zero, which a number would lose."""
    return len(cell) > 1 and cell[0] == "0" and cell.isdigit()


def _decoded(data: bytes) -> tuple[str, str]:
    """Return text, and what it is encoded in."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    if data.startswith(b"\xef\xbb\xbf"):
        return data.decode("utf-8-sig"), "UTF-8 with a byte order mark"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16"), "UTF-16"
    if b"\0" in data[:1000]:  # every other byte of Latin letters; no other text has any
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
    lines = [line for _, line in zip(range(_SAMPLE), io.StringIO(text), strict=False) if line.strip()]
    if separator == r"\s+":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True)) if len(separator) == 1 else []


def _separator(text: str) -> str:
    """Return what separates fields: what gives most rows as many as the header has, and of equals, more of them."""

    def agreement(separator: str) -> tuple[float, int]:
        header, *others = _rows(text, separator) or [[]]
        agree = sum(len(row) == len(header) for row in others)
        return (agree / max(len(others), 1) if len(header) > 1 else 0.0), len(header)

    found = {separator: agreement(separator) for separator in _SEPARATORS}
    *usual, spaces = found
    best = max(usual, key=found.__getitem__)
    return best if found[best][1] > 1 or found[spaces][0] < 1 else spaces


def _parsed(text: str, separator: str, **how: object) -> pd.DataFrame:
    try:
        return pd.read_csv(io.StringIO(text), sep=separator, skipinitialspace=True, **how)  # type: ignore[call-overload]
    except pd.errors.EmptyDataError:
        raise TableError("it is empty: a table needs a row of names and rows of values") from None


def _refuse_duplicates(names: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    twice = [f"{name!r} ({counted(count, 'time')})" for name, count in seen.items() if count > 1]
    if twice:
        raise TableError(f"column names must differ; found {some(twice)}: rename or remove the copies")
