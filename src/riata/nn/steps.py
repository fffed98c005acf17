"""How far an optimizer goes along a lasting gradient: what the operator has to know for λ to mean λ.

Where a loop rests the gradient g of a weight no longer changes, and the optimizer moves the weight by −α g in every step. The
operator with threshold α λ then rests at a stationary point for λ itself. SGD with momentum μ adds up g (1 + μ + μ² + …), so
that its α is lr / (1 − μ), not lr; Adam divides by the root of its average square, entry by entry.
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
    """Steps with momentum, scaled by the size of the gradient, with one size for all weights of a unit.

    This is the rule of riata's estimators, with steps of a given size. As all weights of a unit share one step size, noise in
    single entries does not decide which unit goes.

    Parameters
    ----------
    params : iterable
        Parameters, or groups of them, as for any optimizer.
    lr : float, default=1e-3
        Size of the steps, relative to the gradient.
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
        self._pairs = list(hierarchies)
        known = {id(weight) for group in self.param_groups for weight in group["params"]}
        if any(id(weight) not in known for pair in self._pairs for weight, _ in pair.weights()):
            raise ValueError("hierarchies hold weights that are not among params: pass all parameters of the model")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_pairs": self._pairs}

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:  # type: ignore[override]
        """Take one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        shared = {id(weight) for pair in self._pairs for weight, _ in pair.weights()}
        for pair in self._pairs:
            self._step_pair(pair)
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and id(weight) not in shared:
                    self._average(weight, weight.grad.square())
                    self._move(weight, group["lr"])
        return loss

    def _step_pair(self, pair: Any) -> None:
        """Give all weights of each unit, or group of units, the average square of all of their gradients."""
        weights = pair.weights()
        if any(w.grad is None for w, _ in weights):
            return
        squares = torch.cat([pair.rows(w.grad, axis) for w, axis in weights], -1).square().mean(-1)
        units = pair.units
        squares = units.scatter(units.mean(squares))
        for weight, axis in weights:
            per_unit = squares.repeat_interleave(weight.shape[axis] // pair.n_units)
            shape = [1] * weight.ndim
            shape[axis] = -1
            self._average(weight, per_unit.reshape(shape))
            self._move(weight, self._lr(weight))

    def _average(self, weight: Tensor, square: Tensor) -> None:
        state = self.state[weight]
        old = state.get("square")
        state["square"] = square if old is None else torch.where(old == 0, square, torch.lerp(square, old, MEMORY))

    def _move(self, weight: Tensor, lr: float) -> None:
        state = self.state[weight]
        state["step_size"] = (1 - MOMENTUM) * lr / (state["square"].sqrt() + TINY)
        now = weight.detach().clone()
        if "last" in state:
            weight.add_(now - state["last"], alpha=MOMENTUM)
        weight.sub_(state["step_size"] * weight.grad)
        state["last"] = now

    def _lr(self, weight: Tensor) -> float:
        return next(group["lr"] for group in self.param_groups if any(weight is w for w in group["params"]))


def step_sizes(optimizer: Optimizer, weight: nn.Parameter) -> Tensor | float:
    """Return α of a weight: one number, or one that broadcasts to each of its entries."""
    group = next((g for g in optimizer.param_groups if any(weight is w for w in g["params"])), None)
    if group is None:
        raise ValueError(
            f"the optimizer does not know a weight of shape {tuple(weight.shape)} of the input pair: pass all parameters of "
            "the model to it"
        )
    if group.get("weight_decay"):
        raise ValueError(
            f"weight_decay={group['weight_decay']:g} on the input pair: the loop would then rest at no stationary point of the "
            "penalty lambda_ times the norms. Put the skip and first weights into a parameter group with weight_decay=0"
        )
    if group.get("maximize"):
        raise ValueError("maximize=True: the penalty belongs to a minimum; minimise the negative of what you have")
    for kind, rule in _RULES.items():
        if type(optimizer) is kind:
            return rule(optimizer, group, weight)
    raise TypeError(
        f"the steps of {type(optimizer).__name__} are not known here, so lambda_ would mean nothing: use SGD, Adam, AdamW "
        "or riata.nn.HeavyBall"
    )


def _state(optimizer: Optimizer, weight: Tensor, key: str) -> Any:
    state = optimizer.state.get(weight, {})
    if key not in state:
        raise ValueError(
            "the optimizer has not taken a step on the input pair yet: call hier_prox_ after loss.backward() and "
            "optimizer.step()"
        )
    return state


def _sgd(_: Optimizer, group: dict[str, Any], weight: Tensor) -> float:
    momentum = group["momentum"]
    return float(group["lr"]) * ((1 - group["dampening"]) / (1 - momentum) if momentum else 1.0)


def _adam(optimizer: Optimizer, group: dict[str, Any], weight: Tensor) -> Tensor:
    state = _state(optimizer, weight, "exp_avg_sq")
    square = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"]
    seen = 1 - group["betas"][1] ** float(state["step"])
    return group["lr"] / ((square / seen).sqrt() + group["eps"])


def _heavy_ball(optimizer: Optimizer, _: dict[str, Any], weight: Tensor) -> Tensor:
    return _state(optimizer, weight, "step_size")["step_size"]


_RULES: dict[type[Optimizer], Callable[[Optimizer, dict[str, Any], Tensor], Tensor | float]] = {
    SGD: _sgd,
    Adam: _adam,
    AdamW: _adam,
    HeavyBall: _heavy_ball,
}
