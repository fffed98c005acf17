"""Every public name of lassonet 0.0.21 is in the compat module, with its parameters and attributes."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from lassonet import interfaces as theirs

from riata.compat.lassonet import interfaces as ours

MODULES = ["", ".interfaces", ".model", ".plot", ".prox", ".cox", ".utils", ".r"]
# Parts of its own workings that lassonet does not mark as such; the page says that they are not there.
NOT_OFFERED = {"abstractattr", "log_substract", "make_writable", "scatter_logsumexp", "scatter_reduce"}
VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def in_ours(module: str) -> Any:
    return importlib.import_module(f"riata.compat.lassonet{module}")


def public(module: str) -> dict[str, Any]:
    """Names that a module of lassonet defines, or that the package offers."""
    found = vars(importlib.import_module(f"lassonet{module}")).items()
    return {
        name: value
        for name, value in found
        if not (name.startswith("_") or inspect.ismodule(value) or name in NOT_OFFERED)
        and (not module or getattr(value, "__module__", "") == f"lassonet{module}")
    }


def parameters(function: Any) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(function).parameters.values() if p.kind not in VARIADIC]


def of_constructor(cls: type) -> set[str]:
    """Parameters of the constructor, those that it passes on included."""
    return {p.name for c in cls.__mro__ if "__init__" in vars(c) and c is not object for p in parameters(c.__init__)}


def methods(cls: type) -> dict[str, Any]:
    """Public methods that lassonet defines."""
    found = inspect.getmembers(cls, inspect.isfunction)
    return {name: code for name, code in found if name[0] != "_" and code.__module__.startswith("lassonet")}


def positional(function: Any) -> list[str]:
    return [p.name for p in parameters(function) if p.kind is not p.KEYWORD_ONLY]


NAMES = [(module, name) for module in MODULES for name in public(module)]
CLASSES = [(module, name) for module, name in NAMES if inspect.isclass(public(module)[name])]
FUNCTIONS = [(module, name) for module, name in NAMES if inspect.isfunction(public(module)[name])]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_the_names_of_lassonets_module(module):
    assert not {name for name in public(module) if not hasattr(in_ours(module), name)}


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids="".join)
def test_a_function_takes_the_arguments_of_lassonets_function(module, name):
    theirs, ours = public(module)[name], getattr(in_ours(module), name)
    taken = inspect.signature(ours).parameters
    assert [p.name for p in parameters(theirs) if p.name not in taken] == []
    n = len(positional(theirs))
    assert positional(ours)[:n] == positional(theirs)


@pytest.mark.parametrize(("module", "name"), CLASSES, ids="".join)
def test_a_class_has_the_parameters_and_methods_of_lassonets_class(module, name):
    theirs, ours = public(module)[name], getattr(in_ours(module), name)
    if name != "HistoryItem":  # which path makes
        assert of_constructor(theirs) <= of_constructor(ours)
    for method, code in methods(theirs).items():
        taken = getattr(ours, method)
        wanted, given = positional(code)[1:], positional(taken)[1:]
        assert given[: len(wanted)] == wanted, method
        assert {p.name for p in parameters(code)[1:]} <= set(inspect.signature(taken).parameters), method


@pytest.mark.parametrize("name", [name for module, name in CLASSES if module == ".interfaces" and "Lasso" in name])
def test_parameters_have_the_defaults_of_lassonet(name):
    defaults = {p.name: p.default for p in parameters(getattr(ours, name))}
    for cls in getattr(theirs, name).__mro__:
        if cls.__module__.startswith("lassonet") and "__init__" in vars(cls):
            for parameter in parameters(cls.__init__)[1:]:
                assert defaults[parameter.name] == parameter.default, parameter.name


def samples(name: str) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(60, 4)), rng.exponential(size=60)
    labels = (X[:, 0] > 0).astype(int)
    known = np.eye(3)[rng.integers(3, size=60)]
    return {
        "Regressor": (X, X[:, 0], {}),
        "Classifier": (X, labels, {"class_weight": [1.0, 2.0]}),
        "CoxRegressor": (X, np.column_stack([time, labels]).astype(float), {"tie_approximation": "breslow"}),
        "IntervalRegressor": (X, np.column_stack([time, time, known]), {}),
    }[name]


@pytest.mark.parametrize("cv", ["", "CV"])
@pytest.mark.parametrize("name", ["Regressor", "Classifier", "CoxRegressor", "IntervalRegressor"])
def test_a_fitted_estimator_has_the_attributes_of_lassonets(name, cv, monkeypatch):
    monkeypatch.setattr("lassonet.model.LassoNet.lambda_start", lambda *_, **__: 1e-3)  # which takes seconds
    X, y, how = samples(name)
    how |= {"hidden_dims": (3,), "n_iters": (5, 5), "path_multiplier": 1.5, "verbose": 0}
    models = [getattr(module, f"LassoNet{name}{cv}")(**how) for module in (theirs, ours)]
    for model in models:
        model.path(X, y, return_state_dicts=True)
    reference, model = models
    assert [given for given in vars(reference) if not hasattr(model, given)] == []
    for half in ("n_iters_init", "n_iters_path", "patience_init", "patience_path"):
        assert getattr(model, half) == getattr(reference, half)
    item, expected = model.path_[-1], reference.path_[-1]
    for given in fields(theirs.HistoryItem):
        if given.name != "state_dict":
            assert isinstance(getattr(item, given.name), type(getattr(expected, given.name))), given.name
    assert {k: v.shape for k, v in item.state_dict.items()} == {k: v.shape for k, v in expected.state_dict.items()}
    reference.load(item.state_dict)  # the same network
    np.testing.assert_allclose(reference.predict(X), model.load(item).predict(X), atol=1e-5)
