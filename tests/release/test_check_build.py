"""What is missing from a build, and what does not belong in it, is named."""

from __future__ import annotations

import tarfile
import zipfile

import pytest

from release.check_build import BuildError, check_archive, check_wheel

FILES = {
    "src/riata/__init__.py", "src/riata/py.typed", "src/riata/report/templates/report.html",
    "src/riata/solver/kernels/cuda.py", "tests/test_prox.py", ".ci/run", "experiments/results/cell.json",
    "experiments/results/pages/results.md",
}  # fmt: skip
PACKAGE = {name.removeprefix("src/") for name in FILES if name.startswith("src/")}
ARCHIVED = FILES - {".ci/run", "experiments/results/cell.json"} | {"PKG-INFO"}


@pytest.fixture
def wheel(tmp_path):
    def make(names):
        with zipfile.ZipFile(tmp_path / "riata.whl", "w") as archive:
            for name in [*names, "riata-0.dist-info/METADATA"]:
                archive.writestr(name, "")
        return tmp_path / "riata.whl"

    return make


@pytest.fixture
def archive(tmp_path):
    def make(names):
        with tarfile.open(tmp_path / "riata.tar.gz", "w:gz") as members:
            for name in names:
                members.addfile(tarfile.TarInfo(f"riata-0/{name}"))
        return tmp_path / "riata.tar.gz"

    return make


def test_what_must_be_in_them_and_nothing_else_is_accepted(wheel, archive):
    check_wheel(wheel(PACKAGE), FILES)
    check_archive(archive(ARCHIVED), FILES)


def test_a_missing_file_is_named(wheel, archive):
    with pytest.raises(BuildError, match=r"riata\.whl lacks riata/py\.typed"):
        check_wheel(wheel(PACKAGE - {"riata/py.typed"}), FILES)
    with pytest.raises(BuildError, match=r"lacks tests/test_prox\.py"):
        check_archive(archive(ARCHIVED - {"tests/test_prox.py"}), FILES)


def test_a_file_that_does_not_belong_is_named(wheel, archive):
    with pytest.raises(BuildError, match=r"does not belong in it: tests/test_prox\.py"):
        check_wheel(wheel(PACKAGE | {"tests/test_prox.py"}), FILES)
    with pytest.raises(BuildError, match=r"does not belong in it: notes\.txt"):
        check_archive(archive(ARCHIVED | {"notes.txt"}), FILES)


def test_a_package_without_its_type_marker_is_refused_even_if_git_has_none(wheel):
    with pytest.raises(BuildError, match=r"lacks riata/py\.typed"):
        check_wheel(wheel(PACKAGE - {"riata/py.typed"}), FILES - {"src/riata/py.typed"})
