"""Problems of one network each as one problem of many, which are then solved side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.losses import JointLoss
from riata.network.sparse import SparseTable
from riata.network.stacked import Weights
from riata.prox import Groups
from riata.solver.problem import Layout, Problem

__all__ = ["Stack", "batches", "stackable"]

_SHARE = 0.4  # of the free memory of a device, for the buffers of problems that are solved side by side
_LEAST = 0.5  # share of the columns of the widest problem that the narrowest has,
_NARROW = 128  # unless the widest has no more than so many

Ids = NDArray[np.int64]


def stackable(problems: Sequence[Problem]) -> bool:
    """Whether problems differ in nothing but their samples, columns, weights and M."""
    first = problems[0]
    same = ("network", "loss", "gamma", "dropout", "adaptive")
    alone = (
        first.ranks is not None
        or first.feed is not None
        or first.is_random
        or first.noise is not None
        or isinstance(first.loss, JointLoss)
        or not first.network.recordable
    )
    return not alone and all(
        all(getattr(each, name) == getattr(first, name) for name in same)
        and not isinstance(each.X, SparseTable)
        and each.X.device == first.X.device
        and each.X.dtype == first.X.dtype
        and (each.val_weights is None) == (first.val_weights is None)
        and each.target.shape[-1] == first.target.shape[-1]
        for each in problems
    )


def batches(
    problems: Sequence[Problem], kinds: Sequence[Hashable], widths: Sequence[int] | None = None
) -> list[list[int]]:
    """Return which problems to solve side by side: of one kind, of similar width, and as many as memory allows.

    Parameters
    ----------
    problems : sequence of Problem
        Each with one network.
    kinds : sequence
        What else a problem must have in common with others to be solved beside them.
    widths : sequence of int, optional
        How many columns of each problem are to be solved for; all if not given.

    Returns
    -------
    list of lists of int
        Positions, each problem once.
    """
    widths = [problem.n_columns for problem in problems] if widths is None else widths
    found: list[list[int]] = []
    left, order = 0.0, {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    for i in sorted(range(len(problems)), key=lambda i: (order[kinds[i]], -widths[i], i)):
        first = found[-1][0] if found else i
        size = _bytes(problems[first], widths[first])
        similar = kinds[i] == kinds[first] and (widths[first] <= _NARROW or widths[i] >= _LEAST * widths[first])
        if found and similar and size <= left and stackable([problems[first], problems[i]]):
            found[-1].append(i)
        else:
            found.append([i])
            size = _bytes(problems[i], widths[i])
            left = _SHARE * _free(problems[i].X.device)
        left -= size
    return found


def _bytes(problem: Problem, d: int) -> float:
    """Return about how much memory a problem of d columns takes: twice its samples, the buffers of passes and of weights."""
    n, network = problem.n_samples, problem.network
    hidden = network.n_hidden or network.width
    entries = 2 * n * d + 4 * n * (network.width + hidden) + 6 * (d * network.width + network.n_upper)
    return float(entries * problem.X.element_size())


def _free(device: torch.device) -> float:
    """Return how many bytes are free."""
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else float(2**31)


class Stack:
    """R problems of one network each as one problem.

    The i-th group of every problem has the same place. A group that has fewer columns in one problem than in another, and a
    group that a problem lacks, is filled with columns of zeros, whose weights stay zero. A problem with fewer samples than
    others is filled with copies of its first, of weight zero.

    Parameters
    ----------
    problems : sequence of Problem
        Each with one network, and such that ``stackable`` is true.
    """

    def __init__(self, problems: Sequence[Problem]):
        groups = [_ids(problem) for problem in problems]
        sizes = [np.bincount(own, minlength=max(map(_number, groups))) for own in groups]
        widths = np.max(sizes, axis=0)
        ids = np.repeat(np.arange(len(widths)), widths)
        places = [_places(own, widths) for own in groups]
        columns, source = np.full((2, len(problems), len(ids)), -1)
        for r, (problem, place) in enumerate(zip(problems, places, strict=True)):
            columns[r, place] = np.arange(len(place))
            source[r, place] = problem.source
        self._places = [torch.from_numpy(place) for place in places]
        self.problem = self._problem(problems, Layout(columns, source), ids)

    def _problem(self, problems: Sequence[Problem], layout: Layout, ids: Ids) -> Problem:
        first, R = problems[0], len(problems)
        n_fit = max(problem.n_fit for problem in problems)
        n_val = max(problem.n_samples - problem.n_fit for problem in problems)
        n, d = n_fit + n_val, len(ids)
        X, target = first.like.new_zeros(R, n, d), first.target.new_zeros(R, n, first.target.shape[-1])
        weights, costs = X.new_zeros(R, n), X.new_ones(R, d)
        for r, problem in enumerate(problems):
            rows = _rows(problem, n_fit, n_val).to(X.device)
            place = self._places[r].to(X.device)
            assert isinstance(problem.X, Tensor)
            X[r, :, place] = problem.X[rows]
            target[r] = problem.target[rows]
            costs[r, place] = problem.costs
            weights[r, : problem.n_fit] = problem.weights[0]
        val_weights = None
        if first.val_weights is not None:
            val_weights = torch.zeros_like(weights)
            for r, problem in enumerate(problems):
                assert problem.val_weights is not None
                held_out = problem.val_weights[0, problem.n_fit :]
                val_weights[r, : problem.n_fit] = problem.val_weights[0, : problem.n_fit]
                val_weights[r, n_fit : n_fit + len(held_out)] = held_out
        alone = d == len(np.unique(ids))
        return replace(
            first,
            X=X,
            target=target,
            weights=weights[:, :n_fit].contiguous(),
            val_weights=val_weights,
            M=torch.cat([problem.M for problem in problems]),
            costs=costs,
            groups=Groups(None if alone else torch.from_numpy(ids).to(X.device), d),
            embedded=ids,
            layout=layout,
        )

    def weights(self, each: Sequence[Weights]) -> Weights:
        """Return the weights of all networks, given those of each on its own columns, (1, ·, o + K)."""
        like = each[0].rows
        rows = like.new_zeros(len(each), self.problem.n_columns, like.shape[-1])
        for r, own in enumerate(each):
            rows[r, self._places[r].to(like.device)] = own.rows[0]
        return Weights(rows, torch.cat([own.upper for own in each]))


def _ids(problem: Problem) -> Ids:
    """Return the group of each column, numbered from 0 on without gaps."""
    index = problem.groups.index
    return np.arange(problem.n_columns) if index is None else index.cpu().numpy()


def _number(ids: Ids) -> int:
    return int(ids.max(initial=-1)) + 1


def _places(ids: Ids, widths: Ids) -> Ids:
    """Return the place of each column where group g takes ``widths[g]`` columns."""
    order = np.argsort(ids, kind="stable")
    sizes = np.bincount(ids, minlength=len(widths))
    within = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(ids), dtype=np.int64)
    places[order] = (np.cumsum(widths) - widths)[ids[order]] + within
    return places


def _rows(problem: Problem, n_fit: int, n_val: int) -> Tensor:
    """Return the positions of a problem's samples among so many, those to train on first; 0 for those that it lacks."""
    rows = torch.zeros(n_fit + n_val, dtype=torch.long)
    rows[: problem.n_fit] = torch.arange(problem.n_fit)
    rows[n_fit : n_fit + problem.n_samples - problem.n_fit] = torch.arange(problem.n_fit, problem.n_samples)
    return rows
