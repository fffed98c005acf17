"""What repeats a run: the command, and lines of Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from sklearn.base import BaseEstimator

from riata.losses import ClassLoss, NumberLoss

__all__ = ["Origin", "command_line", "python_lines"]

_WIDTH = 88  # of a line of code


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a table comes from.

    Attributes
    ----------
    file : Path
        The file.
    arguments : dict
        What :func:`riata.read_table` was given beside it.
    command : str
        The command that is being run.
    """

    file: Path
    arguments: dict[str, Any]
    command: str


def command_line(context: typer.Context) -> str:
    """Return the command that is being run, as it could be typed."""
    words = ["riata", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in ("checkpoint", "resume"):  # of no influence on the result
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            words += _words(parameter, context.params[name])
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [str(value)]
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    each = value if isinstance(value, list | tuple) else [value]
    return [word for one in each for word in (parameter.opts[0], str(one.value if isinstance(one, Enum) else one))]


def python_lines(
    origin: Origin, model: Any, *, k: int | None, seed: int, report: Mapping[str, Any], selectors: Mapping[str, Any]
) -> str:
    """Return lines of Python that repeat a run.

    Parameters
    ----------
    origin : Origin
        Where the table comes from.
    model : estimator
        Fitted.
    k : int, optional
        Bound on the number of features of the point of the path; None for the point that the selection rule gives.
    seed : int
        Of the split.
    report : mapping of str to Any
        Further arguments of the report.
    selectors : mapping of str to selector
        Selectors that were fitted beside the model, by the argument of the report that takes them.
    """
    arguments = dict(origin.arguments)
    target = [repr(arguments.pop("target"))] if "target" in arguments else []
    rows = "table.X.iloc[{0}], table.y_of({0})"
    fitted = rows.format("fit")
    lines = [
        "import riata",
        "",
        f"table = {_call('riata.read_table', [repr(str(origin.file)), *target], arguments.items())}",
        f"fit, held_out = table.split(random_state={seed})",
        f"model = {estimator_code(model)}",
        f"model.fit({fitted})",
        *([f"model = model.at(n_features={k})"] if k is not None else []),
        "print(model.get_feature_names_out())",
    ]
    for name, selector in selectors.items():
        lines += [f"{name} = {estimator_code(selector)}", f"{name}.fit({fitted})"]
    given = [*report.items(), *((name, _Name(name)) for name in selectors)]
    lines.append(f"report = {_call('model.report', [rows.format('held_out')], given)}")
    return "\n".join([*lines, 'report.save("report.html")', ""])


class _Name(str):
    """The name of a variable."""

    def __repr__(self) -> str:
        return str(self)


def estimator_code(model: BaseEstimator) -> str:
    """Return the call that makes an estimator, with the parameters that differ from the defaults."""
    cls = type(model)
    given = model.get_params(deep=False)
    nested = {name: value for name, value in given.items() if isinstance(value, BaseEstimator)}
    default = cls(**nested).get_params(deep=False)
    changed = {
        name: _Name(estimator_code(value)) if name in nested else _plain(value)
        for name, value in given.items()
        if name not in ("verbose", "checkpoint") and (name in nested or repr(value) != repr(default[name]))
    }
    return _call(f"riata.{cls.__name__}", [], changed.items())


def _plain(value: Any) -> Any:
    """Return a value whose representation is code."""
    return _Name(f"riata.losses.{value!r}") if isinstance(value, NumberLoss | ClassLoss) else value


def _call(function: str, positional: Iterable[str], keywords: Iterable[tuple[str, Any]]) -> str:
    """Return a call on one line, or with a line for each argument."""
    arguments = [*positional, *(f"{name}={value!r}" for name, value in keywords)]
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{function}(\n" + "".join(f"    {each},\n" for each in arguments) + ")"
