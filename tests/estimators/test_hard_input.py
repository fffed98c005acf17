"""Hard tables, targets and weights give finite predictions, or an error that says what to do; never another exception."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import riata
from riata import ReplicaError
from tests.conftest import with_training
from tests.estimators.hard import NAMES, TABLES, TARGETS, WEIGHTS, N, X, frame, signal

BRIEF = with_training(hidden_dims=(3,), n_iters=(3, 2), path_multiplier=4.0, select=0.0, random_state=0)
PLAIN = ["LassoNetClassifier", "LassoNetRegressor", "LassoNetCoxRegressor", "LassoNetIntervalRegressor"]
WITHOUT_TARGET = ["LassoNetAutoencoder", "LassoNetImputer"]
REPEATED = ["LassoNetRegressorCV", "StabilitySelector", "KnockoffSelector"]

NUMBERS = "needs numbers"
REFUSED = {  # of tables, by all estimators
    "an infinity": "contains infinity",
    "one sample": r"minimum of \d|holds no event",
    "no sample": r"minimum of \d|holds no event",
    "no column": r"0 feature\(s\)",
    "a vector": "Expected 2D array",
    "three dimensions": "dim 3",
    "a number": "Expected 2D array",
    "nothing": "Expected 2D array",
    "a word": "read a file with riata.read_table",
    "a dict": "make it a data frame|holds no event",
    "ragged lists": "row 0 has 2 values, row 1 has 1",
    "empty list": "Expected 2D array|holds no event",
    "text": NUMBERS,
    "bytes": NUMBERS,
    "an object among numbers": "must be a string or a real number",
    "a word among numbers": NUMBERS,
    "complex numbers": "Complex data not supported",
    "a complex column": r"another kind in 'b' \(complex128\)",
    "intervals": r"another kind in 'b' \(interval",
    "text in each cell another": f"'b' of categories has another level in each|{NUMBERS}; there is text in 'b'",
    "lists in cells": f"column 'b' hold a list|{NUMBERS}; there is text in 'b'",
    "arrays in cells": f"column 'b' hold a ndarray|{NUMBERS}; there is text in 'b'",
    "names that are equal": "several of 'b': rename",
    "names of several types": "only supported if all input features have string names",
    "no columns in a frame": "has no columns",
    "no rows in a frame": r"minimum of \d|holds no event",
    "a series": "Expected a 2-dimensional container",
}
GAPS = ("a gap", "a column of gaps", "only gaps", "None among numbers", "dates with gaps", "nullable integers")
TEXT = ("categories", "categories with one level", "text with gaps", "text and numbers")
DATES = ("dates", "dates with zones", "dates with gaps", "durations", "periods")
EXTREME = (
    "a column of gaps",
    "only constant columns",
    "huge numbers",
    "tiny numbers",
    "huge and tiny columns",
    "masked",
)
REFUSED_BY = {  # beside these
    "LassoNetClassifier": {"two samples": "2 of them once"},
    "LassoNetCoxRegressor": {"two samples": "no sample to train on has an event"},
    "LassoNetAutoencoder": {
        **dict.fromkeys((*GAPS, "nullable flags", "categories without a cell"), "fill the gaps first"),
        **dict.fromkeys(TEXT, NUMBERS),
        "huge numbers of both signs": "use another unit",
        "masked": "fill the gaps first",
    },
    "LassoNetImputer": {
        **dict.fromkeys(TEXT, NUMBERS),
        **dict.fromkeys(DATES, "dates in 'b'"),
        "only gaps": "nothing but gaps",
    },
    "StabilitySelector": {"two samples": "minimum of 4"},
    "KnockoffSelector": {
        "two samples": "minimum of 3",
        **dict.fromkeys(("only gaps", "only constant columns", "one column", "fractions"), "at least 2 columns"),
    },
    "LassoNetRegressorCV": {"two samples": "fold 1 of 2.*minimum of 2"},
}


def target_for(name, n):
    values = np.resize(signal, n)
    if "Cox" in name:
        return np.column_stack([np.exp(values), np.arange(n) % 3 > 0])
    if "Interval" in name:
        return np.column_stack([np.exp(values), 1.5 * np.exp(values)])
    return np.arange(n) % 2 if "Classifier" in name else values


def made(name):
    cls = getattr(riata, name)
    if name == "StabilitySelector":
        return cls(riata.LassoNetRegressor(**BRIEF), n_resamples=2, n_features=1, random_state=0)
    if name == "KnockoffSelector":
        return cls(riata.LassoNetRegressor(**BRIEF), fdr=0.5, random_state=0)
    return cls(**BRIEF, **({"cv": 2} if name.endswith("CV") else {}))


def results(name, table, *target_and_weights):
    """Fit an estimator, and return everything that it predicts."""
    model = made(name).fit(table, *target_and_weights)
    if name == "StabilitySelector":
        return [model.frequencies_]
    if name == "KnockoffSelector":
        return [model.get_support()]
    usual = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    method = {"LassoNetAutoencoder": "reconstruct", "LassoNetImputer": "transform"}.get(name, usual)
    found = [getattr(model, method)(table)]
    return [*found, model.feature_importances_, [point.loss for point in model.path_]]


def length(table):
    return len(table) if hasattr(table, "__len__") else N


def check(refused, call, *arguments):
    """Expect an error with a text, or finite results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if refused is None:
            assert all(np.isfinite(np.asarray(found, dtype=float)).all() for found in call(*arguments))
            return
        with pytest.raises((ValueError, TypeError, ReplicaError)) as error:
            call(*arguments)
        assert re.search(refused, " ".join(str(error.value).split())), error.value


@pytest.mark.parametrize("name", [*PLAIN, *WITHOUT_TARGET, *REPEATED])
def test_every_table_is_fitted_or_refused_with_the_reason(name):
    for table_name, table in TABLES.items():
        refused = REFUSED_BY.get(name, {}).get(table_name, REFUSED.get(table_name))
        if name in REPEATED and refused is None and table_name not in EXTREME:
            continue  # what one fit takes, several do
        target = () if name in WITHOUT_TARGET else (target_for(name, length(table)),)
        check(refused, results, name, table, *target)


NO_NUMBERS = {
    "a gap": "1 of its 40 values are missing.*positions 3",
    "an infinity": "y contains infinity",
    "text": "predicts numbers, and y holds text, such as 'x'",
    "None": "missing.*positions 3",
    "complex": "Complex data not supported",
    "dates": r"y holds datetime64\[D\]",
    "too short": r"inconsistent numbers of samples: \[40, 39\]",
    "empty": r"0 sample\(s\)",
    "a number": "at least 1 dimension",
    "nothing": "requires y",
    "ragged": "as many values in each row",
    "no column": r"0 feature\(s\)",
    "three dimensions": "dim 3",
    "categories": "y holds text, such as 'x'",
    "nullable with a gap": "10 of its 40 values are missing",
}
CONTINUOUS, FORM = (
    "Unknown label type|looks like a quantity",
    "y must be|y must hold|as many values|requires y|second column of y is 1",
)
NO_CLASSES = {
    **dict.fromkeys(("huge", "tiny", "huge and tiny", "objects", "a list", "a frame"), CONTINUOUS),
    **dict.fromkeys(("two columns", "two columns, one constant"), "other numbers than 0 and 1"),
    "numbers as text": "only one row",
    **dict.fromkeys(("constant", "text"), "at least two classes"),
    **{name: NO_NUMBERS[name] + "|Unknown label type" for name in NO_NUMBERS.keys() - {"text", "categories", "dates"}},
    "dates": "only one row",
}


def test_every_target_is_fitted_or_refused_with_the_reason():
    for name, target in TARGETS.items():
        check(NO_NUMBERS.get(name), results, "LassoNetRegressor", X, target)
        check(NO_CLASSES.get(name), results, "LassoNetClassifier", X, target)
        for survival in ("LassoNetCoxRegressor", "LassoNetIntervalRegressor"):
            check(f"{FORM}|column '.*' of y", results, survival, X, target)


FEW = "positive for at least two rows"
NO_WEIGHTS = {
    **dict.fromkeys(("one negative", "a gap", "an infinity", "None among numbers"), "finite and non-negative"),
    **dict.fromkeys(("all zero", "one positive"), FEW),
    **dict.fromkeys(("text", "numbers as text", "complex", "ragged"), "must be one number per row"),
    **dict.fromkeys(("too short", "two columns"), r"one number per row, shape \(40,\)"),
}
TOO_FEW_LEFT = {"two positive": "2 of them once|no sample to train on has an event", "flags": "at least two classes"}


@pytest.mark.parametrize("name", [*PLAIN, "LassoNetAutoencoder", "LassoNetRegressorCV"])
def test_every_weight_is_used_or_refused_with_the_reason(name):
    few = {
        "LassoNetClassifier": TOO_FEW_LEFT,
        "LassoNetRegressorCV": {"two positive": "a fold has no rows of positive weight"},
    }
    few["LassoNetCoxRegressor"] = {"two positive": TOO_FEW_LEFT["two positive"]}
    target = None if name in WITHOUT_TARGET else target_for(name, N)
    for weights_name, weights in WEIGHTS.items():
        check({**NO_WEIGHTS, **few.get(name, {})}.get(weights_name), results, name, X, target, weights)


# Samples to predict.

OTHERS = {
    "another order": (frame()[NAMES[::-1]], "same order as they were in fit"),
    "a column less": (frame().drop(columns="b"), "feature names should match"),
    "a column more": (frame(e=1.0), "feature names should match"),
    "another name": (frame().rename(columns={"b": "B"}), "feature names should match"),
    "the same name twice": (frame().set_axis(["a", "b", "b", "d"], axis=1), "several of 'b'"),
    "no names, a column less": (X[:, :3], "3 features"),
    "an infinity": (frame(b=np.inf), "contains infinity"),
    "text": (frame(b="high"), "text in 'b'"),
    "a vector": (X[0], "2D array"),
    "no sample": (frame().head(0), "minimum of 1"),
    "complex numbers": (frame(b=1j), "another kind in 'b'"),
    "a word": ("new.csv", "riata.read_table"),
    "a gap": (frame(b=np.nan), None),
    "huge numbers": (frame() * 1e300, None),
    "objects": (frame().astype(object), None),
    "another index": (frame().set_axis(range(7, 7 + N)), None),
    "one sample": (frame().head(1), None),
    "no names": (X, None),
}


@pytest.mark.parametrize("name", PLAIN)
def test_other_samples_are_predicted_or_refused_with_the_reason(name):
    model = made(name).fit(frame(), target_for(name, N))
    for others, refused in OTHERS.values():
        check(refused, lambda table: [model.predict(table)], others)


def test_a_level_that_becomes_a_number_is_unknown():
    table = frame(b=pd.Categorical(["x", "y"] * (N // 2)))
    model = made("LassoNetRegressor").fit(table, signal)
    check(None, lambda table: [model.predict(table)], frame(b=3.0))
