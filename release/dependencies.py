"""The dependencies of riata with their licences, as a page of the documentation.

``python -m release.dependencies`` writes ``docs/dependencies.md`` from the metadata of what is installed. With ``--check`` it
writes nothing, and fails if the page is not up to date or if a licence is not allowed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from typing import cast

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
INTRODUCTION = """\
# Dependencies

<!-- Written by `make dependencies`; do not edit. -->

riata is under the BSD 3-Clause licence. These are the packages that it needs, and what they need in turn, with Python 3.11
on Linux and a CPU, in the versions of `constraints.txt`. *Oldest* is the lower bound of packages that riata asks for itself
([supported versions](versions.md)). The licences are those that the packages state. `make audit` fails when this page is
not up to date, or when a licence is not on the list of `release/dependencies.py`.
"""
EXTRAS = """\
## Extras

Only `pip install 'riata[extra]'` installs these. {exceptions}
"""
GPU_PART = """\
## GPU

The usual build of PyTorch on Linux also installs Triton (MIT) and NVIDIA's libraries, which are under NVIDIA's own licences
and are not free software. The [CPU build](install.md#pytorch-without-a-gpu) has neither.
"""

# A licence that lets anyone use and pass on the package for any purpose, if its text goes with it.
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "LLVM-exception", "MIT",
    "MIT-CMU", "PSF-2.0", "Zlib",
}  # fmt: skip
# Of extras, in addition: packages that may be used as they are, but whose changed files must be passed on with their source.
WEAK_COPYLEFT = {"MPL-2.0"}
# Packages of extras with another licence, and why they are there.
EXCEPTIONS = {
    "scikit-survival": "its data sets, scorers and models; riata's survival estimators work without it",
    "ecos": "scikit-survival needs it",
}
# What packages write where a licence has a name of SPDX.
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GPLv3": "GPL-3.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_GPU = (
    "cuda-",
    "nvidia-",
    "triton",
)  # packages that only the GPU build of PyTorch installs; the page has a part on them


@dataclass
class Package:
    """A package that riata needs, perhaps through others."""

    name: str
    licence: str
    extras: set[str] = field(default_factory=set)  # of its own, that are asked for


def licence_of(metadata: Message) -> str:
    """Return the licence that a package states: as an expression, else by classifiers, else in words."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    lines = metadata.get_all("Classifier") or []
    stated = [line.rsplit(" :: ", 1)[-1] for line in lines if line.startswith("License ::")]
    stated = [name for name in stated if name != "OSI Approved"] or [str(metadata.get("License", "")).strip()]
    return " AND ".join(NAMES.get(name, name) for name in stated).partition("\n")[0] or "not stated"


def refused(licence: str, allowed: Iterable[str]) -> list[str]:
    """Return the parts of a licence expression that are not allowed."""
    parts = re.split(r" AND | OR | WITH |[()]", licence)
    return [part.strip() for part in parts if part.strip() and part.strip() not in set(allowed)]


def needed(requirements: Iterable[Requirement], found: dict[str, Package] | None = None) -> dict[str, Package]:
    """Return the installed packages that requirements lead to, by name."""
    found = {} if found is None else found
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        if name.startswith(_GPU):
            continue
        asked = {"", *requirement.extras}
        if name in found and asked <= found[name].extras:
            continue
        installed = distribution(requirement.name)
        if name not in found:
            found[name] = Package(name, licence_of(cast(Message, installed.metadata)))
        found[name].extras |= asked
        further = [Requirement(line) for line in installed.requires or []]
        needed((each for each in further if applies(each, found[name].extras)), found)
    return found


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Whether a requirement holds here, with some extras of the package that has it."""
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def declared(root: Path = ROOT) -> dict[str, list[Requirement]]:
    """Return the requirements of riata for users: those of each extra, and under ``""`` those that it always has."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = Requirement(extras["all"][0]).extras
    lines = {"": project["dependencies"], **{name: extras[name] for name in sorted(names)}}
    return {name: [Requirement(line) for line in each] for name, each in lines.items()}


def oldest(requirement: Requirement) -> str:
    """Return the lower bound of a requirement; empty if it has none."""
    return next((bound.version for bound in requirement.specifier if bound.operator in (">=", "==")), "")


def page(requirements: Mapping[str, list[Requirement]]) -> str:
    """Return the page."""
    always = needed(requirements[""])
    by_extra = {extra: needed(each) for extra, each in requirements.items() if extra}
    bounds = {canonicalize_name(each.name): oldest(each) for lines in requirements.values() for each in lines}
    rows = [f"| {name} | {bounds.get(name, '')} | {always[name].licence} |" for name in sorted(always)]
    more = {name: package for found in by_extra.values() for name, package in found.items() if name not in always}
    optional = [
        f"| {name} | {bounds.get(name, '')} | {more[name].licence} | "
        f"{', '.join(extra for extra, found in by_extra.items() if name in found)} |"
        for name in sorted(more)
    ]
    copyleft = ", ".join(f"{name} ({more[name].licence}: {why})" for name, why in EXCEPTIONS.items() if name in more)
    parts = [
        INTRODUCTION,
        "\n".join(["| package | oldest | licence |", "|---|---|---|", *rows]) + "\n",
        EXTRAS.format(exceptions=f"Under other licences than the rest: {copyleft}."),
        "\n".join(["| package | oldest | licence | extras |", "|---|---|---|---|", *optional]) + "\n",
        GPU_PART,
    ]
    return "\n".join(parts)


def complaints(requirements: Mapping[str, list[Requirement]]) -> list[str]:
    """Return what is wrong with the licences of dependencies."""
    found = needed(requirements[""])
    wrong = [(package, refused(package.licence, PERMISSIVE)) for package in found.values()]
    more = needed(each for lines in requirements.values() for each in lines)
    allowed = PERMISSIVE | WEAK_COPYLEFT
    wrong += [
        (package, refused(package.licence, allowed))
        for name, package in more.items()
        if name not in found and name not in EXCEPTIONS
    ]
    return [
        f"{package.name}: the licence {package.licence!r} has {', '.join(parts)}, which is not on the list of "
        "release/dependencies.py: add it there if it is permissive, else do without the package"
        for package, parts in wrong
        if parts
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release.dependencies", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    requirements = declared()
    wrong, text = complaints(requirements), page(requirements)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        wrong.append(f"{PAGE.relative_to(ROOT)} is not up to date: run make dependencies")
    print(
        "\n".join(wrong) or "licences: all are allowed, and the page is up to date", file=sys.stderr if wrong else None
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
