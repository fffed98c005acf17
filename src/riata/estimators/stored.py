"""Fitted models to files and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from sklearn.utils.validation import check_is_fitted

from riata import losses, storage
from riata.completion.points import FilledPoint
from riata.completion.table import ColumnStatistics
from riata.completion.training import HistoryRow
from riata.losses import censoring, coding, heads, rates, survival, targets
from riata.network.constant import WithConstants
from riata.network.stacked import Network, SparseWeights
from riata.path.points import Path, Point
from riata.preprocess import categories, expansion, interactions, marginal, prepare, scaling, screening
from riata.storage import Kind, ModelFileError
from riata.survival.baseline import Baseline

__all__ = ["StoredModel", "describe", "load", "read", "save"]

_SAMPLES = ("val_losses", "val_weights")  # what a file leaves out: it belongs to single samples


@dataclass(frozen=True, eq=False)
class StoredModel:
    """What a file holds.

    Attributes
    ----------
    model : estimator
        Fitted.
    about : dict
        What else was written into it, in types of JSON.
    """

    model: Any
    about: dict[str, Any]


def save(model: Any, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a file; one that was there before is replaced when the new one is complete."""
    file = FilePath(path)
    try:
        storage.write_whole(file.parent, {file.name: describe(model, about)})
    except OSError as error:
        raise ModelFileError(f"cannot write {file}: {error.strerror}") from None


def describe(model: Any, about: Mapping[str, Any] | None = None) -> bytes:
    """Return the contents of the file of a fitted model."""
    check_is_fitted(model, "point_")
    name = type(model).__name__
    if type(model) not in _estimators().values():
        raise ModelFileError(f"{name} cannot be stored: a model file holds the estimators of riata, and no code")
    if callable(model.hidden_dims):
        raise ModelFileError(
            "a network of your own cannot be stored, as a model file holds no code: keep the script that makes it, and store "
            "the weights with torch.save(model.module_.state_dict(), ...)"
        )
    parameters = model.get_params(deep=False)
    state = {key: value for key, value in model.__getstate__().items() if key not in parameters}
    del parameters["checkpoint"]  # a folder of this machine
    state.pop("_sklearn_version", None)
    writer = storage.Writer(_kinds())
    tree = {
        "estimator": name,
        "parameters": {key: _parameter(writer, key, value) for key, value in parameters.items()},
        "state": {key: writer.write(value, key) for key, value in state.items()},
        "about": dict(about or {}),
    }
    return storage.pack(tree, writer.arrays)


def _parameter(writer: storage.Writer, name: str, value: Any) -> Any:
    """Return a parameter; one that only training needs may be left out."""
    if name in ("cv", "scoring", "random_state") and not isinstance(value, str | int | None):
        return {"left out": repr(value)[:200]}
    if name == "loss" and _has_function(value):
        raise ModelFileError(
            "a loss given as a function cannot be stored, as a model file holds no code: use one of riata.losses"
        )
    return writer.write(value, name)


def _has_function(loss: Any) -> bool:
    each = loss if isinstance(loss, list | tuple) else [loss]
    return any(
        isinstance(part, losses.Function)
        or (callable(part) and not isinstance(part, losses.NumberLoss | losses.ClassLoss))
        for part in each
    )


def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted model from a file that :meth:`save` of an estimator has written.

    Nothing in a file is executed: it holds numbers, text, and names of classes of riata.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        As it was fitted, at the point at which it was stored. It holds no samples: other points of the path are the penalised
        networks, unless they were refitted before the model was stored.

    Raises
    ------
    ModelFileError
        A ValueError; if the file is incomplete, damaged, of something else or of a newer version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import riata
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = riata.LassoNetClassifier(n_features_to_select=2, random_state=0).fit(X, y)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "iris.riata"
    >>> model.save(file)
    >>> bool((riata.load(file).predict(X) == model.predict(X)).all())
    True
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> StoredModel:
    """Read a file: the model, and what else was written into it."""
    try:
        data = FilePath(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    try:
        return _restored(*storage.unpack(data))
    except ModelFileError as error:
        raise ModelFileError(f"cannot read {path}: {error}") from None


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what was written into a file beside the model, without the model."""
    try:
        tree, _ = storage.unpack(FilePath(path).read_bytes())
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    found = tree.get("about") if isinstance(tree, dict) else None
    return found if isinstance(found, dict) else {}


def _restored(tree: Any, arrays: Mapping[str, Any]) -> StoredModel:
    """Return the model that a file describes; whatever does not fit together is an error of the file."""
    try:
        return _built(tree, arrays)
    except ModelFileError:
        raise
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"what it holds cannot be a model: {type(error).__name__}: {error}") from None


def _built(tree: Any, arrays: Mapping[str, Any]) -> StoredModel:
    parts = {"estimator": str, "parameters": dict, "state": dict, "about": dict}
    if not isinstance(tree, dict) or any(not isinstance(tree.get(name), kind) for name, kind in parts.items()):
        raise ModelFileError("it holds no model: an estimator, its parameters and its state are needed")
    cls = _estimators().get(tree["estimator"])
    if cls is None:
        raise ModelFileError(f"it holds a {tree['estimator']!r}, which riata does not know")
    reader = storage.Reader(_kinds(), arrays)
    default = cls()
    known, given = default.get_params(deep=False), tree["parameters"]
    unknown = given.keys() - known.keys()
    if unknown:
        raise ModelFileError(f"{tree['estimator']} has no parameter {', '.join(map(repr, sorted(unknown)))}")
    here = {name: each for name, each in given.items() if not (isinstance(each, dict) and "left out" in each)}
    model = cls(**{name: reader.read(each) for name, each in here.items()})
    state = {name: reader.read(each) for name, each in tree["state"].items()}
    if state.keys() & (known.keys() | set(dir(cls))) - {"_categories"}:
        raise ModelFileError("its state has names of methods or parameters")
    vars(model).update(state)
    _check(model)
    return StoredModel(model, tree["about"])


def _check(model: Any) -> None:
    """Raise an error for a state with which a model cannot predict."""
    point, path = getattr(model, "point_", None), getattr(model, "path_", None)
    n = getattr(model, "n_features_in_", None)
    if not isinstance(point, Point) or not isinstance(path, Path) or not isinstance(n, int):
        raise ModelFileError("it holds no fitted model: the path or the selected point is missing")
    for each in (point, *path):
        columns, features = each.weights.columns, each.weights.features
        rows = {len(part) for part in (columns, features, each.weights.skip, each.weights.first)}
        if (
            len(each.selected) != n
            or len(rows) != 1
            or (features >= n).any()
            or (features < 0).any()
            or (columns < 0).any()
        ):
            raise ModelFileError(f"a point of its path does not fit {n} features")


# ---- what files may hold --------------------------------------------------------------------------------------------


@cache
def _estimators() -> dict[str, type]:
    import riata.estimators as package

    return {name: getattr(package, name) for name in package.__all__ if name.startswith("LassoNet")}


@cache
def _kinds() -> dict[str, Kind]:
    """Return the classes whose objects a file may hold, by the names that files have for them. A name is for ever."""
    from riata.estimators.cox import Baselines
    from riata.estimators.solving import Solved
    from riata.estimators.training import Training

    plain = [
        *(SparseWeights, Network, WithConstants, Baseline, ColumnStatistics, HistoryRow, Solved, Baselines, Training),
        *(prepare.Preprocessing, expansion.Expansion, scaling.Scaling, screening.Screening, marginal.Associations),
        *(categories.Categories, interactions.Interactions, targets.Numbers, targets.Classes, targets.ColumnScaling),
        *(targets.Reconstruction, survival.Survival, survival.Ranks, censoring.Intervals, censoring.LogTimes),
        *(coding.Pair, coding.OneHot, coding.Steps, coding.Labels, losses.SquaredError, losses.Huber),
        *(losses.AbsoluteError, losses.Quantile, losses.Poisson, losses.Gamma, losses.Tweedie, losses.Heads),
        *(losses.CrossEntropy, losses.Focal, losses.Ordinal, rates.Relative, heads.SideBySide),
    ]
    kinds = {cls.__name__: Kind(cls) for cls in plain}
    return kinds | {
        "CategoryColumn": Kind(categories.Column),
        "Point": Kind(Point, without=_SAMPLES),
        "FilledPoint": Kind(FilledPoint, without=_SAMPLES),
        "Path": Kind(Path, names=("points", "multiplier", "visited")),
    }
