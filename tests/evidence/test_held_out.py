"""What importances and p-values on held-out samples have in common: tables, names, groups, seeds, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from riata import LassoNetAutoencoder, LassoNetRegressor
from riata.evidence import held_out, holdout_p_values, permutation_importance
from tests.conftest import with_training
from tests.evidence.tables import (
    NAMES,
    D,
    X,
    X_fit,
    X_out,
    by_feature,
    label_fit,
    label_out,
    linear,
    measured,
    y_fit,
    y_out,
)

both = pytest.mark.parametrize("measure", [permutation_importance, holdout_p_values])


@both
@pytest.mark.parametrize("kind", ["network", "classifier"])
def test_features_outside_the_model_have_no_importance_and_a_p_value_of_one(models, measure, kind):
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
def test_a_model_without_features_gives_a_table_too(models, measure):
    table = measured(measure, models["network"].at(n_features=0))
    assert len(table) == D
    assert table["feature"].tolist() == [f"x{j}" for j in range(D)]


@both
def test_the_same_seed_gives_the_same_table_whatever_the_number_of_jobs(models, measure):
    with parallel_config(backend="threading"):  # processes take seconds to start
        one, second, two = (measured(measure, models["linear"], n_jobs=n) for n in (1, 1, 2))
    pd.testing.assert_frame_equal(one, second, check_exact=True)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert not one.equals(measured(measure, models["linear"], random_state=1))


@both
def test_the_result_of_one_feature_does_not_depend_on_which_others_are_used(measure):
    full, sparse = linear([2.0, 0, -1, 0, 0, 0]), linear([2.0, 0, -1, 0, 0, 0])
    sparse.selected_ = sparse.coef_ != 0
    one, two = (
        by_feature(measured(measure, model)).drop(columns="p_holm", errors="ignore") for model in (sparse, full)
    )
    assert one.loc[["x0", "x2"]].equals(two.loc[["x0", "x2"]])


@both
def test_the_number_of_tables_predicted_at_once_does_not_matter(models, measure, monkeypatch):
    together = measured(measure, models["linear"])
    monkeypatch.setattr(held_out, "_MAX_ENTRIES", 3 * X_out.size)
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
def test_models_of_scikit_learn_can_be_used(measure, model):
    assert measured(measure, model)["feature"][0] == "x0"


@both
def test_a_constant_column_has_no_importance_and_a_p_value_of_one(measure):
    Z = X.copy()
    Z[:, 3] = 0.1
    model = LinearRegression().fit(X_fit, y_fit)  # it has a coefficient
    found = by_feature(measured(measure, model, Z[100:])).loc["x3"]
    assert (found == (0 if measure is permutation_importance else 1)).all()


# What is refused.


@both
def test_a_model_must_be_fitted_and_predict(models, measure):
    for unfitted in (LinearRegression(), LassoNetRegressor(), make_pipeline(StandardScaler(), Ridge())):
        with pytest.raises(NotFittedError):
            measure(unfitted, X_out, y_out)
    with pytest.raises(ValueError, match="a classifier, a regressor or a survival model of riata; got StandardScaler"):
        measure(StandardScaler().fit(X_fit), X_out, y_out)
    with pytest.raises(ValueError, match="a survival model of riata; got LassoNetAutoencoder"):
        measure(
            LassoNetAutoencoder(**with_training(hidden_dims=(2,), lambda_seq=(1.0,), n_iters=5, select="best")).fit(
                X_fit
            ),
            X_out,
            y_out,
        )
    with pytest.raises(ValueError, match="predict_proba; wrap LinearSVC"):
        measure(LinearSVC().fit(X_fit, label_fit), X_out, label_out)


def test_p_values_name_the_columns_with_gaps_and_what_to_do():
    frame = pd.DataFrame(X_out, columns=[f"c{j}" for j in range(D)])
    model = LinearRegression().fit(frame, y_out)
    gaps = frame.assign(c2=frame["c2"].where(frame["c2"] > 0))
    with pytest.raises(ValueError, match=r"X contains NaN, in 'c2'.*LassoNetImputer"):
        holdout_p_values(model, gaps, y_out)


@both
def test_tables_must_be_those_that_the_model_accepts(models, measure):
    model = models["linear"]
    missing = np.where(np.arange(D) == 2, np.nan, X_out)
    with pytest.raises(ValueError, match="X has 5 features, but LinearRegression is expecting 6"):
        measure(model, X_out[:, :5], y_out)
    with pytest.raises(ValueError, match="X contains NaN"):
        measure(model, missing, y_out)
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
        (permutation_importance, {"sample_weight": [1.0]}, "sample_weight must have one number per"),
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
