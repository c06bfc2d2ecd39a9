"""Child processes and their output, Java commands, free ports, and waits for conditions."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from optassign.assignors.baselines.jvm import LOG_TO_STDERR
from optassign_benchmarks.kafka.jars import classpath

_LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss512k")
"""Flags for JVMs that run for minutes: a fast start and little memory."""
_PORTS = (16_384, 32_768)
"""Above the common ports, and below the ports that Linux assigns to programs that ask for any."""


class ChildProcess:
    """A process. Its standard error goes to `log`, and its standard output to `log` or line by line to `reader`."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        reader: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if reader else out,
                stderr=out,
                env=environment,
                text=True,
                start_new_session=True,  # otherwise Ctrl-C at a terminal would stop it before its owner can
            )
        if reader is not None:
            threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of the process, or None while it runs."""
        return self._process.poll()

    def tell(self, line: str) -> None:
        """Write a line to the process's standard input. Does nothing if the process has ended."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(line + "\n")
                stdin.flush()
        except OSError:
            if self.alive:
                raise

    def kill(self) -> None:
        """Kill the process by SIGKILL, and wait for its end."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the process by SIGTERM; by SIGKILL if it still runs after a minute."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """Suspend the process by SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process after `pause`, by SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def await_end(self) -> int:
        """Wait until the process ends by itself, and return its exit code."""
        await_condition(f"end of {self.log.stem}", lambda: not self.alive, logs=lambda: [self.log])
        return self._process.wait()

    def _read(self, reader: Callable[[str], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reader(line)


def java_command(
    main: str,
    arguments: Sequence[str],
    *,
    heap_mb: int,
    temporary: Path,
    jars: str | None = None,
    options: Sequence[str] = (),
) -> list[str]:
    """Return the command that runs a class of the class path `jars`, by default that of `classpath`.

    `options`: further options of the JVM. `temporary`: the folder for unpacked native libraries, which a killed JVM leaves
    behind.
    """
    temporary.mkdir(parents=True, exist_ok=True)
    flags = [f"-Xmx{heap_mb}m", *_LIGHT, *LOG_TO_STDERR, f"-Djava.io.tmpdir={temporary}", *options]
    return ["java", *flags, "-cp", jars or classpath(), main, *arguments]


def find_free_ports(count: int) -> list[int]:
    """Return unused TCP ports of the loopback interface.

    They are outside the range from which systems assign ports, since such a port might be taken before its use.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(*_PORTS)
        with socket.socket() as each, suppress(OSError):
            each.bind(("127.0.0.1", port))
            if port not in found:
                found.append(port)
    return found


TIMEOUT = 300.0
"""Seconds until a condition counts as not reached: many, since the machine may be busy."""
_INTERVAL = 0.05
_SHOWN_LINES = 40
_SHOWN_START, _SHOWN_END = 260, 60
"""Characters of each line that are shown: Kafka's lists of partitions are much longer, and would hide the cause."""


class NotReachedError(AssertionError):
    """Raised if a condition did not become true in time. The text names the condition and the state found, and ends with the
    logs."""


def await_condition(
    what: str,
    reached: Callable[[], object],
    *,
    timeout: float = TIMEOUT,
    found: Callable[[], object] = lambda: "",
    logs: Callable[[], Iterable[Path]] = tuple,
) -> float:
    """Wait until `reached()` is true, and return the seconds waited. NotReachedError, naming `what`, after `timeout` seconds.

    The error's text has the result of `found`, and the ends of the files that `logs` returns.
    """
    start = time.monotonic()
    while not reached():
        if time.monotonic() - start > timeout:
            raise NotReachedError("\n".join([f"not within {timeout:.0f} s: {what}", f"found: {found()}", *tail_logs(logs())]))
        time.sleep(_INTERVAL)
    return time.monotonic() - start


def tail_logs(logs: Iterable[Path]) -> list[str]:
    """Return the last lines of each file, under its path. Long lines are shortened, and similar adjacent lines are merged."""
    shown: list[str] = []
    for path in logs:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ["(no such file)"]
        ends: list[str] = []
        for _, alike in groupby(lines, lambda line: (line[: _SHOWN_START // 2], line[-_SHOWN_END // 2 :])):
            first, *more = alike
            if len(first) > _SHOWN_START + _SHOWN_END:
                first = f"{first[:_SHOWN_START]} … {first[-_SHOWN_END:]}"
            ends.append(f"{first} (and {len(more)} more)" if more else first)
        shown += [f"--- {path}", *ends[-_SHOWN_LINES:]]
    return shown
