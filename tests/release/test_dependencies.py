"""Licences are read from what packages state, and one that is not on the list is found."""

from __future__ import annotations

from email.message import Message

import pytest
from packaging.requirements import Requirement

from release.dependencies import PERMISSIVE, applies, licence_of, needed, refused


def metadata(**fields: str | list[str]) -> Message:
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return message


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        (metadata(License_Expression="MIT", License="ignored"), "MIT"),
        (metadata(Classifier=["License :: OSI Approved :: MIT License", "Framework :: Dask"], License="text"), "MIT"),
        (metadata(Classifier=["License :: OSI Approved", "License :: OSI Approved :: BSD License"]), "BSD"),
        (metadata(License="Apache 2.0\nand its text"), "Apache 2.0"),
        (metadata(License="GPLv3"), "GPL-3.0"),
        (metadata(), "not stated"),
    ],
)
def test_a_licence_is_what_the_package_states(stated, licence):
    assert licence_of(stated) == licence


@pytest.mark.parametrize(
    ("licence", "parts"),
    [
        ("MIT", []),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", []),
        ("(MIT OR GPL-3.0-or-later) AND BSD", ["GPL-3.0-or-later"]),
        ("MPL-2.0", ["MPL-2.0"]),
        ("not stated", ["not stated"]),
    ],
)
def test_what_is_not_permissive_is_refused(licence, parts):
    assert refused(licence, PERMISSIVE) == parts


def test_dependencies_of_dependencies_are_found_with_the_extras_that_are_asked_for():
    plain, with_extra = (set(needed([Requirement(line)])) for line in ("dask", "dask[distributed]"))
    assert {"dask", "toolz"} <= plain and "distributed" not in plain
    assert {"distributed", "tornado"} <= with_extra


def test_a_marker_decides():
    assert not applies(Requirement("colorama; sys_platform == 'none'"), {""})
    assert applies(Requirement("distributed; extra == 'distributed'"), {"", "distributed"})
