"""Scale-out and scale-in of a group that Kafka's high-availability class has arranged itself.

The class computes one arrangement of its own, so a group that it did not arrange is reshuffled whatever happens: the snapshots
of the other studies make it look worse than a user who has always run it would see. Here it arranges the group first, until
it rests; then clients come or go. Dropped state is deleted.

The second table is the price of both ways: optassign takes over such a group, and gives it back once it is at rest. *Later*
stands for a group that has changed under optassign for long: little is left of what Kafka's default had arranged.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from uuid import NAMESPACE_OID, uuid5

from optassign.assignor import TaskAssignor, create
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 7, 10, 2), (1_000, 75, 100, 20))
"""Tasks, fewer clients, more clients, warm-ups."""
STANDBYS = (0, 1, 2)
ASSIGNORS = ("cp-sat", "greedy", "high-availability", "kafka-high-availability")
_MOST_REBALANCES = 300


def run() -> tuple[list[Table], list[str]]:
    """A row for each size, event, number of standbys and assignor; then a row for each size, number of standbys and way."""
    rows: list[tuple[object, ...]] = []
    for tasks, fewer, more, warmups in SIZES:
        for standbys in STANDBYS:
            smaller = arrange(Spec("steady", tasks, fewer, standbys, warmups, seed=1).generate())
            larger = arrange(Spec("steady", tasks, more, standbys, warmups, seed=1).generate())
            for event, state in (
                ("nothing", larger),
                ("scale-out", add_clients(smaller, more - fewer)),
                ("scale-in", remove_clients(larger, more - fewer)),
            ):
                bound: int | None = None
                for name in ASSIGNORS:
                    result = converge(state, name, max_rebalances=_MOST_REBALANCES)
                    bound = result.lower_bound if name == "cp-sat" else bound
                    last = result.history[-1].measures
                    ratio = f"{result.restored_offsets / bound:.2f}" if bound else f"{result.restored_offsets:,} ÷ 0"
                    rows.append(
                        (
                            f"{tasks:,} × {fewer}–{more} × {standbys}",
                            event,
                            name,
                            f"{result.rebalances}{'' if result.settled else ' (not settled)'}",
                            result.moved_active,
                            result.moved_more_than_once,
                            ratio,
                            sum(last.imbalance.values()),
                            statistics.median(step.seconds for step in result.history),
                        )
                    )
    head = (
        "tasks × clients × standbys",
        "event",
        "assignor",
        "rebalances",
        "moves",
        "tasks moved more than once",
        "restored ÷ minimum",
        "imbalance",
        "seconds",
    )
    return [make_table(head, rows), play_both_ways()], []


def play_both_ways() -> Table:
    """Let optassign take over a group that Kafka's default has arranged, and Kafka's default take it back, soon or later."""
    rows: list[tuple[object, ...]] = []
    for tasks, _, clients, warmups in SIZES:
        for standbys in STANDBYS:
            made = Spec("steady", tasks, clients, standbys, warmups, seed=1).generate()
            theirs = arrange(made)
            for way, state, name in (
                ("adopt", theirs, "cp-sat"),
                ("roll back", arrange(theirs, create("cp-sat")), "high-availability"),
                ("roll back later", arrange(made, create("cp-sat")), "high-availability"),
            ):
                result = converge(state, name, max_rebalances=_MOST_REBALANCES)
                size = f"{tasks:,} × {clients} × {standbys}"
                rows.append((size, way, name, result.rebalances, result.moved_active, result.restored_offsets))
    head = ("tasks × clients × standbys", "way", "takes over", "rebalances", "moves", "restored offsets")
    return make_table(head, rows, "Adopting optassign and rolling back")


def arrange(state: ApplicationState, by: TaskAssignor | None = None) -> ApplicationState:
    """The same group once the assignor, by default the high-availability class, asks for no follow-up.

    RuntimeError if that does not happen.
    """
    assignor = create("high-availability") if by is None else by
    for _ in range(_MOST_REBALANCES):
        answer = assignor.assign(state)
        state = make_restored_snapshot(state, answer, memory=False)
        if all(client.followup_rebalance_ms is None for client in answer.clients):
            return state
    raise RuntimeError(f"not settled after {_MOST_REBALANCES} rebalances")


def add_clients(state: ApplicationState, number: int) -> ApplicationState:
    """The group with `number` new clients, which have nothing on their disks."""
    pattern = state.clients[0]
    nothing: dict[str, object] = {"previous_active": (), "previous_standby": (), "lags": {}, "consumers": {}}
    new = [
        pattern.model_copy(update={**nothing, "process_id": str(uuid5(NAMESPACE_OID, f"new client {n}"))})
        for n in range(number)
    ]
    return replace_clients(state, [*state.clients, *new])


def remove_clients(state: ApplicationState, number: int) -> ApplicationState:
    """The group without `number` of its clients, evenly spaced in the order of their ids."""
    step = len(state.clients) / number
    gone = {round(step * n) for n in range(number)}
    return replace_clients(state, [client for n, client in enumerate(state.clients) if n not in gone])


def replace_clients(state: ApplicationState, clients: Iterable[KafkaStreamsState]) -> ApplicationState:
    """The group with these clients and no other."""
    # Validated anew instead of copied: that puts the clients in the order of their ids.
    return ApplicationState.model_validate({**dict(state), "clients": tuple(clients)})
