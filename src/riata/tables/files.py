"""Tables in files."""

from __future__ import annotations

import gzip
import importlib.util
import io
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from riata.tables.wording import TableError, some

_ENDINGS = (".csv", ".csv.gz", ".parquet", ".pq")
_PARQUET = (".parquet", ".pq")
_NEEDS_PYARROW = "parquet needs pyarrow: pip install 'riata[parquet]'"


def ending_of(path: Path) -> str:
    """Return how the name of a table ends, ``.csv.gz`` for instance; nothing for other files."""
    return next((ending for ending in _ENDINGS if path.name.lower().endswith(ending)), "")


def read(path: Path) -> pd.DataFrame:
    """Read a csv or parquet file.

    Parameters
    ----------
    path : Path
        A ``.csv`` file (``.csv.gz`` too; separated by comma, semicolon or tab) or a ``.parquet`` file.

    Returns
    -------
    DataFrame
        As stored, with text for column names.

    Raises
    ------
    TableError
        If it cannot be read, or two columns have the same name.
    """
    ending = ending_of(path)
    if not ending:
        raise TableError(f"{path} is neither .csv nor .parquet: save it as one of these")
    try:
        frame = _read_parquet(path) if ending in _PARQUET else _read_csv(path)
    except TableError:
        raise
    except UnicodeDecodeError:
        raise TableError(f"cannot read {path}: it is not UTF-8 text; save it with that encoding") from None
    except ImportError:
        raise TableError(f"reading {_NEEDS_PYARROW}") from None
    except (OSError, EOFError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        raise TableError(f"cannot read {path}: {reason}") from None
    frame.columns = frame.columns.map(str)
    _refuse_duplicates(frame.columns)
    return frame


def _read_csv(path: Path) -> pd.DataFrame:
    separator, names = _header(path)
    _refuse_duplicates(name for name in names if name)  # pandas would rename them without a word
    frame = pd.read_csv(path, sep=separator, low_memory=False)
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError(f"cannot read {path}: its rows have more fields than the header has names; name every column")
    return frame


def _header(path: Path) -> tuple[str, list[str]]:
    """Return what separates the fields of a csv file, and its first row."""

    def first_row(separator: str) -> list[str]:
        return _cells(path, separator, nrows=1).iloc[0].tolist()

    separator = max(",;\t", key=lambda s: len(first_row(s)))
    return separator, first_row(separator)


def _cells(path: Path, separator: str, nrows: int | None = None) -> pd.DataFrame:
    """Return the fields of a csv file as text, its header in the first row."""
    return pd.read_csv(path, header=None, nrows=nrows, dtype=str, keep_default_na=False, sep=separator)


def read_text(path: Path) -> pd.DataFrame:
    """Read every cell of a csv file as the text that it is, with the names of its header."""
    cells = _cells(path, _header(path)[0])
    return cells[1:].set_axis(cells.iloc[0].to_list(), axis=1).reset_index(drop=True)


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame


def _refuse_duplicates(names: Iterable[str]) -> None:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    twice = [f"{name!r} ({count} times)" for name, count in seen.items() if count > 1]
    if twice:
        raise TableError(f"column names must differ; found {some(twice)}: rename or remove the copies")


def check_writable(path: Path) -> None:
    """Refuse a name under which no table can be written."""
    ending = ending_of(path)
    if not ending:
        raise TableError(f"{path} is neither .csv nor .parquet: choose a name for --out that ends in one of these")
    if path.is_dir():
        raise TableError(f"{path} is a folder: choose another name for --out")
    if ending in _PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise TableError(f"writing {_NEEDS_PYARROW}, or choose a name for --out that ends in .csv")


def encode(frame: pd.DataFrame, path: Path) -> bytes:
    """Return the contents of a file; the same table gives the same bytes.

    Parameters
    ----------
    frame : DataFrame
        What to write. Labels of rows that have no name become the first column of a csv file, also without a name.
    path : Path
        Where it will be; only the name's ending matters.

    Returns
    -------
    bytes
        Comma-separated UTF-8 text, compressed for ``.csv.gz``, or parquet.
    """
    ending = ending_of(path)
    if ending in _PARQUET:
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        return buffer.getvalue()
    labelled = not isinstance(frame.index, pd.RangeIndex)
    text = frame.to_csv(index=labelled, lineterminator="\n").encode()
    return gzip.compress(text, mtime=0) if ending.endswith(".gz") else text
