"""One rebalance under several assignors, side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optassign.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.assignor import AssignorError
from optassign.metrics import Measures, goal_values, measure
from optassign.placement import previous_assignment
from optassign.simulation.convergence import restore_work_bound
from optassign.state import ApplicationState

__all__ = ["PREVIOUS", "Column", "Comparison", "compare"]

PREVIOUS = "previous"
"""What was assigned before, as if it were an answer: not an assignor, and not judged."""


@dataclass(frozen=True, slots=True)
class Column:
    """One answer."""

    name: str
    measures: Measures
    planned_work: int
    """Goal (b): offsets of the cold copies of the answer and of its plan, each once."""
    followup: bool
    waiting: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All answers, what was before them first."""

    columns: tuple[Column, ...]
    failures: Mapping[str, str]
    """Assignor -> why there is no answer of it."""
    bound: int | None
    """The greatest proven lower bound of goal (b), for answers that keep the rules and become balanced,"""
    bound_by: str | None
    """and whose it is."""

    @property
    def broken(self) -> bool:
        """Whether an assignor broke a rule, or had no answer."""
        judged = (column for column in self.columns if column.name != PREVIOUS)
        return bool(self.failures) or any(column.measures.violations for column in judged)

    def as_json(self) -> dict[str, Any]:
        """As `optassign compare` prints it."""
        return {
            "restore_work_bound": self.bound,
            "restore_work_bound_by": self.bound_by,
            "assignors": {
                column.name: {
                    "seconds": column.seconds,
                    "followup": column.followup,
                    "waiting": column.waiting,
                    "planned_work": column.planned_work,
                    "balanced": column.measures.balanced,
                    **asdict(column.measures),
                }
                for column in self.columns
            },
            "failures": dict(self.failures),
        }


def compare(
    state: ApplicationState, assignors: Sequence[str], ask: Callable[[str], tuple[TaskAssignment, float]]
) -> Comparison:
    """Ask each assignor by `ask`, which gives its answer and the seconds that took."""
    columns = [_column(state, PREVIOUS, _previous(state), None)]
    failures: dict[str, str] = {}
    bound, bound_by = None, None
    for name in assignors:
        try:
            answer, seconds = ask(name)
        except AssignorError as error:
            failures[name] = str(error)
            continue
        columns.append(_column(state, name, answer, seconds))
        proven = restore_work_bound(answer)
        if proven is not None and (bound is None or proven > bound):
            bound, bound_by = proven, name
    return Comparison(tuple(columns), failures, bound, bound_by)


def _column(state: ApplicationState, name: str, answer: TaskAssignment, seconds: float | None) -> Column:
    return Column(
        name=name,
        measures=measure(state, answer),
        planned_work=goal_values(state, answer)["plan"]["restore_work"],
        followup=any(client.followup_rebalance_ms is not None for client in answer.clients),
        waiting=len(answer.report.waiting),
        seconds=seconds,
    )


def _previous(state: ApplicationState) -> TaskAssignment:
    """Who had what; where only disks tell of standbys, what they list."""
    previous = previous_assignment(state)
    active: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    standby: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    for task, client in previous.active.items():
        active[client].append(task)
    if previous.standby is None:
        standby = {client.process_id: list(client.previous_standby) for client in state.clients}
    else:
        for task, clients in previous.standby.items():
            for client in clients:
                standby[client].append(task)
    return TaskAssignment(
        assignor=PREVIOUS,
        clients=tuple(
            KafkaStreamsAssignment(process_id=client, active=tuple(active[client]), standby=tuple(standby[client]))
            for client in active
        ),
    )
