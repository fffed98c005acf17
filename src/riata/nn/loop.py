"""The path of any model: train dense, then raise λ step by step, each time from where the last ended."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from riata import check
from riata.network.stacked import SparseWeights
from riata.nn.hierarchy import Hierarchy, hier_prox_, hierarchies
from riata.nn.modes import evaluating, kept_modes
from riata.nn.points import ModulePoint
from riata.nn.steps import HeavyBall
from riata.path.grid import Grid, Stride
from riata.path.points import Path, mean_and_error
from riata.progress import PathProgress

__all__ = ["path"]

Floats = NDArray[np.float64]
_EARLY = 1e-3  # share of the λ that keeps every unit out, where a path begins unless that is too late
_SOONER, _TRIALS = 4.0, 20  # by how much to begin sooner then, and how often
_FEW = 25  # one in so many units may leave at the first λ
_OUT = 1e30  # λ of units that are to stay out


def path(
    model: nn.Module,
    loss: Callable[[Any, Any], Tensor],
    data: Iterable[Any],
    *,
    val: Iterable[Any] | None = None,
    M: float = 10.0,
    lambda_start: float | None = None,
    lambda_seq: Sequence[float] | None = None,
    path_multiplier: float = 1.05,
    gamma: float = 1e-4,
    epochs: tuple[int, int] = (50, 3),
    patience: int = 10,
    optimizer: Callable[[Any], Optimizer] | None = None,
    refit: int = 0,
    until: int = 0,
    on_interrupt: str = "raise",
    verbose: int = 0,
) -> Path:
    """Follow a model from dense to empty: train it, then raise λ by and by, each time from the weights before.

    Parameters
    ----------
    model : Module
        A model with a :class:`LassoInput`, a :class:`SparseUnits`, or any other :class:`Hierarchy` as an attribute
        ``hierarchy`` of it or of one of its parts. It is trained in place, and ends where the path does.
    loss : callable
        ``loss(output, target)``: one number for each row, (n,), or their mean. With one for each row the standard error of
        a validation loss is known, which ``pick(path, "1se")`` needs; of means only those of batches are. Of more axes the
        mean is taken.
    data : DataLoader or other iterable
        Batches: ``(input, target)``, ``(input, ..., target)``, or the input alone, which is then the target as well. Must give
        all rows anew each time it is gone through.
    val : DataLoader or other iterable, optional
        The same, to validate on.
    M : float, default=10
        Hierarchy coefficient.
    lambda_start : float, optional
        First λ after the dense model; found automatically by default.
    lambda_seq : sequence of float, optional
        The λ to visit, increasing, instead of an automatic grid.
    path_multiplier : float, default=1.05
        Smallest ratio of one λ to the last; strides are longer where hardly any unit leaves.
    gamma : float, default=1e-4
        L2 penalty on all other weights with two axes or more. Without it the penalty on the pair could be made as small as one
        likes by larger weights before or behind it.
    epochs : pair of int, default=(50, 3)
        Passes over the data: at most, for the dense model, and at every other λ.
    patience : int, default=10
        Passes without a better validation loss after which the dense model, or one that is trained again, is left. Its best
        weights are kept.
    optimizer : callable, optional
        Makes an optimizer from parameters, such as ``lambda ps: torch.optim.Adam(ps, lr=1e-3)``, of a kind that
        :func:`hier_prox_` knows. By default :class:`HeavyBall`.
    refit : int, default=0
        Passes over the data for which each new selection is trained again without a penalty; the point has those weights and
        losses then. The path goes on from the penalised ones. 0 for none.
    until : int, default=0
        End when at most so many units are left.
    on_interrupt : {"raise", "keep"}, default="raise"
        Whether an interrupt from the keyboard is passed on, or ends the path with a warning and the points so far.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Path
        Of :class:`ModulePoint`.
    """
    check.number("M", M, high=1e6)
    check.number("gamma", gamma)
    check.one_of("on_interrupt", on_interrupt, ("raise", "keep"))
    passes = check.per_stage("epochs", epochs, 1)
    for name, value in (("refit", refit), ("until", until)):
        check.whole(name, value)
    start = None if lambda_start is None else check.number("lambda_start", lambda_start, above=True)
    multiplier = check.number("path_multiplier", path_multiplier, 1.0, above=True)
    grid = Grid(multiplier, start, check.lambda_seq(lambda_seq))
    trainer = _Trainer(model, loss, data, val, M, gamma, check.whole("patience", patience, 1), optimizer)
    walk = _Walk(trainer, grid, passes[1], refit, until)
    with kept_modes(model), PathProgress(trainer.n_units, until=until, shown=bool(verbose)) as progress:
        try:
            walk.go(passes[0], progress)
        except KeyboardInterrupt:
            if on_interrupt == "raise" or not walk.points:
                raise
            last = walk.points[-1]
            warnings.warn(
                f"interrupted: the path ends at lambda_={last.lambda_:.4g} with {last.n_selected} units",
                RuntimeWarning,
                stacklevel=2,
            )
    return Path(walk.points, multiplier=multiplier, val_weights=walk.val_weights, visited=walk.visited)


class _Trainer:
    """Trains one model."""

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Any, Any], Tensor],
        data: Iterable[Any],
        val: Iterable[Any] | None,
        M: float,
        gamma: float,
        patience: int,
        make: Callable[[Any], Optimizer] | None,
    ):
        self.model, self.loss, self.data, self.val = model, loss, data, val
        self.M, self.gamma, self.patience, self.make = M, gamma, patience, make
        self.pairs = hierarchies(model)
        self.n_units = sum(pair.n_units for pair in self.pairs)
        own = {id(w) for pair in self.pairs for w, _ in pair.weights()}
        if not all(w.requires_grad for pair in self.pairs for w, _ in pair.weights()):
            raise ValueError(
                "a weight of a hierarchy has requires_grad=False: it must be trained, or be in no hierarchy"
            )
        if not any(bool((pair.costs > 0).any()) for pair in self.pairs):
            raise ValueError("all costs are 0: no unit would ever leave; give some of them a price")
        self._asleep = [part for part in model.modules() if model.training and not part.training]
        self._decayed = [w for w in model.parameters() if w.ndim > 1 and id(w) not in own and w.requires_grad]
        parameters = [w for w in model.parameters() if w.requires_grad]
        self.optimizer = HeavyBall(parameters, hierarchies=self.pairs) if make is None else make(parameters)

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Which units are in."""
        return torch.cat([pair.selected for pair in self.pairs]).cpu().numpy()

    def train(self, lambda_: Tensor | float) -> None:
        """Pass once over the data."""
        self._wake()
        for inputs, target in self._batches(self.data):
            self.optimizer.zero_grad()
            objective = self._losses(self.model(*inputs), target).mean()
            if self.gamma:
                objective = objective + self.gamma * sum(w.square().sum() for w in self._decayed)
            if not bool(objective.isfinite()):
                raise ValueError(
                    "the loss is no longer finite: scale the inputs, or give an optimizer with a smaller lr"
                )
            objective.backward()
            self.optimizer.step()
            for pair, price in zip(self.pairs, self._split(lambda_), strict=True):
                hier_prox_(pair, price, self.M, self.optimizer)

    def _wake(self) -> None:
        """Go to training mode, but for parts that were in evaluation mode by themselves."""
        self.model.train()
        for part in self._asleep:
            part.training = False

    def train_dense(self, n_epochs: int, lambda_: Tensor | float = 0.0) -> int:
        """Train without a penalty; with rows to validate on, until they get no better, and back to the best weights.

        Returns the number of passes.
        """
        best, kept, since, n_passes = float("inf"), None, 0, 0
        while n_passes < n_epochs and since < self.patience:
            self.train(lambda_)
            n_passes += 1
            if self.val is None:
                continue
            loss = _mean(self.losses(self.val))
            since = 0 if loss < best else since + 1
            if loss < best:
                best, kept = loss, self.snapshot()
        if kept is not None:
            self.restore(kept)
        return n_passes

    @torch.no_grad()
    def losses(self, data: Iterable[Any]) -> Floats:
        """Return losses and weights, (·, 2): of all rows; of all batches, by their size, where ``loss`` gives means."""
        found = []
        with evaluating(self.model):
            for inputs, target in self._batches(data):
                losses = self._losses(self.model(*inputs), target).double().cpu()
                n = len(inputs[0]) if losses.ndim == 0 else 1
                found.append(torch.stack([losses.reshape(-1), torch.full_like(losses.reshape(-1), n)], 1))
        return torch.cat(found).numpy()

    def snapshot(self) -> tuple[Any, Any]:
        return copy.deepcopy(self.model.state_dict()), copy.deepcopy(self.optimizer.state_dict())

    def restore(self, kept: tuple[Any, Any]) -> None:
        self.model.load_state_dict(kept[0])
        self.optimizer.load_state_dict(copy.deepcopy(kept[1]))

    def refitted(self, n_epochs: int) -> tuple[_Trainer, int]:
        """Train a copy of the model again on the units that are in, without a penalty; also return the number of passes."""
        other = _Trainer(
            copy.deepcopy(self.model), self.loss, self.data, self.val, self.M, self.gamma, self.patience, self.make
        )
        out = torch.from_numpy(~self.selected).to(self.pairs[0].skip[0].device)
        return other, other.train_dense(n_epochs, torch.where(out, _OUT, 0.0))

    def highest(self) -> float:
        """Return the λ above which no unit would come in, were all of them out and the other weights as they are."""
        kept = self.snapshot()
        try:
            with torch.no_grad():
                for weight, _ in (each for pair in self.pairs for each in pair.weights()):
                    weight.zero_()
            self._wake()
            self.model.zero_grad()
            n_batches = 0
            for inputs, target in self._batches(self.data):
                self._losses(self.model(*inputs), target).mean().backward()
                n_batches += 1
            return max(self._force(pair) for pair in self.pairs) / n_batches
        finally:
            self.model.zero_grad()
            self.restore(kept)

    def _force(self, pair: Hierarchy) -> float:
        """Return the λ that would just keep the unit out that wants in most, given the gradient."""
        skip, first = (
            torch.cat([pair.rows(w.grad if w.grad is not None else torch.zeros_like(w), axis) for w in weights], -1)
            for weights, axis in zip((pair.skip, pair.first), pair.dims, strict=True)
        )
        force = (skip.norm(dim=-1) + self.M * first.abs().sum(-1)) / pair.costs.to(skip)
        return float(torch.where(pair.costs.to(skip) > 0, force, 0.0).max())

    def _split(self, lambda_: Tensor | float) -> Sequence[Tensor | float]:
        """Return λ for each hierarchy, given one number, or one for each unit of all of them."""
        if not isinstance(lambda_, Tensor):
            return [lambda_] * len(self.pairs)
        return lambda_.split([pair.n_units for pair in self.pairs])

    def _losses(self, output: Any, target: Any) -> Tensor:
        losses = self.loss(output, target)
        if not isinstance(losses, Tensor):
            raise TypeError(f"loss must return a tensor; got {type(losses).__name__}")
        return losses.flatten(1).mean(-1) if losses.ndim > 1 else losses

    def _batches(self, data: Iterable[Any]) -> Iterator[tuple[Sequence[Any], Any]]:
        """Take batches apart, and bring them to where the model is."""
        device = self.pairs[0].skip[0].device
        empty = True
        for batch in data:
            parts = [batch] if isinstance(batch, Tensor) else batch
            if not isinstance(parts, list | tuple) or not parts:
                raise TypeError(
                    f"a batch must be a tensor or a sequence (input, ..., target) of them; got {type(batch).__name__}"
                )
            moved = [part.to(device) if isinstance(part, Tensor) else part for part in parts]
            empty = False
            yield (moved, moved[0]) if len(moved) == 1 else (moved[:-1], moved[-1])
        if empty:
            raise ValueError(
                "data, or val, gave no batches: it must give all rows each time it is gone through, as a DataLoader does and a "
                "generator does not"
            )


class _Walk:
    """The way from the dense model to the empty one."""

    def __init__(self, trainer: _Trainer, grid: Grid, n_epochs: int, refit: int, until: int):
        self.trainer, self.grid, self.n_epochs, self.refit = trainer, grid, n_epochs, refit
        self.floor = max(until, int(sum((pair.costs == 0).sum() for pair in trainer.pairs)))
        self.points: list[ModulePoint] = []
        self.visited: list[float] = []
        self.val_weights: Floats | None = None

    def go(self, n_dense: int, progress: PathProgress) -> None:
        """Train the dense model, then raise λ until as few units are left as were asked for."""
        trainer = self.trainer
        self.record(0.0, trainer.train_dense(n_dense), progress)
        kept = trainer.snapshot()
        try:
            stride = Stride(self.grid, np.array([self.first()]))
            for proposed in stride:
                lambda_, before = float(proposed[0]), trainer.selected
                self.stay(lambda_)
                if stride.accepts(int((before ^ trainer.selected).sum()), int(before.sum())):
                    self.record(lambda_, self.n_epochs, progress)
                    kept = trainer.snapshot()
                else:
                    trainer.restore(kept)
                if self.points[-1].n_selected <= self.floor:
                    break
        except KeyboardInterrupt:
            trainer.restore(kept)
            raise

    def first(self) -> float:
        """Return a λ at which hardly any unit leaves."""
        if self.grid.seq is not None:
            return self.grid.seq[0]
        if self.grid.start is not None:
            return self.grid.start
        trainer = self.trainer
        lambda_ = _EARLY * trainer.highest() or 1.0
        kept, full = trainer.snapshot(), int(trainer.selected.sum())
        for _ in range(_TRIALS):
            self.stay(lambda_)
            left = full - int(trainer.selected.sum())
            trainer.restore(kept)
            if left <= full // _FEW:
                break
            lambda_ /= _SOONER
        return lambda_

    def stay(self, lambda_: float) -> None:
        for _ in range(self.n_epochs):
            self.trainer.train(lambda_)

    def record(self, lambda_: float, n_passes: int, progress: PathProgress) -> None:
        """Keep a point; of those before the first departure only the last, and of equal selections one if trained again."""
        trainer = self.trainer
        self.visited += [lambda_] * (lambda_ > 0)
        chosen, points = trainer.selected, self.points
        if points and self.refit and (points[-1].selected == chosen).all():
            return
        again = len(points) > 1 and points[-1].n_selected == points[0].n_selected == chosen.sum()
        if self.refit and lambda_ and chosen.any():
            trainer, n_more = trainer.refitted(self.refit)
            n_passes += n_more
        point = self.point(trainer, lambda_, n_passes, chosen)
        if again and self.grid.seq is None:
            points.pop()
        points.append(point)
        progress(point)

    def point(self, trainer: _Trainer, lambda_: float, n_passes: int, chosen: NDArray[np.bool_]) -> ModulePoint:
        """Look at a model."""
        loss = _mean(trainer.losses(trainer.data))
        val_losses, val_loss, error = None, float("nan"), float("nan")
        if trainer.val is not None:
            val_losses, weights = trainer.losses(trainer.val).T
            self.val_weights = weights / weights.sum()
            val_loss, error = mean_and_error(val_losses, self.val_weights)
        with torch.no_grad():
            penalty = float(sum(pair.penalty(lambda_) for pair in trainer.pairs))
            penalty += self.trainer.gamma * float(sum(w.square().sum() for w in trainer._decayed))
        where = np.flatnonzero(chosen)
        return ModulePoint(
            lambda_=lambda_,
            selected=chosen,
            n_selected=len(where),
            loss=loss,
            val_loss=val_loss,
            val_loss_se=error,
            penalty=penalty,
            objective=loss + penalty,
            n_iters=n_passes,
            weights=SparseWeights(where, where, _skip_norms(trainer)[where], np.empty((len(where), 0)), np.empty(0)),
            val_losses=val_losses,
            state={name: value.detach().cpu().clone() for name, value in trainer.model.state_dict().items()},
        )


def _mean(losses: Floats) -> float:
    """Return the mean of losses with their weights, (·, 2)."""
    return float(np.average(losses[:, 0], weights=losses[:, 1]))


def _skip_norms(trainer: _Trainer) -> Floats:
    """Return the norm of each unit's skip weights as rows of one entry."""
    return torch.cat([pair.skip_rows().norm(dim=-1) for pair in trainer.pairs]).double().cpu().numpy()[:, None]
