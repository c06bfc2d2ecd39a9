"""Chromium of the Debian package, driven by Playwright; axe-core as npm has it."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import record_more_than_a_page
from playwright.sync_api import Browser, sync_playwright

AXE = "axe-core@4.14.1"


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
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing: apt-get install npm")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run([npm, "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{AXE} cannot be had: {done.stderr.strip()[-200:]}")
    with tarfile.open(folder / done.stdout.strip().splitlines()[-1]) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of the demonstration, as if the day had just ended, and older ones for a second page."""
    folder = tmp_path_factory.mktemp("day")
    record_more_than_a_page(folder)
    return folder
