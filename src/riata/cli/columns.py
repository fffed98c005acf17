"""What the columns of a file hold, and how each is used, printed before any training."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from riata.cli.output import print_text
from riata.files import Column, Table, counted


def show_columns(console: Console, table: Table, file: str) -> None:
    """Print one row for each of up to 20 columns; of more, for the first 30 that are no plain features."""
    n, d = len(table.y), sum(column.used for column in table.columns)
    how = f" ({table.file_format})" if table.file_format else ""
    target = repr(table.target) if table.survival is None else f"the survival times ({table.target})"
    print_text(console, f"{file}{how}: {counted(n, 'row')}, {counted(len(table.columns), 'column')} beside {target}")
    many = len(table.columns) > 20
    listed = [column for column in table.columns if column.has_remarks][:30] if many else list(table.columns)
    printed = RichTable("column", "kind", "holds", "use", box=None, pad_edge=True)
    for column in listed:
        printed.add_row(*(Text(part) for part in (column.name, column.kind, column.holds, column.use)))
    if listed:
        console.print(printed, "", sep="\n")
    rest = [column for column in table.columns if column not in listed]
    if rest:
        print_text(console, f"{'and ' if listed else ''}{_by_kind(rest)}: see columns.csv")
    print_text(
        console, f"Features: {d} of {len(table.columns)} columns. To overrule: --categorical, --numeric, --dates,"
    )
    print_text(console, "--drop COL, and --na TEXT for cells that stand for missing values.\n")


def _by_kind(columns: Sequence[Column]) -> str:
    counts: dict[str, int] = {}
    for column in columns:
        counts[column.kind] = counts.get(column.kind, 0) + 1
    names = {"category": "categories", "left out": "left out"}
    return ", ".join(
        f"{count:,} {names.get(kind, kind + 's') if count > 1 else kind}" for kind, count in counts.items()
    )
