"""λ, M and the network by cross-validation: replicas are plain fits, selection rules hold, any splitter and scorer will do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_blobs
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import LassoNetClassifier, LassoNetClassifierCV, LassoNetRegressor, LassoNetRegressorCV, ReplicaError
from riata.estimators import folds
from riata.path import selection
from riata.solver.solve import Solver
from tests.conftest import with_training

QUICK = {"hidden_dims": (8,), "path_multiplier": 1.2, "random_state": 0}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(X), 10))
    return np.hstack([X[:, :12], noise])[::2], y[::2]


@pytest.fixture(scope="module")
def diabetes_frame():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(cancer):
    return LassoNetClassifierCV(**with_training(cv=3, **QUICK)).fit(*cancer)


@pytest.mark.parametrize("refit", ["warm", "scratch"])
def test_a_score_is_that_of_a_plain_fit_on_the_samples_of_a_fold(cancer, monkeypatch, refit):
    """A replica has its fold's training samples and nothing else: the plain estimator on these gives the same."""
    candidates, candidate = [], folds.candidate
    monkeypatch.setattr(folds, "candidate", lambda *args: candidates.append(candidate(*args)) or candidates[-1])
    X, y = cancer
    pairs = list(StratifiedKFold(3, shuffle=True, random_state=5).split(X, y))
    model = LassoNetClassifierCV(**with_training(cv=pairs, scoring="neg_log_loss", **{**QUICK, "refit": refit})).fit(
        X, y
    )
    (found,), results = candidates, model.cv_results_
    for i, (fit, test) in enumerate(pairs):
        for row in results.iloc[[0, len(results) // 3, -4]].itertuples():
            alone = clone(found.estimator).set_params(select=row.lambda_).fit(X[fit], y[fit])
            alone.load(alone._solved.with_plans(found.plans.nearest).refit(alone.point_, refit))
            score = get_scorer("neg_log_loss")(alone, X[test], y[test])
            assert getattr(row, f"split{i}_test_score") == pytest.approx(score, rel=1e-6)


def test_held_out_samples_of_a_fold_have_no_influence_on_what_is_scored(cancer):
    """Only λ and the iterations of the dense model are settled on all samples; with these given, nothing is."""
    X, y = cancer
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    given = {**QUICK, "lambda_seq": (0.01, 0.02, 0.05), "n_iters": (40, 10), "val_size": 0, "refit": False}
    first = LassoNetClassifierCV(**with_training(cv=folds, select="best", scoring=_log_odds, **given)).fit(X, y)
    changed = X.copy()
    changed[folds[0][1], :5] *= 3
    other = LassoNetClassifierCV(**with_training(cv=folds, select="best", scoring=_log_odds, **given)).fit(changed, y)
    pd.testing.assert_series_equal(first.cv_results_["split0_test_score"], other.cv_results_["split0_test_score"])
    assert not first.cv_results_["split1_test_score"].equals(other.cv_results_["split1_test_score"])


def _log_odds(model, X, y):
    """A score that depends on what was learnt, and not on the samples to be scored."""
    return float(model.decision_function(np.zeros((1, X.shape[1])))[0])


def test_the_one_standard_error_rule_selects_the_fewest_features_within_it(fitted):
    results = fitted.cv_results_
    best = results.loc[results["mean_test_score"].idxmax()]
    lowest = best["mean_test_score"] - best["se_test_score"]
    selected = results.loc[fitted.cv_index_]
    assert selected["n_selected"] == results["n_selected"][results["mean_test_score"] >= lowest].min()
    sparser = results[results["n_selected"] < selected["n_selected"]]
    assert sparser["n_selected"].max() < fitted.cv_n_selected_ <= selected["n_selected"]
    assert lowest <= fitted.cv_score_ <= selected["mean_test_score"]
    counts = fitted.path_.n_selected
    assert abs(fitted.n_selected_ - fitted.cv_n_selected_) == np.abs(counts - fitted.cv_n_selected_).min()
    alike = fitted.path_.lambdas[counts == fitted.n_selected_]
    assert abs(fitted.lambda_ - selected["lambda_"]) == np.abs(alike - selected["lambda_"]).min()
    assert fitted.n_selected_ < fitted.n_features_in_ / 2


@pytest.mark.parametrize(
    ("lowest", "row", "n_selected", "score"),
    [
        (0.90, 1, 20, 0.90),  # as it is
        (0.88, 1, 18, 0.88),  # 20 features have 0.90, 10 have 0.80
        (0.885, 1, 19, 0.89),  # whole features only
        (0.50, 3, 1.4, 0.5),  # of the same number the better score; a mean of folds is no more than it was
        (0.79, 2, 10, 0.80),  # where one feature makes a difference it is kept
        (0.00, 5, 0, 0.3),  # nothing at all will do
        (0.88 + 1e-14, 1, 18, 0.88),  # up to rounding
    ],
)
def test_between_scores_the_fewest_features_are_on_a_straight_line(lowest, row, n_selected, score):
    line = pd.DataFrame(
        {
            "n_selected": [40, 20, 10, 1.4, 1.4, 0, 9.9],
            "mean_test_score": [np.nan, 0.9, 0.8, 0.5, 0.4, 0.3, 0.5],
        }
    )
    choice = folds.fewest(line, lowest)
    assert choice[:2] == (row, n_selected)
    assert choice.score == pytest.approx(score)
    sparser = line["n_selected"][line["n_selected"] < line["n_selected"][row]]
    assert choice.too_few == (sparser.max() if len(sparser) else -1)


def test_no_line_goes_to_a_score_that_is_infinite():
    line = pd.DataFrame({"n_selected": [20, 10], "mean_test_score": [0.9, -np.inf]})
    assert folds.fewest(line, 0.8) == (0, 20, 0.9, 10)


def rising(model, X, y):
    """A score that rises with the number of features, and otherwise varies between folds only."""
    return 0.01 * model.n_selected_ + 0.45 * np.mean(X[:, -1])


def test_on_a_straight_line_the_number_is_where_the_score_is_one_error_below_the_best(cancer):
    model = LassoNetClassifierCV(**with_training(cv=3, scoring=rising, **QUICK)).fit(*cancer)
    results = model.cv_results_
    d, lowest = model.n_features_in_, results["mean_test_score"][0] - results["se_test_score"][0]
    assert d > model.cv_n_selected_ == np.ceil(d - results["se_test_score"][0] / 0.01)
    assert model.cv_n_selected_ not in set(results["n_selected"])
    assert lowest <= model.cv_score_ < lowest + 0.01
    assert abs(model.n_selected_ - model.cv_n_selected_) == np.abs(model.path_.n_selected - model.cv_n_selected_).min()


def test_of_several_candidates_the_one_with_the_fewest_features_is_selected(fitted):
    results = pd.DataFrame(
        {
            "candidate": [0, 0, 1, 1, 2],
            "n_selected": [20.0, 10, 16, 12, 11],
            "mean_test_score": [0.92, 0.82, 0.9, 0.8, 0.7],
            "se_test_score": 0.03,
        }
    )
    assert fitted._choose(results) == (2, pytest.approx(16), pytest.approx(0.9), 12)
    results["mean_test_score"] += [0, 0.04, 0, 0, 0]
    assert fitted._choose(results) == (0, pytest.approx(15), pytest.approx(0.89), 10)


def test_a_number_between_those_on_the_path_is_not_taken_for_too_few():
    """Groups leave as one, so that the path on all samples has nothing between 16 and 8."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(90, 24)), np.repeat([0, 1, 2], 8)
    y = X[:, 0] + 0.4 * X[:, 8] + 0.15 * X[:, 16] + 0.6 * rng.normal(size=90)
    path = LassoNetRegressor(**with_training(**QUICK, feature_groups=groups, select=0.0)).fit(X, y).path_
    assert set(path.n_selected) == {24, 16, 8, 0}
    at = [path[selection.nearest(path, 11, too_few, 0.0)].n_selected for too_few in (0, 8)]
    assert at == [8, 16]


def test_standard_errors_are_those_of_the_folds_but_not_below_those_of_a_share(cancer, fitted):
    results = fitted.cv_results_
    splits = results.filter(like="split").to_numpy()
    by_folds = splits.std(axis=1, ddof=1) / np.sqrt(3)
    assert (results["se_test_score"] >= by_folds - 1e-12).all()
    p, n = results["mean_test_score"], len(cancer[1])
    by_chance = np.sqrt(p * (1 - p) / n)
    np.testing.assert_allclose(results["se_test_score"], np.maximum(by_folds, by_chance), rtol=0.2)
    losses = LassoNetClassifierCV(**with_training(cv=3, scoring="neg_log_loss", **QUICK)).fit(*cancer).cv_results_
    by_folds = losses.filter(like="split").to_numpy().std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(losses["se_test_score"], by_folds)


def test_best_selects_the_highest_score_and_k_at_most_k(cancer):
    best = LassoNetClassifierCV(**with_training(cv=3, select="best", **QUICK)).fit(*cancer)
    assert best.cv_score_ == best.cv_results_["mean_test_score"].max()
    few = LassoNetClassifierCV(**with_training(cv=3, n_features_to_select=3, M=[0, 10], **QUICK)).fit(*cancer)
    assert few.n_selected_ <= 3
    assert few.M_ in (0, 10)
    results = few.cv_results_
    nearest = (results["n_selected"] - 3).abs().groupby(results["M"]).idxmin()
    assert few.cv_score_ == results.loc[nearest, "mean_test_score"].max()
    there = LassoNetClassifierCV(**with_training(cv=3, select=0.5, **QUICK)).fit(*cancer)
    assert there.lambda_ == there.at(lambda_=0.5).lambda_


def test_m_and_shapes_are_searched(diabetes_frame):
    model = LassoNetRegressorCV(
        [(4,), (6, 3)], **with_training(M=[0.0, 5.0], cv=3, path_multiplier=1.3, random_state=0)
    )
    model.fit(*diabetes_frame)
    results = model.cv_results_
    assert set(results["hidden_dims"]) == {(4,), (6, 3)}
    assert set(results["M"]) == {0.0, 5.0}
    selected = results.loc[model.cv_index_]
    assert (model.M_, model.hidden_dims_) == (selected["M"], selected["hidden_dims"])
    assert model.path_[0].weights.first.shape[1] == model.hidden_dims_[0]
    assert model.predict(diabetes_frame[0]).shape == (442,)
    # Candidates alone give the scores they have together.
    alone = LassoNetRegressorCV((4,), **with_training(M=5.0, cv=3, path_multiplier=1.3, random_state=0)).fit(
        *diabetes_frame
    )
    together = results[(results["M"] == 5.0) & (results["hidden_dims"] == (4,))].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.cv_results_, together)


def test_samples_of_one_group_stay_together(cancer):
    X, y = cancer
    patients = np.arange(len(y)) // 4
    shared = []

    class Recorded(GroupKFold):
        def split(self, X, y=None, groups=None):
            for fit, test in super().split(X, y, groups):
                shared.append(set(groups[fit]) & set(groups[test]))
                yield fit, test

    LassoNetClassifierCV(**with_training(cv=Recorded(2), **QUICK)).fit(X, y, groups=patients)
    assert shared == [set(), set()]
    model = LassoNetClassifierCV(**with_training(cv=2, **QUICK))
    folds = model._splits(model._rows(X, y, None), patients, 0)
    assert all(not set(patients[fold.fit]) & set(patients[fold.test]) for fold in folds)
    with pytest.raises(ValueError, match="groups"):
        LassoNetClassifierCV(**with_training(cv=LeaveOneGroupOut(), **QUICK)).fit(X, y)


def test_a_number_of_folds_is_shuffled_and_stratified(cancer):
    X, y = cancer
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    model = LassoNetClassifierCV(**with_training(cv=4, **QUICK))
    folds = model._splits(model._rows(X, y, None), None, 0)
    assert np.ptp([y[fold.test].mean() for fold in folds]) < 0.02
    regressor = LassoNetRegressorCV(**with_training(cv=4, **QUICK))
    folds = regressor._splits(regressor._rows(X, y.astype(float), None), None, 0)
    assert all(0 < y[fold.test].mean() < 1 for fold in folds)


def test_weights_count_in_training_and_in_scores(cancer):
    X, y = cancer
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    used = weights > 0
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    within = np.cumsum(used) - 1
    fewer = [tuple(within[part[used[part]]] for part in fold) for fold in folds]
    given = {**QUICK, "lambda_seq": (0.1, 0.5, 2.0), "n_iters": (40, 10), "val_size": 0}
    zero = LassoNetClassifierCV(**with_training(cv=folds, **given)).fit(X, y, weights)
    gone = LassoNetClassifierCV(**with_training(cv=fewer, **given)).fit(X[used], y[used])
    np.testing.assert_allclose(zero.cv_results_.filter(like="split"), gone.cv_results_.filter(like="split"))
    np.testing.assert_allclose(zero.cv_results_["se_test_score"], gone.cv_results_["se_test_score"])
    with pytest.raises(ValueError, match="no rows of positive weight"):
        LassoNetClassifierCV(**with_training(cv=[(folds[0][0], np.flatnonzero(~used))], **given)).fit(X, y, weights)


def test_it_lives_in_a_pipeline_and_keeps_names(diabetes_frame):
    X, y = diabetes_frame
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(
        scaler,
        LassoNetRegressorCV(
            **with_training(cv=2, feature_groups=[["age", "sex"], *([c] for c in X.columns[2:])], **QUICK)
        ),
    )
    pipeline.fit(X, y, lassonetregressorcv__groups=np.arange(len(y)) // 2)
    selected = pipeline[-1].selected_
    assert selected[0] == selected[1]
    assert set(pipeline[-1].get_feature_names_out()) <= set(X.columns)
    assert pipeline.score(X, y) > 0.3
    assert pipeline[-1].at(n_features=3).n_selected_ <= 3


def test_the_same_seed_gives_the_same_and_another_does_not(cancer, fitted):
    same = LassoNetClassifierCV(**with_training(cv=3, **QUICK)).fit(*cancer)
    pd.testing.assert_frame_equal(fitted.cv_results_, same.cv_results_)
    np.testing.assert_array_equal(fitted.predict_proba(cancer[0]), same.predict_proba(cancer[0]))
    other = LassoNetClassifierCV(**with_training(cv=3, **{**QUICK, "random_state": 1})).fit(*cancer)
    assert not fitted.cv_results_.equals(other.cv_results_)


def test_the_final_model_is_a_path_on_all_samples(fitted):
    assert fitted.path_[0].n_selected == fitted.n_features_in_
    assert fitted.path_[-1].n_selected == 0
    assert fitted.path_.val_weights is None  # nothing was held out
    penalised = fitted.at(lambda_=fitted.lambda_, refit=False)
    np.testing.assert_array_equal(penalised.selected_, fitted.selected_)
    assert fitted.point_.penalty < penalised.point_.penalty  # refitted without a penalty, for as long as validated best
    assert fitted.at(lambda_=fitted.lambda_).point_ is fitted.point_


def test_points_are_scored_where_enough_has_changed_and_more_often_where_few_features_are_left():
    quick = {**QUICK, "path_multiplier": 1.02, "val_size": 0, "select": 0.0}
    path = LassoNetClassifier(**with_training(**quick)).fit(*load_digits(return_X_y=True)).path_
    counts = dict(zip(path.lambdas, path.n_selected, strict=True))
    scored, (much, little) = [point.lambda_ for point in folds._worth_scoring(path, "warm")], (0.9, 0.95)
    assert len(scored) < len(path) / 2
    for above, below in pairwise(scored):
        share = much if counts[above] > counts[0] / 2 else little
        assert counts[below] <= share * counts[above] or below > 3 * above
        between = [(lambda_, count) for lambda_, count in counts.items() if above < lambda_ < below]
        assert all(count > share * counts[above] and lambda_ <= (3 * above or np.inf) for lambda_, count in between)
    assert folds._worth_scoring(path, False) == list(path)


def test_without_refit_scores_are_of_the_penalised_networks(cancer):
    model = LassoNetClassifierCV(**with_training(cv=3, refit=False, **QUICK)).fit(*cancer)
    assert len(model.cv_results_) == len(np.unique(model.cv_results_["lambda_"]))
    assert model.point_ in model.path_.points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv"),
        ({"M": []}, "at least one candidate"),
        ({"M": [1, -1]}, "M"),
        ({"hidden_dims": []}, "hidden_dims"),
        ({"hidden_dims": [(3,), (0,)]}, "hidden_dims"),
        ({"scoring": "no such scorer"}, "no such scorer"),
        ({"select": "2se"}, "select"),
        ({"scoring": ["accuracy", "roc_auc"]}, "one scorer"),
        ({"n_features_to_select": 23}, "n_features_to_select"),
        ({"refit": ("warm", "scratch")}, "refit must be one of"),
        ({"refit": None}, "refit must be one of"),
    ],
)
def test_bad_settings_are_refused_before_any_training(cancer, change, message, monkeypatch):
    monkeypatch.setattr(Solver, "minimise", lambda *_, **__: pytest.fail("training began"))
    with pytest.raises(ValueError, match=message):
        LassoNetClassifierCV(**with_training(**{**QUICK, **change})).fit(*cancer)


def test_an_error_in_a_fold_names_the_fold(cancer):
    X, y = cancer
    folds = [(np.arange(0, 200), np.arange(200, 285)), (np.flatnonzero(y == 1), np.arange(50))]
    with pytest.raises(ReplicaError, match=r"fold 2 of 2 with M=10, hidden_dims=\(8,\): ValueError: .*class"):
        LassoNetClassifierCV(**with_training(cv=folds, **QUICK)).fit(X, y)


def test_one_fold_has_no_standard_error(cancer):
    X, y = cancer
    fold = [(np.arange(0, 200), np.arange(200, 285))]
    with pytest.raises(ValueError, match="two folds"):
        LassoNetRegressorCV(**with_training(cv=fold, **QUICK)).fit(X, y.astype(float))
    assert LassoNetRegressorCV(**with_training(cv=fold, select="best", **QUICK)).fit(X, y.astype(float)).cv_score_ > 0


def test_scores_that_are_all_missing_are_an_error(cancer):
    with pytest.raises(ValueError, match="no fold has a score"):
        LassoNetClassifierCV(**with_training(cv=2, scoring=lambda model, X, y: np.nan, **QUICK)).fit(*cancer)


def test_scores_and_the_final_path_share_their_lambdas(diabetes_frame):
    X, y = diabetes_frame
    model = LassoNetRegressorCV(**with_training(cv=KFold(3), **QUICK)).fit(X, y)
    assert set(model.cv_results_["lambda_"]) <= set(model.path_.lambdas) | {0.0}
    plain = LassoNetRegressor(**with_training(**QUICK)).fit(X, y)
    assert model.path_.lambdas[1] <= plain.path_.lambdas[1] * (1 + 1e-9)


def test_the_final_model_keeps_a_feature_where_every_fold_does():
    """Near the end of a path the last feature may leave earlier with a few more samples."""
    X, y = make_blobs(n_samples=300, random_state=0)
    X, y = X[y != 2].astype(np.float32), y[y != 2]
    for seed in range(6):
        model = LassoNetClassifierCV(
            (10,), **with_training(cv=2, n_iters=(100, 10), path_multiplier=1.2, random_state=seed)
        ).fit(X, y)
        assert model.cv_results_["n_selected"][model.cv_index_] >= 1
        assert model.n_selected_ >= 1


def test_text_of_pure_noise_is_not_kept_and_what_matters_is():
    """Folds refit each number of features as long as validated best: an overfitted refit would favour the dense model."""
    right = 0
    for seed in range(5):
        draw = np.random.default_rng(seed)
        X = pd.DataFrame(draw.standard_normal((400, 5)), columns=list("abcde"))
        X["site"] = [f"S{i}" for i in draw.integers(0, 30, 400)]
        y = 2 * X["a"] + X["b"] + draw.standard_normal(400)
        right += set(LassoNetRegressorCV(random_state=seed).fit(X, y).get_feature_names_out()) == {"a", "b"}
    assert right >= 4


def test_a_perfect_dense_model_does_not_keep_all_features():
    """Folds without an error have a standard error near 0: the tolerance of the rule is a share of what the best explains."""
    draw = np.random.default_rng(0)
    X = draw.standard_normal((600, 8))
    model = LassoNetClassifierCV((8,), **with_training(path_multiplier=1.2, random_state=0))
    model.fit(X, X[:, 0] > 0)
    results, row = model.cv_results_, model.cv_index_
    best, empty = results["mean_test_score"].max(), results["mean_test_score"].iloc[-1]
    assert model.cv_score_ >= best - max(results["se_test_score"].max(), selection.TOLERANCE * (best - empty))
    assert results["n_selected"][row] <= 2
