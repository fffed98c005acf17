"""Tables in files: from a file to columns of known kinds to fit on, and back to a file."""

from riata.files.again import Reading
from riata.files.columns import Column, ColumnOptions, SurvivalColumns
from riata.files.fill import Fillable, prepare_to_fill
from riata.files.kinds import kinds
from riata.files.messages import TableError, as_text, counted, first_few
from riata.files.open import read_table
from riata.files.read import ReadOptions, Source, ending_of, read, read_text
from riata.files.survival import prepare_survival
from riata.files.table import Table, prepare
from riata.files.unusual import extreme_target, unlike_training
from riata.files.write import check_writable, encode

__all__ = [
    "Column",
    "ColumnOptions",
    "Fillable",
    "ReadOptions",
    "Reading",
    "Source",
    "SurvivalColumns",
    "Table",
    "TableError",
    "as_text",
    "check_writable",
    "counted",
    "encode",
    "ending_of",
    "extreme_target",
    "first_few",
    "kinds",
    "prepare",
    "prepare_survival",
    "prepare_to_fill",
    "read",
    "read_table",
    "read_text",
    "unlike_training",
]
