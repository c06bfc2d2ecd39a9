"""Chromium of the Debian package, driven by Playwright."""

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from pages import record_more_than_a_page
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one file, not of the session: while Playwright is open its event loop runs, and no other test could start one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        # Without its sandbox, as root in a container may have none; it sees this service's pages only.
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=300_000)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of the demonstration, as if the day had just ended, and older ones for a second page."""
    folder = tmp_path_factory.mktemp("day")
    record_more_than_a_page(folder)
    return folder
