"""Batches for auto-encoders: some entries are hidden from the input, and the loss is computed on these only."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from riata import check

__all__ = ["HiddenEntries", "hidden_error"]


class HiddenEntries:
    """Batches of samples with some entries set to zero, and these entries as the target.

    The error of an auto-encoder that has its target as its input falls with every further unit, on held-out samples too,
    because units can pass noise on. A hidden entry has to be predicted from the other entries, which noise cannot be, so the
    loss on hidden entries shows how many units are needed.

    Parameters
    ----------
    X : Tensor of shape (n, ...)
        Samples, centred: hidden entries are set to zero.
    batch_size : int, default=128
        Samples per batch.
    share : float, default=0.2
        Share of the entries that are hidden.
    fixed : bool, default=False
        Hide the same entries in every epoch, with the samples in the same order, as validation needs.
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
        self._generator = torch.Generator().manual_seed(random_state)

    def __len__(self) -> int:
        return -(-len(self.X) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        generator = torch.Generator().manual_seed(self.random_state) if self.fixed else self._generator
        order = torch.arange(len(self.X)) if self.fixed else torch.randperm(len(self.X), generator=generator)
        for batch in order.split(self.batch_size):
            X = self.X[batch]
            hidden = (torch.rand(X.shape, generator=generator) < self.share).to(X.device)
            yield X.masked_fill(hidden, 0.0), X.masked_fill(~hidden, torch.nan)


def hidden_error(output: Tensor, target: Tensor) -> Tensor:
    """Return the squared error on the hidden entries, which are not NaN in the target, for each sample, (n,).

    It is scaled so that its mean over samples is the mean over hidden entries.

    Parameters
    ----------
    output : Tensor of shape (n, ...)
        Output of the auto-encoder.
    target : Tensor of shape (n, ...)
        Hidden entries, and NaN elsewhere, as :class:`HiddenEntries` gives them.

    Returns
    -------
    Tensor of shape (n,)
        The error of each sample.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import hidden_error
    >>> target = torch.tensor([[1.0, torch.nan], [torch.nan, 2.0]])
    >>> hidden_error(torch.zeros(2, 2), target).tolist()
    [1.0, 4.0]
    """
    hidden = ~target.isnan()
    residual = torch.where(hidden, output - target, 0.0)
    return residual.square().flatten(1).sum(-1) * (len(target) / hidden.sum().clamp_min(1))
