"""What the R package calls.

Numbers cross as raw bytes, column by column, and all else as text, numbers and lists. So neither side depends on how some
version of reticulate, NumPy or pandas converts objects. Errors and warnings cross as text too.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import PredefinedSplit

import riata
from riata import losses


def _answer(function: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., dict[str, Any]]:
    @wraps(function)
    def answer(*args: Any, **kwargs: Any) -> dict[str, Any]:
        found: Any = None
        error: tuple[str, str, str] | None = None
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            try:
                found = convert(function(*args, **kwargs))
            except Exception as raised:
                error = (str(raised), type(raised).__name__, traceback.format_exc())
        said = list(dict.fromkeys(str(each.message) for each in noted))
        return {"found": found, "error": None if error is None else list(error), "warnings": said}

    return answer


def live(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return what a function returns as a Python object, with the warnings, or the error."""
    return _answer(function, lambda found: found)


def plain(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return what a function returns in plain types, with the warnings, or the error."""
    return _answer(function, _plain)


def _plain(value: Any) -> Any:
    """Return a value as text, numbers and lists; arrays of numbers as bytes, column by column."""
    if isinstance(value, pd.DataFrame):
        columns = [_plain(value.iloc[:, j].to_numpy()) for j in range(value.shape[1])]
        return {"kind": "frame", "names": [str(name) for name in value.columns], "columns": columns}
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain_array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind in "biuf":
        data = bytearray(np.asarray(array, dtype="<f8").tobytes(order="F"))
        return {"kind": "flags" if array.dtype.kind == "b" else "numbers", "data": data, "shape": list(array.shape)}
    missing = pd.isna(array)
    return {"kind": "text", "values": [None if gone else str(each) for each, gone in zip(array, missing, strict=True)]}


# ---- tables and targets ---------------------------------------------------------------------------------------------


@live
def table(names: list[str], n_rows: int, columns: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a data frame from blocks of numbers and columns of levels."""
    blocks = [_numbers(each["data"], n_rows) for each in columns if each["kind"] == "numbers"]
    if len(blocks) == len(columns):
        return pd.DataFrame(blocks[0] if len(blocks) == 1 else np.hstack(blocks), columns=names)
    numbers = iter(blocks)
    found: list[Any] = []
    for each in columns:
        if each["kind"] == "numbers":
            found.extend(next(numbers).T)
        else:
            found.append(_levels(**each))
    frame = pd.DataFrame(dict(enumerate(found)))
    frame.columns = names
    return frame


def _numbers(data: Any, n_rows: int) -> np.ndarray:
    """Return columns of numbers, (n_rows, ·)."""
    return np.frombuffer(data, "<f8").reshape(n_rows, -1, order="F")


def _levels(kind: str, data: Any, levels: list[str], text: bool) -> Any:
    """Return a column of levels from codes, where −1 stands for a missing one."""
    codes = np.frombuffer(data, "<i4")
    if text:
        return np.array([*levels, None], dtype=object)[codes]
    return pd.Categorical.from_codes(codes, levels)


@live
def sparse_table(names: list[str], n_rows: int, data: Any, rows: Any, starts: Any) -> pd.DataFrame:
    """Return a data frame of sparse columns from the slots of a dgCMatrix."""
    parts = np.frombuffer(data, "<f8"), np.frombuffer(rows, "<i4"), np.frombuffer(starts, "<i4")
    return pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(parts, shape=(n_rows, len(names))), columns=names)


@live
def numbers(data: Any, n_rows: int, flat: bool) -> np.ndarray:
    """Return a target of numbers, 1-D if it is a vector."""
    found = _numbers(data, n_rows)
    return found[:, 0] if flat else found


@live
def classes(data: Any, levels: list[Any]) -> np.ndarray:
    """Return a target of classes; levels are text or numbers."""
    return np.array(levels)[np.frombuffer(data, "<i4")]


@live
def times(columns: dict[str, Any]) -> pd.DataFrame:
    """Return a target of survival times; strata and subjects are lists of text."""
    found = {
        name: np.array(each, dtype=object) if name in ("strata", "id") else np.frombuffer(each, "<f8")
        for name, each in columns.items()
    }
    return pd.DataFrame(found)


# ---- estimators -----------------------------------------------------------------------------------------------------


@live
def estimator(
    name: str,
    parameters: dict[str, Any],
    loss: str | None = None,
    levels: list[float] | None = None,
    training: dict[str, Any] | None = None,
    folds: list[int] | None = None,
) -> Any:
    """Return an estimator that is not fitted."""
    given = dict(parameters)
    given["hidden_dims"] = _shape(given["hidden_dims"])
    if loss is not None:
        given["loss"] = losses.Quantile(tuple(levels)) if levels else loss
    if training is not None:
        pairs = {key: tuple(each) if isinstance(each, list) else each for key, each in training.items()}
        given["training"] = riata.Training(**pairs)
    if folds is not None:
        given["cv"] = PredefinedSplit(folds)
    return getattr(riata, name)(**given)


def _shape(hidden: list[Any]) -> Any:
    """Return the widths of the hidden layers, or a list of such widths."""
    return [tuple(each) for each in hidden] if hidden and isinstance(hidden[0], list) else tuple(hidden)


@live
def fit(model: Any, X: Any, y: Any = None, weights: Any = None, groups: list[str] | None = None) -> Any:
    """Fit, with weights as bytes."""
    more: dict[str, Any] = {}
    if weights is not None:
        more["sample_weight"] = np.frombuffer(weights, "<f8")
    if groups is not None:
        more["groups"] = np.array(groups)
    return model.fit(X, **more) if y is None else model.fit(X, y, **more)


@live
def load(path: str) -> Any:
    """Return the model of a file."""
    return riata.load(path)


@live
def at(model: Any, n_features: int | None, lambda_: float | None, refit: bool) -> Any:
    """Return the model at another point of its path."""
    return model.at(n_features=n_features, lambda_=lambda_, refit=refit)


@plain
def save(model: Any, path: str) -> None:
    """Write a model to a file."""
    model.save(path)


# ---- what a fitted model says ---------------------------------------------------------------------------------------


@plain
def point(model: Any, names: list[str]) -> dict[str, Any]:
    """Describe a model at its point."""
    return {
        "selected": model.selected_,
        "lambda": model.lambda_,
        "coefficients": np.atleast_2d(model.coef_) if hasattr(model, "coef_") else None,
        "intercept": _intercept(model, names),
    }


def _intercept(model: Any, names: list[str]) -> np.ndarray | None:
    """Return what a linear model predicts where all columns are 0; None for others."""
    if getattr(model, "M_", model.M) or np.isnan(model.coef_).any():
        return None
    origin = pd.DataFrame(np.zeros((1, len(names))), columns=names)
    return np.atleast_1d(_link(model, origin)[0])


def _link(model: Any, X: Any) -> np.ndarray:
    """Return the linear predictor: logits of classes, logarithms of hazards, times and rates."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    predicted = np.asarray(model.predict(X))
    log = getattr(model, "loss", None) in ("poisson", "gamma", "tweedie") or hasattr(model, "distribution")
    return np.log(predicted) if log else predicted


@plain
def described(model: Any) -> dict[str, Any]:
    """Describe what does not depend on the point."""
    found: dict[str, Any] = {
        "path": model.path_.to_frame(),
        "importance": model.feature_importances_,
        "interactions": model.interactions_,
        "screening": model.screening_,
        "estimator": type(model).__name__,
        "score_name": model.score_name,
        "version": riata.__version__,
    }
    if hasattr(model, "classes_"):
        found["classes"] = np.array([str(each) for each in model.classes_], dtype=object)
    return found


@plain
def cross_validated(model: Any) -> dict[str, Any]:
    """Describe the scores of folds."""
    results = model.cv_results_
    numeric = [name for name in results.columns if name != "hidden_dims"]
    shapes = [" ".join(map(str, each)) for each in results["hidden_dims"]]
    return {
        "results": results[numeric].assign(hidden=np.array(shapes, dtype=object)),
        "index": int(model.cv_index_),
        "n_selected": float(model.cv_n_selected_),
        "M": model.M_,
        "hidden": list(model.hidden_dims_),
        "score_name": model.cv_score_name,
    }


@plain
def norms(model: Any) -> np.ndarray:
    """Return the norm of every feature's linear weights at every point of the path."""
    return model.path_.skip_norms()


@plain
def alternatives(model: Any) -> pd.DataFrame:
    """Return the dropped features that are most like the selected ones."""
    return model.alternatives_


@plain
def predict(model: Any, X: Any, kind: str) -> np.ndarray:
    """Return predictions, (n, ·)."""
    if kind == "link":
        found = _link(model, X)
    elif kind == "probability":
        found = model.predict_proba(X)
    else:
        found = model.predict(X)
    found = np.asarray(found)
    return found[:, None] if found.ndim == 1 and kind != "class" else found


@plain
def survival(model: Any, X: Any, at_times: Any = None, strata: list[str] | None = None) -> dict[str, Any]:
    """Return probabilities to be without the event at some times, by default at all of fit."""
    more = {} if strata is None else {"strata": np.array(strata, dtype=object)}
    if at_times is None:
        found = model.predict_survival_function(X, return_array=True, **more)
        return {"times": model.unique_times_, "survival": found}
    wanted = np.frombuffer(at_times, "<f8")
    curves = model.predict_survival_function(X, **more)
    return {"times": wanted, "survival": np.array([curve(wanted) for curve in curves]).reshape(-1, len(wanted))}


@plain
def score(model: Any, X: Any, y: Any, weights: Any = None) -> float:
    """Return the score of a model."""
    return float(model.score(X, y, None if weights is None else np.frombuffer(weights, "<f8")))


@plain
def effects(model: Any, X: Any, seed: int) -> pd.DataFrame:
    """Describe how each selected feature changes predictions."""
    return riata.feature_effects(model, X, random_state=seed)


@plain
def permutation(model: Any, X: Any, y: Any, n_repeats: int, level: float, seed: int) -> pd.DataFrame:
    """Return the rise of the loss without each feature."""
    return riata.permutation_importance(model, X, y, n_repeats=n_repeats, confidence=level, random_state=seed)


@plain
def report(model: Any, X: Any, y: Any, path: str, title: str, stability: Any, knockoffs: Any, seed: int) -> list[str]:
    """Write a report; return its answer."""
    document = model.report(X, y, title=title, stability=stability, knockoffs=knockoffs, random_state=seed)
    document.save(path)
    return list(document.summary["answer"])


# ---- evidence, and tables with missing entries ----------------------------------------------------------------------


@live
def selector(name: str, model: Any, parameters: dict[str, Any]) -> Any:
    """Return a selector of an estimator that is not fitted."""
    return getattr(riata, name)(model, **parameters)


@plain
def evidence(model: Any, attributes: list[str]) -> dict[str, Any]:
    """Return attributes of a fitted selector."""
    return {name: getattr(model, f"{name}_") for name in ("selected", *attributes)}


@plain
def filled(model: Any, X: Any) -> np.ndarray:
    """Return a table with its missing entries filled."""
    return np.asarray(model.transform(X), dtype=np.float64)


@plain
def imputer(model: Any) -> dict[str, Any]:
    """Describe a fitted imputer."""
    return {
        "selected": model.selected_,
        "lambda": model.lambda_,
        "path": model.path_.to_frame(),
        "version": riata.__version__,
    }
