"""Training and evaluation modes of modules, switched for a while and restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["evaluation_mode", "restored_modes"]


@contextmanager
def restored_modes(*modules: nn.Module) -> Iterator[None]:
    """Restore the mode of every submodule on leaving the context, also after an error."""
    modes = [(submodule, submodule.training) for module in modules for submodule in module.modules()]
    try:
        yield
    finally:
        for submodule, training in modes:
            submodule.training = training


@contextmanager
def evaluation_mode(*modules: nn.Module) -> Iterator[None]:
    """Put modules into evaluation mode within the context."""
    with restored_modes(*modules):
        for module in modules:
            module.eval()
        yield
