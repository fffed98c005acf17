"""Targets of survival models: the forms they may have, and what is refused before any training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sksurv.util import Surv

from riata import LassoNetCoxRegressor, LassoNetCoxRegressorCV, check
from riata.solver.solve import Solver

N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
TIME = rng.exponential(size=N).round(1) + 0.1
EVENT = rng.random(N) < 0.6
ARRAY = np.column_stack([TIME, EVENT])
FRAME = pd.DataFrame({"time": TIME, "event": EVENT})
STRATA = np.array(["old", "young"] * (N // 2))


def spoilt(column: str, value, row: int = 5) -> pd.DataFrame:
    """Return a frame with entry, strata and id in which one value is another."""
    frame = FRAME.assign(entry=0.0, strata=STRATA, id=np.arange(N)).astype(object)
    frame.loc[row, column] = value
    return frame


# Forms.


def named(**columns) -> np.ndarray:
    """Return a structured array."""
    fields = [(name, values.dtype) for name, values in columns.items()]
    return np.array(list(zip(*columns.values(), strict=True)), dtype=fields)


@pytest.mark.parametrize(
    "y",
    [
        Surv.from_arrays(EVENT, TIME),
        named(died=EVENT, days=TIME),
        named(days=TIME, died=EVENT),
        named(time=TIME, event=EVENT.astype(int)),
        ARRAY,
        ARRAY.tolist(),
        ARRAY.astype(np.float32).astype(object),
        FRAME,
        FRAME[["event", "time"]],
        FRAME.assign(event=EVENT.astype(int)),
        FRAME.astype({"event": object}),
        FRAME.astype({"event": "boolean", "time": "Float64"}),
        FRAME.rename(columns={"time": "days", "event": "died"}),
        pl.from_pandas(FRAME),
        pl.DataFrame({"days": TIME, "died": EVENT}),
    ],
)
def test_all_forms_of_times_and_events_are_the_same_target(y):
    checked = check.survival(y)
    expected = np.column_stack([np.full(N, -1.0), TIME, EVENT, np.zeros(N), np.full(N, -1.0)])
    np.testing.assert_allclose(checked, expected, rtol=1e-7)  # one of them is in single precision
    np.testing.assert_array_equal(check.survival(checked), checked)
    assert check.survival_strata(y) is None and check.survival_strata(checked) is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: named(**columns)])
def test_entries_strata_and_subjects_are_columns(make):
    columns = {"id": np.arange(N) // 2 + 7, "entry": TIME - 0.1, "strata": STRATA, "event": EVENT, "time": TIME}
    y = make(columns)
    checked = check.survival(y)
    expected = np.column_stack([TIME - 0.1, TIME, EVENT, STRATA == "young", np.arange(N) // 2])
    np.testing.assert_array_equal(checked, expected)
    assert list(check.survival_strata(y)) == ["old", "young"]
    assert list(check.survival_strata(checked)) == [0, 1]


def test_three_columns_of_an_array_are_entry_time_and_event():
    checked = check.survival(np.column_stack([TIME - 0.1, TIME, EVENT]))
    np.testing.assert_array_equal(checked[:, :3], np.column_stack([TIME - 0.1, TIME, EVENT]))


def test_a_stratum_keeps_its_code_where_others_have_no_sample():
    checked = check.survival(FRAME.assign(strata=rng.permutation(["a", "b", "c", "d"] * (N // 4))))
    some = checked[np.isin(checked[:, 3], (0, 2))]
    np.testing.assert_array_equal(check.survival(some), some)
    assert list(check.survival_strata(some)) == [0, 1, 2]


def test_a_time_of_zero_is_a_time():
    assert check.survival([[0, 1], [1, 0]])[0].tolist() == [-1, 0, 1, 0, -1]


# What is refused.

FORMS = "y must be a structured array .* an array with the columns time and event .* or a data frame"

WRONG = {
    "a negative time": (spoilt("time", -1), "'time' of y holds -1 in row 5: a time cannot be negative"),
    "a gap in times": (spoilt("time", np.nan), "'time' of y holds nan in row 5: leave out samples without it"),
    "an infinite time": (spoilt("time", np.inf), "'time' of y holds inf in row 5: it must be finite"),
    "text as times": (FRAME.assign(time="late"), "'time' of y must hold numbers.*it holds 'late'"),
    "dates as times": (
        FRAME.assign(time=pd.Timestamp("2026-01-01")),
        "'time' of y must hold numbers.*days.*datetime64",
    ),
    "durations as times": (FRAME.assign(time=pd.to_timedelta(TIME, "D")), "'time' of y must hold numbers.*timedelta64"),
    "flags as times": (FRAME.assign(time=EVENT), "'time' of y must hold numbers"),
    "a gap in events": (spoilt("event", None), "'event' of y is missing in row 5"),
    "a gap in events of an array": (
        spoilt("event", np.nan)[["time", "event"]].to_numpy(),
        "'event' of y is missing in row 5",
    ),
    "other numbers as events": (spoilt("event", 2), "'event' of y must be boolean, or 1 for an event.*it holds 2"),
    "text as events": (FRAME.assign(event="yes"), "'event' of y must be boolean.*it holds 'yes'"),
    "columns in another order": (
        ARRAY[:, ::-1],
        r"'event' of y must be boolean.*In an array the columns are time, event",
    ),
    "censored samples alone": (FRAME.assign(event=False), "no event: every sample is censored"),
    "a gap in entries": (spoilt("entry", np.nan), "'entry' of y holds nan in row 5"),
    "an entry at the time": (FRAME.assign(entry=TIME), "'entry' of y holds .* in row 0: .* entry < time"),
    "a gap in strata": (spoilt("strata", None), "'strata' of y is missing in row 5: give every sample one"),
    "strata of two kinds": (spoilt("strata", 3), "'strata' of y mixes labels"),
    "a gap in subjects": (spoilt("id", np.nan), "'id' of y is missing in row 5"),
    "times alone": (TIME, rf"{FORMS}.*got shape \(40,\)"),
    "four columns": (np.ones((N, 4)), rf"{FORMS}.*got shape \(40, 4\)"),
    "five columns": (np.ones((N, 5)), rf"{FORMS}.*got shape \(40, 5\)"),
    "three axes": (np.ones((N, 2, 2)), FORMS),
    "nothing": (None, "requires y to be passed, but the target y is None"),
    "an unknown column": (FRAME.assign(age=1), f"{FORMS}.*it has the columns 'time', 'event', 'age'"),
    "a column of events missing": (FRAME[["time"]], f"{FORMS}.*it has the columns 'time'"),
    "a column twice": (pd.concat([FRAME, FRAME[["time"]]], axis=1), r"1d array.*shape \(40, 2\)"),
    "fewer samples than X": (FRAME[:-1], r"inconsistent numbers of samples: \[40, 39\]"),
}


@pytest.fixture
def no_training(monkeypatch):
    def minimise(*_, **__):
        pytest.fail("training began on input that should have been refused")

    monkeypatch.setattr(Solver, "minimise", minimise)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("Estimator", [LassoNetCoxRegressor, LassoNetCoxRegressorCV])
def test_targets_that_cannot_be_are_refused_before_training(no_training, Estimator, wrong):
    y, message = WRONG[wrong]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        Estimator().fit(X, y)


@pytest.mark.parametrize(
    ("params", "fit", "message"),
    [
        ({"ties": "exact"}, {}, "ties must be one of 'breslow', 'efron'; got 'exact'"),
        ({}, {"X_val": X}, "X_val and y_val go together"),
        ({}, {"X_val": X, "y_val": FRAME.assign(event=False)}, "no event: every sample is censored"),
        ({}, {"X_val": X, "y_val": FRAME[:-1]}, "inconsistent numbers of samples"),
        ({}, {"X_val": X, "y_val": FRAME.assign(strata=STRATA)}, "y_val has strata, y has not"),
        ({}, {"sample_weight": 1.0 - EVENT}, "no sample to train on has an event"),
    ],
)
def test_what_does_not_go_with_a_target_is_refused_before_training(no_training, params, fit, message):
    with pytest.raises(ValueError, match=message):
        LassoNetCoxRegressor(**params).fit(X, FRAME, **fit)


def test_one_subject_cannot_be_split(no_training):
    with pytest.raises(ValueError, match="y holds one subject, no part of which can be held out: use val_size=0"):
        LassoNetCoxRegressor().fit(X, FRAME.assign(id=1))
