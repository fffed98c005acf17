"""Fuzz one of the targets for some minutes with atheris, guided by the coverage of the code that reads files."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import atheris

_READERS = ("riata.storage", "riata.files", "riata.estimators.stored", "zipfile", "json")
_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**63,
    2**70,
    1e308,
    "",
    "a0",
    "inf",
    "<U4",
    "|O",
    [],
    {},
    [[]],
    {"array": "a0"},
)

with atheris.instrument_imports(include=list(_READERS)):
    from tests.fuzz.seeds import CORPUS
    from tests.fuzz.targets import BETWEEN, TARGETS


def mutate(data: bytes, largest: int, seed: int) -> bytes:
    """Change the values of a model file as JSON, or anything as bytes."""
    draw = random.Random(seed)
    values, separator, arrays = data[1:].partition(BETWEEN)
    if data[:1] != b"P" or draw.random() < 0.3:
        return atheris.Mutate(data, largest)
    try:
        tree = json.loads(values)
    except (ValueError, RecursionError):
        return atheris.Mutate(data, largest)
    for _ in range(draw.randint(1, 4)):
        _change(tree, draw)
    found = b"P" + json.dumps(tree).encode() + separator + arrays
    return found[:largest]


def _change(tree: Any, draw: random.Random) -> None:
    """Replace, remove or move one value somewhere in a tree."""
    places: list[tuple[Any, Any]] = []
    open_ = [tree]
    while open_:
        node = open_.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        for key in keys:
            places.append((node, key))
            open_.append(node[key])
    if not places:
        return
    node, key = draw.choice(places)
    other, there = draw.choice(places)
    what = draw.random()
    if what < 0.2:
        del node[key]
    elif what < 0.6:
        node[key] = draw.choice(_ODD)
    elif what < 0.8 and isinstance(node, dict):
        node[str(there)] = node.pop(key)
    else:
        node[key] = json.loads(json.dumps(other[there]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz"), help="where inputs go that make it fail")
    given = parser.parse_args()
    given.findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as grown:
        shutil.copytree(CORPUS / given.target, grown, dirs_exist_ok=True)
        flags = {
            "max_total_time": given.seconds,
            "max_len": 1 << 16,
            "rss_limit_mb": 4096,
            "timeout": 60,
            "print_final_stats": 1,
            "artifact_prefix": f"{given.findings}/{given.target}-",
        }
        options = [f"-{name}={value}" for name, value in flags.items()]
        atheris.Setup([sys.argv[0], *options, grown], TARGETS[given.target], custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
