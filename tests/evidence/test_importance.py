"""Laws of importances and p-values on held-out rows: what they estimate, how sure they are, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy.stats import t
from sklearn.base import is_regressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance as sklearn_permutation_importance
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor
from riata.evidence import holdout_p_values, importance, permutation_importance
from riata.evidence.gaussian import Gaussian, learn

QUICK = {
    "preprocessing": "standard",
    "hidden_dims": (8,),
    "M": 1.0,
    "path_multiplier": 1.5,
    "n_iters": (200, 50),
    "random_state": 0,
}
D = 6
NAMES = [f"gene {j}" for j in range(D)]
BOTH = [permutation_importance, holdout_p_values]
both = pytest.mark.parametrize("measure", BOTH)


def correlated(rng, n, d=D, correlation=0.5):
    """Rows of a Gaussian in which neighbouring columns are correlated."""
    return rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance(d, correlation)).T


def covariance(d, correlation=0.5):
    return correlation ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def linear(beta, intercept=0.0):
    """A linear model with coefficients that are given, not fitted."""
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.asarray(beta, dtype=float), intercept, len(beta)
    return model


def by_feature(table, names=None):
    table = table.set_index("feature")
    return table.loc[[f"x{j}" for j in range(len(table))] if names is None else names]


# Columns 0 and 2 matter; the first 100 rows are to fit on, the others held out.
tables = np.random.default_rng(0)
X = correlated(tables, 220)
y = 2 * X[:, 0] - X[:, 2] + tables.normal(size=220)
label = np.where(y > 0, "high", "low")
X_fit, y_fit, label_fit, X_out, y_out, label_out = X[:100], y[:100], label[:100], X[100:], y[100:], label[100:]


@pytest.fixture(scope="module")
def models():
    """A linear model, and a network that uses two features, for tests that only look."""
    return {
        "linear": LinearRegression().fit(X_fit, y_fit),
        "network": LassoNetRegressor(select="best", **QUICK).fit(X_fit, y_fit).at(n_features=2),
        "classifier": LassoNetClassifier(n_features_to_select=2, **QUICK).fit(X_fit, label_fit),
    }


def measured(measure, model, out=X_out, **params):
    """Call with the target that suits the model, and few draws."""
    few = {"n_repeats": 5} if measure is permutation_importance else {"n_draws": 19}
    target = y_out if is_regressor(model) else label_out
    return measure(model, out, target, **({"random_state": 0} | few | params))


# The Gaussian.


@pytest.mark.parametrize("columns", [[2], [0, 3], [3, 1, 4], [0, 1, 2, 3, 4]])
def test_the_conditional_distribution_is_that_of_the_textbook(columns):
    S = covariance(5) * np.outer([1, 1e4, 2, 1e-4, 3], [1, 1e4, 2, 1e-4, 3])
    mean = np.arange(5.0)
    rows = np.random.default_rng(1).normal(size=(7, 5)) * np.sqrt(np.diag(S)) + mean
    K, O = columns, [j for j in range(5) if j not in columns]  # noqa: E741
    slopes = S[np.ix_(K, O)] @ np.linalg.inv(S[np.ix_(O, O)])
    found, spread = Gaussian(mean, S).conditional(rows, columns)
    scale = np.sqrt(np.diag(S)[K])
    assert found.shape == (7, len(K))
    assert np.allclose(found / scale, (mean[K] + (rows[:, O] - mean[O]) @ slopes.T) / scale)
    units = np.outer(scale, scale)
    assert np.allclose(spread / units, (S[np.ix_(K, K)] - slopes @ S[np.ix_(O, K)]) / units)


def test_the_conditional_distribution_does_not_look_at_the_columns_in_question():
    changed = X_out.copy()
    changed[:, [1, 4]] = 1e6
    gaussian = learn(X_fit)
    assert np.array_equal(gaussian.conditional(changed, [1, 4])[0], gaussian.conditional(X_out, [1, 4])[0])


def test_columns_drawn_anew_have_the_covariance_of_the_old_ones():
    n, columns = 20_000, [1, 2]
    truth = Gaussian(np.arange(4.0), covariance(4))
    draw = np.random.default_rng(0)
    rows = correlated(draw, n, 4) + truth.mean
    mean, spread = truth.conditional(rows, columns)
    rows[:, columns] = mean + draw.normal(size=(n, 2)) @ np.linalg.cholesky(spread).T
    assert np.abs(rows.mean(axis=0) - truth.mean).max() < 5 / np.sqrt(n)
    assert np.abs(np.cov(rows.T) - truth.covariance).max() < 5 * np.sqrt(2 / n)


def test_a_copy_among_the_columns_is_named_as_the_reason():
    with pytest.raises(ValueError, match="singular"):
        Gaussian(np.zeros(2), np.ones((2, 2))).conditional(X_out[:, :2], [0])


# Permutation importance: what it estimates.


def test_the_importance_in_a_linear_model_is_twice_the_explained_variance():
    beta = np.array([1.0, 0.5, 0.0])
    draw = np.random.default_rng(0)
    Z = draw.normal(size=(4000, 3)) * [1, 4, 1]
    target = Z @ beta + draw.normal(size=4000)
    found = by_feature(permutation_importance(linear(beta), Z, target, n_repeats=5, random_state=0))
    assert np.allclose(found["importance"], [2, 8, 0], rtol=0.1, atol=1e-9)


def test_many_repeats_come_to_the_mean_over_all_pairs_of_rows():
    beta = np.array([1.0, -2.0])
    Z, target = X_out[:15, :2], y_out[:15]
    rest = target - Z @ beta
    moved = Z[None, :, 0] - Z[:, None, 0]  # (row, donor)
    change = (rest[:, None] - moved) ** 2 - rest[:, None] ** 2
    exact = change.sum() / (15 * 14)  # a row and itself add nothing, and are no pair
    found = by_feature(permutation_importance(linear(beta), Z, target, n_repeats=4000, random_state=0))
    assert found["importance"]["x0"] == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_intervals_cover_the_importance_about_as_often_as_they_say(noise):
    beta, n = np.array([1.0, 0.3]), 100
    covered = []
    for seed in range(100):
        draw = np.random.default_rng(seed)
        Z = draw.normal(size=(n, 2))
        table = permutation_importance(linear(beta), Z, Z @ beta + noise * draw.normal(size=n), random_state=seed)
        found = by_feature(table)
        covered.append((found["low"] <= 2 * beta**2) & (2 * beta**2 <= found["high"]))
    share = np.mean(covered, axis=0)  # with 100 simulations, ± 0.04 about 0.95
    assert (share >= 0.88).all()
    assert np.mean(share) <= 0.99


def test_importances_agree_with_those_of_scikit_learn(models):
    model = models["linear"]
    theirs = sklearn_permutation_importance(
        model, X_out, y_out, scoring="neg_mean_squared_error", n_repeats=100, random_state=0
    )
    ours = by_feature(permutation_importance(model, X_out, y_out, n_repeats=100, random_state=1))["importance"]
    noise = 4 * np.sqrt(2 / 100) * theirs.importances_std
    n = len(X_out)  # theirs let a row keep its own entry
    assert (np.abs(ours - theirs.importances_mean * n / (n - 1)) <= noise + 1e-12).all()


def test_the_loss_of_a_classifier_is_the_log_loss():
    model = RandomForestClassifier(5, random_state=0).fit(X_fit, label_fit)  # probabilities of 0 among them
    held = importance._held_out(model, X_out, label_out, "test")
    proba = model.predict_proba(X_out).clip(1e-7, 1)
    right = np.where(label_out == "high", proba[:, 0], proba[:, 1])
    assert np.allclose(held.own, -np.log(right))
    smooth = LogisticRegression().fit(X_fit, label_fit)
    held = importance._held_out(smooth, X_out, label_out, "test")
    assert held.own.mean() == pytest.approx(log_loss(label_out, smooth.predict_proba(X_out)))


def test_errors_of_several_outputs_are_summed():
    Y = np.column_stack([y, 3 * y])
    one = permutation_importance(LinearRegression().fit(X_fit, y_fit), X_out, y_out, random_state=0)
    two = permutation_importance(LinearRegression().fit(X_fit, Y[:100]), X_out, Y[100:], random_state=0)
    assert one["feature"].equals(two["feature"])
    assert np.allclose(two[["importance", "low", "high", "se"]], 10 * one[["importance", "low", "high", "se"]])


def test_importances_are_sorted_and_intervals_are_those_of_the_t_distribution(models):
    table = measured(permutation_importance, models["linear"], confidence=0.8)
    assert list(table.columns) == ["feature", "importance", "low", "high", "se"]
    assert table["importance"].is_monotonic_decreasing
    assert table["feature"].tolist()[:2] == ["x0", "x2"]
    margin = t.ppf(0.9, len(X_out) - 1) * table["se"]
    assert np.allclose(table["high"], table["importance"] + margin)
    assert np.allclose(table["low"], table["importance"] - margin)


def test_equal_weights_change_nothing_and_rows_of_weight_zero_are_not_there(models):
    model, part = models["linear"], np.arange(120) < 50
    plain = permutation_importance(model, X_out[part], y_out[part], random_state=0)
    half = permutation_importance(model, X_out, y_out, sample_weight=np.where(part, 0.5, 0), random_state=0)
    pd.testing.assert_frame_equal(half, plain)


def test_weights_lead_to_the_rows_that_they_favour():
    # Column 0 matters where column 1 is positive only.
    Z = np.random.default_rng(0).normal(size=(400, 2))
    Z[:, 1] = np.sign(Z[:, 1])
    target = Z[:, 0] * (Z[:, 1] > 0)
    model = make_pipeline(PolynomialFeatures(), LinearRegression()).fit(Z, target)
    found = [
        by_feature(permutation_importance(model, Z, target, sample_weight=w, random_state=0))["importance"]["x0"]
        for w in (None, np.where(Z[:, 1] > 0, 1e3, 1), np.where(Z[:, 1] < 0, 1e3, 1))
    ]
    assert found[1] == pytest.approx(2 * found[0], rel=0.2)
    assert abs(found[2]) < 0.05 * found[0]


def test_columns_of_a_group_move_together():
    # The difference of two columns that are permuted together moves as one column does.
    Z = X_out[:, :2].copy()
    Z[:, 1] += Z[:, 0]
    model = linear([-1.0, 1.0])  # predicts the second column as it was
    target = X_out[:, 1] + 0.1
    table = permutation_importance(model, Z, target, feature_groups=[[0, 1]], n_repeats=50, random_state=0)
    alone = permutation_importance(linear([1.0]), X_out[:, 1:2], target, n_repeats=50, random_state=0)
    assert table["feature"].tolist() == ["x0"]
    assert np.allclose(table.drop(columns="feature"), alone.drop(columns="feature"))


# The holdout randomisation test.


def null_p_values(seed, fit_on, make):
    draw = np.random.default_rng(seed)
    beta = np.where(np.arange(D) % 3, 0, 0.7)
    Z = correlated(draw, 150)
    target = Z @ beta + draw.normal(size=150)
    model = make().fit(Z[:70], target[:70])
    others = {"X_fit": Z[:70]} if fit_on else {}
    table = holdout_p_values(model, Z[70:], target[70:], n_draws=99, random_state=seed, **others)
    return by_feature(table)["p_value"][beta == 0]


@pytest.mark.parametrize(
    ("make", "fit_on"), [(LinearRegression, False), (lambda: Ridge(30), True)], ids=["linear, X alone", "ridge, X_fit"]
)
def test_p_values_of_columns_that_say_nothing_are_rarely_small(make, fit_on):
    small = np.array([null_p_values(seed, fit_on, make) <= 0.1 for seed in range(50)]).mean(axis=1)
    assert small.mean() <= 0.1 + 3 * small.std() / np.sqrt(len(small))


def test_p_values_of_a_network_are_rarely_small_where_they_should_not_be(models):
    dense = models["network"].at(lambda_=0)
    assert dense.selected_.all()
    small = []
    for seed in range(30):
        draw = np.random.default_rng(seed)
        Z = correlated(draw, 60)
        target = 2 * Z[:, 0] - Z[:, 2] + draw.normal(size=60)
        table = holdout_p_values(dense, Z, target, X_fit=X_fit, n_draws=99, random_state=seed)
        found = by_feature(table)["p_value"]
        assert found["x0"] == 0.01  # the smallest there is
        small.append((found.iloc[[1, 3, 4, 5]] <= 0.1).mean())
    assert np.mean(small) <= 0.1 + 3 * np.std(small) / np.sqrt(len(small))


def test_a_column_that_only_resembles_one_that_matters_is_not_significant():
    draw = np.random.default_rng(1)
    Z = correlated(draw, 400, 2, correlation=0.8)
    target = Z[:, 0] + draw.normal(size=400)
    model = linear([0.5, 0.5])  # leans on both
    assert by_feature(permutation_importance(model, Z, target, random_state=0))["low"]["x1"] > 0
    p = by_feature(holdout_p_values(model, Z, target, random_state=0))["p_value"]
    assert p["x0"] == 0.001
    assert p["x1"] > 0.05


@pytest.mark.parametrize("covariance", ["ledoit-wolf", "graphical-lasso"])
def test_the_strongest_features_have_the_smallest_p_values(models, covariance):
    table = holdout_p_values(
        models["linear"], X_out, y_out, X_fit=X_fit, covariance=covariance, n_draws=199, random_state=0
    )
    assert list(table.columns) == ["feature", "p_value", "p_holm"]
    assert set(table["feature"][:2]) == {"x0", "x2"}
    assert table["p_value"].is_monotonic_increasing
    assert table["p_value"][:2].tolist() == [1 / 200] * 2
    assert table["p_holm"][:2].tolist() == pytest.approx([6 / 200] * 2)


def test_p_values_are_adjusted_as_holm_says():
    p = np.array([0.04, 0.01, 1.0, 0.03])
    assert np.allclose(importance._holm(p), [0.09, 0.04, 1, 0.09])


def test_a_group_is_significant_where_one_of_two_alike_would_not_be():
    draw = np.random.default_rng(0)
    common = draw.normal(size=300)
    Z = np.column_stack([common, common, draw.normal(size=300)]) + 0.01 * draw.normal(size=(300, 3))
    target = common + draw.normal(size=300)
    model = Ridge().fit(Z[:150], target[:150])
    held = {"X": Z[150:], "y": target[150:], "X_fit": Z[:150], "n_draws": 99, "random_state": 0}
    alone = by_feature(holdout_p_values(model, **held))["p_value"]
    pair = holdout_p_values(model, **held, feature_groups={"twins": [0, 1], "other": [2]}).set_index("feature")
    assert (alone[["x0", "x1"]] > 0.05).all()
    assert pair["p_value"]["twins"] == 0.01


def test_a_column_that_the_model_ignores_is_not_found_by_rounding(rng):
    # A coefficient of exactly 0, which only the predictions can tell: they differ in their last bits where rows are stacked.
    target = 1e3 * X[:, 0] + 1e-3 * rng.normal(size=220) + 1e5
    model = Lasso(alpha=10).fit(X_fit, target[:100])
    assert (model.coef_[1:] == 0).all()
    p = by_feature(holdout_p_values(model, X_out, target[100:], n_draws=99, random_state=0))["p_value"]
    assert (p[1:] == 1).all()
    assert p["x0"] == 0.01


# What both have in common.


@both
@pytest.mark.parametrize("kind", ["network", "classifier"])
def test_features_outside_the_model_are_worth_nothing(models, measure, kind):
    model = models[kind]
    table = by_feature(measured(measure, model))
    outside = table[~model.selected_]
    assert len(outside) >= 4
    if measure is permutation_importance:
        assert (outside == 0).all(axis=None)
        assert (table[model.selected_]["importance"] > 0).all()
    else:
        assert (outside == 1).all(axis=None)
        assert table["p_value"].min() == 0.05


@both
def test_an_empty_model_gives_a_table_too(models, measure):
    table = measured(measure, models["network"].at(n_features=0))
    assert len(table) == D
    assert table["feature"].tolist() == [f"x{j}" for j in range(D)]


@both
def test_the_same_seed_gives_the_same_table_whatever_the_number_of_jobs(models, measure):
    with parallel_config(backend="threading"):  # processes take seconds to start
        one, again, two = (measured(measure, models["linear"], n_jobs=n) for n in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again, check_exact=True)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert not one.equals(measured(measure, models["linear"], random_state=1))


def test_the_work_can_be_sent_to_other_processes(models):
    held = importance._held_out(models["classifier"], X_out, label_out, "test")
    feature = importance._features(held, None, 0)[0]
    sent = pickle.loads(pickle.dumps((held, feature, 5)))
    assert importance._permuted(*sent) == importance._permuted(held, feature, 5)


@both
def test_what_happens_to_one_feature_does_not_depend_on_which_others_are_used(measure):
    full, sparse = linear([2.0, 0, -1, 0, 0, 0]), linear([2.0, 0, -1, 0, 0, 0])
    sparse.selected_ = sparse.coef_ != 0
    one, two = (
        by_feature(measured(measure, model)).drop(columns="p_holm", errors="ignore") for model in (sparse, full)
    )
    assert one.loc[["x0", "x2"]].equals(two.loc[["x0", "x2"]])


@both
def test_how_many_tables_the_model_sees_at_once_does_not_matter(models, measure, monkeypatch):
    together = measured(measure, models["linear"])
    monkeypatch.setattr(importance, "_ENTRIES", 3 * X_out.size)
    pd.testing.assert_frame_equal(measured(measure, models["linear"]), together)


@both
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns_are_kept(measure, frame):
    model = LinearRegression().fit(frame(dict(zip(NAMES, X_fit.T, strict=True))), y_fit)
    out = frame(dict(zip(NAMES, X_out.T, strict=True)))
    extra = {} if measure is permutation_importance else {"X_fit": out}
    table = measured(measure, model, out, **extra)
    assert sorted(table["feature"]) == NAMES
    grouped = measured(measure, model, out, feature_groups=[NAMES[3:], NAMES[:3]])
    assert sorted(grouped["feature"]) == [NAMES[0], NAMES[3]]


@both
def test_groups_have_their_own_names_where_there_are_some(models, measure):
    named = {"first": [0, 1], "none": [], "rest": [2, 3, 4, 5]}
    for groups in (named, ["first"] * 2 + ["rest"] * 4):
        assert sorted(measured(measure, models["linear"], feature_groups=groups)["feature"]) == ["first", "rest"]
    assert sorted(measured(measure, models["linear"], feature_groups=[7, 7, 1, 1, 1, 1])["feature"]) == ["x0", "x2"]


@both
@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), Ridge(1e-6)).fit(X_fit, y_fit),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X_fit, label_fit),
        RandomForestClassifier(20, max_depth=3, random_state=0).fit(X_fit, label_fit),
    ],
    ids=["pipeline", "classifying pipeline", "forest"],
)
def test_models_of_scikit_learn_will_do(measure, model):
    assert measured(measure, model)["feature"][0] == "x0"


@both
def test_a_constant_column_is_worth_nothing(measure):
    Z = X.copy()
    Z[:, 3] = 0.1
    model = LinearRegression().fit(X_fit, y_fit)  # it has a coefficient
    row = by_feature(measured(measure, model, Z[100:])).loc["x3"]
    assert (row == (0 if measure is permutation_importance else 1)).all()


def test_a_column_of_constants_only_has_no_distribution():
    ones = np.ones((20, 1))
    assert holdout_p_values(linear([1.0]), ones, np.arange(20.0))["p_value"].tolist() == [1]


def test_columns_with_few_values_are_told_of():
    Z = X.copy()
    Z[:, 1] = np.sign(Z[:, 1])
    model = LinearRegression().fit(pd.DataFrame(Z[:100], columns=NAMES), y_fit)
    with pytest.warns(UserWarning, match=r"10 distinct values .* rough: gene 1$"):
        measured(holdout_p_values, model, pd.DataFrame(Z[100:], columns=NAMES))
    model.selected_ = np.arange(D) != 1
    measured(holdout_p_values, model, pd.DataFrame(Z[100:], columns=NAMES))  # it is not redrawn


# What is refused.


@both
def test_a_model_must_be_fitted_and_predict(models, measure):
    for unfitted in (LinearRegression(), LassoNetRegressor(), make_pipeline(StandardScaler(), Ridge())):
        with pytest.raises(NotFittedError):
            measure(unfitted, X_out, y_out)
    with pytest.raises(ValueError, match="a classifier or a regressor; got StandardScaler"):
        measure(StandardScaler().fit(X_fit), X_out, y_out)
    with pytest.raises(ValueError, match="a classifier or a regressor; got LassoNetAutoencoder"):
        measure(
            LassoNetAutoencoder(hidden_dims=(2,), lambda_seq=(1.0,), n_iters=5, select="best").fit(X_fit), X_out, y_out
        )
    with pytest.raises(ValueError, match="predict_proba; wrap LinearSVC"):
        measure(LinearSVC().fit(X_fit, label_fit), X_out, label_out)


@both
def test_rows_must_be_those_that_the_model_takes(models, measure):
    model = models["linear"]
    gap = np.where(np.arange(D) == 2, np.nan, X_out)
    with pytest.raises(ValueError, match="X has 5 features, but LinearRegression is expecting 6"):
        measure(model, X_out[:, :5], y_out)
    with pytest.raises(ValueError, match="X contains NaN"):
        measure(model, gap, y_out)
    with pytest.raises(ValueError, match="y contains NaN"):
        measure(model, X_out, np.where(y_out > 0, np.nan, y_out))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        measure(model, X_out[:1], y_out[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        measure(model, X_out, y_out[:-1])
    with pytest.raises(ValueError, match="y has 2 columns; the model predicts 1"):
        measure(model, X_out, np.column_stack([y_out, y_out]))
    with pytest.raises(ValueError, match="there is text in 'word'"):
        measure(model, pd.DataFrame(X_out).assign(word="a"), y_out)


@both
def test_labels_must_be_those_that_the_model_knows(models, measure):
    with pytest.raises(ValueError, match="classes that the model does not know: 'middle'"):
        measure(models["classifier"], X_out, np.where(X_out[:, 0] > 1, "middle", label_out))
    pair = RandomForestClassifier(2).fit(X_fit, np.column_stack([label_fit, label_fit]))
    with pytest.raises(ValueError, match="several targets"):
        measure(pair, X_out, label_out)


@pytest.mark.parametrize(
    ("measure", "params", "message"),
    [
        (permutation_importance, {"n_repeats": 0}, "n_repeats must be an integer of at least 1; got 0"),
        (permutation_importance, {"confidence": 1}, "confidence must lie between 0 and 1, such as 0.95; got 1"),
        (permutation_importance, {"confidence": 0.0}, "confidence must lie between"),
        (permutation_importance, {"confidence": 95}, "confidence must lie between"),
        (permutation_importance, {"confidence": "high"}, "confidence must be a finite number"),
        (permutation_importance, {"sample_weight": [1.0]}, "one number per row"),
        (permutation_importance, {"feature_groups": [[0, 1]]}, "groups must cover each feature once; missing: 2"),
        (holdout_p_values, {"n_draws": 0}, "n_draws must be an integer of at least 1; got 0"),
        (holdout_p_values, {"covariance": "full"}, "covariance must be one of 'ledoit-wolf', 'graphical-lasso'"),
        (holdout_p_values, {"X_fit": X_fit[:, :5]}, "5 features, but LinearRegression is expecting 6"),
        (holdout_p_values, {"X_fit": X_fit * np.nan}, "X_fit contains NaN"),
        (holdout_p_values, {"feature_groups": [[0, 1]]}, "groups must cover each feature once; missing: 2"),
    ],
)
def test_a_setting_out_of_range_is_named(models, measure, params, message):
    with pytest.raises(ValueError, match=message):
        measured(measure, models["linear"], **params)
