"""From a table in a file to numbers to fit on, and back to a file."""

from riata.tables.features import Table, prepare
from riata.tables.files import check_writable, encode, ending_of, read, read_text
from riata.tables.gaps import Fillable, prepare_to_fill
from riata.tables.wording import TableError, counted, some

__all__ = [
    "Fillable",
    "Table",
    "TableError",
    "check_writable",
    "counted",
    "encode",
    "ending_of",
    "prepare",
    "prepare_to_fill",
    "read",
    "read_text",
    "some",
]
