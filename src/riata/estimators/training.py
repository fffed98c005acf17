"""How networks are trained and how closely the path is solved, as one parameter of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from sklearn.base import BaseEstimator

from riata import check, together
from riata.ranks import Ranks, join
from riata.solver.stopping import Stopping

__all__ = ["Stages", "Training"]

Pair = int | tuple[int | None, int | None] | None


class Stages(NamedTuple):
    """Defaults of an estimator, for the dense model and every other point."""

    n_iters: tuple[int | None, int | None]
    patience: tuple[int | None, int | None]
    tol: float


@dataclass(kw_only=True, repr=False, eq=False)
class Training(BaseEstimator):
    """How networks are trained and how closely the path is solved.

    Parameters
    ----------
    path_multiplier : float, default=1.02
        Smallest ratio of one λ to the last; strides are longer where hardly any feature leaves.
    n_iters : int, None or pair, default=None
        Most iterations (epochs), for the dense model and refits, and for every other λ. The second number says how closely the
        path is solved: time grows with it. None is the default of the estimator: 1,000 and 14 or, with mini-batches, as many
        as make 12,000 and 100 updates, half as many at each λ for large tables; four times as many at each λ without a target.
    patience : int, None, pair or "auto", default="auto"
        Iterations without a better validation objective after which a λ is left; None to stop on ``tol`` alone. "auto" is
        (50, 10), and more for autoencoder and imputer. The second number matters where ``n_iters`` allows more iterations.
    tol : float, optional
        Fall of the objective over 20 iterations, as a share of its value on entering a λ, under which the λ is solved and
        left. By default 1e-4, and 1e-5 for the autoencoder; for the imputer the relative change of the filled entries, 1e-3.
    batch_size : int, "auto" or None, default="auto"
        Samples per update; None for all. "auto" is all of fewer than 2,000 training samples, and otherwise 256, or one in 256
        where that is more; without a target it is all, and for Cox's model all of fewer than 20,000.
    learning_rate : float, default=1e-3
        Size of the first steps relative to the gradient. With full batches step sizes are found from there.
    dropout : float, default=0
        Share of hidden units that are dropped at each update.
    gamma : float, default=1e-4
        L2 penalty on the weights above the first layer. With 0 the problem has no minimiser for M > 0, and a path is defined
        by its number of updates.
    dtype : {"float32", "float64"}, default="float32"
        Precision.
    device : str, optional
        Where to train, such as "cpu" or "cuda"; CUDA where there is one by default.
    distributed : bool or float, default=False
        Fit one model by all processes of the process group of ``torch.distributed``, each of which calls ``fit`` with rows of
        its own. A number says for how many seconds to wait for the others; True is 30.

    Examples
    --------
    >>> from riata import LassoNetClassifier, Training
    >>> LassoNetClassifier(training=Training(batch_size=64, dropout=0.1))
    LassoNetClassifier(training=Training(batch_size=64, dropout=0.1))
    """

    path_multiplier: float = 1.02
    n_iters: Pair = None
    patience: Pair | str = "auto"
    tol: float | None = None
    batch_size: int | str | None = "auto"
    learning_rate: float = 1e-3
    dropout: float = 0.0
    gamma: float = 1e-4
    dtype: str = "float32"
    device: str | None = None
    distributed: bool | float = False

    def check(self) -> None:
        """Refuse values that cannot be used."""
        check.number("path_multiplier", self.path_multiplier, 1.0, above=True)
        check.number("learning_rate", self.learning_rate, above=True)
        check.number("dropout", self.dropout, high=0.99)
        check.number("gamma", self.gamma)
        check.one_of("dtype", self.dtype, ("float32", "float64"))
        if self.batch_size is not None and self.batch_size != "auto":
            check.whole("batch_size", self.batch_size, 1)
        if not isinstance(self.distributed, bool):
            check.number("distributed", self.distributed, above=True)

    def ranks(self) -> Ranks | None:
        """Meet the other processes that fit the model; None if it is fitted by one."""
        if not self.distributed:
            return None
        return join(None if self.distributed is True else float(self.distributed))

    def stopping(self, default: Stages) -> tuple[Stopping, Stopping]:
        """Return when to leave the dense model and every other λ; ``n_iters`` of 0 stands for what suits the table.

        Parameters
        ----------
        default : Stages
            What the estimator would do.

        Returns
        -------
        pair of Stopping
            For the dense model and for every other λ.
        """
        given = check.per_stage("n_iters", self.n_iters, 1, optional=True)
        n_iters = [own or other or 0 for own, other in zip(given, default.n_iters, strict=True)]
        patience: Any = default.patience
        if self.patience != "auto":
            patience = check.per_stage("patience", self.patience, 1, optional=True)
        tol = default.tol if self.tol is None else check.tolerance(self.tol)
        dense = Stopping(n_iters[0], patience[0], tol, keep_validated=True)
        return dense, Stopping(n_iters[1], patience[1], tol)

    def torch_device(self) -> torch.device:
        """Return where to train."""
        return torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))


def on_gpu(training: Training | None) -> bool:
    """Return whether networks are trained on a GPU, where many side by side take little longer than one."""
    return together.pays(given(training).torch_device())


def refuse_distributed(training: Training | None, who: str) -> None:
    """Refuse to fit by several processes what is not made for that."""
    if training is not None and given(training).distributed:
        raise ValueError(
            f"{who} is not fitted by several processes at once: leave distributed out of Training. LassoNetClassifier and "
            "LassoNetRegressor are; folds, half-samples and draws go to other machines as jobs (n_jobs)"
        )


def given(training: Training | None) -> Training:
    """Return the training that a user asked for, checked."""
    if training is None:
        return Training()
    if not isinstance(training, Training):
        raise ValueError(
            f"training must be a riata.Training, such as Training(batch_size=64), or None; got {training!r}"
        )
    training.check()
    return training
