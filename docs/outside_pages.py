"""Files outside ``docs/`` as pages of the site, and links to them.

Pages link to each other's files, so that they can be read on a git host too. Some of these files lie outside the folder that
Sphinx reads. The ones in ``PAGES`` are copied to ``docs/project/`` before each build, and links to them lead to the copies.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COPIES = DOCS / "project"
PAGES = {
    ROOT / "CHANGELOG.md": COPIES / "changes.md",
    ROOT / "CONTRIBUTING.md": COPIES / "contributing.md",
    ROOT / "SECURITY.md": COPIES / "security.md",
    ROOT / "experiments" / "results" / "pages" / "results.md": COPIES / "results.md",
}
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)")


def site_file(target: Path) -> Path:
    """The file of the page that shows this file on the site; the file itself if there is none."""
    if target == ROOT / "README.md":
        return DOCS / "index.rst"
    if target.parent == ROOT / "examples":
        return DOCS / "auto_examples" / f"{target.stem}.rst"
    return PAGES.get(target, target)


def moved(text: str, source: Path, page: Path) -> str:
    """Text of a file with its relative links as they have to be on a page of the site."""

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / match[2]))
        return match[1] + Path(os.path.relpath(site_file(target), page.parent)).as_posix()

    return _LINK.sub(link, text)


def copy_pages(app: Any) -> None:
    """Write the copies, where they have changed."""
    COPIES.mkdir(exist_ok=True)
    for source, page in PAGES.items():
        text = moved(source.read_text(encoding="utf-8"), source, page)
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def relink(app: Any, name: str, content: list[str]) -> None:
    """Let the links of a page lead to pages of the site."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md" and COPIES not in page.parents:
        content[0] = moved(content[0], page, page)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True}
