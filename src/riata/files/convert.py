"""From the text of cells to numbers and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Dates", "decimal_of", "to_dates", "to_numbers", "unit_of"]

Floats = NDArray[np.float64]
_SPACES = "  \u202f"  # a space, and the two that do not break a line
_MONEY = r"[$€£¥]|USD|EUR|GBP|CHF|JPY"
_UNIT = re.compile(rf"(?:{_MONEY})?\s*([-+(]?[\d.,'{_SPACES}]*\d\)?)\s*((?:{_MONEY})|[A-Za-zµ°%²³/]*)")
_PLAIN = {
    ".": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"),
    ",": re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?"),
}
_GROUPED = {  # three digits between separators of thousands
    ".": re.compile(rf"[+-]?\d{{1,3}}([,'{_SPACES}]\d{{3}})+(\.\d*)?"),
    ",": re.compile(rf"[+-]?\d{{1,3}}([.'{_SPACES}]\d{{3}})+(,\d*)?"),
}
# Numbers in which one sign can only be the decimal sign, or the other only separate thousands; 1,234 is ambiguous.
_CLEAR_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+,\d*|\d{1,3}(\.\d{3}){2,}|\d+,(\d{1,2}|\d{4,})|(0|\d{4,}),\d+)")
_CLEAR_POINT = re.compile(r"[+-]?(\d{1,3}(,\d{3})+\.\d*|\d{1,3}(,\d{3}){2,}|\d+\.(\d{1,2}|\d{4,})|(0|\d{4,})\.\d+)")


def decimal_of(cells: Sequence[str], usual: str = ".") -> str:
    """Return the decimal sign of the numbers among some cells, comma or point; the usual one where all are ambiguous."""
    commas, points = (sum(bool(p.fullmatch(_bare(cell))) for cell in cells) for p in (_CLEAR_COMMA, _CLEAR_POINT))
    return usual if commas == points else "," if commas > points else "."


def to_numbers(cells: Sequence[str], decimal: str) -> Floats:
    """Return the number that each cell holds, NaN where it holds none.

    ``1,234.5`` and ``1 234.5`` have separators of thousands; with a decimal comma ``1.234,5`` has. Currencies around the
    number, and a per cent sign behind it, are ignored; ``(5)`` is −5.
    """
    return np.array([_number(_bare(cell), decimal) for cell in cells], dtype=np.float64)


def unit_of(cell: str) -> str:
    """Return the unit behind the number of a cell, ``mg`` in ``12 mg``; ``""`` where it is no number with a unit."""
    match = _UNIT.fullmatch(_signed(cell))
    return match[2] if match else ""


def _signed(cell: str) -> str:
    return cell.strip().replace("\u2212", "-")


def _bare(cell: str) -> str:
    text = re.sub(rf"^([-+]?)\s*(?:{_MONEY})\s*|\s*(?:{_MONEY}|%)$", r"\1", _signed(cell)).strip()
    return f"-{text[1:-1]}" if text.startswith("(") and text.endswith(")") else text


def _number(text: str, decimal: str) -> float:
    if _GROUPED[decimal].fullmatch(text):
        text = re.sub(rf"[{',' if decimal == '.' else '.'}'{_SPACES}]", "", text)
    elif not _PLAIN[decimal].fullmatch(text):
        return np.nan
    return float(text.replace(",", "."))


# ---- dates ----------------------------------------------------------------------------------------------------------

_TIME = r"(?:[ T](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*(Z|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})(?:[-/.](\d{{1,2}}))?{_TIME}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})[-/.](\d{{4}}|\d{{2}}){_TIME}")
_DAY_NAME = re.compile(rf"(\d{{1,2}})[- ]([A-Za-z]{{3,9}})\.?,?[- ](\d{{4}}|\d{{2}}){_TIME}")
_NAME_DAY = re.compile(rf"([A-Za-z]{{3,9}})\.? (\d{{1,2}}),? (\d{{4}}){_TIME}")
_DIGITS = re.compile(r"(\d{4})(\d{2})(\d{2})")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}


@dataclass(frozen=True, eq=False)
class Dates:
    """Dates that cells hold, in UTC where a zone is given, and how day and month were told apart."""

    values: pd.DatetimeIndex  # NaT where a cell holds no date
    remark: str = ""
    day_first: bool | None = None  # None where no date says so

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Which cells hold no date."""
        return np.asarray(self.values.isna())


def to_dates(cells: Sequence[str], *, digits: bool = False, day_first: bool | None = None) -> Dates:
    """Return the date that each cell holds, NaT where it holds none; with ``digits``, ``20260131`` is one.

    The order of day and month is that of the cells if ``day_first`` is not given.
    """
    cells = [cell.strip() for cell in cells]
    matches = [match for cell in cells if (match := _YEAR_LAST.fullmatch(cell))]
    first, remark = _order(matches) if day_first is None else (day_first, "")
    texts = [_iso(cell, day_first=first, digits=digits) for cell in cells]
    found = pd.to_datetime(pd.Series(texts, dtype=object), format="ISO8601", utc=True, errors="coerce")
    return Dates(pd.DatetimeIndex(found.dt.tz_localize(None)), remark, first if matches else None)


def _order(matches: Sequence[re.Match[str]]) -> tuple[bool, str]:
    """Return whether the day comes first in dates such as 3/4/2026, and a remark where no day is above 12."""
    if not matches:
        return False, ""
    first, second = (max(int(match[i]) for match in matches) for i in (1, 3))
    if first > 12 or second > 12:
        return first > 12, ""
    day_first = matches[0][2] == "."
    example = matches[0][0].split(" ")[0]
    return (
        day_first,
        f"the {'day' if day_first else 'month'} comes first, as in {example}, by custom: the dates are ambiguous",
    )


def _iso(cell: str, *, day_first: bool, digits: bool) -> str | None:
    if match := _YEAR_FIRST.fullmatch(cell):
        year, month, day, *time = match.groups()
        return _joined(year, month, day or "1", *time)
    if match := _YEAR_LAST.fullmatch(cell):
        first, _, second, year, *time = match.groups()
        return _joined(year, *((second, first) if day_first else (first, second)), *time)
    if match := _DAY_NAME.fullmatch(cell):
        day, name, year, *time = match.groups()
        return _joined(year, _month(name), day, *time)
    if match := _NAME_DAY.fullmatch(cell):
        name, day, year, *time = match.groups()
        return _joined(year, _month(name), day, *time)
    if digits and (match := _DIGITS.fullmatch(cell)):
        year, month, day = match.groups()
        return _joined(year, month, day, None, None)
    return None


def _month(name: str) -> str | None:
    number = _MONTHS.get(name[:3].lower())
    return None if number is None else str(number)


def _joined(year: str, month: str | None, day: str, time: str | None, zone: str | None) -> str | None:
    if month is None:
        return None
    if len(year) == 2:
        year = ("19" if int(year) >= 69 else "20") + year  # as in POSIX
    if time is not None and zone is not None and zone.upper() in ("AM", "PM"):
        hour, _, rest = time.partition(":")
        time, zone = f"{int(hour) % 12 + 12 * (zone.upper() == 'PM')}:{rest}", None
    date = f"{year}-{month.zfill(2)}-{day.zfill(2)}"
    return date if time is None else f"{date}T{time.zfill(len(time) + (time[1] == ':'))}{zone or ''}"
