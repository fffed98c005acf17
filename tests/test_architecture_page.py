"""The page on the architecture has the layers that are checked, in their order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_of_layers_is_that_of_the_linter():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [layer.replace(" ", "").split("|") for layer in reversed(contract[0]["layers"])]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("| layer | what it does |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)/?` \|", table, flags=re.M) == [name for layer in layers for name in layer]
