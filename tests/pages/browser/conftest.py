"""Fixtures: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser for one test file: Playwright's event loop runs while it is open, so no second browser can start."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        # Root in a container may lack a sandbox; the browser opens only pages of this service.
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=300_000)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
