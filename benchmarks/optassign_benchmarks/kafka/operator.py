"""An operator at a terminal: `optassign` commands about one application of a service, and what its recordings tell."""

from __future__ import annotations

import os
import subprocess
import sys

from optassign.recordings.files import find_recordings
from optassign.recordings.recording import Recording, read_recording
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.service import ServiceProcess

__all__ = ["OperatorCommands"]

_COLUMNS = "160"
"""Width of the terminal, in characters: no cell of a table is broken."""


class OperatorCommands:
    """Asks the service by the command line, as people do."""

    def __init__(self, service: ServiceProcess, application: str) -> None:
        self._service, self._application = service, application

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """Return what a command about the application prints, errors included; AssertionError for another exit code."""
        line = [sys.executable, "-m", "optassign.cli", command, self._application, *arguments, "--url", self._service.url]
        environment = {**os.environ, "COLUMNS": _COLUMNS}
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        assert done.returncode == code, f"{command}: exit code {done.returncode}, expected {code}: {done.stdout}"
        return done.stdout

    def read_newest(self) -> Recording:
        """Read the last recording of the application; ValueError where there is none."""
        return read_recording(max(find_recordings(self._service.recordings, self._application)).path)

    def count_moves(self, since: str) -> int:
        """Count active tasks that recordings after `since` moved. since: the time of a recording, as its head has it."""
        found = (read_recording(entry.path) for entry in find_recordings(self._service.recordings, self._application))
        return sum(each.summary.moved_active for each in found if each.recorded_at > since)

    def await_newest(
        self, what: str, group: StreamsApplication, *, clients: int, hold: str = "none", rests: bool = False
    ) -> float:
        """Wait until the last recording has so many clients and this hold; seconds that it took.

        what: names what is waited for, in the error. rests: wait, too, until it is balanced, moves nothing and awaits nothing
        but operators.
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
