"""The network of ``lassonet`` as a torch module: a linear part beside a feed-forward network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from riata import check
from riata.compat.lassonet.prox import inplace_group_prox, inplace_prox, prox

__all__ = ["LassoNet"]

Groups = Sequence[Sequence[int]] | None
_SETTLED = 1e-5  # change of the weights from which on the operator has settled
_HIGHEST = 1e12  # of the λ that are tried


class LassoNet(nn.Module):
    """A linear part and a feed-forward network of ReLU layers, added up.

    Parameters
    ----------
    *dims : int
        Widths: of the input, of the hidden layers, of the output.
    groups : list of lists, optional
        The features of each group; every feature is in one.
    dropout : float, optional
        Share of the hidden units that are dropped in training.

    Attributes
    ----------
    layers : ModuleList
        The linear layers of the network.
    skip : Linear
        The linear part, without a bias.

    Examples
    --------
    >>> import torch
    >>> from riata.compat.lassonet import LassoNet
    >>> model = LassoNet(4, 10, 1)
    >>> model(torch.zeros(3, 4)).shape, model.selected_count()
    (torch.Size([3, 1]), 4)
    """

    def __init__(self, *dims: int, groups: Groups = None, dropout: float | None = None):
        super().__init__()
        if len(dims) < 3:
            raise ValueError(f"LassoNet takes the widths of input, hidden layers and output; got {dims}")
        check.groups(groups, None, dims[0])
        self.groups = groups
        self.dropout = nn.Dropout(dropout) if dropout else None
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(dims))
        self.skip = nn.Linear(dims[0], dims[-1], bias=False)

    def forward(self, inp: Tensor) -> Tensor:
        """Return the outputs for samples."""
        hidden = inp
        for layer in self.layers[:-1]:
            hidden = layer(hidden)
            hidden = torch.relu(hidden if self.dropout is None else self.dropout(hidden))
        output: Tensor = self.skip(inp) + self.layers[-1](hidden)
        return output

    def prox(self, *, lambda_: float, lambda_bar: float = 0, M: float = 1) -> None:
        """Apply the proximal operator to the linear part and the first layer; ``lambda_`` is λ times the step size.

        Parameters
        ----------
        lambda_, lambda_bar, M : float
            As for :func:`riata.compat.lassonet.prox`.
        """
        if self.groups is None:
            inplace_prox(self.skip, self._first, lambda_, lambda_bar, M)
        else:
            inplace_group_prox(self.groups, self.skip, self._first, lambda_, lambda_bar, M)

    def lambda_start(self, M: float = 1, lambda_bar: float = 0, factor: float = 2) -> float:
        """Return the last of 10⁻⁶, 10⁻⁶ · ``factor``, … at which the operator, applied until it settles, keeps all features.

        Parameters
        ----------
        M, lambda_bar : float
            As for :func:`riata.compat.lassonet.prox`.
        factor : float
            Ratio of one λ to the last.

        Returns
        -------
        float
            The λ.
        """
        start = 1e-6
        while start < _HIGHEST and not self._drops(factor * start, lambda_bar, M):
            start *= factor
        return start

    def _drops(self, lambda_: float, lambda_bar: float, M: float) -> bool:
        v, u = self.skip.weight.detach(), self._first.weight.detach()
        for _ in range(10_000):
            new, u = prox(v, u, lambda_=lambda_, lambda_bar=lambda_bar, M=M)
            if float((new - v).abs().max()) < _SETTLED:
                break
            v = new
        return not bool(v.any(0).all())

    def l2_regularization(self) -> Tensor:
        """Return the sum of the squared weights above the first layer. It carries no gradient, as in ``lassonet``."""
        return torch.stack([cast(Tensor, layer.weight).detach().square().sum() for layer in self.layers[1:]]).sum()

    def l1_regularization_skip(self) -> Tensor:
        """Return the sum over features of the norms of their linear weights. It carries no gradient, as in ``lassonet``."""
        norms: Tensor = torch.linalg.vector_norm(self.skip.weight.detach(), dim=0)
        return norms.sum()

    def l2_regularization_skip(self) -> Tensor:
        """Return the norm of all linear weights. It carries no gradient, as in ``lassonet``."""
        norm: Tensor = torch.linalg.vector_norm(self.skip.weight.detach())
        return norm

    def input_mask(self) -> Tensor:
        """Return which features have linear weights other than zero."""
        return self.skip.weight.detach().any(0)

    def selected_count(self) -> int:
        """Return the number of these features."""
        return int(self.input_mask().sum())

    def cpu_state_dict(self) -> dict[str, Tensor]:
        """Return a copy of all weights, on the CPU."""
        return {name: values.detach().clone().cpu() for name, values in self.state_dict().items()}

    @property
    def _first(self) -> nn.Linear:
        return cast(nn.Linear, self.layers[0])
