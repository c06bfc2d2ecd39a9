"""The measures every answer of every assignor is judged by, and the values of the goals, recomputed without a solver.

Moves, restore work and balance are KIP-441's cost function (section "Constraints and Cost Function"), rack-crossing
traffic KIP-925's, tags KIP-708's. Lags and restore work are offsets, as Python integers: sums may leave int64.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.balance import (
    WINDOW_NAMES,
    WindowName,
    client_size,
    counts,
    excess,
    is_balanced,
    spread,
    staying_clients,
    subtopology_balance,
    windows,
)
from optassign.judging.placement import Placement, clients_by_task, planned_placement, standbys_per_task
from optassign.judging.ranks import Ranks
from optassign.judging.validation import Rule, validate

__all__ = [
    "ConvergenceMeasures",
    "Measures",
    "active_moves",
    "excess",
    "goal_values",
    "is_balanced",
    "measure",
    "rack_crossings",
    "spread",
    "standby_moves",
    "subtopology_balance",
    "tag_values",
    "weighted_load",
    "windows",
]


@dataclass(frozen=True, slots=True)
class Measures:
    """One answer, measured. Copies are active and standby copies; warm-ups are counted apart."""

    violations: Mapping[Rule, int]
    """Violations of every rule that is broken."""
    spread: Mapping[WindowName, float]
    """Greatest minus least count per thread × capacity."""
    excess: Mapping[WindowName, int]
    """Sum of e (e + 1) / 2 over the counts that are at distance e from their windows; all 0: balanced."""
    subtopology_balance: int
    """KIP-441's literal one: number of clients executing a subtopology, most minus least."""
    active_moves: int
    active_moves_logged: int
    """Of the moved active tasks those that have a changelog."""
    standby_moves: int
    restore_work: int
    """Offsets that the copies of rank > 0 have to replay."""
    cold_copies: int
    """Copies of rank > 0."""
    cold_actives: int
    """Active tasks that are not caught up."""
    warmups: int
    warmup_work: int
    """Offsets that the warm-ups of rank > 0 have to replay."""
    tag_values_reached: int
    """Distinct values of the configured tags among the copies of a task, summed over logged tasks and tags."""
    tag_values_reachable: int
    """The same if nothing but the number of copies and of values limited it."""
    rack_crossings: int | None
    """Pairs of a copy and a partition of its task that has no replica in the client's rack; None: racks not known."""
    weighted_load: float
    """Weight of the active tasks per thread × capacity, greatest ÷ mean; 1 is even."""

    @property
    def balanced(self) -> bool:
        """Whether every count is in its window."""
        return not any(self.excess.values())


def measure(state: ApplicationState, assignment: TaskAssignment) -> Measures:
    """Every measure of one answer, also of one that breaks rules. Unknown tasks and clients count nowhere."""
    placement, ranked = Placement.of(state, assignment), Ranks(state)
    counted = counts(state, placement)
    cold = _cold(ranked, _pairs(state, placement))
    cold_warmups = _cold(ranked, ((task.id, client) for task in state.tasks for client in placement.warmup[task.id]))
    moved = _moved_actives(state, placement)
    reached, reachable = tag_values(state, placement)
    return Measures(
        violations=dict(Counter(violation.rule for violation in validate(state, assignment))),
        spread=spread(state, counted),
        excess=excess(state, counted),
        subtopology_balance=subtopology_balance(state, counted),
        active_moves=len(moved),
        active_moves_logged=sum(state.all_tasks[task].logged for task in moved),
        standby_moves=standby_moves(state, placement),
        restore_work=sum(cold.values()),
        cold_copies=len(cold),
        cold_actives=_cold_actives(state, ranked, placement),
        warmups=sum(len(clients) for clients in placement.warmup.values()),
        warmup_work=sum(cold_warmups.values()),
        tag_values_reached=reached,
        tag_values_reachable=reachable,
        rack_crossings=rack_crossings(state, placement),
        weighted_load=weighted_load(state, placement),
    )


def goal_values(state: ApplicationState, assignment: TaskAssignment) -> dict[str, dict[str, int]]:
    """Stage -> goal -> value: an answer's goals, apart from what is configured (a), so that its report can be checked.

    `plan`: restore work of the copies of rank > 0 that the plan wants or that this answer holds, each (task, client)
    counted once, and their number; planned actives that are not caught up; moves to the plan. `rebalance`: copies where
    the plan wants them in the same role; restore work where the plan wants no copy of the task; excess of the three
    active windows; active moves. An answer without a plan is its own plan.
    """
    ranked, now, plan = Ranks(state), Placement.of(state, assignment), planned_placement(state, assignment)
    pairs_now, pairs_planned = set(_pairs(state, now)), set(_pairs(state, plan))
    cold = _cold(ranked, pairs_now | pairs_planned)
    excesses = excess(state, now)
    return {
        "plan": {
            "restore_work": sum(cold.values()),
            "cold_copies": len(cold),
            "cold_actives": _cold_actives(state, ranked, plan),
            "active_moves": active_moves(state, plan),
            "standby_moves": standby_moves(state, plan),
        },
        "rebalance": {
            "planned_copies": sum(
                len(set(now.active[task.id]).intersection(plan.active[task.id]))
                + len(set(now.standby[task.id]).intersection(plan.standby[task.id]))
                for task in state.tasks
            ),
            "off_plan_restore_work": sum(_cold(ranked, pairs_now - pairs_planned).values()),
            "active_excess": excesses["active"] + excesses["stateful_active"] + excesses["subtopology_active"],
            "active_moves": active_moves(state, now),
        },
    }


def active_moves(state: ApplicationState, placement: Placement) -> int:
    """Active tasks that are no longer on a client that lists them in `previous_active`; nobody's tasks cannot move."""
    return len(_moved_actives(state, placement))


def standby_moves(state: ApplicationState, placement: Placement) -> int:
    """Standbys on clients that had none of the task before: by memory, or without memory by `previous_standby`.

    A task that nobody holds and memory does not know is new; its standbys are no moves.
    """
    holders = {task for client in state.clients for task in (*client.previous_active, *client.previous_standby)}
    if state.remembered is None:
        before = clients_by_task(state, ((client.process_id, client.previous_standby) for client in state.clients))
    else:
        before = dict(Placement.of(state, state.remembered).standby)
        holders.update(task for client in state.remembered.clients for task in (*client.active, *client.standby))
    return sum(len(set(placement.standby[task]).difference(before[task])) for task in holders)


def tag_values(state: ApplicationState, placement: Placement) -> tuple[int, int]:
    """(reached, reachable) numbers of distinct tag values among a task's copies, over logged tasks and tags (KIP-708).

    Reachable for one task and tag: the number of copies, or of values that the clients have, if that is less.
    """
    reached = reachable = 0
    logged = [task.id for task in state.tasks if task.logged]
    for tag in state.configs.rack_aware_assignment_tags:
        values = {client.process_id: client.tags[tag] for client in state.clients if tag in client.tags}
        reachable += len(logged) * min(standbys_per_task(state) + 1, len(set(values.values())))
        reached += sum(len({values[c] for c in placement.copies(task) if c in values}) for task in logged)
    return reached, reachable


def rack_crossings(state: ApplicationState, placement: Placement) -> int | None:
    """Pairs of (partition of a task, client with its active or a standby) where the client's rack has no replica.

    None if racks are not known: of a client, of a partition, or of the partitions of a task at all (KIP-925).
    """
    racks = {client.process_id: client.rack for client in state.clients}
    if None in racks.values():
        return None
    crossings = 0
    for task in state.tasks:
        if not task.partitions or not all(partition.racks for partition in task.partitions):
            return None
        for client in placement.copies(task.id):
            crossings += sum(racks[client] not in partition.racks for partition in task.partitions)
    return crossings


def weighted_load(state: ApplicationState, placement: Placement) -> float:
    """Weight of the active tasks per thread × capacity: greatest of any client ÷ mean over those that do not drain.

    1.0 where there is no active task.
    """
    units = {client.process_id: client_size(client) for client in state.clients}
    loads = dict.fromkeys(units, 0.0)
    for task in state.tasks:
        for client in placement.active[task.id]:
            loads[client] += task.weight
    total = sum(loads.values())
    if not total:
        return 1.0
    mean = total / sum(client_size(client) for client in staying_clients(state))
    return max(load / units[client] for client, load in loads.items()) / mean


@dataclass(frozen=True, slots=True)
class ConvergenceMeasures:
    """Answers after one another, measured; begin with `ConvergenceMeasures()` and add each by `then`."""

    rebalances: int = 0
    settled: bool = False
    """Whether the last answer asked for no follow-up."""
    violations: int = 0
    active_moves: int = 0
    standby_moves: int = 0
    restored_offsets: int = 0
    task_seconds_without_caught_up_active: float = 0.0
    excess: Mapping[WindowName, int] = field(default_factory=lambda: dict.fromkeys(WINDOW_NAMES, 0))
    """Excess of each window, summed over the steps."""

    def then(
        self, step: Measures, *, followup: bool, restored_offsets: int | None = None, task_seconds: float = 0.0
    ) -> "ConvergenceMeasures":
        """With one more rebalance.

        restored_offsets: what was replayed until the next rebalance; None: everything this answer has to restore,
        warm-ups included. task_seconds: until then, summed over the tasks, the time without a caught-up active.
        """
        restored = step.restore_work + step.warmup_work if restored_offsets is None else restored_offsets
        return replace(
            self,
            rebalances=self.rebalances + 1,
            settled=not followup,
            violations=self.violations + sum(step.violations.values()),
            active_moves=self.active_moves + step.active_moves,
            standby_moves=self.standby_moves + step.standby_moves,
            restored_offsets=self.restored_offsets + restored,
            task_seconds_without_caught_up_active=self.task_seconds_without_caught_up_active + task_seconds,
            excess={name: self.excess[name] + step.excess[name] for name in WINDOW_NAMES},
        )


_Pair = tuple[str, str]
"""(task id, process id) of a copy."""


def _pairs(state: ApplicationState, placement: Placement) -> Iterable[_Pair]:
    return ((task.id, client) for task in state.tasks for client in placement.copies(task.id))


def _cold(ranked: Ranks, pairs: Iterable[_Pair]) -> dict[_Pair, int]:
    """The copies of rank > 0 and their restore costs."""
    return {pair: ranked.restore_cost(*pair) for pair in pairs if ranked.of(*pair)}


def _cold_actives(state: ApplicationState, ranked: Ranks, placement: Placement) -> int:
    return sum(ranked.of(task.id, client) > 0 for task in state.tasks for client in placement.active[task.id])


def _moved_actives(state: ApplicationState, placement: Placement) -> list[str]:
    owners = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    return [
        task
        for task, before in owners.items()
        if before and placement.active[task] and set(before).isdisjoint(placement.active[task])
    ]
