"""Whole answers as JSON for comparisons, also from a process with another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState

# Reads snapshots, one a line, and writes each assignor's answer.
_PROGRAM = """
import sys
from optassign import assign
from optassign.formats.state import ApplicationState
for line in sys.stdin:
    for name in sys.argv[1:]:
        state = ApplicationState.model_validate_json(line)
        print(assign(state, name).model_dump_json(exclude={"report": {"seconds"}}))
"""


def write_answer(answer: TaskAssignment) -> str:
    """Return the answer as JSON, without its times."""
    return answer.model_dump_json(exclude={"report": {"seconds"}})


def assign_with_hash_seed(states: Iterable[ApplicationState], assignors: tuple[str, ...], seed: str) -> list[str]:
    """Return `write_answer` of each assignor's answer to each snapshot, all from one process with this hash seed."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *assignors],
        input="\n".join(state.model_dump_json() for state in states),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return run.stdout.splitlines()
