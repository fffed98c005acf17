"""Options of the commands: their types and help, the checks of their values, and what they make up together."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from riata.cli.output import print_text
from riata.files import ColumnOptions, ReadOptions, TableError, read_table

# ---- of both commands -----------------------------------------------------------------------------------------------

Names = list[str] | None
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A csv, tsv, txt, parquet, feather, xlsx or h5ad file, one row per sample; - for standard input.",
    ),
]
Categorical = Annotated[
    Names, typer.Option("--categorical", metavar="COL", help="A column to take as categories; may be repeated.")
]
Numeric = Annotated[
    Names, typer.Option("--numeric", metavar="COL", help="A column to take as numbers; may be repeated.")
]
Dates = Annotated[Names, typer.Option("--dates", metavar="COL", help="A column to take as dates; may be repeated.")]
Missing = Annotated[
    Names, typer.Option("--na", metavar="TEXT", help="Cells that stand for missing values, beside NA; may be repeated.")
]
Separator = Annotated[
    str | None,
    typer.Option("--sep", metavar="SIGN", help="Separator of fields: , ; | tab or space; detected by default."),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="SIGN", help="Decimal sign: . or , ; detected by default.")
]
Skip = Annotated[int, typer.Option("--skip", min=0, metavar="N", help="Rows above the names, such as a title.")]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same result.")
]
Hidden = Annotated[
    str, typer.Option("--hidden", metavar="WIDTHS", help="Widths of the hidden layers, such as 100 or 100,50.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as JSON, and nothing else, on standard output.")
]

# ---- of select ------------------------------------------------------------------------------------------------------


class Task(StrEnum):
    """Whether the target holds classes or a quantity."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


Target = Annotated[str | None, typer.Option("--target", metavar="COL", help="The column to predict.")]
Time = Annotated[
    str | None,
    typer.Option("--time", metavar="COL", help="Instead of --target: survival times, or the dates at which rows end."),
]
Event = Annotated[
    str | None,
    typer.Option("--event", metavar="COL", help="With --time: whether a row ends with the event; COL=LEVEL names it."),
]
Entry = Annotated[
    str | None, typer.Option("--entry", metavar="COL", help="With --time: when observation begins; a time or a date.")
]
Strata = Annotated[
    str | None, typer.Option("--strata", metavar="COL", help="With --time: groups with a baseline hazard of their own.")
]
Subject = Annotated[
    str | None, typer.Option("--id", metavar="COL", help="With --time: the subject, which may have several rows.")
]
TaskName = Annotated[
    Task,
    typer.Option(
        "--task",
        metavar="TASK",
        help="classification, regression or auto, which infers it and prints the reason.",
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        metavar="N",
        help="Select the model of the path with the most features, but at most N, even if one with fewer has a lower "
        "validation loss, which is noted. Without it the fewest features that are about as good as the best.",
    ),
]
Folds = Annotated[int | None, typer.Option("--cv", metavar="K", help="Select the model by K-fold cross-validation.")]
Stability = Annotated[
    bool, typer.Option("--stability", help="Also run stability selection: features that most half-samples select.")
]
MaxFalse = Annotated[
    float | None,
    typer.Option(
        "--max-false", metavar="X", help="With --stability: mean number of false selections, at most; default 1."
    ),
]
Fdr = Annotated[
    float | None, typer.Option("--fdr", metavar="Q", help="Also select with knockoffs, at false discovery rate Q.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", metavar="N", help="Folds and half-samples to fit in parallel; -1 for all cores.")
]
OutFolder = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Folder for the results; made if it does not exist.")
]
Drop = Annotated[Names, typer.Option("--drop", metavar="COL", help="A column to leave out; may be repeated.")]
Image = Annotated[
    str | None,
    typer.Option(
        "--image", metavar="RxC", help="Rows and columns of an image whose pixels are the columns, such as 28x28."
    ),
]
WithReport = Annotated[bool, typer.Option("--report/--no-report", help="Whether to write report.html.")]
M = Annotated[
    float, typer.Option("--M", metavar="X", min=0, help="How nonlinear a feature may be; 0 is a linear model.")
]
LossName = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="LOSS",
        help="For numbers squared_error (the default), absolute_error, huber, quantile=0.9, poisson, gamma or tweedie=1.5; for "
        "classes cross_entropy (the default), focal or ordinal.",
    ),
]

# ---- of impute ------------------------------------------------------------------------------------------------------

OutFile = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="The filled table, .csv or .parquet; its folder is made.")
]
Inputs = Annotated[int | None, typer.Option("--k", metavar="N", help="Fill all columns from at most N of them.")]
PassThrough = Annotated[
    Names, typer.Option("--drop", metavar="COL", help="A column to pass through unchanged; may be repeated.")
]


# ---- of stored models -----------------------------------------------------------------------------------------------

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, such as the model.riata that select writes.")
]
OutModel = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, .onnx; its folder is made.")]
NewFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A table with the columns of the model; - for standard input.")
]
ReportFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="A table with the columns of the model and its target; - for standard input."),
]
Data = Annotated[Path | None, typer.Option("--data", metavar="FILE", help="The same as FILE.")]
KnownTarget = Annotated[
    str | None, typer.Option("--target", metavar="COL", help="The column with the true values, if it has another name.")
]
OutPredictions = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="The predictions, .csv or .parquet; - for standard output.")
]
OutReport = Annotated[Path, typer.Option("--out", metavar="FILE", help="The report, .html; its folder is made.")]
Moments = Annotated[
    list[float] | None,
    typer.Option("--at", metavar="TIME", help="Of survival models: also predict survival until TIME; may be repeated."),
]


# ---- all together ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """The options of a command, checked."""

    out: Path
    seed: int
    k: int | None = None
    M: float = 10.0
    hidden: tuple[int, ...] = (100,)
    quiet: bool = False
    json: bool = False  # whether the summary is all that is printed on standard output
    cv: int | None = None  # folds
    max_false: float | None = None  # bound of a stability selection; None for no such selection
    fdr: float | None = None  # false discovery rate of a selection with knockoffs; None for no such selection
    n_jobs: int = 1
    image: tuple[int, int] | None = None  # rows and columns of pixels
    report: bool = True
    loss: Any = None  # of a regressor or a classifier; None for the usual one
    training: Any = None  # of the model; None for the usual one
    rank: int = 0  # of this process, where several fit one model: the first writes and prints
    n_ranks: int = 1
    checkpoint: Path | None = None  # where fits keep what is complete
    resume: bool = False  # whether to continue from there

    @property
    def console(self) -> Console:
        """Where results are printed."""
        return Console(quiet=self.quiet or self.json)

    def note(self, *texts: str) -> None:
        """Print remarks on standard error."""
        for text in texts:
            print_text(Console(stderr=True, quiet=self.quiet), f"note: {text}")

    @contextmanager
    def noting_warnings(self, wording: Mapping[str, str] | None = None) -> Iterator[list[str]]:
        """Print the warnings of a block as notes, once each, when it has ended; they are then in the list as well.

        ``wording`` replaces the library's names of parameters by those of the command line.
        """
        notes: list[str] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield notes
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            for of_library, of_command in (wording or {}).items():
                text = text.replace(of_library, of_command)
            notes.append(text)
            self.note(text)


# ---- checks ---------------------------------------------------------------------------------------------------------


def read_options(sep: str | None, decimal: str | None, na: Names, skip: int) -> ReadOptions:
    """Check how a file is to be read."""
    signs = {"tab": "\t", "\\t": "\t", "space": r"\s+", "comma": ",", "semicolon": ";"}
    sep = sep if sep is None else signs.get(sep, sep)
    if sep is not None and len(sep) != 1 and sep not in signs.values():
        raise TableError(f"--sep must be one sign, or tab or space; got {sep!r}")
    if decimal not in (None, ".", ","):
        raise TableError(f"--decimal must be . or , and nothing else; got {decimal!r}")
    return ReadOptions(sep, decimal, tuple(na or ()), skip)


def check_target(
    target: str | None, task: Task, time: str | None, event: str | None, *, loss: Any = None, **others: str | None
) -> None:
    """Check that the columns of one target are given."""
    given = {f"--{role}": name for role, name in {"time": time, "event": event, **others}.items() if name is not None}
    if target is not None and given:
        raise TableError(f"{next(iter(given))} is for survival times, and --target for other targets: give one of them")
    if target is None and not given:
        raise TableError("give the column to predict, --target COL, or survival times, --time COL --event COL")
    if target is None and (time is None or event is None):
        missing = "--time" if time is None else "--event"
        what = "the column of times" if time is None else "the column that says whether a row ends with the event"
        raise TableError(f"{next(iter(given))} is for survival times, which also need {missing} COL: {what}")
    if target is None and task is not Task.auto:
        raise TableError(f"--task {task.value} is for --target; with --time the task is survival: leave it out")
    if target is None and loss is not None:
        raise TableError("--loss is for --target; with --time the loss is the partial likelihood: leave it out")


def column_options(categorical: Names, numeric: Names, dates: Names, drop: Names) -> ColumnOptions:
    """Return what a user has decided about columns."""
    given = [tuple(names or ()) for names in (categorical, numeric, dates, drop)]
    return ColumnOptions(given[0], given[1], given[2], given[3])


def table_arguments(how: ReadOptions, columns: ColumnOptions, **target: Any) -> dict[str, Any]:
    """Return the arguments of :func:`riata.read_table` that differ from its defaults."""
    given = {**target, **vars(columns), **vars(how)}
    defaults = {name: parameter.default for name, parameter in signature(read_table).parameters.items()}
    return {name: value for name, value in given.items() if name in defaults and value != defaults[name]}


def parse_image(text: str | None) -> tuple[int, int] | None:
    """Parse the size of an image."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*[x×X,]\s*(\d+)\s*", text)
    if found is None or "0" in found.groups():
        raise TableError(f"--image must be rows and columns, such as 28x28; got {text!r}")
    return int(found[1]), int(found[2])


def check_image(image: tuple[int, int] | None, n: int) -> None:
    """Check that there is one feature for each pixel."""
    if image is not None and image[0] * image[1] != n:
        raise TableError(
            f"--image {image[0]}x{image[1]} needs {image[0] * image[1]:,} features, one for each pixel; the table has {n:,}: "
            "leave out other columns with --drop"
        )


def parse_widths(text: str) -> tuple[int, ...]:
    """Parse the widths of hidden layers."""
    try:
        widths = tuple(int(part) for part in text.split(","))
    except ValueError:
        widths = ()
    if not widths or min(widths) < 1:
        raise TableError(f"--hidden must be widths of at least 1, such as 100 or 100,50; got {text!r}")
    return widths


def check_k(k: int | None, n: int, what: str) -> int | None:
    """Check a number of features or columns."""
    if k is not None and not 1 <= k <= n:
        raise TableError(f"--k must be between 1 and the number of {what}, {n}; got {k}")
    return k


def check_cv(cv: int | None) -> int | None:
    """Check a number of folds."""
    if cv is not None and cv < 2:
        raise TableError(f"--cv must be at least 2 folds; got {cv}")
    return cv


def check_max_false(stability: bool, max_false: float | None) -> float | None:
    """Check the bound of a stability selection; None without such a selection."""
    if not stability and max_false is not None:
        raise TableError("--max-false is for stability selection: give --stability too")
    if max_false is not None and not 0 < max_false < math.inf:
        raise TableError(f"--max-false must be above 0, such as 1; got {max_false:g}")
    return (1.0 if max_false is None else max_false) if stability else None


def check_fdr(fdr: float | None) -> float | None:
    """Check a false discovery rate."""
    if fdr is not None and not 0 < fdr <= 1:
        raise TableError(f"--fdr must be above 0 and at most 1, such as 0.1; got {fdr:g}")
    return fdr


def check_jobs(jobs: int) -> int:
    """Check how many jobs may run in parallel."""
    if jobs < 1 and jobs != -1:
        raise TableError(f"--jobs must be at least 1, or -1 for all cores; got {jobs}")
    return jobs
