"""What the estimators share: parameters of ``lassonet``, ``path``, ``fit``, ``load`` and stability selection."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from torch import Tensor

from riata.compat.lassonet import training
from riata.compat.lassonet.differences import differs
from riata.compat.lassonet.history import HistoryItem, NonFiniteLossError, feature_importances, state_dict
from riata.compat.lassonet.model import LassoNet
from riata.compat.lassonet.training import Data, Task
from riata.compat.lassonet.utils import selection_probability
from riata.path.points import Point

__all__ = ["BaseLassoNet", "plain"]

Callback = Callable[[Any, list[HistoryItem]], Any] | None
_WRONG = 0.5  # expected number of false features at which nothing is selected


def _half(name: str, index: int, default: Any = None) -> property:
    """Return a property: the half of a pair that is for the dense model (0), or for the path (1)."""

    def of(model: Any) -> Any:
        given = getattr(model, name)
        return training.pair(default if given is None else given)[index]

    return property(of)


@dataclass(repr=False, eq=False)
class BaseLassoNet(BaseEstimator):
    """Parameters and methods of all estimators; see the page "Coming from lassonet" for what each of them does here."""

    _: KW_ONLY
    hidden_dims: Any = (100,)
    lambda_start: Any = "auto"
    lambda_seq: Any = None
    gamma: float = 0.0
    gamma_skip: float = 0.0
    path_multiplier: float = 1.02
    M: float = 10
    groups: Any = None
    dropout: float | None = 0
    batch_size: int | None = None
    optim: Any = None
    n_iters: Any = (1000, 100)
    patience: Any = (100, 10)
    tol: float = 0.99
    backtrack: bool = False
    val_size: float | None = None
    device: Any = None
    verbose: int = 1
    random_state: Any = None
    torch_seed: int | None = None
    model: Any = field(init=False, default=None)

    optim_init, optim_path = _half("optim", 0, training.OPTIM), _half("optim", 1, training.OPTIM)
    n_iters_init, n_iters_path = _half("n_iters", 0), _half("n_iters", 1)
    patience_init, patience_path = _half("patience", 0), _half("patience", 1)

    # What a subclass defines.

    criterion: ClassVar[Any]  # from what the network returns and the target to the loss, a mean

    def predict(self, X: Any) -> Any:
        """Return predictions: an array for an array, a tensor for anything else."""
        raise NotImplementedError

    def score(self, X: Any, y: Any) -> float:
        """Return the score of predictions."""
        raise NotImplementedError

    def _task(self, y: NDArray[Any], y_val: NDArray[Any] | None) -> Task:
        """Encode the target as riata does."""
        raise NotImplementedError

    def _convert_y(self, y: NDArray[Any]) -> Tensor:
        """Return the target as the criterion takes it."""
        target = self._tensor(y)
        return target[:, None] if target.ndim == 1 else target

    def _module(self, *dims: int) -> LassoNet:
        """Return a network with these widths."""
        return LassoNet(*dims, groups=self.groups, dropout=self.dropout)

    # Fitting.

    def path(
        self,
        X: Any,
        y: Any,
        *,
        X_val: Any = None,
        y_val: Any = None,
        lambda_seq: Iterable[float] | None = None,
        lambda_max: float = float("inf"),
        return_state_dicts: bool = False,
        callback: Callback = None,
        disable_lambda_warning: bool = False,
    ) -> list[HistoryItem]:
        """Solve the path; the model is at its last item afterwards.

        Parameters
        ----------
        X, y : array-like
            Training samples and their target.
        X_val, y_val : array-like, optional
            Samples to validate on, instead of a random part of X.
        lambda_seq : iterable of float, optional
            The λ, in the convention of ``lassonet``; an empty one for the dense model alone.
        lambda_max : float, optional
            The path ends before larger λ.
        return_state_dicts : bool
            Not used: items always have a ``state_dict``.
        callback : callable, optional
            Called with the estimator and the items so far, for every item, once the path is solved.
        disable_lambda_warning : bool
            Do not warn where features leave at λ close to ``lambda_start``.

        Returns
        -------
        list of HistoryItem
            From the dense model to the empty one.
        """
        self._say_what_differs()
        X, y, X_val, y_val = self._split(*map(plain, (X, y, X_val, y_val)))
        task = self._task(y, y_val)
        settings, unit = training.convert(self, task, lambda_seq, X.shape[1])
        solved = training.solve_path(Data(X, X_val, task), settings, self.groups, training.draw_seed(self.torch_seed))
        points = solved.points[: 1 if settings.until else None]
        points = tuple(point for point in points if point.lambda_ <= unit * lambda_max)
        self._check_start(points, unit, warns=not disable_lambda_warning)
        self.model = self._module(X.shape[1], *settings.network, points[0].weights.skip.shape[1]).to(self._device)
        fit = self._tensor(X), self._convert_y(y)
        val = fit if X_val is None else (self._tensor(X_val), self._convert_y(y_val))
        history: list[HistoryItem] = []
        for point in points:
            history.append(self._item(point, unit, settings.network, fit, val))
            if callback is not None:
                callback(self, history)
            if self.verbose > 1:
                print(f"Lambda = {history[-1].lambda_:.2e}, selected {point.n_selected} features")
                history[-1].log()
        self.path_ = history
        self.feature_importances_ = feature_importances(history)
        return history

    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None, dense_only: bool = False) -> Self:
        """Solve the path, and move to the item with the lowest validation loss; ``lassonet`` stays at the last, empty one.

        Parameters
        ----------
        X, y : array-like
            Training samples and their target.
        X_val, y_val : array-like, optional
            Samples to validate on, instead of a random part of X.
        dense_only : bool
            Train only the dense model.

        Returns
        -------
        self
            The fitted estimator.
        """
        history = self.path(X, y, X_val=X_val, y_val=y_val, lambda_seq=[] if dense_only else None)
        if not dense_only:
            differs(
                "after fit the model is at the item of path_ with the lowest validation loss; with lassonet 0.0.21 it is at "
                "the last item, which has no features: call load(path_[-1]) for that one"
            )
        return self.load(min(history, key=lambda item: item.val_loss))

    def load(self, state_dict: HistoryItem | dict[str, Tensor]) -> Self:
        """Move to an item of a path, or to a state dict.

        Parameters
        ----------
        state_dict : HistoryItem or dict
            Where to.

        Returns
        -------
        self
            The estimator.
        """
        state = state_dict.state_dict if isinstance(state_dict, HistoryItem) else state_dict
        if self.model is None:
            n_outputs, n_features = state["skip.weight"].shape
            self.model = self._module(n_features, *self.hidden_dims, n_outputs).to(self._device)
        self.model.load_state_dict(state)
        return self

    def stability_selection(
        self, X: Any, y: Any, n_models: int = 20, max_retries: int = 3
    ) -> tuple[int, Tensor, Tensor, list[list[HistoryItem]], Tensor]:
        """Solve paths on random halves of the samples, and rank features by how often they are selected.

        Halves are drawn from ``random_state``; where it is None, from Python's global generator, as in ``lassonet``.

        Parameters
        ----------
        X, y : array-like
            Samples and their target.
        n_models : int
            Number of halves.
        max_retries : int
            How often another half is drawn where a loss is not finite.

        Returns
        -------
        oracle : int
            Number of features to select.
        order : LongTensor
            Features, the most often selected first.
        wrong : Tensor
            Expected number of false features among so many of them.
        paths : list of lists of HistoryItem
            The paths.
        prob : Tensor of shape (n_steps, n_features)
            Selection probabilities at each λ.
        """
        drawn = {} if self.random_state is None else {"rng": _generator(self.random_state)}

        def solved(lambda_seq: list[float] | None = None) -> list[HistoryItem]:
            for _ in range(max_retries):
                try:
                    return self._stability_selection_path(X, y, lambda_seq, **drawn)
                except NonFiniteLossError as error:
                    warnings.warn(f"{error} Drawing a new subsample.", stacklevel=3)
            return self._stability_selection_path(X, y, lambda_seq, **drawn)

        seq = [item.lambda_ for item in solved()]
        paths = [solved(seq) for _ in range(n_models)]
        prob, (wrong, order) = selection_probability(paths)
        oracle = 0 if wrong[0] > _WRONG else int(torch.argmax(wrong[1:] / wrong[:-1])) + 1
        return oracle, order, wrong, paths, prob

    def _stability_selection_path(
        self, X: Any, y: Any, lambda_seq: Sequence[float] | None = None, *, rng: Any = random
    ) -> list[HistoryItem]:
        """Solve the path on a random half of the samples."""
        X, y = plain(X), plain(y)
        half = rng.sample(range(len(X)), len(X) - len(X) // 2)
        return BaseLassoNet.path(self, X[half], y[half], lambda_seq=lambda_seq)

    # Parts of a path.

    def _say_what_differs(self) -> None:
        if self.gamma or self.gamma_skip:
            differs(
                "gamma and gamma_skip are not used: in lassonet 0.0.21 they have no gradient. "
                "riata.Training(gamma=...) is an L2 penalty that acts"
            )
        if self.optim is not None:
            differs(
                "optim is not used, but for the momentum in the λ of lassonet (λ here · 1 / (1 − momentum)): "
                "riata finds its step sizes"
            )
        if self.tol != 0.99:
            differs(
                "tol is not used as a factor on the objective: 1 - tol, at most 1e-4, is the relative tolerance here"
            )

    def _split(self, X: Any, y: Any, X_val: Any, y_val: Any) -> tuple[Any, Any, Any, Any]:
        """Hold samples out, as ``lassonet`` does with the same ``random_state``."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither")
        if np.ndim(X) != 2 or not np.shape(X)[1]:
            raise ValueError(f"X must hold samples in rows and features in columns; its shape is {np.shape(X)}")
        val_size = self._val_size()
        if X_val is None and val_size:
            X, X_val, y, y_val = train_test_split(X, y, test_size=val_size, random_state=self.random_state)
        for part in (X, X_val):
            if part is not None and not np.isfinite(part).all():
                raise NonFiniteLossError("X holds NaN or infinite values: fill or drop them. ")
        return X, y, X_val, y_val

    def _val_size(self) -> float:
        return 0.1 if self.val_size is None else self.val_size

    @property
    def _device(self) -> torch.device:
        return torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def _check_start(self, points: Sequence[Point], unit: float, *, warns: bool) -> None:
        solved = [point for point in points if point.lambda_]
        if not solved:
            return
        self.lambda_start_ = solved[0].lambda_ / unit
        leaving = next((point for point in solved if not point.selected.all()), None)
        automatic = isinstance(self.lambda_start, str)
        if warns and not automatic and leaving is not None and leaving.lambda_ < 2 * solved[0].lambda_:
            warnings.warn(
                f"lambda_start={self.lambda_start_:.3g} might be too large: features leave at {leaving.lambda_ / unit:.3g}",
                stacklevel=3,
            )

    def _item(self, point: Point, unit: float, hidden_dims: Any, fit: Any, val: Any) -> HistoryItem:
        """Move to a point and evaluate it."""
        lambda_ = float(f"{point.lambda_ / unit:.15g}")  # 10 of a lambda_seq is 10 again
        self.model.load_state_dict(state_dict(point.weights, hidden_dims, len(point.selected)))
        loss, val_loss = (float(self.criterion(self._outputs(X), y)) for X, y in (fit, val))
        regularization = float(self.model.l1_regularization_skip())
        return HistoryItem(
            lambda_=lambda_,
            objective=loss + lambda_ * regularization,
            loss=loss,
            val_objective=val_loss + lambda_ * regularization,
            val_loss=val_loss,
            regularization=regularization,
            l2_regularization=self.model.l2_regularization(),
            l2_regularization_skip=self.model.l2_regularization_skip(),
            selected=torch.from_numpy(point.selected),
            n_iters=point.n_iters,
            _weights=point.weights,
            _hidden_dims=hidden_dims,
        )

    def _tensor(self, X: Any) -> Tensor:
        samples = X if isinstance(X, Tensor) else torch.tensor(plain(X))
        return samples.to(self._device, torch.float32)

    def _outputs(self, X: Any) -> Any:
        """Return what the network returns for samples, without a gradient."""
        if self.model is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit, path or load first")
        self.model.eval()
        with torch.no_grad():
            return self.model(self._tensor(X))


def plain(table: Any) -> Any:
    """Return the array of a table or tensor; None as it is."""
    if table is None:
        return None
    return table.detach().cpu().numpy() if isinstance(table, Tensor) else np.asarray(table)


def _generator(random_state: Any) -> random.Random:
    return random.Random(int(check_random_state(random_state).randint(2**31 - 1)))
