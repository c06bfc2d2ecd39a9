"""Fixtures of tests that run Kafka's own classes: they need a JDK, and Maven to build the classes."""

from collections.abc import Iterator

import pytest

from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.jvm import available


@pytest.fixture(autouse=True, scope="session")
def jdk() -> None:
    """Skip if Kafka's classes cannot run; with CI set, a skip is a failure (tests/conftest.py)."""
    missing = available()
    if missing is not None:
        pytest.skip(missing)


@pytest.fixture(autouse=True, scope="session")
def light_jvm() -> Iterator[None]:
    """Start JVMs without an optimising compiler: tests end before it pays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jvm, "_OPTIONS", (*jvm._OPTIONS, "-XX:TieredStopAtLevel=1"))
        yield


@pytest.fixture
def new_jvm() -> Iterator[None]:
    """Close the JVM before and after the test, so that the test starts a new one and leaves none."""
    jvm.close()
    yield
    jvm.close()
