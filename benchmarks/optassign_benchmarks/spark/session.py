"""The Spark session of a command: start and end, errors as one line, and the JVM's log in a file instead of on the terminal."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LEAST_JAVA", "SparkFailedError", "SparkMissingError", "check_spark", "open_session"]

LEAST_JAVA = 17
_QUIET = """\
rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = {
    "spark.app.name": "optassign",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Names of runs are texts, even if they look like numbers.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # The outcome of a task is in its place as soon as the task ends, not only when all tasks have ended (sweep.py explains why
    # no row is doubled).
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.speculation": "false",
    # Executors only pass small rows to and from Python. For that, an optimising compiler and a parallel collector cost the
    # solvers' cores more than they save.
    "spark.executor.extraJavaOptions": _LIGHT,
    # Over TCP each task waits 40 ms for a delayed acknowledgement between the JVM and its Python worker.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # A solve may run for minutes without output, which is not idleness.
    "spark.sql.execution.pyspark.udf.idleTimeoutSeconds": "0",
}


class SparkMissingError(RuntimeError):
    """Raised if Spark is missing or does not start; one line names the cause, and for a missing part its installation."""


class SparkFailedError(RuntimeError):
    """Raised if Spark fails; one line has its first sentence and the path of its log."""


def check_spark() -> None:
    """Raise SparkMissingError unless PySpark and a JDK are installed."""
    try:
        import pyarrow  # noqa: F401 - checks that it is installed
        import pyspark  # noqa: F401
    except ImportError as error:
        raise SparkMissingError(f"found no {error.name}; needed: pip install 'optassign-benchmarks[spark]'") from None
    home = os.environ.get("JAVA_HOME")
    where = "JAVA_HOME" if home else "PATH"
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        raise SparkMissingError(f"found no java by {where}; needed: a JDK {LEAST_JAVA} or later (Spark runs in a JVM)")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', printed)
    if version is None or int(version[1]) < LEAST_JAVA:
        found = f"Java {version[1]}" if version else "a java that tells no version"
        raise SparkMissingError(f"found {found} by {where}; needed: a JDK {LEAST_JAVA} or later (Spark runs in a JVM)")


@contextmanager
def open_session(master: str, settings: Mapping[str, str] | None = None, py_files: str = "") -> Iterator[SparkSession]:
    """Yield a session that ends with the context. SparkMissingError if it does not start, SparkFailedError for Spark's errors.

    master: in Spark's form (`local[*]`, `spark://host:7077`, `yarn`, …). settings: of Spark; they override the defaults.
    py_files: `spark.submit.pyFiles`. Spark's log goes to a file, which is kept if Spark fails.
    """
    check_spark()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # its errors are raised as well
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with _open_log() as (log, quiet):
        conf = SparkConf(loadDefaults=False).setMaster(master)
        for name, value in {**_SETTINGS, **_local_settings(master), **(settings or {})}.items():
            conf.set(name, value)
        if py_files:
            conf.set("spark.submit.pyFiles", py_files)
        options = conf.get("spark.driver.extraJavaOptions") or _LIGHT
        conf.set("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet.as_uri()} {options}")
        gateway = None
        try:
            gateway = launch_gateway(conf, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
            spark = SparkSession(SparkContext(gateway=gateway, conf=conf))
        except Exception as error:  # py4j, PySpark and the JVM have different errors
            _end_jvm(gateway)
            raise SparkMissingError(f"Spark does not start with master {master!r}: {_start_failure(error, log)}") from None
        if threading.current_thread() is threading.main_thread():
            # PySpark's handler would ask the JVM to cancel its jobs over a connection in use; stopping has the same effect.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield spark
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
                raise
            text = str(error)  # reads from the JVM, so before it ends
            log.write(text.encode())
            raise SparkFailedError(f"Spark: {_first_sentence(text)}; more in {log.name}") from None
        finally:
            _stop(spark)
            _end_jvm(gateway)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Return whether a record is not from py4j, which logs an interruption with its traceback at the root before raising it."""
    return record.module != "java_gateway"


def _local_settings(master: str) -> dict[str, str]:
    """Return settings for a master that only this machine can reach: all connections use the loopback interface."""
    if not re.match(r"local\b|spark://(localhost|127\.0\.0\.1)\b", master):
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def _open_log() -> Iterator[tuple[IO[bytes], Path]]:
    """Yield a file for the JVM's errors, and a configuration of its logger; both are removed unless Spark fails."""
    folder = Path(tempfile.mkdtemp(prefix="optassign-spark-"))
    quiet, path = folder / "log4j2.properties", folder / "spark.log"
    quiet.write_text(_QUIET, encoding="utf-8")
    keep = False
    try:
        with path.open("w+b") as log:
            yield log, quiet
    except SparkFailedError:
        keep = True
        raise
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _first_sentence(text: str) -> str:
    """Return the first line of an error of the JVM that py4j or Python did not add, at most 300 characters; `nothing` if there
    is none.
    """
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith(("An error occurred while", "Traceback"))]
    return (messages or ["nothing"])[0][:300]


def _start_failure(error: Exception, log: IO[bytes]) -> str:
    """Return why the JVM did not start: its first logged error, otherwise its last printed exception, otherwise Python's
    error."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    logged = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    thrown = [line for line in lines if re.search(r"exception|error", line, re.IGNORECASE) and not line.startswith("at ")]
    return (logged[:1] or thrown[-1:] or [" ".join(str(error).split())])[0][:300]


def _stop(spark: SparkSession) -> None:
    """Stop a session, even if its JVM has ended or an interruption has cut its connection.

    Neither case needs a message: Ctrl-C in a terminal also ends the JVM, and `_end_jvm` ends the rest.
    """
    with suppress(Exception), warnings.catch_warnings():  # py4j's errors, sockets' errors, and PySpark's warning of both
        warnings.simplefilter("ignore")
        spark.stop()


def _end_jvm(gateway: object) -> None:
    """End the JVM, so that the next session of this process gets a new one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if gateway is None:
        return
    with suppress(Exception):
        gateway.shutdown()  # type: ignore[attr-defined]
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is not None:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = SparkContext._jvm = None
    # A failed stop leaves these references.
    SparkContext._active_spark_context = SparkSession._instantiatedSession = None
