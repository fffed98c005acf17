"""From what a user may write as ``loss=`` to a loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from riata.losses.classes import CrossEntropy, Focal, Ordinal
from riata.losses.function import Function
from riata.losses.heads import Heads
from riata.losses.location import AbsoluteError, Huber, Quantile, SquaredError
from riata.losses.loss import ClassLoss, NumberLoss
from riata.losses.rates import Gamma, Poisson, Tweedie

__all__ = ["named", "of_classes", "of_numbers"]

_NUMBERS: dict[str, type[NumberLoss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
}
_CLASSES: dict[str, type[ClassLoss]] = {"cross_entropy": CrossEntropy, "focal": Focal, "ordinal": Ordinal}

Kind = TypeVar("Kind", NumberLoss, ClassLoss)


def named() -> dict[str, type[NumberLoss] | type[ClassLoss]]:
    """Return the losses that have a name."""
    return {**_NUMBERS, **_CLASSES}


def of_numbers(loss: Any, n_columns: int | None = None) -> NumberLoss:
    """Return the loss of a regressor for a target of so many columns, if that is known; a list holds one for each.

    Parameters
    ----------
    loss : str, NumberLoss, function, list or None
        What a regressor takes as ``loss=``.
    n_columns : int, optional
        Columns of the target.

    Returns
    -------
    NumberLoss
        The loss.

    Examples
    --------
    >>> from riata.losses import of_numbers
    >>> of_numbers("poisson"), of_numbers(None)
    (Poisson(), SquaredError())
    """
    if loss is None:
        return SquaredError()
    if not isinstance(loss, list | tuple):
        return _of(loss, NumberLoss, _NUMBERS)
    if not loss or n_columns not in (None, len(loss)):
        raise ValueError(
            f"a list of losses must have one entry for each column of y; it has {len(loss)} for {n_columns} columns"
        )
    return Heads(tuple(_of(each, NumberLoss, _NUMBERS) for each in loss))


def of_classes(loss: Any) -> ClassLoss:
    """Return the loss of a classifier.

    Parameters
    ----------
    loss : str, ClassLoss, function or None
        What a classifier takes as ``loss=``.

    Returns
    -------
    ClassLoss
        The loss.

    Examples
    --------
    >>> from riata.losses import of_classes
    >>> of_classes("focal"), of_classes(None)
    (Focal(gamma=2.0), CrossEntropy())
    """
    return CrossEntropy() if loss is None else _of(loss, ClassLoss, _CLASSES)


def _of(loss: Any, kind: type[Kind], names: Mapping[str, type[Kind]]) -> Kind:
    if isinstance(loss, str) and loss in names:
        return names[loss]()
    if isinstance(loss, kind):
        return loss
    if callable(loss) and not isinstance(loss, type):
        return Function(loss)  # which is of both kinds
    given = f"the class {loss.__name__}; give an instance, {loss.__name__}()" if isinstance(loss, type) else repr(loss)
    raise ValueError(
        f"loss must be one of {', '.join(map(repr, names))}, an instance of a class of riata.losses for this kind of "
        f"target, or a function of output and target; got {given}"
    )
