"""Batches for auto-encoders: some entries are hidden from the input, and only these are scored."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from riata import check

__all__ = ["HiddenEntries", "hidden_error"]


class HiddenEntries:
    """Batches of rows with some entries set to zero, and these entries as the target.

    An auto-encoder that is shown what it has to give back gets better with every further unit, on rows it was not trained on
    as well: it passes the noise on. What is hidden can only be told from the other entries, and noise cannot, so that the
    loss says how many units there is a use for.

    Parameters
    ----------
    X : Tensor of shape (n, ...)
        Rows, centred: zero is what stands in for a hidden entry.
    batch_size : int, default=128
        Rows per batch.
    share : float, default=0.2
        Share of the entries that are hidden.
    fixed : bool, default=False
        Hide the same entries each time, in rows in the same order, as is right for validation.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import HiddenEntries
    >>> shown, hidden = next(iter(HiddenEntries(torch.randn(10, 4), batch_size=5)))
    >>> bool(((shown == 0) == ~hidden.isnan()).all())
    True
    """

    def __init__(
        self, X: Tensor, batch_size: int = 128, *, share: float = 0.2, fixed: bool = False, random_state: int = 0
    ):
        self.X = X
        self.batch_size = check.whole("batch_size", batch_size, 1)
        self.share = check.number("share", share, 0.0, 0.95, above=True)
        self.fixed = fixed
        self.random_state = random_state
        self._draw = torch.Generator().manual_seed(random_state)

    def __len__(self) -> int:
        return -(-len(self.X) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        draw = torch.Generator().manual_seed(self.random_state) if self.fixed else self._draw
        order = torch.arange(len(self.X)) if self.fixed else torch.randperm(len(self.X), generator=draw)
        for rows in order.split(self.batch_size):
            X = self.X[rows]
            hidden = (torch.rand(X.shape, generator=draw) < self.share).to(X.device)
            yield X.masked_fill(hidden, 0.0), X.masked_fill(~hidden, torch.nan)


def hidden_error(output: Tensor, target: Tensor) -> Tensor:
    """Return the squared error of the entries of a target that are not NaN, (n,); the mean over rows is that over entries."""
    there = ~target.isnan()
    residual = torch.where(there, output - target, 0.0)
    return residual.square().flatten(1).sum(-1) * (len(target) / there.sum().clamp_min(1))
