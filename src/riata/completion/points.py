"""From a table to a trained network as a point of a path, and what a point is worth on entries held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from riata.completion import soft_impute
from riata.completion.hiding import FILLS, Completer, Gaps, Round, Trained, fill, train
from riata.losses import ReconstructionError
from riata.network.stacked import Network, Pass, SparseWeights, Weights
from riata.path.points import Path, Point, mean_and_error
from riata.path.solve import points
from riata.prox import Groups
from riata.solver.problem import Problem
from riata.solver.stopping import Stopping

__all__ = ["FilledPoint", "Training", "complete", "judge", "judged_point", "row_weights"]

Floats = NDArray[np.float64]
_ROWS = 2048  # copies of the table, each with other entries hidden, are made up to about so many rows
_COPIES = 8  # but not more than this
_TRIED = (4, 8, 16)  # numbers of fills from the columns of a point


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
    adaptive: float
    hide: float
    learning_rate: float
    stopping: Stopping
    seeds: tuple[int, int]  # of entries to hide, and of the weights to start from
    on_round: Callable[[Round], None] | None = None
    keep: bool = False  # what an interrupt leaves

    def run(self, inputs: NDArray[np.int64], like: Point | None = None) -> tuple[Completer, Trained]:
        """Train on some columns, given by position, from the linear model or from the weights of a point with these."""
        completer = self._completer(inputs)
        start = self._start(inputs) if like is None else _weights(like.weights, self.gaps.values)
        completer.active_set = False  # a column that says nothing linearly starts at zero, and must be able to come in
        trained = train(completer, start, self.stopping, self.on_round, keep=self.keep)
        completer.active_set = True
        return completer, trained

    def point(self, completer: Completer, trained: Trained, lambda_: float = 0.0) -> FilledPoint:
        """Return what was trained as a point of a path."""
        zero = trained.weights.upper.new_zeros(1)
        solution = completer.minimise(trained.weights, zero, Stopping(0, None, 0.0))
        point = points(completer.problem, solution, np.array([lambda_]), np.zeros(1, dtype=np.int64))[0]
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
        filled = FilledPoint(**vars(point), n_fills=trained.n_fills)
        return judged_point(filled, self.network, self.gaps, (trained.n_fills,))

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
            start.rows[..., : self.network.n_outputs] = torch.from_numpy(soft_impute.regressions(self.Q, inputs)).to(
                values
            )
            layers = self.network.layers(start)
            layers.matrices[-1].zero_()
            layers.biases[-1].zero_()
        low, high = self.gaps.limits
        start.rows[:, (low == high)[torch.from_numpy(inputs).to(values.device)]] = 0
        return start


@dataclass(frozen=True, eq=False)
class FilledPoint(Point):
    """A point of a path, and how gaps are filled from its columns.

    Attributes
    ----------
    n_fills : int
        How many times gaps are filled with the network's output.
    filler : SparseWeights or None
        The network that does so, where it is not the point's own: that of the dense model, to which all but the selected
        columns are gaps.
    """

    n_fills: int = FILLS
    filler: SparseWeights | None = None


@torch.inference_mode()
def complete(
    network: Network,
    point: FilledPoint,
    gaps: Gaps,
    limits: tuple[Tensor, Tensor],
    see: Callable[[int, Tensor], None] | None = None,
) -> Tensor:
    """Return what is filled in for every entry of a table, (n, d), on the table's device and precision.

    Of the table only the point's columns are looked at; ``see`` is called as in :func:`fill`.
    """
    values, weights = gaps.values, point.weights if point.filler is None else point.filler
    layers = network.layers(_weights(weights, values))
    forward = Pass(network, 1, len(values), values)
    shown = gaps.known & torch.from_numpy(point.selected).to(values.device)
    columns = torch.from_numpy(weights.features).to(values.device)
    return fill(lambda X: forward.forward(layers, X)[0], values, shown, columns, limits, point.n_fills, see)


def judge(path: Path, network: Network, gaps: Gaps, dense: FilledPoint) -> Path:
    """Return the path with the dense model's network in place of each point's own, and its error on the validation entries.

    The penalty that finds the columns shrinks what is made of them. The dense network is used to gaps anywhere, and does much
    better with the same columns.
    """
    known: dict[bytes, FilledPoint] = {}
    judged = []
    for point in path:
        key = point.selected.tobytes()
        if key not in known:
            filled = FilledPoint(**vars(point), n_fills=dense.n_fills, filler=dense.weights)
            known[key] = judged_point(filled, network, gaps, _TRIED)
        same = known[key]
        found = {name: getattr(same, name) for name in ("val_loss", "val_loss_se", "val_losses", "n_fills", "filler")}
        judged.append(FilledPoint(**{**vars(point), **found}))
    return Path(judged, multiplier=path.multiplier, val_weights=row_weights(gaps))


def row_weights(gaps: Gaps) -> Floats | None:
    """Return the share of the validation entries that each row with any holds; None where there are none."""
    _, weights = _per_row(gaps)
    return weights if len(weights) else None


def judged_point(point: FilledPoint, network: Network, gaps: Gaps, tried: tuple[int, ...]) -> FilledPoint:
    """Return the point with the number of fills, of some, that has the lowest error on the validation entries, and that error.

    It is the mean over entries, with its standard error over rows.
    """
    counts, weights = _per_row(gaps)
    if not len(weights):
        return point
    there, seen = ~gaps.judged.isnan(), {}

    def see(i: int, output: Tensor) -> None:
        if i in tried:
            sums = torch.where(there, output - gaps.judged, 0.0).square().sum(1).cpu().double().numpy()
            seen[i] = sums[counts > 0] / counts[counts > 0]

    complete(network, replace(point, n_fills=max(tried)), gaps, gaps.limits, see)
    n_fills = min(seen, key=lambda i: float(seen[i] @ weights))
    mean, error = mean_and_error(seen[n_fills], weights)
    return replace(point, n_fills=n_fills, val_loss=mean, val_loss_se=error, val_losses=seen[n_fills])


def _per_row(gaps: Gaps) -> tuple[Floats, Floats]:
    """Return the number of validation entries of each row and, for the rows that have any, their share of all."""
    counts = (~gaps.judged.isnan()).sum(1).cpu().double().numpy()
    return counts, counts[counts > 0] / max(counts.sum(), 1)


def _weights(sparse: SparseWeights, like: Tensor) -> Weights:
    rows = np.concatenate([sparse.skip, sparse.first], axis=1)
    return Weights(*(torch.from_numpy(array)[None].to(like) for array in (rows, sparse.upper)))
