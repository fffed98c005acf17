"""Where a path solver is after each point, kept in a checkpoint: every point once, and the last two states."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from riata.network.stacked import Weights
from riata.path.points import Point
from riata.solver.solve import SolverState
from riata.storage import Checkpoint, CheckpointError, Store

__all__ = ["PathState", "SavedPath", "with_zeros", "without_zeros"]


class PathState(NamedTuple):
    """A path solver between two points: what it needs beside the points to go on as if it had not stopped."""

    lambdas: tuple[float, ...]  # of the points so far
    visited: tuple[float, ...]
    done: bool
    stride: tuple[float, float, int, int] | None  # None before the first λ
    columns: Tensor  # of the weights, where these are not all zero
    weights: Weights  # of these columns
    solver: SolverState
    threads: int
    step: int = 0


def without_zeros(weights: Weights) -> tuple[Tensor, Weights]:
    """Return the columns in which a bit of the weights is set, and the weights in these."""
    bits = weights.rows.view(torch.int32 if weights.rows.element_size() == 4 else torch.int64)  # of −0 too
    columns = (bits != 0).any(-1).any(0).nonzero().squeeze(-1)
    return columns, Weights(weights.rows[:, columns], weights.upper)


def with_zeros(columns: Tensor, weights: Weights, like: Tensor) -> Weights:
    """Return the weights of all columns of a table, with its type and on its device."""
    rows = like.new_zeros(len(weights.rows), like.shape[-1], weights.rows.shape[-1])
    rows[:, columns.to(like.device)] = weights.rows.to(like)
    return Weights(rows, weights.upper.to(like))


class SavedPath:
    """The path of one replica in a checkpoint.

    Parameters
    ----------
    saved : Checkpoint
        Where it is kept, if anywhere.
    """

    def __init__(self, saved: Checkpoint):
        self._store: Store | None = saved.store
        self._step = 0
        self._before: set[str] = set()  # names of the points of the state before the last
        self._now: set[str] = set()  # and of the last

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return self._store is not None

    def last(self) -> tuple[PathState, list[Point]] | None:
        """Return the last state that can be used, and its points; None if the path has not begun.

        Raises
        ------
        CheckpointError
            If there are states and none can be used.
        """
        if self._store is None:
            return None
        store = self._store
        states, problems = _states(store)
        for state in states:
            try:
                points = [_point(store, lambda_) for lambda_ in state.lambdas]
            except CheckpointError as error:
                problems.append(str(error))
                continue
            if problems:
                text = "; ".join(problems)
                warnings.warn(f"{text}: the checkpoint continues from the last good state", UserWarning, stacklevel=3)
            self._step, self._now = state.step, set(map(_name, state.lambdas))
            self._before = {_name(lambda_) for each in states for lambda_ in each.lambdas}
            store.remove({name for name in store.names() if name.startswith("point-")} - self._before)
            return state, points
        if problems:
            raise CheckpointError(f"{'; '.join(problems)}: delete {store.folder} to begin anew")
        return None

    def add(self, state: PathState, points: Sequence[Point]) -> None:
        """Keep a state and the points that are new; forget those that neither this state nor the last one has."""
        if self._store is None:
            return
        self._step += 1
        values = {_name(point.lambda_): point for point in points}
        new = {name: point for name, point in values.items() if name not in self._now}
        self._store.write({**new, f"state-{self._step % 2}": state._replace(step=self._step)})
        self._store.remove(self._before - self._now - values.keys())
        self._before, self._now = self._now, set(values)


def _states(store: Store) -> tuple[list[PathState], list[str]]:
    """Return the states that can be read, the last one first, and what is wrong with others."""
    states, problems = [], []
    for name in sorted({"state-0", "state-1"} & store.names()):
        try:
            states.append(store.read(name))
        except CheckpointError as error:
            problems.append(str(error))
    return sorted(states, key=lambda state: -state.step), problems


def _point(store: Store, lambda_: float) -> Point:
    name = _name(lambda_)
    point: Point | None = store.read(name)
    if point is None:
        raise CheckpointError(f"{store.folder} lacks {name}.checkpoint")
    return point


def _name(lambda_: float) -> str:
    """Return the name of a point: the bits of λ, which sort as λ does."""
    return f"point-{struct.pack('>d', lambda_).hex()}"
