"""The contract of a user's module, and the probe that holds it to it before anything is trained.

The module maps (n, n_inputs) to (n, n_outputs), row by row, by one function that training does not change but for the
parameters. Its input goes into one ``torch.nn.Linear(n_inputs, K)`` and nowhere else. A module cannot be read, but it can be
run: hooks say which layer gets the input itself, and with that layer's product in its place the output must be the same
whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.utils import parametrize

from riata.network.user.surgery import Fed, replace_module, seeded

__all__ = ["Probe", "check_parameters"]

_ROWS = 7  # of a probe: unlike most widths, so that transposed shapes show
_CLOSE = {"rtol": 1e-7, "atol": 1e-9}  # equal, but for the order of sums


def check_parameters(module: nn.Module) -> None:
    """Check what can be seen without running the module."""
    if isinstance(module, torch.jit.ScriptModule):
        raise ValueError("network is a scripted module, which cannot be taken apart: give the module it was made from")
    for name, values in [*module.named_parameters(), *module.named_buffers()]:
        if isinstance(values, UninitializedParameter | UninitializedBuffer):
            raise ValueError(f"network: {name} has no shape yet; replace lazy layers, or run the module once before")
    for name, values in module.named_parameters():
        if not values.is_floating_point():
            raise ValueError(
                f"network: parameter {name} is of type {values.dtype}, which cannot be trained: make it a buffer "
                "(register_buffer), or floating"
            )
        if not values.isfinite().all():
            raise ValueError(f"network: parameter {name} holds NaN or infinite values: set it to numbers")
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) or getattr(part, "track_running_stats", False):
            raise ValueError(
                f"network: {_called(name, part)} normalises by statistics of the batch, so that there is no fixed "
                "objective: use torch.nn.LayerNorm instead"
            )


class Probe:
    """Runs a copy of the module on a few rows, in float64 on the CPU, and says where it breaks the contract.

    Parameters
    ----------
    module : Module
        To be taken apart: a copy of the copy.
    n_inputs, n_outputs : int
        What it has to map from and to.
    """

    def __init__(self, module: nn.Module, n_inputs: int, n_outputs: int):
        self.module = module.to("cpu", torch.float64)
        self.shape = _ROWS, n_inputs
        self.n_outputs = n_outputs
        self._calls: list[
            tuple[str, nn.Module, Tensor | None]
        ] = []  # leaves in the order of their calls, and their inputs

    def run(self) -> tuple[str, bool]:
        """Return the name of the first layer, and whether the module is random in training mode."""
        with torch.inference_mode(False), torch.no_grad(), seeded(0, torch.device("cpu")):
            x = torch.randn(self.shape, dtype=torch.float64)
            self.module.eval()
            output = self._watched(x)
            name = self._first_layer(x)
            self._check_output(output)
            self._check_rows(x, output)
            is_random = self._check_training(x, output, name)
            self.module.eval()
            self._check_way(x, output, name)
        return name, is_random

    # Running.

    def _watched(self, x: Tensor) -> Any:
        """Run the module, noting which leaves it calls, with what."""
        self._calls = []
        before = x.clone()
        try:
            with self._hooks():
                output = self.module(x)
        except Exception as error:
            self._first_layer(x, error)
            self._fail(error)
        if not torch.equal(x, before):
            raise ValueError("network changes its input in place: work on a new tensor, such as x * 2 for x.mul_(2)")
        return output

    @contextmanager
    def _hooks(self) -> Iterator[None]:
        def hook(name: str) -> Any:
            def note(part: nn.Module, args: Any, kwargs: Any) -> None:
                given = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
                self._calls.append((name, part, given[0] if given else None))

            return note

        leaves = [(name, part) for name, part in self.module.named_modules() if _is_leaf(part)]
        handles = [part.register_forward_pre_hook(hook(name), with_kwargs=True) for name, part in leaves]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _fail(self, error: Exception) -> NoReturn:
        raise ValueError(
            f"network raised {type(error).__name__} on an input of shape {self.shape} in float64: {error}. It must take any "
            "number of rows, and make new tensors like those it is given (x.new_zeros)"
        ) from error

    # What is seen.

    def _first_layer(self, x: Tensor, error: Exception | None = None) -> str:
        """Find the one linear layer that the input itself goes into; say what is wrong if there is none, or several."""
        fed = [(name, part) for name, part, given in self._calls if given is not None and _same(given, x)]
        linear = {name: part for name, part in fed if isinstance(part, nn.Linear)}
        if not linear:
            self._no_first_layer(fed, error)
        if len(linear) > 1:
            raise ValueError(
                f"network feeds its input into {len(linear)} linear layers, {', '.join(linear)}: make it one, and split its "
                "output"
            ) from error
        ((name, layer),) = linear.items()
        self._check_layer(name, layer, error)
        if any(part is layer and (given is None or not _same(given, x)) for _, part, given in self._calls):
            raise ValueError(
                f"network: {_called(name, layer)} takes the input, and something else in another call: use two layers"
            ) from error
        return name

    def _no_first_layer(self, fed: list[tuple[str, nn.Module]], error: Exception | None) -> NoReturn:
        wanted = f"the input must go into a torch.nn.Linear({self.shape[1]}, ...) first, as it is"
        if not self._calls:
            if error is not None:
                self._fail(error)
            raise ValueError(f"network: {wanted}; no layer of this module gets it")
        name, part, given = (*fed[0], None) if fed else self._calls[0]
        if not isinstance(part, nn.Linear):
            raise ValueError(f"network: {wanted}; here it goes into {_called(name, part)}") from error
        shape = "" if given is None else f" of shape {tuple(given.shape)}"
        raise ValueError(
            f"network: {wanted}; {_called(name, part)} gets a tensor{shape} made from it. Leave the input as it is: columns "
            "are scaled before, and which of them count is what is to be found"
        ) from error

    def _check_layer(self, name: str, layer: nn.Module, error: Exception | None) -> None:
        assert isinstance(layer, nn.Linear)
        called = f"network: the first layer, {_called(name, layer)},"
        if layer.in_features != self.shape[1]:
            raise ValueError(
                f"{called} takes {layer.in_features} columns, and there are {self.shape[1]}: make it "
                f"Linear({self.shape[1]}, {layer.out_features}), or give a function network(n_inputs, n_outputs) that makes "
                "the module, which is told the number, pieces of expanded columns (preprocessing=) and knockoffs included"
            ) from error
        hooks = layer._forward_pre_hooks or layer._forward_hooks
        if parametrize.is_parametrized(layer) or set(layer._parameters) != {"weight", "bias"} or hooks:
            raise ValueError(
                f"{called} does not hold its weight as it is (a parametrisation, a weight norm, pruning or a hook): use a "
                "plain torch.nn.Linear, as features leave by rows of its weight"
            ) from error
        if not layer.weight.requires_grad:
            raise ValueError(
                f"{called} is frozen: set requires_grad of its weight, as features leave by it; other layers may be frozen"
            ) from error
        if sum(values is layer.weight for _, values in self.module.named_parameters(remove_duplicate=False)) > 1:
            raise ValueError(f"{called} shares its weight with another layer: give each its own") from error

    def _check_output(self, output: Any) -> None:
        wanted = (_ROWS, self.n_outputs)
        if not isinstance(output, Tensor):
            raise ValueError(
                f"network must return one tensor of shape (n, {self.n_outputs}); got {type(output).__name__}"
            )
        if output.shape != wanted or not output.is_floating_point():
            raise ValueError(
                f"network must map {self.shape} to {wanted}, one number for each row and output; it gives "
                f"{tuple(output.shape)} of type {output.dtype}: end with a torch.nn.Linear(..., {self.n_outputs})"
            )
        if not output.isfinite().all():
            raise ValueError("network gives NaN or infinite outputs for inputs of usual size: check its start weights")

    def _check_rows(self, x: Tensor, output: Tensor) -> None:
        """A row's output may not depend on the other rows, nor on when it is asked for."""
        try:
            some, again = self.module(x[:1]), self.module(x)
        except Exception as error:
            raise ValueError(f"network runs on {_ROWS} rows but not on one: {error}") from error
        if not _equal(again, output):
            raise ValueError("network gives another output each time in eval mode: draw only if self.training")
        if not _equal(some, output[:1]):
            raise ValueError(
                "network's output for a row depends on the other rows: work on each by itself, such as with "
                "torch.nn.LayerNorm, or attention within a row"
            )

    def _check_training(self, x: Tensor, output: Tensor, name: str) -> bool:
        """Say whether something is drawn in training mode; all else has to be as in eval mode."""
        self.module.train()
        buffers = {n: values.clone() for n, values in self.module.named_buffers()}
        state = torch.get_rng_state()
        trained = self._watched(x)
        is_random = not torch.equal(state, torch.get_rng_state())
        for n, values in self.module.named_buffers():
            if not torch.equal(values, buffers[n]):
                raise ValueError(
                    f"network: buffer {n} changes when the module runs, so that there is no fixed objective: leave running "
                    "statistics out"
                )
        if name not in {n for n, _, given in self._calls if given is not None and _same(given, x)}:
            raise ValueError(
                "network changes its input before the first layer in training mode: move dropout or noise behind that layer"
            )
        self._check_output(trained)
        if not is_random and not _equal(trained, output):
            raise ValueError(
                "network computes something else in training mode than in eval mode, and not by chance: make it one function"
            )
        return is_random

    def _check_way(self, x: Tensor, output: Tensor, name: str) -> None:
        """The output must be a function of the first layer's product alone."""
        layer = self.module.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        fed = Fed(layer)
        module = replace_module(self.module, layer, fed)
        try:
            with torch.enable_grad():
                seen = x.clone().requires_grad_()
                fed.product = (x @ layer.weight.mT).requires_grad_()
                same = module(seen)
                by_input, by_product = torch.autograd.grad(same.sum(), [seen, fed.product], allow_unused=True)
            blank = module(x.new_zeros(1, 1).expand_as(x))
        except Exception as error:
            raise ValueError(
                f"network does not run with its first layer taken out: {error}. The input may be asked for its shape, and the "
                "first layer's weight may be used in that layer only"
            ) from error
        if by_input is not None or not _equal(blank, same):
            others = [
                n for n, part, given in self._calls if part is not layer and given is not None and _same(given, x)
            ]
            where = f" ({', '.join(dict.fromkeys(others))})" if others else ""
            raise ValueError(
                f"network uses its input beside the first layer too{where}: feed it into that layer only; the linear part of "
                "the model is added by riata"
            )
        if by_product is None:
            raise ValueError("network's output does not depend on its first layer: use what that layer gives")
        if not _equal(same, output):
            raise ValueError(
                f"network: the first layer, {_called(name, layer)}, computes something else than x @ weight.T + bias: use a "
                "plain torch.nn.Linear"
            )


def _is_leaf(part: nn.Module) -> bool:
    """A module to name to the user: one without parts, or one of torch's with parameters of its own."""
    whole = bool(part._parameters) and type(part).__module__.startswith("torch.")
    return not part._modules or whole or isinstance(part, nn.Linear)


def _called(name: str, part: nn.Module) -> str:
    return f"{type(part).__name__} {name!r}" if name else type(part).__name__


def _same(given: Tensor, x: Tensor) -> bool:
    """Whether a tensor is the input itself, be it under another name."""
    return (given.data_ptr(), given.shape, given.stride(), given.dtype) == (x.data_ptr(), x.shape, x.stride(), x.dtype)


def _equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, equal_nan=True, **_CLOSE)
