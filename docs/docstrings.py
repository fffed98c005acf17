"""What the API pages show of a class: everything that riata itself defines, described once.

Methods of scikit-learn, torch and so on are left out. A method that overrides another and says only what differs gets the
parameters of that one.
"""

from __future__ import annotations

import inspect
from typing import Any

import riata

_SECTIONS = ("Parameters\n-", "Returns\n-")


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what other libraries define; keep public functions and properties of riata even without a docstring."""
    if name.startswith("_"):
        return None
    code = inspect.unwrap(member.fget if isinstance(member, property) else member)
    module = getattr(code, "__module__", None) or ""
    return not module.startswith(f"{riata.__name__}.") if inspect.isroutine(code) else None


def complete(app: Any, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Add the sections of the method that this one overrides."""
    if what != "method" or any(line in ("Parameters", "Returns") for line in lines):
        return
    overridden = described(member)
    if overridden is not None:
        text = inspect.cleandoc(overridden)
        start = min(place for section in _SECTIONS if (place := text.find(section)) >= 0)
        lines += ["", *text[start:].splitlines()]


def described(method: Any) -> str | None:
    """The docstring with a list of parameters among those of a method and of the methods that it overrides."""
    owner = _owner(method)
    for parent in owner.__mro__ if owner else ():
        text = getattr(vars(parent).get(method.__name__), "__doc__", None) or ""
        if any(section in inspect.cleandoc(text) for section in _SECTIONS):
            return text
    return None


def _owner(method: Any) -> type | None:
    """The class that defines a method."""
    found = inspect.getmodule(method)
    for name in method.__qualname__.split(".")[:-1]:
        found = getattr(found, name, None)
    return found if inspect.isclass(found) else None


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx; before numpydoc, which turns sections into fields."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-skip-member", skip, priority=100)
    app.connect("autodoc-process-docstring", complete, priority=100)
    return {"parallel_read_safe": True}
