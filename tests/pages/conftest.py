"""Fixtures: services with pages, one with the demonstration's day and one with hostile names."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import OPERATOR, READER, serve_hostile
from serving import Running, Service, run_service
from serving_here import run_service_here

from optassign.formats.base import parse_time


@pytest.fixture(scope="session")
def demonstration() -> Iterator[Service]:
    """Yield the demonstration, in separate processes."""
    with run_service("--demo", "--workers", "1") as started:
        yield started


@pytest.fixture(scope="session")
def day(demonstration: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the demonstration's recordings of a day."""
    folder = tmp_path_factory.mktemp("day") / "copied"
    shutil.copytree(demonstration.wait_for("demo")["folder"], folder, ignore=shutil.ignore_patterns(".*"))
    return folder


@pytest.fixture(scope="session")
def end_of_day(demonstration: Service) -> float:
    """Return the end of the day in seconds since 1970."""
    return parse_time(demonstration.wait_for("demo")["time"]).timestamp()


@pytest.fixture(scope="session")
def service(day: Path, end_of_day: float) -> Iterator[Running]:
    """Yield a service with the recordings of the day, which has just ended; it has no token."""
    with run_service_here("--workers", "1", "--recordings", str(day), day=end_of_day) as started:
        yield started


@pytest.fixture(scope="module")
def copied_day(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the day for the services of one file."""
    folder = tmp_path_factory.mktemp("day") / "copied"
    shutil.copytree(day, folder, ignore=shutil.ignore_patterns(".*"))
    return folder


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield a service with hostile recordings and two tokens: one for everything, one for `harmless` only."""
    with serve_hostile(tmp_path_factory, OPERATOR, f"{READER} harmless") as started:
        yield started
