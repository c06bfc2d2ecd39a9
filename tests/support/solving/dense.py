"""A second implementation of the judges, slow and simple, for comparison on small random cases.

Written from docs/reference/rules.md without shared code: it reads only fields of the snapshot and the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import ApplicationState, KafkaStreamsState, TaskInfo

MAX = 2**63 - 1
Copies = set[tuple[str, str]]
"""Pairs of task id and process id."""
Clients = Sequence[KafkaStreamsAssignment] | Sequence[TargetAssignment]


def list_copies_in_role(clients: Clients, role: str) -> Copies:
    return {(task, client.process_id) for client in clients for task in getattr(client, role, ())}


def measure_changelog(state: ApplicationState, task: TaskInfo) -> int:
    if task.changelog_end_offset is not None:
        return task.changelog_end_offset
    largest = max([c.lags[task.id] for c in state.clients if task.id in c.lags], default=-1)
    return min(max(largest + 1, state.configs.acceptable_recovery_lag + 1), MAX)


def is_holder(client: KafkaStreamsState, task: TaskInfo) -> bool:
    return task.id in client.previous_active + client.previous_standby


def find_lag(state: ApplicationState, task: TaskInfo, client: KafkaStreamsState) -> int:
    reported = client.lags.get(task.id, measure_changelog(state, task))
    if reported == -2:
        return 0
    if reported == -3:
        return 0 if is_holder(client, task) else measure_changelog(state, task)
    return reported


def find_rank(state: ApplicationState, task: TaskInfo, client: KafkaStreamsState) -> int:
    acceptable = state.configs.acceptable_recovery_lag
    if not task.logged or acceptable == MAX:
        return 0
    reported = client.lags.get(task.id, measure_changelog(state, task))
    if reported == -2:
        return 0
    if reported == -3:
        return 1 if is_holder(client, task) else 2
    return 0 if reported <= acceptable else reported


def find_cost(state: ApplicationState, task: TaskInfo, client: KafkaStreamsState) -> int:
    return find_lag(state, task, client) if find_rank(state, task, client) else 0


def find_remembered_owner(state: ApplicationState, task: TaskInfo) -> KafkaStreamsState | None:
    """Return the remembered active client of a task in transit, or None."""
    if state.remembered is None or any(task.id in c.previous_active for c in state.clients):
        return None
    remembered = list_copies_in_role(state.remembered.clients, "active")
    return next((c for c in state.clients if (task.id, c.process_id) in remembered), None)


def list_previous_copies(state: ApplicationState) -> tuple[Copies, Copies] | None:
    """Return the previous (actives, standbys), or None if they are unknown."""
    remembered = state.remembered
    was_active, was_standby = (
        (list_copies_in_role(remembered.clients, "active"), list_copies_in_role(remembered.clients, "standby"))
        if remembered
        else (set(), set())
    )
    wanted = min(state.configs.num_standby_replicas, len(state.clients) - 1)
    active: Copies = set()
    standby: Copies = set()
    for task in state.tasks:
        claim = [c for c in state.clients if task.id in c.previous_active]
        for candidates in (
            claim if len(claim) == 1 else [],
            [c for c in claim if (task.id, c.process_id) in was_active],
            [c for c in claim if c.lags.get(task.id) == -2],
            claim,
            [c for c in state.clients if (task.id, c.process_id) in was_active],
        ):
            if candidates:
                active.add((task.id, min(c.process_id for c in candidates)))
                break
        else:
            return None
        if not task.logged:
            continue
        here = {(task.id, c.process_id) for c in state.clients}
        if remembered:
            standby |= (was_standby & here) - active
        else:
            listed = {(task.id, c.process_id) for c in state.clients if task.id in c.previous_standby}
            if len(listed) != wanted:
                return None
            standby |= listed
    return active, standby


def count_violations(state: ApplicationState, answer: TaskAssignment) -> Counter[tuple[str, str | None]]:
    """Return (rule, task) → number of violations in an answer; the format of the answer is not checked."""
    active, standby, warmup = (list_copies_in_role(answer.clients, role) for role in ("active", "standby", "warmup"))
    found = Counter(list_violations_of_copies(state, active, standby))
    every = [(t, c.process_id) for c in answer.clients for t in (*c.active, *c.standby, *c.warmup)]
    found.update({("R2", copy[0]) for copy, times in Counter(every).items() if times > 1})
    found.update([("R6", None)] if sum(len(c.warmup) for c in answer.clients) > state.configs.max_warmup_replicas else [])
    found.update(("R6", task.id) for task in state.tasks if not task.logged for copy in warmup if copy[0] == task.id)
    asks = [c.process_id for c in answer.clients if c.followup_rebalance_ms is not None]
    staying = sorted(c.process_id for c in state.clients if not c.draining) or sorted(c.process_id for c in state.clients)
    found.update(("R8", None) for process_id in asks if process_id != staying[0])
    rest = find_kept_copies(state)
    if rest is not None:
        for now, was in ((active, rest[0]), (standby, rest[1])):
            found.update(("R7", task) for task in {t for t, _ in now ^ was})
        found.update(("R7", task) for task, _ in warmup)
        found.update(("R7", None) for _ in asks)
    # R2 is reported once per task, though a task may be doubled on several clients.
    return Counter({key: 1 if key[0] == "R2" else times for key, times in found.items()})


def list_violations_of_copies(state: ApplicationState, active: Copies, standby: Copies) -> Iterable[tuple[str, str | None]]:
    """Yield (rule, task) of each violation of R1 and R3 to R5 by these copies."""
    configs = state.configs
    remembered_standby = list_copies_in_role(state.remembered.clients, "standby") if state.remembered else set()
    for task in state.tasks:
        actives = [c for c in state.clients if (task.id, c.process_id) in active]
        standbys = [c for c in state.clients if (task.id, c.process_id) in standby]
        if len(actives) != 1:
            yield "R1", task.id
        if not task.logged:
            yield from [("R4", task.id)] * len(standbys)
            continue
        remembered_active = find_remembered_owner(state, task)
        for client in actives:
            least = min(find_rank(state, task, c) for c in state.clients)
            forgiven = client is remembered_active and find_lag(state, task, client) <= (
                min(find_lag(state, task, c) for c in state.clients) + configs.acceptable_recovery_lag
            )
            if find_rank(state, task, client) > least and not forgiven:
                yield "R3", task.id
        if len(standbys) != min(configs.num_standby_replicas, len(state.clients) - 1):
            yield "R4", task.id
        left_out = [c for c in state.clients if c not in actives and c not in standbys]
        for client in standbys:
            if left_out and find_rank(state, task, client) > min(find_rank(state, task, c) for c in left_out):
                known = client is remembered_active or (
                    remembered_active is not None and (task.id, client.process_id) in remembered_standby
                )
                allowed = min(find_lag(state, task, c) for c in left_out) + configs.acceptable_recovery_lag
                if not known or find_lag(state, task, client) > allowed:
                    yield "R5", task.id


def find_kept_copies(state: ApplicationState) -> tuple[Copies, Copies] | None:
    """Return the (actives, standbys) that must return unchanged (R7), or None if R7 does not apply."""
    known = list_previous_copies(state)
    configs = state.configs
    racks = configs.rack_aware_assignment_strategy != "none" and any(c.rack is not None for c in state.clients)
    tags = bool(configs.rack_aware_assignment_tags) and configs.num_standby_replicas > 0
    if known is None or racks or tags:
        return None
    active, standby = known
    draining = {c.process_id for c in state.clients if c.draining}
    if (
        len({task.weight for task in state.tasks}) > 1
        or any(-3 in c.lags.values() for c in state.clients)
        or any(process_id in draining for _, process_id in active | standby)
        or active & standby
        or any(list_violations_of_copies(state, active, standby))
        or any(measure_imbalance(state, active, standby).values())
    ):
        return None
    return known


def compute_share(state: ApplicationState, tasks: int, copies: int) -> dict[str, Fraction]:
    """Return process id → share of `copies` copies of `tasks` tasks, capped in rounds, first for clients that stay."""
    size = {c.process_id: c.threads * round(c.capacity * 10**6) for c in state.clients}
    result: dict[str, Fraction] = {}
    left = copies
    for draining in (False, True):
        group = [c.process_id for c in state.clients if c.draining == draining]
        total = min(left, tasks * len(group))
        left -= total
        while group:
            units = sum(size[p] for p in group)
            over = [p for p in group if Fraction(total * size[p], units) > tasks]
            for process_id in over or group:
                result[process_id] = Fraction(tasks) if over else Fraction(total * size[process_id], units)
            total -= tasks * len(over)
            group = [p for p in group if p not in over] if over else []
    return result


def measure_imbalance(state: ApplicationState, active: Copies, standby: Copies) -> dict[str, int]:
    """Return family of shares → imbalance, a sum of d (d + 1) / 2 over counts at distance d from their shares."""
    factor = state.options.balance_factor
    per_task = min(state.configs.num_standby_replicas, len(state.clients) - 1) + 1
    subtopologies = {task.task_id.subtopology_key for task in state.tasks}

    def of(tasks: list[TaskInfo], copies_per_task: int, copies: Copies, factor: int, nearest: bool = False) -> int:
        ids = {task.id for task in tasks}
        total = 0
        shares = compute_share(state, len(ids), len(ids) * copies_per_task)
        ups = len(ids) - sum(map(floor, shares.values()))
        ranked = sorted((exact - floor(exact) for exact in shares.values()), reverse=True)
        for process_id, exact in shares.items():
            # The `ups` greatest fractions are rounded up; of equal fractions at the boundary, either may be.
            up = exact % 1 > 0 and (not nearest or (ups > 0 and exact % 1 >= ranked[ups - 1]))
            down = exact % 1 == 0 or not nearest or ups == 0 or exact % 1 <= ranked[min(ups, len(ranked) - 1)]
            least, most = floor(exact) if down or exact % 1 == 0 else ceil(exact), ceil(exact) if up else floor(exact)
            low = max(0, least - floor(Fraction(factor - 1, 2)))
            high = most + ceil(Fraction(factor - 1, 2))
            count = sum(1 for task, client in copies if client == process_id and task in ids)
            distance = low - count if count < low else count - high if count > high else 0
            total += distance * (distance + 1) // 2
        return total

    def within(key: tuple[str, int], logged: bool) -> list[TaskInfo]:
        return [task for task in state.tasks if task.task_id.subtopology_key == key and (task.logged or not logged)]

    logged = [task for task in state.tasks if task.logged]
    return {
        "active": of(list(state.tasks), 1, active, factor, nearest=True),
        "stateful_active": of([task for task in state.tasks if task.stateful], 1, active, factor),
        "copies": of(logged, per_task, active | standby, factor),
        "subtopology_active": sum(of(within(key, False), 1, active, 1) for key in subtopologies),
        "subtopology_copies": sum(of(within(key, True), per_task, active | standby, 1) for key in subtopologies),
    }
