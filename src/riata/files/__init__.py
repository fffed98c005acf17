"""Tables in files: from a file to columns of known kinds to fit on, and back to a file."""

from riata.files.columns import Asked, Column, kinds, to_frame
from riata.files.fill import Fillable, prepare_to_fill
from riata.files.messages import TableError, counted, shown, some
from riata.files.read import Reading, Source, ending_of, read, read_text
from riata.files.table import Table, prepare, read_table
from riata.files.unusual import extreme_target, unlike_training
from riata.files.write import check_writable, encode

__all__ = [
    "Asked",
    "Column",
    "Fillable",
    "Reading",
    "Source",
    "Table",
    "TableError",
    "check_writable",
    "counted",
    "encode",
    "ending_of",
    "extreme_target",
    "kinds",
    "prepare",
    "prepare_to_fill",
    "read",
    "read_table",
    "read_text",
    "shown",
    "some",
    "to_frame",
    "unlike_training",
]
