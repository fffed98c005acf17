"""What turns the outputs of a fitted network into predictions, as data: an export writes it down, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from riata.losses import Heads, NumberLoss, Quantile
from riata.losses.coding import Coding, Labels, OneHot, Pair, Steps
from riata.losses.rates import Rate

__all__ = ["Block", "Head", "of_classes", "of_numbers"]

_KINDS = {NumberLoss.predicted: "linear", Rate.predicted: "exp", Quantile.predicted: "sorted"}
_CODINGS = {Pair: "pair", OneHot: "one hot", Steps: "steps", Labels: "labels"}


@dataclass(frozen=True)
class Block:
    """Outputs in a row that become predictions in one way.

    Attributes
    ----------
    kind : str
        Of numbers: "linear" (as they are), "exp", "sorted" (among ``width`` neighbours). Of classes, logits to probabilities:
        "pair", "one hot", "steps", "labels".
    n : int
        Number of outputs.
    width : int
        Outputs for each column of the target.
    """

    kind: str
    n: int
    width: int = 1


@dataclass(frozen=True, eq=False)
class Head:
    """From the outputs on the scale of the target, plus ``offset``, to predictions.

    Attributes
    ----------
    name : str
        What the predictions are.
    blocks : tuple of Block
        In the order of the outputs.
    offset : float
        Added to all outputs.
    flat : bool
        Whether there is one number for each sample, rather than a row.
    classes : array, optional
        Of a classifier: the class that each column of probabilities belongs to. Of a table of labels only the type counts.
    """

    name: str
    blocks: tuple[Block, ...]
    offset: float = 0.0
    flat: bool = False
    classes: NDArray[Any] | None = None


def of_numbers(loss: NumberLoss, n_outputs: int) -> tuple[Block, ...]:
    """Return how a loss for regression turns so many outputs into predictions."""
    if isinstance(loss, Heads):
        return tuple(block for each in loss.losses for block in of_numbers(each, each.width))
    kind = _KINDS.get(type(loss).predicted)
    if kind is None:
        raise ValueError(
            f"the loss {type(loss).__name__} has a method `predicted` of its own, which cannot be exported: export module_, "
            "whose outputs are the linear predictors, and apply `predicted` to them"
        )
    return (Block(kind, n_outputs, loss.width),)


def of_classes(coding: Coding, n_outputs: int) -> tuple[Block, ...]:
    """Return how a coding of classes turns so many outputs into probabilities."""
    kind = _CODINGS.get(type(coding))
    if kind is None:
        raise ValueError(
            f"the coding {type(coding).__name__} of classes is not one of riata's, so that probabilities cannot be exported: "
            "export module_, whose outputs are the logits"
        )
    return (Block(kind, n_outputs),)
