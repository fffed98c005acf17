"""From what the user gives, a module or a function that makes one, to a network for the engine."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from riata.network.user.contract import Probe, check_parameters
from riata.network.user.network import UserNetwork
from riata.network.user.surgery import seeded

__all__ = ["adopt", "check_given", "takes_any_width"]


def check_given(network: Any) -> None:
    """Check what can be checked without data."""
    if not (isinstance(network, nn.Module) or callable(network)):
        raise ValueError(
            "network must be a torch.nn.Module, or a function network(n_inputs, n_outputs) that returns one; "
            f"got {network!r}"
        )


def takes_any_width(network: Any) -> bool:
    """Whether a table of any width will do: a function is told the width, a module has one."""
    return not isinstance(network, nn.Module)


def adopt(
    network: Any, n_inputs: int, n_outputs: int, seed: int, dtype: torch.dtype, device: torch.device
) -> UserNetwork:
    """Make or copy the module, and hold it to the contract.

    Parameters
    ----------
    network : Module or callable
        What the user gave. A module is copied; a function is called with ``seed`` in torch's global generators.
    n_inputs, n_outputs : int
        Columns of the table, and outputs.
    seed : int
        For functions.
    dtype, device
        What the module has to run in, beside float64 on the CPU, which is where predictions are made.

    Raises
    ------
    ValueError
        Where the contract is broken: what to change.
    """
    with torch.inference_mode(False):  # autograd has no use for what is made in that mode
        given = isinstance(network, nn.Module)
        module = _copied(network) if given else _made(network, n_inputs, n_outputs, seed, device)
        return _taken(module, n_inputs, n_outputs, dtype, device)


def _taken(module: nn.Module, n_inputs: int, n_outputs: int, dtype: torch.dtype, device: torch.device) -> UserNetwork:
    """Hold a module to the contract, and take it apart."""
    check_parameters(module)
    layer, is_random = Probe(copy.deepcopy(module), n_inputs, n_outputs).run()
    first = module.get_submodule(layer)
    assert isinstance(first, nn.Linear)
    own = UserNetwork(module, first, n_outputs, is_random=is_random)
    start = own.init(n_inputs, [0], dtype, device)
    try:
        own.passes(1, 2, start.rows).forward(start, start.rows.new_zeros(2, n_inputs))
    except Exception as error:
        raise ValueError(
            f"network runs in float64 on the CPU but not in {dtype} on {device}; make new tensors in its forward like "
            f"those it is given (x.new_zeros, torch.zeros_like): {error}"
        ) from error
    return own


def _copied(module: nn.Module) -> nn.Module:
    """The user's module stays as it is."""
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise ValueError(
            f"network cannot be copied ({error}); give a function network(n_inputs, n_outputs) that makes it"
        ) from error


def _made(function: Any, n_inputs: int, n_outputs: int, seed: int, device: torch.device) -> nn.Module:
    call = f"network({n_inputs}, {n_outputs})"
    try:
        with seeded(seed, device), torch.enable_grad():
            module = function(n_inputs, n_outputs)
    except Exception as error:
        raise ValueError(
            f"{call} raised {type(error).__name__}: {error}. It is called with the numbers of input columns and of outputs"
        ) from error
    if not isinstance(module, nn.Module):
        raise ValueError(f"{call} must return a torch.nn.Module; it returned {type(module).__name__}")
    return _copied(module)  # it may be kept, and given out again
