"""Complete a table with gaps: a network that predicts entries it is not shown from those it is.

Taken literally, a network that reconstructs its input learns the identity, and the answer is the initial fill. So an entry is
never input and target at once: before each descent a random share of the known entries is hidden, and these are what is
scored. Hidden entries and gaps alike are filled with the network's own output, several times over; with the linear maps of
:mod:`riata.lowrank` to start from this is the fixed point of Soft-Impute, and the hidden layers bend it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata import lowrank
from riata.losses import ReconstructionError
from riata.network import Network, Pass, Weights
from riata.path import Path, Point, SparseWeights, mean_and_error, points
from riata.problem import Problem
from riata.prox import Groups
from riata.solver import Solution, Solver
from riata.stopping import Mask, Stopping

__all__ = [
    "Completer",
    "FilledPoint",
    "Gaps",
    "Round",
    "Trained",
    "Training",
    "complete",
    "fill",
    "judge",
    "judged_point",
    "row_weights",
    "train",
]

Floats = NDArray[np.float64]
_ROWS = 2048  # copies of the table, each with other entries hidden, are made up to about so many rows
_COPIES = 8  # but not more than this
_PASSES = 3  # over the rows until other entries are hidden
_FILLS = 8  # at most, while training; how many is drawn anew each time, so that the network is right at every stage
_TRIED = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of fills of which the validation entries choose one
_AVERAGE = 0.9  # weights are averaged over about 1 / (1 − this) rounds: entries hidden at random make each one noisy
_EVERY = 3  # rounds between two looks at the validation entries


@dataclass(frozen=True, eq=False)
class Gaps:
    """A table as the networks see it, scaled."""

    values: Tensor  # (n, d), zero where nothing is known
    known: Tensor  # (n, d) bool: entries to learn from
    judged: Tensor  # (n, d): values of the entries to validate on, NaN elsewhere

    @property
    def limits(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest known value of each column; a column without any is held at zero."""
        low = torch.where(self.known, self.values, torch.inf).amin(0)
        high = torch.where(self.known, self.values, -torch.inf).amax(0)
        return torch.where(low <= high, low, 0.0), torch.where(low <= high, high, 0.0)


def fill(
    run: Callable[[Tensor], Tensor],
    values: Tensor,
    shown: Tensor,
    columns: Tensor,
    limits: tuple[Tensor, Tensor],
    n_fills: int,
    see: Callable[[int, Tensor], None] | None = None,
) -> Tensor:
    """Fill what is not shown with the output for the table so far, so many times.

    Parameters
    ----------
    run : callable
        The network: (n, k) entries of the columns that are inputs -> (n, d) all columns. May use its output again.
    values, shown : Tensor of shape (n, d)
        The table, and which of its entries are there.
    columns : Tensor of shape (k,)
        Positions of the inputs.
    limits : pair of Tensor of shape (d,)
        The lowest and the highest value to fill in.
    n_fills : int
        How many times. The first fill is the mean of what is shown of a row's inputs.
    see : callable, optional
        Called after each fill with its number and all outputs.

    Returns
    -------
    Tensor of shape (n, d)
        The last output.
    """
    inputs, there = values[:, columns], shown[:, columns]
    means = torch.where(there, inputs, 0.0).sum(1, keepdim=True) / there.sum(1, keepdim=True).clamp_min(1)
    output = torch.clamp(means, *limits)  # (n, d)
    for i in range(n_fills):
        output = run(torch.where(there, inputs, output[:, columns])).clamp(*limits)
        if see is not None:
            see(i + 1, output)
    return output


class Completer(Solver):
    """A solver that hides other entries of the table whenever it starts, and fills them with the network it starts from.

    Parameters
    ----------
    problem : Problem
        Of one replica; its rows are copies of the table's, and its X and target are written to.
    gaps : Gaps
        The table.
    columns : Tensor of shape (k,)
        Positions in the table of the columns of X.
    hide : float
        Share of the known entries to hide; with 0 every known entry is both input and target.
    draw : torch.Generator
        Source of randomness.
    learning_rate : float
        As for the solver.
    """

    def __init__(
        self,
        problem: Problem,
        gaps: Gaps,
        columns: Tensor,
        *,
        hide: float,
        draw: torch.Generator,
        learning_rate: float = 1e-3,
    ):
        super().__init__(problem, learning_rate=learning_rate, draw=draw)
        self.gaps = gaps
        self.columns = columns
        self.hide = hide
        self._forward = Pass(problem.network, 1, len(problem.X), problem.X)
        one_copy = len(problem.X) == len(gaps.values)
        self._whole = self._forward if one_copy else Pass(problem.network, 1, len(gaps.values), problem.X)

    def minimise(self, start: Weights, lambda_: Tensor, stopping: Stopping, frozen: Mask | None = None) -> Solution:
        """Hide other entries, then minimise."""
        self._hide(start)
        return super().minimise(start, lambda_, stopping, frozen)

    @torch.inference_mode()
    def completions(self, weights: Weights, n_fills: int, see: Callable[[int, Tensor], None] | None = None) -> Tensor:
        """Return the output for the table with everything shown that is known, (n, d)."""
        known = self.gaps.known
        return self._filled(weights, self._whole, self.gaps.values, known, n_fills, see)

    @torch.inference_mode()
    def _hide(self, weights: Weights) -> None:
        problem, gaps = self.problem, self.gaps
        n, d = gaps.values.shape
        copies = len(problem.X) // n
        chance = torch.rand((copies, n, d), generator=self.draw, device=gaps.values.device)
        hidden = (chance < self.hide) & gaps.known
        shown = (gaps.known & ~hidden).flatten(0, 1)
        values = gaps.values.repeat(copies, 1)
        scored = hidden if self.hide else gaps.known.expand_as(hidden)
        problem.target.copy_(torch.where(scored, gaps.values, torch.nan).flatten(0, 1))
        n_fills = int(torch.randint(1, _FILLS + 1, (1,), generator=self.draw, device=gaps.values.device))
        output = self._filled(weights, self._forward, values, shown, n_fills if self.hide else 0)
        torch.where(shown[:, self.columns], values[:, self.columns], output[:, self.columns], out=problem.X)
        if self._descent is not None and self._descent.problem is not problem:
            self._descent.problem.X.copy_(problem.X[:, self._features])
        self._known = None  # what is known of these weights was true of other inputs

    def _filled(
        self,
        weights: Weights,
        forward: Pass,
        values: Tensor,
        shown: Tensor,
        n_fills: int,
        see: Callable[[int, Tensor], None] | None = None,
    ) -> Tensor:
        used = self.problem.selected(weights.rows)[0].nonzero().squeeze(-1)
        layers = self.problem.network.layers(Weights(weights.rows[:, used], weights.upper))
        limits = self.gaps.limits
        return fill(lambda X: forward.forward(layers, X)[0], values, shown, self.columns[used], limits, n_fills, see)


class Round(NamedTuple):
    """What training saw at one look."""

    n_iters: int  # passes over the table's copies so far
    loss: float  # mean squared error on the entries hidden last, after the passes that learnt from them
    val_error: float  # mean squared error on the validation entries, of averaged weights; NaN without any
    n_fills: int  # that gave this error
    change: float  # relative change of the filled entries since the last look


class Trained(NamedTuple):
    """Where training ended."""

    weights: Weights
    n_fills: int
    history: list[Round]
    interrupted: bool


@torch.inference_mode()
def train(
    completer: Completer, start: Weights, stopping: Stopping, on_round: Callable[[Round], None] | None = None
) -> Trained:
    """Hide, descend a little, and again, until validation entries are predicted no better or fills change no longer.

    The weights returned are an average over the last rounds, the one of lowest validation error; without validation entries
    the last one. An interrupt from the keyboard ends training with the best so far.
    """
    weights = completer.feasible(start)
    average, best = _copy(weights), _copy(weights)
    n_fills, lowest, since, passes, loss = _FILLS, np.inf, 0, 0, float("nan")
    history: list[Round] = []
    filled = completer.gaps.values[~completer.gaps.known]
    try:
        while True:
            error, tried, output = _look(completer, average, 4 * n_fills if passes else _TRIED[-1])
            change, filled = _relative(output, filled), output
            history.append(Round(passes, loss, error, tried, change))
            if on_round is not None:
                on_round(history[-1])
            if not error >= lowest:  # NaN, too, is taken: the last one
                best, n_fills, lowest, since = _copy(average), tried, error, passes
            waited = stopping.patience is not None and passes - since >= stopping.patience
            if passes >= stopping.n_iters or waited or (passes and change <= stopping.tol):
                return Trained(best, n_fills, history, interrupted=False)
            until = min(passes + _EVERY * _PASSES, stopping.n_iters)
            while passes < until:
                stay = Stopping(min(_PASSES, until - passes), None, 0.0)
                solution = completer.minimise(weights, weights.upper.new_zeros(1), stay)
                weights, loss = solution.weights, float(solution.look.loss[0])
                average.rows.lerp_(weights.rows, 1 - _AVERAGE)
                average.upper.lerp_(weights.upper, 1 - _AVERAGE)
                passes += stay.n_iters
    except KeyboardInterrupt:
        if not history:
            raise
        warnings.warn(f"interrupted: training ends after {passes} passes", RuntimeWarning, stacklevel=2)
        return Trained(best, n_fills, history, interrupted=True)


def _look(completer: Completer, weights: Weights, most: int) -> tuple[float, int, Tensor]:
    """Return the lowest error on the validation entries, the number of fills that gives it, and what is then filled in."""
    gaps = completer.gaps
    there = ~gaps.judged.isnan()
    seen: dict[int, tuple[float, Tensor]] = {}

    def see(i: int, output: Tensor) -> None:
        if i in _TRIED:
            error = float((output[there] - gaps.judged[there]).square().mean())  # NaN of nothing
            seen[i] = error, output[~gaps.known]

    judges = bool(there.any())
    completer.completions(weights, max(_FILLS, min(most, _TRIED[-1])) if judges else _FILLS, see)
    chosen = min(seen, key=lambda i: seen[i][0]) if judges else _FILLS
    return seen[chosen][0], chosen, seen[chosen][1]


def _relative(new: Tensor, old: Tensor) -> float:
    """Change of filled entries relative to their size; NaN, which is under no tolerance, where there are none."""
    size = float(new.square().sum())
    return float((new - old).square().sum() / size) ** 0.5 if size > 0 else float("nan")


def _weights(sparse: SparseWeights, like: Tensor) -> Weights:
    rows = np.concatenate([sparse.skip, sparse.first], axis=1)
    return Weights(*(torch.from_numpy(array)[None].to(like) for array in (rows, sparse.upper)))


def _copy(weights: Weights) -> Weights:
    return Weights(weights.rows.clone(), weights.upper.clone())


@dataclass(frozen=True, eq=False)
class Training:
    """All that it takes to train a network that knows some columns of a table and predicts all of them."""

    network: Network
    gaps: Gaps
    Q: Floats | None  # of Soft-Impute, see riata.lowrank; None to start at random
    M: float
    costs: Floats  # (d,)
    ids: NDArray[np.int64] | None  # of groups
    gamma: float
    gamma_skip: float
    adaptive: float
    hide: float
    learning_rate: float
    stopping: Stopping
    seeds: tuple[int, int]  # of entries to hide, and of the weights to start from
    on_round: Callable[[Round], None] | None = None

    def run(self, inputs: NDArray[np.int64], like: Point | None = None) -> tuple[Completer, Trained]:
        """Train on some columns, given by position, from the linear model or from the weights of a point with these."""
        completer = self._completer(inputs)
        start = self._start(inputs) if like is None else _weights(like.weights, self.gaps.values)
        completer.active_set = False  # a column that says nothing linearly starts at zero, and must be able to come in
        trained = train(completer, start, self.stopping, self.on_round)
        completer.active_set = True
        return completer, trained

    def point(self, completer: Completer, trained: Trained, lambda_: float = 0.0) -> FilledPoint:
        """Return what was trained as a point of a path."""
        zero = trained.weights.upper.new_zeros(1)
        solution = completer.minimise(trained.weights, zero, Stopping(0, None, 0.0))
        point = points(completer, solution, np.array([lambda_]), np.zeros(1, dtype=np.int64))[0]
        features = completer.columns.cpu().numpy()[point.weights.columns]
        selected = np.zeros(len(self.costs), dtype=bool)
        selected[features] = True
        point = replace(
            point,
            selected=selected,
            n_selected=len(features),
            n_iters=trained.history[-1].n_iters,
            weights=replace(point.weights, columns=features, features=features),
        )
        return judged_point(point, self.network, self.gaps, trained.n_fills)

    def _completer(self, inputs: NDArray[np.int64]) -> Completer:
        """Pose the problem: copies of the table's rows, whose entries the completer fills in."""
        values, known = self.gaps.values, self.gaps.known
        n, d = values.shape
        n_rows = n * int(np.clip(np.ceil(_ROWS / n), 1, _COPIES))
        columns = torch.from_numpy(inputs).to(values.device)
        ids = None if self.ids is None else torch.from_numpy(self.ids[inputs]).to(values.device)
        problem = Problem(
            network=self.network,
            loss=ReconstructionError(max(float(known.sum()) * (self.hide or 1.0) / n, 1e-12)),
            X=values.new_zeros(n_rows, len(inputs)),
            target=values.new_full((n_rows, d), torch.nan),
            weights=values.new_full((1, n_rows), 1 / n_rows),
            val_weights=None,
            M=values.new_full((1,), self.M),
            costs=torch.from_numpy(self.costs[inputs]).to(values),
            groups=Groups(ids, len(inputs)),
            gamma=self.gamma,
            gamma_skip=self.gamma_skip,
            adaptive=self.adaptive,
        )
        draw = torch.Generator(values.device).manual_seed(self.seeds[0])
        return Completer(problem, self.gaps, columns, hide=self.hide, draw=draw, learning_rate=self.learning_rate)

    def _start(self, inputs: NDArray[np.int64]) -> Weights:
        """Weights whose linear part is that of Soft-Impute and whose hidden layers, drawn at random, add nothing yet.

        A column that is constant as far as it is known says nothing, and starts outside the model.
        """
        values = self.gaps.values
        start = self.network.init(len(inputs), [self.seeds[1]], values.dtype, values.device)
        if self.Q is not None:
            start.rows[..., : self.network.n_outputs] = torch.from_numpy(lowrank.regressions(self.Q, inputs)).to(values)
            layers = self.network.layers(start)
            layers.matrices[-1].zero_()
            layers.biases[-1].zero_()
        low, high = self.gaps.limits
        start.rows[:, (low == high)[torch.from_numpy(inputs).to(values.device)]] = 0
        return start


@dataclass(frozen=True, eq=False)
class FilledPoint(Point):
    """A point whose network is applied several times over.

    Attributes
    ----------
    n_fills : int
        How many times gaps are filled with the network's output.
    """

    n_fills: int = _FILLS


@torch.inference_mode()
def complete(network: Network, point: FilledPoint, gaps: Gaps, limits: tuple[Tensor, Tensor]) -> Tensor:
    """Return what the network of a point says of every entry of a table, (n, d), on the table's device and precision."""
    values = gaps.values
    layers = network.layers(_weights(point.weights, values))
    forward = Pass(network, 1, len(values), values)
    columns = torch.from_numpy(point.weights.features).to(values.device)
    return fill(lambda X: forward.forward(layers, X)[0], values, gaps.known, columns, limits, point.n_fills)


def judge(path: Path, network: Network, gaps: Gaps, n_fills: int) -> Path:
    """Return the path with every point's error on the validation entries."""
    judged = [judged_point(point, network, gaps, n_fills) for point in path]
    return Path(judged, multiplier=path.multiplier, val_weights=row_weights(gaps))


def row_weights(gaps: Gaps) -> Floats | None:
    """Return the share of the validation entries that each row with any holds; None where there are none."""
    _, weights = _per_row(gaps)
    return weights if len(weights) else None


def judged_point(point: Point, network: Network, gaps: Gaps, n_fills: int) -> FilledPoint:
    """Return the point with its error on the validation entries: the mean over entries, with its standard error over rows."""
    filled = FilledPoint(**vars(point), n_fills=n_fills)
    counts, weights = _per_row(gaps)
    if not len(weights):
        return filled
    there = ~gaps.judged.isnan()
    output = complete(network, filled, gaps, gaps.limits)
    sums = torch.where(there, output - gaps.judged, 0.0).square().sum(1).cpu().double().numpy()
    losses = sums[counts > 0] / counts[counts > 0]
    mean, error = mean_and_error(losses, weights)
    return replace(filled, val_loss=mean, val_loss_se=error, val_losses=losses)


def _per_row(gaps: Gaps) -> tuple[Floats, Floats]:
    """Return the number of validation entries of each row and, for the rows that have any, their share of all."""
    counts = (~gaps.judged.isnan()).sum(1).cpu().double().numpy()
    return counts, counts[counts > 0] / max(counts.sum(), 1)
