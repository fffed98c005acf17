"""Methods of estimators that draw: each calls the function of ``riata.plot`` that its name says, with what the fit holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CrossValidationPlots", "PathPlots", "SurvivalPlots", "feature_names"]

# Estimators import matplotlib when they draw: it takes a second, and most fits never need it.


def feature_names(model: Any) -> list[str]:
    """Return the names that a model was fitted with, or x0, x1 and so on."""
    given = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if given is None else [str(name) for name in given]


class PathPlots:
    """Figures of a model that is at one point of a path."""

    def plot_path(self: Any, *, ax: Axes | None = None) -> Axes:
        """Draw the loss along the path against the number of features, with the point of the model marked.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.path`.
        """
        check_is_fitted(self, "point_")
        from riata import plot

        return plot.path(self.path_, self.point_, ax=ax)

    def plot_coefficients(self: Any, *, top: int = 8, ax: Axes | None = None) -> Axes:
        """Draw the norm of each feature's linear weights over λ, with the λ of the model marked.

        Weights are those of standardised columns, so that they can be compared.

        Parameters
        ----------
        top : int
            How many features to name.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.coefficients`.
        """
        check_is_fitted(self, "point_")
        axes: Axes = self.path_.plot_coefficients(names=feature_names(self), at=self.lambda_, top=top, ax=ax)
        return axes

    def plot_importance(self: Any, *, top: int = 20, ax: Axes | None = None) -> Axes:
        """Draw the most important features of the model as bars: λ at which each leaves the path.

        Parameters
        ----------
        top : int
            How many features to show at most.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.importance`.
        """
        check_is_fitted(self, "point_")
        from riata import plot

        return plot.importance(self.feature_importances_, self.selected_, names=feature_names(self), top=top, ax=ax)


class CrossValidationPlots:
    """Figures of a cross-validated model."""

    def plot_cv(self: Any, *, ax: Axes | None = None) -> Axes:
        """Draw cross-validated scores against the number of features, with the selected point and the best one marked.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.cv`.
        """
        check_is_fitted(self, "cv_results_")
        from riata import plot

        return plot.cv(self, ax=ax)


class SurvivalPlots:
    """Figures of a survival model, from samples that it was not fitted on."""

    def plot_survival(
        self: Any, X: ArrayLike, y: Any, *, n_groups: int = 3, confidence: float = 0.95, ax: Axes | None = None
    ) -> Axes:
        """Draw Kaplan-Meier curves of samples in groups of predicted risk, with the mean prediction of each group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, best those that the model was not fitted on.
        y : structured array, array or data frame
            Their times and events, as for ``fit``.
        n_groups : int
            Groups of predicted risk.
        confidence : float
            Pointwise coverage of the bands.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.survival`.
        """
        check_is_fitted(self, "point_")
        from riata import plot

        return plot.survival(self, X, y, n_groups=n_groups, confidence=confidence, ax=ax)

    def plot_calibration(
        self: Any,
        X: ArrayLike,
        y: Any,
        time: float,
        *,
        n_groups: int = 5,
        confidence: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw predicted against observed probabilities of survival at a time, in groups of the prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, best those that the model was not fitted on.
        y : structured array, array or data frame
            Their times and events, as for ``fit``.
        time : float
            When, on the scale of y.
        n_groups : int
            Groups of the predicted probability.
        confidence : float
            Coverage of the intervals.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.calibration`.
        """
        check_is_fitted(self, "point_")
        from riata import plot

        return plot.calibration(self, X, y, time, n_groups=n_groups, confidence=confidence, ax=ax)
