"""A sparse first layer for any model."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from riata.nn.hierarchy import Hierarchy

__all__ = ["LassoInput"]


class LassoInput(nn.Module):
    """First layer of a model that selects its inputs: one linear map to the output, and one into the model.

    The forward pass returns ``skip, hidden``, of shapes (n, out_features) and (n, hidden): feed ``hidden`` to the rest of the
    model and add ``skip`` to its output. Call :func:`hier_prox_` after every step of the optimizer.

    Parameters
    ----------
    in_features : int
        Number of inputs.
    hidden : int
        Width of the layer, before any activation.
    out_features : int
        Width of the model's output.
    bias : bool, default=True
        Whether ``hidden`` has a bias. ``skip`` has none.
    groups : sequence of int, optional
        Inputs with the same id enter and leave together.
    costs : sequence of float, optional
        Penalty weight of each input, 1 by default; 0 keeps it always.

    Attributes
    ----------
    skip, first : torch.nn.Linear
        The two linear maps.
    hierarchy : Hierarchy
        The pair of their weights.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import LassoInput
    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.input = LassoInput(20, 32, 1)
    ...         self.rest = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(32, 1))
    ...     def forward(self, x):
    ...         skip, hidden = self.input(x)
    ...         return skip + self.rest(hidden)
    >>> model = Model()
    >>> model(torch.randn(7, 20)).shape, int(model.input.selected.sum())
    (torch.Size([7, 1]), 20)
    """

    def __init__(
        self,
        in_features: int,
        hidden: int,
        out_features: int,
        *,
        bias: bool = True,
        groups: Sequence[int] | Tensor | None = None,
        costs: Sequence[float] | Tensor | None = None,
    ):
        super().__init__()
        self.skip = nn.Linear(in_features, out_features, bias=False)
        self.first = nn.Linear(in_features, hidden, bias=bias)
        self.hierarchy = Hierarchy(self.skip, self.first, groups=groups, costs=costs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is added to the output, (n, out_features), and what goes into the model, (n, hidden).

        Parameters
        ----------
        x : Tensor of shape (n, in_features)
            Samples.

        Returns
        -------
        skip : Tensor of shape (n, out_features)
            What is added to the output.
        hidden : Tensor of shape (n, hidden)
            What goes into the model.
        """
        return self.skip(x), self.first(x)

    @property
    def selected(self) -> Tensor:
        """Mask of the selected inputs, (in_features,)."""
        return self.hierarchy.selected
