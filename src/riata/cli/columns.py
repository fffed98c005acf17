"""What the columns of a file hold, and how each is used, printed before any training."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from riata.cli.output import print_text
from riata.files import Column, Table, counted

_ADVICE = "keep it with "  # which is the same for all columns, and printed once
_SHORT = {"days since 1970-01-01": "as days"}
_LONGEST = 20  # characters of a name in a terminal


def show_columns(console: Console, table: Table, file: str) -> None:
    """Print one row for each of up to 20 columns; of more, for the first 30 that are no plain features."""
    n, d = len(table.y), sum(column.used for column in table.columns)
    how = f" ({table.file_format})" if table.file_format else ""
    target = repr(table.target) if table.survival is None else f"the survival times ({table.target})"
    print_text(console, f"{file}{how}: {counted(n, 'row')}, {counted(len(table.columns), 'column')} beside {target}")
    many = len(table.columns) > 20
    listed = [column for column in table.columns if column.has_remarks][:30] if many else list(table.columns)
    if listed:
        _print(console, listed)
    rest = [column for column in table.columns if column not in listed]
    if rest:
        print_text(console, f"{'and ' if listed else ''}{_by_kind(rest)}: see columns.csv")
    print_text(
        console, f"Features: {d} of {len(table.columns)} columns. To overrule: --categorical COL, --numeric COL,"
    )
    print_text(console, "--dates COL, --drop COL, and --na TEXT for cells that stand for missing values.\n")


def _print(console: Console, columns: Sequence[Column]) -> None:
    """Print one line for each column, cut to the width of a terminal, and below the table what is to be said of some."""
    rows, remarks = [("column", "kind", "holds", "use")], []
    for each in columns:
        use, *more = each.use.split("; ")
        rows.append((each.name, each.kind, each.holds, _SHORT.get(use, use)))
        more = [remark for remark in more if not remark.startswith(_ADVICE)]
        remarks += [f" {each.name}: {'; '.join(more)}"] if more else []
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    if console.is_terminal:
        widths[0] = min(widths[0], _LONGEST)
        widths[2] = max(_LONGEST, console.width - 2 * len(widths) - widths[0] - widths[1] - widths[3])
    for row in rows:
        cells = [Text(cell) for cell in row]
        for cell, width in zip(cells, widths, strict=True):
            cell.truncate(width, overflow="ellipsis", pad=True)
        print_text(console, f" {'  '.join(cell.plain for cell in cells)}".rstrip())
    for remark in remarks:
        print_text(console, remark)
    console.print()


def _by_kind(columns: Sequence[Column]) -> str:
    counts: dict[str, int] = {}
    for column in columns:
        counts[column.kind] = counts.get(column.kind, 0) + 1
    names = {"category": "categories", "left out": "left out"}
    return ", ".join(
        f"{count:,} {names.get(kind, kind + 's') if count > 1 else kind}" for kind, count in counts.items()
    )
