"""One service that most tests share: they ask it about applications of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import MAX_BODY, MAX_CELLS, MAX_NAME, Service, run_service


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared service records."""
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="session")
def service(recordings: Path) -> Iterator[Service]:
    limits = {"--max-body": MAX_BODY, "--max-cells": MAX_CELLS, "--max-name": MAX_NAME}
    options = [text for name, value in limits.items() for text in (name, str(value))]
    with run_service("--workers", "2", "--recordings", str(recordings), *options) as started:
        yield started
