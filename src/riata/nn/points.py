"""Points of a module's path, and which of them to take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from riata import check
from riata.path import selection
from riata.path.points import Path, Point

__all__ = ["ModulePoint", "pick"]


@dataclass(frozen=True, eq=False, repr=False)
class ModulePoint(Point):
    """A point of a module's path: as :class:`riata.Point`, with the weights of the whole module.

    Attributes
    ----------
    state : dict
        ``model.load_state_dict(point.state)`` takes the model there.
    """

    state: dict[str, Tensor] = field(default_factory=dict)


def pick(path: Path, select: str | float = "1se", *, n_units: int | None = None) -> Point:
    """Pick a point of a path.

    Parameters
    ----------
    path : Path
        From :func:`path`.
    select : {"1se", "best", "elbow"} or float, default="1se"
        The sparsest point within one standard error of the lowest validation loss, the one with the lowest, the one where the
        loss begins to rise (the farthest below a straight line from the densest to the emptiest, logarithms of losses
        against numbers of units), or the last whose λ does not exceed a number. The standard error is that of the lowest
        loss itself: where every point is trained anew, two of them differ by more than their rows would tell.
    n_units : int, optional
        Pick the densest point with at most so many units instead.

    Returns
    -------
    ModulePoint
        ``model.load_state_dict(point.state)`` takes the model there.
    """
    if n_units is not None:
        fewest = int(path.n_selected.min())
        if check.whole("n_units", n_units) < fewest:
            raise ValueError(
                f"no point of the path has at most {n_units} units: it ends with {fewest}; lower until, or costs"
            )
        return path[selection.at_most(path, n_units)]
    if select == "elbow":
        return path[selection.elbow(path)]
    if isinstance(select, str):
        check.one_of("select", select, ("1se", "best", "elbow"))
        best = path[selection.best(path)]
        if select == "best":
            return best
        if not np.isfinite(best.val_loss_se):
            raise ValueError(
                "one validation loss has no standard error: give path a loss of one number for each row (reduction='none'), "
                'or select="best"'
            )
        return path[selection.one_standard_error(path, paired=False)]
    return path[selection.at_lambda(path, check.number("select", select))]
