"""The option ``--loss``: its values, and what they say about the task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from riata.cli.options import Task
from riata.files import TableError, TextTargetError, as_text, did_you_mean
from riata.losses import ClassLoss, Ordinal, Quantile
from riata.losses.names import named

__all__ = ["check_levels", "explaining_loss", "loss_name", "loss_note", "parse_loss", "task_of"]


def task_of(task: Task, loss: Any) -> Task:
    """Return the task that a loss is for, where it is to be inferred; raise an error if another one was given."""
    if loss is None:
        return task
    needed = Task.classification if isinstance(loss, ClassLoss) else Task.regression
    if task not in (Task.auto, needed):
        raise TableError(f"--loss {loss_name(loss)} is for {needed.value}, not for --task {task.value}: leave one out")
    return needed


def parse_loss(text: str | None) -> Any:
    """Parse the name of a loss, and the value of its parameter."""
    if text is None:
        return None
    name, _, value = text.partition("=")
    known: dict[str, Any] = named()
    if name not in known:
        hint = did_you_mean(name, known)
        raise TableError(f"--loss must be one of {', '.join(known)}; got {text!r}{hint and f': {hint}'}")
    if not value:
        return known[name]()
    parameters = [each.name for each in fields(known[name])]
    if not parameters:
        raise TableError(f"--loss {name} has no parameter: leave out ={value}")
    try:
        number = float(value)
    except ValueError:
        raise TableError(f"--loss {text}: {value!r} is no number such as 0.9, with a decimal point") from None
    try:
        return known[name](number)
    except ValueError as error:
        raise TableError(f"--loss {text}: {error}") from None


def loss_note(text: str | None, loss: Any) -> list[str]:
    """Return the value that the parameter of a loss has, where it was not given."""
    if loss is None or text is None or "=" in text or not fields(loss):
        return []
    name, value = next((each.name, getattr(loss, each.name)) for each in fields(loss))
    value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    what = ", the median" if isinstance(loss, Quantile) else f", the default of {name}"
    return [f"--loss {text} is {text}={value:g}{what}; --loss {text}=NUMBER for another"]


@contextmanager
def explaining_loss(text: str | None, loss: Any) -> Iterator[None]:
    """Say of a target that holds text, and was to be a quantity because of ``--loss``, that this is the reason."""
    try:
        yield
    except TextTargetError as error:
        if loss is None:
            raise
        raise TableError(
            f"--loss {text} is for numbers, and {error.name!r} holds text such as {error.example}: leave --loss out, or use "
            "one for classes (focal, ordinal)"
        ) from None


def check_levels(text: str | None, loss: Any, labels: Any) -> None:
    """Check that classes have an order where a loss takes one."""
    if isinstance(loss, Ordinal) and labels.dtype.kind not in "biuf":
        raise TableError(
            f"--loss {text} takes the order of levels from numbers, and the target holds text such as {as_text(labels[0])}: "
            "write numbers in its place, such as 0, 1 and 2"
        )


def loss_name(loss: Any) -> str:
    """Return what names a loss on the command line."""
    return next(name for name, kind in named().items() if type(loss) is kind)
