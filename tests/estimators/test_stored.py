"""A loaded model is the model that was saved, for every estimator; what cannot be saved or loaded is refused with a reason."""

from __future__ import annotations

import errno
import io
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import KFold

import riata
from riata import ModelFileError, Training, losses, storage
from riata.estimators import stored
from tests.conftest import with_training

HERE = Path(__file__).parent
QUICK = {"hidden_dims": (5,), "random_state": 0, **with_training(path_multiplier=1.2)}


def table(n: int = 160) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["a", "b", "<b>", "ق", "e"])
    X.loc[::7, "b"] = np.nan
    X["town"] = np.array(["Ulm", "Bonn", "Kiel", None], dtype=object)[rng.integers(0, 4, n)]
    X["code"] = pd.Categorical(rng.integers(0, 3, n))
    return X


X = table()
SIGNAL = X["a"].to_numpy() + (X["town"] == "Ulm").to_numpy() - X["<b>"].to_numpy()
RNG = np.random.default_rng(1)
NOISY = SIGNAL + 0.1 * RNG.normal(size=len(X))
CLASSES = np.array(["low", "middle", "high"], dtype=object)[np.digitize(NOISY, [-0.5, 0.8])]
TIMES = pd.DataFrame({"time": np.exp(-NOISY), "event": RNG.random(len(X)) < 0.8, "strata": X["code"].astype(str)})
INTERVALS = np.column_stack([np.exp(NOISY) * 0.9, np.where(RNG.random(len(X)) < 0.2, np.inf, np.exp(NOISY) * 1.1)])
LABELS = np.column_stack([NOISY > 0, NOISY > 1]).astype(int)
TWO = np.column_stack([NOISY, np.exp(NOISY)])

CASES = {
    "classes": (riata.LassoNetClassifier(**QUICK), CLASSES),
    "two classes": (riata.LassoNetClassifier(**QUICK, class_weight="balanced"), NOISY > 0),
    "labels": (riata.LassoNetClassifier(**QUICK), LABELS),
    "ordinal": (riata.LassoNetClassifier(**QUICK, loss="ordinal"), np.digitize(NOISY, [-0.5, 0.8])),
    "focal": (riata.LassoNetClassifier(**QUICK, loss=losses.Focal(1.5)), CLASSES),
    "numbers": (riata.LassoNetRegressor(**QUICK), NOISY),
    "quantiles": (riata.LassoNetRegressor(**QUICK, loss=losses.Quantile((0.1, 0.9))), NOISY),
    "rates": (riata.LassoNetRegressor(**QUICK, loss="poisson"), np.floor(np.exp(NOISY))),
    "heads": (riata.LassoNetRegressor(**QUICK, loss=["huber", "gamma"]), TWO),
    "linear": (riata.LassoNetRegressor(**QUICK, M=0, preprocessing=None), NOISY),
    "times": (riata.LassoNetCoxRegressor(**QUICK), TIMES),
    "intervals": (riata.LassoNetIntervalRegressor(**QUICK), INTERVALS),
    "classes, folds": (riata.LassoNetClassifierCV(**QUICK, cv=2), CLASSES),
    "numbers, folds": (riata.LassoNetRegressorCV(**QUICK, cv=2, M=[0, 10]), NOISY),
    "times, folds": (riata.LassoNetCoxRegressorCV(**QUICK, cv=2), TIMES.drop(columns="strata")),
    "no target": (riata.LassoNetAutoencoder(**QUICK), None),
    "gaps": (
        riata.LassoNetImputer(**QUICK | {"hidden_dims": (5, 5)}, add_indicator=True, n_features_to_select=2),
        None,
    ),
}


@pytest.fixture(scope="module", params=CASES)
def saved(request, tmp_path_factory):
    """A fitted model, one of its sparse points, the model loaded from a file, and the samples."""
    estimator, y = CASES[request.param]
    samples = (
        X if y is not None else X[["a", "<b>", "ق", "e"]] if request.param == "no target" else X[["a", "b", "<b>", "e"]]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(samples) if y is None else clone(estimator).fit(samples, y)
        few = model.at(n_features=2)
    file = tmp_path_factory.mktemp("models") / "model.riata"
    model.save(file)
    return model, few, riata.load(file), samples, y, file


def outputs(model, samples) -> list[np.ndarray]:
    """Everything that a model returns for samples."""
    methods = ("predict", "predict_proba", "decision_function", "transform", "reconstruct", "predict_entries")
    methods = methods if model.n_selected_ else methods[:3]
    found = [np.asarray(getattr(model, name)(samples)) for name in methods if hasattr(model, name)]
    if hasattr(model, "predict_survival_function"):
        strata = () if getattr(model, "strata_", None) is None else (TIMES["strata"],)
        found.append(model.predict_survival_function(samples, *strata, return_array=True))
    return found


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected) > 0
    for one, other in zip(
        found, expected, strict=True
    ):  # levels with gaps are objects, of which NaN is not equal to itself
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)


def test_a_loaded_model_returns_the_same_to_the_bit(saved):
    model, _, loaded, samples, _, _ = saved
    assert type(loaded) is type(model) and repr(loaded) == repr(model)
    assert_same(outputs(loaded, samples), outputs(model, samples))


def test_its_attributes_are_the_same(saved):
    model, _, loaded, _, _, _ = saved
    for name in ("selected_", "lambda_", "n_selected_", "feature_importances_", "n_features_in_", "n_iter_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    pd.testing.assert_frame_equal(loaded.path_.to_frame(), model.path_.to_frame())
    for name in ("coef_", "classes_", "scale_", "cv_score_", "M_", "unique_times_"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    for name in ("interactions_", "cv_results_", "history_"):
        if hasattr(model, name):
            pd.testing.assert_frame_equal(getattr(loaded, name), getattr(model, name))


def test_a_point_that_was_asked_for_before_is_known_after(saved):
    model, few, loaded, samples, _, _ = saved
    if isinstance(model, riata.LassoNetImputer):
        return  # whose points are not refitted
    assert_same(outputs(loaded.at(n_features=2), samples), outputs(few, samples))


def test_a_loaded_model_is_saved_to_the_same_bytes(saved, tmp_path):
    _, _, loaded, _, _, file = saved
    loaded.save(tmp_path / "again.riata")
    assert (tmp_path / "again.riata").read_bytes() == file.read_bytes()


def test_a_loaded_model_can_be_cloned_and_fitted_again(saved):
    model, _, loaded, samples, y, _ = saved
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(loaded).fit(samples) if y is None else clone(loaded).fit(samples, y)
    assert_same(outputs(again, samples), outputs(model, samples))


def test_a_file_holds_no_sample(saved):
    """Neither samples nor numbers that belong to one; what validated is a fifth of them."""
    *_, samples, y, file = saved
    with zipfile.ZipFile(file) as archive:
        _, arrays = storage.unpack(file.read_bytes())
        values = archive.read("model.json").decode()
    per_sample = {len(samples), len(samples) - len(samples) // 5, len(samples) // 5}
    learnt = {array.shape[0] for array in arrays.values() if array.ndim}
    if y is not TIMES and not (
        isinstance(y, pd.DataFrame) or y is INTERVALS
    ):  # times of events are what a baseline has
        assert not per_sample & learnt
    assert "val_losses" not in values


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return riata.LassoNetClassifier(**QUICK).fit(X, CLASSES)


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        riata.LassoNetClassifier().save(tmp_path / "model.riata")


def test_a_network_and_a_loss_of_your_own_are_refused(tmp_path):
    numbers = X[["a", "e"]]
    own = riata.LassoNetRegressor(torch.nn.Linear(2, 1), **{k: v for k, v in QUICK.items() if k != "hidden_dims"})
    with pytest.raises(ModelFileError, match="a network of your own cannot be stored"):
        own.fit(numbers, NOISY).save(tmp_path / "model.riata")
    lossy = riata.LassoNetRegressor(**QUICK, loss=lambda output, target: (output - target) ** 2).fit(numbers, NOISY)
    with pytest.raises(ModelFileError, match="a loss given as a function cannot be stored"):
        lossy.save(tmp_path / "model.riata")
    assert not list(tmp_path.iterdir())


def test_a_subclass_is_refused(model, tmp_path):
    class Mine(riata.LassoNetClassifier):
        pass

    with pytest.raises(ModelFileError, match="Mine cannot be stored"):
        Mine(**QUICK).fit(X, CLASSES).save(tmp_path / "model.riata")


def test_what_only_training_needs_is_left_out(tmp_path):
    model = riata.LassoNetRegressorCV(**QUICK | {"random_state": np.random.RandomState(0)}, cv=KFold(2)).fit(X, NOISY)
    model.save(tmp_path / "model.riata")
    loaded = riata.load(tmp_path / "model.riata")
    assert (loaded.cv, loaded.random_state) == (5, None)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_is_full_leaves_the_former_file_as_it_was(model, tmp_path, monkeypatch, problem):
    file = tmp_path / "model.riata"
    model.save(file)
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ModelFileError, match="cannot write"):
        model.at(n_features=1).save(file)
    assert file.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["model.riata"]


def test_a_folder_that_does_not_exist_and_a_file_that_does_not_are_named(model, tmp_path):
    with pytest.raises(ModelFileError, match=r"cannot write .*nowhere"):
        model.save(tmp_path / "nowhere" / "model.riata")
    with pytest.raises(ModelFileError, match=r"cannot read .*nothing.riata: No such file"):
        riata.load(tmp_path / "nothing.riata")


def altered(model, change) -> bytes:
    """The file of a model with a change of its tree, and the checksums that go with it."""
    tree, arrays = storage.unpack(stored.describe(model))
    change(tree)
    return storage.pack(tree, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.update(estimator="Popen"), "'Popen', which riata does not know"),
        (lambda tree: tree.pop("state"), "holds no model"),
        (lambda tree: tree["parameters"].update(shell=1), "no parameter 'shell'"),
        (lambda tree: tree["state"].update(predict=1), "names of methods"),
        (lambda tree: tree["state"].update(__class__=1), "names of methods"),
        (lambda tree: tree["state"].pop("point_"), "path or the selected point is missing"),
        (lambda tree: tree["state"].update(point_=[1]), "path or the selected point is missing"),
        (lambda tree: tree["state"].update(n_features_in_=3), "does not fit 3 features"),
        (lambda tree: tree["state"]["_solved"].update({"is": "eval"}), "'eval', which riata does not know"),
        (
            lambda tree: tree["state"]["_solved"]["with"].update(network=None, code=1),
            "fields that riata does not know: code",
        ),
    ],
)
def test_a_file_that_was_made_up_is_refused(model, tmp_path, change, message):
    (tmp_path / "model.riata").write_bytes(altered(model, change))
    with pytest.raises(ModelFileError, match=message):
        riata.load(tmp_path / "model.riata")


# ---- versions -------------------------------------------------------------------------------------------------------


def write_files_of_this_version() -> None:
    """Write the files of a new schema; to be called by hand, once."""
    for name in ("classes", "times"):
        estimator, y = CASES[name]
        model, samples = clone(estimator).fit(X, y), X.head(10)
        file = HERE / "stored" / f"{name}-{storage.archive.SCHEMA}.riata"
        model.at(n_features=3).save(file)
        text = samples.to_csv(index=False)
        predicted = riata.load(file).predict(pd.read_csv(io.StringIO(text)))
        file.with_suffix(".json").write_text(json.dumps({"samples": text, "predicted": predicted.tolist()}, indent=1))


@pytest.mark.parametrize("file", sorted((HERE / "stored").glob("*.riata")), ids=lambda file: file.stem)
def test_files_of_every_version_keep_loading(file):
    """Beside each file lie samples and what the model predicted for them when it was saved."""
    expected = json.loads(file.with_suffix(".json").read_text())
    samples = pd.read_csv(io.StringIO(expected["samples"]))
    found = riata.load(file).predict(samples)
    if isinstance(expected["predicted"][0], str):
        assert found.tolist() == expected["predicted"]
    else:  # sums of products may be ordered otherwise on other machines
        np.testing.assert_allclose(found, expected["predicted"], rtol=1e-6)


def test_every_schema_has_a_file():
    schemas = set()
    for file in (HERE / "stored").glob("*.riata"):
        with zipfile.ZipFile(file) as archive:
            schemas.add(json.loads(archive.read("manifest.json"))["schema"])
    assert schemas == set(range(1, storage.archive.SCHEMA + 1))


def test_training_is_part_of_a_file(tmp_path):
    model = riata.LassoNetRegressor(**QUICK | {"training": Training(path_multiplier=1.3, n_iters=(50, None))}).fit(
        X, NOISY
    )
    model.save(tmp_path / "model.riata")
    assert riata.load(tmp_path / "model.riata").training.get_params() == model.training.get_params()
