"""Whether the wheel and the source archive hold what they must, and whether the wheel works where only it is installed.

``python -m release.check_build`` builds both in ``dist/`` and checks that

- the wheel holds the files of ``src/riata`` that git tracks, and nothing else;
- the source archive holds all that tests need: every file that git tracks, but results of single experiments;
- the unpacked archive, in another folder, builds the same two files, to the byte;
- the wheel runs ``riata demo`` and gives every public name in an environment of its own, from another folder.

To save minutes the environment takes the dependencies from the one that this runs in, but not riata: ``make test-oldest``
installs the wheel with dependencies of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# What a checkout has and the archive has not: the settings of CI, single cells of experiments, and the package for R.
LEFT_OUT = (".ci/", "experiments/results/", "r/")
KEPT = "experiments/results/pages/"
IN_THE_WHEEL = ("riata/py.typed", "riata/report/templates/report.html", "riata/solver/kernels/cuda.py")
PROGRAM = """
import importlib, importlib.util, pathlib, pkgutil, sys
import riata
assert pathlib.Path(riata.__file__).is_relative_to(sys.prefix), riata.__file__
for name in riata.__all__:
    getattr(riata, name)
missing = ("lightning", "triton")
for module in pkgutil.walk_packages(riata.__path__, "riata."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        assert error.name.split(".")[0] in missing, error
print(f"{len(riata.__all__)} public names of riata {riata.__version__}")
"""


class BuildError(Exception):
    """Something that is built is not as it must be."""


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build the wheel and the source archive of a folder, and return their paths."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)], cwd=source, check=True, stdout=sys.stderr
    )
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, archive


def tracked() -> set[str]:
    """Return the files that git tracks; none outside of a checkout."""
    if shutil.which("git") is None:
        return set()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


def compare(what: str, found: set[str], expected: set[str]) -> None:
    """Raise an error for names that are missing, and for those that do not belong."""
    for names, fault in ((expected - found, "lacks"), (found - expected, "holds what does not belong in it:")):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise BuildError(f"{what} {fault} {', '.join(sorted(names)[:5])}{more}: see [tool.hatch] in pyproject.toml")


def check_wheel(wheel: Path, files: set[str]) -> None:
    """Check what the wheel holds."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    compare(wheel.name, found, {name.removeprefix("src/") for name in files if name.startswith("src/riata/")})
    compare(wheel.name, found & set(IN_THE_WHEEL), set(IN_THE_WHEEL))


def check_archive(archive: Path, files: set[str]) -> None:
    """Check what the source archive holds."""
    with tarfile.open(archive) as members:
        found = {name.partition("/")[2] for name in members.getnames()}
    expected = {name for name in files if name.startswith(KEPT) or not name.startswith(LEFT_OUT)}
    compare(archive.name, found, expected | {"PKG-INFO"})


def check_same(archive: Path, wheel: Path, scratch: Path) -> None:
    """Build again from the unpacked archive, where times and permissions of files differ, and compare the bytes."""
    with tarfile.open(archive) as members:
        members.extractall(scratch / "unpacked", filter="data")
    (source,) = (scratch / "unpacked").iterdir()
    for path in source.rglob("*"):
        os.utime(path, (10**9, 10**9))
    for first, second in zip((wheel, archive), build(source, scratch / "again"), strict=True):
        if first.read_bytes() != second.read_bytes():
            raise BuildError(f"{first.name} differs when it is built again from the source archive")


def check_installed(wheel: Path, scratch: Path) -> None:
    """Install the wheel, and use it from another folder."""
    venv.create(scratch / "env", with_pip=False)
    python = scratch / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = (scratch / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for command in ([python, "-c", PROGRAM], [python.with_name("riata"), "demo", "--out", "demo", "--quiet"]):
        subprocess.run(command, cwd=elsewhere, env=environment, check=True)
    for name in ("report.html", "model.riata"):
        if not (elsewhere / "demo" / name).exists():
            raise BuildError(f"riata demo of the installed wheel wrote no {name}")


def main() -> int:
    """Build and check; return the exit status."""
    shutil.rmtree(DIST, ignore_errors=True)
    wheel, archive = build(ROOT, DIST)
    files = tracked()
    try:
        if files:
            check_wheel(wheel, files)
            check_archive(archive, files)
        else:
            print("this is no checkout of git: what wheel and archive hold was NOT COMPARED with it")
        with tempfile.TemporaryDirectory() as folder:
            check_same(archive, wheel, Path(folder))
            check_installed(wheel, Path(folder))
    except (BuildError, subprocess.CalledProcessError) as error:
        print(f"check of the build failed: {error}", file=sys.stderr)
        return 1
    print(f"dist/{wheel.name} and dist/{archive.name} are as they must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
