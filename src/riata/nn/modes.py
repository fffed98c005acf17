"""Training and evaluation modes of modules, and how they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["evaluating", "kept_modes"]


@contextmanager
def kept_modes(*modules: nn.Module) -> Iterator[None]:
    """Leave every part of some modules in the mode it was in, whatever happens in between."""
    modes = [(part, part.training) for module in modules for part in module.modules()]
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


@contextmanager
def evaluating(*modules: nn.Module) -> Iterator[None]:
    """Run modules in evaluation mode for a while."""
    with kept_modes(*modules):
        for module in modules:
            module.eval()
        yield
