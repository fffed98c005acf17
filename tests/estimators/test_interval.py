"""The model of interval-censored times: it is the parametric model without a network, and finds what matters with one."""

from __future__ import annotations

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import nn

from riata import LassoNetIntervalRegressor, Training
from riata.check import intervals
from riata.losses.censoring import learn_intervals

MEDIANS = {"normal": 0.0, "logistic": 0.0, "extreme_value": np.log(np.log(2))}
VISITS = np.array([0, 5, 10, 20, 40, 80, np.inf])
# The dense model at M = 0: maximum likelihood.
EXACT = {
    "random_state": 0,
    "M": 0,
    "hidden_dims": (1,),
    "val_size": 0,
    "refit": False,
    "preprocessing": None,
    "screening": None,
    "select": 0.0,
    "lambda_seq": (1e3,),
    "training": Training(
        dtype="float64", patience=None, tol=1e-12, n_iters=(20_000, 1), batch_size=None, gamma=0.0, device="cpu"
    ),
}
QUICK = {"hidden_dims": (10,), "random_state": 0, "training": Training(device="cpu")}


def errors(name, n, rng):
    u = rng.uniform(size=n)
    return {"normal": rng.normal(size=n), "logistic": np.log(u / (1 - u)), "extreme_value": np.log(-np.log(u))}[name]


def linear(name, n=300, seed=0):
    """Return X and times of a linear model with intercept 3, slopes 0.8, −0.5, 0 and scale 0.6."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.exp(3 + 0.8 * X[:, 0] - 0.5 * X[:, 1] + 0.6 * errors(name, n, rng))


def right_censored(time, seed=0):
    censored = np.exp(3.5 + np.random.default_rng(seed).normal(size=len(time)))
    return np.minimum(time, censored), time <= censored


def between_visits(time):
    after = np.searchsorted(VISITS, time)
    return np.column_stack([VISITS[after - 1], VISITS[after]])


def nonlinear(n=400, d=12, seed=0):
    """Return X, the location of log times, with a quadratic effect, and times of all kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    location = 2.5 + 0.7 * (X[:, 0] ** 2 - 1) + X[:, 1] - 0.6 * X[:, 2]
    time = np.exp(location + 0.4 * rng.normal(size=n))
    return X, location, np.where(rng.random((n, 1)) < 0.3, time[:, None], between_visits(time))


@pytest.fixture(scope="module")
def fitted():
    X, _, y = nonlinear()
    return LassoNetIntervalRegressor(**QUICK, n_features_to_select=3).fit(X, y), X, y


# The parametric model.


@pytest.mark.parametrize("name", list(MEDIANS))
def test_without_hierarchy_and_penalty_right_censored_times_give_the_parametric_model_of_lifelines(name):
    lifelines = pytest.importorskip("lifelines")
    fitters = {
        "normal": (lifelines.LogNormalAFTFitter, "mu_", lambda log_shape: np.exp(log_shape)),
        "logistic": (lifelines.LogLogisticAFTFitter, "alpha_", lambda log_shape: np.exp(-log_shape)),
        "extreme_value": (lifelines.WeibullAFTFitter, "lambda_", lambda log_shape: np.exp(-log_shape)),
    }
    fitter, location, scale = fitters[name]
    X, time = linear(name)
    time, event = right_censored(time)
    model = LassoNetIntervalRegressor(distribution=name, **EXACT)
    model.fit(X, np.column_stack([time, np.where(event, time, np.inf)]))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(time=time, event=event)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = fitter().fit(frame, "time", "event")
        median = reference.predict_median(frame)
    shape = next(group for group in reference.params_.index.get_level_values(0).unique() if group != location)
    np.testing.assert_allclose(model.coef_, reference.params_[location][["a", "b", "c"]], atol=1e-3)
    assert model.scale_ == pytest.approx(scale(reference.params_[shape]["Intercept"]), abs=1e-3)
    np.testing.assert_allclose(model.predict(X), median, rtol=5e-3)
    assert model.score(X, frame[["time", "event"]]) == pytest.approx(reference.log_likelihood_ / len(X), abs=1e-5)


@pytest.mark.parametrize("name", list(MEDIANS))
def test_parameters_are_found_within_two_standard_errors_from_times_between_visits(name):
    """Of 20 estimates one lies further off on average, and none four standard errors."""
    off = np.array([standard_errors_off(name, seed) for seed in range(4)])
    assert (off < 2).mean() >= 0.85
    assert off.max() < 4


def standard_errors_off(name, seed):
    """Fit, and return how many standard errors from the observed information each parameter is off the truth."""
    X, time = linear(name, n=500, seed=seed)
    y = between_visits(time)
    model = LassoNetIntervalRegressor(distribution=name, **EXACT).fit(X, y)
    learnt, target = learn_intervals(y, name)
    intercept = np.log(model.predict(X[:1]))[0] - X[0] @ model.coef_ - model.scale_ * MEDIANS[name]

    def log_likelihood(theta):
        return learnt.log_likelihood(target, theta[0] + X @ theta[1:4], np.exp(theta[4])).sum()

    found = np.array([intercept, *model.coef_, np.log(model.scale_)])
    steps = 1e-3 * np.eye(5)
    slopes = [log_likelihood(found + step) - log_likelihood(found - step) for step in steps]
    np.testing.assert_allclose(np.array(slopes) / 2e-3 / len(X), 0, atol=1e-4)  # it is the maximum
    information = np.empty((5, 5))
    for i, j in product(range(5), repeat=2):
        corners = [s * t * log_likelihood(found + s * steps[i] + t * steps[j]) for s in (-1, 1) for t in (-1, 1)]
        information[i, j] = -sum(corners) / 4e-6
    return np.abs(found - [3, 0.8, -0.5, 0, np.log(0.6)]) / np.sqrt(np.diag(np.linalg.inv(information)))


# The network.


def test_true_features_are_selected_and_their_nonlinear_effect_is_learnt(fitted):
    model, X, _ = fitted
    assert list(np.flatnonzero(model.selected_)) == [0, 1, 2]
    X_new, location, y_new = nonlinear(n=1000, seed=7)
    assert np.corrcoef(np.log(model.predict(X_new)), location)[0, 1] ** 2 > 0.85
    linear_model = LassoNetIntervalRegressor(**{**QUICK, "M": 0}).fit(X, nonlinear()[2])
    assert model.score(X_new, y_new) > linear_model.score(X_new, y_new) + 0.1


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_the_scale_keeps_up_with_the_network(seed):
    """It is a constant of ten times its entry: without the factor these are off by a third and more."""
    X, location, _ = nonlinear(seed=seed)
    time, event = right_censored(np.exp(location + 0.4 * np.random.default_rng(seed).normal(size=len(X))), seed)
    y = np.column_stack([time, np.where(event, time, np.inf)])
    model = LassoNetIntervalRegressor(random_state=seed, n_features_to_select=3, training=Training(device="cpu"))
    found, (learnt, target) = np.log(model.fit(X, y).predict(X)), learn_intervals(y, "normal")
    candidates = np.linspace(0.2, 0.8, 121)
    best = candidates[np.argmax([learnt.log_likelihood(target, found, scale).mean() for scale in candidates])]
    assert model.scale_ == pytest.approx(best, rel=0.2)


@pytest.mark.parametrize(
    "how",
    [
        {"training": Training(batch_size=64, dropout=0.1, device="cpu")},
        {"training": Training(dtype="float64", device="cpu")},
        {"hidden_dims": (8, 4), "refit": "scratch"},
        {"hidden_dims": lambda i, o: nn.Sequential(nn.Linear(i, 6), nn.Tanh(), nn.Linear(6, o)), "refit": False},
        {"distribution": "logistic"},
        {"distribution": "extreme_value", "preprocessing": "standard"},
    ],
    ids=["batches", "double", "scratch", "module", "logistic", "extreme value"],
)
def test_every_way_to_train_finds_the_linear_effects(how):
    X, time = linear("normal", n=200)
    X = np.hstack([X, np.random.default_rng(3).normal(size=(200, 3))])
    model = LassoNetIntervalRegressor(**{**QUICK, "n_features_to_select": 2, **how}).fit(X, between_visits(time))
    assert list(np.flatnonzero(model.selected_)) == [0, 1]
    assert 0.2 < model.scale_ < 1.2
    assert np.corrcoef(np.log(model.predict(X)), np.log(time))[0, 1] > 0.75


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_fit_on_cuda_is_close_to_one_on_the_cpu(batch_size):
    X, time = linear("normal", n=400)
    scores = []
    for device in ("cpu", "cuda"):
        training = Training(batch_size=batch_size, device=device)
        model = LassoNetIntervalRegressor(random_state=0, training=training).fit(X, between_visits(time))
        assert model.selected_[:2].all()
        scores.append(model.score(X, between_visits(time)))
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


def test_a_sample_of_weight_two_is_two_samples():
    X, time = linear("normal", n=60)
    y, twice = between_visits(time), np.arange(60) % 3 == 0
    model = LassoNetIntervalRegressor(**QUICK, val_size=0, n_features_to_select=2)
    one = clone(model).fit(np.vstack([X, X[twice]]), np.vstack([y, y[twice]]))
    other = clone(model).fit(X, y, sample_weight=1.0 + twice)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.scale_ == other.scale_
    weighted = other.score(X, y, sample_weight=1.0 + twice)
    assert weighted == pytest.approx(one.score(np.vstack([X, X[twice]]), np.vstack([y, y[twice]])))


def test_another_unit_of_time_multiplies_times_and_selects_the_same_features(fitted):
    model, X, y = fitted
    other = clone(model).fit(X, y * 0.25)
    np.testing.assert_array_equal(other.selected_, model.selected_)
    np.testing.assert_allclose(other.predict(X), 0.25 * model.predict(X), rtol=1e-3)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-3)
    assert other.scale_ == pytest.approx(model.scale_, rel=1e-3)


# The fitted model.


def test_survival_functions_fall_from_1_through_a_half_at_the_median(fitted):
    model, X, _ = fitted
    array, functions = (model.predict_survival_function(X[:5], return_array=flag) for flag in (True, False))
    assert array.shape == (5, len(model.unique_times_))
    assert (np.diff(array) <= 0).all()
    for row, function, median in zip(array, functions, model.predict(X[:5]), strict=True):
        np.testing.assert_array_equal(function.x, model.unique_times_)
        np.testing.assert_allclose(function.y, row)
        assert function(0) == 1
        assert function(median) == pytest.approx(0.5)
        assert function.domain == (0.0, np.inf)


@pytest.mark.parametrize("name", list(MEDIANS))
def test_the_prediction_is_the_median_of_the_survival_function(name):
    X, time = linear(name, n=100)
    y = between_visits(time)
    model = LassoNetIntervalRegressor(distribution=name, **{**EXACT, "training": Training(device="cpu")}).fit(X, y)
    functions = model.predict_survival_function(X[:3])
    np.testing.assert_allclose([f(t) for f, t in zip(functions, model.predict(X[:3]), strict=True)], 0.5)


def test_a_model_can_be_moved_pickled_and_cloned(fitted):
    given, X, y = fitted
    sparser = clone(given).set_params(n_features_to_select=1).fit(X, y)
    model = sparser.at(n_features=3)
    assert (sparser.n_selected_, model.n_selected_, model.at(lambda_=0).n_selected_) == (1, 3, X.shape[1])
    assert sparser.scale_ > model.scale_
    for each in (model, sparser):
        again = pickle.loads(pickle.dumps(each))
        np.testing.assert_array_equal(again.predict(X), each.predict(X))
        assert (again.scale_, again.score(X, y)) == (each.scale_, each.score(X, y))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(NotFittedError):
        _ = clone(model).scale_


def test_the_exported_module_returns_the_location_of_log_times(fitted):
    model, X, _ = fitted
    with torch.no_grad():
        location = model.module_(torch.from_numpy(X)).numpy()
    assert location.shape == (len(X), 1)
    np.testing.assert_allclose(np.exp(location[:, 0]), model.predict(X), rtol=1e-9)


def test_losses_of_good_models_stay_positive_so_that_tolerances_are_shares_of_them(fitted):
    model, *_ = fitted
    assert (np.array([point.loss for point in model.path_]) > 0).all()
    X = np.random.default_rng(0).normal(size=(100, 2))
    time = np.exp(X[:, 0])[:, None].repeat(2, axis=1)  # without any noise
    exact = LassoNetIntervalRegressor(**QUICK, n_features_to_select=1).fit(X, time)
    assert exact.selected_[0]
    assert 0 < exact.scale_ < 0.1
    np.testing.assert_allclose(np.log(exact.predict(X)), X[:, 0], atol=0.2)


# What is given.


def test_all_forms_of_right_censored_times_are_the_same():
    time, event = right_censored(linear("normal", n=20)[1])
    bounds = np.column_stack([time, np.where(event, time, np.inf)])
    structured = np.array(list(zip(event, time, strict=True)), dtype=[("died", bool), ("days", float)])
    forms = [
        bounds,
        bounds.tolist(),
        pd.DataFrame(bounds[:, ::-1], columns=["upper", "lower"]),
        pd.DataFrame({"event": event, "time": time}),
        structured,
        intervals(bounds),
    ]
    for form in forms:
        np.testing.assert_array_equal(intervals(form), intervals(bounds))


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [NAN, 2]], "column 'lower' of y holds nan in row 1: use 0 as the lower time"),
        ([[1, 2], [1, NAN]], "column 'upper' of y holds nan in row 1"),
        ([[1, 2], [3, 2]], "holds 3 in row 1: it exceeds the upper time; for times and events give a data frame"),
        ([[-1, 2], [3, 4]], "holds -1 in row 0: a time cannot be negative; 0 is the lower time"),
        ([[-INF, 2], [3, 4]], "holds -inf in row 0: a time cannot be negative"),
        ([[INF, INF], [3, 4]], "holds inf in row 0: it must be finite"),
        ([[1, 2], [0, 0]], "holds 0 in row 1: an exact time must be positive: give the interval from 0"),
        ([[1, 2], [0, INF]], "this says nothing: leave the sample out"),
        ([[1, INF], [2, INF]], "every sample is right-censored, none has a finite upper time in y"),
        ([[0, 3], [0, 2]], "every sample is left-censored, none has a lower time above 0 in y"),
        ([[0.5, 1], [0.25, 1]], "give a data frame with the columns time and event"),
        ([1.0, 2.0], "y must be an array with the columns lower and upper"),
        ([[1, 2, 1], [1, 3, 0]], r"got shape \(2, 3\)"),
        ([["a", "b"], ["c", "d"]], "column 'lower' of y must hold numbers, such as days since the start; it holds 'a'"),
        (pd.DataFrame({"lower": [1, 2], "end": [2, 3]}), "it has the columns 'lower', 'end'"),
        (pd.DataFrame({"time": [1, 2], "event": [1, 0], "entry": [0, 1]}), "y has a column 'entry'"),
        (pd.DataFrame({"time": [1, 2], "event": [1, 0], "strata": [0, 1]}), "y has a column 'strata'"),
        (pd.DataFrame({"time": [0, 2], "event": [1, 0]}), "an exact time must be positive"),
    ],
)
def test_bad_targets_are_refused_before_training_with_the_remedy(rows, message):
    with pytest.raises(ValueError, match=message):
        LassoNetIntervalRegressor().fit(np.random.default_rng(0).normal(size=(2, 3)), rows)


def test_other_bad_arguments_are_refused():
    X, time = linear("normal", n=20)
    with pytest.raises(ValueError, match="distribution"):
        LassoNetIntervalRegressor(distribution="gamma").fit(X, between_visits(time))
    with pytest.raises(ValueError, match="requires y to be passed"):
        LassoNetIntervalRegressor().fit(X, None)


def test_validation_samples_may_all_be_censored():
    X, time = linear("normal", n=100)
    y = between_visits(time)
    censored = np.column_stack([time[:40], np.full(40, np.inf)])
    model = LassoNetIntervalRegressor(**QUICK, n_features_to_select=2).fit(X, y, X_val=X[:40], y_val=censored)
    assert np.isfinite(model.score(X[:40], censored))


def test_kinds_of_samples_are_held_out_in_proportion_and_rare_ones_count_as_the_commonest():
    y = np.array([[1.0, 1.0]] * 20 + [[2, INF]] * 10 + [[0, 3]] * 2)
    learnt, target = learn_intervals(y, "normal")
    np.testing.assert_array_equal(np.bincount(learnt.strata(target)), [22, 10])
    assert learnt.strata(target[:20]) is None
