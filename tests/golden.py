"""What every estimator computes on small tables, to the last bit: written before the code is moved, compared after.

    python tests/golden.py write FILE
    python tests/golden.py compare FILE

Results agree to the last bit on one kind of processor only, so FILE is written and compared on the same machine.
"""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LassoCV
from torch import nn

import riata
from riata import (
    KnockoffSelector,
    LassoNetAutoencoder,
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetImputer,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
    Training,
    losses,
)
from riata import nn as rnn

CASES: dict[str, Callable[[], dict[str, Any]]] = {}


def small(hidden_dims: Any = (10,), **training: Any) -> dict[str, Any]:
    """Return parameters of an estimator that is fitted in a moment."""
    settings = {"dtype": "float64", "device": "cpu", **training}
    return {"hidden_dims": hidden_dims, "training": Training(**settings), "random_state": 0}


SMALL = small()


def case(function: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    CASES[function.__name__] = function
    return function


def path_facts(path: Any) -> dict[str, Any]:
    facts = {
        "lambdas": path.lambdas,
        "selected": path.selected,
        "visited": path.visited,
        "frame": path.to_frame().to_numpy(dtype=float),
        "importances": path.importances(),
    }
    for i in (0, len(path) // 2, len(path) - 1):
        weights = path[i].weights
        facts |= {f"skip{i}": weights.skip, f"first{i}": weights.first, f"upper{i}": weights.upper}
    return facts


def facts(model: Any, X: Any) -> dict[str, Any]:
    found = path_facts(model.path_) | {
        "selected_": model.selected_,
        "lambda_": model.lambda_,
        "importances_": model.feature_importances_,
    }
    for name in ("predict", "predict_proba", "decision_function", "transform", "reconstruct", "predict_entries"):
        if hasattr(model, name):
            found[name] = strings(getattr(model, name)(X))
    for name in ("coef_", "alternatives_", "interactions_", "screening_"):
        try:
            value = getattr(model, name)
        except AttributeError:
            continue
        found[name] = strings(value)
    k = max(1, model.n_selected_ - 1)
    try:
        sparser = model.at(n_features=k)
    except ValueError:
        return found
    found |= {"at": sparser.selected_, "at_importances": sparser.feature_importances_}
    found["at_penalised"] = model.at(lambda_=model.lambda_, refit=False).point_.weights.skip
    if hasattr(sparser, "predict"):
        found["at_predict"] = strings(sparser.predict(X))
    return found


def strings(value: Any) -> np.ndarray:
    """Return anything as an array that can be compared; floats keep all of their bits."""
    if isinstance(value, pd.DataFrame):
        value = value.to_numpy()
    value = np.asarray(value)
    if value.dtype == object:
        value = np.array([v.hex() if isinstance(v, float) else repr(v) for v in value.ravel()], dtype=str)
    return value


def mixed(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "site": rng.choice(list("abcde"), n),
            "flag": rng.random(n) < 0.3,
            "income": rng.lognormal(size=n) * 1e4,
            "age": rng.normal(50, 10, n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            **{f"noise{i}": rng.normal(size=n) for i in range(4)},
        }
    )
    effect = frame["site"].map({"a": 0.0, "b": 1.0, "c": -1.0, "d": 0.5, "e": 2.0}).to_numpy()
    y = effect + np.square((frame["age"].to_numpy() - 50) / 10) + 0.3 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "site"] = None
    return frame, y


@case
def regressor() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return facts(LassoNetRegressor(**SMALL).fit(X, y), X)


@case
def regressor_float32() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    return facts(LassoNetRegressor(**small(dtype="float32")).fit(X, y), X)


@case
def classifier() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return facts(LassoNetClassifier(**SMALL).fit(X, y), X)


@case
def classifier_k() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return facts(LassoNetClassifier(n_features_to_select=5, class_weight="balanced", **SMALL).fit(X, y), X)


@case
def many_classes() -> dict[str, Any]:
    X, y = load_wine(return_X_y=True)
    return facts(LassoNetClassifier(**small((8, 6)), select="best").fit(X, y), X)


@case
def labels() -> dict[str, Any]:
    X, y = load_wine(return_X_y=True)
    table = np.stack([y == 0, y == 2, X[:, 0] > 13], axis=1).astype(int)
    return facts(LassoNetClassifier(**SMALL).fit(X, table), X)


@case
def many_outputs() -> dict[str, Any]:
    X, _ = load_wine(return_X_y=True)
    return facts(LassoNetRegressor(**SMALL).fit(X[:, 3:], X[:, :3]), X[:, 3:])


@case
def mixed_columns() -> dict[str, Any]:
    X, y = mixed()
    model = LassoNetRegressor(**SMALL, feature_costs={"income": 0.0}).fit(X, y)
    return facts(model, X) | {"effects": strings(riata.feature_effects(model, X, random_state=0))}


@case
def mixed_classes() -> dict[str, Any]:
    X, y = mixed(seed=1)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    weights[::17] = 0
    return facts(LassoNetClassifier(**SMALL, missing="mean").fit(X, y > 1, weights), X)


@case
def groups() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    ids = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    return facts(LassoNetRegressor(**SMALL, feature_groups=ids).fit(X, y), X)


@case
def lasso() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    return facts(LassoNetRegressor(**SMALL, M=0, refit=False).fit(X, y), X)


@case
def paper() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    model = LassoNetRegressor(**small(path_multiplier=1.1), preprocessing="standard", adaptive=0, screening=None)
    return facts(model.fit(X, y), X)


@case
def piecewise() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    return facts(LassoNetRegressor(**SMALL, preprocessing="piecewise", refit="scratch").fit(X, y), X)


@case
def raw() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)
    model = LassoNetRegressor(**SMALL, preprocessing=None, lambda_seq=(0.5, 1.0, 20.0, 200.0), val_size=0, select=1.0)
    return facts(model.fit(X, y / 100), X)


@case
def given_validation() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return facts(LassoNetClassifier(**SMALL).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:]), X)


@case
def batches() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    return facts(LassoNetRegressor(**small(batch_size=64, dropout=0.1)).fit(X, y), X)


@case
def large() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=3000)
    return facts(LassoNetRegressor(**SMALL).fit(X, y), X)


@case
def pairs() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (400, 120))
    return facts(LassoNetClassifier(**SMALL).fit(X, X[:, 3] * X[:, 70] > 0), X)


@case
def triples() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (600, 12))
    return facts(LassoNetRegressor(**SMALL, screening="pairs").fit(X, np.sign(X[:, :3].prod(axis=1))), X)


@case
def module() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 1))
    return facts(LassoNetRegressor(**small(network, path_multiplier=1.2)).fit(X, y), X)


@case
def module_function() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)

    def network(n_inputs: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_inputs, 8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, n_outputs))

    model = LassoNetRegressor(**small(network, path_multiplier=1.2)).fit(X, y)
    with torch.no_grad():
        exported = model.module_(torch.from_numpy(X)).numpy()
    return facts(model, X) | {"module_": exported}


def with_loss(
    loss: Any, target: Callable[[np.ndarray, np.ndarray], Any], cls: Any = LassoNetRegressor
) -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    model = cls(**small(path_multiplier=1.1), loss=loss).fit(X, target(X, y))
    return facts(model, X) | {"score": model.score(X, target(X, y))}


for name, loss in {
    "absolute": "absolute_error",
    "huber": "huber",
    "quantiles": losses.Quantile((0.1, 0.9)),
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": losses.Tweedie(1.3),
}.items():
    CASES[f"loss_{name}"] = lambda loss=loss: with_loss(loss, lambda X, y: y)
CASES["loss_function"] = lambda: with_loss(lambda output, target: (output - target).abs() ** 1.5, lambda X, y: y)
CASES["loss_heads"] = lambda: with_loss(["squared_error", "poisson"], lambda X, y: np.stack([y, np.round(y)], 1))
CASES["loss_ordinal"] = lambda: with_loss("ordinal", lambda X, y: np.digitize(y, [90, 150, 220]), LassoNetClassifier)
CASES["loss_focal"] = lambda: with_loss("focal", lambda X, y: y > 150, LassoNetClassifier)


@case
def autoencoder() -> dict[str, Any]:
    X, _ = load_wine(return_X_y=True)
    model = LassoNetAutoencoder(**SMALL, n_features_to_select=4).fit(X)
    return facts(model, X) | {"score": model.score(X), "inverse": model.inverse_transform(model.transform(X))}


@case
def imputer() -> dict[str, Any]:
    X, _ = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = LassoNetImputer(**small((10, 10)), add_indicator=True).fit(X)
    fewer = LassoNetImputer(**small((10, 10)), n_features_to_select=2).fit(X)
    return facts(model, X) | {f"few_{k}": v for k, v in facts(fewer, X).items()} | {"score": model.score(X)}


@case
def imputer_columns() -> dict[str, Any]:
    X, _ = load_wine(return_X_y=True)
    return facts(LassoNetImputer(**small((10, 10), n_iters=(60, None)), columns=[0, 3, 5, 7]).fit(X), X)


@case
def cross_validation() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    model = LassoNetRegressorCV(**SMALL, M=[0, 10], cv=3).fit(X, y)
    return facts(model, X) | {"cv": strings(model.cv_results_), "chosen": [model.cv_n_selected_, model.cv_score_]}


@case
def cross_validation_classes() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = LassoNetClassifierCV(**small(path_multiplier=1.1), cv=3, class_weight="balanced").fit(X, y, weights)
    return facts(model, X) | {"cv": strings(model.cv_results_), "chosen": [model.cv_n_selected_, model.cv_score_]}


@case
def cross_validation_mixed() -> dict[str, Any]:
    X, y = mixed(240, seed=3)
    model = LassoNetRegressorCV(**small(path_multiplier=1.2), cv=3, refit=False, select="best").fit(X, y)
    at_k = LassoNetRegressorCV(**small(path_multiplier=1.2), cv=3, n_features_to_select=3).fit(X, y)
    return facts(model, X) | {"cv": strings(model.cv_results_), "k": at_k.selected_, "k_cv": strings(at_k.cv_results_)}


@case
def stability() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    inside = LassoNetClassifier(**small(path_multiplier=1.1) | {"random_state": None})
    found = StabilitySelector(inside, n_resamples=10, random_state=0).fit(X, y)
    frame, target = mixed(240, seed=4)
    words = StabilitySelector(
        LassoNetRegressor(**small(path_multiplier=1.2) | {"random_state": None}),
        n_resamples=6,
        n_features=2,
        random_state=0,
    ).fit(frame, target)
    return {"path": found.path_frequencies_.to_numpy(), "mixed": words.path_frequencies_.to_numpy()}


@case
def knockoffs() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    inside = LassoNetClassifier(**small(path_multiplier=1.2) | {"random_state": None})
    found = KnockoffSelector(inside, fdr=0.3, n_fits=1, random_state=0).fit(X, y)
    plain = KnockoffSelector(LassoCV(), fdr=0.3, random_state=0, n_draws=2).fit(X, y)
    return {"W": found.statistics_, "selected": found.selected_, "plain": plain.statistics_}


@case
def importances() -> dict[str, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LassoNetClassifier(**small(path_multiplier=1.1)).fit(X[:400], y[:400])
    shuffled = riata.permutation_importance(model, X[400:], y[400:], random_state=0)
    p = riata.holdout_p_values(model, X[400:], y[400:], X_fit=X[:400], random_state=0)
    return {"shuffled": strings(shuffled), "p": strings(p)}


@case
def function() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    return path_facts(LassoNetRegressor(**SMALL).fit(X, y).path_)


@case
def pickled() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    model = LassoNetRegressor(**small(path_multiplier=1.2)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"predict": pickle.loads(pickle.dumps(model)).predict(X), "score": model.score(X, y)}


class Torch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input = rnn.LassoInput(10, 8, 1)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip, hidden = self.input(x)
        return skip + self.rest(hidden)


@case
def torch_path() -> dict[str, Any]:
    X, y = load_diabetes(return_X_y=True)
    X, y = (torch.from_numpy((a - a.mean(0)) / a.std(0)).float() for a in (X, y[:, None]))
    torch.manual_seed(0)
    first = Torch()
    data = [(X[i : i + 64], y[i : i + 64]) for i in range(0, 320, 64)]
    path = rnn.path(first, nn.functional.mse_loss, data, val=[(X[320:], y[320:])], epochs=(10, 2), path_multiplier=1.3)
    return {"frame": path.to_frame().to_numpy(dtype=float), "selected": path.selected}


@case
def operator() -> dict[str, Any]:
    rng = torch.Generator().manual_seed(0)
    skip, first = (torch.randn(40, k, generator=rng, dtype=torch.float64) for k in (3, 7))
    plain = riata.hier_prox(skip, first, lambda_=0.5, M=2.0)
    return {f"part{i}": part.numpy() for i, part in enumerate(plain)}


def run(names: list[str]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for name in names or list(CASES):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {f"{name}/{key}": strings(value) for key, value in CASES[name]().items()}
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        yield name, found


def main() -> int:
    what, file, *names = sys.argv[1:]
    if what == "write":
        np.savez_compressed(file, **{k: v for _, found in run(names) for k, v in found.items()})
        return 0
    known, different = np.load(Path(file)), []
    for name, found in run(names):
        expected = {key for key in known.files if key.startswith(f"{name}/")}
        same = expected == set(found)
        for key in expected & set(found):
            a, b = known[key], found[key]
            equal = (
                a.shape == b.shape
                and a.dtype.kind == b.dtype.kind
                and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            )
            if not equal:
                print(f"  differs: {key}")
            same &= equal
        if not same:
            different.append(name)
            print(f"  {name}: keys {sorted(expected ^ set(found))}")
    print(f"{len(different)} cases differ: {different}" if different else "all equal to the bit")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
