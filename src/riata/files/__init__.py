"""Tables in files: from a file to columns of known kinds to fit on, and back to a file."""

from riata.files.again import Reading
from riata.files.columns import Column, ColumnOptions, SurvivalColumns
from riata.files.fill import Fillable, prepare_to_fill
from riata.files.kinds import kinds
from riata.files.messages import TableError, TextTargetError, as_text, counted, did_you_mean, first_few
from riata.files.open import read_table
from riata.files.read import PARQUET, ReadOptions, Source, ending_of, read, read_text
from riata.files.split import split
from riata.files.survival import prepare_survival
from riata.files.table import Table, prepare
from riata.files.unusual import Seen, extreme_target, unlike_training
from riata.files.write import check_writable, encode

__all__ = [
    "PARQUET",
    "Column",
    "ColumnOptions",
    "Fillable",
    "ReadOptions",
    "Reading",
    "Seen",
    "Source",
    "SurvivalColumns",
    "Table",
    "TableError",
    "TextTargetError",
    "as_text",
    "check_writable",
    "counted",
    "did_you_mean",
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
    "split",
    "unlike_training",
]
