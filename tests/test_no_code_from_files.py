"""No source file of riata can execute what a file holds: no pickles, no eval, no shell.

The rules are about names as Python resolves them, so ``from torch import load`` is found too, and ``module.eval()`` is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "riata"
MODULES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "code", "codeop"}
CALLS = {
    *("eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "builtins.compile"),
    *("joblib.load", "pandas.read_pickle", "pandas.eval", "pandas.read_hdf"),
    *("yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load"),
    *("torch.jit.load", "torch.hub.load", "torch.package.PackageImporter", "torch.export.load"),
    *("os.system", "os.popen", "runpy.run_path", "subprocess.getoutput", "subprocess.getstatusoutput"),
}
METHODS = {"extractall", "read_pickle", "to_pickle"}  # of archives and data frames
WITH_ARGUMENTS = {"eval", "query"}  # of data frames; `module.eval()` of torch takes none
KEYWORDS = {"allow_pickle": False, "shell": False, "weights_only": True}  # and the only value that each may have
REQUIRED = {"torch.load": "weights_only"}
COMPUTED = "import_module of a name that is computed"
BY_NAME = {"__init__.py", "cli/__init__.py"}  # they import modules of riata when a name of them is asked for


def names_of(tree: ast.AST) -> dict[str, str]:
    """What each imported name of a module stands for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.asname or each.name.split(".")[0]: each.name if each.asname else each.name.split(".")[0]
                      for each in node.names}  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def resolved(node: ast.expr, names: dict[str, str]) -> str:
    """The dotted name of an expression; empty where it is none."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    inner = resolved(node.value, names) if isinstance(node, ast.Attribute) else ""
    return f"{inner}.{node.attr}" if inner else ""


def faults_of_call(node: ast.Call, names: dict[str, str]) -> Iterator[str]:
    name = resolved(node.func, names)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    given = {each.arg: each.value for each in node.keywords}
    if name in CALLS or method in METHODS or (method in WITH_ARGUMENTS and (node.args or node.keywords)):
        yield f"{name or method} is called"
    for keyword, allowed in KEYWORDS.items():
        value = given.get(keyword)
        if value is not None and not (isinstance(value, ast.Constant) and value.value is allowed):
            yield f"{keyword} is not {allowed}"
    if name in REQUIRED and REQUIRED[name] not in given:
        yield f"{name} without {REQUIRED[name]}"
    if name == "importlib.import_module" and not isinstance(node.args[0], ast.Constant):
        yield COMPUTED


def faults(source: str) -> list[str]:
    """What a module must not do, by line."""
    tree = ast.parse(source)
    names, found = names_of(tree), []
    for node in ast.walk(tree):
        here: list[str] = []
        if isinstance(node, ast.Import):
            here = [f"{each.name} is imported" for each in node.names if each.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            module = "" if node.level else (node.module or "")
            here = [f"{module} is imported"] if module.split(".")[0] in MODULES else []
            here += [f"{module}.{each.name} is imported" for each in node.names if f"{module}.{each.name}" in CALLS]
        elif isinstance(node, ast.Call):
            here = list(faults_of_call(node, names))
        found += [f"line {node.lineno}: {fault}" for fault in here]
    return found


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads as read",
        "import cloudpickle as c",
        "import torch\ntorch.load(path)",
        "from torch import load\nload(path)",
        "import torch\ntorch.load(path, weights_only=False)",
        "import torch.jit as jit\njit.load(path)",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import numpy as np\nnp.load(path, allow_pickle=flag)",
        "import joblib\njoblib.load(path)",
        "from joblib import load",
        "import pandas as pd\npd.read_pickle(path)",
        "frame.query(text)",
        "frame.eval(text)",
        "import yaml\nyaml.load(text)",
        "eval(text)",
        "exec(text)",
        "import builtins\nbuiltins.exec(text)",
        "import subprocess\nsubprocess.run(text, shell=True)",
        "import os\nos.system(text)",
        "archive.extractall(folder)",
        "from importlib import import_module\nimport_module(name)",
    ],
)
def test_a_rule_finds_what_it_is_for(code):
    assert faults(code)


@pytest.mark.parametrize(
    "code",
    [
        "module.eval()",
        "import torch\ntorch.load(path, weights_only=True)",
        "import numpy as np\nnp.load(path)",
        "import subprocess\nsubprocess.run([program, text])",
        "from importlib import import_module\nimport_module('riata.plot')",
        "from riata.storage import load\nload(path)",
        "import json\njson.load(file)",
    ],
)
def test_a_rule_leaves_the_rest_alone(code):
    assert not faults(code)


def test_no_source_file_executes_what_a_file_holds():
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert "storage/archive.py" in sources
    found = {
        name: [fault for fault in faults(text) if not (name in BY_NAME and COMPUTED in fault)]
        for name, text in sources.items()
    }
    assert not {name: each for name, each in found.items() if each}


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_file_with_an_exception_needs_it(name):
    assert COMPUTED in "".join(faults((PACKAGE / name).read_text(encoding="utf-8")))
