"""Wherever a function takes y, survival times for another model, and other targets for a survival model, name the remedy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from riata import (
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetIntervalRegressor,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
)
from riata.evidence import KnockoffSelector, holdout_p_values, permutation_importance
from tests.conftest import with_training

QUICK = with_training(hidden_dims=(2,), select=0.0, path_multiplier=10.0, n_iters=(2, 2), random_state=0)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
TIME, EVENT = rng.exponential(size=40), np.arange(40) % 2 == 0
FRAME = pd.DataFrame({"time": TIME, "event": EVENT})
SURVIVAL = {
    "structured": Surv.from_arrays(EVENT, TIME),
    "frame": FRAME,
    "strata": FRAME.assign(strata="a"),
    "intervals": np.array(list(zip(TIME, TIME, strict=True)), dtype=[("lower", float), ("upper", float)]),
}
OTHER = {
    "numbers": TIME,
    "labels": np.where(EVENT, "yes", "no"),
    "table": np.column_stack([X, X]),
    "list": list(TIME),
    "frame": pd.DataFrame(X, columns=list("abcd")),
}
CALLS = {
    "fit": lambda model, y: clone(model).fit(X, y),
    "path": lambda model, y: clone(model).path(X, y),
    "score": lambda model, y: model.score(X, y),
    "stability": lambda model, y: StabilitySelector(model, n_resamples=4, max_false=4).fit(X, y),
    "knockoffs": lambda model, y: KnockoffSelector(model, fdr=0.5).fit(X, y),
    "importance": lambda model, y: permutation_importance(model, X, y),
    "p-values": lambda model, y: holdout_p_values(model, X, y, n_draws=19),
}


def fitted(Estimator, y, **params):
    return Estimator(**(QUICK | params)).fit(X, y)


PLAIN = {
    "regressor": partial(fitted, LassoNetRegressor, TIME),
    "classifier": partial(fitted, LassoNetClassifier, EVENT),
    "regressor, folds": partial(fitted, LassoNetRegressorCV, TIME, cv=2),
    "classifier, folds": partial(fitted, LassoNetClassifierCV, EVENT, cv=2),
}
OF_OTHERS = {
    "linear": LinearRegression().fit(X, TIME),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, EVENT),
}
OF_TIMES = {
    "Cox": partial(fitted, LassoNetCoxRegressor, FRAME),
    "Cox, folds": partial(fitted, LassoNetCoxRegressorCV, FRAME, cv=2),
    "interval": partial(fitted, LassoNetIntervalRegressor, FRAME),
}


@pytest.mark.parametrize("y", SURVIVAL.values(), ids=SURVIVAL)
@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_survival_times_are_refused_by_models_of_numbers_and_classes(make, y):
    model = make()
    for call in CALLS.values():
        with pytest.raises(
            ValueError, match=rf"columns .* as survival times .* {type(model).__name__} .*use LassoNetCox"
        ):
            call(model, y)
    if type(model) in (LassoNetRegressor, LassoNetClassifier):
        with pytest.raises(ValueError, match="as survival times have"):
            clone(model).fit(X, EVENT if is_classifier(model) else TIME, X_val=X, y_val=y)


@pytest.mark.parametrize("y", SURVIVAL.values(), ids=SURVIVAL)
@pytest.mark.parametrize("model", OF_OTHERS.values(), ids=OF_OTHERS)
def test_survival_times_are_refused_for_models_of_other_packages(model, y):
    for name in ("stability", "knockoffs", "importance", "p-values"):
        with pytest.raises(
            ValueError, match=r"as survival times have, and L\w+ takes numbers or classes: use LassoNetCox"
        ):
            CALLS[name](model, y)


@pytest.mark.parametrize("y", OTHER.values(), ids=OTHER)
@pytest.mark.parametrize("make", OF_TIMES.values(), ids=OF_TIMES)
def test_other_targets_are_refused_by_survival_models_with_the_forms_that_they_take(make, y):
    model = make()
    for call in CALLS.values():
        with pytest.raises(
            ValueError, match=r"y must be .*structured array .*data frame .*(got shape|has the columns)"
        ):
            call(model, y)


def test_bounds_of_times_are_for_another_model():
    bounds = pd.DataFrame({"lower": TIME, "upper": TIME})
    with pytest.raises(ValueError, match="'lower', 'upper': bounds of times are for LassoNetIntervalRegressor"):
        LassoNetCoxRegressor(**QUICK).fit(X, bounds)


@pytest.mark.parametrize("make", [*PLAIN.values(), *OF_TIMES.values()], ids=[*PLAIN, *OF_TIMES])
def test_a_missing_target_is_named(make):
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(make()).fit(X, None)


def test_columns_of_several_targets_may_have_any_other_names():
    two = FRAME.assign(event=TIME).set_axis(["time", "dose"], axis=1)
    assert fitted(LassoNetRegressor, two).predict(X).shape == (40, 2)
    assert fitted(LassoNetRegressor, FRAME.to_numpy(dtype=float)).predict(X).shape == (40, 2)


@pytest.mark.parametrize("call", ["importance", "p-values"])
def test_losses_of_samples_are_not_known_for_survival_models_of_other_packages(call):
    model = CoxPHSurvivalAnalysis().fit(X, SURVIVAL["structured"])
    with pytest.raises(
        ValueError, match=r"the loss of each sample: of a classifier, .* a survival model of riata; got CoxPHSurvival"
    ):
        CALLS[call](model, SURVIVAL["structured"])


def test_stability_selection_takes_survival_models_of_other_packages():
    selector = StabilitySelector(CoxPHSurvivalAnalysis(), n_features=1, threshold=0.6, n_resamples=4, random_state=0)
    selector.fit(X, SURVIVAL["structured"])
    assert selector.frequencies_.sum() == pytest.approx(1)


@pytest.mark.parametrize("Estimator", [LassoNetCoxRegressor, LassoNetIntervalRegressor])
def test_scores_check_what_they_are_given(Estimator):
    with pytest.raises(NotFittedError):
        Estimator().score(X, FRAME)
    model = fitted(Estimator, FRAME)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, FRAME[:10])
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X, FRAME, sample_weight=np.full(40, -1.0))
