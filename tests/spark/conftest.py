"""Fixtures: a real standalone cluster for all tests of this folder, started once."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from spark_cluster import QUICK, Cluster

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
