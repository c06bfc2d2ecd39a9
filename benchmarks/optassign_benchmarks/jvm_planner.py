"""The planner of the plug-in as an assignor: a JVM that answers one snapshot per line."""

from __future__ import annotations

import atexit
import json
import subprocess
from functools import cache

from optassign.assignor import AssignorError, TaskAssignor, create
from optassign.assignors.baselines.jvm import LOG_TO_STDERR
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError
from optassign_benchmarks.kafka.jars import planner_classpath
from optassign_models.policy.constants import TIME_LIMIT

_MAIN = "io.github.optassign.server.PlannerServer"


class JvmPlanner(TaskAssignor):
    """A KIP-924 TaskAssignor that asks `java/planner` in a JVM. Needs a JDK and Maven.

    The seconds of its answers include only the planner's time.
    """

    name = "jvm-planner"

    def configure(self, configs: AssignmentConfigs) -> None:
        """Do nothing, since the snapshot includes the configs."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the planner's answer. AssignorError if the JVM gives none."""
        jvm = _start()
        assert jvm.stdin is not None
        assert jvm.stdout is not None
        try:
            jvm.stdin.write(state.model_dump_json(exclude_none=True) + "\n")
            jvm.stdin.flush()
            line = jvm.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise AssignorError(f"the planner's JVM ended with exit code {jvm.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise AssignorError(f"the planner in the JVM: {reply['error']}")
        reply["answer"]["report"]["seconds"] = {"assign": reply["nanos"] / 1e9}
        return TaskAssignment.model_validate_json(json.dumps(reply["answer"]))

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Do nothing, since the snapshot includes the remembered answer."""


def create_also_planner(name: str, time_limit: float = TIME_LIMIT) -> TaskAssignor:
    """Return the assignor of that name; `time_limit`, in seconds, has no effect on `jvm-planner`."""
    return JvmPlanner() if name == JvmPlanner.name else create(name, time_limit=time_limit)


@cache
def _start() -> subprocess.Popen[str]:
    """Return the JVM, which is started once per process."""
    command = ["java", "-XX:+UseSerialGC", *LOG_TO_STDERR, "-cp", planner_classpath(), _MAIN]
    jvm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    atexit.register(jvm.kill)
    return jvm
