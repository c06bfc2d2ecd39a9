"""Child processes whose output goes to a log or to a reader of its lines; Java commands, and free ports."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from optassign_benchmarks.kafka.jars import classpath
from optassign_benchmarks.kafka.waiting import await_condition

_LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss512k")
"""Flags for JVMs that live for minutes: a fast start and little memory."""
_PORTS = (16_384, 32_768)
"""Above the common ports, below the ports that Linux gives to programs that ask for any."""


class ChildProcess:
    """A process. Its standard error goes to `log`, its standard output there, too, or line by line to `reader`."""

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
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process; None while it runs."""
        return self._process.poll()

    def tell(self, line: str) -> None:
        """Write a line to its standard input; does nothing if the process has ended."""
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
        """End the process by SIGTERM; by SIGKILL if that does not end it within a minute."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """Stop the process by SIGSTOP: it stays and does nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process go on after `pause`, by SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def await_end(self) -> int:
        """Wait until the process ends by itself; returns its exit code."""
        await_condition(f"end of {self.log.stem}", lambda: not self.alive, logs=lambda: [self.log])
        return self._process.wait()

    def _read(self, reader: Callable[[str], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reader(line)


def java_command(main: str, arguments: Sequence[str], *, heap_mb: int, temporary: Path, jars: str | None = None) -> list[str]:
    """The command that runs a class of the class path `jars`, by default that of `classpath`.

    `temporary`: the folder where the JVM unpacks native libraries, which it leaves behind when it is killed.
    """
    temporary.mkdir(parents=True, exist_ok=True)
    options = [f"-Xmx{heap_mb}m", *_LIGHT, f"-Djava.io.tmpdir={temporary}"]
    return ["java", *options, "-cp", jars or classpath(), main, *arguments]


def find_free_ports(count: int) -> list[int]:
    """Find unused TCP ports of the loopback interface.

    They are none of the ports that systems give to programs that ask for any: such a port might be gone before it is listened
    on.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(*_PORTS)
        with socket.socket() as each, suppress(OSError):
            each.bind(("127.0.0.1", port))
            if port not in found:
                found.append(port)
    return found
