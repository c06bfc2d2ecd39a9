"""Groups that an assignor itself has arranged until they were stable, and the cost of changes to them.

*Own arrangement*: scale-out and scale-in of a group that Kafka's high-availability class has arranged. That class has only one
arrangement for a group, so it reshuffles a group with another arrangement at any event. The snapshots of the other studies
therefore show it worse than users of it would see. Dropped state is deleted. The second table is the cost of migration in both
directions: optassign takes over such a group, and gives it back when it is stable. *Later* stands for a group that has changed
under optassign for long, so that little of Kafka's arrangement remains.

*Failover*: a client dies. Each assignor arranges the group itself, from all clients at once, or from a part of them first and
the others later, as groups grow. Then clients are removed from that stable group one at a time. Standbys are caught up, as in a
running group.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from uuid import NAMESPACE_OID, uuid5

from optassign.assignor import TaskAssignor, create
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.jvm_planner import JvmPlanner, create_also_planner
from optassign_benchmarks.runner import Layout, Study, StudyCase, describe_rebalances, first, format_ratio

SIZES = ((100, 7, 10, 2), (1_000, 75, 100, 20))
"""Tasks, fewer clients, more clients, warm-ups."""
_MOST_REBALANCES = 300
_MOST_DEAD = 10


def arrange(state: ApplicationState, by: str | TaskAssignor = "high-availability") -> ApplicationState:
    """Return the group once the assignor asks for no follow-up. RuntimeError if it never does."""
    assignor = create(by)
    for _ in range(_MOST_REBALANCES):
        answer = assignor.assign(state)
        state = make_restored_snapshot(state, answer, memory=False)
        if all(client.followup_rebalance_ms is None for client in answer.clients):
            return state
    raise RuntimeError(f"not settled after {_MOST_REBALANCES} rebalances")


def arrange_all(spec: Spec, *assignors: str) -> ApplicationState:
    """Return the group after each of the assignors in turn has arranged it."""
    state = spec.generate()
    for name in assignors:
        state = arrange(state, name)
    return state


def add_clients(spec: Spec, number: int) -> ApplicationState:
    """Return the group that Kafka's default has arranged, with `number` new clients without state."""
    state = arrange(spec.generate())
    nothing: dict[str, object] = {"previous_active": (), "previous_standby": (), "lags": {}, "consumers": {}}
    new = [
        state.clients[0].model_copy(update={**nothing, "process_id": str(uuid5(NAMESPACE_OID, f"new client {n}"))})
        for n in range(number)
    ]
    return replace_clients(state, [*state.clients, *new])


def remove_clients(spec: Spec, number: int) -> ApplicationState:
    """Return the group that Kafka's default has arranged, without `number` of its clients, evenly spaced in the order of their
    ids."""
    state = arrange(spec.generate())
    step = len(state.clients) / number
    gone = {round(step * n) for n in range(number)}
    return replace_clients(state, [client for n, client in enumerate(state.clients) if n not in gone])


def replace_clients(state: ApplicationState, clients: Iterable[KafkaStreamsState]) -> ApplicationState:
    """Return the group with these clients only."""
    # Validation, unlike copying, puts the clients in the order of their ids.
    return ApplicationState.model_validate({**dict(state), "clients": tuple(clients)})


def _list_own(quick: bool) -> Iterator[StudyCase]:
    sizes = SIZES[: 1 if quick else None]
    how = {"max_rebalances": _MOST_REBALANCES}
    for (tasks, fewer, more, warmups), standbys in product(sizes, (0, 1, 2)):
        size = f"{tasks:,} × {fewer}–{more} × {standbys}"
        smaller, larger = (Spec("steady", tasks, clients, standbys, warmups, seed=1) for clients in (fewer, more))
        yield StudyCase(partial(arrange_all, larger, "high-availability"), {"size": size, "event": "nothing"}, how)
        yield StudyCase(partial(add_clients, smaller, more - fewer), {"size": size, "event": "scale-out"}, how)
        yield StudyCase(partial(remove_clients, larger, more - fewer), {"size": size, "event": "scale-in"}, how)
    for (tasks, _, clients, warmups), standbys in product(sizes, (0, 1, 2)):
        spec, size = Spec("steady", tasks, clients, standbys, warmups, seed=1), f"{tasks:,} × {clients} × {standbys}"
        for way, arranged, name in (
            ("adopt", ("high-availability",), "cp-sat"),
            ("roll back", ("high-availability", "cp-sat"), "high-availability"),
            ("roll back later", ("cp-sat",), "high-availability"),
        ):
            yield StudyCase(partial(arrange_all, spec, *arranged), {"size": size, "event": "", "way": way}, how, (name,))


OWN_ARRANGEMENT = Study(
    cases=_list_own,
    assignors=("cp-sat", "greedy", "high-availability", "kafka-high-availability"),
    parts=("convergence",),
    layouts=(
        Layout(
            {"tasks × clients × standbys": "size", "event": "event", "assignor": "assignor"},
            {
                "rebalances": lambda rows: describe_rebalances(rows[0]),
                "moves": first("converged_moved_active"),
                "tasks moved more than once": first("converged_moved_more_than_once"),
                "restored ÷ minimum": lambda rows: (
                    format_ratio(rows[0].converged_restored_offsets, rows[0].minimum)
                    if rows[0].minimum
                    else f"{rows[0].converged_restored_offsets:,} ÷ 0"
                ),
                "imbalance": first("converged_final_imbalance"),
                "seconds": first("converged_seconds"),
            },
            keep=lambda row: bool(row.event),
        ),
        Layout(
            {"tasks × clients × standbys": "size", "way": "way", "takes over": "assignor"},
            {
                "rebalances": first("converged_rebalances"),
                "moves": first("converged_moved_active"),
                "restored offsets": first("converged_restored_offsets"),
            },
            "Adopting optassign and rolling back",
            keep=lambda row: not row.event,
        ),
    ),
    jobs=1,
)


def let_die(group: tuple[Spec, int], assignor: str) -> dict[str, list[int]]:
    """Arrange the group and remove one client at a time; return lists with a value for each removal.

    group: a spec, and the number of clients that come first; the others join later. too_many: active tasks of the fullest
    client above an even share, after the first rebalance. rebalances: until the group is stable. moves: of active tasks,
    without the removed client's tasks.
    """
    spec, fewer = group
    by, whole = create_also_planner(assignor), spec.generate()
    state = whole
    if fewer < spec.clients:
        state = arrange(replace_clients(whole, whole.clients[:fewer]), by)
        state = replace_clients(state, (*state.clients, *whole.clients[fewer:]))
    state = arrange(state, by)
    found: dict[str, list[int]] = {"too_many": [], "rebalances": [], "moves": []}
    for number in range(0, spec.clients, math.ceil(spec.clients / _MOST_DEAD)):
        left = replace_clients(state, (client for n, client in enumerate(state.clients) if n != number))
        most = max(len(client.active) for client in by.assign(left).clients)
        result = converge(left, by, max_rebalances=_MOST_REBALANCES)
        found["too_many"].append(most - math.ceil(len(left.tasks) / len(left.clients)))
        found["rebalances"].append(result.rebalances)
        found["moves"].append(result.moved_active)
    return found


def _list_groups(quick: bool) -> Iterator[StudyCase]:
    sizes = ((12, 2, 3, 2), *SIZES[: 1 if quick else None])
    for (tasks, fewer, clients, warmups), standbys, grown in product(sizes, (1, 2), (False, True)):
        spec = Spec("cold", tasks, clients, min(standbys, clients - 1), warmups, seed=1, stateless=0.0)
        came = f"{fewer}, then {clients}" if grown else "all at once"
        facts = {"size": f"{tasks:,} × {clients} × {spec.standbys}", "came": came}
        yield StudyCase(partial(tuple, (spec, fewer if grown else clients)), facts)


FAILOVER = Study(
    cases=_list_groups,
    assignors=("cp-sat", "greedy", JvmPlanner.name, "high-availability", "sticky"),
    parts=(let_die,),
    layouts=(
        Layout(
            {"tasks × clients × standbys": "size", "clients came": "came", "assignor": "assignor"},
            {
                "too many on one, mean": lambda rows: f"{statistics.fmean(rows[0].too_many):.1f}",
                "most": lambda rows: max(rows[0].too_many),
                "rebalances": lambda rows: f"{statistics.fmean(rows[0].rebalances):.1f}",
                "further moves": lambda rows: f"{statistics.fmean(rows[0].moves):.1f}",
            },
        ),
    ),
)
