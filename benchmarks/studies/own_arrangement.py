"""Scale-out and scale-in of a group that Kafka's high-availability class has arranged itself.

The class computes one arrangement of its own, so a group that it did not arrange is reshuffled whatever happens: the snapshots
of the other studies make it look worse than a user who has always run it would see. Here it arranges the group first, until
it rests; then clients come or go. Dropped state is deleted.
"""

from __future__ import annotations

import statistics
from uuid import NAMESPACE_OID, uuid5

from optassign.assignor import create
from optassign.benchmarks.grid import Spec
from optassign.benchmarks.tables import markdown
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.simulation.convergence import after_restoration, converge

SIZES = ((100, 7, 10, 2), (1_000, 75, 100, 20))
"""Tasks, fewer clients, more clients, warm-ups."""
STANDBYS = (0, 1, 2)
ASSIGNORS = ("cp-sat", "greedy", "high-availability", "kafka-high-availability")
_MOST_REBALANCES = 300


def run() -> tuple[str, list[str]]:
    """One row per size, event, number of standbys and assignor."""
    rows: list[tuple[object, ...]] = []
    for tasks, fewer, more, warmups in SIZES:
        for standbys in STANDBYS:
            few = arranged(Spec("steady", tasks, fewer, standbys, warmups, seed=1).generate())
            many = arranged(Spec("steady", tasks, more, standbys, warmups, seed=1).generate())
            for event, state in (
                ("nothing", many),
                ("scale-out", grown(few, more - fewer)),
                ("scale-in", shrunk(many, more - fewer)),
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
                            ratio,
                            sum(last.excess.values()),
                            statistics.median(step.seconds for step in result.history),
                        )
                    )
    head = ("tasks × clients × standbys", "event", "assignor", "rebalances", "moves", "restored ÷ minimum", "excess", "seconds")
    return markdown(head, rows), []


def arranged(state: ApplicationState) -> ApplicationState:
    """The same group once the high-availability class asks for no follow-up. RuntimeError if that does not happen."""
    assignor = create("high-availability")
    for _ in range(_MOST_REBALANCES):
        answer = assignor.assign(state)
        state = after_restoration(state, answer, memory=False)
        if all(client.followup_rebalance_ms is None for client in answer.clients):
            return state
    raise RuntimeError(f"not settled after {_MOST_REBALANCES} rebalances")


def grown(state: ApplicationState, number: int) -> ApplicationState:
    """With so many new clients, which have nothing on their disks."""
    pattern = state.clients[0]
    nothing: dict[str, object] = {"previous_active": (), "previous_standby": (), "lags": {}, "consumers": {}}
    new = [
        pattern.model_copy(update={**nothing, "process_id": str(uuid5(NAMESPACE_OID, f"new client {n}"))})
        for n in range(number)
    ]
    return _with(state, [*state.clients, *new])


def shrunk(state: ApplicationState, number: int) -> ApplicationState:
    """Without so many of its clients, every third or so of them in the order of their ids."""
    step = len(state.clients) / number
    gone = {round(step * n) for n in range(number)}
    return _with(state, [client for n, client in enumerate(state.clients) if n not in gone])


def _with(state: ApplicationState, clients: list[KafkaStreamsState]) -> ApplicationState:
    # Read again: clients have to be in their order, which a copy would not see to.
    return ApplicationState.model_validate({**dict(state), "clients": clients})
