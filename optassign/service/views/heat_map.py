"""Numbers of active tasks by client and subtopology, before and after a rebalance and on target, and the counts of each
client."""

from collections import Counter
from collections.abc import Mapping

from optassign.formats.base import Frozen
from optassign.formats.task_id import TaskId
from optassign.judging.answer_in_context import AnswerInContext
from optassign.measuring.balance import Counts, Subtopology
from optassign.measuring.client_names import ClientNames

__all__ = ["CountRow", "HeatMap", "HeatRow", "LoadRow", "make_heat_map", "order_clients"]

_HEAT_MAP_ROWS = 100
"""The number of clients of a heat map on one page. A page stays small."""
_HEAT_MAP_COLUMNS = 120
"""The number of subtopologies of a heat map. More columns are too narrow to be seen."""


class HeatRow(Frozen):
    """Active tasks of a client by subtopology, in the order of `HeatMap.subtopologies`."""

    client: str
    short: str
    """The shortest name that identifies the client."""
    process_id: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    planned: tuple[int, ...]


class HeatMap(Frozen):
    """Numbers of active tasks by client and subtopology."""

    subtopologies: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    most: int
    """The greatest number in the map."""
    clients: int
    """Number of all clients; `rows` has some of them."""
    first: int
    """Position of the first row among all clients, from 0."""
    left_out: int
    """Number of subtopologies that are not shown."""


class LoadRow(Frozen):
    """A client's load, in even spreads."""

    before: float
    after: float
    planned: float
    allowed: float
    """The greatest load that counts as balanced."""


class CountRow(Frozen):
    """A client's counts of tasks, with its share or, if load is balanced instead, its load."""

    client: str
    process_id: str
    threads: int
    draining: bool
    before: int
    after: int
    planned: int
    low: int | None
    high: int | None
    """The share; None if load is balanced instead of counts."""
    load: LoadRow | None
    """None if counts are balanced instead of load."""
    standbys: int
    warmups: int
    gained: int
    lost: int


def order_clients(context: AnswerInContext, first: int) -> list[str]:
    """Return the clients of a page, those with the most changes first, then by name. first: position of the first client
    shown."""
    changes: Counter[str] = Counter()
    for placement, role in ((context.before, -1), (context.now, 1)):
        for task, clients in placement.active.items():
            others = context.now.active[task] if role < 0 else context.before.active[task]
            changes.update(client for client in clients if client not in others)
    ordered = sorted(context.state.kafka_streams_states, key=lambda client: (-changes[client], client))
    return ordered[first : first + _HEAT_MAP_ROWS]


def make_heat_map(
    context: AnswerInContext, names: ClientNames, clients: list[str], first: int
) -> tuple[HeatMap, tuple[CountRow, ...]]:
    """Return the map and the counts of `clients`; `first`: position of the first of them among all clients."""
    before, now, plan = context.counts
    subtopologies = list(context.shares.subtopology_active)
    shown = subtopologies[:_HEAT_MAP_COLUMNS]
    short = _choose_short_names(context, names)
    rows = tuple(
        HeatRow(
            client=names.title(client),
            short=short[client],
            process_id=client,
            before=_count(before, shown, client),
            after=_count(now, shown, client),
            planned=_count(plan, shown, client),
        )
        for client in clients
    )
    most = max((number for row in rows for number in (*row.before, *row.after, *row.planned)), default=0)
    heat = HeatMap(
        subtopologies=tuple(str(TaskId(*key, 0)).rpartition("_")[0] for key in shown),
        rows=rows,
        most=most,
        clients=len(context.state.clients),
        first=first,
        left_out=len(subtopologies) - len(shown),
    )
    return heat, tuple(_list_counts(context, names, clients))


def _choose_short_names(context: AnswerInContext, names: ClientNames) -> dict[str, str]:
    """Return client → its short name, or its process id if several clients share the short name."""
    short = {client: names.short(client) or client for client in context.state.kafka_streams_states}
    times = Counter(short.values())
    return {client: name if times[name] == 1 else client for client, name in short.items()}


def _count(counts: Counts, subtopologies: list[Subtopology], client: str) -> tuple[int, ...]:
    empty: Mapping[str, int] = {}
    return tuple(counts.subtopology_active.get(key, empty).get(client, 0) for key in subtopologies)


def _list_counts(context: AnswerInContext, names: ClientNames, clients: list[str]) -> list[CountRow]:
    before, now, plan = context.counts
    given = context.answer.by_process_id
    gained: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for task, owners in context.now.active.items():
        had = context.before.active[task]
        gained.update(client for client in owners if client not in had)
        lost.update(client for client in had if client not in owners)
    rows = []
    for process_id in clients:
        client, share = context.state.kafka_streams_states[process_id], context.shares.active[process_id]
        answer = given.get(process_id)
        rows.append(
            CountRow(
                client=names.title(process_id),
                process_id=process_id,
                threads=client.threads,
                draining=client.draining,
                before=before.active.get(process_id, 0),
                after=now.active.get(process_id, 0),
                planned=plan.active.get(process_id, 0),
                low=None if context.balances_load else share.low,
                high=None if context.balances_load else share.high,
                load=_make_load_row(context, process_id) if context.balances_load else None,
                standbys=0 if answer is None else len(answer.standby),
                warmups=0 if answer is None else len(answer.warmup),
                gained=gained[process_id],
                lost=lost[process_id],
            )
        )
    return rows


def _make_load_row(context: AnswerInContext, process_id: str) -> LoadRow:
    load = context.loads_of(process_id)
    return LoadRow(
        before=round(load.before, 3), after=round(load.after, 3), planned=round(load.planned, 3), allowed=round(load.allowed, 3)
    )
