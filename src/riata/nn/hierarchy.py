"""Which weights of a module form the two parts of a feature's row, and the step that keeps them in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from riata import check
from riata.nn.steps import step_sizes
from riata.prox import Groups, prox_entries, prox_rows

__all__ = ["Hierarchy", "hier_prox_", "hierarchies"]

_Step = tuple[Tensor, nn.Parameter, int]  # the step sizes of a weight, the weight, and the axis of its units


class Hierarchy:
    """A pair of weights: units may use the second part only as far as the first allows.

    A unit is whatever lies along ``dim`` of the weights: an input of a linear layer, a filter of a convolution, a unit of a
    bottleneck. Its *skip* weights lead straight to the output; its *first* weights lead into the layers that follow. A
    penalty λ ‖skip_j‖ takes units out, and ‖first_j‖∞ ≤ M ‖skip_j‖ takes their first weights along.

    Parameters
    ----------
    skip, first : Parameter, Module with a ``weight``, or a sequence of these
        The weights. Several are stacked.
    dim : int or pair of int, default=1
        The axis of the units, in ``skip`` and in ``first``: 1 for the inputs of ``torch.nn.Linear`` and the input channels of
        ``torch.nn.Conv2d``. Where the axis is a multiple of the number of units long, each unit has a block of it, as the
        channels of a flattened picture have.
    groups : sequence of int, optional
        Units with the same id enter and leave together.
    costs : sequence of float, optional
        Price of each unit, 1 by default; 0 keeps it always. Must be the same within a group.

    Attributes
    ----------
    n_units : int
        Length of the axis of ``skip``.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import Hierarchy
    >>> convolution, head = torch.nn.Conv2d(8, 16, 3), torch.nn.Linear(8, 10, bias=False)
    >>> hierarchy = Hierarchy(skip=head, first=convolution)  # of the 8 channels that go into both
    >>> hierarchy.n_units, hierarchy.n_selected
    (8, 8)
    """

    def __init__(
        self,
        skip: Any,
        first: Any,
        dim: int | tuple[int, int] = 1,
        groups: Sequence[int] | Tensor | None = None,
        costs: Sequence[float] | Tensor | None = None,
    ):
        self._parts = {name: _several(name, given) for name, given in (("skip", skip), ("first", first))}
        self.dims = (dim, dim) if isinstance(dim, int) else (int(dim[0]), int(dim[1]))
        self.n_units = self._length(self.skip[0], self.dims[0])
        for weights, axis in zip((self.skip, self.first), self.dims, strict=True):
            for weight in weights:
                if self._length(weight, axis) % self.n_units:
                    raise ValueError(
                        f"axis {axis} of a weight of shape {tuple(weight.shape)} is no multiple of the {self.n_units} units "
                        "of skip: both must have the units along dim, which may be a pair of axes"
                    )
        ids = None if groups is None else torch.as_tensor(groups).reshape(-1)
        if ids is not None and len(ids) != self.n_units:
            raise ValueError(f"groups must hold one id for each of the {self.n_units} units; got {len(ids)}")
        prices = torch.ones(self.n_units) if costs is None else torch.as_tensor(costs, dtype=torch.float64).reshape(-1)
        if len(prices) != self.n_units or not bool((prices.isfinite() & (prices >= 0)).all()):
            raise ValueError(f"costs must be {self.n_units} finite numbers, none of them negative; got {costs}")
        self.groups, self.costs = ids, prices
        self._units: tuple[torch.device, Groups] | None = None
        units = Groups(ids, self.n_units)
        if not torch.equal(units.scatter(units.gather(prices)), prices):
            raise ValueError("costs must be the same for all units of a group")

    @staticmethod
    def _length(weight: Tensor, axis: int) -> int:
        if not -weight.ndim <= axis < weight.ndim:
            raise ValueError(f"a weight of shape {tuple(weight.shape)} has no axis dim={axis}")
        return weight.shape[axis]

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_selected} of {self.n_units} units)"

    @property
    def skip(self) -> list[nn.Parameter]:
        """The weights that lead straight to the output."""
        return [_weight(part) for part in self._parts["skip"]]

    @property
    def first(self) -> list[nn.Parameter]:
        """The weights that lead into the layers that follow."""
        return [_weight(part) for part in self._parts["first"]]

    @property
    def selected(self) -> Tensor:
        """Mask of the units in the model, (n_units,); units that cost nothing always are."""
        units = self.units
        return units.scatter(
            (units.norm(self.skip_rows()) > 0) | (units.gather(self.costs.to(self.skip[0].device)) == 0)
        )

    @property
    def n_selected(self) -> int:
        """Their number."""
        return int(self.selected.sum())

    def skip_rows(self) -> Tensor:
        """Return the skip weights, one row per unit, (n_units, o), without history."""
        return torch.cat([self.rows(w.detach(), self.dims[0]) for w in self.skip], -1)

    def first_rows(self) -> Tensor:
        """Return the first weights, one row per unit, (n_units, K), without history."""
        return torch.cat([self.rows(w.detach(), self.dims[1]) for w in self.first], -1)

    def penalty(self, lambda_: float) -> Tensor:
        """Return λ Σ cost · ‖skip_j‖ over units or groups, with history, for looking at the objective."""
        units = self.units
        rows = torch.cat([self.rows(w, self.dims[0]) for w in self.skip], -1)
        return lambda_ * (units.gather(self.costs.to(rows)) * units.norm(rows)).sum()

    @property
    def units(self) -> Groups:
        """Which units enter and leave as one, where the weights are; made anew only when they have moved."""
        device = self.skip[0].device
        if self._units is None or self._units[0] != device:
            self._units = device, Groups(None if self.groups is None else self.groups.to(device), self.n_units)
        return self._units[1]

    def rows(self, weight: Tensor, axis: int) -> Tensor:
        """Lay out a weight, or its gradient, with one row per unit."""
        return weight.movedim(axis, 0).reshape(self.n_units, -1)

    def weights(self) -> list[tuple[nn.Parameter, int]]:
        """Return all weights, those of skip first, each with the axis of its units."""
        return [(w, axis) for ws, axis in zip((self.skip, self.first), self.dims, strict=True) for w in ws]

    @torch.no_grad()
    def prox_(self, lambda_: float | Tensor, M: float, optimizer: Optimizer) -> None:
        """Bring the pair back into order after a step of the optimizer; see :func:`hier_prox_`."""
        skip, first = self.skip_rows(), self.first_rows()
        steps = [
            (torch.as_tensor(step_sizes(optimizer, w), dtype=w.dtype, device=w.device), w, axis)
            for w, axis in self.weights()
        ]
        price = torch.as_tensor(lambda_, dtype=skip.dtype, device=skip.device) * self.costs.to(skip)
        hierarchy = torch.full_like(price, M)
        units = self.units
        if (size := self._common(steps)) is not None:
            skip, first, _ = prox_rows(skip, first, units.gather(size * price), units.gather(hierarchy), units)
        else:
            skip, first = self._prox_entries(skip, first, steps, price, hierarchy)
        self._put(skip, self.skip, self.dims[0])
        self._put(first, self.first, self.dims[1])

    def _common(self, steps: Sequence[_Step]) -> Tensor | None:
        """Return the step size of each unit, (n_units,), where all of its weights, and those of its group, share one."""
        found = None
        for step, weight, axis in steps:
            if step.numel() not in (1, step.shape[axis] if step.ndim == weight.ndim else 1):
                return None
            per_unit = step.expand([weight.shape[axis] if i == axis % weight.ndim else 1 for i in range(weight.ndim)])
            blocks = per_unit.reshape(self.n_units, -1)
            own = blocks[:, 0]
            if not torch.equal(blocks, own[:, None].expand_as(blocks)) or (
                found is not None and not torch.equal(own, found)
            ):
                return None
            found = own
        units = self.units
        return found if found is None or torch.equal(units.scatter(units.gather(found)), found) else None

    def _prox_entries(
        self, skip: Tensor, first: Tensor, steps: Sequence[_Step], price: Tensor, M: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Apply the operator with one step size per entry; the rows of a group are laid end to end."""
        short = torch.finfo(skip.dtype).tiny ** 0.25  # a step of zero, as at the start of a warm-up, has no reciprocal
        each = [self.rows(step.clamp_min(short).expand_as(weight), axis) for step, weight, axis in steps]
        k = len(self.skip)
        of_skip, of_first = torch.cat(each[:k], -1), torch.cat(each[k:], -1)
        if self.groups is None:
            return prox_entries(skip, first, (of_skip, of_first), price, M)
        end_to_end = _EndToEnd(self.units)
        # What fills a small group up has no weight, and a step so short that it plays no part.
        found = prox_entries(
            end_to_end.join(skip, 0.0),
            end_to_end.join(first, 0.0),
            (end_to_end.join(of_skip, short), end_to_end.join(of_first, 1.0)),
            end_to_end.units.gather(price),
            end_to_end.units.gather(M),
        )
        return end_to_end.part(found[0], skip), end_to_end.part(found[1], first)

    def _put(self, rows: Tensor, weights: Sequence[Tensor], axis: int) -> None:
        for weight in weights:
            moved = weight.movedim(axis, 0)
            own, rows = rows.split([weight.numel() // self.n_units, rows.shape[1] - weight.numel() // self.n_units], -1)
            moved.copy_(own.reshape(moved.shape))


class _EndToEnd:
    """Rows of each group laid end to end: (d, o) and back from (G, m · o), m being the size of the largest group."""

    def __init__(self, units: Groups):
        assert units.index is not None
        self.units = units
        order = units.index.argsort(stable=True)
        starts = units.sizes.cumsum(0) - units.sizes
        self.place = torch.empty_like(order)
        self.place[order] = torch.arange(len(order), device=order.device) - starts[units.index[order]]

    def join(self, rows: Tensor, fill: float) -> Tensor:
        joined = rows.new_full((self.units.n_groups, int(self.units.sizes.max()), rows.shape[1]), fill)
        joined[self.units.index, self.place] = rows
        return joined.flatten(1)

    def part(self, joined: Tensor, like: Tensor) -> Tensor:
        return joined.unflatten(1, (-1, like.shape[1]))[self.units.index, self.place]


def hier_prox_(modules: Any, lambda_: float | Tensor, M: float, optimizer: Optimizer) -> None:
    """Bring the weights of a sparse layer back into order, in place, after ``optimizer.step()``.

    The resting points of the loop are stationary points of the loss plus λ Σ ‖skip_j‖ under ‖first_j‖∞ ≤ M ‖skip_j‖, for the
    λ that is given: how far the optimizer would go along a lasting gradient is read from its settings and its state.
    Call it before a learning-rate scheduler takes its step.

    Parameters
    ----------
    modules : Module, Hierarchy, or an iterable of these
        What to bring into order: every :class:`Hierarchy` that is the attribute ``hierarchy`` of a module or of its
        submodules, as :class:`LassoInput` has one.
    lambda_ : float or Tensor
        The penalty, before any step size; a tensor of shape (n_units,) holds one for each unit.
    M : float
        Hierarchy coefficient. 0 is the (group) lasso on the skip weights.
    optimizer : Optimizer
        The one whose step was just taken: ``torch.optim.SGD`` with or without momentum, ``Adam``, ``AdamW`` (without weight
        decay on these weights) or :class:`HeavyBall`.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import LassoInput, hier_prox_
    >>> layer = LassoInput(5, 8, 1)
    >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    >>> skip, hidden = layer(torch.randn(20, 5))
    >>> (skip.square().mean() + hidden.square().mean()).backward()
    >>> optimizer.step()
    >>> hier_prox_(layer, 1e4, 10.0, optimizer)
    >>> int(layer.selected.sum())
    0
    """
    _check("lambda_", lambda_)
    check.number("M", M, high=1e6)
    for hierarchy in hierarchies(modules):
        hierarchy.prox_(lambda_, float(M), optimizer)


def hierarchies(modules: Any) -> list[Hierarchy]:
    """Return every hierarchy of some modules, each once."""
    found = list({id(h): h for h in _each(modules)}.values())
    weights = [id(weight) for hierarchy in found for weight, _ in hierarchy.weights()]
    if len(set(weights)) < len(weights):
        raise ValueError("two hierarchies share a weight: each weight can be in one part of one hierarchy only")
    if not found:
        raise ValueError(
            "there is no hierarchy here: use a LassoInput as the first layer, or set `model.hierarchy = Hierarchy(skip=..., "
            "first=...)`"
        )
    return found


def _each(modules: Any) -> Iterator[Hierarchy]:
    if isinstance(modules, Hierarchy):
        yield modules
    elif isinstance(modules, nn.Module):
        for module in modules.modules():
            if isinstance(own := getattr(module, "hierarchy", None), Hierarchy):
                yield own
    elif isinstance(modules, Iterable):
        for module in modules:
            yield from _each(module)
    else:
        raise TypeError(f"modules must be modules or hierarchies; got {type(modules).__name__}")


def _several(name: str, given: Any) -> list[Any]:
    """Return one or several parts, all of which have a weight."""
    parts = list(given) if isinstance(given, list | tuple) else [given]
    if not parts:
        raise ValueError(f"{name} must hold at least one weight")
    for part in parts:
        if not isinstance(_weight(part), nn.Parameter):
            raise TypeError(
                f"{name} must be a torch.nn.Parameter or a module with a weight, or several of them; got "
                f"{type(part).__name__}"
            )
    return parts


def _weight(part: Any) -> Any:
    """Return the weight of a module as it is now, or the weight itself."""
    return getattr(part, "weight", None) if isinstance(part, nn.Module) else part


def _check(name: str, value: float | Tensor) -> None:
    number = torch.as_tensor(value, dtype=torch.float64)
    if not bool((number.isfinite() & (number >= 0)).all()):
        raise ValueError(f"{name} must be finite and not negative; got {value}")
