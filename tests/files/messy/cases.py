"""Files as they come: tables with every sort of flaw, and what the command line is expected to do with each."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

TRUE = {"X1", "X2", "X3", "X4", "X5"}
N = 400


@dataclass(frozen=True)
class Case:
    """One file.

    ``kinds`` are those of some columns; ``printed`` is on standard output, ``notes`` on standard error. A case with
    ``friedman`` counts among those of which nine in ten must find the five true columns and at most one other.
    """

    name: str
    write: Callable[[Path], Path]
    options: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    printed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int = 0
    friedman: bool = True
    target: str = "y"


def friedman(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Ten columns of which five matter (Friedman 1991)."""
    draw = np.random.default_rng(seed)
    X = draw.random((n, 10))
    frame = pd.DataFrame(X, columns=[f"X{j}" for j in range(1, 11)])
    frame["y"] = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    frame["y"] += draw.standard_normal(n)
    return frame.round(6)


def csv(frame: pd.DataFrame, name: str = "data.csv", encoding: str = "utf-8", **how) -> Callable[[Path], Path]:
    """Return what writes a table as text."""

    def write(folder: Path) -> Path:
        text = frame.to_csv(index=False, **how)
        (folder / name).write_bytes(text.encode(encoding))
        return folder / name

    return write


def text(content: str | bytes, name: str = "data.csv") -> Callable[[Path], Path]:
    """Return what writes a file as it is."""

    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / name

    return write


def stored(frame: pd.DataFrame, name: str) -> Callable[[Path], Path]:
    """Return what writes a table in a format that knows types."""

    def write(folder: Path) -> Path:
        path = folder / name
        writers = {".xlsx": lambda: frame.to_excel(path, index=False), ".feather": lambda: frame.to_feather(path)}
        writers.get(path.suffix, lambda: frame.to_parquet(path))()
        return path

    return write


def spoilt(column: str, cells: dict[int, object]) -> pd.DataFrame:
    """Return the table with other cells in a column, as text."""
    frame = friedman()
    frame[column] = frame[column].astype(str).astype(object)
    for row, cell in cells.items():
        frame.loc[row, column] = cell
    return frame


def levels(n_levels: int, seed: int = 5) -> list[str]:
    """Return levels of pure noise."""
    return [f"S{i}" for i in np.random.default_rng(seed).integers(0, n_levels, N)]


def gaps(share: float = 0.05) -> pd.DataFrame:
    """Return the table with missing numbers in every column."""
    frame = friedman()
    hidden = np.random.default_rng(7).random((N, 10)) < share
    frame.iloc[:, :10] = frame.iloc[:, :10].mask(hidden)
    return frame


F = friedman()
DAYS = pd.date_range("2023-01-01", periods=N)
DRAW = np.random.default_rng(11)
DECIMAL = F.map(lambda value: f"{1000 * value:,.3f}".translate(str.maketrans(",.", ".,")))
LATIN = F.rename(columns={"X6": "größe"})

CASES = [
    # ---- what a file is written in
    Case("plain", csv(F), kinds={"X1": "number"}, printed=("separated by commas, UTF-8", "10 of 10 columns")),
    Case(
        "semicolons and decimal commas",
        csv(F, sep=";", decimal=","),
        printed=("separated by semicolons", "decimal commas"),
    ),
    Case("tabs", csv(F, "data.tsv", sep="\t"), printed=("separated by tabs",)),
    Case("spaces", csv(F, "data.txt", sep=" "), printed=("separated by spaces",)),
    Case("bars", csv(F, "data.txt", sep="|"), printed=("separated by bars",)),
    Case("any sign, given with --sep", csv(F, sep="#"), ("--sep", "#")),
    Case("gzip", lambda folder: text(gzip.compress(F.to_csv(index=False).encode()), "data.csv.gz")(folder)),
    Case("latin-1", csv(LATIN, encoding="latin-1"), printed=("Windows-1252", "größe")),
    Case("utf-16", csv(LATIN, encoding="utf-16"), printed=("UTF-16", "größe")),
    Case("utf-16 without a mark", csv(LATIN, encoding="utf-16-le"), printed=("UTF-16", "größe")),
    Case("a byte order mark", csv(LATIN, encoding="utf-8-sig"), printed=("byte order mark", "größe")),
    Case("names with separators, quotes and spaces", csv(F.rename(columns={"X6": 'a, "b"', "X7": " c "}))),
    Case("spaces after commas", text(F.to_csv(index=False).replace(",", ", "))),
    Case("Excel", stored(F.assign(day=DAYS), "data.xlsx"), kinds={"day": "date"}, printed=("xlsx",)),
    Case("feather", stored(F, "data.feather"), printed=("feather",)),
    Case(
        "parquet with types",
        stored(F.assign(day=DAYS, site=pd.Categorical(levels(5)), flag=DRAW.random(N) < 0.5), "data.parquet"),
        kinds={"day": "date", "site": "category", "flag": "number"},
    ),
    # ---- numbers
    Case("thousands", csv(F.map(lambda value: f"{1e6 * value:,.0f}")), kinds={"X1": "number", "X10": "number"}),
    Case("thousands with points", csv(DECIMAL, sep=";"), printed=("decimal commas",), kinds={"X1": "number"}),
    Case(
        "currency and per cent",
        csv(F.assign(X6=F["X6"].map("${:,.2f}".format), X7=F["X7"].map("{:.1f} %".format))),
        kinds={"X6": "number", "X7": "number"},
    ),
    Case(
        "one typo",
        csv(spoilt("X4", {17: "0.5x"})),
        kinds={"X4": "number"},
        printed=("1 cell is not a number and taken as missing: '0.5x' (row 18)",),
    ),
    Case(
        "a question mark in every tenth cell",
        csv(spoilt("X6", dict.fromkeys(range(0, N, 10), "?"))),
        kinds={"X6": "number"},
        printed=("40 cells are not a number and taken as missing: '?'",),
    ),
    Case("a separator of thousands in one cell", csv(spoilt("X7", {3: "979,000"})), kinds={"X7": "number"}),
    Case(
        "-999 for missing",
        csv(F.assign(X6=F["X6"].where(F.index % 20 > 0, -999))),
        ("--na", "-999"),
        printed=("20 missing",),
    ),
    Case("an infinite cell", csv(F.assign(X8=F["X8"].where(F.index != 9, np.inf))), printed=("'inf' (row 10)",)),
    Case("missing numbers", csv(gaps()), printed=(" missing",)),
    Case("an outlier", csv(F.assign(X7=F["X7"].where(F.index != 9, 1e9)))),
    Case("units", csv(F * [1e-9, 1e9, 1, 1e6, 1, 1e-6, 1, 1, 1e12, 1, 1])),
    Case("heavy tails", csv(F.assign(a=np.exp(3 * DRAW.standard_normal(N)), b=DRAW.standard_cauchy(N)))),
    Case("a copy", csv(F.assign(copy=F["X7"]))),
    # ---- words
    Case(
        "30 levels of noise", csv(F.assign(site=levels(30))), kinds={"site": "category"}, printed=("11 of 11 columns",)
    ),
    Case("80 levels of noise", csv(F.assign(town=levels(80))), kinds={"town": "category"}),
    Case("missing words", csv(F.assign(site=pd.Series(levels(8)).where(F.index % 9 > 0))), printed=("missing",)),
    Case(
        "yes and no, true and false with gaps",
        csv(
            F.assign(
                smoker=DRAW.choice(["yes", "no"], N),
                wild=pd.Series(DRAW.random(N) < 0.5, dtype=object).where(F.index % 7 > 0),
            )
        ),
        kinds={"smoker": "category", "wild": "category"},
    ),
    Case(
        "codes that are categories",
        csv(F.assign(code=DRAW.integers(0, 9, N))),
        ("--categorical", "code"),
        {"code": "category"},
    ),
    Case(
        "prose",
        csv(F.assign(comment=[f"the visit of patient {i} went well, with a note of {i * 7}" for i in range(N)])),
        kinds={"comment": "text"},
        printed=("400 different cells in 400 rows", "left out"),
    ),
    # ---- dates
    Case("dates", csv(F.assign(day=DAYS)), kinds={"day": "date"}, printed=("2023-01-01 to 2024-02-04",)),
    Case(
        "dates, day first",
        csv(F.assign(day=DAYS.strftime("%d.%m.%Y"))),
        kinds={"day": "date"},
        printed=("2023-01-01 to",),
    ),
    Case(
        "dates, month first, one bad",
        csv(F.assign(day=pd.Series(DAYS.strftime("%m/%d/%Y")).where(F.index != 4, "soon"))),
        kinds={"day": "date"},
        printed=("1 cell is not a date and taken as missing: 'soon' (row 5)",),
    ),
    Case("times with zones", csv(F.assign(at=DAYS.tz_localize("Europe/Rome"))), kinds={"at": "date"}),
    Case("digits that are dates", csv(F.assign(day=DAYS.strftime("%Y%m%d"))), ("--dates", "day"), {"day": "date"}),
    # ---- what is no feature
    Case("an identifier", csv(F.assign(patient=[f"P{i:04d}" for i in range(N)])), kinds={"patient": "identifier"}),
    Case(
        "an index without a name",
        text(F.to_csv()),
        kinds={"Unnamed: 0": "identifier"},
        printed=("left out",),
    ),
    Case(
        "numbers of patients", csv(F.assign(patient_id=DRAW.permutation(10**6)[:N])), kinds={"patient_id": "identifier"}
    ),
    Case(
        "constants and an empty column",
        csv(F.assign(one=1, word="x", empty=None)),
        kinds=dict.fromkeys(("one", "word", "empty"), "constant"),
    ),
    # ---- the target
    Case(
        "a target with gaps and a typo",
        csv(F.assign(y=F["y"].astype(object).where(F.index > 4, None).where(F.index != 9, "1o"))),
        notes=("left out 6 rows without a value of 'y'; not numbers: '1o' (row 10)",),
    ),
    Case(
        "two extreme targets",
        csv(F.assign(y=F["y"].where(~F.index.isin([9, 99]), 1e6))),
        friedman=False,
        notes=("rows 10, 100 of 'y' hold 1e+06, where all others lie between", "--na 1000000"),
    ),
    Case(
        "a linear model and an outlier",
        csv(F.assign(X4=F["X4"].where(F.index != 3, 1e9))),
        ("--M", "0"),
        friedman=False,
    ),
    Case("true or false", csv(F.assign(y=F["y"] > F["y"].median())), friedman=False, notes=("'y' is true or false",)),
]

REFUSED = [
    Case("an empty file", text(""), notes=("it is empty",)),
    Case("names alone", text("a,b,y\n"), notes=("0 rows",)),
    Case("no names", text(F.to_csv(index=False, header=False)), notes=("the first row holds numbers", "add a row of")),
    Case("the same name twice", text("a,a,y\n" + "1,2,3\n" * 20), notes=("'a' (2 times)", "rename")),
    Case("ragged rows", text("a,y\n1,2\n1,2,3\n"), notes=("line 3 has 3 fields",)),
    Case("more fields than names", text("a,y\n1,2,3\n1,2,3\n"), notes=("more fields than the header",)),
    Case(
        "no table",
        text(b"\x89PNG\r\n\x1a\n", "data.png"),
        notes=("save it as csv, tsv, txt, parquet, feather, xlsx or h5ad",),
    ),
    Case("a misspelt target", csv(F.rename(columns={"y": "Price"})), target="prise", notes=("did you mean 'Price'?",)),
    Case("a target of one value", csv(F.assign(y=3.0)), notes=("only one value (3)",)),
    Case(
        "a target of names",
        csv(F.assign(y=[f"P{i}" for i in range(N)])),
        notes=("too many for classes", "such as 'P0'"),
    ),
    Case("a target of dates", csv(F.assign(y=DAYS)), notes=("the target 'y' holds dates",)),
    Case(
        "a rare class",
        csv(F.assign(y=["rare"] * 2 + ["a", "b"] * (N // 2 - 1))),
        notes=("fewer than 3 rows: 'rare' (2)",),
    ),
    Case(
        "words for a quantity",
        csv(F.assign(y=["a", "b"] * (N // 2))),
        ("--task", "regression"),
        notes=(
            "is text such as 'a'",
            "use --task classification or, if it is a quantity, leave nothing but the number in each cell",
        ),
    ),
    Case(
        "a quantity for classes",
        csv(F),
        ("--task", "classification"),
        notes=("too many for classes", "--task regression"),
    ),
    Case(
        "nothing but identifiers",
        csv(F[["y"]].assign(a=[f"P{i}" for i in range(N)])),
        notes=("'a' (identifier)",),
    ),
    Case(
        "words for --numeric",
        csv(F.assign(site=levels(4))),
        ("--numeric", "site"),
        notes=("no cell of it is a number",),
    ),
    Case("two options for a column", csv(F), ("--numeric", "X1", "--drop", "X1"), notes=("--numeric and with --drop",)),
    Case("few rows", csv(F.head(9)), notes=("9 rows", "at least 10")),
]
