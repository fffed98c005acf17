"""The effective step size of an optimizer: what the operator needs for λ to be the λ of the objective.

At a fixed point of a training loop the gradient g of a weight is constant, and every step of the optimizer moves the weight by
−α g. If the operator has the threshold α λ, fixed points are stationary points of the objective with this λ. SGD with momentum
μ adds up g (1 + μ + μ² + …), so its α is lr / (1 − μ), not lr; Adam divides by the root of its mean square, entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from riata.solver.kernels.constants import MEMORY, MOMENTUM, TINY

__all__ = ["HeavyBall", "step_sizes"]


class HeavyBall(Optimizer):
    """Steps with momentum, scaled by the size of the gradient, with one step size for all weights of a unit.

    This is the update rule of riata's estimators, with a given learning rate. As all weights of a unit share one step size,
    noise in single entries does not decide which unit leaves.

    Parameters
    ----------
    params : iterable
        Parameters, or groups of them, as for any optimizer.
    lr : float, default=1e-3
        Learning rate: size of the steps relative to the size of the gradient.
    hierarchies : iterable of Hierarchy
        Whose units share a step size: ``riata.nn.hierarchies(model)``.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import HeavyBall, LassoInput, hierarchies
    >>> model = LassoInput(5, 8, 1)
    >>> optimizer = HeavyBall(model.parameters(), lr=1e-2, hierarchies=hierarchies(model))
    """

    def __init__(self, params: Any, lr: float = 1e-3, hierarchies: Iterable[Any] = ()):
        if not lr > 0:
            raise ValueError(f"lr must be positive; got {lr}")
        super().__init__(params, {"lr": lr})
        self._hierarchies = list(hierarchies)
        given = {id(weight) for group in self.param_groups for weight in group["params"]}
        if not self._in_hierarchies() <= given:
            raise ValueError("hierarchies hold weights that are not among params: pass all parameters of the model")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_hierarchies": self._hierarchies}

    def _in_hierarchies(self) -> set[int]:
        return {id(weight) for hierarchy in self._hierarchies for weight, _ in hierarchy.weights()}

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Take one step.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients, as for any optimizer.

        Returns
        -------
        float or None
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        shared = self._in_hierarchies()
        for hierarchy in self._hierarchies:
            self._step_hierarchy(hierarchy)
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and id(weight) not in shared:
                    self._update_square(weight, weight.grad.square())
                    self._move(weight, group["lr"])
        return loss

    def _step_hierarchy(self, hierarchy: Any) -> None:
        """Step with the mean square gradient of each unit, or group of units, in place of that of each weight."""
        weights = hierarchy.weights()
        if any(w.grad is None for w, _ in weights):
            return
        gradients = torch.cat([hierarchy.by_unit(w.grad, axis) for w, axis in weights], -1)  # (n_units, o + K)
        grouping = hierarchy.grouping
        squares = grouping.scatter(grouping.mean(gradients.square().mean(-1)))  # (n_units,)
        for weight, axis in weights:
            per_slice = squares.repeat_interleave(weight.shape[axis] // hierarchy.n_units)
            shape = [1] * weight.ndim
            shape[axis] = -1
            self._update_square(weight, per_slice.reshape(shape))
            self._move(weight, _param_group(self, weight)["lr"])

    def _update_square(self, weight: Tensor, square: Tensor) -> None:
        """Update the moving average of squared gradients."""
        state = self.state[weight]
        old = state.get("square")
        state["square"] = square if old is None else torch.where(old == 0, square, torch.lerp(square, old, MEMORY))

    def _move(self, weight: Tensor, lr: float) -> None:
        state = self.state[weight]
        state["step_size"] = (1 - MOMENTUM) * lr / (state["square"].sqrt() + TINY)
        current = weight.detach().clone()
        if "last" in state:
            weight.add_(current - state["last"], alpha=MOMENTUM)
        weight.sub_(state["step_size"] * weight.grad)
        state["last"] = current


def step_sizes(optimizer: Optimizer, weight: nn.Parameter) -> Tensor | float:
    """Return α of a weight: one number, or a tensor that broadcasts to one per entry."""
    group = _param_group(optimizer, weight)
    if group is None:
        raise ValueError(
            f"the optimizer does not know a weight of shape {tuple(weight.shape)} of the input pair: pass all parameters of "
            "the model to it"
        )
    if group.get("weight_decay"):
        raise ValueError(
            f"weight_decay={group['weight_decay']:g} on the input pair: the loop would then converge to no stationary point "
            "of the penalty lambda_ times the norms. Put the skip and first weights into a parameter group with weight_decay=0"
        )
    if group.get("maximize"):
        raise ValueError("maximize=True: the penalty belongs to a minimum; minimise the negative of the objective")
    rule = _STEP_SIZES.get(type(optimizer))
    if rule is None:
        raise TypeError(
            f"the effective step size of {type(optimizer).__name__} is not known, so lambda_ would mean nothing: use SGD, "
            "Adam, AdamW or riata.nn.HeavyBall"
        )
    return rule(optimizer, group, weight)


def _param_group(optimizer: Optimizer, weight: Tensor) -> Any:
    """Return the optimizer's parameter group that holds a weight, or None."""
    return next((group for group in optimizer.param_groups if any(weight is w for w in group["params"])), None)


def _state(optimizer: Optimizer, weight: Tensor, key: str) -> Any:
    state = optimizer.state.get(weight, {})
    if key not in state:
        raise ValueError(
            "the optimizer has not taken a step on the input pair yet: call hier_prox_ after loss.backward() and "
            "optimizer.step()"
        )
    return state


def _sgd(_: Optimizer, group: dict[str, Any], weight: Tensor) -> float:
    lr, momentum, dampening = (float(group[name]) for name in ("lr", "momentum", "dampening"))
    return lr * ((1 - dampening) / (1 - momentum) if momentum else 1.0)


def _adam(optimizer: Optimizer, group: dict[str, Any], weight: Tensor) -> Tensor:
    state = _state(optimizer, weight, "exp_avg_sq")
    square: Tensor = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"]
    bias_correction = 1 - group["betas"][1] ** float(state["step"])
    step_size: Tensor = group["lr"] / ((square / bias_correction).sqrt() + group["eps"])
    return step_size


def _heavy_ball(optimizer: Optimizer, _: dict[str, Any], weight: Tensor) -> Tensor:
    step_size: Tensor = _state(optimizer, weight, "step_size")["step_size"]
    return step_size


_STEP_SIZES: dict[type[Optimizer], Callable[[Optimizer, dict[str, Any], Tensor], Tensor | float]] = {
    SGD: _sgd,
    Adam: _adam,
    AdamW: _adam,
    HeavyBall: _heavy_ball,
}
