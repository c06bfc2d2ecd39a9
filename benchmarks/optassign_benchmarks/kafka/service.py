"""`optassign serve` as a separate process, and checks of its recordings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import urlopen

from optassign.judging.validation import validate
from optassign.recordings.files import find_recordings
from optassign.recordings.recording import Recording, read_recording, replay_recording
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, find_free_ports


def check_recordings(folder: Path, application: str | None = None) -> tuple[int, list[str]]:
    """Return the number of recordings, of one application or of all, and a line for each fault.

    A fault is a broken rule, or an answer that a replay does not reproduce although no time limit ended it. Answers of Kafka's
    own assignors, applied in shadow mode, need not keep the rules.
    """
    faults: list[str] = []
    files = sorted(find_recordings(folder, application))
    for entry in files:
        recording = read_recording(entry.path)
        own = recording.service_answer
        answers = [own, recording.assignment if recording.assignor == "fallback" else None]
        for answer in filter(None, answers):
            faults += [f"{entry.id}: {answer.assignor}: {violation}" for violation in validate(recording.snapshot, answer)]
        if own is not None and own.report.termination.limit == "time":
            continue  # an answer that a time limit cut off need not be repeated
        again = replay_recording(recording)
        if (None if again is None else again.without_times()) != (None if own is None else own.without_times()):
            faults.append(f"{entry.id}: a replay gives another answer")
    return len(files), faults


class ServiceProcess:
    """The service on a port that stays the same over restarts; a context manager."""

    def __init__(
        self,
        folder: Path,
        log_format: str = "text",
        *options: str,
        environment: Mapping[str, str] | None = None,
        most_file_kb: int | None = None,
    ) -> None:
        """Start the service. `options`: further options of `optassign serve`. `environment`: in addition to this process's.
        `most_file_kb`: greatest size in KiB of a file that can be written, as on a full disk."""
        self.recordings = folder / "recordings"
        self._log_format, self._options = log_format, options
        self._most_file_kb = most_file_kb
        self.environment = dict(environment or {})
        """The environment of the next process, in addition to this process's."""
        self._log = folder / "service.log"
        (port,) = find_free_ports(1)
        self._port = port
        self._process: ChildProcess | None = None
        self.start()

    @property
    def pid(self) -> int | None:
        """Return the id of the last started process."""
        return None if self._process is None else self._process.pid

    @property
    def url(self) -> str:
        """Return the URL for the plug-in."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        """Return the log of the service, restarts included."""
        return self._log

    def start(self) -> None:
        """Start the service if it does not run, and wait until it is ready to answer."""
        if self._process is not None and self._process.alive:
            return
        self._log.parent.mkdir(parents=True, exist_ok=True)
        serve = [
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self._port),
            "--recordings",
            str(self.recordings),
            "--workers",
            "1",
            "--log-format",
            self._log_format,
            "--idle-followup",
            "0",  # otherwise no group would ever be stable; tests of follow-ups of stable groups set it in their options
            *self._options,
        ]
        command = [sys.executable, "-m", "optassign.cli", *serve]
        if self._most_file_kb is not None:
            command = ["bash", "-c", f'ulimit -f {self._most_file_kb}; exec "$0" "$@" > /dev/null 2>&1', *command]
        environment = {**os.environ, **self.environment}
        self._process = process = ChildProcess(command, self._log, environment=environment)

        def ready() -> bool:
            if not process.alive:
                raise RuntimeError(f"the service ended:\n{self._log.read_text(encoding='utf-8')[-4000:]}")
            try:
                with urlopen(f"{self.url}/readyz", timeout=5):
                    return True
            except OSError:  # no connection yet, or 503 until its solvers have started
                return False

        await_condition("the service is ready", ready, logs=lambda: [self._log])

    def kill(self) -> None:
        """Kill the service by SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End the service by SIGTERM."""
        if self._process is not None:
            self._process.stop()

    def pause(self) -> None:
        """Suspend the service: connections are accepted, but requests are not answered."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Continue the service after `pause`."""
        if self._process is not None:
            self._process.resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()


_COLUMNS = "160"
"""Width of the terminal in characters, so that no table cell is broken."""


class OperatorCommands:
    """Commands about one application that an operator gives the service on the command line."""

    def __init__(self, service: ServiceProcess, application: str) -> None:
        self._service, self._application = service, application

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """Return the output of a command about the application, errors included. AssertionError for another exit code than
        `code`."""
        line = [sys.executable, "-m", "optassign.cli", command, self._application, *arguments, "--url", self._service.url]
        environment = {**os.environ, "COLUMNS": _COLUMNS}
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        assert done.returncode == code, f"{command}: exit code {done.returncode}, expected {code}: {done.stdout}"
        return done.stdout

    def read_newest(self) -> Recording:
        """Return the last recording of the application. ValueError without one."""
        return read_recording(max(find_recordings(self._service.recordings, self._application)).path)

    def count_moves(self, since: str) -> int:
        """Return the number of active tasks that recordings after `since` moved. since: the time of a recording, as in its
        head."""
        found = (read_recording(entry.path) for entry in find_recordings(self._service.recordings, self._application))
        return sum(each.summary.moved_active for each in found if each.recorded_at > since)

    def await_newest(
        self, what: str, group: StreamsApplication, *, clients: int, hold: str = "none", rests: bool = False
    ) -> float:
        """Wait until the last recording has `clients` clients and this hold, and return the seconds.

        what: the condition in words, for the error. rests: whether to wait until the group is balanced, moves no task and
        awaits only operators.
        """

        def reached() -> bool:
            group.assert_nothing_died()
            if not list(find_recordings(self._service.recordings, self._application)):
                return False
            newest = self.read_newest()
            summary = newest.summary
            is_there = len(newest.snapshot.clients) == clients and summary.hold == hold
            is_still = summary.awaited == "operators" and summary.balanced and not summary.moved_active
            return is_there and (is_still or not rests)

        return await_condition(f"{self._application}: {what}", reached, timeout=900, logs=group.logs)
