"""Fixtures: a real standalone cluster for all tests of this folder, started once."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from spark_cluster import QUICK, Cluster

from optassign import assignor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def java() -> None:
    if find_spec("pyspark") is None:
        pytest.skip("needs pyspark: pip install 'optassign-benchmarks[spark]'")
    if shutil.which("java") is None:
        pytest.skip("needs a JDK 17 or later")


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        started.add_worker()
        started.add_worker()
        yield started
    finally:
        started.close()


@pytest.fixture(scope="session")
def spark(java: None) -> "Iterator[SparkSession]":
    """Yield a session in this process, on one core."""
    from optassign_benchmarks.spark.session import open_session

    with open_session("local[1]", QUICK) as started:
        yield started


@pytest.fixture
def commands_here(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that run in this process use its session, since another one would take ten seconds to start.

    The assignors that they register are forgotten.
    """
    monkeypatch.setattr("optassign_benchmarks.spark.session.open_session", lambda *_: nullcontext(spark))
    monkeypatch.setattr(assignor, "_entries", dict(assignor._entries))
