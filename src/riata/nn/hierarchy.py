"""Which weights of a module form the skip and the first part of each unit, and the operator applied to them after a step."""

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
    bottleneck. Its *skip* weights connect it with the output; its *first* weights connect it with the next layers. The
    penalty λ ‖skip_j‖ removes units, and ‖first_j‖∞ ≤ M ‖skip_j‖ sets the first weights of a removed unit to zero as well.

    Parameters
    ----------
    skip, first : Parameter, Module with a ``weight``, or a sequence of these
        The weights. Several are concatenated.
    dim : int or pair of int, default=1
        The axis of the units, in ``skip`` and in ``first``: 1 for the inputs of ``torch.nn.Linear`` and the input channels of
        ``torch.nn.Conv2d``. If the length of the axis is a multiple of the number of units, each unit has a block of it, as
        the channels of a flattened image have.
    groups : sequence of int, optional
        Units with the same id enter and leave together.
    costs : sequence of float, optional
        Penalty weight of each unit, 1 by default; 0 keeps it always. Must be the same within a group.

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
        self._parts = {name: _as_parts(name, given) for name, given in (("skip", skip), ("first", first))}
        self.dims = (dim, dim) if isinstance(dim, int) else (int(dim[0]), int(dim[1]))
        self.n_units = _length(self.skip[0], self.dims[0])
        for weight, axis in self.weights():
            if _length(weight, axis) % self.n_units:
                raise ValueError(
                    f"axis {axis} of a weight of shape {tuple(weight.shape)} is no multiple of the {self.n_units} units "
                    "of skip: both must have the units along dim, which may be a pair of axes"
                )
        self.groups = _as_ids(groups, self.n_units)
        self.costs = _as_costs(costs, self.groups, self.n_units)
        self._grouping: tuple[torch.device, Groups] | None = None

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_selected} of {self.n_units} units)"

    @property
    def skip(self) -> list[nn.Parameter]:
        """The weights that connect units with the output."""
        return [_weight(part) for part in self._parts["skip"]]

    @property
    def first(self) -> list[nn.Parameter]:
        """The weights that connect units with the next layers."""
        return [_weight(part) for part in self._parts["first"]]

    @property
    def selected(self) -> Tensor:
        """Mask of the units in the model, (n_units,); units of penalty weight 0 always are."""
        grouping = self.grouping
        free = grouping.gather(self.costs.to(self.skip[0].device)) == 0
        return grouping.scatter((grouping.norm(self.skip_by_unit()) > 0) | free)

    @property
    def n_selected(self) -> int:
        """Their number."""
        return int(self.selected.sum())

    def skip_by_unit(self) -> Tensor:
        """Return the skip weights of each unit, (n_units, o), detached."""
        return torch.cat([self.by_unit(w.detach(), self.dims[0]) for w in self.skip], -1)

    def first_by_unit(self) -> Tensor:
        """Return the first weights of each unit, (n_units, K), detached."""
        return torch.cat([self.by_unit(w.detach(), self.dims[1]) for w in self.first], -1)

    def penalty(self, lambda_: float) -> Tensor:
        """Return λ Σ cost · ‖skip_j‖ over units or groups, attached to the autograd graph, to report the objective.

        Parameters
        ----------
        lambda_ : float
            The penalty.

        Returns
        -------
        Tensor of shape ()
            The value.
        """
        grouping = self.grouping
        skip = torch.cat([self.by_unit(w, self.dims[0]) for w in self.skip], -1)
        return lambda_ * (grouping.gather(self.costs.to(skip)) * grouping.norm(skip)).sum()

    @property
    def grouping(self) -> Groups:
        """The groups of units, on the device of the weights; rebuilt only when the weights have moved."""
        device = self.skip[0].device
        if self._grouping is None or self._grouping[0] != device:
            self._grouping = device, Groups(None if self.groups is None else self.groups.to(device), self.n_units)
        return self._grouping[1]

    def by_unit(self, weight: Tensor, axis: int) -> Tensor:
        """Reshape a weight, or its gradient, to (n_units, ·).

        Parameters
        ----------
        weight : Tensor
            The weight.
        axis : int
            Its axis of units.

        Returns
        -------
        Tensor of shape (n_units, ·)
            One row for each unit.
        """
        return weight.movedim(axis, 0).reshape(self.n_units, -1)

    def weights(self) -> list[tuple[nn.Parameter, int]]:
        """Return all weights, those of skip first, each with the axis of its units."""
        return [(w, axis) for ws, axis in zip((self.skip, self.first), self.dims, strict=True) for w in ws]

    @torch.no_grad()
    def prox_(self, lambda_: float | Tensor, M: float, optimizer: Optimizer) -> None:
        """Apply the operator to the pair after a step of the optimizer; see :func:`hier_prox_`.

        Parameters
        ----------
        lambda_ : float or Tensor of shape (n_units,)
            The penalty.
        M : float
            Hierarchy coefficient.
        optimizer : Optimizer
            The one whose step was just taken.
        """
        skip, first = self.skip_by_unit(), self.first_by_unit()
        steps = [
            (torch.as_tensor(step_sizes(optimizer, w), dtype=w.dtype, device=w.device), w, axis)
            for w, axis in self.weights()
        ]
        lambdas = torch.as_tensor(lambda_, dtype=skip.dtype, device=skip.device) * self.costs.to(skip)  # (n_units,)
        bounds = torch.full_like(lambdas, M)
        grouping = self.grouping
        if (step := self._step_per_unit(steps)) is not None:
            skip, first, _ = prox_rows(skip, first, grouping.gather(step * lambdas), grouping.gather(bounds), grouping)
        else:
            skip, first = self._prox_entries(skip, first, steps, lambdas, bounds)
        self._write(skip, self.skip, self.dims[0])
        self._write(first, self.first, self.dims[1])

    def _step_per_unit(self, steps: Sequence[_Step]) -> Tensor | None:
        """Return the step size of each unit, (n_units,), if all weights of a unit, and of its group, share one; else None."""
        shared = None
        for step, weight, axis in steps:
            if step.numel() not in (1, step.shape[axis] if step.ndim == weight.ndim else 1):
                return None
            per_slice = step.expand([weight.shape[axis] if i == axis % weight.ndim else 1 for i in range(weight.ndim)])
            blocks = per_slice.reshape(self.n_units, -1)  # (n_units, block of each unit)
            per_unit = blocks[:, 0]
            if not torch.equal(blocks, per_unit[:, None].expand_as(blocks)):
                return None
            if shared is not None and not torch.equal(per_unit, shared):
                return None
            shared = per_unit
        grouping = self.grouping
        if shared is None or not torch.equal(grouping.scatter(grouping.gather(shared)), shared):
            return None
        return shared

    def _prox_entries(
        self, skip: Tensor, first: Tensor, steps: Sequence[_Step], lambdas: Tensor, M: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Apply the operator with one step size per entry."""
        # A step of zero, as at the start of a warm-up, has no reciprocal.
        shortest = torch.finfo(skip.dtype).tiny ** 0.25
        sizes = [self.by_unit(step.clamp_min(shortest).expand_as(weight), axis) for step, weight, axis in steps]
        n_skip = len(self.skip)
        skip_steps, first_steps = torch.cat(sizes[:n_skip], -1), torch.cat(sizes[n_skip:], -1)
        if self.groups is None:
            return prox_entries(skip, first, (skip_steps, first_steps), lambdas, M)
        groups = _PaddedGroups(self.grouping)
        # The padding of small groups has weight zero, and skip steps so short that it does not affect the result.
        new_skip, new_first = prox_entries(
            groups.concatenate(skip, 0.0),
            groups.concatenate(first, 0.0),
            (groups.concatenate(skip_steps, shortest), groups.concatenate(first_steps, 1.0)),
            self.grouping.gather(lambdas),
            self.grouping.gather(M),
        )
        return groups.split(new_skip, skip), groups.split(new_first, first)

    def _write(self, by_unit: Tensor, weights: Sequence[Tensor], axis: int) -> None:
        """Copy weights laid out by unit, (n_units, ·), back to where they came from."""
        sizes = [weight.numel() // self.n_units for weight in weights]
        for weight, part in zip(weights, torch.split(by_unit, sizes, -1), strict=True):
            slices = weight.movedim(axis, 0)
            slices.copy_(part.reshape(slices.shape))


class _PaddedGroups:
    """Concatenates the weights of each group: (d, o) to (G, m · o), m being the size of the largest group, and back."""

    def __init__(self, grouping: Groups):
        assert grouping.index is not None
        self.grouping = grouping
        order = grouping.index.argsort(stable=True)
        starts = grouping.sizes.cumsum(0) - grouping.sizes
        self.position = torch.empty_like(order)  # of each unit within its group
        self.position[order] = torch.arange(len(order), device=order.device) - starts[grouping.index[order]]

    def concatenate(self, by_unit: Tensor, padding: float) -> Tensor:
        shape = (self.grouping.n_groups, int(self.grouping.sizes.max()), by_unit.shape[1])
        by_group = by_unit.new_full(shape, padding)
        by_group[self.grouping.index, self.position] = by_unit
        return by_group.flatten(1)

    def split(self, by_group: Tensor, like: Tensor) -> Tensor:
        return by_group.reshape(len(by_group), -1, like.shape[1])[self.grouping.index, self.position]


def hier_prox_(modules: Any, lambda_: float | Tensor, M: float, optimizer: Optimizer) -> None:
    """Apply the hierarchical proximal operator to sparse layers, in place, after ``optimizer.step()``.

    The fixed points of the loop are stationary points of the loss plus λ Σ ‖skip_j‖ subject to ‖first_j‖∞ ≤ M ‖skip_j‖, for
    the λ that is given: the effective step size of each weight is computed from the optimizer's settings and state. Call this
    function before the step of a learning-rate scheduler.

    Parameters
    ----------
    modules : Module, Hierarchy, or an iterable of these
        What to apply the operator to: every :class:`Hierarchy` that is the attribute ``hierarchy`` of a module or of its
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
    lambdas = torch.as_tensor(lambda_, dtype=torch.float64)
    if not bool((lambdas.isfinite() & (lambdas >= 0)).all()):
        raise ValueError(f"lambda_ must be finite and not negative; got {lambda_}")
    check.number("M", M, high=1e6)
    for hierarchy in hierarchies(modules):
        hierarchy.prox_(lambda_, float(M), optimizer)


def hierarchies(modules: Any) -> list[Hierarchy]:
    """Return every hierarchy of some modules, each once.

    Parameters
    ----------
    modules : Module, Hierarchy, or an iterable of these
        Where to look.

    Returns
    -------
    list of Hierarchy
        At least one.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import LassoInput, hierarchies
    >>> hierarchies(torch.nn.ModuleList([LassoInput(5, 8, 1), torch.nn.Linear(8, 1)]))
    [Hierarchy(5 of 5 units)]
    """
    found = list({id(h): h for h in _iterate(modules)}.values())
    weights = [id(weight) for hierarchy in found for weight, _ in hierarchy.weights()]
    if len(set(weights)) < len(weights):
        raise ValueError("two hierarchies share a weight: each weight can be in one part of one hierarchy only")
    if not found:
        raise ValueError(
            "there is no hierarchy here: use a LassoInput as the first layer, or set `model.hierarchy = Hierarchy(skip=..., "
            "first=...)`"
        )
    return found


def _iterate(modules: Any) -> Iterator[Hierarchy]:
    if isinstance(modules, Hierarchy):
        yield modules
    elif isinstance(modules, nn.Module):
        for module in modules.modules():
            if isinstance(hierarchy := getattr(module, "hierarchy", None), Hierarchy):
                yield hierarchy
    elif isinstance(modules, Iterable):
        for module in modules:
            yield from _iterate(module)
    else:
        raise TypeError(f"modules must be modules or hierarchies; got {type(modules).__name__}")


def _as_parts(name: str, given: Any) -> list[Any]:
    """Return one or several parts as a list, all of which have a weight."""
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


def _length(weight: Tensor, axis: int) -> int:
    if not -weight.ndim <= axis < weight.ndim:
        raise ValueError(f"a weight of shape {tuple(weight.shape)} has no axis dim={axis}")
    return weight.shape[axis]


def _as_ids(groups: Sequence[int] | Tensor | None, n_units: int) -> Tensor | None:
    ids = None if groups is None else torch.as_tensor(groups).reshape(-1)
    if ids is not None and len(ids) != n_units:
        raise ValueError(f"groups must hold one id for each of the {n_units} units; got {len(ids)}")
    return ids


def _as_costs(costs: Sequence[float] | Tensor | None, ids: Tensor | None, n_units: int) -> Tensor:
    weights = torch.ones(n_units) if costs is None else torch.as_tensor(costs, dtype=torch.float64).reshape(-1)
    if len(weights) != n_units or not bool((weights.isfinite() & (weights >= 0)).all()):
        raise ValueError(f"costs must be {n_units} finite numbers, none of them negative; got {costs}")
    grouping = Groups(ids, n_units)
    if not torch.equal(grouping.scatter(grouping.gather(weights)), weights):
        raise ValueError("costs must be the same for all units of a group")
    return weights
