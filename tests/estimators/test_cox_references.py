"""Cox's model with M = 0 is the one of scikit-survival, lifelines and R's survival; hazards are those of scikit-survival."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, CoxTimeVaryingFitter
from sksurv.datasets import load_veterans_lung_cancer, load_whas500
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.linear_model.coxph import BreslowEstimator

from riata import LassoNetCoxRegressor
from tests.conftest import standardised, with_training

both = pytest.mark.parametrize("ties", ["breslow", "efron"])

# A fall of the objective of 1e-12 is left where coefficients of size 1 are about 1e-6 away; references stop at 1e-5 to 1e-9.
CLOSE = 1e-4
NAMES = [f"x{j}" for j in range(5)]


def solved(X, y, sample_weight=None, *, lambdas=(1e-3,), **params) -> LassoNetCoxRegressor:
    """The lasso of Cox's model, solved closely at λ = 0 and at these, on all samples as they are.

    From about one start in a hundred the solver stops early, up to 4e-3 away, at any ``tol``. The problem is convex: of three
    starts the one with the lowest objective is closest to its minimiser.
    """
    how = {"n_iters": (20_000, 20_000), "patience": None, "tol": 1e-12, "batch_size": None, "dtype": "float64"}
    how |= {"hidden_dims": (1,), "M": 0, "lambda_seq": lambdas, "select": lambdas[0]}
    how |= {"val_size": 0, "preprocessing": None, "refit": False}
    models = [
        LassoNetCoxRegressor(**with_training(random_state=seed, **how, **params)).fit(X, y, sample_weight)
        for seed in range(3)
    ]
    return min(models, key=lambda model: sum(point.objective for point in model.path_))


def unpenalised(X, y, sample_weight=None, **params) -> np.ndarray:
    return solved(X, y, sample_weight, **params).at(lambda_=0, refit=False).coef_


def worcester():
    """Survival after heart attacks, hardly any times tied."""
    X, y = load_whas500()
    return standardised(X.astype(float).to_numpy()), y


def worcester_in_half_years():
    """The same with nearly all times tied."""
    X, y = worcester()
    y = y.copy()
    y["lenfol"] = np.ceil(y["lenfol"] / 182)
    return X, y


def veterans():
    """Survival with lung cancer, few censored."""
    X, y = load_veterans_lung_cancer()
    return standardised(X.select_dtypes("number").to_numpy(dtype=float)), y


DATA = pytest.mark.parametrize("load", [worcester, worcester_in_half_years, veterans])


def intervals(n: int = 300, pieces: int = 2) -> pd.DataFrame:
    """Subjects in strata with covariates that change over time, late entries, and times in whole days."""
    rng = np.random.default_rng(0)
    rows = []
    for subject in range(n):
        start, stratum = float(rng.integers(0, 4)), int(rng.integers(0, 3))
        for _ in range(pieces):
            x = rng.normal(size=len(NAMES))
            until = np.ceil(start + rng.exponential((1 + 2 * stratum) * 8 * np.exp(0.5 * x[1] - 0.8 * x[0])))
            stop = start + rng.integers(2, 10)
            event = until <= stop
            rows.append([*x, start, min(until, stop), event, "abc"[stratum], subject])
            if event or rng.random() < 0.2:
                break
            start = stop
    return pd.DataFrame(rows, columns=[*NAMES, "entry", "time", "event", "strata", "id"])


FRAME = intervals()
ONCE = FRAME.drop_duplicates("id").reset_index(drop=True)
Y = ["entry", "time", "event"]


# scikit-survival.


@DATA
@both
def test_at_lambda_zero_it_is_cox_model(ties, load):
    X, y = load()
    reference = CoxPHSurvivalAnalysis(ties=ties, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(unpenalised(X, y, ties=ties), reference.coef_, atol=CLOSE)


@both
def test_equal_samples_are_ties(ties):
    X, y = (np.concatenate([part, part[::2]]) for part in veterans())
    reference = CoxPHSurvivalAnalysis(ties=ties, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(unpenalised(X, y, ties=ties), reference.coef_, atol=CLOSE)


@DATA
def test_without_hidden_layers_it_is_the_lasso_of_cox_model(load):
    X, y = load()
    lambdas = (0.01, 0.04, 0.1)
    model = solved(X, y, lambdas=lambdas)
    reference = CoxnetSurvivalAnalysis(alphas=lambdas[::-1], l1_ratio=1, tol=1e-12, max_iter=10**6).fit(X, y)
    for lambda_, expected in zip(reference.alphas_, reference.coef_.T, strict=True):
        point = model.at(lambda_=lambda_, refit=False)
        np.testing.assert_allclose(point.coef_, expected, atol=CLOSE)
        assert (point.selected_ == (expected != 0)).all()


# lifelines, which treats ties as Efron does.

of_lifelines = pytest.mark.filterwarnings("ignore:Starting with pandas version 4.0")


@of_lifelines
@pytest.mark.parametrize("entry", [[], ["entry"]], ids=["from the start", "late entries"])
def test_strata_and_late_entries_are_those_of_lifelines(entry):
    reference = CoxPHFitter(strata=["strata"]).fit(
        ONCE[[*NAMES, *entry, "time", "event", "strata"]],
        "time",
        "event",
        entry_col=entry[0] if entry else None,
        fit_options={"precision": 1e-10},
    )
    found = unpenalised(ONCE[NAMES], ONCE[[*entry, "time", "event", "strata"]], ties="efron")
    np.testing.assert_allclose(found, reference.params_[NAMES], atol=CLOSE)


def test_strata_and_late_entries_make_a_difference_here():
    found = [unpenalised(ONCE[NAMES], ONCE[[*Y, *extra]]) for extra in ([], ["strata"])]
    found.append(unpenalised(ONCE[NAMES], ONCE[["time", "event"]]))
    for i, j in ((0, 1), (0, 2)):
        assert np.abs(found[i] - found[j]).max() > 100 * CLOSE


@of_lifelines
def test_covariates_that_change_are_those_of_lifelines():
    reference = CoxTimeVaryingFitter().fit(
        FRAME.drop(columns="strata"),
        id_col="id",
        start_col="entry",
        stop_col="time",
        event_col="event",
        fit_options={"precision": 1e-10},
    )
    found = unpenalised(FRAME[NAMES], FRAME[[*Y, "id"]], ties="efron")
    np.testing.assert_allclose(found, reference.params_[NAMES], atol=CLOSE)


# R.

SCRIPT = """
library(survival)
data <- read.csv("rows.csv")
fit <- coxph(FORMULA, data, weights = w, ties = "TIES", control = coxph.control(eps = 1e-12, iter.max = 100))
write(format(coef(fit), digits = 15), stdout())
"""


def coxph(frame: pd.DataFrame, formula: str, ties: str, folder) -> np.ndarray:
    """Coefficients of R's coxph."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("Rscript is not installed")
    if subprocess.run([rscript, "-e", "library(survival)"], capture_output=True, check=False).returncode:
        pytest.skip("R has no package survival")
    frame.assign(event=frame["event"].astype(int)).to_csv(folder / "rows.csv", index=False)
    script = SCRIPT.replace("FORMULA", formula).replace("TIES", ties)
    run = subprocess.run([rscript, "-e", script], cwd=folder, capture_output=True, text=True, check=True)
    return np.array(run.stdout.split(), dtype=float)


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_strata_and_weights_are_those_of_r(ties, weighted, tmp_path):
    w = np.random.default_rng(1).integers(1, 4, len(FRAME)) if weighted else np.ones(len(FRAME))
    formula = f"Surv(entry, time, event) ~ {' + '.join(NAMES)} + strata(strata)"
    expected = coxph(FRAME.assign(w=w), formula, ties, tmp_path)
    found = unpenalised(FRAME[NAMES], FRAME[[*Y, "strata"]], w, ties=ties)
    np.testing.assert_allclose(found, expected, atol=CLOSE)


# Rows in pieces.


@both
def test_rows_in_pieces_of_equal_covariates_are_whole_rows(ties):
    X, y = worcester_in_half_years()
    whole = pd.DataFrame({"entry": -1.0, "time": y["lenfol"], "event": y["fstat"]})
    cut = whole["time"].to_numpy() * np.random.default_rng(0).uniform(0.1, 0.9, len(X))
    cut[::2] = np.maximum(np.floor(cut[::2]), 0.5)  # some at times of events
    pieces = pd.concat([whole.assign(time=cut, event=False), whole.assign(entry=cut)])
    twice = np.vstack([X, X])
    one, two = solved(X, whole, ties=ties), solved(twice, pieces, ties=ties)
    one, two = one.at(lambda_=0, refit=False), two.at(lambda_=0, refit=False)
    # The weights of samples are shares of twice as many rows: λ = 0 has the same minimiser, reached to the tolerance.
    np.testing.assert_allclose(two.coef_, one.coef_, atol=CLOSE)
    assert two.score(twice, pieces) == pytest.approx(one.score(X, whole), abs=1e-4)
    two.load(one.point_)
    np.testing.assert_array_equal(two.predict(X), one.predict(X))
    assert two.score(twice, pieces) == pytest.approx(one.score(X, whole), abs=1e-12)
    times = one.unique_times_
    for before, after in zip(one.predict_survival_function(X[:20]), two.predict_survival_function(X[:20]), strict=True):
        np.testing.assert_allclose(after(times), before(times), atol=1e-12)


# Hazards.


def network(X, y, *, sample_weight=None, **params) -> LassoNetCoxRegressor:
    """A network that has learnt something, on all samples."""
    how = {"hidden_dims": (5,), "M": 10.0, "lambda_seq": (0.01,), "select": 0.01, "n_iters": (100, 50)}
    how |= {"val_size": 0, "refit": False, "random_state": 0}
    return LassoNetCoxRegressor(**with_training(**(how | params))).fit(X, y, sample_weight)


# Both are exp of the same numbers in float64; inputs of the network are rounded to 6e-8 in training.
HAZARDS = {"rtol": 1e-6, "atol": 1e-9}


@DATA
@both
def test_survival_functions_are_those_of_scikit_survival(ties, load):
    X, y = load()
    model = network(X, y, ties=ties)
    event, time = (y[name] for name in y.dtype.names)
    reference = BreslowEstimator().fit(model.predict(X), event, time)
    np.testing.assert_array_equal(model.unique_times_, reference.unique_times_)
    some, risk = X[:30], model.predict(X[:30])
    known = np.flatnonzero(
        reference.baseline_survival_.y > 1e-300
    )  # where theirs, a power of this, has not underflowed
    times = reference.unique_times_[known]
    for ours, theirs in (
        (model.predict_survival_function, reference.get_survival_function),
        (model.predict_cumulative_hazard_function, reference.get_cumulative_hazard_function),
    ):
        expected = np.array([function(times) for function in theirs(risk)])
        np.testing.assert_allclose(ours(some, return_array=True)[:, known], expected, **HAZARDS)
        np.testing.assert_allclose([function(times) for function in ours(some)], expected, **HAZARDS)


@pytest.mark.parametrize("refit", [False, "warm"])
def test_the_baseline_is_that_of_all_samples_those_to_validate_on_among_them(refit):
    X, y = worcester()
    model = network(X, y, val_size=0.3, refit=refit, select=0.01)
    event, time = (y[name] for name in y.dtype.names)
    reference = BreslowEstimator().fit(model.predict(X), event, time)
    found = model.predict_cumulative_hazard_function(X[:1])[0]
    expected = reference.get_cumulative_hazard_function(model.predict(X[:1]))[0]
    np.testing.assert_allclose(found(expected.x), expected(expected.x), **HAZARDS)


def test_each_stratum_has_the_baseline_of_its_own_samples():
    y = ONCE[["time", "event", "strata"]]
    model = network(ONCE[NAMES], y)
    assert list(model.strata_) == ["a", "b", "c"]
    for label in model.strata_:
        part = ONCE[ONCE["strata"] == label]
        risk = model.predict(part[NAMES])
        reference = BreslowEstimator().fit(risk, part["event"].to_numpy(), part["time"].to_numpy())
        times = np.intersect1d(model.unique_times_, reference.unique_times_)
        found = model.predict_cumulative_hazard_function(part[NAMES], np.repeat(label, len(part)))
        for ours, theirs in zip(found, reference.get_cumulative_hazard_function(risk), strict=True):
            np.testing.assert_allclose(ours(times), theirs(times), **HAZARDS)


def test_weights_in_hazards_are_repetitions():
    X, y = worcester()
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    model = network(X, y, sample_weight=counts)
    many = np.repeat(np.arange(len(X)), counts)
    event, time = (y[name][many] for name in y.dtype.names)
    reference = BreslowEstimator().fit(model.predict(X[many]), event, time)
    found = model.predict_cumulative_hazard_function(X[:30])
    for ours, theirs in zip(found, reference.get_cumulative_hazard_function(model.predict(X[:30])), strict=True):
        np.testing.assert_allclose(ours(theirs.x), theirs(theirs.x), **HAZARDS)
