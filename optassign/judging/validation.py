"""Check an answer against the rules, in plain loops that share no code with the models.

R1 to R6 are KIP-441's properties of an assignment, R7 its "if the current assignment is already balanced, it must not alter the
assignment", R8 the follow-up. R10, KIP-429's second pass, exempts tasks in transit from R3 and R5. An answer that breaks a rule
is a bug of its assignor. No solver, no arrays; time grows with tasks, copies and reported lags.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import UNKNOWN_LAG, ApplicationState
from optassign.goals.order import goal_order
from optassign.measuring.balance import is_balanced
from optassign.measuring.facts import list_pairs
from optassign.measuring.limits import describe_limit, find_breaches, list_limits
from optassign.measuring.load import balances_load, find_wait_for_rates_ms
from optassign.measuring.placement import (
    PreviousAssignment,
    TaskPlacement,
    planned_placement,
    previous_assignment,
    standbys_per_task,
)
from optassign.measuring.ranks import Ranks
from optassign.printable import escape_unprintable

RULE_NAMES = {
    "R1": "one active for every task",
    "R2": "one copy on a client",
    "R3": "active on the most caught-up",
    "R4": "number of standbys",
    "R5": "standbys on the next most caught-up",
    "R6": "number of warm-ups",
    "R7": "no change without a reason",
    "R8": "follow-up",
}


def name_rule(rule: str) -> str:
    """Return a rule with its name, `R3 (active on the most caught-up)`; other violations, such as `format`, unchanged."""
    return f"{rule} ({RULE_NAMES[rule]})" if rule in RULE_NAMES else rule


Rule = Literal["format", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "limit"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule, with its task and client and a message that states the found and the allowed value."""

    rule: Rule
    task: str | None
    process_id: str | None
    message: str
    """One line; unprintable characters are escaped."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", escape_unprintable(self.message))

    def __str__(self) -> str:
        return f"{name_rule(self.rule)}: {self.message}"


def validate(state: ApplicationState, assignment: TaskAssignment) -> list[Violation]:
    """Return every violation of R1 to R8 and of the answer's form: by rule, then by task or client. Never raises.

    R7 is checked if the snapshot has the whole previous assignment (`previous_assignment`). R8 is checked for the requesting
    client only: whether a follow-up is due depends on the target. Unknown tasks and clients are reported, and do not count
    otherwise.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> optassign.validate(state, optassign.assign(state))
        []
    """
    case = _Case(
        state=state,
        answer=assignment,
        placement=TaskPlacement.of(state, assignment),
        ranks=Ranks(state),
        previous=previous_assignment(state),
    )
    return [violation for rule in _RULES for violation in rule(case)]


@dataclass(frozen=True)
class _Case:
    """An answer under judgement, with the tables that the rules look up."""

    state: ApplicationState
    answer: TaskAssignment
    placement: TaskPlacement
    ranks: Ranks
    previous: PreviousAssignment

    @cached_property
    def behind(self) -> list[str]:
        """Tasks with an active or standby copy that is not caught up (rank > 0)."""
        behind = {task for task, process_id in list_pairs(self.placement) if self.ranks.of(task, process_id)}
        return [task for task in self.state.full_lags if task in behind]


def _form(case: _Case) -> Iterator[Violation]:
    """Check that the answer has each client of the snapshot once, and tasks of the snapshot only (KIP-924)."""
    known, tasks = case.state.kafka_streams_states, case.state.all_tasks
    listed = Counter(client.process_id for client in case.answer.clients)
    for process_id in known:
        if listed[process_id] != 1:
            found = f"found client {process_id} {listed[process_id]} times; allowed: every client of the snapshot once"
            yield Violation("format", None, process_id, found)
    for process_id in sorted(listed.keys() - known.keys()):
        found = f"found client {process_id}; allowed: clients of the snapshot"
        yield Violation("format", None, process_id, found)
    for client in case.answer.clients:
        for task in sorted({*client.active, *client.standby, *client.warmup}.difference(tasks)):
            found = f"found task {task} on {client.process_id}; allowed: tasks of the snapshot"
            yield Violation("format", task, client.process_id, found)


def _r1_every_task_active_once(case: _Case) -> Iterator[Violation]:
    for task, active in case.placement.active.items():
        if len(active) != 1 and len(clients := set(active)) != 1:  # two copies on one client break R2, not R1
            found = f"found task {task} active on {len(clients)} clients{_named(clients)}; allowed: exactly one"
            yield Violation("R1", task, None, found)


def _r2_one_copy_per_client(case: _Case) -> Iterator[Violation]:
    placement = case.placement
    for task, active in placement.active.items():
        copies = [*active, *placement.standby[task], *placement.warmup[task]]
        if len(set(copies)) == len(copies):
            continue
        for process_id, number in sorted(Counter(copies).items()):
            if number > 1:
                found = f"found {number} copies of task {task} on {process_id}; allowed: at most one, in one role"
                yield Violation("R2", task, process_id, found)


def _r3_active_on_most_caught_up(case: _Case) -> Iterator[Violation]:
    for task in case.behind:
        for process_id in dict.fromkeys(case.placement.active[task]):
            rank = case.ranks.of(task, process_id)
            least = case.ranks.least(task) if rank else None
            if least is not None and rank > least and not _may_stay_active(case, task, process_id):
                found = f"found task {task} active on {process_id} of rank {rank}; allowed: the least rank, {least}"
                yield Violation("R3", task, process_id, found)


def _r4_number_of_standbys(case: _Case) -> Iterator[Violation]:
    wanted = standbys_per_task(case.state)
    for info in case.state.tasks:
        clients = set(case.placement.standby[info.id])
        if info.logged and len(clients) != wanted:
            found = f"found {len(clients)} standbys of task {info.id}{_named(clients)}; allowed: exactly {wanted}"
            yield Violation("R4", info.id, None, found)
        elif not info.logged:
            for process_id in sorted(clients):
                found = f"found a standby of task {info.id} on {process_id}; allowed: none, it has no changelog"
                yield Violation("R4", info.id, process_id, found)


def _r5_standbys_on_next_most_caught_up(case: _Case) -> Iterator[Violation]:
    for task in case.behind:
        standbys = {process_id: case.ranks.of(task, process_id) for process_id in case.placement.standby[task]}
        if not any(standbys.values()):
            continue
        copies = case.placement.copies(task)
        least = case.ranks.least(task, without=copies)
        for process_id, rank in sorted(standbys.items()):
            if least is not None and rank > least and not _may_stay_standby(case, task, process_id, copies):
                found = f"found a standby of task {task} on {process_id} of rank {rank}; allowed: at most {least},"
                found += " the least rank of a client without a copy or with a warm-up only"
                yield Violation("R5", task, process_id, found)


def _r6_warmups(case: _Case) -> Iterator[Violation]:
    allowed = case.state.configs.max_warmup_replicas
    warmups = sum(len(clients) for clients in case.placement.warmup.values())
    if warmups > allowed:
        found = f"found {warmups} warm-ups; allowed: at most {allowed} (max_warmup_replicas)"
        yield Violation("R6", None, None, found)
    for info in case.state.tasks:
        if not info.logged:
            for process_id in sorted(set(case.placement.warmup[info.id])):
                found = f"found a warm-up of task {info.id} on {process_id}; allowed: none, it has no changelog"
                yield Violation("R6", info.id, process_id, found)


def _r7_rest(case: _Case) -> Iterator[Violation]:
    if not _at_rest(case):
        return
    why = "because what was assigned is at rest"
    before, now = case.previous.placement(case.state), case.placement
    for role, was, has in (("active", before.active, now.active), ("standby", before.standby, now.standby)):
        for task, clients in was.items():
            if clients != has[task] and (changed := set(clients) ^ set(has[task])):
                found = f"found task {task} {role} on {len(has[task])} clients{_named(has[task])}; allowed:"
                found += f" on {len(clients)}{_named(clients)} as before, {why}"
                yield Violation("R7", task, min(changed), found)
    for task, clients in now.warmup.items():
        for process_id in sorted(set(clients)):
            found = f"found a warm-up of task {task} on {process_id}; allowed: none, {why}"
            yield Violation("R7", task, process_id, found)
    may_ask = bool(case.state.options.idle_followup_ms) or find_wait_for_rates_ms(case.state) is not None
    may_ask |= case.answer.assignor == "fallback"  # asks the service again
    for process_id in () if may_ask else _list_requesters(case):
        found = f"found a follow-up asked for by {process_id}; allowed: none, {why}"
        yield Violation("R7", None, process_id, found)


def _r8_requester_of_the_followup(case: _Case) -> Iterator[Violation]:
    staying = [client.process_id for client in case.state.clients if not client.says_draining]
    allowed = min(staying or case.state.kafka_streams_states)
    requesters = _list_requesters(case)
    for process_id in requesters:
        if process_id != allowed:
            found = f"found a follow-up asked for by {process_id}, one of {len(requesters)}; allowed: only by {allowed},"
            found += " the least process id that does not say that it drains"
            yield Violation("R8", None, process_id, found)


def _limits(case: _Case) -> Iterator[Violation]:
    """Check that answer and target keep each limit, or that the report says they do not."""
    limits = list_limits(case.state)
    if not limits:
        return
    plan = planned_placement(case.state, case.answer)
    reported = {row.name for row in case.answer.report.limits if not row.kept}
    for name, limit in limits.items():
        if name in reported:
            continue
        for is_plan, placement in ((False, case.placement), (True, plan)):
            for found, process_id in find_breaches(case.state, limit, placement, is_plan=is_plan):
                where = "in the plan, " if is_plan else ""
                yield Violation("limit", None, process_id, f"{where}{found} by {describe_limit(name, limit)}")


_RULES: tuple[Callable[[_Case], Iterator[Violation]], ...] = (
    _form,
    _r1_every_task_active_once,
    _r2_one_copy_per_client,
    _r3_active_on_most_caught_up,
    _r4_number_of_standbys,
    _r5_standbys_on_next_most_caught_up,
    _r6_warmups,
    _r7_rest,
    _r8_requester_of_the_followup,
    _limits,
)
_NEEDED_FOR_REST = (
    _r1_every_task_active_once,
    _r2_one_copy_per_client,
    _r3_active_on_most_caught_up,
    _r4_number_of_standbys,
    _r5_standbys_on_next_most_caught_up,
)


def _at_rest(case: _Case) -> bool:
    """Return whether R7 applies: the previous assignment is known, keeps R1 to R5 and the limits, and is balanced.

    Under preset `weighted`, with goals (a) except `load`, with unknown lags, or with copies on draining clients, it never does.
    """
    state, previous = case.state, case.previous
    order = goal_order(state)
    is_load_only = order.configured == ("load",) and balances_load(state)  # load is balance here, not a further goal
    if order.preset == "weighted" or (order.configured and not is_load_only):
        return False
    if not previous.complete or any(UNKNOWN_LAG in client.lags.values() for client in state.clients):
        return False
    before = replace(case, placement=previous.placement(state))
    draining = {client.process_id for client in state.clients if client.draining}
    if draining and any(not draining.isdisjoint(before.placement.copies(task.id)) for task in state.tasks):
        return False
    if not is_balanced(state, before.placement):  # checked first: it is cheap, and false after a scale-out
        return False
    if any(True for rule in _NEEDED_FOR_REST for _ in rule(before)):
        return False
    limits = list_limits(state).values()
    return not any(True for limit in limits for _ in find_breaches(state, limit, before.placement, is_plan=True))


def _may_stay_active(case: _Case, task: str, process_id: str) -> bool:
    """Return whether R10 exempts the active copy from R3.

    It does if the first pass gave this client the task in transit, and its lag exceeds the least lag by no more than
    acceptable.
    """
    if task not in case.previous.in_transit or process_id != case.previous.active[task]:
        return False
    return _is_acceptably_behind(case, task, process_id, case.ranks.least_lag(task))


def _may_stay_standby(case: _Case, task: str, process_id: str, copies: tuple[str, ...]) -> bool:
    """Return whether R10 exempts the standby from R5: as for actives, against the least lag of the clients without a copy."""
    if process_id not in case.previous.in_transit_copies.get(task, ()):
        return False
    return _is_acceptably_behind(case, task, process_id, case.ranks.least_lag(task, without=copies))


def _is_acceptably_behind(case: _Case, task: str, process_id: str, best: int | None) -> bool:
    return best is None or case.ranks.lag(task, process_id) <= best + case.state.configs.acceptable_recovery_lag


def _list_requesters(case: _Case) -> list[str]:
    return sorted({client.process_id for client in case.answer.clients if client.followup_rebalance_ms is not None})


def _named(clients: Collection[str]) -> str:
    """Return `: a, b` for a message, with at most five names; empty if there are none."""
    names = sorted(set(clients))
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f": {shown}" if names else ""
