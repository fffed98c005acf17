"""Laws of Cox's model as an estimator: what it selects, what changes nothing, strata, subjects, and scikit-learn's tools."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.metrics import (
    as_concordance_index_ipcw_scorer,
    as_cumulative_dynamic_auc_scorer,
    as_integrated_brier_score_scorer,
)
from sksurv.util import Surv

from riata import LassoNetCoxRegressor, LassoNetCoxRegressorCV
from riata.estimators import base
from riata.path import selection
from tests.conftest import with_training

QUICK = {
    "hidden_dims": (8,),
    "select": "best",
    "path_multiplier": 1.3,
    "n_iters": (200, 20),
    "random_state": 0,
}
N, D = 300, 30


def simulated(log_hazard, n=N, d=D, seed=0):
    """Return samples, times in whole hundredths, some censored, and the events."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    time, censored = rng.exponential(np.exp(-log_hazard(X))), rng.exponential(2.0, size=n)
    return X, pd.DataFrame({"time": np.minimum(time, censored).round(2) + 0.01, "event": time <= censored})


def cox(**params) -> LassoNetCoxRegressor:
    return LassoNetCoxRegressor(**with_training(**(QUICK | params)))


X, Y = simulated(lambda X: 1.2 * X[:, 0] - X[:, 1])
STRATA = np.array(["a", "b", "c"])[np.arange(N) % 3]
NARROW = X[:, :6]


@pytest.fixture(scope="module")
def fitted() -> LassoNetCoxRegressor:
    return cox().fit(X, Y)


def same(one: LassoNetCoxRegressor, other: LassoNetCoxRegressor, X=X) -> None:
    """Two models are the same to the last bit."""
    np.testing.assert_array_equal(one.selected_, other.selected_)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


# What it selects.


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_columns_with_linear_effects_are_found_among_thirty(ties):
    model = cox(n_features_to_select=2, ties=ties).fit(X, Y)
    assert set(np.flatnonzero(model.selected_)) == {0, 1}
    assert (model.coef_ != 0).tolist() == model.selected_.tolist()
    fresh = simulated(lambda X: 1.2 * X[:, 0] - X[:, 1], seed=1)
    assert model.score(*fresh) > 0.75  # 0.5 is chance


def test_a_column_whose_effect_is_a_u_is_found_among_thirty():
    samples, y = simulated(lambda X: 1.5 * X[:, 3] ** 2 - X[:, 7], n=400)
    model = cox(n_features_to_select=2).fit(samples, y)
    assert set(np.flatnonzero(model.selected_)) == {3, 7}
    line = np.linspace(-2, 2, 3)[:, None] * (np.arange(D) == 3)
    low, middle, high = model.predict(line)
    assert low > middle < high


def test_mini_batches_find_the_same_columns():
    model = cox(n_features_to_select=2, batch_size=64, n_iters=(50, 8)).fit(X, Y)
    assert set(np.flatnonzero(model.selected_)) == {0, 1}


def test_a_clinical_covariate_without_costs_is_kept():
    model = cox(feature_costs=(np.arange(D) != 5).astype(float)).fit(X, Y)
    assert all(point.selected[5] for point in model.path_)
    assert model.path_[-1].n_selected == 1


def test_columns_of_a_group_are_selected_together():
    groups = np.arange(D) // 3
    model = cox(feature_groups=groups, n_features_to_select=3).fit(X, Y)
    assert set(np.flatnonzero(model.selected_)) == {0, 1, 2}
    for point in model.path_:
        assert (point.selected.reshape(-1, 3).sum(axis=1) % 3 == 0).all()


def test_categories_and_gaps_are_features_like_any_other():
    rng = np.random.default_rng(2)
    site = rng.choice(["north", "south", "west"], N)
    base_, y = simulated(lambda X: X[:, 0] + 2.0 * (site == "west"), d=5)
    frame = pd.DataFrame(base_, columns=[*"pqrst"]).assign(site=pd.Categorical(site))
    frame.loc[rng.random(N) < 0.2, "q"] = np.nan
    model = cox(n_features_to_select=2).fit(frame, y)
    assert list(model.get_feature_names_out()) == ["p", "site"]
    assert model.score(frame, y) > 0.7
    frame.loc[:5, "site"] = np.nan
    assert np.isfinite(model.predict_survival_function(frame, return_array=True)).all()


# What changes nothing.


@pytest.mark.parametrize(
    "form",
    [
        lambda y: Surv.from_dataframe("event", "time", y),
        lambda y: y.to_numpy(dtype=float),
        lambda y: pl.from_pandas(y),
        lambda y: y[["event", "time"]],
        lambda y: y.assign(entry=-1.0)[["entry", "time", "event"]].to_numpy(dtype=float),
        lambda y: y.assign(strata="all"),
    ],
    ids=["structured", "array", "polars", "another order", "entries before all times", "one stratum"],
)
def test_the_form_of_the_target_changes_nothing(fitted, form):
    model = cox().fit(X, form(Y))
    same(fitted, model)
    assert model.score(X, form(Y)) == fitted.score(X, Y)
    np.testing.assert_array_equal(model.unique_times_, fitted.unique_times_)


def test_the_unit_of_time_changes_nothing(fitted):
    model = cox().fit(X, Y.assign(time=365.25 * Y["time"]))
    same(fitted, model)
    np.testing.assert_allclose(model.unique_times_, 365.25 * fitted.unique_times_)
    days, years = (each.predict_survival_function(X[:9], return_array=True) for each in (model, fitted))
    np.testing.assert_array_equal(days, years)


def test_any_increasing_function_of_time_changes_nothing_but_the_times(fitted):
    same(fitted, cox().fit(X, Y.assign(time=np.log1p(Y["time"]))))


def test_names_of_strata_change_nothing():
    one, two = (cox().fit(X, Y.assign(strata=names)) for names in (STRATA, np.arange(N) % 3 + 10))
    same(one, two)
    expected = one.predict_survival_function(X, STRATA, return_array=True)
    np.testing.assert_array_equal(two.predict_survival_function(X, np.arange(N) % 3 + 10, return_array=True), expected)


def test_samples_of_weight_zero_are_left_out():
    used = np.arange(N) % 4 > 0
    same(cox().fit(X[used], Y[used]), cox().fit(X, Y, sample_weight=2.0 * used))


def test_without_a_validation_part_a_sample_of_weight_two_is_the_sample_twice():
    twice = np.concatenate([np.arange(N), np.arange(40)])
    weights = 1.0 + (np.arange(N) < 40)
    model = cox(val_size=0, n_features_to_select=2)
    one, two = clone(model).fit(X, Y, sample_weight=weights), clone(model).fit(X[twice], Y.iloc[twice])
    same(one, two)
    np.testing.assert_allclose(  # sums of repeated samples are rounded in another order
        one.predict_survival_function(X[:9], return_array=True),
        two.predict_survival_function(X[:9], return_array=True),
        rtol=1e-9,
    )


def test_a_seed_gives_the_same_model_again(fitted):
    same(fitted, clone(fitted).fit(X, Y))


# Points of the path.


def test_points_of_the_path_are_models(fitted):
    for n_features in (0, 1, 2, 5):
        at = fitted.at(n_features=n_features)
        assert at.n_selected_ <= n_features
        survival = at.predict_survival_function(X[:9], return_array=True)
        assert survival.shape == (9, len(at.unique_times_))
        assert (np.diff(survival, axis=1) <= 0).all() and (survival <= 1).all() and (survival >= 0).all()
    assert np.ptp(fitted.at(n_features=0).predict(X)) == 0
    assert fitted.at(n_features=0).score(X, Y) == 0.5


def test_hazards_are_relative_to_those_of_an_average_sample():
    model = cox(preprocessing="standard").fit(X, Y)
    average = model._solved.preprocessing.scaling.center[None]  # of the training samples
    np.testing.assert_allclose(model.predict(average), 0, atol=1e-6)
    np.testing.assert_allclose(model.at(lambda_=1e9).predict(X), 0, atol=1e-12)  # without features


def test_each_point_has_a_baseline_of_its_own(fitted):
    model = fitted.at(n_features=2)
    before = model.predict_survival_function(X[:9], return_array=True)
    model.load(fitted.path_[-1])
    assert np.ptp(model.predict_survival_function(X[:9], return_array=True), axis=0).max() == 0
    model.load(fitted.at(n_features=2).point_)
    np.testing.assert_array_equal(model.predict_survival_function(X[:9], return_array=True), before)


@pytest.mark.parametrize("refit", [False, "warm", "scratch"])
def test_every_refit_predicts_survival(refit):
    model = cox(refit=refit, n_features_to_select=2).fit(X, Y)
    assert model.score(X, Y) > 0.75
    # The model expects about as many to survive as do: the mean survival function is near the Kaplan-Meier estimate.
    time = np.median(Y["time"])
    mean = np.mean([function(time) for function in model.predict_survival_function(X)])
    events = Y[Y["event"] & (Y["time"] <= time)]["time"]
    kaplan_meier = np.prod([1 - (events == t).sum() / (Y["time"] >= t).sum() for t in np.unique(events)])
    assert mean == pytest.approx(kaplan_meier, abs=0.05)  # about its standard error with 300 samples is 0.03


def test_selected_columns_alone_are_used(fitted):
    model = fitted.at(n_features=3)
    noise = np.random.default_rng(3).normal(size=X.shape)
    np.testing.assert_allclose(model.predict(np.where(model.selected_, X, noise)), model.predict(X), atol=1e-12)


# Copies.


@pytest.mark.parametrize("strata", [False, True])
def test_survival_functions_survive_pickling(strata):
    y = Y.assign(strata=STRATA) if strata else Y
    labels = STRATA if strata else None
    model = cox().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    same(model, again)
    for method in ("predict_survival_function", "predict_cumulative_hazard_function"):
        expected = getattr(model, method)(X, labels, return_array=True)
        np.testing.assert_array_equal(getattr(again, method)(X, labels, return_array=True), expected)
    assert again.score(X, y) == model.score(X, y)
    other = again.load(again.path_[0])
    with pytest.raises(
        ValueError, match="a pickled or loaded model does not hold: move to the point before you pickle"
    ):
        other.predict_survival_function(X, labels)


def test_moving_and_copying_a_model_estimate_no_baseline(fitted, monkeypatch):
    model = fitted.at(n_features=3)
    monkeypatch.setattr("riata.estimators.cox.breslow", lambda *_: pytest.fail("the baseline was estimated"))
    assert model.at(n_features=2).n_selected_ <= 2
    assert deepcopy(model).n_selected_ == model.n_selected_
    monkeypatch.undo()
    here, there = (
        each.predict_survival_function(X[:3], return_array=True)
        for each in (model, deepcopy(pickle.loads(pickle.dumps(model))))
    )
    np.testing.assert_array_equal(here, there)


def test_functions_that_were_predicted_survive_pickling(fitted):
    functions = fitted.predict_survival_function(X[:3])
    again = pickle.loads(pickle.dumps(functions))
    np.testing.assert_array_equal([f([0.1, 1.0]) for f in again], [f([0.1, 1.0]) for f in functions])


@pytest.mark.parametrize("Estimator", [LassoNetCoxRegressor, LassoNetCoxRegressorCV])
def test_parameters_are_stored_as_given(Estimator):
    model = Estimator(M=3.0, ties="efron", n_features_to_select=4)
    found = clone(model).get_params()
    assert (found["M"], found["ties"], found["n_features_to_select"]) == (3.0, "efron", 4)
    assert found == model.get_params()
    assert model.set_params(ties="breslow").ties == "breslow"


# Strata and subjects.


def test_strata_take_differences_of_baselines_off_the_features():
    shift = np.where(STRATA == "a", 4.0, 0.0)
    samples, y = simulated(lambda X: X[:, 0] + shift, d=6)
    samples[:, 1] = shift + np.random.default_rng(4).normal(size=N)  # has no effect beside the stratum
    assert cox(n_features_to_select=1).fit(samples, y).selected_[1]
    model = cox(n_features_to_select=1).fit(samples, y.assign(strata=STRATA))
    assert model.selected_[0]
    at = np.full(3, 0.05)
    early, late = (np.mean([f(at) for f in model.predict_survival_function(samples, [s] * N)]) for s in "ab")
    assert early < late - 0.2


def test_strata_that_are_not_known_are_named_at_prediction():
    model = cox(lambda_seq=(0.1,), n_iters=10).fit(X, Y.assign(strata=STRATA))
    for strata, message in [
        (None, "give strata, one for each sample"),
        (["a", "z", None], "labels that y of fit does not: 'z', None"),
        ([0, 1, 2], "labels that y of fit does not: 0, 1, 2"),
        (["a", "b"], "one label for each of the 3 samples; it has 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict_survival_function(X[:3], strata)


def test_scores_refuse_what_cannot_be_scored(fitted):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[5, 300\]"):
        fitted.score(X[:5], Y)
    with pytest.raises(ValueError, match=r"sample_weight must have one number per row, shape \(300,\)"):
        fitted.score(X, Y, np.ones(3))
    with pytest.raises(ValueError, match="no event: every sample is censored"):
        fitted.score(X, Y.assign(event=False))


SUBJECTS = np.repeat(np.arange(N // 3), 3)
PIECES = Y.assign(entry=np.arange(N) % 3 * 1.0, id=SUBJECTS)
PIECES["time"] += PIECES["entry"]


@pytest.mark.parametrize(
    "event",
    [Y["event"], (np.arange(N) % 3 == 2) & (SUBJECTS != 7), (np.arange(N) % 3 == 2) & (SUBJECTS < 2), SUBJECTS == 7],
    ids=["many", "all but one subject", "two subjects", "one subject"],
)
def test_rows_of_a_subject_stay_on_one_side_of_the_validation_split(monkeypatch, event):
    parts = []
    split = base._split

    def spy(*args, **kwargs):
        samples = split(*args, **kwargs)
        parts.append((samples.target[: samples.n_fit, 4], samples.target[samples.n_fit :, 4]))
        raise InterruptedError

    monkeypatch.setattr(base, "_split", spy)
    with pytest.raises(InterruptedError):
        cox().fit(NARROW, PIECES.assign(event=event))
    ((fit, val),) = parts
    assert not set(fit) & set(val)
    assert len(set(val)) == pytest.approx(0.2 * N / 3, abs=1)
    assert len(fit) + len(val) == N


def test_validation_samples_may_be_given(fitted):
    fresh = simulated(lambda X: 1.2 * X[:, 0] - X[:, 1], n=100, seed=5)
    model = cox(n_features_to_select=2).fit(X, Y, X_val=fresh[0], y_val=fresh[1])
    assert set(np.flatnonzero(model.selected_)) == {0, 1}
    stratified = [y.assign(strata=list("ab") * (len(y) // 2)) for y in (Y, fresh[1])]
    model = cox(n_features_to_select=2).fit(X, stratified[0], X_val=fresh[0], y_val=stratified[1])
    assert set(np.flatnonzero(model.selected_)) == {0, 1}


# Cross-validation.

FEW = {"cv": 3, "hidden_dims": (5,), "path_multiplier": 1.5, "n_iters": (100, 10), "random_state": 0}


def cox_cv(**params) -> LassoNetCoxRegressorCV:
    return LassoNetCoxRegressorCV(**with_training(**(FEW | params)))


def test_cross_validation_chooses_the_columns():
    model = cox_cv(M=[0, 10]).fit(NARROW, Y)
    assert {0, 1} <= set(np.flatnonzero(model.selected_))
    assert 0.7 < model.cv_score_ < 1
    assert model.score(NARROW, Y) == pytest.approx(model.cv_score_, abs=0.1)
    assert model.predict_survival_function(NARROW[:4], return_array=True).shape == (4, len(model.unique_times_))


def test_cross_validation_takes_strata_weights_and_any_form():
    frame = cox_cv().fit(NARROW, Y.assign(strata=STRATA), 1.0 + (np.arange(N) % 2))
    assert list(frame.strata_) == ["a", "b", "c"]
    assert frame.predict_survival_function(NARROW, STRATA).shape == (N,)
    one, two = (cox_cv().fit(NARROW, form) for form in (Y, Surv.from_dataframe("event", "time", Y)))
    pd.testing.assert_frame_equal(one.cv_results_, two.cv_results_)


def folds_of(monkeypatch, y, **fit) -> list:
    """Return the folds without any training."""
    found = []

    def stop(self, *_):
        raise InterruptedError

    splits = LassoNetCoxRegressorCV._splits
    monkeypatch.setattr(LassoNetCoxRegressorCV, "_splits", lambda *args: found.extend(splits(*args)) or found)
    monkeypatch.setattr(LassoNetCoxRegressorCV, "_candidates", stop)
    with pytest.raises(InterruptedError):
        cox_cv(cv=fit.pop("cv", 3)).fit(NARROW, y, **fit)
    return found


def test_folds_have_events_in_proportion(monkeypatch):
    y = Y.assign(event=np.arange(N) < 9)
    for fold in folds_of(monkeypatch, y):
        assert y["event"].iloc[fold.test].sum() == 3


@pytest.mark.parametrize("how", ["id", "groups", "splitter"])
def test_samples_of_a_subject_are_in_one_fold(monkeypatch, how):
    y, fit = Y, {"groups": SUBJECTS}
    if how == "id":
        y, fit = Y.assign(id=SUBJECTS), {}
    if how == "splitter":
        y, fit = Y.assign(id=SUBJECTS), {"cv": GroupKFold(3)}
    folds = folds_of(monkeypatch, y, **fit)
    assert len(folds) == 3
    for fold in folds:
        assert not set(SUBJECTS[fold.fit]) & set(SUBJECTS[fold.test])


# scikit-learn's and scikit-survival's tools.

SURV = Surv.from_dataframe("event", "time", Y)
TIMES = np.quantile(Y["time"][Y["event"]], [0.2, 0.4, 0.6])
TOOL = {"path_multiplier": 1.5, "n_iters": (100, 10), "n_features_to_select": 2}
SCORERS = {
    "concordance": lambda model: as_concordance_index_ipcw_scorer(model, tau=TIMES[-1]),
    "auc": lambda model: as_cumulative_dynamic_auc_scorer(model, TIMES),
    "brier": lambda model: as_integrated_brier_score_scorer(model, TIMES),
}


def test_cross_val_score_takes_every_form_of_target():
    found = [cross_val_score(cox(**TOOL), NARROW, y, cv=3) for y in (Y, SURV, Y.to_numpy(dtype=float))]
    assert (found[0] > 0.7).all()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a pipeline"])
def test_scorers_of_scikit_survival_work(scorer, inside):
    model = make_pipeline(StandardScaler(), cox(**TOOL)) if inside else cox(**TOOL)
    found = cross_val_score(SCORERS[scorer](model), NARROW, SURV, cv=3)
    chance = {"concordance": 0.5, "auc": 0.5, "brier": -0.25}[scorer]
    assert (found > chance).all()


def test_a_grid_search_works_with_a_scorer_of_scikit_survival():
    search = GridSearchCV(SCORERS["brier"](cox(**TOOL)), {"estimator__n_features_to_select": [1, 2]}, cv=2)
    search.fit(NARROW, SURV)
    assert search.best_params_ == {"estimator__n_features_to_select": 2}


# Few events.


def test_at_most_one_feature_for_five_events_is_selected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    time = rng.exponential(np.exp(-X[:, :20].sum(axis=1)))
    y = np.column_stack([time, rng.random(200) < 0.2])  # about 40 events
    n_events = int(y[:, 1].sum())
    plain = cox(select="auto").fit(X, y)
    folds = LassoNetCoxRegressorCV(**with_training(**(QUICK | {"select": "auto"})), cv=3).fit(X, y)
    lowest = plain.at(lambda_=plain.path_[selection.best(plain.path_)].lambda_)
    assert lowest.n_selected_ > n_events // 5  # the rule makes a difference
    assert 1 <= plain.n_selected_ <= n_events // 5
    assert folds.cv_results_.loc[folds.cv_index_, "n_selected"] <= n_events // 5
    assert plain.lambda_ == plain.path_[selection.best_of_few(plain.path_, n_events // 5)].lambda_


def test_a_dense_model_that_was_hardly_trained_is_no_start_of_a_refit():
    model = cox(n_iters=(2, 20)).fit(X, Y)
    assert model.path_[0].best_iter < 5
    plan = model._solved.refit.plan(model.path_[len(model.path_) // 2], "warm")
    assert plan.start == 0


def test_columns_are_expanded_by_the_number_of_events():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    time, event = rng.exponential(np.exp(-2 * np.abs(X[:, 0]))), rng.random(1000) < 0.5
    model = cox(select="auto").fit(X, np.column_stack([time, event]))
    pieces = model._solved.preprocessing.expansion.n_pieces
    n_events = int(model._solved.refit.solver.problem.target[: model._solved.refit.solver.problem.n_fit, 2].sum())
    assert pieces.tolist() == [n_events // 3 // 50, 1, 1, 1]  # as numbers, all columns would have six
