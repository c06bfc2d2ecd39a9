"""Services whose pages the tests look at: with the demonstration's day, and with names that someone hostile has chosen."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import OPERATOR, READER, record_hostile, record_more_than_a_page
from serving import Running, Service, run_service
from serving_here import run_service_here

from optassign.formats.base import parse_time


@pytest.fixture(scope="session")
def demonstration() -> Iterator[Service]:
    """In processes of its own."""
    with run_service("--demo", "--workers", "1") as started:
        yield started


@pytest.fixture(scope="session")
def day(demonstration: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of the demonstration, as if the day had just ended."""
    folder = tmp_path_factory.mktemp("day") / "copied"
    shutil.copytree(demonstration.wait_for("demo")["folder"], folder, ignore=shutil.ignore_patterns(".*"))
    return folder


@pytest.fixture(scope="session")
def end_of_day(demonstration: Service) -> float:
    """When the day was over, seconds since 1970."""
    return parse_time(demonstration.wait_for("demo")["time"]).timestamp()


@pytest.fixture(scope="session")
def service(day: Path, end_of_day: float) -> Iterator[Running]:
    """A service that has recorded the day, which has just ended; it has no token."""
    with run_service_here("--workers", "1", "--recordings", str(day), day=end_of_day) as started:
        yield started


@pytest.fixture(scope="session")
def copied_day(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for another service."""
    folder = tmp_path_factory.mktemp("day") / "copied"
    shutil.copytree(day, folder, ignore=shutil.ignore_patterns(".*"))
    return folder


@pytest.fixture(scope="session")
def two_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose application `orders` has more rebalances than a page lists; it has no token."""
    folder = tmp_path_factory.mktemp("two_pages")
    record_more_than_a_page(folder)
    with run_service_here("--workers", "1", "--recordings", str(folder)) as started:
        yield started


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with hostile recordings and two tokens: one for everything, one for `harmless` alone."""
    folder = tmp_path_factory.mktemp("hostile")
    record_hostile(folder)
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"{OPERATOR}\n{READER} harmless\n", encoding="ascii")
    with run_service_here("--workers", "1", "--recordings", str(folder), "--token-file", str(tokens)) as started:
        yield started
