"""What estimators with a target share: the parameters of their columns, and how they are called."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from riata import check
from riata.estimators.base import BaseLassoNet
from riata.path.points import Path
from riata.preprocess import categories
from riata.preprocess.categories import Categories
from riata.preprocess.prepare import ColumnOptions

if TYPE_CHECKING:
    from riata.report import Report

__all__ = ["Supervised"]


@dataclass(repr=False, eq=False)
class Supervised(BaseLassoNet):
    """Predicts a target and selects the features that it takes."""

    _: KW_ONLY
    missing: str = "indicator"
    categorical_features: Any = "from_dtype"
    screening: str | None = "auto"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Solve the path from the dense model to the empty one and select a point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, missing ones among them (``missing``), and categories (``categorical_features``); or a sparse matrix of
            numbers. Column names of a data frame are kept. The plain classifier and regressor also take tables larger than
            memory (:func:`riata.open_rows`).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target; for survival times in one of the forms that the class describes.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, of which only the ratios count: a sample of weight 0 is left out, and one of twice the weight
            of the others counts as two of them.
        X_val, y_val : array-like, optional
            Samples to validate on instead of a random part of X.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.

        Returns
        -------
        self
            The fitted estimator, at the selected point.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, resume)

    @property
    def _has_own_losses(self) -> bool:
        """Whether ``_sample_losses`` is used in place of the log loss or the squared error."""
        return True

    def path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
    ) -> Path:
        """Fit, and return the path; :meth:`load` moves the model to any of its points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.
        X_val, y_val : array-like, optional
            Samples to validate on, instead of a random part of X.

        Returns
        -------
        Path
            From the dense model to the empty one.
        """
        return self.fit(X, y, sample_weight, X_val=X_val, y_val=y_val).path_

    def report(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        title: str = "",
        image_shape: tuple[int, int] | None = None,
        stability: Any = None,
        knockoffs: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> Report:
        """Return a report of the selection, with the path, scores and effects on samples that the model was not fitted on.

        It evaluates up to 40 points of the path, each refitted as by :meth:`at`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that the model was not fitted on; for others scores and importances are too large.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their target, as for ``fit``.
        title : str, optional
            At the top of the report.
        image_shape : tuple of two int, optional
            Rows and columns, where the features are the pixels of an image, row by row.
        stability : StabilitySelector, optional
            Fitted on the same features: its frequencies and decisions become columns of the table.
        knockoffs : KnockoffSelector, optional
            The same.
        n_jobs : int, optional
            How many features to permute at once.
        random_state : int, default=0
            Seed of permutations, and of the samples that effects are computed from. The same seed gives the same report.

        Returns
        -------
        Report
            With ``save("report.html")``; in a notebook it is shown as the result of a cell.
        """
        from riata.report import About, Report, summarise  # a layer that knows all estimators

        return Report(
            summarise(
                self,
                X,
                y,
                about=About(title=title),
                image_shape=image_shape,
                stability=stability,
                knockoffs=knockoffs,
                n_jobs=n_jobs,
                random_state=random_state,
            )
        )

    @property
    def score_name(self) -> str:
        """What ``score`` returns."""
        raise NotImplementedError

    def _score_of(self, output: Any, y: Any, sample_weight: Any) -> float:
        """Return the score of outputs of the model, (n, o)."""
        raise NotImplementedError

    def _plain_target(self, y: Any) -> Any:
        check.no_survival(y, type(self).__name__)
        y = check.plain(y)
        check.known(y)
        if is_classifier(self):
            check.comparable(y)
        elif y is not None:
            check.quantities(y, type(self).__name__)
        return y

    def _labels(self, y: Any) -> tuple[Any, Any]:
        """Return labels of samples to keep in proportion on all parts of a split, and of those to keep in one part, or None."""
        return None, None

    def _column_options(self) -> ColumnOptions:
        check.one_of("preprocessing", self.preprocessing, ("auto", "standard", "piecewise", None))
        check.one_of("screening", self.screening, ("auto", "marginal", "pairs", None))
        check.one_of("missing", self.missing, ("indicator", "mean", "error"))
        return ColumnOptions(self.preprocessing, self.missing, self.screening)

    def _learn_categories(self, X: Any, sample_weight: Any) -> Categories | None:
        return categories.learn(X, self.categorical_features, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
