"""Points of a module's path, and the rules that select one of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from riata import check
from riata.path import selection
from riata.path.points import Path, Point

__all__ = ["ModulePoint", "select"]


@dataclass(frozen=True, eq=False, repr=False)
class ModulePoint(Point):
    """A point of a module's path: as :class:`riata.Point`, with the weights of the whole module.

    Attributes
    ----------
    lambda_, selected, n_selected, loss, val_loss, val_loss_se, penalty, objective, n_iters, weights, val_losses, best_iter
        As for :class:`riata.Point`, with units instead of features.
    state : dict
        ``model.load_state_dict(point.state)`` gives the model the weights of this point.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import LassoInput, path
    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.input = LassoInput(3, 4, 1)
    ...         self.rest = torch.nn.Linear(4, 1)
    ...     def forward(self, x):
    ...         skip, hidden = self.input(x)
    ...         return skip + self.rest(hidden.relu())
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(50, 3)
    >>> model = Model()
    >>> dense = path(model, torch.nn.MSELoss(), [(X, X[:, :1])], epochs=(5, 1), path_multiplier=2)[0]
    >>> dense.n_selected, model.load_state_dict(dense.state)
    (3, <All keys matched successfully>)
    """

    state: dict[str, Tensor] = field(default_factory=dict)


def select(path: Path, rule: str | float = "1se", *, n_units: int | None = None) -> Point:
    """Select a point of a path.

    Parameters
    ----------
    path : Path
        From :func:`path`.
    rule : {"1se", "best", "elbow"} or float, default="1se"
        The sparsest point within one standard error of the lowest validation loss; the point of the lowest validation loss;
        the elbow of the path (the point farthest below the straight line from the densest point to the sparsest, in a plot of
        the logarithm of the loss against the number of units); or the last point whose λ does not exceed a number. The
        standard error is that of the lowest loss, not that of a paired difference: refits differ by more than the
        differences between samples show.
    n_units : int, optional
        Select the densest point with at most so many units instead.

    Returns
    -------
    ModulePoint
        ``model.load_state_dict(point.state)`` gives the model the weights of this point.

    Examples
    --------
    >>> import torch
    >>> from riata.nn import LassoInput, path, select
    >>> class Model(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.input = LassoInput(6, 8, 1)
    ...         self.rest = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 1))
    ...     def forward(self, x):
    ...         skip, hidden = self.input(x)
    ...         return skip + self.rest(hidden)
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(200, 6)
    >>> y = 3 * X[:, :1] - 2 * X[:, 1:2] + 0.3 * torch.randn(200, 1)
    >>> model = Model()
    >>> loss = torch.nn.MSELoss(reduction="none")
    >>> found = path(model, loss, [(X[:150], y[:150])], val=[(X[150:], y[150:])], path_multiplier=1.5)
    >>> point = select(found, n_units=2)
    >>> point.selected
    array([ True,  True, False, False, False, False])
    """
    if n_units is not None:
        fewest = int(path.n_selected.min())
        if check.whole("n_units", n_units) < fewest:
            raise ValueError(
                f"no point of the path has at most {n_units} units: it ends with {fewest}; lower until, or costs"
            )
        return path[selection.at_most(path, n_units)]
    if rule == "elbow":
        return path[selection.elbow(path)]
    if isinstance(rule, str):
        check.one_of("rule", rule, ("1se", "best", "elbow"))
        best = path[selection.best(path)]
        if rule == "best":
            return best
        if not np.isfinite(best.val_loss_se):
            raise ValueError(
                "one validation loss has no standard error: give path a loss of one number for each sample (reduction='none'), "
                'or rule="best"'
            )
        return path[selection.one_standard_error(path, paired=False)]
    return path[selection.at_lambda(path, check.number("rule", rule))]
