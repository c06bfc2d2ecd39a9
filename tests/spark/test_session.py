"""How a session with Spark ends when something goes wrong around it."""

import os
import signal
from typing import TYPE_CHECKING

import pytest

from optassign.benchmarks.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def kill_jvm_and_interrupt(spark: "SparkSession") -> None:
    jvm = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    os.kill(jvm.pid, signal.SIGKILL)
    jvm.wait()
    raise KeyboardInterrupt


def test_an_interruption_with_a_dead_jvm_stays_an_interruption(
    java: None, recwarn: pytest.WarningsRecorder, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt), open_session("local[1]") as spark:
        kill_jvm_and_interrupt(spark)
    assert ([str(each.message) for each in recwarn], capfd.readouterr()) == ([], ("", ""))


def test_the_next_session_gets_a_jvm_of_its_own(java: None) -> None:
    seen = []
    for _ in range(2):
        with open_session("local[1]") as spark:
            seen.append(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
            assert spark.range(3).count() == 3
    assert seen[0] != seen[1]
