"""Sparsity inside a model: filters of a convolution, units of a bottleneck."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from riata.nn.hierarchy import Hierarchy
from riata.nn.modes import evaluating

__all__ = ["SparseUnits"]

_MAKERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_SAME = 1e-4  # outputs of a smaller model may differ by so much, relative to their size


class SparseUnits(nn.Module):
    """A model in which few units of one layer are to be used: filters of a convolution, units of a bottleneck.

    A skip connection leads from each unit's response, averaged over positions, straight to the output, and the weights that
    take the unit into the following layers are bound to it, as those of a feature are in :class:`LassoInput`. Train it with
    :func:`path`, or with :func:`hier_prox_` in a loop; :meth:`export` leaves out the units that are not used.

    Parameters
    ----------
    model : Module
        The model. Its layers are named as in ``model.named_modules()``.
    units : str
        The layer whose outputs, or output channels, are the units: linear or convolutional.
    into : str or sequence of str
        The layers that take the units in, linear or convolutional: all of them, or a unit that is out would still be heard.
    through : sequence of str, optional
        Layers that the units go through one by one before that, in order, such as an activation or batch normalisation. The
        response is taken after the last. Layers without parameters that come later need no mention.
    example : Tensor
        A few rows of input, to learn shapes from.
    groups, costs : sequence, optional
        As for :class:`Hierarchy`.

    Attributes
    ----------
    skip : torch.nn.Linear
        From the units to the output.
    hierarchy : Hierarchy
        The pair.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from riata.nn import SparseUnits
    >>> net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10))
    >>> model = SparseUnits(net, units="0", through=["1"], into="4", example=torch.zeros(2, 1, 28, 28))
    >>> model(torch.zeros(5, 1, 28, 28)).shape, int(model.selected.sum())
    (torch.Size([5, 10]), 8)
    """

    _example: Tensor

    def __init__(
        self,
        model: nn.Module,
        units: str,
        into: str | Sequence[str],
        through: Sequence[str] = (),
        *,
        example: Tensor,
        groups: Sequence[int] | Tensor | None = None,
        costs: Sequence[float] | Tensor | None = None,
    ):
        super().__init__()
        self.model = model
        self.units, self.through = units, tuple(through)
        self.into = (into,) if isinstance(into, str) else tuple(into)
        maker = self._layer(units, _MAKERS)
        if getattr(maker, "groups", 1) != 1:
            raise ValueError(f"{units} has groups={maker.groups}: its units cannot be left out one by one")
        for name in self.through:
            self._layer(name, (nn.Module,))
        takers = [self._layer(name, _MAKERS) for name in self.into]
        response, output = self._probe(example)
        self.skip = nn.Linear(response.shape[1], output[0].numel(), bias=False).to(response)
        self.hierarchy = Hierarchy(self.skip, takers, groups=groups, costs=costs)
        self.register_buffer("_example", example[:2].detach().clone(), persistent=False)

    def _layer(self, name: str, kinds: tuple[type[nn.Module], ...]) -> Any:
        known = dict(self.model.named_modules())
        if name not in known:
            raise ValueError(f"the model has no layer {name!r}; it has {', '.join(map(repr, filter(None, known)))}")
        if not isinstance(known[name], kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"layer {name!r} is a {type(known[name]).__name__}; it must be {expected}")
        return known[name]

    @torch.no_grad()
    def _probe(self, example: Tensor) -> tuple[Tensor, Tensor]:
        """Run the model once, and check that the units arrive where they are said to."""
        with evaluating(self.model):
            response, output = self._both(example)
        n_units = len(self._layer(self.units, _MAKERS).weight)
        if response.shape[1] != n_units:
            raise ValueError(
                f"{self._last} gives {response.shape[1]} channels where {self.units} has {n_units}: through must name layers "
                "that keep units apart"
            )
        return response, output

    def _both(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the responses of the units, (n, n_units), and what the model gives without the skip connection."""
        seen: list[Tensor] = []
        handle = self.model.get_submodule(self._last).register_forward_hook(lambda module, given, out: seen.append(out))
        try:
            output = self.model(*inputs)
        finally:
            handle.remove()
        if len(seen) != 1:
            raise ValueError(f"layer {self._last!r} ran {len(seen)} times in one pass: its units must be made once")
        units = seen[0]
        if units.ndim > 2:  # a linear layer has its units along the last axis, a convolution along the second
            last = isinstance(self.model.get_submodule(self.units), nn.Linear)
            units = units.flatten(1, -2).mean(1) if last else units.flatten(2).mean(-1)
        return units, output

    @property
    def _last(self) -> str:
        """The layer after which responses are taken."""
        return (self.units, *self.through)[-1]

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the model's output plus what the skip connection adds."""
        response, output = self._both(*inputs)
        return output + self.skip(response).view_as(output)

    @property
    def selected(self) -> Tensor:
        """Mask of the units that are used, (n_units,)."""
        return self.hierarchy.selected

    @torch.no_grad()
    def export(self) -> SparseUnits:
        """Return a smaller model without the units that are not used, which gives the same outputs."""
        keep = self.selected
        if not bool(keep.any()):
            raise ValueError("no unit is left: export an earlier point of the path")
        small = copy.deepcopy(self)
        where = keep.nonzero().squeeze(-1)
        _shrink(small.model.get_submodule(small.units), where, 0, len(keep))
        for name in small.through:
            _shrink(small.model.get_submodule(name), where, 0, len(keep))
        for layer in (small.skip, *(small.model.get_submodule(name) for name in small.into)):
            _shrink(layer, where, 1, len(keep))
        groups = None if self.hierarchy.groups is None else self.hierarchy.groups[where.cpu()]
        takers = [small.model.get_submodule(name) for name in small.into]
        small.hierarchy = Hierarchy(small.skip, takers, groups=groups, costs=self.hierarchy.costs[where.cpu()])
        self._check_same(small)
        return small

    def _check_same(self, small: SparseUnits) -> None:
        """Refuse an export in which the units that were left out were heard all the same."""
        probe = self._example
        if probe.is_floating_point():
            probe = torch.randn(probe.shape, generator=torch.Generator().manual_seed(0)).to(probe)
        try:
            with evaluating(self), evaluating(small):
                old, new = self(probe), small(probe)
            same = torch.allclose(old, new, atol=_SAME * float(old.abs().max() + 1), rtol=0)
        except RuntimeError:  # a layer in between does not fit any more
            same = False
        if not same:
            raise ValueError(
                "without the units that are out the model gives other outputs: a layer between "
                f"{self.units} and {', '.join(self.into)} mixes units, or another layer takes them in and must be named in into"
            )


def _shrink(layer: Any, keep: Tensor, axis: int, n_units: int) -> None:
    """Leave some units of a layer: of its outputs (axis 0) or of its inputs (axis 1); without weights nothing is to be done."""
    for name, tensor in [*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False)]:
        if tensor.ndim <= axis or tensor.shape[axis] % n_units or tensor.shape[axis] < n_units:
            continue
        block = tensor.shape[axis] // n_units
        index = (keep[:, None] * block + torch.arange(block, device=keep.device)).flatten()
        part = tensor.index_select(axis, index).clone()
        if isinstance(tensor, nn.Parameter):
            setattr(layer, name, nn.Parameter(part, requires_grad=tensor.requires_grad))
        else:
            setattr(layer, name, part)
    for name in ("out_features", "out_channels", "num_features") if axis == 0 else ("in_features", "in_channels"):
        if hasattr(layer, name):
            setattr(layer, name, getattr(layer, name) * len(keep) // n_units)
