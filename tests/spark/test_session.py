"""Tests of the end of a Spark session after errors around it; each runs in a process, which can have one session only."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, signal
from optassign_benchmarks.spark.session import open_session

seen = []
try:
    with open_session("local[1]") as spark:
        jvm = spark.sparkContext._gateway.proc
        seen.append(jvm.pid)
        os.kill(jvm.pid, signal.SIGKILL)
        jvm.wait()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
with open_session("local[1]") as spark:
    seen.append(spark.sparkContext._gateway.proc.pid)
    print(spark.range(3).count(), len(set(seen)))
"""


@pytest.mark.long
def test_an_interruption_with_a_dead_jvm_allows_a_new_session(java: None) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n3 2\n", "", 0)
