"""A column of a table: what it contains, and how it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from riata.files.messages import TableError, as_text, first_few, require_column, row_numbers

__all__ = ["Column", "ColumnOptions", "SurvivalColumns", "invalid_cells", "make_column", "nearly_all_valid"]


@dataclass(frozen=True)
class ColumnOptions:
    """Columns that a user wants as categories, numbers or dates, columns to drop, and whether to keep constant numbers.

    Columns in ``beside`` describe samples; they are used only if they are named.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep_constants: bool = False
    beside: frozenset[str] = frozenset()

    def without(self, names: Iterable[str]) -> ColumnOptions:
        """Return the decisions about all other columns."""
        left_out = set(names)
        given: dict[str, Any] = {
            field: tuple(name for name in names if name not in left_out) for field, names in self.named.items()
        }
        return replace(self, **given)

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The names that are given, by the flag that they are given with."""
        return {field: names for field, names in vars(self).items() if isinstance(names, tuple)}

    def check(self, names: Sequence[str]) -> None:
        """Raise an error for names that do not exist, or are given with two flags."""
        flag_of: dict[str, str] = {}
        for field, given in self.named.items():
            for name in dict.fromkeys(given):
                require_column(name, names)
                if name in flag_of:
                    raise TableError(f"{name!r} is given with {flag_of[name]} and with --{field}: give one of them")
                flag_of[name] = f"--{field}"


@dataclass(frozen=True)
class SurvivalColumns:
    """Columns of survival times.

    Attributes
    ----------
    time : str
        How long a row is under observation, or the date at which that ends.
    event : str
        Whether it ends with the event: a column, or ``column=level`` with the level that is the event.
    entry : str, optional
        The time, or the date, at which observation begins.
    strata : str, optional
        Groups with a baseline hazard of their own.
    id : str, optional
        The subject, which may have several rows.
    """

    time: str
    event: str
    entry: str | None = None
    strata: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        number, category, date, identifier, constant, text, or "left out" on request.
    values : Series
        Numbers, levels or dates; missing where a cell is empty or invalid.
    holds : str
        A description of its cells.
    use : str
        How it is used, and how to overrule that.
    invalid : Series
        Cells that cannot be read as its kind, by position; they are missing in ``values``.
    remark : str
        Of a feature, what a user should check: cells that were not read, or may stand for missing values.
    unit : str
        Of numbers, the unit behind them, which is ignored.
    day_first : bool, optional
        Of dates such as 3/4/2026, whether the day comes first.
    """

    name: str
    kind: str
    values: pd.Series
    holds: str
    use: str
    invalid: pd.Series
    remark: str = ""
    unit: str = ""
    day_first: bool | None = None

    @property
    def used(self) -> bool:
        """Whether it is a feature."""
        return self.kind in ("number", "category", "date")

    @property
    def has_remarks(self) -> bool:
        """Whether a user should know more about it than its kind."""
        return not self.used or bool(len(self.invalid)) or self.kind == "date" or ";" in self.use


def make_column(values: pd.Series, kind: str, holds: str, remark: str = "", invalid: pd.Series | None = None) -> Column:
    """Return a column of a known kind, with the number of missing cells in its description."""
    uses = {"number": "as it is", "category": "one feature", "date": "days since 1970-01-01"}
    missing = int(values.isna().sum()) - (0 if invalid is None else len(invalid))
    if missing and holds and kind != "constant":
        holds += f", {missing:,} missing"
    use = "; ".join(filter(None, (uses.get(kind, "left out"), remark)))
    to_check = remark if kind in uses else ""
    invalid = values.iloc[:0] if invalid is None else invalid
    return Column(str(values.name), kind, values, holds, use, invalid, to_check)


def nearly_all_valid(n: int, n_invalid: int, n_distinct: int) -> bool:
    """Whether so few of n cells are invalid that the others determine the kind of a column.

    That is so if fewer than half of the cells are invalid and either at most 5 % are, or they are at most two distinct texts,
    such as ``?``, which then mark missing values.
    """
    return n_invalid < n / 2 and (n_invalid <= 0.05 * n or n_distinct <= 2)


def invalid_cells(invalid: pd.Series, what: str) -> str:
    """List cells that are not what the rest of their column is."""
    if not len(invalid):
        return ""
    cells = first_few([as_text(value) for value in invalid.astype(str).unique()])
    are = "1 cell is" if len(invalid) == 1 else f"{len(invalid):,} cells are"
    return f"{are} not {what} and taken as missing: {cells} ({row_numbers(invalid.index)})"
