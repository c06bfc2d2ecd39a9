"""Runs of the command line, in this process, in a separate one or in a terminal, and unusual assignors for it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from optassign.cli import main
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError, identity_assignment


class KeepingAssignor:
    """An assignor that keeps every client's tasks; the base of the assignors below."""

    def __init__(self, time_limit: float = 10.0) -> None:
        self.time_limit = time_limit

    def configure(self, configs: AssignmentConfigs) -> None:
        pass

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(assignor="keep", clients=tuple(identity_assignment(state).values()))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        pass


class DoublingAssignor(KeepingAssignor):
    """An assignor that makes every task active on every client, which Kafka refuses."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        all_tasks = tuple(state.all_tasks)
        clients = [KafkaStreamsAssignment(process_id=c.process_id, active=all_tasks) for c in state.clients]
        return TaskAssignment(assignor="twice", clients=tuple(clients))


class ColdAssignor(KeepingAssignor):
    """An assignor that gives all tasks to the last client, where no copy is caught up, which breaks R3."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        last = state.clients[-1].process_id
        return TaskAssignment(
            assignor="cold",
            clients=tuple(
                KafkaStreamsAssignment(process_id=c.process_id, active=tuple(state.all_tasks) if c.process_id == last else ())
                for c in state.clients
            ),
        )


class SlowAssignor(KeepingAssignor):
    """An assignor that answers once `wait`, which the test sets, returns."""

    wait: Callable[[], None]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        SlowAssignor.wait()
        return super().assign(state)


def write_snapshot(path: Path, state: ApplicationState) -> str:
    """Write the snapshot as JSON, and return the path for the command line."""
    path.write_text(state.model_dump_json(), encoding="utf-8")
    return str(path)


def leave_out_progress(output: str) -> str:
    """Return standard error without the progress line, which a command prints after a second, as on a busy machine."""
    return re.sub(r"^optassign: .* \(\d+ s\)\n", "", output, flags=re.MULTILINE)


def run_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; return exit code, standard output and standard error without progress."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, leave_out_progress(err)


def run_process(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process; return its result without progress."""
    result = subprocess.run(
        [sys.executable, "-m", "optassign.cli", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )
    result.stderr = leave_out_progress(result.stderr)
    return result


def run_in_terminal(*arguments: str) -> tuple[int, str]:
    """Run a command in a terminal; return its exit code and the shown text, standard error included."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "optassign.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "110"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(), shown.decode("utf-8")
