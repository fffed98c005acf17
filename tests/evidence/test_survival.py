"""Laws of the evidence for survival models: halves, knockoffs, losses of held-out samples, effects, interactions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.util import Surv

from riata import LassoNetCoxRegressor, LassoNetCoxRegressorCV, LassoNetIntervalRegressor, StabilitySelector
from riata.evidence import (
    KnockoffSelector,
    effect_curve,
    feature_effects,
    held_out,
    holdout_p_values,
    inner,
    knockoffs,
    permutation_importance,
    stability,
)
from riata.evidence.gaussian import learn
from riata.evidence.knockoff_statistics import Columns, Comparison, compare
from tests.conftest import with_training
from tests.evidence.tables import by_feature

QUICK = with_training(hidden_dims=(4,), select="best", path_multiplier=1.5, n_iters=(60, 10))
FEW_VALUES = pytest.mark.filterwarnings("ignore:.* different values")
N, D = 240, 8
TRUE = (np.arange(30) % 2 == 0) & (np.arange(30) < 24)


def simulated(log_hazard, n=N, d=D, seed=0):
    """Return samples, and times of which a third is censored."""
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=(n, d))
    time, censored = rng.exponential(np.exp(-log_hazard(samples))), rng.exponential(2.0, size=n)
    return samples, pd.DataFrame({"time": np.minimum(time, censored).round(3) + 0.001, "event": time <= censored})


def bounds(y):
    """Return the same times as intervals."""
    return pd.DataFrame({"lower": y["time"], "upper": y["time"].where(y["event"], np.inf)})


X, Y = simulated(lambda X: 1.5 * X[:, 0] - X[:, 1])
FIT, OUT = slice(0, 120), slice(120, N)
FORMS = {
    "frame": lambda y: y,
    "structured": lambda y: Surv.from_dataframe("event", "time", y),
    "array": lambda y: y.to_numpy(dtype=float),
}
MODELS = {
    "Cox": (LassoNetCoxRegressor, lambda y: y),
    "interval": (LassoNetIntervalRegressor, bounds),
}
both_models = pytest.mark.parametrize("kind", MODELS)


def quick(**params) -> LassoNetCoxRegressor:
    return LassoNetCoxRegressor(**(QUICK | params))


@pytest.fixture(scope="module")
def models():
    """One model of each kind with two features, for tests that do not change them."""
    made = {
        kind: Estimator(**QUICK, random_state=0).fit(X[FIT], form(Y[FIT])) for kind, (Estimator, form) in MODELS.items()
    }
    return {kind: model.at(n_features=2) for kind, model in made.items()}


# ---- stability selection --------------------------------------------------------------------------------------------


def stable(y=Y, estimator=None, X=X, **fit):
    estimator = quick() if estimator is None else estimator
    selector = StabilitySelector(estimator, n_features=2, threshold=0.8, n_resamples=10, random_state=0)
    return selector.fit(X, y, **fit)


def halves_of(monkeypatch, y, **fit):
    """Return the samples of every half of a selection."""
    found = []

    def spy(estimator, X, y, weights, samples):
        found.append(samples)
        return np.ones(X.shape[1])

    monkeypatch.setattr(stability, "_importances", spy)
    stable(y, X=np.resize(X, (len(y), D)), **fit)
    return found


@pytest.mark.filterwarnings("ignore:no feature was taken")
def test_halves_have_events_in_proportion(monkeypatch):
    rare = Y.assign(event=np.arange(N) % 12 == 0)
    for half in halves_of(monkeypatch, rare):
        assert len(half) == N / 2
        assert rare["event"].iloc[half].sum() == 10


@pytest.mark.filterwarnings("ignore:no feature was taken")
@pytest.mark.parametrize("how", ["id", "groups"])
def test_rows_of_a_subject_go_to_one_half_and_subjects_with_events_are_in_proportion(monkeypatch, how):
    """Subjects of three rows have their event, if any, in the last one."""
    subject = np.array([f"p{i}" for i in range(80)]).repeat(3)
    last, dead = np.arange(N) % 3 == 2, (np.arange(80) % 4 == 0).repeat(3)
    rows = pd.DataFrame({"entry": np.arange(N) % 3, "time": np.arange(N) % 3 + 1.0, "event": last & dead})
    given = rows.assign(id=subject) if how == "id" else rows
    fit = {} if how == "id" else {"groups": subject}
    for half in halves_of(monkeypatch, given, **fit):
        whole, counts = np.unique(subject[half], return_counts=True)
        assert (len(whole), counts.min(), counts.max()) == (40, 3, 3)
        assert rows["event"].iloc[half].sum() == 10


def test_true_columns_are_stable_in_every_form_of_the_target():
    found = [stable(form(Y)) for form in FORMS.values()]
    assert np.flatnonzero(found[0].selected_).tolist() == [0, 1]
    for other in found[1:]:
        np.testing.assert_array_equal(other.path_frequencies_, found[0].path_frequencies_)


def test_true_columns_are_stable_with_strata_weights_intervals_folds_and_in_a_pipeline():
    strata = Y.assign(strata=np.array(["a", "b"])[np.arange(N) % 2])
    of_intervals = LassoNetIntervalRegressor(**QUICK)
    for selector in (
        stable(strata),
        stable(sample_weight=np.ones(N)),
        stable(bounds(Y), of_intervals),
        stable(estimator=LassoNetCoxRegressorCV(**QUICK, cv=2)),
        stable(estimator=make_pipeline(StandardScaler(), quick())),
    ):
        assert np.flatnonzero(selector.selected_).tolist() == [0, 1]


# ---- knockoffs ------------------------------------------------------------------------------------------------------

X_30, Y_30 = simulated(lambda X: X[:, TRUE] @ np.resize([1.0, -1.0], 12), n=400, d=30)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_knockoffs_find_true_columns_among_thirty(form):
    selector = KnockoffSelector(quick(), fdr=0.2, n_fits=1, random_state=0).fit(X_30, form(Y_30))
    assert selector.selected_[TRUE].mean() > 0.9
    assert (selector.selected_ & ~TRUE).sum() <= 4  # 12 / 0.8 − 12 = 3, and one
    assert selector.statistics_[TRUE].min() > np.abs(selector.statistics_[~TRUE]).mean()


def test_knockoffs_find_true_columns_of_intervals():
    selector = KnockoffSelector(LassoNetIntervalRegressor(**QUICK), fdr=0.2, n_fits=1, random_state=0)
    assert selector.fit(X_30, bounds(Y_30)).selected_[TRUE].mean() > 0.9


def test_swapping_columns_with_their_knockoffs_changes_the_signs_of_their_statistics():
    """In the unpenalised linear model, which does not depend on the order of the columns."""
    exact = LassoNetCoxRegressor(
        **with_training(M=0.0, val_size=0, lambda_seq=(1e3,), refit=False, n_iters=(4000, 1), tol=1e-9, dtype="float64")
    )
    ids, swapped = np.arange(6), np.array([0, 3])
    samples, y = simulated(lambda X: X[:, 0] - X[:, 1] + 0.5 * X[:, 3], n=200, d=6)
    other = knockoffs.prepare(learn(samples), ids).draw(samples, np.random.default_rng(1))
    columns = Columns(np.ones(6, bool), ids, ids, ids, ids, False, None)
    swap = np.isin(ids, swapped)

    def statistics(X, X_knockoff):
        comparison = Comparison(exact, "prediction_change", columns, X, inner.plain_target(exact, y), None)
        original, knockoff = compare(comparison, X_knockoff, np.random.default_rng(0))
        return original - knockoff

    W = statistics(samples, other)
    after = statistics(np.where(swap, other, samples), np.where(swap, samples, other))
    assert np.abs(W[swapped]).min() > 0.01
    np.testing.assert_allclose(after, np.where(swap, -W, W), atol=1e-3)


@FEW_VALUES
def test_categories_are_compared_where_they_are_associated_with_the_hazard(monkeypatch):
    rng = np.random.default_rng(3)
    site, noise = rng.choice(["a", "b", "c"], 400), rng.choice(["u", "v", "w", "x"], 400)
    samples, y = simulated(lambda X: X[:, :10] @ np.resize([1.0, -1.0], 10) + 2.5 * (site == "a"), n=400, d=12)
    frame = pd.DataFrame(samples).add_prefix("x").assign(site=site, noise=noise)
    selector = KnockoffSelector(quick(), fdr=0.2, n_fits=1, random_state=0).fit(frame, y)
    W = dict(zip(frame.columns, selector.statistics_, strict=True))
    assert W["site"] > 0.01 and W["noise"] == 0
    assert "site" in selector.get_feature_names_out()


def test_associations_are_measured_with_martingale_residuals():
    """Events less the expected ones, Nelson and Aalen's estimate: they sum to zero."""
    weights = np.random.default_rng(0).uniform(0.5, 2, N)
    found = inner.screened(quick(), Y, weights)[:, 0]
    hazard = [weights[Y["event"] & (Y["time"] == t)].sum() / weights[Y["time"] >= t].sum() for t in Y["time"]]
    unique = {t: h for t, h in zip(Y["time"], hazard, strict=True)}
    expected = [sum(h for t, h in unique.items() if t <= end) for end in Y["time"]]
    np.testing.assert_allclose(found, Y["event"] - expected, atol=1e-10)
    assert weights @ found == pytest.approx(0, abs=1e-9)


# ---- held-out samples -----------------------------------------------------------------------------------------------


def partial_likelihood(risk, y):
    """Return the mean over samples of 1 + log(mean hazard at risk) − log hazard at the events, by loops."""
    time, total = y["time"].to_numpy(), 0.0
    for i in np.flatnonzero(y["event"]):
        total += 1 + np.log(np.exp(risk[time >= time[i]]).mean()) - risk[i]
    return total / len(y)


def measured(measure, kind, models, X_out=None, **params):
    few = {"n_repeats": 5} if measure is permutation_importance else {"n_draws": 19}
    X_out = X[OUT] if X_out is None else X_out
    return measure(models[kind], X_out, MODELS[kind][1](Y[OUT]), **({"random_state": 0} | few | params))


both_measures = pytest.mark.parametrize("measure", [permutation_importance, holdout_p_values])


def test_losses_sum_to_the_partial_likelihood_of_their_table(models):
    model = models["Cox"]
    found = held_out.check_held_out(model, X[OUT], Y[OUT], "this")
    assert found.baseline.mean() == pytest.approx(partial_likelihood(model.predict(X[OUT]), Y[OUT]))
    tables = np.stack([X[OUT], X[OUT][::-1], X[FIT]])
    for table, losses in zip(tables, found.losses(tables), strict=True):
        assert losses.mean() == pytest.approx(partial_likelihood(model.predict(table), Y[OUT]))


def test_losses_of_intervals_are_the_negative_score(models):
    model = models["interval"]
    found = held_out.check_held_out(model, X[OUT], bounds(Y[OUT]), "this")
    assert found.baseline.mean() == pytest.approx(-model.score(X[OUT], bounds(Y[OUT])))


@both_models
def test_several_tables_at_once_have_the_losses_of_each_by_itself(models, kind):
    strata = Y[OUT].assign(strata=np.array(["a", "b"])[np.arange(N // 2) % 2]) if kind == "Cox" else bounds(Y[OUT])
    found = held_out.check_held_out(models[kind], X[OUT], strata, "this")
    tables = np.random.default_rng(0).normal(size=(4, N // 2, D))
    one_by_one = np.vstack([found.losses(table[None]) for table in tables])
    np.testing.assert_allclose(found.losses(tables), one_by_one, rtol=1e-9)


@both_models
def test_a_sample_of_weight_two_has_the_losses_of_two_samples(models, kind):
    y, weights = MODELS[kind][1](Y[OUT]), np.where(np.arange(N // 2) % 3, 1, 2)
    twice = np.arange(N // 2).repeat(weights)
    weighted = held_out.check_held_out(models[kind], X[OUT], y, "this", sample_weight=weights)
    repeated = held_out.check_held_out(models[kind], X[OUT][twice], y.iloc[twice], "this")
    np.testing.assert_allclose(weighted.baseline[twice], repeated.baseline, rtol=1e-6)


@both_models
def test_equal_weights_change_nothing_and_samples_of_weight_zero_are_left_out(models, kind):
    expected = measured(permutation_importance, kind, models)
    weighted = measured(permutation_importance, kind, models, sample_weight=np.full(N // 2, 3.0))
    pd.testing.assert_frame_equal(weighted, expected)
    kept, y = np.arange(N // 2) % 4 > 0, MODELS[kind][1](Y[OUT])
    params = {"n_repeats": 3, "random_state": 0}
    pd.testing.assert_frame_equal(
        permutation_importance(models[kind], X[OUT], y, sample_weight=kept.astype(float), **params),
        permutation_importance(models[kind], X[OUT][kept], y[kept], **params),
    )


@both_measures
@both_models
def test_features_in_the_model_matter_and_all_others_do_not_at_all(models, measure, kind):
    table = by_feature(measured(measure, kind, models))
    selected = models[kind].selected_
    assert np.flatnonzero(selected).tolist() == [0, 1]
    if measure is permutation_importance:
        assert (table[~selected] == 0).all(axis=None)
        assert table["low"].iloc[0] > 0
    else:
        assert (table[~selected] == 1).all(axis=None)
        assert table["p_value"].iloc[0] == 0.05


@both_measures
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_form_of_the_target_changes_nothing(models, measure, form):
    few = {"n_repeats": 2} if measure is permutation_importance else {"n_draws": 9}
    found = (measure(models["Cox"], X[OUT], y, random_state=0, **few) for y in (form(Y[OUT]), Y[OUT]))
    pd.testing.assert_frame_equal(*found)


@both_measures
@both_models
def test_the_number_of_tables_predicted_at_once_does_not_matter(models, measure, kind, monkeypatch):
    expected = measured(measure, kind, models)
    monkeypatch.setattr(held_out, "_MAX_ENTRIES", 2 * X[OUT].size)
    pd.testing.assert_frame_equal(measured(measure, kind, models), expected)


@both_measures
@both_models
def test_the_end_of_a_pipeline_knows_the_losses(measure, kind):
    Estimator, form = MODELS[kind]
    frame = pd.DataFrame(X).add_prefix("x")
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), Estimator(**QUICK, random_state=0))
    scaled.fit(frame[FIT], form(Y[FIT]))
    scaler, model = scaled[0], scaled[1]
    few = {"n_repeats": 3} if measure is permutation_importance else {"n_draws": 9}
    inside = by_feature(measure(scaled, frame[OUT], form(Y[OUT]), random_state=0, **few))
    plain = by_feature(measure(model, scaler.transform(frame[OUT]), form(Y[OUT]), random_state=0, **few))
    if measure is permutation_importance:
        pd.testing.assert_frame_equal(inside, plain)
    else:
        assert inside["p_value"].iloc[0] == plain["p_value"].iloc[0] == 0.1


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_a_column_that_the_model_ignores_has_a_p_value_of_one_in_any_unit_of_time(unit):
    """Losses of exact times are negative in a small unit, as these are densities."""
    y = bounds(Y.assign(time=unit * Y["time"], event=True))
    model = make_pipeline(StandardScaler(), LassoNetIntervalRegressor(**QUICK, n_features_to_select=2, random_state=0))
    model.fit(X[FIT], y[FIT])
    found = by_feature(holdout_p_values(model, X[OUT], y[OUT], n_draws=19, random_state=0))
    np.testing.assert_array_equal(found["p_value"] == 1, ~model[-1].selected_)


def test_p_values_of_columns_without_an_effect_are_rarely_small():
    """Columns are correlated, and two of eight have an effect: of 6 × 30 others one in ten has p ≤ 0.1."""
    small = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=(200, 1))
        samples, y = simulated(lambda X, common=common: X[:, 0] + common[:, 0] - X[:, 1], n=200, seed=seed)
        samples[:, [0, 2, 3]] += common
        model = quick(M=0.0, select=0.0, refit=False, random_state=0).fit(samples[:100], y[:100])
        found = holdout_p_values(
            model, samples[100:], y[100:], X_fit=samples[:100], n_draws=19, covariance="empirical", random_state=seed
        )
        small.append((by_feature(found)["p_value"] <= 0.1).to_numpy())
    shares = np.mean(small, axis=0)
    assert shares[:2].min() > 0.9
    assert shares[2:].mean() < 0.1 + 2 * np.sqrt(0.09 / 180)  # two standard errors


# ---- effects and interactions ---------------------------------------------------------------------------------------


def test_the_effect_on_a_hazard_is_that_on_its_logarithm_and_of_intervals_that_on_the_median_time(models):
    effects = {kind: feature_effects(model, X[OUT]).set_index("feature") for kind, model in models.items()}
    assert effects["Cox"]["shape"].tolist() == ["rises", "falls"]
    assert effects["interval"]["shape"].tolist() == ["falls", "rises"]
    for kind, model in models.items():
        curve = effect_curve(model, X[OUT], 0)
        fixed = X[OUT].copy()
        fixed[:, 0] = curve.values[0]
        assert curve.prediction[0, 0] == pytest.approx(model.predict(fixed).mean())
        assert abs(effects[kind]["size"].iloc[0]) == pytest.approx(np.ptp(curve.prediction))
        assert set(effects[kind]["towards"]) == {""}


@both_models
def test_an_interaction_is_found_among_a_hundred_columns_without_effects_of_their_own(kind):
    Estimator, form = MODELS[kind]
    samples, y = simulated(lambda X: 2 * X[:, 3] * X[:, 7], n=600, d=100)
    model = Estimator(**QUICK | {"hidden_dims": (20,)}, random_state=0).fit(samples, form(y))
    first = model.interactions_.iloc[0]
    assert (first["feature_1"], first["feature_2"], first["feature_3"]) == (3, 7, None)
    assert first["p_value"] < 1e-6 and first["selected"]
    assert model.at(n_features=2).selected_[[3, 7]].all()


@both_models
@pytest.mark.parametrize("refit", [False, "warm", "scratch"])
def test_a_point_with_few_features_names_the_columns_that_could_stand_in(kind, refit):
    Estimator, form = MODELS[kind]
    samples, y = simulated(lambda X: 1.5 * X[:, 0] - X[:, 1])
    samples[:, 5] = samples[:, 0] + 0.3 * samples[:, 5]
    model = Estimator(**QUICK, refit=refit, random_state=0).fit(samples, form(y)).at(n_features=2)
    assert model.n_selected_ == 2
    found = model.alternatives_.iloc[0]
    assert {found.iloc[0], found.iloc[1]} == {0, 5}
    assert found["r2"] == pytest.approx(1 / 1.09, abs=0.05)
    assert np.argsort(-model.feature_importances_)[2] in (0, 5)  # redundant columns come before noise
