"""Every public name has an API page, and a docstring with all parameters and an example that runs."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_origin

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MODULES = ("riata", "riata.plot", "riata.nn", "riata.nn.lightning", "riata.losses", "riata.datasets")
RETURNED = (  # by public methods and functions
    "riata.completion.FilledPoint",
    "riata.evidence.Curve",
    "riata.evidence.Surface",
    "riata.files.Table",
    "riata.survival.curve.SurvivalCurve",
    "riata.survival.step_function.StepFunction",
)
SECTION = re.compile(r"^(\w+(?: \w+)*)\n-+\n(.*?)(?=^\w+(?: \w+)*\n-+\n|\Z)", re.M | re.S)


def public_names() -> list[str]:
    names = []
    for module in MODULES:
        if module == "riata.nn.lightning" and importlib.util.find_spec("lightning") is None:
            continue
        found = importlib.import_module(module)
        names += [f"{module}.{name}" for name in found.__all__ if not inspect.ismodule(getattr(found, name))]
    return [*names, *RETURNED]


def value_of(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def described(value: Any) -> bool:
    """Whether it has a docstring of its own: data and unions of types have none."""
    return (inspect.isclass(value) and get_origin(value) is not Union) or inspect.isroutine(value)


NAMES = public_names()
DOCUMENTED = [name for name in NAMES if described(value_of(name))]


def sections(value: Any) -> dict[str, str]:
    return dict(SECTION.findall(inspect.getdoc(value) or ""))


def parameters_said(text: str) -> set[str]:
    """Names before the colons of a section: ``a, b : int``."""
    heads = re.findall(r"^\*{0,2}(\w[\w, *]*?) *(?::|$)", text, flags=re.M)
    return {name.strip(" *") for head in heads for name in head.split(",")}


def parameters_of(value: Any) -> set[str]:
    if inspect.isclass(value) and issubclass(value, Exception):
        return set()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(value).parameters.values()
    return {each.name for each in found if each.kind not in kinds and each.name not in ("self", "cls")}


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that riata defines, as attributes of the class."""
    for name in dir(cls):
        owner = next((each for each in cls.__mro__ if name in vars(each)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("riata."):
            continue
        value = inspect.getattr_static(cls, name)
        code = value.fget if isinstance(value, property) else getattr(cls, name)
        if inspect.isroutine(code) and inspect.unwrap(code).__module__.startswith("riata."):
            yield name, value if isinstance(value, property) else code


def said_in(cls: type, name: str) -> set[str]:
    """Parameters that the docstring of a method describes, or that of a method which it overrides."""
    said: set[str] = set()
    for parent in cls.__mro__:
        text = sections(vars(parent).get(name)) if name in vars(parent) else {}
        said |= parameters_said(text.get("Parameters", ""))
    return said


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_api_page(name):
    listed, module = set(), ""
    for line in (DOCS / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r" {3}[\w.]+", line):
            listed.add(f"{module}.{line.strip()}")
    assert name in listed, f"add {name} to docs/api.rst"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_public_name_has_all_parameters_and_an_example(name):
    value = value_of(name)
    told = sections(value)
    texts = [sections(parent) for parent in (value.__mro__ if inspect.isclass(value) else [value])]
    said = parameters_said("".join(text.get("Parameters", "") + text.get("Attributes", "") for text in texts))
    assert (inspect.getdoc(value) or "").strip(), f"{name} has no docstring"
    assert not (missing := parameters_of(value) - said), f"{name} does not say what {sorted(missing)} are"
    assert ">>> " in told.get("Examples", ""), f"{name} has no example"


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if inspect.isclass(value_of(name))])
def test_the_methods_of_a_class_are_described(name):
    cls = value_of(name)
    for method, code in methods(cls):
        assert (inspect.getdoc(code) or "").strip(), f"{name}.{method} has no docstring"
        if not isinstance(code, property):
            missing = parameters_of(code) - said_in(cls, method)
            assert not missing, f"{name}.{method} does not say what {sorted(missing)} are"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_docstring_describes_no_parameter_that_is_not_there(name):
    value = value_of(name)
    said = parameters_said(sections(value).get("Parameters", ""))
    assert not (unknown := said - parameters_of(value)), f"{name} describes {sorted(unknown)}, which it does not take"
