"""Exports predict what the estimator does: ONNX, torch modules and torch.export, with the preparation of columns in them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import riata
from riata import (
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetIntervalRegressor,
    LassoNetRegressor,
    losses,
)
from tests.conftest import given_to, with_training

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

N = 150
BRIEF = {"hidden_dims": (5,), "n_iters": (50, 8), "path_multiplier": 1.5, "select": "best", "random_state": 0}
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}  # float64 throughout; sums in another order

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 6))
X[:, 1] = np.exp(3 * X[:, 1])  # heavy tails
X[:, 2] = rng.integers(1, 5, size=N)  # levels as numbers
X[:, 5] = 7.0
signal = X[:, 0] + np.log(X[:, 1]) - (X[:, 2] == 2) + np.abs(X[:, 3])
GAPS = X.copy()
GAPS[rng.random(X.shape) < 0.1] = np.nan
NEW = np.vstack([GAPS[:20], rng.normal(size=(20, 6)) * 1e3, np.full((1, 6), np.nan), np.full((1, 6), 1e300)])
FRAME = pd.DataFrame(X[:, :4], columns=["size", "weight", "größe", "prediction"]).assign(
    colour=pd.Series(rng.choice(["red", "green", "blue"], N)).where(rng.random(N) > 0.1),
    flag=pd.Series(X[:, 0] > 0).astype("boolean"),
)
CODED = {"categorical_features": [2]}
TIMES = np.column_stack([np.exp(signal / 3), rng.random(N) < 0.7])
VISITS = np.column_stack([0.8 * np.exp(signal / 3), 1.3 * np.exp(signal / 3)])
TWO = np.column_stack([signal, X[:, 3] ** 2])
RATES = np.column_stack([signal, rng.poisson(np.exp(X[:, 0] / 2))])

CASES = {
    "two classes": (LassoNetClassifier, GAPS, np.where(signal > 0, "yes", "no"), {}),
    "three classes": (LassoNetClassifier, X, np.digitize(signal, [-1, 1]) + 5, CODED),
    "ordered classes": (LassoNetClassifier, GAPS, np.digitize(signal, [-1, 1]), {"loss": "ordinal"}),
    "labels": (LassoNetClassifier, X, TWO > 0.5, {}),
    "classes by cross-validation": (LassoNetClassifierCV, X, signal > 0, {"cv": 2}),
    "numbers": (LassoNetRegressor, X, signal, {}),
    "pieces": (LassoNetRegressor, GAPS, signal, {"preprocessing": "piecewise"}),
    "columns as they are": (LassoNetRegressor, np.log(1 + np.abs(X)), signal, {"preprocessing": None}),
    "codes": (LassoNetRegressor, GAPS, signal, CODED),
    "the lasso": (LassoNetRegressor, GAPS, signal, {"M": 0}),
    "two targets": (LassoNetRegressor, GAPS, TWO, {}),
    "quantiles": (LassoNetRegressor, X, TWO, {"loss": losses.Quantile((0.1, 0.5, 0.9))}),
    "two losses": (LassoNetRegressor, X, RATES, {"loss": ["absolute_error", "poisson"]}),
    "survival": (LassoNetCoxRegressor, GAPS, TIMES, CODED),
    "intervals": (LassoNetIntervalRegressor, GAPS, VISITS, {"distribution": "extreme_value"}),
    "columns of X": (LassoNetAutoencoder, X, None, {}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    Estimator, table, target, params = CASES[request.param]
    model = Estimator(**with_training(**BRIEF, **params)).fit(table, target)
    return model, (NEW if np.isnan(table).any() else np.nan_to_num(NEW))


def sessions(model, path):
    model.to_onnx(path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def expected_of(model, table):
    if hasattr(model, "predict_proba"):
        return {"label": model.predict(table), "probability": model.predict_proba(table)}
    if isinstance(model, LassoNetAutoencoder):
        return {"reconstruction": model.reconstruct(table)}
    return {("log_hazard" if isinstance(model, LassoNetCoxRegressor) else "prediction"): model.predict(table)}


def assert_equal_results(session, given, expected):
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, given), strict=True))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].shape == values.shape
        if name == "label":
            np.testing.assert_array_equal(found[name], values)
        else:
            np.testing.assert_allclose(found[name], values, **TOLERANCE)


def points(model):
    """The model itself, the dense one and one without features."""
    return model, model.at(lambda_=0), model.at(lambda_=model.path_[-1].lambda_)


def test_onnxruntime_predicts_what_the_model_does(case, tmp_path):
    model, new = case
    for point in points(model):
        assert_equal_results(sessions(point, tmp_path / "m.onnx"), {"X": new}, expected_of(point, new))


def test_one_sample_and_none_are_predicted_too(case, tmp_path):
    model, new = case
    session = sessions(model, tmp_path / "m.onnx")
    assert_equal_results(session, {"X": new[:1]}, expected_of(model, new[:1]))
    assert all(len(each) == 0 for each in session.run(None, {"X": new[:0]}))


def test_a_torch_module_predicts_what_the_model_does(case):
    model, new = case
    for point in points(model):
        *_, expected = expected_of(point, new).values()
        with torch.no_grad():
            np.testing.assert_allclose(point.to_torch()(torch.from_numpy(new)), expected, **TOLERANCE)


@pytest.mark.parametrize("name", ["two classes", "codes", "quantiles"])
def test_an_exported_program_predicts_what_the_model_does_without_its_code(name, tmp_path):
    Estimator, table, target, params = CASES[name]
    model = Estimator(**with_training(**BRIEF, **params)).fit(table, target)
    torch.export.save(model.exported_program(), tmp_path / "m.pt2")
    program = torch.export.load(tmp_path / "m.pt2").module()
    for rows in (slice(None), slice(1)):
        *_, expected = expected_of(model, GAPS[rows] if name != "quantiles" else X[rows]).values()
        given = torch.from_numpy(GAPS[rows] if name != "quantiles" else X[rows])
        np.testing.assert_allclose(program(given).detach(), expected, **TOLERANCE)


# Columns of text.


@pytest.fixture(scope="module")
def of_text():
    frame = FRAME.mask(np.column_stack([rng.random((N, 4)) < 0.1, np.zeros((N, 2), dtype=bool)]))
    target = signal + 2 * (FRAME["colour"] == "red") + FRAME["flag"].astype(float)
    model = LassoNetRegressor(**with_training(**BRIEF)).fit(frame, target)
    return model, frame


def test_columns_of_text_are_inputs_by_name(of_text, tmp_path):
    model, frame = of_text
    new = frame.head(40).copy()
    new.loc[3, "colour"], new.loc[4, "colour"] = "violet", None
    for point in (model, model.at(lambda_=0), model.at(n_features=3)):
        session = sessions(point, tmp_path / "m.onnx")
        names = [each.name for each in session.get_inputs()]
        assert names == point.get_feature_names_out().tolist()
        (output,) = session.get_outputs()
        (found,) = session.run(None, given_to(session, new))
        np.testing.assert_allclose(found, point.predict(new), **TOLERANCE)
        assert output.name == ("prediction_" if "prediction" in names else "prediction")  # no input's name


def test_a_file_names_the_selected_columns(of_text, tmp_path):
    model, _ = of_text
    few = model.at(n_features=3)
    few.to_onnx(tmp_path / "m.onnx")
    properties = {each.key: each.value for each in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(properties["selected"]) == few.get_feature_names_out().tolist()
    assert json.loads(properties["columns"]) == list(FRAME)


def test_the_same_model_gives_the_same_bytes(case, tmp_path):
    model, _ = case
    model.to_onnx(tmp_path / "one.onnx")
    model.to_onnx(tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_a_model_from_a_file_exports_the_same(case, tmp_path):
    model, _ = case
    model.save(tmp_path / "m.riata")
    model.to_onnx(tmp_path / "one.onnx")
    riata.load(tmp_path / "m.riata").to_onnx(tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


# Refusals.


def refused(model, export, match, error=ValueError):
    with pytest.raises(error, match=match):
        export(model)


def test_columns_of_text_have_no_torch_module(of_text):
    model, _ = of_text
    refused(model, lambda m: m.to_torch(), "hold text, 'colour'.*to_onnx")
    refused(model, lambda m: m.exported_program(), "hold text, 'colour'")
    refused(model, lambda m: m.module_, "hold text, 'colour'", AttributeError)


def test_levels_of_several_types_are_refused_with_the_column(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "mixed": pd.Series(rng.choice(["x", "y"], N)).where(X[:, 3] > 0, 3)})
    model = LassoNetRegressor(**with_training(**BRIEF | {"select": 0.0})).fit(frame, signal)
    for export in (lambda m: m.to_onnx(tmp_path / "m.onnx"), lambda m: m.to_torch()):
        refused(model, export, "'mixed' are of the types int, str.*astype")


def network(n_inputs, n_outputs):
    return nn.Sequential(nn.Linear(n_inputs, 4), nn.Tanh(), nn.Linear(4, n_outputs))


def test_a_network_of_the_user_becomes_a_torch_program_and_no_onnx(tmp_path):
    model = LassoNetRegressor(**with_training(**BRIEF | {"hidden_dims": network})).fit(X, signal)
    refused(model, lambda m: m.to_onnx(tmp_path / "m.onnx"), "network of your own.*to_torch")
    program = model.exported_program().module()
    np.testing.assert_allclose(program(torch.from_numpy(X)).detach(), model.predict(X), **TOLERANCE)


class Doubled(losses.SquaredError):
    def predicted(self, linear):
        return 2 * linear


def test_a_loss_with_predictions_of_its_own_is_refused(tmp_path):
    model = LassoNetRegressor(**with_training(**BRIEF, loss=Doubled())).fit(X, signal)
    refused(model, lambda m: m.to_onnx(tmp_path / "m.onnx"), "Doubled has a method `predicted`")
    refused(model, lambda m: m.to_torch(), "Doubled has a method `predicted`")


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    for export in (lambda m: m.to_onnx(tmp_path / "m.onnx"), lambda m: m.to_torch(), lambda m: m.exported_program()):
        refused(LassoNetRegressor(), export, "not fitted", NotFittedError)


def test_a_model_without_features_has_no_columns_of_text_to_take(of_text, tmp_path):
    refused(of_text[0].at(n_features=0), lambda m: m.to_onnx(tmp_path / "m.onnx"), "no features, and so no inputs")


def test_a_folder_that_is_not_there_is_refused(of_text, tmp_path):
    refused(of_text[0], lambda m: m.to_onnx(tmp_path / "no" / "m.onnx"), "cannot write")
