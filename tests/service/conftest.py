"""Fixtures: services that tests share; each test uses its own applications."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import MAX_BODY, MAX_CELLS, MAX_NAME, Service, run_service
from serving_here import ServiceHere, run_service_here

_DENY = """
import ctypes, os
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): open(os.environ["NO_SWITCH"], "w").close()
"""
"""Code that Python runs at its start: PR_SET_MDWE denies writable and executable memory to the process and its children."""


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the shared service's recordings."""
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="session")
def service(recordings: Path) -> Iterator[Service]:
    limits = {"--max-body": MAX_BODY, "--max-cells": MAX_CELLS, "--max-name": MAX_NAME}
    options = [text for name, value in limits.items() for text in (name, str(value))]
    with run_service("--workers", "2", "--recordings", str(recordings), *options) as started:
        yield started


@pytest.fixture(scope="session")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the PYTHONPATH of `one_worker`; its start writes a file `missing` there if the kernel lacks PR_SET_MDWE."""
    folder = tmp_path_factory.mktemp("switch")
    (folder / "sitecustomize.py").write_text(_DENY, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def one_worker(switch: Path) -> Iterator[Service]:
    """Yield a service whose workers may be killed; it has no recordings, default limits, and the unit's denial of memory."""
    with run_service("--workers", "1", PYTHONPATH=str(switch), NO_SWITCH=str(switch / "missing")) as started:
        yield started


@pytest.fixture(scope="session")
def held_recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the recordings of `here`."""
    return tmp_path_factory.mktemp("held_recordings")


@pytest.fixture(scope="session")
def here(held_recordings: Path) -> Iterator[ServiceHere]:
    """Yield a service in this process, whose clock the test advances and whose worker can be held."""
    with run_service_here("--workers", "1", "--recordings", str(held_recordings)) as started:
        yield started
