"""Laws of permutation importances: what they estimate, and how often their intervals cover it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance as sklearn_permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from riata import LassoNetClassifier, LassoNetRegressor, losses
from riata.evidence import held_out, importance, permutation_importance
from tests.evidence.tables import (
    X_fit,
    X_out,
    by_feature,
    label_fit,
    label_out,
    linear,
    measured,
    y,
    y_fit,
    y_out,
)


def test_the_importance_in_a_linear_model_is_twice_the_explained_variance():
    beta = np.array([1.0, 0.5, 0.0])
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 3)) * [1, 4, 1]
    target = Z @ beta + rng.normal(size=4000)
    found = by_feature(permutation_importance(linear(beta), Z, target, n_repeats=5, random_state=0))
    assert np.allclose(found["importance"], [2, 8, 0], rtol=0.1, atol=1e-9)


def test_many_repeats_converge_to_the_mean_over_all_pairs_of_samples():
    beta = np.array([1.0, -2.0])
    Z, target = X_out[:15, :2], y_out[:15]
    rest = target - Z @ beta
    moved = Z[None, :, 0] - Z[:, None, 0]  # (sample, donor)
    change = (rest[:, None] - moved) ** 2 - rest[:, None] ** 2
    exact = change.sum() / (15 * 14)  # a sample is not its own donor
    found = by_feature(permutation_importance(linear(beta), Z, target, n_repeats=4000, random_state=0))
    assert found["importance"]["x0"] == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_coverage_of_intervals_is_about_their_confidence(noise):
    beta, n = np.array([1.0, 0.3]), 100
    covered = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(n, 2))
        table = permutation_importance(linear(beta), Z, Z @ beta + noise * rng.normal(size=n), random_state=seed)
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
    n = len(X_out)  # in theirs a sample may keep its entry
    assert (np.abs(ours - theirs.importances_mean * n / (n - 1)) <= noise + 1e-12).all()


def test_the_loss_of_a_classifier_is_the_log_loss():
    model = RandomForestClassifier(5, random_state=0).fit(X_fit, label_fit)  # probabilities of 0 among them
    held = held_out.check_held_out(model, X_out, label_out, "test")
    proba = model.predict_proba(X_out).clip(1e-7, 1)
    right = np.where(label_out == "high", proba[:, 0], proba[:, 1])
    assert np.allclose(held.baseline, -np.log(right))
    smooth = LogisticRegression().fit(X_fit, label_fit)
    held = held_out.check_held_out(smooth, X_out, label_out, "test")
    assert held.baseline.mean() == pytest.approx(log_loss(label_out, smooth.predict_proba(X_out)))


def test_errors_of_several_outputs_are_summed():
    Y = np.column_stack([y, 3 * y])
    one = permutation_importance(LinearRegression().fit(X_fit, y_fit), X_out, y_out, random_state=0)
    two = permutation_importance(LinearRegression().fit(X_fit, Y[:100]), X_out, Y[100:], random_state=0)
    assert one["feature"].equals(two["feature"])
    assert np.allclose(two[["importance", "low", "high", "se"]], 10 * one[["importance", "low", "high", "se"]])


@pytest.mark.parametrize("loss", ["absolute_error", "huber", losses.Quantile((0.1, 0.9))])
def test_a_regressor_with_another_loss_is_judged_by_it(loss):
    model = LassoNetRegressor((4,), loss=loss, select="best", random_state=0).fit(X_fit, y_fit)
    held = held_out.check_held_out(make_pipeline("passthrough", model), X_out, y_out, "test")
    own = model._target.loss
    scale = model._solved.target_scaling
    mean_loss = -losses.NumberLoss.score(own, y_out.reshape(-1, 1), model._output(X_out), scale, None)
    assert held.baseline.mean() == pytest.approx(mean_loss)
    found = permutation_importance(model, X_out, y_out, random_state=0)
    assert found["importance"].iloc[0] > 0


def test_the_log_losses_of_labels_are_summed():
    table = np.stack([label_fit == "high", y_fit > 1], axis=1).astype(int)
    truth = np.stack([label_out == "high", y_out > 1], axis=1).astype(int)
    model = LassoNetClassifier((4,), select="best", random_state=0).fit(X_fit, table)
    held = held_out.check_held_out(model, X_out, truth, "test")
    both = [log_loss(truth[:, k], model.predict_proba(X_out)[:, k]) for k in range(2)]
    assert held.baseline.mean() == pytest.approx(sum(both), rel=1e-4)


def test_importances_are_sorted_and_intervals_are_those_of_the_t_distribution(models):
    table = measured(permutation_importance, models["linear"], confidence=0.8)
    assert list(table.columns) == ["feature", "importance", "low", "high", "se"]
    assert table["importance"].is_monotonic_decreasing
    assert table["feature"].tolist()[:2] == ["x0", "x2"]
    margin = t.ppf(0.9, len(X_out) - 1) * table["se"]
    assert np.allclose(table["high"], table["importance"] + margin)
    assert np.allclose(table["low"], table["importance"] - margin)


def test_equal_weights_change_nothing_and_samples_of_weight_zero_are_left_out(models):
    model, part = models["linear"], np.arange(120) < 50
    plain = permutation_importance(model, X_out[part], y_out[part], random_state=0)
    half = permutation_importance(model, X_out, y_out, sample_weight=np.where(part, 0.5, 0), random_state=0)
    pd.testing.assert_frame_equal(half, plain)


def test_the_importance_is_that_for_the_samples_with_large_weights():
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


def test_columns_of_a_group_are_permuted_together():
    # The difference of two columns that are permuted together is permuted like one column.
    Z = X_out[:, :2].copy()
    Z[:, 1] += Z[:, 0]
    model = linear([-1.0, 1.0])  # predicts the second column as it was
    target = X_out[:, 1] + 0.1
    table = permutation_importance(model, Z, target, feature_groups=[[0, 1]], n_repeats=50, random_state=0)
    alone = permutation_importance(linear([1.0]), X_out[:, 1:2], target, n_repeats=50, random_state=0)
    assert table["feature"].tolist() == ["x0"]
    assert np.allclose(table.drop(columns="feature"), alone.drop(columns="feature"))


def test_jobs_can_be_pickled(models):
    held = held_out.check_held_out(models["classifier"], X_out, label_out, "test")
    feature = held_out.list_features(held, None, 0)[0]
    sent = pickle.loads(pickle.dumps((held, feature, 5)))
    assert importance._estimate(*sent) == importance._estimate(held, feature, 5)
