"""For tests/spark: a standalone cluster of processes on loopback, and the command line as a process that can be killed."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from optassign_benchmarks.kafka.processes import find_free_ports

FAILING_ASSIGNORS = str(Path(__file__).with_name("failing_assignors.py"))
"""A file of failing assignors for --py-files."""
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m"}
"""Settings that the tests need on a cluster."""
QUICK = {
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "1",
    # No stage runs long enough to save the time of its compilation.
    "spark.sql.codegen.wholeStage": "false",
}
"""Settings with which small runs are fast."""
PATIENCE = 600.0
"""Seconds after which a wait fails."""


def wait_for(condition: Callable[[], object], what: str, process: "subprocess.Popen[str] | None" = None) -> None:
    """Wait until the condition is true. The test fails, naming `what`, if it never is, or if `process` ends before."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if process is not None and process.poll() is not None and not condition():
            pytest.fail(f"{what}: the process ended with {process.returncode}")
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {PATIENCE:g} s")
        time.sleep(0.05)


class Cluster:
    """A standalone cluster on loopback. Each worker leads a process group that includes its executors."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self._folder = folder
        port, self._web = find_free_ports(2)
        self.master = f"spark://127.0.0.1:{port}"
        self._processes = [
            self._start("master.Master", "--port", str(port), "--webui-port", str(self._web), "--host", "127.0.0.1")
        ]
        self.workers: list[subprocess.Popen[bytes]] = []
        wait_for(lambda: self._count_workers() is not None, "the master answers")

    def add_worker(self) -> None:
        """Start one more worker, and wait until the master has registered it."""
        before = self._count_workers() or 0
        worker = self._start(
            "worker.Worker", "--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0", self.master
        )
        self._processes.append(worker)
        self.workers.append(worker)
        wait_for(lambda: (self._count_workers() or 0) > before, "the worker is registered")

    def kill_worker(self) -> None:
        """Kill a worker and its executors, and wait until the master has noticed."""
        before = self._count_workers() or 0
        kill(self.workers.pop())
        wait_for(lambda: self._count_workers() == before - 1, "the worker is missed")

    def close(self) -> None:
        for process in reversed(self._processes):
            kill(process)

    def _start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        number = len(list(self._folder.glob("*.log")))
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self._folder / "work"),
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        with (self._folder / f"{number}-{name}.log").open("wb") as log:
            return subprocess.Popen(
                [self._home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def _count_workers(self) -> int | None:
        """Return the number of the master's workers, or None if it does not answer."""
        with suppress(OSError, ValueError), urllib.request.urlopen(f"http://127.0.0.1:{self._web}/json/", timeout=10) as answer:
            return int(json.load(answer)["aliveworkers"])
        return None


def start_optassign(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start the command as a process that leads a process group, which includes its JVM."""
    return subprocess.Popen(
        [sys.executable, "-m", "optassign.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )


def wait_for_end(process: "subprocess.Popen[str]", code: int = 0) -> tuple[str, str]:
    """Wait for the end of the command, check its exit code, and return its standard output and error."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        kill(process)
    assert process.returncode == code, err
    return out, err


def kill(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    """Kill the process and all processes that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def list_master_options(master: str, *more: str) -> Sequence[str]:
    """Return the options with which a command runs on this master."""
    settings = QUICK if master.startswith("local") else {**QUICK, **LOOPBACK}
    options = ["--master", master]
    for name, value in settings.items():
        options += ["--conf", f"{name}={value}"]
    return [*options, *more]


def read_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Return all rows in the Parquet files of a table, read without Spark, in no order and with duplicates."""
    import pyarrow.dataset as ds

    found = ds.dataset(folder / f"table={table}", format="parquet", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
