"""Grades of a history under an assignor: sums, the measures that add to them, and the columns of a suite's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, NamedTuple

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.balance import (
    MICRO,
    Counts,
    client_size,
    compute_exact_shares,
    compute_shares,
    count_copies,
    measure_imbalance,
)
from optassign.measuring.described import About
from optassign.measuring.placement import TaskPlacement, standbys_per_task
from optassign.measuring.spread import count_tag_values

__all__ = [
    "COLUMNS",
    "GROUPS",
    "TAGS",
    "GradeColumn",
    "Grades",
    "Pairs",
    "add_up",
    "count_tag",
    "grade_balance",
    "grade_lost_zone",
    "list_actives",
    "list_copies",
    "measure_moving",
]


@dataclass
class Grades:
    """Sums over the changes of a history. At a *rest* the group asks for no follow-up and every copy is restored.

    Shares are those of docs/reference/rules.md: proportional to threads, at most the number of tasks.
    """

    changes: Annotated[int, About("changes", "that happen to the group")] = 0
    answers: Annotated[int, About("answers", "judged, the start and the looks whether the group rests included")] = 0
    violations: Annotated[Counter[str], About("rule → number", "rules that answers broke; empty: none")] = field(
        default_factory=Counter
    )
    unsettled: Annotated[int, About("changes", "after which the group did not come to rest, the start included")] = 0
    """The limit of rebalances was reached, the assignor stalled, an answer broke R1, R2 or the format, or a repeated call gave
    another answer. Changes that could not be played count too."""
    rounds: Annotated[int, About("rebalances", "after changes, second passes left out")] = 0
    second_passes: Annotated[int, About("passes", "after changes, of cooperative rebalances: the second and further ones")] = 0
    altered_passes: Annotated[int, About("passes", "of them, those that answered other than the pass before")] = 0
    """The previous pass had tasks revoked for an answer that was then changed."""
    rests: Annotated[int, About("rests", "after changes; what follows, up to `imbalance`, is summed over them")] = 0
    spread_stateful: Annotated[float, About("copies per thread", "max − min of stateful active tasks")] = 0.0
    spread_stateless: Annotated[float, About("copies per thread", "max − min of stateless tasks")] = 0.0
    spread_active: Annotated[float, About("copies per thread", "max − min of active tasks")] = 0.0
    spread_copies: Annotated[float, About("copies per thread", "max − min of active copies and standbys of logged tasks")] = 0.0
    above_stateful: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_stateless: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_active: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    above_copies: Annotated[int, About("copies", "that clients have above their shares, rounded up")] = 0
    skew: Annotated[int, About("tasks", "active, that clients have above their shares of a subtopology, rounded up")] = 0
    """Only skew that an assignment can avoid."""
    imbalance: Annotated[int, About("", "of all five shares of docs/reference/rules.md")] = 0
    zone_reached: Annotated[int, About("values", "values of the tag among the copies of tasks, where it is configured")] = 0
    """Only for tasks that can be in several zones."""
    zone_reachable: Annotated[int, About("values", "the same, if nothing else were asked for")] = 0
    zone_blind: Annotated[int, About("values", "reached in the same history without tags")] = 0
    cluster_reached: Annotated[int, About("values", "values of the tag among the copies of tasks, where it is configured")] = 0
    cluster_reachable: Annotated[int, About("values", "the same, if nothing else were asked for")] = 0
    cluster_blind: Annotated[int, About("values", "reached in the same history without tags")] = 0
    moves: Annotated[int, About("tasks", "active tasks that went from a client that stays to another")] = 0
    kept: Annotated[int, About("copies", "before a change, that are still with their process when the group rests again")] = 0
    keepable: Annotated[int, About("copies", "before a change, of tasks and processes that stay")] = 0
    copies_not_caught_up: Annotated[int, About("copies", "active and standby, given to clients that have to restore them")] = 0
    actives_not_caught_up: Annotated[int, About("tasks", "of them active: tasks that stop until they are restored")] = 0
    restored: Annotated[int, About("offsets", "after changes")] = 0
    reused: Annotated[int, About("copies", "that a process had before it restarted, and has again when the group rests")] = 0
    reusable: Annotated[int, About("copies", "that a process had before it restarted, with state")] = 0
    zone_copies: Annotated[int, About("copies", "lost with a zone")] = 0
    zone_tasks: Annotated[int, About("tasks", "logged ones, when a zone was lost")] = 0
    zone_tasks_lost: Annotated[int, About("tasks", "of them, those without a copy outside of it")] = 0
    made: Annotated[int, About("tasks", "active ones put in place after changes")] = 0
    undone: Annotated[int, About("tasks", "thrash: of them, those that could be missed")] = 0
    copies_made: Annotated[int, About("copies", "put in place after changes, warm-ups included")] = 0
    copies_undone: Annotated[int, About("copies", "thrash: of them, those that could be missed")] = 0

    def as_json(self) -> dict[str, Any]:
        """Return name → value; `violations` is sorted by rule."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
        return {**rounded, "violations": dict(sorted(self.violations.items()))}


def add_up(grades: Iterable[Grades]) -> Grades:
    """Return the sum of the grades of several histories."""
    total = Grades()
    for each in grades:
        for name in (measure.name for measure in fields(Grades)):
            setattr(total, name, getattr(total, name) + getattr(each, name))
    return total


@dataclass(frozen=True, slots=True)
class GradeColumn:
    """A quotient of two sums of `Grades`, or a single sum if `per` is empty."""

    key: str
    """The name in JSON."""
    label: str
    sum: str
    per: str = ""
    is_share: bool = False
    """Whether the value is shown in per cent."""
    best: str = "least"
    """`least` or `most`; empty if neither is better."""

    def compute(self, grades: Grades) -> float | None:
        """Return the value; None if the divisor is 0."""
        total = getattr(grades, self.sum)
        total = sum(total.values()) if self.sum == "violations" else total
        if not self.per:
            return float(total)
        base = getattr(grades, self.per)
        return total / base if base else None


def _spread_and_above(what: str, label: str) -> tuple[GradeColumn, GradeColumn]:
    return (
        GradeColumn(f"spread_{what}", f"max − min per thread, {label}", f"spread_{what}", "rests"),
        GradeColumn(f"above_{what}", f"above the even share, {label}", f"above_{what}", "rests"),
    )


_BALANCE_COLUMNS = [
    _spread_and_above("stateful", "stateful"),
    _spread_and_above("stateless", "stateless"),
    _spread_and_above("active", "all actives"),
    _spread_and_above("copies", "copies"),
]
GROUPS: dict[str, tuple[GradeColumn, ...]] = {
    "Rules and rest": (
        GradeColumn("violations", "rules broken", "violations"),
        GradeColumn("unsettled", "changes not settled", "unsettled"),
        GradeColumn("rounds", "rounds a change", "rounds", "changes"),
        GradeColumn("altered", "second passes that change the answer", "altered_passes", "second_passes", is_share=True),
    ),
    "Balance at rest": (
        *(spread for spread, _ in _BALANCE_COLUMNS),
        *(above for _, above in _BALANCE_COLUMNS),
        GradeColumn("skew", "avoidable subtopology skew", "skew", "rests"),
    ),
    "Tags": (
        GradeColumn("zone", "zones reached", "zone_reached", "zone_reachable", is_share=True, best="most"),
        GradeColumn("zone_blind", "the same, tag-blind", "zone_blind", "zone_reachable", is_share=True, best=""),
        GradeColumn("cluster", "clusters reached", "cluster_reached", "cluster_reachable", is_share=True, best="most"),
        GradeColumn("cluster_blind", "the same, tag-blind", "cluster_blind", "cluster_reachable", is_share=True, best=""),
        GradeColumn("lost", "tasks lost with their zone", "zone_tasks_lost", "zone_tasks", is_share=True),
        GradeColumn("lost_copies", "copies lost with a zone, per task", "zone_copies", "zone_tasks"),
    ),
    "Moves, state and thrash": (
        GradeColumn("moves", "moves a change", "moves", "changes"),
        GradeColumn("kept", "stickiness by process", "kept", "keepable", is_share=True, best="most"),
        GradeColumn("copies_not_caught_up", "copies without state, a change", "copies_not_caught_up", "changes"),
        GradeColumn("actives_not_caught_up", "of them active", "actives_not_caught_up", "changes"),
        GradeColumn("restored", "offsets restored, a change", "restored", "changes"),
        GradeColumn("reused", "reused after a restart", "reused", "reusable", is_share=True, best="most"),
        GradeColumn("thrash", "thrash of actives", "undone", "made", is_share=True),
        GradeColumn("thrash_copies", "thrash of copies", "copies_undone", "copies_made", is_share=True),
    ),
}
"""Title of each part of the table → columns."""
COLUMNS = tuple(column for columns in GROUPS.values() for column in columns)


TAGS = ("zone", "cluster")
Pairs = frozenset[tuple[str, str]]
"""Pairs of a task and a client."""


def list_actives(state: ApplicationState) -> Pairs:
    """Return each task with its owner in a snapshot."""
    return frozenset((task, client.process_id) for client in state.clients for task in client.previous_active)


def list_copies(answer: TaskAssignment, *, warmups: bool = False) -> Pairs:
    """Return the active copies and standbys of an answer, and its warm-ups if `warmups`."""
    return frozenset(
        (task, client.process_id)
        for client in answer.clients
        for task in (*client.active, *client.standby, *(client.warmup if warmups else ()))
    )


def grade_balance(grades: Grades, state: ApplicationState, answer: TaskAssignment) -> None:
    """Add the spreads, the copies above the even shares, the skew and the imbalance of a stable group."""
    counted = count_copies(state, answer)
    kinds = Counter("stateful" if task.stateful else "stateless" for task in state.tasks)
    logged = sum(task.logged for task in state.tasks)
    stateless = Counter(counted.active)
    stateless.subtract(counted.stateful_active)
    of_kind: Mapping[str, tuple[Mapping[str, int], int, int]] = {
        "stateful": (counted.stateful_active, kinds["stateful"], 1),
        "stateless": (stateless, kinds["stateless"], 1),
        "active": (counted.active, len(state.tasks), 1),
        "copies": (counted.copies, logged, standbys_per_task(state) + 1),
    }
    for kind, (count, tasks, copies_per_task) in of_kind.items():
        loads = [count.get(client.process_id, 0) * MICRO / client_size(client) for client in state.clients]
        even = compute_exact_shares(state, tasks, copies_per_task)
        above = sum(max(0, count.get(client, 0) - ceil(share)) for client, share in even.items())
        setattr(grades, f"spread_{kind}", getattr(grades, f"spread_{kind}") + max(loads) - min(loads))
        setattr(grades, f"above_{kind}", getattr(grades, f"above_{kind}") + above)
    grades.skew += _count_skew(state, counted)
    grades.imbalance += sum(measure_imbalance(state, counted).values())


def _count_skew(state: ApplicationState, counted: Counts) -> int:
    within = compute_shares(state).subtopology_active
    return sum(
        max(0, count - within[subtopology][client].high)
        for subtopology, of_client in counted.subtopology_active.items()
        for client, count in of_client.items()
    )


def count_tag(state: ApplicationState, answer: TaskAssignment, tag: str) -> tuple[int, int]:
    """Return the (reached, reachable) values of one tag, configured or not; (0, 0) if no task can reach two values."""
    values = {client.tags[tag] for client in state.clients if tag in client.tags}
    if min(len(values), standbys_per_task(state) + 1) < 2:
        return 0, 0
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": (tag,)})
    tagged = state.model_copy(update={"configs": configs})
    return count_tag_values(tagged, TaskPlacement.of(tagged, answer))


def grade_lost_zone(grades: Grades, state: ApplicationState, copies: Pairs, lost: Set[str]) -> None:
    """Add the logged tasks, and the copies and tasks lost with the clients `lost`. `copies`: active copies and standbys before
    the loss."""
    logged = {task.id for task in state.tasks if task.logged}
    grades.zone_copies += sum(task in logged and client in lost for task, client in copies)
    grades.zone_tasks += len(logged)
    grades.zone_tasks_lost += len(logged - {task for task, client in copies if client not in lost})


class Moving(NamedTuple):
    """The moves of an episode, a sequence of placements. Each placement is a set, for instance of pairs of a task and a client.

    *Made* counts the elements added from one placement to the next. *Undone* counts the avoidable additions: the same first and
    last placement are possible without them. The definition has the properties of the thrashing in CockroachDB's `asim`:

    - undone is 0 if no element that was added is removed, and no element that was removed returns;
    - everything made is undone if the last placement equals the first; repeating the episode doubles both;
    - 0 ≤ undone ≤ made, and an unchanged placement adds nothing;
    - names do not matter, and independent episodes add up;
    - two consecutive episodes have at least the sum of their undone moves, since the second may undo the first.
    """

    made: int
    undone: int


def measure_moving(placements: Sequence[Set[Hashable]]) -> Moving:
    """Return the moves of an episode. `placements`: in order, from the placement before the first move."""
    if not placements:
        return Moving(0, 0)
    made = sum(len(after - before) for before, after in pairwise(placements))
    return Moving(made, made - len(placements[-1] - placements[0]))
