"""The proximal operator with the arguments of ``lassonet.prox``: columns are features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from riata.prox import hier_prox

__all__ = ["inplace_group_prox", "inplace_prox", "prox", "sign_binary", "soft_threshold"]


def soft_threshold(l: float | Tensor, x: Tensor) -> Tensor:  # noqa: E741 - the name in lassonet
    """Move numbers towards zero by ``l``, those within it to zero."""
    return x.sign() * (x.abs() - l).clamp_min(0)


def sign_binary(x: Tensor) -> Tensor:
    """Return the sign of numbers, 1 for zero."""
    return torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x))


def prox(
    v: Tensor, u: Tensor, *, lambda_: float | Tensor, lambda_bar: float | Tensor, M: float | Tensor
) -> tuple[Tensor, Tensor]:
    """Return the minimiser of ½‖v − b‖² + ½‖u − W‖² + λ‖b‖₂ + λ̄‖W‖₁ subject to ‖W‖∞ ≤ M‖b‖₂, for every column.

    A column with v = 0 stays at zero, as in ``lassonet`` 0.0.21; :func:`riata.hier_prox` returns a minimiser there too.

    Parameters
    ----------
    v : Tensor of shape (m,) or (m, d)
        Weights to the outputs.
    u : Tensor of shape (k,) or (k, d)
        Weights to the first hidden layer.
    lambda_, lambda_bar, M : float
        Thresholds and the hierarchy coefficient.

    Returns
    -------
    pair of Tensor
        b and W, in the shapes of v and u.

    Examples
    --------
    >>> import torch
    >>> from riata.compat.lassonet import prox
    >>> prox(torch.tensor([1.0]), torch.tensor([3.0, 0.2]), lambda_=0.5, lambda_bar=0.0, M=1.0)
    (tensor([1.7500]), tensor([1.7500, 0.2000]))
    """
    if v.ndim == 1:
        skip, first = prox(v[:, None], u[:, None], lambda_=lambda_, lambda_bar=lambda_bar, M=M)
        return skip[:, 0], first[:, 0]
    skip, first = hier_prox(v.T, u.T, lambda_=lambda_, lambda_bar=lambda_bar, M=M)
    there = v.abs().amax(0) > 0
    return skip.T * there, first.T * there


def inplace_prox(
    beta: nn.Linear, theta: nn.Linear, lambda_: float | Tensor, lambda_bar: float | Tensor, M: float | Tensor
) -> None:
    """Apply the operator to the weights of two layers.

    Parameters
    ----------
    beta, theta : Linear
        The linear part and the first hidden layer.
    lambda_, lambda_bar, M : float
        As for :func:`prox`.
    """
    v, u = prox(beta.weight.data, theta.weight.data, lambda_=lambda_, lambda_bar=lambda_bar, M=M)
    beta.weight.data, theta.weight.data = v.contiguous(), u.contiguous()


def inplace_group_prox(
    groups: Sequence[Sequence[int]],
    beta: nn.Linear,
    theta: nn.Linear,
    lambda_: float | Tensor,
    lambda_bar: float | Tensor,
    M: float | Tensor,
) -> None:
    """Apply the operator to the weights of two layers, where features enter and leave in groups.

    Parameters
    ----------
    groups : list of lists
        The features of each group.
    beta, theta : Linear
        The linear part and the first hidden layer.
    lambda_, lambda_bar, M : float
        As for :func:`prox`.
    """
    v, u = beta.weight.data, theta.weight.data
    ids = torch.empty(v.shape[1], dtype=torch.long, device=v.device)
    for g, features in enumerate(groups):
        ids[list(features)] = g
    skip, first = hier_prox(v.T, u.T, lambda_=lambda_, lambda_bar=lambda_bar, M=M, groups=ids)
    largest = v.new_zeros(len(groups)).scatter_reduce(0, ids, v.abs().amax(0), "amax")
    there = largest[ids] > 0
    beta.weight.data, theta.weight.data = (skip.T * there).contiguous(), (first.T * there).contiguous()
