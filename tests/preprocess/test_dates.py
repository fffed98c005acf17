"""Columns of dates: one feature each, the same as the number of their days."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from riata import (
    KnockoffSelector,
    LassoNetClassifierCV,
    LassoNetRegressor,
    StabilitySelector,
    permutation_importance,
)
from tests.conftest import with_training

EPOCH = pd.Timestamp("1970-01-01")


@pytest.fixture
def table(rng) -> tuple[pd.DataFrame, np.ndarray]:
    X = pd.DataFrame(rng.standard_normal((120, 3)), columns=list("abc"))
    days = rng.integers(0, 500, 120)
    X["day"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(days, unit="D")
    return X, X["a"].to_numpy() + days / 100


def small(**more) -> LassoNetRegressor:
    return LassoNetRegressor((8,), **with_training(path_multiplier=1.3, select="best", random_state=0, **more))


def in_days(X: pd.DataFrame) -> pd.DataFrame:
    return X.assign(day=(X["day"] - EPOCH) / pd.Timedelta(days=1))


def test_a_date_is_the_number_of_its_days_in_whatever_form_it_comes(table):
    X, y = table
    expected = small().fit(in_days(X), y).predict(in_days(X))
    forms = {
        "seconds": X.assign(day=X["day"].astype("datetime64[s]")),
        "zone": X.assign(day=X["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        "objects": X.assign(day=pd.Series([day.date() for day in X["day"]], dtype=object)),
        "periods": X.assign(day=X["day"].dt.to_period("D")),
        "polars": pl.from_pandas(X),
    }
    for name, frame in forms.items():
        model = small().fit(frame, y)
        np.testing.assert_array_equal(model.predict(frame), expected, err_msg=name)
        assert "day" in model.get_feature_names_out(), name


def test_durations_are_days(table):
    X, y = table
    lasts = X.assign(day=X["day"] - EPOCH)
    np.testing.assert_array_equal(small().fit(lasts, y).predict(lasts), small().fit(in_days(X), y).predict(in_days(X)))


def test_a_missing_date_is_a_missing_number(table):
    X, y = table
    X.loc[[3, 50], "day"] = pd.NaT
    np.testing.assert_array_equal(small().fit(X, y).predict(X), small().fit(in_days(X), y).predict(in_days(X)))
    with pytest.raises(ValueError, match="NaN"):
        small(missing="error").fit(X, y)


def test_selected_dates_come_back_as_dates(table):
    X, y = table
    model = small().fit(X, y).at(n_features=2)
    assert model.set_output(transform="pandas").transform(X)["day"].dtype == X["day"].dtype


def test_everything_that_takes_columns_takes_dates(table):
    X, y = table
    few = {"n_resamples": 4, "max_false": 3, "random_state": 0}
    assert StabilitySelector(small(), **few).fit(X, y).frequencies_[3] == 1
    statistics = KnockoffSelector(small(), fdr=0.5, random_state=0).fit(X, y).statistics_
    assert statistics[3] > 0
    worth = permutation_importance(small().fit(X, y), X, y, random_state=0).set_index("feature")["importance"]
    assert worth["day"] > 0.1
    words = X.assign(town=np.where(X["b"] > 0, "Rome", "Oslo"))
    model = LassoNetClassifierCV((4,), **with_training(cv=2, path_multiplier=1.5, random_state=0)).fit(
        words, y > np.median(y)
    )
    assert "day" in model.get_feature_names_out()
