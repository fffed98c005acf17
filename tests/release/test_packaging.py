"""What `pyproject.toml` declares is what the sources import, and has the versions that the two files of constraints pin."""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from release.dependencies import ROOT, declared, oldest

REQUIREMENTS = [each for lines in declared().values() for each in lines]
# Optional, and installed by whoever uses them: triton with the GPU build of PyTorch.
BESIDE = {"triton"}


def pins(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    assert all(each.specifier and str(each.specifier).startswith("==") for each in found)
    return {canonicalize_name(each.name): Version(str(each.specifier)[2:]) for each in found}


NEWEST, OLDEST = pins("constraints.txt"), pins("constraints-oldest.txt")


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_a_dependency_has_a_lower_bound_that_one_file_pins_and_another_exceeds(requirement):
    name, bound = canonicalize_name(requirement.name), oldest(requirement)
    assert bound, f"give {name} a lower bound in pyproject.toml, and pin it in constraints-oldest.txt"
    assert NEWEST[name] >= Version(bound)
    if name != "torch":  # `make test-oldest` says which; see constraints-oldest.txt
        assert OLDEST[name] == Version(bound)


def imported(path: Path) -> set[str]:
    """Packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_every_package_that_is_imported_is_declared():
    modules = set().union(*(imported(path) for path in (ROOT / "src" / "riata").rglob("*.py")))
    modules -= {*sys.stdlib_module_names, "riata", *BESIDE}
    assert {"torch", "sklearn", "numba"} <= modules
    distributions = packages_distributions()
    names = {module: {canonicalize_name(name) for name in distributions.get(module, [module])} for module in modules}
    asked = {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}
    assert not {module for module, each in names.items() if not each & asked}


def test_every_dependency_is_imported():
    """But for those that other packages import for riata: readers of files, backends of joblib; and types of data to fit on."""
    through_others = {
        "pyarrow",
        "openpyxl",
        "dask",
        "ray",
        "polars",
        "scikit-survival",
        "onnxruntime",
        "zarr",
        "numcodecs",
    }
    modules = set().union(*(imported(path) for path in (ROOT / "src" / "riata").rglob("*.py")))
    distributions = packages_distributions()
    used = {canonicalize_name(name) for module in modules for name in distributions.get(module, [])}
    assert not {canonicalize_name(each.name) for each in REQUIREMENTS} - used - through_others
