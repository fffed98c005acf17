"""Headless Chromium, and pages that load nothing and complain of nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REQUIRED = os.environ.get("RIATA_BROWSER") == "1"


def _missing(reason: str) -> Any:
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium of the system; tests are skipped without it, unless RIATA_BROWSER is 1."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed: make browser-test installs it")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        _missing("there is no Chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


Open = Callable[..., Any]


@pytest.fixture
def open_file(browser) -> Iterator[Open]:
    """Open a file from disk; afterwards the page must have loaded nothing else, and not have complained."""
    opened, requests, complaints = [], [], []

    def start(file: Path, **options: Any) -> Any:
        page = browser.new_context(accept_downloads=True, **options).new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(file.as_uri())
        opened.append((page, file.as_uri()))
        return page

    yield start
    files = {uri for _, uri in opened}
    for page, _ in opened:
        page.context.close()
    assert [url for url in requests if url not in files and not url.startswith(("data:", "blob:"))] == []
    assert complaints == []
