"""Services whose pages the tests look at: with the demonstration's day, and with names that someone hostile has chosen."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pages import OPERATOR, READER, record_hostile, record_more_than_a_page
from serving import Service, run_service

from optassign.service.demo.recording_day import record_day


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of the demonstration, as if the day had just ended."""
    folder = tmp_path_factory.mktemp("day")
    record_day(folder, datetime.now(UTC))
    return folder


@pytest.fixture(scope="session")
def service(day: Path) -> Iterator[Service]:
    """A service that has recorded the day; it has no token."""
    with run_service("--recordings", str(day)) as started:
        yield started


@pytest.fixture(scope="session")
def two_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose application `orders` has more rebalances than a page lists; it has no token."""
    folder = tmp_path_factory.mktemp("two_pages")
    record_more_than_a_page(folder)
    with run_service("--recordings", str(folder)) as started:
        yield started


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    record_hostile(folder)
    return folder


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory, hostile: Path) -> Iterator[Service]:
    """A service with hostile recordings and two tokens: one for everything, one for `harmless` alone."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"{OPERATOR}\n{READER} harmless\n", encoding="ascii")
    with run_service("--recordings", str(hostile), "--token-file", str(tokens)) as started:
        yield started
