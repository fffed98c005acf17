"""The partial likelihood of Cox's model as a torch module, and concordance, with the arguments of ``lassonet.cox``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from riata.survival.concordance import concordance

__all__ = ["CoxPHLoss", "concordance_index"]


class CoxPHLoss(nn.Module):
    """Negative logarithm of the partial likelihood, as a mean over events.

    Parameters
    ----------
    method : {"breslow", "efron"}
        Treatment of ties.

    Examples
    --------
    >>> import torch
    >>> from riata.compat.lassonet.cox import CoxPHLoss
    >>> y = torch.tensor([[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])  # time, event
    >>> CoxPHLoss("breslow")(torch.zeros(3), y)  # the mean of log 3 and log 1
    tensor(0.5493)
    """

    allowed = ("breslow", "efron")

    def __init__(self, method: str):
        super().__init__()
        if method not in self.allowed:
            raise ValueError(f"method must be 'breslow' or 'efron'; got {method!r}")
        self.method = method

    def forward(self, log_h: Tensor, y: Tensor) -> Tensor:
        """Return the loss of logarithms of hazards, for times and events, (n, 2)."""
        order = y[:, 0].argsort(descending=True, stable=True)
        time, event, log_h = y[order, 0], y[order, 1] > 0, log_h.flatten()[order]
        if not bool(event.any()):
            return log_h[:0].sum()
        last = torch.searchsorted(-time.contiguous(), -time.contiguous(), right=True) - 1  # of the samples at risk
        log_risk, log_hazard = log_h.logcumsumexp(0)[last][event], log_h[event]
        loss = log_risk - log_hazard
        if self.method == "efron":
            loss = loss + _discount((log_hazard - log_risk).exp(), time[event])
        return loss.mean()


def _discount(share: Tensor, time: Tensor) -> Tensor:
    """Return by how much the k-th of m tied events lowers the logarithm: these have left the risk set to k/m already."""
    _, tie, size = torch.unique_consecutive(time, return_inverse=True, return_counts=True)
    total = share.new_zeros(len(size)).index_add(0, tie, share)[tie]
    position = torch.arange(len(tie), device=tie.device) - (size.cumsum(0) - size)[tie]
    return torch.log1p(-total * position / size[tie])


def concordance_index(risk: Any, time: Any, event: Any) -> float:
    """Return the share of comparable pairs in which the sample of higher risk has its event first; equal risks count half.

    Parameters
    ----------
    risk, time, event : array-like of shape (n,)
        Predicted risks; times; 1 where the event was seen and 0 for censored samples.

    Returns
    -------
    float
        The concordance.

    Examples
    --------
    >>> from riata.compat.lassonet.cox import concordance_index
    >>> concordance_index([3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1, 1, 0])
    1.0
    """
    risk, time, event = (np.asarray(values, dtype=np.float64).ravel() for values in (risk, time, event))
    before = np.full(len(time), time.min(initial=0.0) - 1)
    return concordance(np.column_stack([before, time, event, np.zeros(len(time))]), risk)
