"""Effects of features: curves of known functions have their shape, their size and their unit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from riata import LassoNetClassifier, LassoNetRegressor, effect_curve, feature_effects
from riata.evidence import curves


class Known(RegressorMixin, BaseEstimator):
    """Predicts by a known function of a data frame."""

    def __init__(self, function):
        self.function = function

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(self.function(X), dtype=float)


class KnownClasses(ClassifierMixin, BaseEstimator):
    """Predicts three classes, of which the first and the last depend on a."""

    def fit(self, X, y):
        self.classes_ = np.array(["low", "mid", "top"])
        return self

    def predict_proba(self, X):
        p = np.clip(np.asarray(X["a"], dtype=float), 0, 1)
        return np.column_stack([0.8 * (1 - p), np.full(len(p), 0.2), 0.8 * p])


@pytest.fixture
def X(rng) -> pd.DataFrame:
    frame = pd.DataFrame(rng.random((300, 3)), columns=list("abc"))
    frame["town"] = rng.choice(["Rome", "Oslo", "Lima"], 300, p=[0.5, 0.3, 0.2])
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 365, 300), unit="D")
    return frame


def described(function, X, feature) -> pd.Series:
    return feature_effects(Known(function).fit(X, None), X, features=[feature]).iloc[0]


@pytest.mark.parametrize(
    ("function", "shape", "size"),
    [
        (lambda a: 10 * a, "rises", 9.0),
        (lambda a: -10 * a, "falls", -9.0),
        (lambda a: np.exp(a), "rises", np.exp(0.95) - np.exp(0.05)),
        (lambda a: (a - 0.5) ** 2, "falls then rises", 0.45**2),
        (lambda a: -np.abs(a - 0.5), "rises then falls", 0.45),
        (lambda a: np.sin(12 * a), "varies", 2.0),
        (lambda a: 0 * a + 3, "flat", 0.0),
    ],
)
def test_the_shape_of_a_curve_is_named_and_its_size_is_that_over_the_middle_of_the_column(X, function, shape, size):
    found = described(lambda table: function(table["a"]) + table["b"], X, "a")
    assert found["shape"] == shape
    assert found["size"] == pytest.approx(size, rel=0.15, abs=1e-9)  # quantiles of 300 uniform numbers, eleven places


@pytest.mark.parametrize(
    ("line", "shape"), [([0, 5, 4, 10], "rises"), ([0, 5, 3, 10], "varies"), ([10, 4, 5, 0], "falls")]
)
def test_a_curve_that_rises_may_fall_by_less_than_a_seventh_of_its_range(line, shape):
    assert curves._shape(np.array(line, dtype=float), 10.0)[0] == shape


def test_a_feature_that_matters_only_through_another_depends_on_others(X):
    found = described(lambda table: (table["a"] - 0.5) * (table["b"] - table["b"].mean()), X, "a")
    assert found["shape"] == "depends on others"


def test_the_levels_that_differ_most_are_named_with_their_difference_from_the_average(X):
    found = described(lambda table: table["town"].map({"Rome": 0.0, "Oslo": 0.0, "Lima": 5.0}) + table["a"], X, "town")
    share = (X["town"] == "Lima").mean()
    assert found["shape"] == "levels" and found["size"] == pytest.approx(5)
    change = f"+{5 * (1 - share):.2g} for Lima, −{5 * share:.2g} for "
    assert found["text"].startswith(change) and found["text"].endswith(", against the average")


def test_dates_have_curves_over_time(X):
    days = (X["day"] - pd.Timestamp("2026-01-01")).dt.days
    found = described(lambda table: (table["day"] - pd.Timestamp("2026-01-01")).dt.days / 7, X, "day")
    assert found["shape"] == "rises" and found["size"] == pytest.approx(
        days.quantile(0.95) / 7 - days.quantile(0.05) / 7, abs=1
    )


def test_of_several_classes_the_one_that_changes_most_is_named_and_of_two_the_second(X):
    found = feature_effects(KnownClasses().fit(X, None), X, features=["a"]).iloc[0]
    assert (found["shape"], found["towards"]) in [("falls", "low"), ("rises", "top")]
    two = LogisticRegression().fit(X[["a", "b"]], np.where(X["a"] > 0.5, "yes", "no"))
    found = feature_effects(two, X[["a", "b"]], features=["a"]).iloc[0]
    assert (found["shape"], found["towards"]) == ("rises", "yes")
    assert found["text"].startswith("probability of yes rises by 0.")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda table: 10 * (table["a"] > 0.5), "rises by 10"),
        (lambda table: 2.0 * (abs(table["a"] - 0.5) < 0.2), "rises then falls by 2"),
        (lambda table: 3.0 * ((5 * table["a"]).astype(int) % 2), "goes up and down by 3"),
        (lambda table: 0 * table["a"] + 3, "does not change"),
        (lambda table: np.where(table["a"] > 0.5, 1.0, -1.0) * np.where(np.arange(300) % 2, 2, -2),
         "depends on other features, by 4 for one sample"),
    ],
)  # fmt: skip
def test_an_effect_in_words_is_a_sentence_about_the_mean_prediction(X, function, text):
    assert described(function, X, "a")["text"] == text


def test_several_targets_are_named_without_a_probability(X):
    target = feature_effects(Known(lambda t: np.stack([t["b"], 0 * t["b"], -9 * t["a"]], axis=1)).fit(X, None), X)
    assert target["text"][0].startswith("target 3 falls by 8.")


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [
        (0.1643, 0.06312, "0.164 ± 0.063"),
        (-0.000713, 0.0182, "-0.001 ± 0.018"),
        (-0.0001, 0.0182, "0.000 ± 0.018"),
        (12345.6, 234.5, "12,346 ± 234"),
        (1.0, 0.0999, "1.00 ± 0.10"),
        (0.5, 0.0, "0.5 ± 0"),
        (0.5, np.nan, "0.5"),
        (2e-9, 1e-9, "2e-09 ± 1e-09"),
    ],
)
def test_a_number_has_as_many_decimals_as_its_margin_of_two_digits(value, margin, text):
    assert curves.with_margin(value, margin) == text


def test_directions_do_not_depend_on_units_weights_of_the_linear_part_or_the_kind_of_table(rng):
    """Fifteen slopes of +1, of which the linear part of a network may have either sign."""
    X = pd.DataFrame(rng.standard_normal((400, 15)), columns=[f"x{j}" for j in range(15)])
    y = X.sum(axis=1) + 0.3 * rng.standard_normal(400)
    model = LassoNetRegressor(random_state=0).fit(X[:300], y[:300])
    found = feature_effects(model, X[300:])
    assert set(found["shape"]) == {"rises"} and found["size"].between(2, 4.5).all()
    same = feature_effects(LassoNetRegressor(random_state=0).fit(X[:300].to_numpy(), y[:300]), X[300:].to_numpy())
    np.testing.assert_allclose(same["size"], found["size"])
    polars = LassoNetRegressor(random_state=0).fit(pl.from_pandas(X[:300]), y[:300])
    np.testing.assert_allclose(
        feature_effects(polars, pl.from_pandas(X[300:].reset_index(drop=True)))["size"], found["size"]
    )


def test_columns_given_as_categorical_features_have_levels(rng):
    codes = pd.DataFrame({"code": rng.integers(0, 4, 200), "x": rng.random(200)})
    y = np.where((codes["code"] == 2) ^ (rng.random(200) < 0.05), "yes", "no")
    model = LassoNetClassifier(categorical_features=["code"], random_state=0).fit(codes, y)
    found = feature_effects(model, codes, features=["code"]).iloc[0]
    assert found["shape"] == "levels" and found["text"].startswith("probability of yes +0.")
    assert " for 2, " in found["text"]


def test_a_column_without_any_value_has_a_flat_curve():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [np.nan] * 3})
    curve = effect_curve(Known(lambda table: table["a"]).fit(X, None), X, "b")
    assert np.isnan(curve.values).all() and curve.prediction.tolist() == [[1.0]]
    model = LinearRegression().fit(X[["a"]], X["a"])
    assert effect_curve(model, X[["a"]], 0).values.tolist() == [0, 1, 2]


def test_names_and_columns_that_do_not_fit_are_refused(X):
    numbers = X[["a", "b", "c"]]
    model = LinearRegression().fit(numbers, numbers["a"])
    with pytest.raises(ValueError, match="no feature 'd'; X has 'a', 'b', 'c'"):
        effect_curve(model, numbers, "d")
    with pytest.raises(ValueError, match="X has 2 columns; the model was fitted on 3"):
        feature_effects(model, numbers[["a", "b"]])
    with pytest.raises(ValueError, match="in the same order"):
        feature_effects(model, numbers[["b", "a", "c"]])
    same = feature_effects(model, numbers.to_numpy())  # without a warning
    assert same["feature"].tolist() == ["a", "b", "c"]
