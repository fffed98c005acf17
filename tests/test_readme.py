"""Every block of the README runs as it stands, as do those of survival times; the links of all pages lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the code of each block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


BLOCKS = blocks(ROOT / "README.md")
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [code for language, code in BLOCKS if not language]
DOCS = ROOT / "docs"
WRITTEN = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name in ("docs", "guide")]  # not by a build
PAGES = [*sorted(ROOT.glob("*.md")), *WRITTEN]


def test_all_blocks_are_found():
    assert len(PYTHON) == 4 and len(SHELL) == 3


def needs(code: str) -> None:
    if "sksurv" in code:
        pytest.importorskip("sksurv", reason="scikit-survival is not installed")


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_a_block_of_python_runs_by_itself(code, tmp_path):
    needs(code)
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_blocks_on_survival_times_run_one_after_another(tmp_path):
    code = "".join(code for language, code in blocks(ROOT / "docs" / "survival.md") if language == "python")
    needs(code)
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_commands_run_one_after_another(tmp_path):
    """But for those of make, which run this test."""
    lines = [line for block in SHELL for line in block.splitlines() if not line.startswith("make ")]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(lines)
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "result" / "selected.csv").exists() and (tmp_path / "filled.csv").exists()


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page):
    links = re.findall(r"\]\((?!https?:)([^)\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
