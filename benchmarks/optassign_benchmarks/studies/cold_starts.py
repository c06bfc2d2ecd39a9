"""Cold starts in random histories: active tasks that once had state, assigned to an instance without that state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Literal, get_args

from optassign.assignor import AssignmentError, TaskAssignor
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import UNKNOWN_LAG, ApplicationState
from optassign.simulation.history import Change, History, draw_history
from optassign.simulation.history_playing import play_history
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.runner import Layout, Study, StudyCase, total

ASSIGNORS = (JvmPlanner.name, "kafka-high-availability")
_HISTORIES = 80
_LEFT_OUT = ("tags changed", "standbys changed")

Disks = Literal["dropped state is deleted", "dropped state stays", "stays, restarts wipe disks"]


class ColdStarts:
    """A wrapper of an assignor that counts its cold starts and the copies with state, in `sums`."""

    def __init__(self, assignor: TaskAssignor) -> None:
        self._assignor = assignor
        self._known: set[str] = set()
        """Tasks whose state some instance has had."""
        self._last: set[tuple[str, str]] = set()
        """The cold starts of the last answer, so that a second pass does not count them again."""
        self.sums: Counter[str] = Counter()

    def configure(self, configs: AssignmentConfigs) -> None:
        """Forward the configs."""
        self._assignor.configure(configs)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the assignor's answer, and count its cold starts."""
        answer = self._assignor.assign(state)
        full = state.full_lags
        held = {
            (task, client.process_id)
            for client in state.clients
            for task, lag in client.lags.items()
            if lag != UNKNOWN_LAG and lag < full.get(task, 0)
        }
        somewhere = {task for task, _ in held}
        self._known |= somewhere
        given = {(task, client.process_id) for client in answer.clients for task in client.active if task in self._known}
        cold = {(task, client) for task, client in given - held if full.get(task, 0) > state.configs.acceptable_recovery_lag}
        self.sums.update(
            cold=len(cold - self._last),
            avoidable=sum(task in somewhere for task, _ in cold - self._last),
            held=len(held),
            tasks=sum(task in self._known for task in full),
        )
        self._last = cold
        return answer

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Forward the outcome."""
        self._assignor.on_assignment_computed(state, assignment, error)


def draw(seed: int, standbys: int, disks: Disks) -> History:
    """Return a history of the suite `small` with a constant number of standbys, without tags, and with these disks."""
    drawn = draw_history("small", seed)
    configs = drawn.configs.model_copy(update={"num_standby_replicas": standbys, "rack_aware_assignment_tags": ()})
    changes = tuple(change for change in drawn.changes if change.do not in _LEFT_OUT)
    history = replace(drawn, configs=configs, changes=changes, keep_state=disks != "dropped state is deleted")
    return replace(history, changes=tuple(_wipe(history))) if disks == "stays, restarts wipe disks" else history


def _wipe(history: History) -> Iterator[Change]:
    """Yield the changes of the history; a restarted instance returns without state, under another id."""
    there = {client.process_id: client for client in history.clients}
    now = {name: name for name in there}
    for number, change in enumerate(history.changes):
        who = tuple(now.get(client, client) for client in change.clients)
        if change.joined is not None:
            now[change.clients[0]], there[change.clients[0]] = change.clients[0], change.joined
        if change.do == "process restarted" and len(now) > 1:
            new = there[change.clients[0]].model_copy(update={"process_id": f"{change.clients[0]}-{number}"})
            yield Change("process dropped", who, rebalances=change.away or None)
            yield Change("process added", (new.process_id,), joined=new, rebalances=change.rebalances)
            now[change.clients[0]] = new.process_id
        else:
            yield replace(change, clients=who)
        if change.do in ("process dropped", "zone leaves"):
            for client in change.clients:
                del now[client]


def measure_cold_starts(history: History, name: str) -> dict[str, object]:
    """Return the cold starts of a history, with the changes, moves and restored offsets of its grades."""
    watched = ColdStarts(create_also_planner(name))
    grades = play_history(history, watched)
    return {**watched.sums, "changes": grades.changes, "moves": grades.moves, "restored": grades.restored}


COLD_STARTS = Study(
    cases=lambda quick: (
        StudyCase(partial(draw, seed, standbys, disks), {"standbys": ("none", "one")[standbys], "disks": disks, "seed": seed})
        for standbys, disks in product((0, 1), get_args(Disks))
        for seed in range(10 if quick else _HISTORIES)
    ),
    assignors=ASSIGNORS,
    parts=(measure_cold_starts,),
    layouts=(
        Layout(
            {"standbys": "standbys", "disks": "disks", "assignor": "assignor"},
            {
                "changes": total("changes"),
                "cold starts": total("cold"),
                "though others had state": total("avoidable"),
                "copies of state per task": lambda rows: f"{total('held')(rows) / total('tasks')(rows):.2f}",
                "moves": total("moves"),
                "restored, million offsets": lambda rows: f"{total('restored')(rows) / 1e6:,.0f}",
            },
        ),
    ),
    demands=lambda rows: (
        f"{row}: {row.avoidable} cold starts though others had state"
        for row in rows
        if row.assignor == JvmPlanner.name and row.avoidable
    ),
    jobs=1,
)
