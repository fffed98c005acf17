"""Selection without a target: the few columns from which all columns can be reconstructed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from riata import check
from riata.estimators.base import BaseLassoNet
from riata.estimators.documentation import documented
from riata.losses import Loss, ReconstructionError
from riata.path.points import Path
from riata.preprocess import scaling

__all__ = ["LassoNetAutoencoder"]


@documented
class LassoNetAutoencoder(BaseLassoNet):
    """Select the few columns from which all columns can be reconstructed; needs no target.

    A residual network f(x) = skip(x) + g(x) from the columns of X to the same columns is trained to minimise the mean squared
    error over all entries plus λ Σ ‖skip_j‖, where ‖skip_j‖ is the norm over all outputs: a column leaves for all of them at
    once. λ grows from 0, the dense model, until no column is left. A narrow layer among ``hidden_dims`` makes g an
    auto-encoder with a bottleneck; the linear part goes past it.

    Parameters
    ----------
    adaptive : "auto" or float, default="auto"
        Exponent of an adaptive penalty. At each point the price of a column is its cost times (mean / own norm of linear
        weights) to this power, with the norms of the point before: weak columns leave sooner and strong ones are shrunk less.
        0 is the penalty of the paper; "auto" is 0.5 for M > 0 and 0 for M = 0, the group lasso.
    preprocessing : {"standard", None}, default="standard"
        Centre and scale the columns: each then counts the same. With None those that vary more count more.
    <parameters>
    n_iters : int or pair, default=(4000, None)
        Most passes over the training rows, for the dense model and the refit, and for every other point; None is 56 for a table
        of up to a million entries and fewer for larger ones, 28 at least.
    patience : int, None or pair, default=(100, 10)
        Passes without a better validation objective after which a point is left; None to stop on ``tol`` alone.
    tol : float, default=1e-5
        Fall of the objective over 20 passes, as a share of its value on entering a point, under which the point is left.
    refit : {"warm", "scratch", False}, default="warm"
        Refit a point on its columns without a penalty before it is used, from weights that are there already or from new ones.
        Without, reconstructions are shrunk towards the mean.

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from riata import LassoNetAutoencoder
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> model = LassoNetAutoencoder(hidden_dims=(20,), n_features_to_select=2, random_state=0).fit(X)
    >>> few = model.transform(X)
    >>> model.inverse_transform(few).shape
    (150, 4)
    >>> bool(model.score(X) > 0.8)
    True
    """

    _dwell = (
        4  # those that stay have to take over from one that leaves for all outputs at once: hurried, they pick worse
    )
    missing = "error"  # LassoNetImputer is for tables with gaps
    categorical_features = None  # reconstructed by numbers alone

    screening = None  # the target is X itself

    def __init__(
        self,
        hidden_dims=(100,),
        *,
        network=None,
        M=10.0,
        preprocessing="standard",
        adaptive="auto",
        lambda_start=None,
        lambda_seq=None,
        path_multiplier=1.02,
        gamma=1e-4,
        dropout=0.0,
        batch_size=None,
        learning_rate=1e-3,
        n_iters=(4000, None),
        patience=(100, 10),
        tol=1e-5,
        val_size=0.2,
        feature_groups=None,
        feature_costs=None,
        n_features_to_select=None,
        select="1se",
        refit="warm",
        dtype="float32",
        device=None,
        on_interrupt="raise",
        verbose=0,
        random_state=None,
    ):
        self.hidden_dims = hidden_dims
        self.network = network
        self.M = M
        self.preprocessing = preprocessing
        self.adaptive = adaptive
        self.lambda_start = lambda_start
        self.lambda_seq = lambda_seq
        self.path_multiplier = path_multiplier
        self.gamma = gamma
        self.dropout = dropout
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.n_iters = n_iters
        self.patience = patience
        self.tol = tol
        self.val_size = val_size
        self.feature_groups = feature_groups
        self.feature_costs = feature_costs
        self.n_features_to_select = n_features_to_select
        self.select = select
        self.refit = refit
        self.dtype = dtype
        self.device = device
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
    ) -> Self:
        """Follow the path from the dense model to the empty one and choose a point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without gaps (:class:`LassoNetImputer` takes tables with gaps). Column names of a data frame are kept.
        y : None
            Not used; here for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count: a row of weight 0 is left out, and one of twice the weight of
            the others counts as two of them.
        X_val : array-like, optional
            Rows to validate on instead of a random part of X.

        Returns
        -------
        self
            The fitted estimator, at the chosen point.
        """
        return self._fit(X, None, sample_weight, X_val, X_val)

    def path(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
    ) -> Path:
        """Fit, and return the path; :meth:`load` moves the model to any of its points."""
        return self.fit(X, None, sample_weight, X_val=X_val).path_

    def reconstruct(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the network's estimate of every entry of X, the selected columns included, from the selected columns."""
        return self._output(X)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return all columns from the selected ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_selected_)
            What :meth:`transform` returns.

        Returns
        -------
        array of shape (n_samples, n_features)
            The selected columns as they are, and the network's estimate of the others.
        """
        check_is_fitted(self, "point_")
        selected = self.selected_
        measured = check_array(X, dtype=np.float64, ensure_min_features=0)
        if measured.shape[1] != self.n_selected_:
            raise ValueError(f"X must hold the {self.n_selected_} selected columns; got {measured.shape[1]} columns")
        table = np.zeros((len(measured), self.n_features_in_))
        table[:, selected] = measured
        table[:, ~selected] = self._output_of(table)[:, ~selected]
        return table

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the variance of X that the reconstruction explains.

        Every column counts on the scale it was trained on, with deviations taken from the training rows' mean: 1 is a perfect
        reconstruction, 0 is as good as the means of the columns.
        """
        check_is_fitted(self, "point_")
        checked = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        weights = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        scale = np.where(self._scaling.scale > 0, self._scaling.scale, np.inf)  # what never varied cannot be learnt
        missed = weights @ np.square((checked - self._output_of(checked)) / scale).sum(axis=1)
        spread = weights @ np.square((checked - self._means) / scale).sum(axis=1)
        return float(1 - missed / spread) if spread > 0 else float(missed <= 0)

    # What the base class asks for.

    def _validated(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        frame = check.numeric_frame(X, type(self).__name__)
        checked = validate_data(self, frame, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", **how)
        if np.isnan(checked).any():
            raise ValueError("Input X contains NaN: fill the gaps first, for which there is LassoNetImputer")
        return checked, checked

    def _check_y(self, y: Any, *, fitting: bool) -> NDArray[np.float64]:
        return np.asarray(y, dtype=np.float64)

    def _loss(self) -> Loss:
        return ReconstructionError(self.n_features_in_)

    def _shown(self, target: NDArray[np.float64]) -> None:
        return None

    def _learn_scaling(self, X: Any, weights: Any) -> scaling.Scaling:
        if self.preprocessing is None:
            return scaling.identity(X.shape[1])
        return scaling.learn(X, weights, floor=scaling.FLOOR)

    def _scale_target(self, target: NDArray[np.float64], weights: NDArray[np.float64]) -> scaling.Scaling:
        self._means = np.average(target, axis=0, weights=weights)
        return self._scaling  # of a constant column, too: 0 times anything, and its value
