"""Laws of the selector: what it finds, how often it is false, what it refuses, and the interface of scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LassoCV, LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor
from riata.evidence import KnockoffSelector, knockoffs
from riata.jobs import ReplicaError
from tests.evidence.thirty_columns import FEW_VALUES, NOTHING, PAIRS, QUICK, TRUE, X, lasso, shares, y


@pytest.mark.parametrize(
    ("method", "covariance"),
    [
        ("mvr", "ledoit-wolf"),
        ("sdp", "ledoit-wolf"),
        ("equicorrelated", "ledoit-wolf"),
        ("mvr", "graphical-lasso"),
        ("mvr", "empirical"),
    ],
)
def test_true_features_are_found(method, covariance):
    false, found = shares(lasso(method=method, covariance=covariance).fit(X, y).selected_)
    assert found == 1
    assert false <= 0.3


@NOTHING
def test_few_are_false_on_average():
    results = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        samples = rng.normal(size=(300, 30)) + rng.normal(size=(300, 1))
        target = samples[:, TRUE] @ rng.choice([-0.3, 0.3], 12) + rng.normal(size=300)
        selector = KnockoffSelector(Lasso(alpha=0.02), fdr=0.2, random_state=seed)
        results.append(shares(selector.fit(samples, target).selected_))
    false, found = np.mean(results, axis=0)
    assert false < 0.2 + 0.06  # two standard errors
    assert found > 0.5


@NOTHING
def test_noise_rarely_selects():
    n_selected = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        selector = KnockoffSelector(LinearRegression(), fdr=0.2, random_state=seed)
        n_selected.append(selector.fit(rng.normal(size=(80, 20)), rng.normal(size=80)).n_selected_)
    # All features are false, so that every selection is: at most one in five.
    assert np.mean(np.array(n_selected) > 0) < 0.2


def test_a_selection_of_nothing_says_why():
    noise = np.random.default_rng(0).normal(size=300)
    why = r"nothing is selected at fdr=0.1: the best cut has \d+ of 30 and .* Fewer than 10 can never be selected"
    with pytest.warns(UserWarning, match=why) as caught:
        selector = KnockoffSelector(LinearRegression(), random_state=0).fit(X, noise)
    assert caught[0].filename == __file__
    assert selector.threshold_ == np.inf
    assert not selector.selected_.any()
    with pytest.warns(UserWarning, match=r"best of 3 draws has .*\(0 draws reached .*n_draws=1"):
        KnockoffSelector(LinearRegression(), n_draws=3, random_state=0).fit(X, noise)
    with pytest.warns(UserWarning, match="no feature is more important than its knockoff"):
        KnockoffSelector(Lasso(alpha=100), random_state=0).fit(X, noise)


@pytest.mark.parametrize(
    "estimator",
    [
        LassoNetRegressor(**QUICK),
        RandomForestRegressor(30, min_samples_leaf=5),
        LinearRegression(),
        make_pipeline(StandardScaler(), LassoCV()),
    ],
    ids=["lassonet", "forest", "least squares", "pipeline"],
)
def test_any_regressor_can_be_used(estimator):
    selector = KnockoffSelector(estimator, fdr=0.2, random_state=0).fit(X, y)
    false, found = shares(selector.selected_)
    assert found >= 0.5
    assert false <= 0.4


@pytest.mark.parametrize("estimator", [LassoNetClassifier(**QUICK), LogisticRegression()], ids=["lassonet", "logistic"])
def test_any_classifier_can_be_used(estimator):
    label = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    selector = KnockoffSelector(estimator, fdr=0.2, random_state=0).fit(X, label)
    false, found = shares(selector.selected_)
    assert found >= 0.7
    assert false <= 0.4


def test_a_target_may_have_several_columns():
    targets = np.column_stack([y, X[:, 1]])
    selector = KnockoffSelector(LinearRegression(), random_state=0).fit(X, targets)
    assert selector.selected_[1]
    assert selector.selected_[TRUE].all()


def test_attributes_are_consistent():
    selector = lasso().fit(X, y)
    W = selector.statistics_
    assert W.shape == (30,)
    assert selector.threshold_ == knockoffs.threshold(W, 0.1)
    assert np.array_equal(selector.selected_, selector.threshold_ <= W)
    assert selector.n_selected_ == selector.selected_.sum()
    assert selector.transform(X).shape == (300, selector.n_selected_)
    assert np.array_equal(selector.groups_, np.arange(30))


def test_many_draws_are_averaged():
    selector = lasso(n_draws=5, fdr=0.2).fit(X, y)
    assert selector.statistics_.shape == (5, 30)
    e = [knockoffs.e_values(w, 0.1) for w in selector.statistics_]
    assert np.allclose(selector.e_values_, np.mean(e, axis=0))
    assert (selector.e_values_ <= 30).all()
    assert np.array_equal(selector.threshold_, [knockoffs.threshold(w, 0.1) for w in selector.statistics_])
    assert np.array_equal(selector.selected_, knockoffs.e_bh(selector.e_values_, 0.2))
    assert shares(selector.selected_)[1] == 1


def test_the_first_of_many_draws_is_that_of_a_single_draw():
    assert np.array_equal(lasso(n_draws=2, fdr=0.2).fit(X, y).statistics_[0], lasso().fit(X, y).statistics_)


@pytest.mark.parametrize("n_draws", [1, 3])
def test_the_same_seed_gives_the_same_result(n_draws):
    np.random.seed(0)
    one = lasso(n_draws=n_draws, fdr=0.2).fit(X, y)
    np.random.seed(1)
    assert np.array_equal(one.statistics_, lasso(n_draws=n_draws, fdr=0.2).fit(X, y).statistics_)
    other = lasso(n_draws=n_draws, fdr=0.2, random_state=1).fit(X, y)
    assert not np.array_equal(one.statistics_, other.statistics_)


def test_parallel_draws_equal_sequential_ones():
    params = {"fdr": 0.2, "n_draws": 2, "random_state": 0}
    one, two = (KnockoffSelector(LassoNetRegressor(**QUICK), n_jobs=n, **params).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.statistics_, two.statistics_)
    assert np.array_equal(one.e_values_, two.e_values_)


def test_the_seed_of_the_estimator_does_not_matter():
    fits = [
        KnockoffSelector(LassoNetRegressor(**QUICK, random_state=seed), fdr=0.2, random_state=0).fit(X, y)
        for seed in (1, 2)
    ]
    assert np.array_equal(fits[0].statistics_, fits[1].statistics_)
    assert fits[0].estimator.random_state == 1


@NOTHING
def test_sample_weight_reaches_the_estimator():
    good = np.arange(300) < 200
    spoilt = np.where(good, y, 100 * np.sin(np.arange(300)))
    least_squares = KnockoffSelector(LinearRegression(), random_state=0)
    weighted = clone(least_squares).fit(X, spoilt, sample_weight=np.where(good, 1.0, 1e-9))
    assert shares(weighted.selected_)[1] > 0.9
    assert clone(least_squares).fit(X, spoilt).n_selected_ == 0


def test_a_sample_of_weight_zero_is_left_out():
    good = np.arange(300) < 200
    weighted = lasso().fit(X, y, sample_weight=good.astype(float))
    assert np.array_equal(weighted.statistics_, lasso().fit(X[good], y[good], sample_weight=np.ones(200)).statistics_)


# scikit-learn.


def test_names_are_kept():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
    selector = lasso().set_output(transform="pandas").fit(frame, y)
    assert np.array_equal(selector.feature_names_in_, frame.columns)
    assert list(selector.get_feature_names_out()) == list(frame.columns[selector.selected_])
    assert list(selector.transform(frame).columns) == list(frame.columns[selector.selected_])


def test_a_clone_has_the_same_parameters():
    selector = KnockoffSelector(
        LassoCV(eps=0.01), fdr=0.3, n_draws=4, method="sdp", feature_groups=PAIRS, random_state=3
    )
    copy = clone(selector)
    assert copy.get_params()["estimator__eps"] == 0.01
    assert {k: v for k, v in copy.get_params().items() if k not in ("estimator", "feature_groups")} == {
        k: v for k, v in selector.get_params().items() if k not in ("estimator", "feature_groups")
    }


def test_it_works_in_a_pipeline():
    model = make_pipeline(StandardScaler(), lasso(), LinearRegression()).fit(X, y)
    assert model.score(X, y) > 0.8


@FEW_VALUES
@NOTHING
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_scikit_learn_checks():
    selector = KnockoffSelector(LinearRegression(), fdr=1.0, random_state=0)
    # Knockoffs are drawn per sample, so that a repeated sample has two different ones.
    check_estimator(
        selector, on_skip=None, expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": "draws"}
    )


# Errors and warnings.


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fdr": 0}, "fdr must be a finite number in \\(0, 1\\]"),
        ({"fdr": 1.5}, "fdr must be"),
        ({"n_draws": 0}, "n_draws must be an integer of at least 1"),
        ({"method": "asdp"}, "method must be one of 'mvr', 'sdp', 'equicorrelated'"),
        ({"covariance": "oracle"}, "covariance must be one of"),
        ({"feature_groups": [0, 1]}, "groups must hold one label per feature"),
        ({"fdr": 0.01}, r"needs at least 100 columns.*X has 30.*use fdr=0.034 or more"),
        ({"n_draws": 2, "fdr": 0.05}, r"n_draws=2 needs at least 40 columns.*use fdr=0.067 or more, or use n_draws=1"),
        ({"feature_groups": np.arange(30) // 4}, r"needs at least 10 groups.*X has 8.*use fdr=0.125 or more"),
    ],
)
def test_parameters_that_cannot_work_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        lasso(**params).fit(X, y)


def test_the_remedy_in_the_message_works():
    with pytest.raises(ValueError, match=r"use fdr=0\.143 or more"):
        lasso().fit(X[:, :7], y)
    assert lasso(fdr=0.143).fit(X[:, TRUE][:, :7], y).n_selected_ == 7


def test_tables_from_which_nothing_can_be_selected_are_refused():
    with pytest.raises(ValueError, match="X has 0 that are not constant: there must be more columns"):
        lasso().fit(np.ones((20, 12)), y[:20])
    with pytest.raises(ValueError, match="minimum of 3"):
        lasso().fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="infinity"):
        lasso().fit(np.where(X > 2, np.inf, X), y)
    with pytest.raises(ValueError, match="KnockoffSelector needs numbers; X is an array with text: give a data frame"):
        lasso().fit(X.astype(str) + "a", y)


def test_missing_values_are_replaced_by_means_with_a_warning():
    missing = np.where(X > 1.5, np.nan, X)
    with pytest.warns(UserWarning, match="columns have missing values .* whether values are missing plays no part"):
        found = lasso().fit(missing, y)
    whole = lasso().fit(np.where(np.isnan(missing), np.nanmean(missing, axis=0), missing), y)
    np.testing.assert_array_equal(found.statistics_, whole.statistics_)


def test_estimators_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="must predict a target"):
        KnockoffSelector(LassoNetAutoencoder()).fit(X, y)
    with pytest.raises(ReplicaError, match=r"draw 1 of 1, fit 1 of 1: .*neither feature_importances_ nor coef_"):
        KnockoffSelector(KNeighborsRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        KnockoffSelector(KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="sample_weight must have one number per"):
        lasso().fit(X, y, sample_weight=np.ones(3))


def test_columns_of_few_values_are_named():
    table = X.copy()
    table[:, 4] = table[:, 4] > 0
    with pytest.warns(
        UserWarning, match=r"1 of 30 columns have at most 10 different values \(4\).*mean and covariance"
    ) as caught:
        lasso().fit(table, y)
    assert caught[0].filename == __file__
    frame = pd.DataFrame(table.round(0), columns=[f"gene {j}" for j in range(30)])
    with pytest.warns(UserWarning, match=r"30 of 30 .*\(gene 0, gene 1, gene 2, gene 3, gene 4 …\)"):
        lasso().fit(frame, y)
