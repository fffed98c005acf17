"""From the parameters of ``lassonet`` to a path of riata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile, islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from riata import check
from riata.compat.lassonet.history import NonFiniteLossError
from riata.estimators.fitting import Checked, Settings, prepare
from riata.estimators.solving import solve
from riata.losses.targets import Target
from riata.path.grid import Grid
from riata.path.points import Path
from riata.preprocess.marginal import effective
from riata.preprocess.prepare import ColumnOptions
from riata.preprocess.samples import Samples, merged
from riata.solver.stopping import Stopping

if TYPE_CHECKING:
    from riata.compat.lassonet.base import BaseLassoNet

__all__ = ["OPTIM", "Converted", "Task", "convert", "momentum", "pair", "solve_path"]

Floats = NDArray[np.float64]
_GAMMA = 1e-4  # that of riata.Training
_TOL = 1e-4  # the same
OPTIM = partial(torch.optim.Adam, lr=1e-3), partial(torch.optim.SGD, lr=1e-3, momentum=0.9)  # where none is given
_LONGEST, _HIGHEST = 10_000, 1e15  # λ that are taken of a sequence without end


class Task(NamedTuple):
    """A target, encoded."""

    target: Target
    fit: Floats
    val: Floats | None
    unit: float = 1.0  # riata's loss in units of the criterion of lassonet


class Converted(NamedTuple):
    """How a path is to be solved."""

    settings: Settings
    unit: float  # riata's λ in units of that of lassonet


@dataclass(frozen=True, eq=False)
class Data:
    """Samples to train on and samples to validate on."""

    X: Floats
    X_val: Floats | None
    task: Task


def momentum(optim: Any) -> float:
    """Return the momentum of the optimizer of the path: with it, the λ of lassonet is 1 / (1 − momentum) times as large."""
    _, optimizer = pair(OPTIM if optim is None else optim)
    return float(getattr(optimizer, "keywords", {}).get("momentum", 0.0))


def pair(value: Any) -> tuple[Any, Any]:
    """Return what is for the dense model and what is for the path, where one is given for both, or two."""
    dense, path = value if isinstance(value, Sequence) else (value, value)
    return dense, path


def convert(model: BaseLassoNet, task: Task, lambda_seq: Iterable[float] | None, n_features: int) -> Converted:
    """Check the parameters of an estimator and return what they are here."""
    unit = task.unit * (1 - momentum(model.optim))
    dense_iters, path_iters = check.per_stage("n_iters", model.n_iters, 1)
    dense_patience, path_patience = check.per_stage("patience", model.patience, 1, optional=True)
    tol = min(_TOL, 1 - check.number("tol", model.tol, high=1.0))
    dense, sparse = (
        Stopping(dense_iters, dense_patience, tol, keep_validated=True),
        Stopping(path_iters, path_patience, tol),
    )
    grid, until = _grid(model, lambda_seq, unit), 0
    if grid is None:  # the dense model alone
        grid, sparse, until = Grid(seq=(1e-12,)), Stopping(1, None, 0.0), n_features
    return Converted(
        Settings(
            columns=ColumnOptions(None, adaptive=False),
            network=check.hidden_dims(model.hidden_dims),
            grid=grid,
            dense=dense,
            sparse=sparse,
            M=check.number("M", model.M, high=1e6),
            adaptive=0.0,
            gamma=_GAMMA,
            dropout=check.number("dropout", model.dropout or 0, high=0.99),
            learning_rate=1e-3,
            batch_size=None if model.batch_size is None else check.whole("batch_size", model.batch_size, 1),
            dtype="float32",
            device=model._device,
            until=until,
            verbose=False,
        ),
        unit,
    )


def _grid(model: BaseLassoNet, lambda_seq: Iterable[float] | None, unit: float) -> Grid | None:
    """Return the grid of λ; None where there is none but the dense model's."""
    multiplier = check.number("path_multiplier", model.path_multiplier, 1.0, above=True)
    given = model.lambda_seq if lambda_seq is None else lambda_seq
    if given is None:
        auto = isinstance(model.lambda_start, str) and model.lambda_start == "auto"
        start = None if auto else unit * check.number("lambda_start", model.lambda_start, above=True)
        return Grid(multiplier, start)
    finite = takewhile(lambda value: value < _HIGHEST, dropwhile(lambda value: value == 0, given))
    listed = [unit * float(value) for value in islice(finite, _LONGEST)]
    return Grid(multiplier, seq=check.lambda_seq(listed)) if listed else None


def solve_path(data: Data, settings: Settings, groups: Any, seed: int) -> Path:
    """Solve the path."""
    n, d = data.X.shape
    ids = check.groups(groups, None, d)
    target = data.task.target
    weights = effective(target.weighted(data.task.fit, np.ones(n)))
    if data.X_val is None or data.task.val is None:
        samples = merged(data.X, data.task.fit, weights)
    else:
        held_out = target.weighted(data.task.val, np.ones(len(data.X_val)))
        stacked = np.vstack([data.X, data.X_val]), np.vstack([data.task.fit, data.task.val])
        samples = Samples(*stacked, np.append(weights, held_out), n)
    # A group counts once, however many features it has.
    costs = np.ones(d) if ids is None else 1 / np.bincount(ids)[ids]
    seeds = check_random_state(seed).randint(np.iinfo(np.int32).max, size=2)
    checked = Checked(samples, target, None, costs, ids, (int(seeds[0]), int(seeds[1])))
    try:
        return solve(prepare(checked, settings), settings).path
    except FloatingPointError as error:
        raise NonFiniteLossError(str(error)) from error


def draw_seed(torch_seed: int | None) -> int:
    """Return the seed of weights, batches and dropout: of the given one or, without, of torch's state."""
    return int(torch.randint(2**31 - 1, ())) if torch_seed is None else int(torch_seed) % 2**31
