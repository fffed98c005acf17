"""Selection without a target: the few columns from which all columns can be reconstructed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check
from riata.estimators.base import BaseLassoNet
from riata.estimators.documentation import documented
from riata.estimators.fitting import Settings
from riata.estimators.training import Stages
from riata.losses.targets import ColumnScaling, Reconstruction, Target
from riata.network.head import Block, Head
from riata.path.points import Path
from riata.preprocess.prepare import ColumnOptions

__all__ = ["LassoNetAutoencoder"]

_FARTHEST = 1e307  # numbers whose differences are finite, those of an estimate beyond the range of a column too


@documented
@dataclass(repr=False, eq=False)
class LassoNetAutoencoder(BaseLassoNet):
    """Select the few columns from which all columns can be reconstructed; needs no target.

    A residual network f(x) = skip(x) + g(x) from the columns of X to the same columns is trained to minimise the mean squared
    error over all entries plus λ Σ ‖skip_j‖, where ‖skip_j‖ is the norm over all outputs: a column leaves for all of them at
    once. λ grows from 0, the dense model, until no column is left. A narrow layer among ``hidden_dims`` makes g an
    auto-encoder with a bottleneck; the linear part goes past it.

    Parameters
    ----------
    preprocessing : {"standard", None}, default="standard"
        Centre and scale the columns: each then counts the same. With None those that vary more count more.
    <parameters>
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

    _: KW_ONLY
    preprocessing: str | None = "standard"

    _stages: ClassVar[Stages] = Stages(n_iters=(4000, None), patience=(100, 10), tol=1e-5)

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Solve the path from the dense model to the empty one and select a point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without gaps (:class:`LassoNetImputer` takes tables with gaps). Column names of a data frame are kept.
        y : None
            Not used; here for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count: a sample of weight 0 is left out, and one of twice the weight
            of the others counts as two of them.
        X_val : array-like, optional
            Samples to validate on instead of a random part of X.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.

        Returns
        -------
        self
            The fitted estimator, at the selected point.
        """
        return self._fit(X, None, sample_weight, X_val, X_val, resume)

    def path(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
    ) -> Path:
        """Fit, and return the path; :meth:`load` moves the model to any of its points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used; here for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.
        X_val : array-like, optional
            Samples to validate on, instead of a random part of X.

        Returns
        -------
        Path
            From the dense model to the empty one.
        """
        return self.fit(X, None, sample_weight, X_val=X_val).path_

    def reconstruct(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the network's estimate of every entry of X, the selected columns included, from the selected columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples, n_features)
            The estimates.
        """
        return self._output(X)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return all columns from the selected ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_selected)
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
        table[:, ~selected] = self._solved.output(self.point_.weights, table)[:, ~selected]
        return table

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the variance of X that the reconstruction explains.

        Every column counts on the scale it was trained on, with deviations taken from the training means: 1 is a perfect
        reconstruction, 0 is as good as the means of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : None
            Not used; here for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.

        Returns
        -------
        float
            The share.
        """
        check_is_fitted(self, "point_")
        checked = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        weights = np.ones(len(checked)) if sample_weight is None else check.sample_weight(sample_weight, len(checked))
        learnt = cast(ColumnScaling, self._solved.target_scaling)
        scale = np.where(learnt.scale > 0, learnt.scale, np.inf)  # what never varied cannot be learnt
        missed = weights @ np.square((checked - self._solved.output(self.point_.weights, checked)) / scale).sum(axis=1)
        total = weights @ np.square((checked - learnt.means) / scale).sum(axis=1)
        return float(1 - missed / total) if total > 0 else float(missed <= 0)

    # What the base class asks for.

    def _validated(self, X: Any, y: Any, *, reset: bool, **how: Any) -> tuple[Any, Any]:
        frame = check.numeric_frame(X, type(self).__name__)
        kinds: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        checked = validate_data(self, frame, reset=reset, **kinds, **how)
        if np.isnan(checked).any():
            raise ValueError("Input X contains NaN: fill the gaps first, for which there is LassoNetImputer")
        if float(np.abs(checked).max()) > _FARTHEST:
            raise ValueError(f"X holds numbers beyond ±{_FARTHEST:g}, whose differences overflow: use another unit")
        return checked, checked

    def _learn_target(self, y: Any, weights: NDArray[np.float64]) -> tuple[Target, NDArray[np.float64]]:
        learnt = Reconstruction(np.shape(y)[1])
        return learnt, learnt.encode(y)

    def _column_options(self) -> ColumnOptions:
        check.one_of("preprocessing", self.preprocessing, ("standard", None))
        return ColumnOptions(self.preprocessing, reconstruct=True)

    def _head(self) -> Head:
        return Head("reconstruction", (Block("linear", self.n_features_in_),))

    def _settings(self) -> Settings:
        settings = super()._settings()
        return settings if settings.batch_size != "auto" else replace(settings, batch_size=None)
