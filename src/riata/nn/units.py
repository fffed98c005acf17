"""Selection of units inside a model: filters of a convolution, units of a bottleneck."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from riata.nn.hierarchy import Hierarchy
from riata.nn.modes import evaluation_mode

__all__ = ["SparseUnits"]

_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class SparseUnits(nn.Module):
    """A model that selects units of one of its layers: filters of a convolution, units of a bottleneck.

    A skip connection leads from the activation of each unit, averaged over positions, to the output. The weights that take the
    unit into the following layers are bounded by its skip weights, as those of a feature are in :class:`LassoInput`. Train the
    model with :func:`path`, or with :func:`hier_prox_` in a loop; :meth:`export` returns it without the units that are out.

    Parameters
    ----------
    model : Module
        The model. Its layers are named as in ``model.named_modules()``.
    units : str
        The layer whose outputs, or output channels, are the units: linear or convolutional.
    into : str or sequence of str
        The layers that have the units as input, linear or convolutional. Name all of them: a unit that is out must not reach
        the output through any other layer.
    through : sequence of str, optional
        Elementwise or channelwise layers between ``units`` and ``into``, in order, such as an activation or batch
        normalisation. The skip connection starts after the last. Later layers without parameters need not be named.
    example : Tensor
        A few samples of input, to determine shapes.
    groups, costs : sequence, optional
        As for :class:`Hierarchy`.

    Attributes
    ----------
    skip : torch.nn.Linear
        From the units to the output.
    hierarchy : Hierarchy
        The pair of skip weights and weights of ``into``.

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
        source = self._layer(units, _LAYERS)
        if getattr(source, "groups", 1) != 1:
            raise ValueError(f"{units} has groups={source.groups}: its units cannot be left out one by one")
        for name in self.through:
            self._layer(name, (nn.Module,))
        targets = [self._layer(name, _LAYERS) for name in self.into]
        activations, output = self._run_example(example)
        self.skip = nn.Linear(activations.shape[1], output[0].numel(), bias=False).to(activations)
        self.hierarchy = Hierarchy(self.skip, targets, groups=groups, costs=costs)
        self.register_buffer("_example", example[:2].detach().clone(), persistent=False)

    def _layer(self, name: str, kinds: tuple[type[nn.Module], ...]) -> Any:
        layers = dict(self.model.named_modules())
        if name not in layers:
            raise ValueError(f"the model has no layer {name!r}; it has {', '.join(map(repr, filter(None, layers)))}")
        if not isinstance(layers[name], kinds):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"layer {name!r} is a {type(layers[name]).__name__}; it must be {expected}")
        return layers[name]

    @torch.no_grad()
    def _run_example(self, example: Tensor) -> tuple[Tensor, Tensor]:
        """Run the model once, and check that there is one channel per unit where the skip connection starts."""
        with evaluation_mode(self.model):
            activations, output = self._run(example)
        n_units = len(self._layer(self.units, _LAYERS).weight)
        if activations.shape[1] != n_units:
            raise ValueError(
                f"{self._last} gives {activations.shape[1]} channels where {self.units} has {n_units}: through must name "
                "layers that keep units apart"
            )
        return activations, output

    def _run(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the activations of the units, (n, n_units), and the model's output without the skip connection."""
        outputs: list[Tensor] = []
        layer = self.model.get_submodule(self._last)
        handle = layer.register_forward_hook(lambda module, given, out: outputs.append(out))
        try:
            output = self.model(*inputs)
        finally:
            handle.remove()
        if len(outputs) != 1:
            raise ValueError(f"layer {self._last!r} ran {len(outputs)} times in one forward pass; it must run once")
        activations = outputs[0]
        if activations.ndim > 2:  # a linear layer has its units along the last axis, a convolution along the second
            last = isinstance(self.model.get_submodule(self.units), nn.Linear)
            activations = activations.flatten(1, -2).mean(1) if last else activations.flatten(2).mean(-1)
        return activations, output

    @property
    def _last(self) -> str:
        """The layer after which the skip connection starts."""
        return (self.units, *self.through)[-1]

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the model's output plus that of the skip connection.

        Parameters
        ----------
        *inputs : Tensor
            What the model takes.

        Returns
        -------
        Tensor
            The output.
        """
        activations, output = self._run(*inputs)
        skip: Tensor = self.skip(activations)
        return output + skip.view_as(output)

    @property
    def selected(self) -> Tensor:
        """Mask of the selected units, (n_units,)."""
        return self.hierarchy.selected

    @torch.no_grad()
    def export(self) -> SparseUnits:
        """Return a smaller model without the units that are out, which gives the same outputs."""
        selected = self.selected
        if not bool(selected.any()):
            raise ValueError("no unit is left: export an earlier point of the path")
        small = copy.deepcopy(self)
        kept = selected.nonzero().squeeze(-1)
        targets = [small.model.get_submodule(name) for name in small.into]
        for name in (small.units, *small.through):
            _shrink(small.model.get_submodule(name), kept, 0, len(selected))
        for layer in (small.skip, *targets):
            _shrink(layer, kept, 1, len(selected))
        groups = None if self.hierarchy.groups is None else self.hierarchy.groups[kept.cpu()]
        small.hierarchy = Hierarchy(small.skip, targets, groups=groups, costs=self.hierarchy.costs[kept.cpu()])
        self._check_equal_outputs(small)
        return small

    def _check_equal_outputs(self, small: SparseUnits) -> None:
        """Refuse an export if units that are out still affect the output."""
        example = self._example
        if example.is_floating_point():
            example = torch.randn(example.shape, generator=torch.Generator().manual_seed(0)).to(example)
        try:
            with evaluation_mode(self), evaluation_mode(small):
                old, new = self(example), small(example)
            # Up to 1e-4 of the largest output is rounding.
            equal = torch.allclose(old, new, atol=1e-4 * float(old.abs().max() + 1), rtol=0)
        except RuntimeError:  # the shapes of a layer in between do not fit any more
            equal = False
        if not equal:
            raise ValueError(
                "without the units that are out the model gives other outputs: a layer between "
                f"{self.units} and {', '.join(self.into)} mixes units, or another layer has them as input and must be named "
                "in into"
            )


def _shrink(layer: Any, kept: Tensor, axis: int, n_units: int) -> None:
    """Keep some units of a layer, along its outputs (axis 0) or its inputs (axis 1)."""
    for name, tensor in [*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False)]:
        if tensor.ndim <= axis or tensor.shape[axis] % n_units or tensor.shape[axis] < n_units:
            continue
        block = tensor.shape[axis] // n_units
        index = (kept[:, None] * block + torch.arange(block, device=kept.device)).flatten()
        part = tensor.index_select(axis, index).clone()
        if isinstance(tensor, nn.Parameter):
            setattr(layer, name, nn.Parameter(part, requires_grad=tensor.requires_grad))
        else:
            setattr(layer, name, part)
    for name in ("out_features", "out_channels", "num_features") if axis == 0 else ("in_features", "in_channels"):
        if hasattr(layer, name):
            setattr(layer, name, getattr(layer, name) * len(kept) // n_units)
