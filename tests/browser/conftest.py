"""Chromium of the Debian package, driven by Playwright; axe-core as npm has it."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from optassign.service.demo.recording_day import record_day

AXE = "axe-core@4.14.1"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        # Without its sandbox, as root in a container may have none; it sees this service's pages only.
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
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
    """The recordings of the demonstration, as if the day had just ended."""
    from datetime import UTC, datetime

    folder = tmp_path_factory.mktemp("day")
    record_day(folder, datetime.now(UTC))
    return folder
