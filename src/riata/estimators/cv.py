"""λ, M and the widths of the network by cross-validation.

First the path of every candidate (a value of M, a shape of the network) is solved once on all samples, a part of which
validates. That gives the grid of λ, the iterations of the dense model, and the λ at which enough has changed for a score.
Then the path is solved at these λ on the training samples of each fold, with nothing held out but the fold, and scored on
the fold; at the end it is solved on all samples. A replica is what the plain estimator does with ``lambda_seq``,
``n_iters`` and ``val_size=0``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from riata import check
from riata.estimators import folds, saving
from riata.estimators.classifier import LassoNetClassifier
from riata.estimators.cox import LassoNetCoxRegressor, most_features
from riata.estimators.documentation import documented
from riata.estimators.folds import Candidate, Choice, Fold, Samples, Whole
from riata.estimators.plots import CrossValidationPlots
from riata.estimators.regressor import LassoNetRegressor
from riata.estimators.selector import named
from riata.estimators.supervised import Supervised
from riata.estimators.training import on_gpu, refuse_distributed
from riata.jobs import Job, beside, run
from riata.losses.survival import EVENT
from riata.path import selection
from riata.path.points import Path, Point
from riata.preprocess import categories
from riata.storage import Checkpoint

__all__ = ["LassoNetClassifierCV", "LassoNetRegressorCV"]


@dataclass(repr=False, eq=False)
class CrossValidated(CrossValidationPlots, Supervised):
    """Selects a point of the path, and the best of several networks, by cross-validation."""

    _single: ClassVar[type[Supervised]]  # the estimator of all samples
    _distributes: ClassVar[bool] = False
    _streams: ClassVar[bool] = False

    _: KW_ONLY
    cv: Any = 5
    scoring: Any = None
    n_jobs: int | None = None

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Score the points of the path by cross-validation, select one, and solve the path on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories (``categorical_features``). Column names of a data frame are kept.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, in training and in scores.
        groups : array-like of shape (n_samples,), optional
            Samples to keep in one fold, such as those of one patient or one batch: passed to the splitter.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.

        Returns
        -------
        self
            The estimator fitted on all samples, at the selected point.
        """
        with self._all_or_nothing(), saving.opened(self, resume) as saved:
            return self._cross_validate(X, y, sample_weight, groups, saved)

    def _cross_validate(self, X: Any, y: Any, sample_weight: Any, groups: Any, saved: Checkpoint) -> Self:
        refuse_distributed(self.training, type(self).__name__)
        rows = self._rows(self._opened(X), y, sample_weight)
        seed = int(check_random_state(saved.seed(self.random_state)).randint(np.iinfo(np.int32).max))
        estimators = self._estimators(seed)
        splits = self._splits(rows, groups, seed)
        scorer = self._scorer()
        data = {"X": rows.X, "y": rows.y, "sample_weight": rows.weights, "the folds": splits}
        saved.begin(lambda: saving.fingerprint(self, data, levels=self._categories))
        candidates = self._candidates(estimators, rows, saved)
        results, known = self._results(candidates, rows, splits, scorer, saved)
        choice = self._choose(self._allowed(results, rows.y))
        row: Any = results.loc[choice.row]
        candidate = candidates[row["candidate"]]
        estimator = self._final(candidate).set_params(checkpoint=saved.part("whole", 1))
        choose = _Chosen(self.n_features_to_select, self.select, float(row["lambda_"]), choice)
        (fitted,) = run(folds.final, [Job("the path on all rows", (estimator, candidate, rows, choose, known))])
        self._store(fitted._solved, fitted.point_)
        self.cv_results_, self.cv_index_ = results.drop(columns="candidate"), choice.row
        self.cv_n_selected_, self.cv_score_ = choice.n_selected, choice.score
        self.cv_score_se_ = float(row["se_test_score"])
        self.M_, self.hidden_dims_ = float(estimator.M), estimator.hidden_dims
        return self

    def path(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Path:
        """Fit, and return the path on all samples; :meth:`load` moves the model to any of its points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample.
        groups : array-like of shape (n_samples,), optional
            Samples to keep in one fold.

        Returns
        -------
        Path
            From the dense model to the empty one.
        """
        return self.fit(X, y, sample_weight, groups=groups).path_

    @property
    def cv_score_name(self) -> str:
        """Name of the score that cross-validation maximises: that of the estimator's own score, or of ``scoring``."""
        if self.scoring is None:
            return self.score_name
        if isinstance(self.scoring, str):
            return self.scoring
        function = getattr(self.scoring, "_score_func", self.scoring)  # of a scorer of scikit-learn
        name = getattr(function, "__name__", type(function).__name__)
        return f"minus {name}" if getattr(self.scoring, "_sign", 1) < 0 else name

    # Steps of fit.

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Samples:
        self._categories = self._learn_categories(X, sample_weight)
        checked, y = self._validated(X, y, reset=True, ensure_min_samples=2)
        self._check_number()
        n = checked.shape[0]
        weights = None if sample_weight is None else check.sample_weight(sample_weight, n)
        self._learn_target(y, np.ones(n) if weights is None else weights)
        names = getattr(self, "feature_names_in_", None)
        if self._categories is not None:  # every fold learns its own levels
            return Samples(categories.as_frame(X), y, weights)
        return Samples(named(checked, names), y, weights)

    def _estimators(self, seed: int) -> list[Supervised]:
        """Return one estimator for each pair of a shape and an M, all of them checked."""
        check.one_of("refit", self.refit, (False, "warm", "scratch"))
        shapes = [self.hidden_dims] if callable(self.hidden_dims) else _shapes(self.hidden_dims)
        strengths = list(self.M) if isinstance(self.M, Iterable) else [self.M]
        if not shapes or not strengths:
            raise ValueError("hidden_dims and M must hold at least one candidate each")
        names = self._single().get_params().keys()
        shared = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        if self._categories is not None:  # by type, some rows of a column might look like numbers
            shared["categorical_features"] = list(self._categories.columns)
        found = []
        for shape, M in product(shapes, strengths):
            own = {"hidden_dims": shape, "M": M, "refit": False, "verbose": 0, "random_state": seed, "checkpoint": None}
            found.append(self._single(**{**shared, **own}))
            found[-1]._settings()
        return found

    def _splits(self, rows: Samples, groups: Any, seed: int) -> list[Fold]:
        """Return the samples of every fold; a number of folds means shuffled ones, stratified by class."""
        labels, together = self._labels(rows.y)
        groups = together if groups is None else groups
        classes = labels is not None
        if isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool):
            kinds = (StratifiedKFold, StratifiedGroupKFold) if classes else (KFold, GroupKFold)
            kind = kinds[0] if groups is None else kinds[1]
            splitter = kind(check.whole("cv", self.cv, 2), shuffle=True, random_state=seed)
        else:
            splitter = check_cv(self.cv, labels if classes else rows.y, classifier=classes)
        parts = splitter.split(rows.X, labels if classes else rows.y, groups)
        pairs = [[folds.in_use(part, rows.weights) for part in pair] for pair in parts]
        return [Fold(f"fold {i} of {len(pairs)}", *pair) for i, pair in enumerate(pairs, 1)]

    def _scorer(self) -> Any:
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be one scorer, as λ is selected by one score; got {self.scoring!r}")
        return check_scoring(self._single(), self.scoring)

    def _candidates(self, estimators: Sequence[Supervised], rows: Samples, saved: Checkpoint) -> list[Candidate]:
        """Solve every estimator's path once."""
        whole = [estimator.set_params(select=0.0, n_features_to_select=None) for estimator in estimators]
        jobs = []
        for i, estimator in enumerate(whole, 1):
            part = saved.part("path", i)
            replica = clone(estimator).set_params(checkpoint=part)
            name = f"the first path with {_described(estimator)}"
            jobs.append(Job(name, (folds.first, part, replica, rows, self.refit)))
        ahead = self._run(jobs, "paths on all samples")
        return [folds.candidate(*each, self.refit) for each in zip(whole, ahead, strict=True)]

    def _run(self, jobs: Sequence[Job], title: str) -> list[Any]:
        """Do the work of every job, or take it from the checkpoint; on a GPU side by side, if there is none."""
        shown = bool(self.verbose)
        return run(saving.kept, jobs, n_jobs=self.n_jobs, side_by_side=self._beside, title=title, shown=shown)

    @property
    def _beside(self) -> bool:
        return self.checkpoint is None and beside(self.n_jobs, on_gpu(self.training))

    def _results(
        self,
        candidates: Sequence[Candidate],
        rows: Samples,
        splits: Sequence[Fold],
        scorer: Any,
        saved: Checkpoint,
    ) -> tuple[pd.DataFrame, Whole | None]:
        """Solve the path of every candidate on every fold; return one row for each candidate and λ.

        Where folds are solved side by side, the path on all rows may be solved beside them; it is returned too.
        """
        jobs = []
        for i, (candidate, fold) in enumerate(product(candidates, splits), 1):
            name, part = f"{fold.name} with {_described(candidate.estimator)}", saved.part("fold", i)
            replica = clone(candidate.estimator).set_params(checkpoint=part)
            jobs.append(Job(name, (folds.scores, part, replica, candidate, rows, fold, scorer)))
        if self._beside and len(candidates) == 1 and self.n_features_to_select is None:
            jobs.append(Job("the path on all rows", (folds.whole, None, self._final(candidates[0]), rows)))
        scores = iter(self._run(jobs, "folds"))
        frames = [folds.table(candidate, [next(scores) for _ in splits]) for candidate in candidates]
        results = pd.concat(frames, keys=range(len(frames)), names=["candidate", None]).reset_index("candidate")
        if is_classifier(self) and self.scoring in (None, "accuracy"):
            results["se_test_score"] = np.maximum(results["se_test_score"], folds.binomial_error(results, splits))
        return results.reset_index(drop=True), next(scores, None)

    def _final(self, candidate: Candidate) -> Supervised:
        """Return the estimator of all rows."""
        final: Supervised = clone(candidate.estimator)
        final.set_params(n_features_to_select=self.n_features_to_select, verbose=self.verbose)
        return final

    def _lowest(self, results: pd.DataFrame) -> float:
        """Return the lowest score that will do: the best less its standard error, or less 0.5 % of what it is worth."""
        best: Any = results.loc[folds.best(results).row]
        empty = float(results.sort_values("n_selected", kind="stable")["mean_test_score"].iloc[0])
        worth = selection.TOLERANCE * (best["mean_test_score"] - empty)
        return float(best["mean_test_score"] - max(best["se_test_score"], worth))

    def _allowed(self, results: pd.DataFrame, y: Any) -> pd.DataFrame:
        """Return the rows that may be selected."""
        return results

    def _choose(self, results: pd.DataFrame) -> Choice:
        """Select a candidate and a λ."""
        if results["mean_test_score"].isna().all():
            raise ValueError(
                "no fold has a score: check that scoring suits the target, and that folds are large enough"
            )
        if self.n_features_to_select is not None:
            away = (results["n_selected"] - self.n_features_to_select).abs()
            return folds.best(results.loc[away.groupby(results["candidate"], sort=False).idxmin()])
        if not isinstance(self.select, str):
            reached = results[results["lambda_"] <= self.select * (1 + 1e-9)]
            return folds.best(reached.groupby("candidate", sort=False).tail(1))
        if self.select in ("best", "auto"):
            return folds.best(results)
        lowest = self._lowest(results)
        if np.isnan(lowest):
            raise ValueError('select="1se" needs at least two folds: give more, or select="best"')
        lines = (line for _, line in results.groupby("candidate", sort=False))
        fewest = [folds.fewest(line, lowest) for line in lines if line["mean_test_score"].max() >= lowest]
        return min(fewest, key=lambda choice: (choice.n_selected, -choice.score))


class _Chosen(NamedTuple):
    """Selects the point of the path on all samples."""

    n_features: int | None
    select: str | float
    lambda_: float
    choice: Choice

    def __call__(self, path: Path) -> Point:
        """Return a point; at the same λ all samples may hold more features than the folds do, or fewer."""
        if self.n_features is not None or not isinstance(self.select, str):
            return selection.select(path, self.n_features, self.select)
        return path[selection.nearest(path, self.choice.n_selected, self.choice.too_few, self.lambda_)]


@documented
@dataclass(repr=False, eq=False)
class LassoNetClassifierCV(CrossValidated, LassoNetClassifier):
    """Classifier that selects λ, and M and the network where several are given, by cross-validation.

    Points of the path are scored on the samples of each fold, by networks that have not seen them. The fitted estimator
    holds a path on all samples, and is at the point with about as many features as the folds ask for.

    Parameters
    ----------
    <cv parameters>
    <parameters>
    <classification loss>
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with those of the samples.

    Attributes
    ----------
    <cv attributes>
    <attributes>
    classes_ : array
        The classes; for a table of labels, the positions of its columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from riata import LassoNetClassifierCV, Training
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LassoNetClassifierCV((10,), cv=3, training=Training(path_multiplier=1.1), random_state=0).fit(X, y)
    >>> model.n_selected_ < 30 and model.cv_score_ > 0.9
    True
    """

    _single: ClassVar[type[Supervised]] = LassoNetClassifier


@documented
@dataclass(repr=False, eq=False)
class LassoNetRegressorCV(CrossValidated, LassoNetRegressor):
    """Regressor that selects λ, and M and the network where several are given, by cross-validation.

    It works as :class:`LassoNetClassifierCV` does.

    Parameters
    ----------
    <cv parameters>
    <parameters>
    <regression loss>

    Attributes
    ----------
    <cv attributes>
    <attributes>

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressorCV(hidden_dims=(10,), M=[0, 10], cv=3, random_state=0).fit(X, y)
    >>> model.M_ in (0, 10) and model.n_selected_ <= 10
    True
    """

    _single: ClassVar[type[Supervised]] = LassoNetRegressor


@documented
@dataclass(repr=False, eq=False)
class LassoNetCoxRegressorCV(CrossValidated, LassoNetCoxRegressor):
    """Cox's model with a network that selects λ, and M and the network where several are given, by cross-validation.

    It works as :class:`LassoNetClassifierCV` does. The score of a fold is its concordance, folds have events in proportion, and
    the default is ``select="auto"``: the best mean score with at most one feature for five events.

    Parameters
    ----------
    <cv parameters>
    <parameters>
    ties : {"breslow", "efron"}, default="breslow"
        How events at the same time count.

    Attributes
    ----------
    <cv attributes>
    <attributes>
    unique_times_, strata_
        As for :class:`LassoNetCoxRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import LassoNetCoxRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), rng.random(200) < 0.7])
    >>> LassoNetCoxRegressorCV(hidden_dims=(5,), M=[0, 10], cv=3, random_state=0).fit(X, y).selected_[0]
    np.True_
    """

    _: KW_ONLY
    select: str | float = "auto"

    _rules = LassoNetCoxRegressor._rules
    _single: ClassVar[type[Supervised]] = LassoNetCoxRegressor

    def _allowed(self, results: pd.DataFrame, y: Any) -> pd.DataFrame:
        if self.select != "auto" or self.n_features_to_select is not None:
            return results
        few = results[results["n_selected"] <= most_features(int(y[:, EVENT].sum()))]
        return few if few["mean_test_score"].notna().any() else results


def _shapes(hidden_dims: Any) -> list[tuple[int, ...]]:
    nested = isinstance(hidden_dims, Iterable) and all(isinstance(shape, Iterable) for shape in hidden_dims)
    return [check.hidden_dims(shape) for shape in (hidden_dims if nested else [hidden_dims])]


def _described(estimator: Supervised) -> str:
    network = "the network" if callable(estimator.hidden_dims) else f"hidden_dims={estimator.hidden_dims}"
    return f"M={estimator.M:g}, {network}"
