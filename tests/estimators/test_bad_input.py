"""What cannot be trained on is refused before any training, by an error that names the value or the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from riata import LassoNetClassifier, LassoNetClassifierCV, LassoNetRegressor, Training
from riata.solver.solve import Solver
from tests.conftest import with_training

ESTIMATORS = [LassoNetClassifier, LassoNetRegressor]
both = pytest.mark.parametrize("Estimator", ESTIMATORS)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
y = (X[:, 0] > 0).astype(int)
NAMES = ["age", "dose", "height", "weight"]
FRAME = pd.DataFrame(X, columns=NAMES)


@pytest.fixture(scope="module")
def fitted():
    model = LassoNetClassifier((2,), **with_training(lambda_seq=(1.0,), select=0.0, n_iters=2, random_state=0))
    return model.fit(FRAME, y)


@pytest.fixture(autouse=True)
def no_training(monkeypatch):
    def minimise(*_, **__):
        pytest.fail("training began on input that should have been refused")

    monkeypatch.setattr(Solver, "minimise", minimise)


def refused(Estimator, *, X=X, y=y, match, error=ValueError, fit=None, **params):
    with pytest.raises(error, match=match):
        Estimator(**with_training(**params)).fit(X, y, **(fit or {}))


def spoilt(array, value):
    array = np.array(array, dtype=float)
    array.flat[5] = value
    return array


def test_a_target_with_gaps_is_refused_with_their_rows():
    for target in (pd.Series(y, dtype=float), pd.Series(y).map(str)):
        for Estimator in (LassoNetClassifier, LassoNetClassifierCV):
            gaps = target.where(np.arange(len(y)) % 20 != 3)
            with pytest.raises(ValueError, match=r"Input y contains NaN: 2 of its 40.*at positions 3, 23; leave"):
                Estimator().fit(X, gaps)


# The samples.


@both
@pytest.mark.parametrize("missing", ["indicator", "mean", "error"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_in_X_are_refused(Estimator, value, missing):
    refused(Estimator, X=spoilt(X, value), match="Input X contains infinity", missing=missing)


@both
def test_missing_values_in_X_are_refused_where_they_are_an_error(Estimator):
    refused(Estimator, X=spoilt(X, np.nan), match="Input X contains NaN", missing="error")


@both
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_gaps_and_infinities_in_y_are_refused(Estimator, value, word):
    refused(Estimator, y=spoilt(y, value), match=f"y contains {word}")


def test_missing_labels_are_refused():
    refused(LassoNetClassifier, y=np.array(["a", "b", None, "a"] * 10, dtype=object), match="missing.*None")


@both
def test_missing_values_in_a_sparse_table_are_refused_with_the_remedy(Estimator):
    refused(Estimator, X=csr_array(spoilt(X, np.nan)), match="Input X contains NaN, and is sparse.*toarray")


@both
def test_text_in_an_array_is_refused(Estimator):
    refused(
        Estimator, X=np.array([["low", "high"]] * 40), match="needs numbers; X is an array with text: give a data frame"
    )


@both
def test_a_single_sample_is_refused(Estimator):
    refused(Estimator, X=X[:1], y=y[:1], match=r"1 sample\(s\).*minimum of 2")


@both
def test_a_single_sample_with_a_weight_is_refused(Estimator):
    refused(
        Estimator,
        fit={"sample_weight": np.eye(40)[0]},
        match="positive for at least two rows.*1 row",
    )


@both
def test_lengths_that_differ_are_refused(Estimator):
    refused(Estimator, y=y[:-1], match=r"inconsistent numbers of samples: \[40, 39\]")


@both
def test_X_must_be_a_table(Estimator):
    refused(Estimator, X=X[:, 0], match="Expected 2D array")


# The classes.


def test_one_class_is_refused():
    refused(LassoNetClassifier, y=np.ones(40), match="at least two classes.*1 class")


def test_one_class_left_by_the_weights_is_refused():
    refused(LassoNetClassifier, fit={"sample_weight": y}, match="at least two classes.*1 class")


def test_a_class_too_rare_to_split_is_refused_with_the_remedies():
    labels = np.array(["common"] * 20 + ["usual"] * 19 + ["rare"])
    refused(LassoNetClassifier, y=labels, match="'rare' has only one row.*val_size=0")


def test_a_number_is_not_a_class():
    refused(LassoNetClassifier, y=X[:, 0], match="Unknown label type: continuous")


def test_a_classifier_takes_one_column_of_labels():
    refused(LassoNetClassifier, y=np.column_stack([y, 2 * y]), match="1d array")


@pytest.mark.parametrize("weights", ["heavy", [1, 2], {7: 2.0}, {1: -1.0}, {0: 0.0}, {0: np.nan}])
def test_invalid_class_weights_are_refused(weights):
    refused(LassoNetClassifier, class_weight=weights, match="class_weight")


# The weights of samples.


@both
@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (spoilt(np.ones(40), -1), "non-negative"),
        (spoilt(np.ones(40), np.nan), "finite"),
        (np.ones(39), r"one number per row, shape \(40,\); got shape \(39,\)"),
        (np.ones((40, 1)), r"got shape \(40, 1\)"),
        (np.zeros(40), "zero for every row"),
    ],
)
def test_invalid_sample_weights_are_refused(Estimator, weights, match):
    refused(Estimator, fit={"sample_weight": weights}, match=match)


# Groups and costs.


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ([[0, 1], [1, 2, 3]], "each feature once; repeated: dose"),
        ([["age", "dose"], ["height"]], "each feature once; missing: weight"),
        ({"body": ["height", "weight"]}, "each feature once; missing: age, dose"),
        ([["age", "dose"], ["height", "size"]], "unknown column 'size'.*X has age, dose, height, weight"),
        ([[0, 1], [2, 4]], "no column 4; X has 4 columns"),
        ([[0, 1], [2, -1]], "no column -1"),
        ([0, 0, 1], r"one label per feature \(4\)"),
        ([[0, 1], 2, 3], "groups must"),
        ({"age": 0, "dose": 0, "height": 1, "weight": 1}, "lists of columns only"),
        (2, "groups must"),
    ],
)
def test_groups_that_are_no_partition_are_refused(groups, match):
    refused(LassoNetClassifier, X=FRAME, feature_groups=groups, match=match)


def test_names_of_columns_need_columns_with_names():
    refused(LassoNetClassifier, feature_groups=[["age", "dose"], ["height", "weight"]], match="use positions")


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"feature_costs": [1, 1, 1]}, r"shape \(4,\)"),
        ({"feature_costs": [1, 1, 1, -1]}, "non-negative"),
        ({"feature_costs": [1, 1, 1, np.nan]}, "finite"),
        ({"feature_costs": [0, 0, 0, 0]}, "nothing to select"),
        ({"feature_costs": {"size": 2}}, "unknown column 'size'"),
        ({"feature_costs": [1, 2, 1, 1], "feature_groups": [0, 0, 1, 1]}, "equal within a group; they differ at dose"),
        ({"feature_costs": [0, 0, 1, 1], "n_features_to_select": 1}, "n_features_to_select=1.*2 features"),
        ({"feature_groups": [0, 0, 1, 1], "n_features_to_select": 1}, "n_features_to_select=1.*smallest group, of 2"),
    ],
)
def test_costs_and_numbers_of_features_that_contradict_are_refused(params, match):
    refused(LassoNetClassifier, X=FRAME, match=match, **params)


# Parameters.


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("M", -1),
        ("M", np.nan),
        ("M", np.inf),
        ("M", "10"),
        ("M", None),
        ("gamma", -1e-4),
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("batch_size", 0),
        ("batch_size", 2.5),
        ("learning_rate", 0),
        ("learning_rate", np.nan),
        ("hidden_dims", ()),
        ("hidden_dims", (0,)),
        ("hidden_dims", (8.5,)),
        ("hidden_dims", 8.5),
        ("hidden_dims", "8"),
        ("hidden_dims", None),
        ("n_iters", 0),
        ("n_iters", 1.5),
        ("n_iters", (100,)),
        ("n_iters", (100, 50, 20)),
        ("n_iters", "long"),
        ("patience", 0),
        ("patience", (10, -1)),
        ("patience", "long"),
        ("tol", -1e-4),
        ("tol", np.nan),
        ("val_size", 1.0),
        ("val_size", -0.2),
        ("val_size", np.nan),
        ("val_size", 20),
        ("training", {"tol": 1e-3}),
        ("training", Training),
        ("path_multiplier", 1.0),
        ("path_multiplier", 0.98),
        ("path_multiplier", np.inf),
        ("n_features_to_select", 0),
        ("n_features_to_select", 2.5),
        ("n_features_to_select", 5),
        ("select", "worst"),
        ("select", -1.0),
        ("select", None),
        ("refit", True),
        ("refit", "cold"),
        ("refit", "noisy"),
        ("preprocessing", "linear"),
        ("preprocessing", False),
        ("preprocessing", 3),
        ("missing", "drop"),
        ("missing", None),
        ("dtype", "float16"),
        ("dtype", np.float32),
        ("lambda_seq", 0.5),
        ("lambda_seq", ()),
        ("lambda_seq", (0.0, 1.0)),
        ("lambda_seq", (1.0, np.nan)),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(Estimator, name, value):
    refused(Estimator, match=name, **{name: value})


@both
@pytest.mark.parametrize("seq", [(2.0, 1.0), (1.0, 3.0, 2.0), (1.0, 1.0)])
def test_a_lambda_sequence_must_increase(Estimator, seq):
    refused(Estimator, lambda_seq=seq, match="strictly increasing.*it falls from|strictly increasing")


@both
@pytest.mark.parametrize("tol", [0.5, 0.99, 0.9999])
def test_a_tol_meant_as_a_factor_is_refused_with_the_reason(Estimator, tol):
    refused(Estimator, tol=tol, match=f"tol={tol} is not a relative tolerance.*1 - tol")


# Validation samples given by the user.


@both
def test_validation_samples_need_both_parts(Estimator):
    refused(Estimator, fit={"X_val": X}, match="X_val and y_val go together")
    refused(Estimator, fit={"y_val": y}, match="X_val and y_val go together")


@both
def test_validation_samples_must_have_the_columns_of_X(Estimator):
    refused(Estimator, fit={"X_val": X[:, :3], "y_val": y}, match="3 features.*expecting 4")


@both
def test_validation_samples_and_targets_must_be_equally_many(Estimator):
    refused(Estimator, fit={"X_val": X, "y_val": y[:-1]}, match="inconsistent numbers of samples")


def test_a_class_only_in_the_validation_samples_is_refused():
    refused(LassoNetClassifier, fit={"X_val": X, "y_val": y + 1}, match="y_val holds classes that y does not: 2")


def test_validation_targets_must_have_the_columns_of_y():
    refused(LassoNetRegressor, fit={"X_val": X, "y_val": np.column_stack([y, y])}, match="y_val must have the columns")


# Use before and after fitting.


@both
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(X),
        lambda model: model.transform(X),
        lambda model: model.get_support(),
        lambda model: model.get_feature_names_out(),
        lambda model: model.at(n_features=2),
        lambda model: model.load(None),
        lambda model: model.selected_,
        lambda model: model.n_selected_,
        lambda model: model.lambda_,
        lambda model: model.coef_,
        lambda model: model.feature_importances_,
    ],
)
def test_a_model_that_is_not_fitted_raises(Estimator, use):
    with pytest.raises(NotFittedError, match=f"This {Estimator.__name__} instance is not fitted yet"):
        use(Estimator())


def test_probabilities_of_a_model_that_is_not_fitted_raise():
    for method in ("predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(LassoNetClassifier(), method)(X)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform"])
def test_other_columns_than_at_fit_are_refused(fitted, method):
    use = getattr(fitted, method)
    with pytest.raises(ValueError, match=r"feature names should match(.|\n)*size"):
        use(FRAME.rename(columns={"weight": "size"}))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        use(FRAME[NAMES[::-1]])
    with (
        pytest.raises(ValueError, match=r"3 features.*expecting 4"),
        pytest.warns(UserWarning, match="does not have valid feature names"),
    ):
        use(X[:, :3])


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ({}, "give one of n_features and lambda_"),
        ({"n_features": 2, "lambda_": 1.0}, "give one of n_features and lambda_"),
        ({"n_features": -1}, "n_features"),
        ({"n_features": 1.5}, "n_features"),
        ({"lambda_": -1.0}, "lambda_"),
        ({"lambda_": np.nan}, "lambda_"),
    ],
)
def test_a_point_is_given_either_by_its_number_of_features_or_by_its_lambda(fitted, where, match):
    with pytest.raises(ValueError, match=match):
        fitted.at(**where)


def test_a_point_of_another_model_is_refused(fitted):
    class Other:
        selected = np.ones(7, dtype=bool)

    with pytest.raises(ValueError, match="the point has 7 features; the model was fitted with 4"):
        fitted.load(Other())
