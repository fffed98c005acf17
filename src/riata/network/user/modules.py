"""Replace layers of a module, and seed what is random in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["GivenProduct", "replace_module", "seeded"]


class GivenProduct(nn.Module):
    """Replaces a linear layer: returns the product that it was given, plus the layer's bias, whatever its input."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self.product: Tensor | None = None  # (n, K), to be set before every run

    @property
    def weight(self) -> Tensor:
        """There is none: the product is computed elsewhere."""
        raise ValueError("the weight of the first layer is read outside of that layer")

    def forward(self, x: Tensor) -> Tensor:
        """Return a new tensor, which the module may change in place."""
        assert self.product is not None
        return self.product.clone() if self.bias is None else self.product + self.bias


def replace_module(root: nn.Module, old: nn.Module, new: nn.Module) -> nn.Module:
    """Replace a module wherever it occurs; return the root, which may be the module itself."""
    for parent in list(root.modules()):
        for name, child in list(parent._modules.items()):
            if child is old:
                setattr(parent, name, new)
    return new if root is old else root


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators for a while, and restore them afterwards."""
    cuda = device.type == "cuda"
    with torch.random.fork_rng([device] if cuda else []):
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
