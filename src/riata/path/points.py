"""What a path holds: its points, from the dense model to the empty one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from riata.network.stacked import SparseWeights

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Path", "Point", "mean_and_error"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point:
    """One solution on the path.

    Attributes
    ----------
    lambda_ : float
        The penalty; 0 for the dense model.
    selected : bool array of shape (d,)
        The features in the model.
    n_selected : int
        Their number.
    loss, val_loss : float
        Mean training and validation loss, on the scale the network was trained on (for regression with
        preprocessing that of the standardised target). ``val_loss`` is NaN without validation samples.
    val_loss_se : float
        Standard error of ``val_loss``.
    penalty, objective : float
        All other terms of what is minimised, and the sum of ``loss`` and ``penalty``.
    n_iters : int
        Iterations (epochs) at this λ.
    weights : SparseWeights
        The network: the rows of its selected features, and all other parameters.
    val_losses : array of shape (n_val,), or None
        The loss of each validation sample.
    best_iter : int
        The iteration after which the weights that were kept had been reached.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> dense = LassoNetRegressor(hidden_dims=(10,), random_state=0).fit(X, y).path_[0]
    >>> dense.lambda_, dense.n_selected, bool(dense.selected.all())
    (0.0, 10, True)
    """

    lambda_: float
    selected: NDArray[np.bool_]
    n_selected: int
    loss: float
    val_loss: float
    val_loss_se: float
    penalty: float
    objective: float
    n_iters: int
    weights: SparseWeights
    val_losses: Floats | None = None  # one per validation sample
    best_iter: int = 0

    def __repr__(self) -> str:
        return (
            f"Point(lambda_={self.lambda_:.4g}, n_selected={self.n_selected}, loss={self.loss:.4g}, "
            f"val_loss={self.val_loss:.4g})"
        )

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing in it changes


class Path(Sequence[Point]):
    """The points of a path, from dense to sparse.

    A sequence of :class:`Point` with a few views of all of them at once.

    Attributes
    ----------
    points : tuple of Point
        In the order of λ.
    multiplier : float
        Smallest ratio of one λ to the last where the grid was found automatically.
    val_weights : array or None
        Weight of each validation sample, summing to 1, in the order of ``Point.val_losses``.
    visited : array
        Every λ solved after the dense model, also those whose points were not kept. As ``lambda_seq`` it gives another fit the
        same grid.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = LassoNetRegressor(hidden_dims=(10,), random_state=0).fit(X, y).path_
    >>> path[0].n_selected, path[-1].n_selected
    (10, 0)
    >>> path.to_frame().columns[:4].to_list()
    ['lambda_', 'n_selected', 'loss', 'val_loss']
    """

    def __init__(
        self,
        points: Sequence[Point],
        *,
        multiplier: float = 1.02,
        val_weights: Floats | None = None,
        visited: Sequence[float] | Floats | None = None,
    ):
        self.points = tuple(points)
        self.multiplier = multiplier
        self.val_weights = val_weights
        self.visited = self.lambdas[self.lambdas > 0] if visited is None else np.asarray(visited, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Path: ...
    def __getitem__(self, index: int | slice) -> Point | Path:
        if isinstance(index, slice):
            return Path(
                self.points[index], multiplier=self.multiplier, val_weights=self.val_weights, visited=self.visited
            )
        return self.points[index]

    def __repr__(self) -> str:
        if not self.points:
            return "Path(empty)"
        first, last = self.points[0], self.points[-1]
        return (
            f"Path({len(self)} points, {first.n_selected} to {last.n_selected} features, "
            f"lambda_ {first.lambda_:.3g} to {last.lambda_:.3g})"
        )

    @property
    def lambdas(self) -> Floats:
        """λ of every point."""
        return np.array([p.lambda_ for p in self.points])

    @property
    def n_selected(self) -> NDArray[np.int64]:
        """Number of features of every point."""
        return np.array([p.n_selected for p in self.points])

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Masks of all points, (points, d)."""
        return np.array([p.selected for p in self.points])

    def to_frame(self) -> pd.DataFrame:
        """One row per point, without the masks."""
        import pandas as pd

        columns = ("lambda_", "n_selected", "loss", "val_loss", "val_loss_se", "penalty", "objective", "n_iters")
        return pd.DataFrame({name: [getattr(p, name) for p in self.points] for name in columns})

    def skip_norms(self) -> Floats:
        """Norm of each feature's skip weights at every point, (points, d); zero where it is out."""
        if not self.points:
            raise ValueError("the path has no points")
        norms = np.zeros((len(self), len(self.points[0].selected)))
        for norm, point in zip(norms, self.points, strict=True):
            np.add.at(norm, point.weights.features, np.square(point.weights.skip, dtype=np.float64).sum(axis=1))
        return np.sqrt(norms)

    def plot(self, point: Point | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the loss along the path against the number of features.

        Parameters
        ----------
        point : Point, optional
            A point to mark, such as ``model.point_``.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.path`.
        """
        from riata import plot  # matplotlib takes a second to import

        return plot.path(self, point, ax=ax)

    def plot_coefficients(
        self, *, names: Sequence[str] | None = None, at: float | None = None, top: int = 8, ax: Axes | None = None
    ) -> Axes:
        """Draw the norm of each feature's linear weights over λ.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; by default x0, x1 and so on.
        at : float, optional
            A λ to mark, such as ``model.lambda_``.
        top : int
            How many features to name.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.coefficients`.
        """
        from riata import plot

        norms, label = self.skip_norms(), "norm of linear weights"
        return plot.coefficients(self.lambdas, norms, names=names, at=at, top=top, label=label, ax=ax)

    def importances(self) -> Floats:
        """Return the λ at which each feature leaves for good, strictly ordered.

        Features that never leave get the last λ times the multiplier. Features that leave between the same two points are
        spread over the interval between their λ by the norm of their skip rows at the last point where both were in.
        """
        selected, lambdas = self.selected, self.lambdas
        edges = np.append(lambdas, lambdas[-1] * self.multiplier if lambdas[-1] > 0 else 1.0)
        last = len(self) - 1 - selected[::-1].argmax(axis=0)  # the last point with the feature
        last[~selected.any(axis=0)] = -1
        norms = self.skip_norms()
        importances = np.zeros(selected.shape[1])
        for i in np.unique(last):
            leaving = np.flatnonzero(last == i)
            order = leaving[np.argsort(norms[i, leaving], kind="stable")] if i >= 0 else leaving
            # Features that were never in come before those that only the dense model has.
            low, high = (edges[i], edges[i + 1]) if i > 0 else (edges[1] * (i + 1) / 2, edges[1] * (i + 2) / 2)
            importances[order] = low + (high - low) * np.arange(1, len(order) + 1) / len(order)
        return importances


def mean_and_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and its standard error; ``weights`` sum to 1."""
    mean = float(values @ weights)
    n = len(values)
    return mean, float(np.sqrt(np.square(weights * (values - mean)).sum() * n / (n - 1))) if n > 1 else float("inf")
