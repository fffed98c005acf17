"""Reading another table as one was read before: what a model file tells about its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.files.columns import (
    Column,
    ColumnOptions,
    SurvivalColumns,
    invalid_cells,
    make_column,
    nearly_all_valid,
)
from riata.files.convert import unit_of
from riata.files.dates import read_dates
from riata.files.kinds import target_kind
from riata.files.messages import TableError, as_text, did_you_mean, first_few, require_column, row_numbers
from riata.files.numeric import read_numbers
from riata.files.read import Source
from riata.files.survival import strata_labels, survival_target
from riata.files.table import Table, finite, missing_notes

__all__ = ["Feature", "Reading"]

_FLAGS = {"true": True, "false": False}
_KINDS = ("number", "category", "date")
_LEVELS = ("", "text", "number", "flag")


@dataclass(frozen=True)
class Feature:
    """How the cells of a column are to be read.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "category", "date"}
        What it holds.
    levels : {"", "text", "number", "flag"}
        Of a category, what its levels are.
    unit : str
        Of numbers, the unit that is ignored.
    day_first : bool, optional
        Of dates such as 3/4/2026, whether the day comes first.
    """

    name: str
    kind: str
    levels: str = ""
    unit: str = ""
    day_first: bool | None = None

    @classmethod
    def of(cls, column: Column) -> Feature:
        """Return how a column was read."""
        levels = _levels_of(column.values) if column.kind == "category" else ""
        return cls(column.name, column.kind, levels, column.unit, column.day_first)

    def read(self, column: pd.Series, decimal: str) -> Column:
        """Read a column; raise an error if it holds something else."""
        read = {"number": self._number, "date": self._date, "category": self._category}
        return read[self.kind](column, decimal)

    def read_if_possible(self, column: pd.Series, decimal: str) -> Column | None:
        """Read a column; None if it holds something else."""
        try:
            return self.read(column, decimal)
        except TableError:
            return None

    def _number(self, column: pd.Series, decimal: str) -> Column:
        values = read_numbers(column, decimal, self.unit)
        return self._checked(column, values, "a number")

    def _date(self, column: pd.Series, decimal: str) -> Column:
        return self._checked(column, read_dates(column, self.day_first)[0], "a date")

    def _checked(self, column: pd.Series, values: pd.Series, what: str) -> Column:
        """Return a column whose cells that cannot be read are missing, if these are few."""
        invalid = column[values.isna() & column.notna()]
        n = int(column.notna().sum())
        if len(invalid) and not nearly_all_valid(n, len(invalid), invalid.astype(str).nunique()):
            cells = first_few([as_text(cell) for cell in invalid.astype(str).unique()])
            unit = _common_unit(invalid) if self.kind == "number" else ""
            if unit:
                before = f"the unit {self.unit!r}" if self.unit else "no unit"
                raise TableError(
                    f"{self.name!r} has the unit {unit!r} ({cells}), and had {before} in the table that the model was fitted "
                    "on: convert it"
                )
            raise TableError(
                f"{self.name!r} must hold {what[2:]}s, as in the table that the model was fitted on; it holds {cells} "
                f"({row_numbers(invalid.index)}): correct these cells, or mark them as missing with --na"
            )
        return make_column(values, self.kind, "", invalid_cells(invalid, what), invalid)

    def _category(self, column: pd.Series, decimal: str) -> Column:
        level: dict[str, Callable[[Any], Any]] = {"flag": _flag, "number": _number, "text": _text}
        cells = column.astype(object)
        return make_column(cells.map(level[self.levels], na_action="ignore").astype(object), "category", "")


def _common_unit(cells: pd.Series) -> str:
    """Return the unit behind most of some cells; ``""`` where there is none."""
    units = cells.astype(str).map(unit_of)
    units = units[units != ""]
    return str(units.value_counts().index[0]) if 2 * len(units) > len(cells) else ""


def _levels_of(values: pd.Series) -> str:
    kind = types.infer_dtype(values.astype(object), skipna=True)
    if kind == "boolean":
        return "flag"
    return "number" if kind in ("integer", "floating", "mixed-integer-float", "decimal") else "text"


def _flag(cell: Any) -> Any:
    return _FLAGS.get(str(cell).strip().lower(), cell)


def _number(cell: Any) -> Any:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell  # a level that is not known


def _text(cell: Any) -> str:
    """Return a level as it is written; a number without decimals where these are all zero."""
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell).strip()


@dataclass(frozen=True)
class Reading:
    """How a table was read, so that another one can be read in the same way.

    Attributes
    ----------
    features : tuple of Feature
        The columns that are features, in order.
    task : str
        Of the target: ``"classification"``, ``"regression"`` or ``"survival"``.
    target : str
        The column to predict; ``""`` for survival times.
    survival : SurvivalColumns, optional
        The columns of survival times.
    identifiers : tuple of str
        Columns that identify rows: no two of their cells are equal.
    decimal : str
        The decimal sign of numbers in text.
    na : tuple of str
        Cells that stand for missing values, beside the usual ones.
    """

    features: tuple[Feature, ...]
    task: str
    target: str
    survival: SurvivalColumns | None = None
    identifiers: tuple[str, ...] = ()
    decimal: str = "."
    na: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table) -> Reading:
        """Return how a table was read."""
        features = tuple(Feature.of(column) for column in table.columns if column.used)
        named = (column for column in table.columns if column.kind == "identifier" and column.values.is_unique)
        identifiers = tuple(column.name for column in named)
        target = table.target if table.survival is None else ""
        return cls(features, table.task, target, table.survival, identifiers, table.decimal, table.na)

    @classmethod
    def of_model(cls, names: Sequence[str], levels: Mapping[str, pd.Index], task: str) -> Reading:
        """Return how a table for a model is read of which only the features are known.

        Parameters
        ----------
        names : sequence of str
            Of the features.
        levels : mapping of int to Index
            Levels of the features that are categories, by name.
        task : str
            Of its target.
        """
        features = tuple(
            Feature(name, "category", _levels_of(levels[name].to_series()))
            if name in levels
            else Feature(name, "number")
            for name in names
        )
        return cls(features, task, "")

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [feature.name for feature in self.features]

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns whose cells are not to be read as numbers."""
        return tuple(feature.name for feature in self.features if feature.levels == "text")

    def as_json(self) -> dict[str, Any]:
        """Return it in types of JSON."""
        survival = None if self.survival is None else vars(self.survival)
        features = [list(vars(feature).values()) for feature in self.features]
        lists = {"identifiers": list(self.identifiers), "na": list(self.na)}
        return {**vars(self), "features": features, "survival": survival, **lists}

    @classmethod
    def from_json(cls, value: Any) -> Reading:
        """Return what :meth:`as_json` has written; raise ValueError for anything else."""
        try:
            features = tuple(_feature(*each) for each in value["features"])
            survival = None if value["survival"] is None else SurvivalColumns(**_strings(value["survival"]))
            others: dict[str, Any] = {name: tuple(map(_string, value[name])) for name in ("identifiers", "na")}
            others |= {name: _string(value[name]) for name in ("task", "target", "decimal")}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"it does not say how a table is read: {error}") from None
        return cls(features=features, survival=survival, **others)

    def read(
        self, source: Source, needed: Sequence[str], *, others: bool = False
    ) -> tuple[pd.DataFrame, list[str], list[str]]:
        """Return the features of a table, notes on cells that could not be read, and the features that were not read.

        Parameters
        ----------
        source : Source
            The table.
        needed : sequence of str
            Features that it must have. All others are missing in what is returned.
        others : bool, default=False
            Whether to read the others as well, where the table has them and they can be read.
        """
        frame = source.frame.reset_index(drop=True)
        _check_present(needed, frame.columns.tolist())
        strict = set(needed)
        values, notes, unread = {}, [], []
        for each in self.features:
            column = None
            if each.name in strict:
                column = each.read(frame[each.name], source.decimal)
            elif others and each.name in frame:
                column = each.read_if_possible(frame[each.name], source.decimal)
            if column is None:
                unread.append(each.name)
                values[each.name] = pd.Series(np.nan, frame.index, dtype=object)
                continue
            values[each.name] = column.values
            if len(column.invalid):
                notes.append(f"{each.name!r}: {invalid_cells(column.invalid, 'a ' + column.kind)}")
        return pd.DataFrame(values, index=frame.index), notes, unread

    def read_target(
        self, source: Source, name: str | None = None, classes: NDArray[Any] | None = None
    ) -> tuple[Any, NDArray[np.int64], list[str]]:
        """Return the target, the rows where it is known, and notes.

        Parameters
        ----------
        source : Source
            The table.
        name : str, optional
            The column to predict, if it has another name than before.
        classes : array, optional
            The classes that a model knows.
        """
        frame = source.frame.reset_index(drop=True)
        if self.survival is not None:
            if name is not None:
                given = ", ".join(repr(each) for each in vars(self.survival).values() if each is not None)
                raise TableError(f"--target is not for survival times; the columns of these are {given}")
            y, known, _, notes = survival_target(frame, source.decimal, self.survival, ColumnOptions())
            return y.reset_index(drop=True), np.flatnonzero(known), list(notes)
        name = name or self.target
        require_column(name, frame.columns)
        column = target_kind(frame[name], source.decimal)
        values = column.values.where(finite(column.values))
        known = values[values.notna()]
        found = _quantity(known) if classes is None else _classes(known, classes)
        return found, known.index.to_numpy(), missing_notes(replace(column, values=values))

    def read_strata(self, source: Source) -> NDArray[Any] | None:
        """Return the strata of survival times in a table; None where there are none."""
        if self.survival is None or self.survival.strata is None:
            return None
        require_column(self.survival.strata, source.frame.columns)
        return strata_labels(source.frame[self.survival.strata]).to_numpy()


def _quantity(values: pd.Series) -> NDArray[np.float64]:
    values = values.map(_flag) if types.infer_dtype(values) in ("string", "boolean") else values
    try:
        return values.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError(f"{values.name!r} must hold numbers; it holds {as_text(values.iloc[0])}") from None


def _classes(values: pd.Series, classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes as a model knows them."""
    known = {_text(label): label for label in classes}
    cells = values.map(_text)
    unknown = values[~cells.isin(list(known))]
    if len(unknown):
        found, expected = (first_few(list(map(as_text, labels))) for labels in (unknown.unique(), classes))
        raise TableError(
            f"{values.name!r} holds classes that the model does not know: {found} ({row_numbers(unknown.index)}); it knows "
            f"{expected}"
        )
    return cells.map(known).to_numpy(dtype=classes.dtype)


def _check_present(needed: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error for columns that are not there, with similar names or, where there are none, with the others."""
    absent = [name for name in needed if name not in columns]
    if not absent:
        return
    others = [other for other in columns if other not in set(needed)]
    hints = {name: did_you_mean(name, others) for name in absent}
    listed = first_few([repr(name) + (f" ({hint})" if hint else "") for name, hint in hints.items()])
    known = "" if any(hints.values()) else f"; there are {first_few([repr(str(name)) for name in columns])}"
    raise TableError(f"columns that the model needs are missing: {listed}{known}")


def _feature(*values: Any) -> Feature:
    name, kind, levels, unit, day_first = values
    if kind not in _KINDS or levels not in _LEVELS or not isinstance(day_first, bool | None):
        raise ValueError(f"{values!r} describes no column")
    return Feature(_string(name), kind, levels, _string(unit), day_first)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _strings(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value is None else _string(value) for name, value in values.items()}
