"""Methods on ordinary tables, each behind ``METHODS[name](task) -> Fitted``: importances and, where there is one, a model.

Samples come as they are in the table. riata gets them so; filters and trees do not depend on the scale of a column; the lasso,
the package lassonet and stochastic gates get standardised columns, Deep Lasso normal scores, as in its paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from experiments.baselines import filters, networks, packages, trees
from experiments.baselines.task import Task
from riata import LassoNetClassifier, LassoNetRegressor

Floats = NDArray[np.float64]
REFERENCE_ROWS = 4_000  # most samples that the package lassonet gets: its path on more takes too long
N_TREES = 200  # of forests: 500, as elsewhere, take minutes on 8,000 samples of a regression
_REFERENCE_HIDDEN = (100,)  # the package's default
_FOLDS = 3
_PENALTIES = np.logspace(-2.5, 0.5, 6)  # C of the logistic lasso
_LASSO_ITERATIONS = 100
_QUANTILES = 1_000


class Fitted(NamedTuple):
    """What a method makes of a table."""

    importances: Floats | None  # larger is more important; None: it does not rank
    model: Any = None  # predicts from samples as they are in the table; None: it only ranks
    n_kept: int | None = None  # columns that the model uses


def riata(task: Task) -> Fitted:
    """Fit a LassoNet by default."""
    model = lassonet(task).fit(task.X, task.y)
    return Fitted(model.feature_importances_, model, model.n_selected_)


def lassonet(task: Task, **settings: Any) -> LassoNetClassifier | LassoNetRegressor:
    """Return riata's estimator, not fitted yet."""
    estimator = LassoNetRegressor if task.regression else LassoNetClassifier
    return estimator(random_state=task.seed, **settings)


class _Reference:
    """The package's model at one point of its path; it knows no scaling."""

    def __init__(self, task: Task):
        rows = np.random.default_rng(task.seed).permutation(len(task.X))[:REFERENCE_ROWS]
        self._scaler = StandardScaler().fit(task.X)
        self._center, self._scale = (task.y.mean(), task.y.std()) if task.regression else (0, 1)
        y = (task.y - self._center) / self._scale if task.regression else task.y
        scaled = task._replace(X=self._scaler.transform(task.X[rows]).astype(np.float32), y=y[rows])
        self._model = networks.reference_path(scaled, _REFERENCE_HIDDEN, keep=True)
        self.importances = np.asarray(self._model.feature_importances_, dtype=np.float64)
        best = min(self._model.path_, key=lambda point: point.val_loss)
        self.n_kept = int(best.selected.sum())
        self._model.load(best)

    def predict(self, X: NDArray) -> NDArray:
        predicted = np.asarray(self._model.predict(self._scaler.transform(X).astype(np.float32))).ravel()
        return predicted * self._scale + self._center


def reference(task: Task) -> Fitted:
    """Follow the path of the package lassonet by default, and take its point of lowest validation loss."""
    model = _Reference(task)
    return Fitted(model.importances, model, model.n_kept)


def lasso(task: Task) -> Fitted:
    """Choose the penalty of a lasso (for classes: logistic) by cross-validation; importances are |coefficients|."""
    if task.regression:
        learner = LassoCV(cv=_FOLDS, random_state=task.seed)
    else:
        learner = LogisticRegressionCV(
            Cs=_PENALTIES,
            cv=_FOLDS,
            l1_ratios=(1.0,),
            solver="saga",
            scoring="neg_log_loss",
            max_iter=_LASSO_ITERATIONS,
            tol=1e-3,
            random_state=task.seed,
            use_legacy_attributes=False,
        )
    model = make_pipeline(StandardScaler(), learner).fit(task.X.astype(np.float64), task.y)
    importances = np.linalg.norm(np.atleast_2d(learner.coef_), axis=0)  # (d,)
    return Fitted(importances, model, int(np.count_nonzero(importances)))


def stg(task: Task) -> Fitted:
    """Rank by when stochastic gates open."""
    y = (task.y - task.y.mean()) / task.y.std() if task.regression else task.y
    return Fitted(_falling(packages.stg(task._replace(X=_standardised(task.X), y=y))))


def fisher(task: Task) -> Fitted:
    """Return the F statistic of each column."""
    return Fitted(filters.relevance(task))


def mrmr(task: Task) -> Fitted:
    """Rank by relevance over redundancy."""
    return Fitted(_falling(filters.mrmr(task._replace(X=_standardised(task.X)))))


def forest(task: Task) -> Fitted:
    """Return the mean decrease of impurity in a random forest."""
    return _trees(trees.fit_forest(task, N_TREES))


def boosting(task: Task) -> Fitted:
    """Return the gain of each column in boosted trees."""
    return _trees(trees.lightgbm(task))


def deep_lasso(task: Task) -> Fitted:
    """Return the norms of the loss's gradient by each column, of a network trained to keep them small."""
    return Fitted(networks.deep_lasso(task._replace(X=normal_scores(len(task.X)).fit_transform(task.X))))


def everything(task: Task) -> Fitted:
    """Rank nothing: all columns are for the learners."""
    return Fitted(None)


METHODS: dict[str, Callable[[Task], Fitted]] = {
    "riata": riata,
    "lassonet": reference,
    "deep_lasso": deep_lasso,
    "stg": stg,
    "lasso": lasso,
    "fisher": fisher,
    "mrmr": mrmr,
    "forest": forest,
    "boosting": boosting,
    "all": everything,
}
PREDICT = ("riata", "lassonet", "lasso", "forest", "boosting", "all")  # those with a model of their own


def fit(name: str, task: Task) -> Fitted:
    """Fit a method, quietly; a column without an importance has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = METHODS[name](task)
    if fitted.importances is None:
        return fitted
    return fitted._replace(importances=np.nan_to_num(np.asarray(fitted.importances, dtype=np.float64)))


def normal_scores(n: int) -> Any:
    """Return the transformer of columns to normal scores of variance 1: a column of two values would have one of 27."""
    scores = QuantileTransformer(n_quantiles=min(_QUANTILES, n), output_distribution="normal", subsample=None)
    return make_pipeline(scores, StandardScaler())


def _standardised(X: NDArray) -> NDArray[np.float32]:
    return StandardScaler().fit_transform(X).astype(np.float32)


def _falling(order: NDArray[np.int64]) -> Floats:
    """Return importances that fall along an order."""
    importances = np.zeros(len(order))
    importances[order] = np.arange(len(order), 0, -1)
    return importances


def _trees(model: Any) -> Fitted:
    importances = np.asarray(model.feature_importances_, dtype=np.float64)
    return Fitted(importances, model, int(np.count_nonzero(importances)))
