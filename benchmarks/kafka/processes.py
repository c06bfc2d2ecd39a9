"""A child process whose output goes to files in a folder of its own, or to a reader of its lines."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from optassign.benchmarks.kafka.jars import classpath
from optassign.benchmarks.kafka.waiting import await_condition

_LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss512k")
"""Flags for JVMs that live for minutes: a fast start and little memory."""


class ChildProcess:
    """A process; standard error goes to `log`, standard output there too or line by line to `reader`."""

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
                start_new_session=True,  # else Ctrl-C at a terminal would stop it before its owner can
            )
        if reader is not None:
            threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """What it returned; None while it runs."""
        return self._process.poll()

    def tell(self, line: str) -> None:
        """Write a line to its standard input; nothing if it is gone."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(line + "\n")
                stdin.flush()
        except OSError:
            if self.alive:
                raise

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM; kill -9 if that does not end it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """SIGSTOP: it is there and does nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def await_end(self) -> int:
        """Wait until it ends by itself; its exit code."""
        await_condition(f"end of {self.log.stem}", lambda: not self.alive, logs=lambda: [self.log])
        return self._process.wait()

    def _read(self, reader: Callable[[str], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reader(line)


def java(main: str, arguments: Sequence[str], *, heap_mb: int, temporary: Path) -> list[str]:
    """The command that runs a class of the classpath.

    `temporary`: where it unpacks native libraries, which a killed JVM leaves behind.
    """
    temporary.mkdir(parents=True, exist_ok=True)
    options = [f"-Xmx{heap_mb}m", *_LIGHT, f"-Djava.io.tmpdir={temporary}"]
    return ["java", *options, "-cp", classpath(), main, *arguments]


def free_ports(count: int) -> list[int]:
    """TCP ports of the loopback interface that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
