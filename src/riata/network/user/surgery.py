"""Take the first layer out of a module and put it back; run what is random in it from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["Fed", "replace_module", "seeded"]


class Fed(nn.Module):
    """Stands in the place of a linear layer, and gives out the product that it is fed, plus the layer's bias.

    Its input is not looked at.
    """

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.bias = layer.bias
        self.product: Tensor | None = None  # (n, K), before every run

    @property
    def weight(self) -> Tensor:
        """There is none: the product was taken elsewhere."""
        raise ValueError("the weight of the first layer is read outside of that layer")

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of its own, which may be changed in place."""
        assert self.product is not None
        return self.product.clone() if self.bias is None else self.product + self.bias


def replace_module(root: nn.Module, old: nn.Module, new: nn.Module) -> nn.Module:
    """Put a module in the place of another wherever that is; return the root, which may be what was replaced."""
    for parent in list(root.modules()):
        for name, child in list(parent._modules.items()):
            if child is old:
                setattr(parent, name, new)
    return new if root is old else root


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Start torch's global generators from a seed, and leave them as they were."""
    cuda = device.type == "cuda"
    with torch.random.fork_rng([device] if cuda else []):
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
