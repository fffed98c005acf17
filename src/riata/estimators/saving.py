"""Checkpoints of fits: what a fit depends on, as text to compare, and the classes whose objects a checkpoint may hold."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path as FilePath
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from torch import nn

from riata.completion.training import HistoryRow, Trained
from riata.estimators.training import given
from riata.network.stacked import SparseWeights, Weights
from riata.path.points import Path, Point
from riata.path.refit import Found, Plan
from riata.path.saved import PathState
from riata.solver.problem import Evaluation
from riata.solver.solve import SolverState
from riata.storage import Checkpoint, Fingerprint, Kind, Part

__all__ = ["described", "fingerprint", "kept", "opened"]

_CHANGES_NOTHING = ("verbose", "n_jobs", "checkpoint", "device")  # parameters; of devices the kind counts
_PACKAGES = ("riata", "numpy", "scipy", "scikit-learn", "numba")
_BLOCK = 2**26  # bytes that are hashed at a time
_DEEP = 8  # objects within objects
Made = TypeVar("Made")


def opened(estimator: Any, resume: bool) -> AbstractContextManager[Checkpoint]:
    """Open the checkpoint of a fit; one that keeps nothing where the estimator has none."""
    return Checkpoint.opened(estimator.checkpoint, _kinds(), resume=resume)


def kept(work: Callable[..., Made], part: Part | None, *arguments: Any) -> Made:
    """Do the work of a job, or take its result from the checkpoint that it is a part of."""
    return work(*arguments) if part is None else part.made(partial(work, *arguments), _kinds())


@cache
def _kinds() -> dict[str, Kind]:
    """Return the classes whose objects a checkpoint may hold."""
    from riata.estimators.folds import First, Plans, Scores  # which solve paths, and so import this module

    plain = [Weights, SparseWeights, Point, Evaluation, SolverState, PathState, Found, Plan, Trained, HistoryRow]
    kinds = {cls.__name__: Kind(cls) for cls in [*plain, First, Plans, Scores]}
    return kinds | {"Path": Kind(Path, names=("points", "multiplier", "val_weights", "visited"))}


# ---- what a fit depends on ------------------------------------------------------------------------------------------


def fingerprint(estimator: Any, data: Mapping[str, Any], levels: Any = None) -> Fingerprint:
    """Return what a fit depends on.

    Parameters
    ----------
    estimator : estimator
        Whose parameters count.
    data : mapping of str to array
        Checked data, by name.
    levels : Categories, optional
        Of columns of categories, the numbers of which are codes.
    """
    must = {"estimator": type(estimator).__name__} | _parameters(estimator)
    must |= {name: digest(value) for name, value in data.items()}
    if levels is not None:
        must["categories"] = digest([[j, *column.levels] for j, column in levels.columns.items()])
    must |= {f"the version of {name}": _version(name) for name in _PACKAGES}
    must["the version of torch"] = torch.__version__
    may = {"the processor": _processor()}
    if hasattr(estimator, "training"):
        device = given(estimator.training).torch_device()
        must["the device"] = device.type
        if device.type == "cuda":
            must["torch.get_float32_matmul_precision()"] = torch.get_float32_matmul_precision()
            may["the GPU"] = torch.cuda.get_device_name(device)
    return Fingerprint(must, may)


def _parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters that count, those of estimators inside by their own names, as text."""
    values = estimator.get_params(deep=True)
    if "training" in values:
        values |= {f"training__{name}": value for name, value in given(values["training"]).get_params().items()}
        del values["training"]
    counts = {name: value for name, value in values.items() if name.rpartition("__")[-1] not in _CHANGES_NOTHING}
    plain = {k: type(v).__name__ if isinstance(v, BaseEstimator) else described(v) for k, v in counts.items()}
    return {name: json.dumps(value, default=str, ensure_ascii=False) for name, value in plain.items()}


def described(value: Any, depth: int = 0) -> Any:
    """Describe a parameter in types of JSON, so that other values have other descriptions.

    Of a function its code counts, of a module its weights, of other objects what they hold.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # 10 and 10.0 are the same
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return described(value.item(), depth)
    if isinstance(value, bytes | complex | FilePath):
        return str(value)
    if depth > _DEEP:
        return type(value).__name__
    deeper = partial(described, depth=depth + 1)
    if isinstance(value, Mapping):
        return [[deeper(key), deeper(each)] for key, each in value.items()]
    if isinstance(value, list | tuple | range | set | frozenset):
        found = [deeper(each) for each in value]
        return sorted(found, key=repr) if isinstance(value, set | frozenset) else found
    found = _known(value, deeper)
    # Other objects may hold anything, which is followed less far.
    return found or [type(value).__name__, described(getattr(value, "__dict__", {}), depth + _DEEP // 2)]


def _known(value: Any, deeper: Callable[[Any], Any]) -> Any:
    """Describe an object of a class that is known; None for others."""
    if isinstance(value, np.ndarray | pd.DataFrame | pd.Series | pd.Index | torch.Tensor):
        return deeper(value.tolist()) if isinstance(value, np.ndarray) and value.size < 10 else digest(value)
    if isinstance(value, np.random.RandomState | np.random.Generator):
        state = value.get_state() if isinstance(value, np.random.RandomState) else value.bit_generator.state
        return digest(deeper(state))
    if isinstance(value, FunctionType):
        captured = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, digest(_code(value.__code__, deeper)), deeper([value.__defaults__, captured])]
    if isinstance(value, partial):
        return deeper([value.func, value.args, value.keywords])
    if isinstance(value, nn.Module):
        return [repr(value), digest({name: tensor.cpu().numpy() for name, tensor in value.state_dict().items()})]
    if isinstance(value, BaseEstimator):
        counts = {k: v for k, v in value.get_params(deep=False).items() if k not in _CHANGES_NOTHING}
        return [type(value).__name__, deeper(counts)]
    if isinstance(value, type | BuiltinFunctionType):
        return value.__qualname__
    return None


def _code(code: CodeType, deeper: Callable[[Any], Any]) -> list[Any]:
    """Return what a function does, without where it stands."""
    constants = [_code(each, deeper) if isinstance(each, CodeType) else deeper(each) for each in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), constants]


def digest(value: Any) -> str:
    """Return a hash of data."""
    found = hashlib.sha256()
    _feed(found.update, value)
    return f"sha256:{found.hexdigest()[:16]}"


def _feed(update: Callable[[Any], None], value: Any) -> None:
    """Give data to a hash: their types, shapes and values."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, pd.DataFrame):
        update(repr([str(name) for name in value.columns]).encode())
        for j in range(value.shape[1]):
            _feed(update, value.iloc[:, j].to_numpy())
    elif isinstance(value, pd.Series | pd.Index):
        _feed(update, value.to_numpy())
    elif isinstance(value, Mapping | list | tuple):
        for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):
            update(repr(key).encode())
            _feed(update, each)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufcmM" and value.ndim:
        update(f"{value.dtype.str}{value.shape}".encode())
        size = max(1, _BLOCK // max(1, value[:1].nbytes))
        for start in range(0, len(value), size):
            update(np.ascontiguousarray(value[start : start + size]).view(np.uint8))
    elif isinstance(value, np.ndarray):
        update(f"{value.shape}".encode())
        update("\0".join(map(repr, value.ravel().tolist())).encode())
    else:
        update(repr(value).encode())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not there"


@cache
def _processor() -> str:
    """Return what results may depend on in their last bits."""
    name = platform.processor() or platform.machine()
    try:
        lines = FilePath("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else name} ({torch.backends.cpu.get_cpu_capability()})"
