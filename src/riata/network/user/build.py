"""Build a network for the solver from a user-supplied module, or a function that makes one."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from riata.network.user.contract import Contract, check_parameters
from riata.network.user.modules import seeded
from riata.network.user.network import UserNetwork

__all__ = ["build", "check_given", "takes_any_width"]


def check_given(network: Any) -> None:
    """Check what can be checked without data."""
    if not (isinstance(network, nn.Module) or callable(network)):
        raise ValueError(
            "network must be a torch.nn.Module, or a function network(n_inputs, n_outputs) that returns one; "
            f"got {network!r}"
        )


def takes_any_width(network: Any) -> bool:
    """Whether the network fits tables of any width: a function is called with the width, a module has one."""
    return not isinstance(network, nn.Module)


def build(
    network: Any, n_inputs: int, n_outputs: int, seed: int, dtype: torch.dtype, device: torch.device
) -> UserNetwork:
    """Make or copy the module, and check that it keeps the contract.

    Parameters
    ----------
    network : Module or callable
        User-supplied. A module is copied; a function is called with torch's global generators seeded.
    n_inputs, n_outputs : int
        Columns of the table, and outputs.
    seed : int
        The seed for functions.
    dtype, device
        For training; the module must also run in float64 on the CPU, which predictions use.

    Raises
    ------
    ValueError
        Where the contract is broken; says what to change.
    """
    with torch.inference_mode(False):  # autograd has no use for what is made in that mode
        is_module = isinstance(network, nn.Module)
        module = _copied(network) if is_module else _made(network, n_inputs, n_outputs, seed, device)
        return _checked(module, n_inputs, n_outputs, dtype, device)


def _checked(module: nn.Module, n_inputs: int, n_outputs: int, dtype: torch.dtype, device: torch.device) -> UserNetwork:
    """Check that a module keeps the contract, and take out its first layer."""
    check_parameters(module)
    layer, is_random = Contract(copy.deepcopy(module), n_inputs, n_outputs).check()
    first = module.get_submodule(layer)
    assert isinstance(first, nn.Linear)
    network = UserNetwork(module, first, n_outputs, is_random=is_random)
    start = network.init(n_inputs, [0], dtype, device)
    try:
        network.passes(1, 2, start.rows).forward(start, start.rows.new_zeros(2, n_inputs))
    except Exception as error:
        raise ValueError(
            f"network runs in float64 on the CPU but not in {dtype} on {device}; make new tensors in its forward like "
            f"those it is given (x.new_zeros, torch.zeros_like): {error}"
        ) from error
    return network


def _copied(module: nn.Module) -> nn.Module:
    """Copy the user's module, which must not change."""
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
    return _copied(module)  # the function may keep it, and return it again
