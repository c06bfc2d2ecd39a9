"""Assignors that fail in different ways; tests of Spark send this file to executors by --py-files."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from optassign.assignors.cp_sat import CpSatAssignor
from optassign.assignors.greedy import GreedyAssignor
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState


class Raises(GreedyAssignor):
    def assign(self, state: ApplicationState) -> TaskAssignment:
        raise RuntimeError("fails:\n  by intent")


class Eats(GreedyAssignor):
    """An assignor that reserves memory without end and without touching it, so that its test needs little memory."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        eaten = []
        while True:
            eaten.append(np.zeros(1 << 26, dtype=np.int8))


class Hangs(GreedyAssignor):
    def assign(self, state: ApplicationState) -> TaskAssignment:
        while True:
            time.sleep(60)


class Crashes(GreedyAssignor):
    def assign(self, state: ApplicationState) -> TaskAssignment:
        os.abort()


class Waits(GreedyAssignor):
    """An assignor that creates a file `begun-…` in $OPTASSIGN_TEST_FOLDER, and answers when the file `go` exists."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        folder = Path(os.environ["OPTASSIGN_TEST_FOLDER"])
        (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.05)
        return super().assign(state)


class Recovers(GreedyAssignor):
    """An assignor that fails until the file `go` is in $OPTASSIGN_TEST_FOLDER."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        if not Path(os.environ["OPTASSIGN_TEST_FOLDER"], "go").exists():
            raise RuntimeError("not yet")
        return super().assign(state)


class WeakBoundAssignor(CpSatAssignor):
    """An assignor that halves the bounds that it reports, and reports no goal as proven."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        answer = super().assign(state)
        goals = [goal.model_copy(update={"bound": (goal.bound or 0) // 2, "proven": False}) for goal in answer.report.goals]
        return answer.model_copy(update={"report": answer.report.model_copy(update={"goals": goals})})


class EndlessJob:
    """A worker's job that never ends."""

    def run(self, send: Callable[[Any], None]) -> None:
        while True:
            time.sleep(60)
