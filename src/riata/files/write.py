"""Tables out: the bytes of a file."""

from __future__ import annotations

import gzip
import importlib.util
import io
from pathlib import Path

import pandas as pd

from riata.files.messages import TableError
from riata.files.read import PARQUET

__all__ = ["check_writable", "encode"]


def check_writable(path: Path) -> None:
    """Raise an error for a path to which no table can be written."""
    if not path.name.lower().endswith((".csv", ".csv.gz", *PARQUET)):
        raise TableError(f"{path} is neither .csv nor .parquet: choose a name for --out that ends in one of these")
    if path.is_dir():
        raise TableError(f"{path} is a folder: choose another name for --out")
    if path.suffix.lower() in PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise TableError(
            "writing parquet needs pyarrow: pip install 'riata[parquet]', or choose a name for --out that ends in .csv"
        )


def encode(frame: pd.DataFrame, path: Path, sep: str = ",", decimal: str = ".") -> bytes:
    """Return the contents of a file; the same table gives the same bytes.

    Parameters
    ----------
    frame : DataFrame
        What to write. An index other than 0, 1, … becomes the first column of a csv file.
    path : Path
        Where it will be; only the name's ending matters.
    sep : str
        The separator of the fields of a text; written as a tab where that is spaces.
    decimal : str
        The decimal sign of a text.

    Returns
    -------
    bytes
        UTF-8 text, compressed for ``.csv.gz``, or parquet.
    """
    if path.suffix.lower() in PARQUET:
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        return buffer.getvalue()
    labelled = not isinstance(frame.index, pd.RangeIndex)
    sep = sep if len(sep) == 1 else "\t"
    text = frame.to_csv(index=labelled, lineterminator="\n", sep=sep, decimal=decimal).encode()
    return gzip.compress(text, mtime=0) if path.suffix.lower() == ".gz" else text
