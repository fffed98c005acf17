"""What a column of a table holds, and what is done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from riata.evidence.curves import brief
from riata.files.convert import to_dates, to_numbers, unit_of
from riata.files.messages import TableError, counted, must_exist, option, rows_of, shown, some

__all__ = ["Asked", "Column", "kinds", "target_kind", "to_frame"]

_USES = {
    "number": "as it is",
    "category": "one feature",
    "date": "days since 1970-01-01",
    "identifier": "left out",
    "constant": "left out",
    "text": "left out",
}
_FEW_BAD = 0.05  # share of the cells that may be no numbers in a column of numbers
_MARKS = 2  # different cells that are no numbers, however often they stand: marks of what is missing
_DISTINCT = 0.5  # share of different cells above which text names rows
_DAY = 24 * 60 * 60  # seconds
_CODE = r"0\d+"  # digits with a leading zero are a code, not a number
_SEVERAL = 5  # different numbers of a column that have a range
_LONG = 40  # characters of an average cell that is prose
_NAMED = re.compile(r"(?i)(.*[ _.-])?(id|uuid|guid|index|row|rowid|record)|unnamed: \d+|.*[a-z](Id|ID)|")


@dataclass(frozen=True)
class Asked:
    """What a user says of columns: which to take as categories, numbers or dates, and which to leave out."""

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that do not exist, or are given twice."""
        options = {
            "--categorical": self.categorical,
            "--numeric": self.numeric,
            "--dates": self.dates,
            "--drop": self.drop,
        }
        seen: dict[str, str] = {}
        for flag, given in options.items():
            for name in dict.fromkeys(given):
                must_exist(name, names)
                if name in seen:
                    raise TableError(f"{name!r} is given with {seen[name]} and with {flag}: give one of them")
                seen[name] = flag


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        What it is called.
    kind : str
        number, category, date, identifier, constant, text, or "left out" on request.
    values : Series
        Numbers, levels or dates, with gaps.
    holds : str
        What its cells hold, for people.
    use : str
        What is done about it, for people, and how to overrule that.
    bad : Series
        Cells that are none of its kind, by position; they are gaps among ``values``.
    """

    name: str
    kind: str
    values: pd.Series
    holds: str
    use: str
    bad: pd.Series

    @property
    def used(self) -> bool:
        """Whether it is a feature."""
        return self.kind in ("number", "category", "date")

    @property
    def remarkable(self) -> bool:
        """Whether there is more to say of it than its kind."""
        return not self.used or bool(len(self.bad)) or self.kind == "date" or ";" in self.use


def kinds(frame: pd.DataFrame, decimal: str = ".", asked: Asked = Asked()) -> list[Column]:  # noqa: B008 — frozen
    """Say what every column of a table holds, and turn text into numbers and dates where it holds these.

    Parameters
    ----------
    frame : DataFrame
        Columns as they were read.
    decimal : str
        What stands before the decimals of numbers in text.
    asked : Asked
        What a user has decided.

    Returns
    -------
    list of Column
        One for each, in order.
    """
    asked.check([str(name) for name in frame.columns])
    frame = frame.reset_index(drop=True)
    return [_kind(frame.iloc[:, j].rename(str(name)), decimal, asked) for j, name in enumerate(frame.columns)]


def to_frame(columns: Sequence[Column]) -> pd.DataFrame:
    """Return a table of what columns hold, one row for each."""
    fields = ("name", "kind", "holds", "use")
    return pd.DataFrame([[getattr(column, field) for field in fields] for column in columns], columns=list(fields))


def _kind(column: pd.Series, decimal: str, asked: Asked) -> Column:
    name = str(column.name)
    if name in asked.drop:
        return _column(column, "left out", "", "as asked for")
    if name in asked.categorical:
        return _category(_as_levels(column))
    if name in asked.numeric:
        return _numbers(column, decimal, forced=True)
    if name in asked.dates:
        return _dates(column)
    return _found(column, decimal)


def _found(column: pd.Series, decimal: str) -> Column:
    """Say what a column holds that nothing was said of."""
    filled = column.dropna()
    if not len(filled):
        return _column(column, "constant", "no cell holds anything")
    distinct = _distinct(filled)
    if distinct == 1 and len(filled) == len(column):
        return _column(column, "constant", f"every cell is {shown(filled.iloc[0])}")
    if types.is_bool_dtype(column) and len(filled) < len(column):
        return _category(column)  # true, false or missing
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column) or types.is_timedelta64_dtype(column):
        return _numbers(column, decimal)
    if types.is_datetime64_any_dtype(column) or isinstance(column.dtype, pd.PeriodDtype):
        return _dates(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _named(column, distinct) or _category(column)
    return _objects(column, filled, distinct, decimal)


def _objects(column: pd.Series, filled: pd.Series, distinct: int, decimal: str) -> Column:
    """Say what a column of text, or of objects of any sort, holds."""
    inferred = types.infer_dtype(filled)
    if inferred == "boolean":
        return _category(column)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return _numbers(column, decimal)
    if inferred in ("date", "datetime", "datetime64", "timedelta"):
        return _dates(column)
    if not all(isinstance(value, str | bool | int | float | np.number) for value in filled):
        raise TableError(
            f"{column.name!r} holds {inferred} values, neither numbers nor text nor dates: turn them into these, or leave "
            f"the column out: {option('--drop', [str(column.name)])}"
        )
    column = column.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore")
    return (
        _numbers_or_none(column, decimal)
        or _dates_or_none(column)
        or _named(column, distinct)
        or _category(column.astype("str"))
    )


def target_kind(column: pd.Series, decimal: str = ".") -> Column:
    """Say whether a target holds numbers, dates or words; it is used whatever it holds."""
    filled = column.dropna()
    if types.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return _category(column)
    if types.is_datetime64_any_dtype(column):
        return _dates(column)
    if not types.is_numeric_dtype(column):
        text = column.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore")
        inferred = types.infer_dtype(filled)
        found = (
            _dates(column)
            if inferred.startswith("date")
            else None
            if inferred == "boolean"
            else _numbers_or_none(text, decimal)
        )
        return found or _dates_or_none(text) or _category(text.astype("str"))
    floats = column.to_numpy(dtype=float, na_value=np.nan)
    return _column(column, "number", "", _far_code(floats[np.isfinite(floats)]))


def _distinct(filled: pd.Series) -> int:
    return int(filled.astype(str).nunique() if filled.dtype == object else filled.nunique())


def _column(values: pd.Series, kind: str, holds: str, more: str = "", bad: pd.Series | None = None) -> Column:
    missing = int(values.isna().sum()) - (0 if bad is None else len(bad))
    if missing and holds and kind != "constant":
        holds += f", {missing:,} missing"
    use = "; ".join(filter(None, (_USES.get(kind, kind), more)))
    return Column(str(values.name), kind, values, holds, use, values.iloc[:0] if bad is None else bad)


# ---- numbers --------------------------------------------------------------------------------------------------------


def _numbers_or_none(column: pd.Series, decimal: str) -> Column | None:
    """Take text for numbers if nearly all of its cells are, in the way of the file or in the other one."""
    filled = column.dropna()
    if filled.str.fullmatch(_CODE).any():
        return None
    column, unit = _without_unit(column)
    filled = column.dropna()
    for point in (decimal, "," if decimal == "." else "."):
        odd = filled[np.isnan(_mapped(filled, partial(to_numbers, decimal=point)))]
        few = len(odd) <= _FEW_BAD * len(filled) or odd.str.strip().nunique() <= _MARKS
        if few and len(odd) < len(filled) / 2:
            found = _numbers(column, point)
            return replace(found, use=f"{found.use}; the unit {unit!r} is passed over") if unit else found
    return None


def _without_unit(column: pd.Series) -> tuple[pd.Series, str]:
    """Take off the unit that nearly all cells share, such as mg, and return it; nothing where there is none."""
    units = column.dropna().map(unit_of)
    common = units.value_counts().index[0] if len(units) else ""
    if not common or common == "%" or (units == common).mean() < 1 - _FEW_BAD:
        return column, ""
    return column.map(lambda cell: str(cell).removesuffix(common).rstrip(), na_action="ignore"), common


def _numbers(column: pd.Series, decimal: str, *, forced: bool = False) -> Column:
    """Return a column of numbers, with gaps where a cell holds none."""
    name = str(column.name)
    if types.is_timedelta64_dtype(column):
        column = column.dt.total_seconds() / _DAY
    if types.is_bool_dtype(column):
        return _column(column.astype(bool), "number", "true or false")
    if forced and not types.is_numeric_dtype(column):
        column = _without_unit(column.astype(object).map(str, na_action="ignore"))[0]
    values = _floats(column, decimal)
    bad = column[np.isnan(values) & column.notna().to_numpy()]
    if forced and np.isnan(values).all():
        example = shown(column.dropna().iloc[0]) if column.notna().any() else "nothing"
        raise TableError(f"--numeric {name}: no cell of it is a number; the first holds {example}")
    known = values[~np.isnan(values)]
    whole = bool(len(known)) and bool((known % 1 == 0).all()) and np.abs(known).max() < 2**53
    typed = column if _is_whole(column) and not len(bad) else pd.Series(values, column.index, name=name)
    if whole and not forced and _numbers_rows(known, name):
        return _column(typed, "identifier", f"{len(known):,} different numbers", f"keep it with --numeric {name}")
    if len(np.unique(known)) == 1 and len(known) == len(values):
        return _column(typed, "constant", f"every cell is {shown(known[0])}")
    holds = (
        f"{len(np.unique(known)):,} different, {brief(known.min(), 4)} to {brief(known.max(), 4)}" if len(known) else ""
    )
    more = "; ".join(filter(None, (_bad_cells(bad, "a number"), _far_code(known))))
    return _column(typed, "number", holds, more, bad)


def _far_code(known: NDArray[np.float64]) -> str:
    """Point out a number that stands repeatedly and far from all others, such as -99: it may be a code for missing."""
    for edge in (known.min(), known.max()) if len(known) else ():
        others, n = known[known != edge], int((known == edge).sum())
        if n < 2 or len(np.unique(others)) < _SEVERAL:
            continue
        if np.abs(others - edge).min() > np.ptp(others):
            return f"{n:,} cells are {shown(edge)}, far from all others: if that stands for missing, --na {shown(edge)}"
    return ""


def _is_whole(column: pd.Series) -> bool:
    return types.is_integer_dtype(column) and not column.isna().any()


def _floats(column: pd.Series, decimal: str) -> NDArray[np.float64]:
    """Return numbers, NaN for gaps, for what is no number and for what is infinite."""
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        text = column.astype(object).map(str, na_action="ignore")
        values = np.full(len(text), np.nan)
        known = text.notna().to_numpy()
        values[known] = _mapped(text[known], partial(to_numbers, decimal=decimal))
    return np.where(np.isfinite(values), values, np.nan)


def _mapped(cells: pd.Series, convert: Callable[[Sequence[str]], Any]) -> Any:
    """Convert every different cell once."""
    codes, levels = pd.factorize(cells)
    return np.asarray(convert([str(level) for level in levels]))[codes]


def _numbers_rows(known: NDArray[np.float64], name: str) -> bool:
    """Say whether whole numbers, all different, only name rows: without a hole, or in a column that is called so."""
    ordered = np.sort(known)
    gaps = np.diff(ordered)
    return len(known) > 2 and bool((gaps > 0).all()) and (bool((gaps == 1).all()) or bool(_NAMED.fullmatch(name)))


def _bad_cells(bad: pd.Series, what: str) -> str:
    """List cells that are not what the rest of their column is."""
    if not len(bad):
        return ""
    cells = some([shown(value) for value in bad.astype(str).unique()])
    are = "1 cell is" if len(bad) == 1 else f"{len(bad):,} cells are"
    return f"{are} not {what} and taken as missing: {cells} ({rows_of(bad.index)})"


# ---- dates ----------------------------------------------------------------------------------------------------------


def _dates_or_none(column: pd.Series) -> Column | None:
    """Take text for dates if nearly all of its cells are."""
    filled = column.dropna()
    sample = filled.iloc[:: max(1, len(filled) // 200)]
    if to_dates(sample.tolist()).unknown.mean() > 0.5:  # most text is no date, and is spared the whole work
        return None
    levels = np.asarray(pd.unique(filled), dtype=object)
    odd = set(levels[to_dates(levels.tolist()).unknown])
    n_odd = int(filled.isin(odd).sum())
    few = n_odd <= _FEW_BAD * len(filled) or len(odd) <= _MARKS
    return _dates(column) if few and n_odd < len(filled) / 2 else None


def _dates(column: pd.Series) -> Column:
    """Return a column of dates, with gaps where a cell holds none."""
    remark, name = "", str(column.name)
    if isinstance(column.dtype, pd.PeriodDtype):
        values = column.dt.to_timestamp()
    elif types.is_datetime64_any_dtype(column):
        values = column.dt.tz_convert(None) if column.dt.tz is not None else column
    elif types.infer_dtype(column, skipna=True).startswith("date"):
        values = pd.to_datetime(column)
    else:
        whole = types.is_numeric_dtype(column) and bool((column.dropna() % 1 == 0).all())
        cells = column.dropna().astype("int64") if whole else column.dropna()
        codes, levels = pd.factorize(cells)
        found = to_dates([str(level) for level in levels], digits=True)
        remark = found.remark
        values = pd.Series(pd.NaT, column.index, name=name, dtype=found.values.dtype)
        values.loc[cells.index] = found.values[codes]
    if not values.notna().any():
        raise TableError(f"--dates {name}: no cell of it is a date such as 2026-01-31 or 31.1.2026")
    bad = column[values.isna() & column.notna()]
    first, last = values.min(), values.max()
    if first == last and values.notna().all():
        return _column(values, "constant", f"every cell is {first}")
    holds = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    return _column(values, "date", holds, "; ".join(filter(None, (remark, _bad_cells(bad, "a date")))), bad)


# ---- words ----------------------------------------------------------------------------------------------------------


def _named(column: pd.Series, distinct: int) -> Column | None:
    """Take text for names of rows, or for prose, if it hardly ever repeats."""
    filled = column.dropna().astype(str)
    if distinct <= _DISTINCT * len(filled) or distinct <= _MARKS:
        return None
    kind = "text" if filled.str.len().mean() > _LONG else "identifier"
    holds = f"{distinct:,} different cells in {counted(len(filled), 'row')}"
    return _column(column, kind, holds, f"keep it with {option('--categorical', [str(column.name)])}")


def _as_levels(column: pd.Series) -> pd.Series:
    """Return a column as categories, whatever it holds; numbers are levels by their value."""
    return column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")


def _category(column: pd.Series) -> Column:
    filled = column.dropna()
    n = _distinct(filled)
    levels = filled.value_counts().index
    example = some([shown(value) for value in levels[:3]])
    folded = pd.Series([str(level).casefold() for level in levels])
    same = [shown(level) for level in levels[folded.duplicated(keep=False).to_numpy()]]
    more = f"{some(same)} differ in capitals only and are levels of their own" if same else ""
    return _column(column, "category", f"{counted(n, 'level')}: {example}{' …' if n > 3 else ''}", more)
