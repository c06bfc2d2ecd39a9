"""Run Kafka's own classes: find JDK and sources, build them, and ask one JVM.

The module `java/baselines` runs them (see java/README.md). Maven builds it if it was not built, or if its sources are newer.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

from optassign.assignor import AssignorError
from optassign.assignors.baselines import maven

LEAST_JAVA = 17
SOURCES = "OPTASSIGN_JAVA"
"""Environment variable: the folder with the Maven modules, if it is not the repository's `java`."""
LOG_TO_STDERR = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""Options of a JVM whose standard output is read: by default it writes warnings of its own there."""
_MAIN = "io.github.optassign.baselines.BaselinesMain"
# Dense lags of 10,000 tasks × 1,000 clients, and Kafka's log text of them, take 1.5 GB. The broker's class
# recurses up to once per client.
_OPTIONS = ("-Xmx4g", "-Xss16m", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", *LOG_TO_STDERR)


class JavaNotFoundError(AssignorError):
    """The JDK, Maven or the sources are missing; the message says which, and what to do."""


def available() -> str | None:
    """Return None if Kafka's own classes can run here, otherwise the reason. Build nothing."""
    try:
        _find_java()
        module = _find_module()
        if not maven.is_built(module):
            _find_maven()
    except JavaNotFoundError as error:
        return str(error)
    return None


def request(message: dict[str, Any], snapshot: str) -> dict[str, Any]:
    """Send `message` with a snapshot's JSON text as its field `snapshot` to the runner; return the response.

    One JVM serves the whole process; it starts at the first call, and again if it has died. Calls of several threads wait for
    each other. JavaNotFoundError if it cannot start; AssignorError if the build fails, Kafka's class fails or the JVM dies.
    """
    with _lock:
        global _jvm
        if _jvm is None or not _jvm.is_alive():
            close()
            _jvm = None
            _jvm = _Jvm(command("--serve"))
        try:
            response = _jvm.ask(f'{json.dumps(message)[:-1]}, "snapshot": {snapshot}}}')
        except BaseException:
            # A late response must not be taken for the next one.
            _jvm.close()
            _jvm = None
            raise
    if "error" in response:
        raise AssignorError(f"Kafka's {message.get('assignor')} assignor: {response['error']}")
    return response


class _Jvm:
    """A running JVM that answers each line with one line."""

    def __init__(self, command: list[str]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process runs
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, line: str) -> dict[str, Any]:
        """Send a line and return the response. AssignorError if the JVM ends instead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise AssignorError(
                f"the JVM with Kafka's classes ended with exit code {self._process.wait()}: {self._read_errors()}"
            )
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """Kill the JVM; it has nothing to save."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # unsent bytes
                stream.close()
        self._errors.close()

    def _read_errors(self) -> str:
        """Return the last lines of the JVM's standard error, for a message."""
        if self._errors.closed:
            return "its standard error is closed"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-3:]) or "without a message"


_lock = Lock()
_jvm: _Jvm | None = None


def close() -> None:
    """End the JVM, if there is one; the next request starts another."""
    # No lock: a thread that waits for an answer must not keep the process from ending.
    if _jvm is not None:
        _jvm.close()


def _forget() -> None:
    """Forget the JVM after a fork: it belongs to the parent process, and so may the lock."""
    global _jvm, _lock
    _jvm, _lock = None, Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def command(*arguments: str) -> list[str]:
    """Return the command that runs the module with these arguments; build it first if needed (java/README.md).

    JavaNotFoundError if a prerequisite is missing; AssignorError if the build fails.
    """
    java, module = _find_java(), _find_module()
    if not maven.is_built(module):
        try:
            maven.build(module, _find_maven(), with_libraries=False)
        except maven.BuildError as error:
            raise AssignorError(str(error)) from None
    target = module / "target"
    return [java, *_OPTIONS, "-cp", f"{target / 'classes'}{os.pathsep}{target / 'lib'}{os.sep}*", _MAIN, *arguments]


def _find_java() -> str:
    """Return the path of a java of a sufficient version. JavaNotFoundError without one."""
    java = _find_program("java")
    if java is None:
        raise JavaNotFoundError(
            f"Kafka's own assignors need a JDK {LEAST_JAVA} or later: found no java in JAVA_HOME or on PATH; "
            "install one, or set JAVA_HOME to its folder"
        )
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', printed)
    if version is None or int(version[1]) < LEAST_JAVA:
        found = version[1] if version is not None else "one that does not tell its version"
        raise JavaNotFoundError(
            f"Kafka's own assignors need a JDK {LEAST_JAVA} or later: found {found} at {java}; set JAVA_HOME to a later one"
        )
    return java


def _find_maven() -> str:
    """Return the path of mvn. JavaNotFoundError without one."""
    found = shutil.which("mvn")
    if found is None:
        raise JavaNotFoundError(
            "Kafka's own assignors have to be built once: found no mvn on PATH; install Maven 3.8 or later, and a "
            "JDK, not only a Java runtime"
        )
    return found


def _find_program(name: str) -> str | None:
    """Return the path of a program of the JDK, in JAVA_HOME or on PATH; None if it is in neither."""
    home = os.environ.get("JAVA_HOME")
    return (shutil.which(name, path=str(Path(home) / "bin")) if home else None) or shutil.which(name)


def _find_module() -> Path:
    """Return the folder of the Maven module. JavaNotFoundError without sources."""
    chosen = os.environ.get(SOURCES)
    folder = Path(chosen) if chosen else Path(__file__).resolve().parents[3] / "java"
    module = folder / "baselines"
    if not (module / "pom.xml").is_file():
        place = f"{SOURCES}={chosen}" if chosen else "an installed package has none"
        raise JavaNotFoundError(
            "Kafka's own assignors are run by the Maven module `baselines` of optassign's repository: "
            f"found no sources ({place}); set {SOURCES} to the folder `java` of a checkout"
        )
    return module
