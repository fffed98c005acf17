"""The path of a module: train the dense model, then raise λ step by step, each time from the last weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from riata import check
from riata.network.stacked import SparseWeights
from riata.nn.modes import restored_modes
from riata.nn.points import ModulePoint
from riata.nn.training import Trainer, weighted_mean
from riata.path.grid import Grid, Stride
from riata.path.points import Path, mean_and_error
from riata.progress import PathProgress

__all__ = ["path"]

Floats = NDArray[np.float64]


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
    verbose: int = 0,
) -> Path:
    """Solve the path of a module from dense to empty: train it, then raise λ step by step, each time from the last weights.

    Parameters
    ----------
    model : Module
        A model with a :class:`LassoInput`, a :class:`SparseUnits`, or any other :class:`Hierarchy` as an attribute
        ``hierarchy`` of it or of one of its submodules. It is trained in place and ends with the weights of the last λ. After
        an interrupt from the keyboard, which is passed on, it has the weights of the last λ that was complete.
    loss : callable
        ``loss(output, target)``: one number for each sample, (n,), or their mean. The standard error of a validation loss,
        which ``select(path, "1se")`` needs, is computed from samples or, if the loss returns means, from batches. Over
        further axes the mean is taken.
    data : DataLoader or other iterable
        Batches: ``(input, target)``, ``(input, ..., target)``, or the input alone, which is then the target as well. Must give
        all samples each time it is iterated over.
    val : DataLoader or other iterable, optional
        The same, to validate on.
    M : float, default=10
        Hierarchy coefficient.
    lambda_start : float, optional
        First λ after the dense model; found automatically by default.
    lambda_seq : sequence of float, optional
        Increasing sequence of λ, instead of an automatic grid.
    path_multiplier : float, default=1.05
        Smallest ratio of one λ to the last; the ratio grows where hardly any unit leaves.
    gamma : float, default=1e-4
        L2 penalty on all other weights with two axes or more. Without it the penalty on the pair could be made arbitrarily
        small by larger weights in other layers.
    epochs : pair of int, default=(50, 3)
        Epochs: at most, for the dense model, and at every other λ.
    patience : int, default=10
        Epochs without a lower validation loss after which the training of the dense model, or a refit, stops. The weights of
        the lowest validation loss are kept.
    optimizer : callable, optional
        Makes an optimizer from parameters, such as ``lambda ps: torch.optim.Adam(ps, lr=1e-3)``, of a kind that
        :func:`hier_prox_` knows. By default :class:`HeavyBall`.
    refit : int, default=0
        Epochs for which each new selection is refitted without a penalty; the point has those weights and losses then. The
        path continues from the penalised weights. 0 for none.
    until : int, default=0
        End when at most so many units are left.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Path
        Of :class:`ModulePoint`.

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
    >>> found[0].n_selected, found[-1].n_selected
    (6, 0)
    """
    check.number("M", M, high=1e6)
    check.number("gamma", gamma)
    n_epochs = check.per_stage("epochs", epochs, 1)
    for name, value in (("refit", refit), ("until", until)):
        check.whole(name, value)
    start = None if lambda_start is None else check.number("lambda_start", lambda_start, above=True)
    multiplier = check.number("path_multiplier", path_multiplier, 1.0, above=True)
    grid = Grid(multiplier, start, check.lambda_seq(lambda_seq))
    trainer = Trainer(model, loss, data, val, M, gamma, check.whole("patience", patience, 1), optimizer)
    with restored_modes(model), PathProgress(trainer.n_units, until=until, shown=bool(verbose)) as progress:
        solver = _PathSolver(trainer, grid, n_epochs, refit, until, progress)
        solver.run()
    return Path(solver.points, multiplier=multiplier, val_weights=solver.val_weights, visited=solver.visited)


class _PathSolver:
    """Solves the path of one model and collects its points."""

    def __init__(
        self,
        trainer: Trainer,
        grid: Grid,
        n_epochs: tuple[int, int],
        refit: int,
        until: int,
        on_point: Callable[[ModulePoint], None],
    ):
        self.trainer, self.grid, self.refit, self.on_point = trainer, grid, refit, on_point
        self.dense_epochs, self.sparse_epochs = n_epochs
        n_free = int(sum((hierarchy.costs == 0).sum() for hierarchy in trainer.hierarchies))
        self.n_last = max(until, n_free)  # the path ends with at most so many units
        self.points: list[ModulePoint] = []
        self.visited: list[float] = []
        self.val_weights: Floats | None = None

    def run(self) -> None:
        """Train the dense model, then raise λ until few enough units are left.

        On an interrupt from the keyboard the model is restored to the last complete point, and the interrupt is raised.
        """
        trainer = self.trainer
        self._record(0.0, trainer.train(self.dense_epochs))
        snapshot = trainer.snapshot()
        try:
            stride = Stride(self.grid, self._first_lambda())
            for lambda_ in stride:
                before = trainer.selected
                self._train(lambda_)
                if stride.accepts(int((before ^ trainer.selected).sum()), int(before.sum())):
                    self._record(lambda_, self.sparse_epochs)
                    snapshot = trainer.snapshot()
                else:
                    trainer.restore(snapshot)
                if self.points[-1].n_selected <= self.n_last:
                    break
        except KeyboardInterrupt:
            trainer.restore(snapshot)
            raise

    def _first_lambda(self) -> float:
        """Return the given first λ, or one at which at most one unit in 25 leaves.

        The search starts from a thousandth of the λ that keeps all units out, and divides it by 4 at most 20 times.
        """
        if self.grid.seq is not None:
            return self.grid.seq[0]
        if self.grid.start is not None:
            return self.grid.start
        trainer = self.trainer
        lambda_ = 1e-3 * trainer.largest_lambda() or 1.0
        snapshot, n_dense = trainer.snapshot(), int(trainer.selected.sum())
        for _ in range(20):
            self._train(lambda_)
            n_left = n_dense - int(trainer.selected.sum())
            trainer.restore(snapshot)
            if n_left <= n_dense // 25:
                break
            lambda_ /= 4.0
        return lambda_

    def _train(self, lambda_: float) -> None:
        for _ in range(self.sparse_epochs):
            self.trainer.train_epoch(lambda_)

    def _record(self, lambda_: float, n_epochs: int) -> None:
        """Append a point.

        Of the points before the first unit leaves only the last is kept. With refits there is one point per selection.
        """
        trainer, points = self.trainer, self.points
        self.visited += [lambda_] * (lambda_ > 0)
        selected = trainer.selected
        if points and self.refit and (points[-1].selected == selected).all():
            return
        none_left = len(points) > 1 and points[-1].n_selected == points[0].n_selected == selected.sum()
        if self.refit and lambda_ and selected.any():
            trainer, n_refit = trainer.refit(self.refit)
            n_epochs += n_refit
        point = self._evaluate(trainer, lambda_, n_epochs, selected)
        if none_left and self.grid.seq is None:
            points.pop()
        points.append(point)
        self.on_point(point)

    def _evaluate(self, trainer: Trainer, lambda_: float, n_epochs: int, selected: NDArray[np.bool_]) -> ModulePoint:
        """Return a model as a point of the path."""
        loss = weighted_mean(trainer.losses(trainer.data))
        val_losses, val_loss, error = None, float("nan"), float("nan")
        if trainer.val is not None:
            val_losses, weights = trainer.losses(trainer.val).T
            self.val_weights = weights / weights.sum()
            val_loss, error = mean_and_error(val_losses, self.val_weights)
        penalty = trainer.penalty(lambda_)
        units = np.flatnonzero(selected)
        norms = trainer.skip_norms()[units, None]
        return ModulePoint(
            lambda_=lambda_,
            selected=selected,
            n_selected=len(units),
            loss=loss,
            val_loss=val_loss,
            val_loss_se=error,
            penalty=penalty,
            objective=loss + penalty,
            n_iters=n_epochs,
            weights=SparseWeights(units, units, norms, np.empty((len(units), 0)), np.empty(0)),
            val_losses=val_losses,
            state={name: value.detach().cpu().clone() for name, value in trainer.model.state_dict().items()},
        )
