"""The contract of a user-supplied module, checked before training.

The module maps (n, n_inputs) to (n, n_outputs), each sample by itself, by one function in which training changes the parameters
only. Its input goes into one ``torch.nn.Linear(n_inputs, K)`` and nowhere else. To check this the module is run: hooks find the
layer that gets the input itself; with that layer's product given, the output must be the same whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.nn.utils import parametrize

from riata.network.user.modules import GivenProduct, replace_module, seeded

__all__ = ["Contract", "check_parameters"]

_SAMPLES = 7  # in the input of a check: unlike most widths, so that transposed shapes differ


def check_parameters(module: nn.Module) -> None:
    """Check what can be checked without running the module."""
    if isinstance(module, torch.jit.ScriptModule):
        raise ValueError(
            "network is a scripted module, whose layers cannot be replaced: give the module it was made from"
        )
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


class Contract:
    """Runs a module on a few samples, in float64 on the CPU, and raises an error where it breaks the contract.

    Parameters
    ----------
    module : Module
        It is changed: give a copy.
    n_inputs, n_outputs : int
        Numbers of columns and of outputs.
    """

    def __init__(self, module: nn.Module, n_inputs: int, n_outputs: int):
        self.module = module.to("cpu", torch.float64)
        self.shape = _SAMPLES, n_inputs
        self.n_outputs = n_outputs
        # Leaves in the order of their calls, and their inputs.
        self._calls: list[tuple[str, nn.Module, Tensor | None]] = []

    def check(self) -> tuple[str, bool]:
        """Return the name of the first layer, and whether the module is random in training mode."""
        with torch.inference_mode(False), torch.no_grad(), seeded(0, torch.device("cpu")):
            x = torch.randn(self.shape, dtype=torch.float64)
            self.module.eval()
            output = self._run(x)
            name = self._first_layer(x)
            self._check_output(output)
            self._check_samples(x, output)
            is_random = self._check_training(x, output, name)
            self.module.eval()
            self._check_rest(x, output, name)
        return name, is_random

    def _run(self, x: Tensor) -> Any:
        """Run the module, and record the calls of its leaves."""
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
            def record(part: nn.Module, args: Any, kwargs: Any) -> None:
                given = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
                self._calls.append((name, part, given[0] if given else None))

            return record

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
            "number of samples, and make new tensors like those it is given (x.new_zeros)"
        ) from error

    def _first_layer(self, x: Tensor, error: Exception | None = None) -> str:
        """Find the one linear layer that the input itself goes into; raise an error if there is none, or several."""
        direct = [(name, part) for name, part, given in self._calls if given is not None and _same(given, x)]
        linear = {name: part for name, part in direct if isinstance(part, nn.Linear)}
        if not linear:
            self._no_first_layer(direct, error)
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

    def _no_first_layer(self, direct: list[tuple[str, nn.Module]], error: Exception | None) -> NoReturn:
        wanted = f"the input must go into a torch.nn.Linear({self.shape[1]}, ...) first, as it is"
        if not self._calls:
            if error is not None:
                self._fail(error)
            raise ValueError(f"network: {wanted}; no layer of this module gets it")
        name, part, given = (*direct[0], None) if direct else self._calls[0]
        if not isinstance(part, nn.Linear):
            raise ValueError(f"network: {wanted}; here it goes into {_called(name, part)}") from error
        shape = "" if given is None else f" of shape {tuple(given.shape)}"
        raise ValueError(
            f"network: {wanted}; {_called(name, part)} gets a tensor{shape} made from it. Leave the input as it is: columns "
            "are scaled before, and to select among them is what the fit is for"
        ) from error

    def _check_layer(self, name: str, layer: nn.Module, error: Exception | None) -> None:
        assert isinstance(layer, nn.Linear)
        called = f"network: the first layer, {_called(name, layer)},"
        if layer.in_features != self.shape[1]:
            raise ValueError(
                f"{called} takes {layer.in_features} columns, and there are {self.shape[1]}: make it "
                f"Linear({self.shape[1]}, {layer.out_features}), or give a function network(n_inputs, n_outputs) that makes "
                "the module; n_inputs includes the pieces of expanded columns (preprocessing=) and knockoffs"
            ) from error
        hooks = layer._forward_pre_hooks or layer._forward_hooks
        if parametrize.is_parametrized(layer) or set(layer._parameters) != {"weight", "bias"} or hooks:
            raise ValueError(
                f"{called} does not hold its weight as it is (a parametrisation, a weight norm, pruning or a hook): use a "
                "plain torch.nn.Linear, as the fit sets weights in it to zero"
            ) from error
        if not layer.weight.requires_grad:
            raise ValueError(
                f"{called} is frozen: set requires_grad of its weight, by which features are selected; other layers may be "
                "frozen"
            ) from error
        if sum(values is layer.weight for _, values in self.module.named_parameters(remove_duplicate=False)) > 1:
            raise ValueError(f"{called} shares its weight with another layer: give each its own") from error

    def _check_output(self, output: Any) -> None:
        wanted = (_SAMPLES, self.n_outputs)
        if not isinstance(output, Tensor):
            raise ValueError(
                f"network must return one tensor of shape (n, {self.n_outputs}); got {type(output).__name__}"
            )
        if output.shape != wanted or not output.is_floating_point():
            raise ValueError(
                f"network must map {self.shape} to {wanted}, one number for each sample and output; it gives "
                f"{tuple(output.shape)} of type {output.dtype}: end with a torch.nn.Linear(..., {self.n_outputs})"
            )
        if not output.isfinite().all():
            raise ValueError("network gives NaN or infinite outputs for inputs of usual size: check its start weights")

    def _check_samples(self, x: Tensor, output: Tensor) -> None:
        """A sample's output may not depend on the other samples, and must be the same each time."""
        try:
            one, second = self.module(x[:1]), self.module(x)
        except Exception as error:
            raise ValueError(f"network runs on {_SAMPLES} samples but not on one: {error}") from error
        if not _equal(second, output):
            raise ValueError("network gives another output each time in eval mode: draw only if self.training")
        if not _equal(one, output[:1]):
            raise ValueError(
                "network's output for a sample depends on the other samples: work on each by itself, such as with "
                "torch.nn.LayerNorm, or attention within a sample"
            )

    def _check_training(self, x: Tensor, output: Tensor, name: str) -> bool:
        """Return whether training mode draws random numbers; all else has to be as in eval mode."""
        self.module.train()
        buffers = {n: values.clone() for n, values in self.module.named_buffers()}
        state = torch.get_rng_state()
        trained = self._run(x)
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

    def _check_rest(self, x: Tensor, output: Tensor, name: str) -> None:
        """The output must be a function of the first layer's product alone."""
        layer = self.module.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        given_product = GivenProduct(layer)
        module = replace_module(self.module, layer, given_product)
        try:
            with torch.enable_grad():
                leaf = x.clone().requires_grad_()
                given_product.product = (x @ layer.weight.mT).requires_grad_()
                same = module(leaf)
                by_input, by_product = torch.autograd.grad(same.sum(), [leaf, given_product.product], allow_unused=True)
            blank = module(x.new_zeros(1, 1).expand_as(x))
        except Exception as error:
            raise ValueError(
                f"network does not run with its first layer replaced: {error}. The shape of the input may be used elsewhere; "
                "its values, and the first layer's weight, in that layer only"
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
            raise ValueError("network's output does not depend on its first layer: use what that layer returns")
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
    """Equal but for the order of sums."""
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True)
