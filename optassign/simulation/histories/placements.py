"""Measures of placements: how even one is, which clients it reaches, the losses with a zone; how many moves are undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.plan.tag_spread import count_tag_values
from optassign.measuring.balance import (
    MICRO,
    Counts,
    client_size,
    compute_exact_shares,
    compute_shares,
    counts,
    measure_imbalance,
)
from optassign.measuring.placement import Placement, standbys_per_task
from optassign.simulation.histories.grades import Grades

__all__ = ["TAGS", "Pairs", "count_tag", "grade_balance", "grade_lost_zone", "list_actives", "list_copies", "measure_moving"]

TAGS = ("zone", "cluster")
Pairs = frozenset[tuple[str, str]]
"""(task, client)."""


def list_actives(state: ApplicationState) -> Pairs:
    """List each task's owner in a snapshot."""
    return frozenset((task, client.process_id) for client in state.clients for task in client.previous_active)


def list_copies(answer: TaskAssignment, *, warmups: bool = False) -> Pairs:
    """Active copies and standbys of an answer, and its warm-ups."""
    return frozenset(
        (task, client.process_id)
        for client in answer.clients
        for task in (*client.active, *client.standby, *(client.warmup if warmups else ()))
    )


def grade_balance(grades: Grades, state: ApplicationState, answer: TaskAssignment) -> None:
    """Add the spreads and what is above the even shares."""
    counted = counts(state, answer)
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
    """(reached, reachable) values of one tag, configured or not; (0, 0) where no task can reach more than one."""
    values = {client.tags[tag] for client in state.clients if tag in client.tags}
    if min(len(values), standbys_per_task(state) + 1) < 2:
        return 0, 0
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": (tag,)})
    tagged = state.model_copy(update={"configs": configs})
    return count_tag_values(tagged, Placement.of(tagged, answer))


def grade_lost_zone(grades: Grades, state: ApplicationState, copies: Pairs, lost: Set[str]) -> None:
    """Add what goes with the clients `lost`. copies: active ones and standbys before."""
    logged = {task.id for task in state.tasks if task.logged}
    grades.zone_copies += sum(task in logged and client in lost for task, client in copies)
    grades.zone_tasks += len(logged)
    grades.zone_tasks_lost += len(logged - {task for task, client in copies if client not in lost})


class Moving(NamedTuple):
    """The moves of an episode: a sequence of placements, each a set, of pairs of a task and a client for instance.

    *Made* is what was put in place from one to the next; *undone* is that part of it that can be missed: the same end could
    have been had from the same beginning without it. Defined by its properties, as the thrashing of CockroachDB's `asim` is:

    - what goes one way is no thrash: 0 where nothing that was put in place is taken away, and nothing taken away comes back;
    - to and fro is all thrash: where the end is the beginning, everything made is undone, twice for twice the way;
    - 0 ≤ undone ≤ made, and to stand still adds nothing;
    - names do not matter, and what has nothing to do with each other adds up;
    - of two episodes in a row it is at least the sum: the second may undo the first.
    """

    made: int
    undone: int


def measure_moving(placements: Sequence[Set[Hashable]]) -> Moving:
    """Measure the placements of an episode, in order from its first."""
    if not placements:
        return Moving(0, 0)
    made = sum(len(after - before) for before, after in pairwise(placements))
    return Moving(made, made - len(placements[-1] - placements[0]))
