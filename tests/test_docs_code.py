"""The code of the README and of the pages in docs/ runs and has the values that comments state; links lead somewhere."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
DOCS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
]  # not what a build writes
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\n?)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S
)
TOLERANCE = 0.02  # of a score in a comment, which another processor may change


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    code: str
    line: int  # of its first line of code
    reason: str | None  # why it is not run


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1, found["reason"])
        for found in FENCE.finditer(text)
    ]


def stated(statement: ast.stmt, lines: list[str]) -> Any:
    """Return the value that the comment behind an expression states; None where it is words, or there is none."""
    if not isinstance(statement, ast.Expr) or statement.end_lineno is None:
        return None
    rest = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode().strip()
    try:
        return ast.literal_eval(rest.removeprefix("#").strip()) if rest.startswith("#") else None
    except (SyntaxError, ValueError):
        return None


def run(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Run a block statement by statement; compare expressions with the values in the comments behind them."""
    lines = block.code.splitlines()
    for statement in ast.parse(block.code).body:
        expected = stated(statement, lines)
        ast.increment_lineno(statement, block.line - 1)
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)
            continue
        value = eval(compile(ast.Expression(statement.value), str(page), "eval"), namespace)
        if expected is not None:
            value = value.tolist() if hasattr(value, "tolist") else value
            close = isinstance(expected, float) and value == pytest.approx(expected, abs=TOLERANCE)
            assert close or value == expected, f"{page.name}, line {statement.lineno}: {value!r}, not {expected!r}"


def needs(code: str) -> None:
    if "sksurv" in code:
        pytest.importorskip("sksurv", reason="scikit-survival is not installed")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own to write to; figures are closed afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


RUNNABLE = [
    (page, block)
    for page in [ROOT / "README.md", *DOCS]
    for block in blocks(page)
    if block.language == "python" and block.reason is None
]
README = [block for page, block in RUNNABLE if page.name == "README.md"]
GUIDES = sorted({page for page, _ in RUNNABLE if page.name != "README.md"})


@pytest.mark.parametrize("block", README, ids=lambda block: f"line{block.line}")
def test_a_block_of_the_readme_runs_by_itself(block, elsewhere):
    needs(block.code)
    run(block, ROOT / "README.md", {"__name__": "__main__"})


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_one_after_another(page, elsewhere):
    code = [block for where, block in RUNNABLE if where == page]
    needs("".join(block.code for block in code))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in code:
        run(block, page, namespace)


def test_a_value_in_a_comment_is_compared(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\nx + 1  # 3\nx  # words\nx / 3  # 0.67\n```\n\n```python\nx  # 4\n```\n")
    first, second = blocks(page)
    namespace: dict[str, Any] = {}
    run(first, page, namespace)
    with pytest.raises(AssertionError, match=r"page\.md, line 9: 2, not 4"):
        run(second, page, namespace)


def test_the_commands_of_the_readme_run_one_after_another(tmp_path):
    """But for those of make, which run this test."""
    shell = [block.code for block in blocks(ROOT / "README.md") if not block.language and block.reason is None]
    lines = [line for code in shell for line in code.splitlines() if not line.startswith("make ")]
    assert any(line.startswith("riata select") for line in lines)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(lines)
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "result" / "selected.csv").exists() and (tmp_path / "filled.csv").exists()


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings_that_exist(page):
    links = re.findall(r"\]\((?!https?:)([^)\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_page_can_be_reached_from_the_readme(page):
    """Directly, or from a page that is."""
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        here = ahead.pop().resolve()
        if here in seen or here.suffix != ".md" or not here.exists():
            continue
        seen.add(here)
        links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", here.read_text(encoding="utf-8"))
        ahead += [here.parent / link for link in links]
    assert page.resolve() in seen
