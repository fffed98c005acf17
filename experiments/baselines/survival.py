"""Methods for survival times, each behind ``METHODS[name](task) -> Model``.

Packages are imported where they are used; install ``riata[experiments,survival]`` for them.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from experiments.baselines.packages import quiet
from riata import LassoNetCoxRegressor, LassoNetCoxRegressorCV

Floats = NDArray[np.float64]

COUNTS = (1, 2, 3, 5, 10, 20, 50)  # of columns that models with few of them have
OWN_SCALING = ("riata", "riata_cv")  # prepare columns themselves; the others get standardised ones
_FOLDS = 5
_MIN_RATIOS = (0.01, 0.05, 0.1, 0.2)  # of the smallest to the largest α: tried in turn while the solver diverges
_N_TREES, _N_STAGES = 100, 100
_MANY_SAMPLES, _LEAF = 1_000, 15  # more samples than that need larger leaves: each holds a function of time
_MANY_TIMES = 200  # more times than that are rounded up to as many quantiles for the forest
_MANY_COLUMNS = 1_000  # more columns than that are sampled for boosting, too
_VAL = 0.2  # share of the training samples that lassonet is validated on
_LIMIT = 1_200  # seconds for lassonet's path


class Task(NamedTuple):
    """What a method is given."""

    X: NDArray[np.float32]
    y: NDArray  # structured: event, time
    seed: int


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model: risks, survival functions where there are any, the columns in use, and models with fewer columns."""

    risk: Callable[[NDArray], Floats]  # higher where events come earlier
    survival: Callable[[NDArray, Floats], Floats] | None  # at these times, (n, times)
    features: NDArray[np.int64]
    few: Callable[[int], Model | None] | None = None  # with at most so many columns
    complete: bool = True  # False: stopped by a limit of time


def concordance(y: NDArray, risk: NDArray) -> float:
    """Return Harrell's concordance by scikit-survival."""
    from sksurv.metrics import concordance_index_censored

    return float(concordance_index_censored(y["event"], y["time"], risk)[0])


def at_times(known: Floats, values: Floats, times: Floats) -> Floats:
    """Return step functions with these values at the known times, 1 before them, at other times: (n, times)."""
    padded = np.hstack([np.ones((len(values), 1)), values])
    return padded[:, np.searchsorted(known, times, side="right")]


def riata(task: Task) -> Model:
    """LassoNetCoxRegressor at its defaults: a point selected on held-out samples."""
    return _riata(LassoNetCoxRegressor(random_state=task.seed).fit(task.X, task.y))


def riata_cv(task: Task) -> Model:
    """LassoNetCoxRegressorCV at its defaults, with five folds."""
    return _riata(LassoNetCoxRegressorCV(cv=_FOLDS, random_state=task.seed).fit(task.X, task.y))


def _riata(model: Any) -> Model:
    return Model(
        model.predict,
        _step_functions(model),
        np.flatnonzero(model.selected_),
        lambda k: _riata(model.at(n_features=k)),
    )


def _step_functions(model: Any, **arguments: Any) -> Callable[[NDArray, Floats], Floats]:
    """Return what a model of riata or scikit-survival says of survival, at other times than its own."""

    def survival(X: NDArray, times: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            values = model.predict_survival_function(X, return_array=True, **arguments)
        values = np.clip(np.nan_to_num(values, nan=0.0, posinf=0.0), 0, 1)  # Coxnet's hazards may overflow
        return at_times(model.unique_times_, values, times)

    return survival


def coxnet(task: Task) -> Model:
    """Solve the lasso's path by scikit-survival; α has the highest mean concordance over five folds."""
    path = _coxnet(task.X, task.y, fit_baseline_model=True)
    scores = []
    for fit, held_out in StratifiedKFold(_FOLDS, shuffle=True, random_state=task.seed).split(task.X, task.y["event"]):
        fold = _coxnet(task.X[fit], task.y[fit], alphas=path.alphas_)
        scores.append([concordance(task.y[held_out], risk) for risk in (task.X[held_out] @ fold.coef_).T])
    n_points = min(len(path.alphas_), *map(len, scores))
    means = np.mean([line[:n_points] for line in scores], axis=0)
    return _coxnet_model(path, int(means.argmax()))


def _coxnet(X: NDArray, y: NDArray, alphas: Floats | None = None, fit_baseline_model: bool = False) -> Any:
    """Solve the path to an α at which it still converges."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    X = X.astype(np.float64)
    for ratio in _MIN_RATIOS:
        ours = None if alphas is None else alphas[alphas >= ratio * alphas[0]]
        model = CoxnetSurvivalAnalysis(
            l1_ratio=1.0, alphas=ours, alpha_min_ratio=ratio, fit_baseline_model=fit_baseline_model
        )
        try:
            with quiet():
                return model.fit(X, y)
        except ArithmeticError:
            continue
    raise ArithmeticError(f"coxnet diverges even at {_MIN_RATIOS[-1]:g} of the largest α")


def _coxnet_model(path: Any, index: int) -> Model:
    counts = (path.coef_ != 0).sum(axis=0)

    def few(k: int) -> Model:
        dense = counts[counts <= k].max()
        return _coxnet_model(path, int(np.flatnonzero(counts == dense)[-1]))

    return Model(
        lambda X: X.astype(np.float64) @ path.coef_[:, index],
        _step_functions(path, alpha=path.alphas_[index]),
        np.flatnonzero(path.coef_[:, index]),
        few,
    )


def forest(task: Task) -> Model:
    """Grow a random survival forest of scikit-survival.

    A leaf holds a function of time. To bound memory, times are rounded up to 200 quantiles where there are more, and leaves
    have 15 samples where there are more than 1,000.
    """
    from sksurv.ensemble import RandomSurvivalForest

    leaf = {"min_samples_leaf": _LEAF, "min_samples_split": 2 * _LEAF} if len(task.y) > _MANY_SAMPLES else {}
    model = RandomSurvivalForest(_N_TREES, max_features="sqrt", random_state=task.seed, n_jobs=1, **leaf)
    model.fit(task.X, coarse(task.y))
    used = np.unique(np.concatenate([tree.tree_.feature for tree in model.estimators_]))
    return Model(model.predict, _step_functions(model), used[used >= 0])


def coarse(y: NDArray) -> NDArray:
    """Round times up to at most 200 of them."""
    if len(np.unique(y["time"])) <= _MANY_TIMES:
        return y
    kept = np.unique(np.quantile(y["time"], np.linspace(0, 1, _MANY_TIMES + 1)[1:], method="higher"))
    y = y.copy()
    y["time"] = kept[np.searchsorted(kept, y["time"])]
    return y


def boosting(task: Task) -> Model:
    """Boost Cox's model with 100 trees of scikit-survival, each on half of the samples."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    columns = "sqrt" if task.X.shape[1] > _MANY_COLUMNS else None
    model = GradientBoostingSurvivalAnalysis(
        n_estimators=_N_STAGES, subsample=0.5, max_features=columns, random_state=task.seed
    )
    model.fit(task.X, task.y)
    return Model(model.predict, _step_functions(model), np.flatnonzero(model.feature_importances_))


class _OutOfTime(Exception):
    """The path takes longer than it may."""


def lassonet(task: Task) -> Model:
    """Solve the path of the package lassonet; the point has the highest of its scores on a fifth of the training samples.

    It stops where it takes more than twenty minutes, and the point is one of those that there are then.
    """
    from lassonet import LassoNetCoxRegressor as Cox

    fit, val = train_test_split(
        np.arange(len(task.y)), test_size=_VAL, stratify=task.y["event"], random_state=task.seed
    )
    y = np.column_stack([task.y["time"], task.y["event"]]).astype(np.float32)
    model = Cox(tie_approximation="breslow", random_state=task.seed, torch_seed=task.seed, device="cpu", verbose=0)
    points = _LassonetPoints(task.X[val], y[val])
    complete = True
    try:
        with quiet():
            model.path(
                task.X[fit],
                y[fit],
                X_val=task.X[val],
                y_val=y[val],
                callback=points.keep,
                disable_lambda_warning=True,
            )
    except _OutOfTime:
        complete = False
    return _lassonet_model(model, points, points.best, complete)


class _LassonetPoints:
    """The weights of the best point of a path, and of the densest with at most 1, 2, 3, … columns."""

    def __init__(self, X_val: NDArray, y_val: NDArray):
        self._X, self._y = X_val, y_val
        self._end = time.perf_counter() + _LIMIT
        self._highest = -np.inf
        self.best: Any = None
        self.few: dict[int, Any] = {}

    def keep(self, model: Any, path: Sequence[Any]) -> None:
        """Look at the last point of a path."""
        score = model.score(self._X, self._y)
        reached = [k for k in COUNTS if k not in self.few and model.model.selected_count() <= k]
        if score > self._highest or reached:
            weights = copy.deepcopy(model.model.state_dict())
            if score > self._highest:
                self._highest, self.best = score, weights
            self.few |= dict.fromkeys(reached, weights)
        if time.perf_counter() > self._end:
            raise _OutOfTime


def _lassonet_model(model: Any, points: _LassonetPoints, weights: Any, complete: bool) -> Model:
    def risk(X: NDArray) -> Floats:
        return model.load(weights).predict(X)[:, 0].astype(np.float64)

    model.load(weights)
    return Model(
        risk,
        None,
        np.flatnonzero(model.model.input_mask().numpy()),
        lambda k: _lassonet_model(model, points, points.few[k], complete) if k in points.few else None,
        complete,
    )


def kaplan_meier(task: Task) -> Model:
    """Predict the same for all samples."""
    from sksurv.nonparametric import kaplan_meier_estimator

    known, values = kaplan_meier_estimator(task.y["event"], task.y["time"])
    return Model(
        lambda X: np.zeros(len(X)),
        lambda X, times: at_times(known, np.tile(values, (len(X), 1)), times),
        np.arange(0),
    )


METHODS: dict[str, Callable[[Task], Model]] = {
    "riata_cv": riata_cv,
    "riata": riata,
    "coxnet": coxnet,
    "forest": forest,
    "boosting": boosting,
    "lassonet": lassonet,
    "kaplan_meier": kaplan_meier,
}


def fit(name: str, task: Task) -> Model:
    """Fit a method; warnings about few samples are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[name](task)
