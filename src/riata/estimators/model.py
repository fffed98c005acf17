"""What every estimator with a path has: points to move to, and parameters that are checked before anything is trained."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from riata import check
from riata.estimators.html import SelectionHtml
from riata.estimators.plots import PathPlots
from riata.estimators.training import Stages, Training, given, refuse_distributed
from riata.path import selection
from riata.path.grid import Grid
from riata.path.points import Path, Point
from riata.solver.stopping import Stopping

__all__ = ["PathModel", "PathSettings"]

_ADAPTIVE = 0.5  # exponent of the adaptive penalty where none is given


class PathSettings(NamedTuple):
    """The parameters that all estimators share, checked."""

    training: Training
    grid: Grid
    dense: Stopping
    sparse: Stopping
    adaptive: float  # exponent


class _Fitted:
    """Attributes of a fitted model."""

    n_features_in_: int
    path_: Path
    point_: Point


@dataclass(repr=False, eq=False)
class PathModel(SelectionHtml, PathPlots, _Fitted, BaseEstimator):
    """A model that is at one point of a path and can move to others."""

    hidden_dims: Any = (100,)
    _: KW_ONLY
    M: Any = 10.0
    adaptive: float | str = "auto"
    lambda_seq: Any = None
    training: Training | None = None
    val_size: float = 0.2
    feature_groups: Any = None
    feature_costs: Any = None
    n_features_to_select: int | None = None
    select: str | float = "1se"
    refit: str | bool = "warm"
    verbose: int = 0
    random_state: Any = None
    checkpoint: Any = None

    _rules: ClassVar[tuple[str, ...]] = ("1se", "best")
    _distributes: ClassVar[bool] = False  # whether several processes can fit one model
    _stages: ClassVar[Stages] = Stages(n_iters=(None, None), patience=(50, 10), tol=1e-4)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Name the parameters and, of a fitted model, its number of features: in nothing else do points of a path differ."""
        text: str = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "point_"):
            return text
        return f"{text} with {self.n_selected_} of {self.n_features_in_} features, λ = {self.lambda_:.3g}"

    def load(self, point: Point) -> Self:
        """Move the fitted model to a point of its path.

        Parameters
        ----------
        point : Point
            One of ``path_``, or of the path of an estimator with as many features.

        Returns
        -------
        self
            The model, with the network of the point, without a refit; :meth:`at` refits.
        """
        check_is_fitted(self, "path_")
        if len(point.selected) != self.n_features_in_:
            raise ValueError(
                f"the point has {len(point.selected)} features; the model was fitted with {self.n_features_in_}"
            )
        self.point_ = point
        return self

    def at(self, *, n_features: int | None = None, lambda_: float | None = None, refit: bool = True) -> Self:
        """Return the same fit at another point, refitted on its features if the estimator has a ``refit``.

        A refit takes place when a point is asked for the first time. It needs the training samples, which a model in memory
        holds and a pickled one does not.

        Parameters
        ----------
        n_features : int, optional
            The densest point with at most so many features; the path need not have one with exactly so many.
        lambda_ : float, optional
            The last point whose λ does not exceed this one; 0 is the dense model.
        refit : bool, default=True
            False for the penalised network itself.

        Returns
        -------
        estimator
            A copy of the model that shares the path with it. The model itself stays as it is.
        """
        check_is_fitted(self, "path_")
        if (n_features is None) == (lambda_ is None):
            raise ValueError("give one of n_features and lambda_")
        if n_features is not None:
            if check.whole("n_features", n_features) > self.n_features_in_:
                raise ValueError(f"n_features={n_features} exceeds the {self.n_features_in_} features of X")
            index = selection.at_most(self.path_, n_features)
        else:
            index = selection.at_lambda(self.path_, check.number("lambda_", lambda_))
        point = self._finished(self.path_[index]) if refit else self.path_[index]
        shared = {id(self.path_): self.path_}  # points are frozen; all else is the copy's own
        return copy.deepcopy(self, shared).load(point)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, from which :func:`riata.load` reads it.

        The file, by custom ``.riata``, holds the path and everything that predictions need, but no samples and no code.
        A loaded model predicts the same, to the bit.

        Parameters
        ----------
        path : str or path
            The file; one that was there before is replaced.
        """
        from riata.estimators.stored import save  # which imports all estimators

        save(self, path)

    def _finished(self, point: Point) -> Point:
        """Return a point as it predicts."""
        return point

    @property
    def selected_(self) -> NDArray[np.bool_]:
        """Mask of the features in the model."""
        check_is_fitted(self, "point_")
        return self.point_.selected

    @property
    def n_selected_(self) -> int:
        """Number of features in the model."""
        check_is_fitted(self, "point_")
        return self.point_.n_selected

    @property
    def lambda_(self) -> float:
        """The penalty of the selected point."""
        check_is_fitted(self, "point_")
        return self.point_.lambda_

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """λ at which each feature leaves the path for good; larger is more important, and no two are equal."""
        check_is_fitted(self, "path_")
        return self.path_.importances()

    @property
    def n_iter_(self) -> int:
        """Iterations along the whole path."""
        check_is_fitted(self, "path_")
        return max(1, sum(point.n_iters for point in self.path_))

    def _path_settings(self) -> PathSettings:
        """Check every parameter that can be checked without data, before any training."""
        training = given(self.training)
        if not self._distributes:
            refuse_distributed(training, type(self).__name__)
        elif training.distributed and self.checkpoint is not None:
            raise ValueError(
                "a fit by several processes has no checkpoints: leave checkpoint out, or leave distributed out of Training"
            )
        check.number("M", self.M, high=1e6)
        adaptive = _ADAPTIVE if self.M else 0.0
        if not isinstance(self.adaptive, str) or self.adaptive != "auto":
            adaptive = check.number("adaptive", self.adaptive, high=4)
        check.number("val_size", self.val_size, high=0.9)
        check.one_of("refit", self.refit, (False, "warm", "scratch"))
        if self.n_features_to_select is not None:
            check.whole("n_features_to_select", self.n_features_to_select, 1)
        if isinstance(self.select, str):
            check.one_of("select", self.select, self._rules)
        else:
            check.number("select", self.select)
        grid = Grid(training.path_multiplier, None, check.lambda_seq(self.lambda_seq))
        return PathSettings(training, grid, *training.stopping(self._stages), adaptive)

    def _check_number(self) -> None:
        """Refuse more features to select than there are."""
        if self.n_features_to_select is not None and self.n_features_to_select > self.n_features_in_:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} exceeds the {self.n_features_in_} features of X"
            )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave an estimator that is not fitted where a fit fails or is interrupted, whatever it was before."""

        def forget() -> None:
            for name in ("path_", "point_"):
                self.__dict__.pop(name, None)

        forget()
        try:
            yield
        except BaseException:
            forget()
            raise
