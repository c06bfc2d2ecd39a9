"""Tests that run Kafka's own classes need a JDK, and Maven where they are not built yet."""

from collections.abc import Iterator

import pytest

from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.jvm import available


@pytest.fixture(autouse=True, scope="session")
def jdk() -> None:
    """Skip where Kafka's classes cannot be run; with CI set, a skip is a failure (tests/conftest.py)."""
    missing = available()
    if missing is not None:
        pytest.skip(missing)


@pytest.fixture
def new_jvm() -> Iterator[None]:
    """The next request has to start a JVM, and none that was started under odd conditions stays."""
    jvm.close()
    yield
    jvm.close()
