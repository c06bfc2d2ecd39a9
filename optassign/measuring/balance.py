"""Balance: the share of each client, its counts, and the imbalance of counts outside their shares.

KIP-441, "Defining balance", for clients of unequal size: an exact share is proportional to threads × capacity, and a count is
balanced if it is in the *share* from floor to ceiling of the exact share. For all active tasks together, only the counts
nearest to the exact shares are balanced. There are five shares, in order of importance: per client all active tasks, stateful
active tasks, copies (active and standby) of logged tasks; per client and subtopology active tasks, copies. Warm-ups do not
count. Exact shares are fractions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal, NamedTuple, get_args

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.measuring.load import Loads, allowed_load, balances_load
from optassign.measuring.placement import TaskPlacement, standbys_per_task, staying_clients

ShareName = Literal["active", "stateful_active", "copies", "subtopology_active", "subtopology_copies"]
SHARE_NAMES: tuple[ShareName, ...] = get_args(ShareName)
"""The five shares in order of importance."""
Subtopology = tuple[str, int]
"""A subtopology as (name of the topology, number)."""

MICRO = 10**6
"""The size (`client_size`) of a client with one thread of capacity 1."""


class Share(NamedTuple):
    """The least and the greatest balanced count of one client, both included."""

    low: int
    high: int

    def imbalance(self, count: int) -> int:
        """Return e (e + 1) / 2, where e is the distance of the count from the share.

        The square makes 8/2/0/0/0 worse than 5/5/0/0/0, if each of five clients should have 2.
        """
        distance = max(self.low - count, count - self.high, 0)
        return distance * (distance + 1) // 2


@dataclass(frozen=True, slots=True)
class Shares:
    """The five shares of a snapshot, by process id; `subtopology_copies` has logged subtopologies only."""

    active: Mapping[str, Share]
    stateful_active: Mapping[str, Share]
    copies: Mapping[str, Share]
    subtopology_active: Mapping[Subtopology, Mapping[str, Share]]
    subtopology_copies: Mapping[Subtopology, Mapping[str, Share]]


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a placement that have shares, by process id; a missing client has 0."""

    active: Mapping[str, int]
    stateful_active: Mapping[str, int]
    copies: Mapping[str, int]
    subtopology_active: Mapping[Subtopology, Mapping[str, int]]
    subtopology_copies: Mapping[Subtopology, Mapping[str, int]]


def client_size(client: KafkaStreamsState) -> int:
    """Return threads × capacity in millionths, to which the client's shares are proportional."""
    return client.threads * round(client.capacity * MICRO)


def compute_exact_shares(state: ApplicationState, tasks: int, copies_per_task: int = 1) -> dict[str, Fraction]:
    """Return process id → exact share of `copies_per_task` copies of each of `tasks` tasks.

    A client has at most `tasks` of them (R2); the other clients get the excess in proportion to their sizes, repeatedly.
    Draining clients get only the copies for which the others have no room. If all clients drain, they share as if none did.
    """
    per_class = _shares_per_class(_count_classes(state), tasks, copies_per_task)
    return {client.process_id: per_class[_class_of(state, client)] for client in state.clients}


def compute_shares(state: ApplicationState) -> Shares:
    """Return the five shares of every client, and of every client and subtopology.

    `balance_factor` f widens the three shares per client by floor((f - 1) / 2) below and ceil((f - 1) / 2) above (KIP-441,
    first draft), never below 0. Clients of equal size have the same `Share`, subtopologies of equal size the same mapping.
    """
    classes, clients = _count_classes(state), [(client.process_id, _class_of(state, client)) for client in state.clients]
    copies_per_task = standbys_per_task(state) + 1
    extra = state.options.balance_factor - 1
    made: dict[tuple[int, int, int], Mapping[str, Share]] = {}

    def make_once(tasks: int, copies_per_task: int, extra: int) -> Mapping[str, Share]:
        key = (tasks, copies_per_task, extra)
        if key not in made:
            per_class = {
                size: Share(max(floor(share) - extra // 2, 0), ceil(share) + (extra + 1) // 2)
                for size, share in _shares_per_class(classes, tasks, copies_per_task).items()
            }
            made[key] = {process_id: per_class[size] for process_id, size in clients}
        return made[key]

    tasks_in = {key: len(tasks) for key, tasks in state.subtopologies.items()}
    logged_in = {key: len(tasks) for key, tasks in state.subtopologies.items() if tasks[0].logged}
    return Shares(
        active=_nearest_shares(classes, clients, len(state.tasks), extra),
        stateful_active=make_once(sum(task.stateful for task in state.tasks), 1, extra),
        copies=make_once(sum(logged_in.values()), copies_per_task, extra),
        subtopology_active={key: make_once(tasks, 1, 0) for key, tasks in tasks_in.items()},
        subtopology_copies={key: make_once(tasks, copies_per_task, 0) for key, tasks in logged_in.items()},
    )


Where = TaskAssignment | TaskPlacement | Counts
"""An answer, the placement of an answer or of its target, or counts of either."""


def count_copies(state: ApplicationState, where: Where) -> Counts:
    """Return the counts that have shares: active tasks and copies of each client, in all and per subtopology."""
    if isinstance(where, Counts):
        return where
    placement = where if isinstance(where, TaskPlacement) else TaskPlacement.of(state, where)
    active, stateful_active, copies = Counter[str](), Counter[str](), Counter[str]()
    subtopology_active: dict[Subtopology, Counter[str]] = {}
    subtopology_copies: dict[Subtopology, Counter[str]] = {}
    for subtopology, tasks in state.subtopologies.items():
        first = tasks[0]  # all tasks of a subtopology are of one kind
        actives = Counter(client for task in tasks for client in placement.active[task.id])
        subtopology_active[subtopology] = actives
        active.update(actives)
        if first.stateful:
            stateful_active.update(actives)
        if first.logged:
            all_copies = actives + Counter(client for task in tasks for client in placement.standby[task.id])
            subtopology_copies[subtopology] = all_copies
            copies.update(all_copies)
    return Counts(active, stateful_active, copies, subtopology_active, subtopology_copies)


def measure_imbalance(state: ApplicationState, where: Where, within: Shares | None = None) -> dict[ShareName, int]:
    """Return the imbalance of each share, summed over clients and, for the last two, over subtopologies.

    `within`: the snapshot's shares, if the caller has computed them.
    """
    within = within or compute_shares(state)
    counted = count_copies(state, where)
    return {
        "active": _imbalance(within.active, counted.active),
        "stateful_active": _imbalance(within.stateful_active, counted.stateful_active),
        "copies": _imbalance(within.copies, counted.copies),
        "subtopology_active": _imbalance_of_all(within.subtopology_active, counted.subtopology_active),
        "subtopology_copies": _imbalance_of_all(within.subtopology_copies, counted.subtopology_copies),
    }


def is_balanced(state: ApplicationState, where: TaskAssignment | TaskPlacement) -> bool:
    """Return whether every count is in its share or, if load is balanced, whether the load is (`Loads.is_balanced`)."""
    if balances_load(state):
        return Loads(state).is_balanced(where if isinstance(where, TaskPlacement) else TaskPlacement.of(state, where))
    return not any(measure_imbalance(state, where).values())


def is_answer_balanced(state: ApplicationState, answer: TaskAssignment) -> bool:
    """Return whether the answer is balanced; if load is balanced, by `allowed_load`, which uses the bound in its report."""
    if not balances_load(state):
        return is_balanced(state, answer)
    loads = Loads(state)
    return loads.is_balanced(TaskPlacement.of(state, answer), allowed_load(state, answer, loads))


def measure_spread(state: ApplicationState, where: Where) -> dict[ShareName, float]:
    """Return share → greatest minus least count per thread × capacity; for the last two, the most of any subtopology.

    Draining clients do not count, unless all drain.
    """
    counted = count_copies(state, where)
    units = {client.process_id: client_size(client) for client in staying_clients(state)}
    per_subtopology = {
        name: max((_spread(units, clients) for clients in found.values()), default=0.0)
        for name, found in (("active", counted.subtopology_active), ("copies", counted.subtopology_copies))
    }
    return {
        "active": _spread(units, counted.active),
        "stateful_active": _spread(units, counted.stateful_active),
        "copies": _spread(units, counted.copies),
        "subtopology_active": per_subtopology["active"],
        "subtopology_copies": per_subtopology["copies"],
    }


def measure_subtopology_balance(state: ApplicationState, where: Where) -> int:
    """Return KIP-441's subtopology balance: the greatest minus the least number of clients that execute a subtopology."""
    executing = [len(clients) for clients in count_copies(state, where).subtopology_active.values()]
    return max(executing, default=0) - min(executing, default=0)


_Class = tuple[int, bool]
"""(size, draining): clients of one class have equal shares."""


def _class_of(state: ApplicationState, client: KafkaStreamsState) -> _Class:
    return client_size(client), client.draining


def _count_classes(state: ApplicationState) -> dict[_Class, int]:
    return Counter(_class_of(state, client) for client in state.clients)


def _nearest_shares(
    classes: Mapping[_Class, int], clients: Sequence[tuple[str, _Class]], tasks: int, extra: int
) -> Mapping[str, Share]:
    """Return process id → share of all active tasks, widened by `extra`.

    Balanced counts sum to the number of tasks and are nearest to the exact shares: the greatest fractions are rounded up, the
    least down. Equal fractions may go either way if only part of them can be rounded up.
    """
    per_class = _shares_per_class(classes, tasks, 1)
    rounded_up = tasks - sum(floor(share) * classes[kind] for kind, share in per_class.items())
    equal, above, seen = Counter[Fraction](), {}, 0
    for kind, share in per_class.items():
        equal[share % 1] += classes[kind]
    for fraction in sorted(equal, reverse=True):
        above[fraction], seen = seen, seen + equal[fraction]
    made: dict[_Class, Share] = {}
    for kind, share in per_class.items():
        goes_up = above[share % 1] + equal[share % 1] <= rounded_up
        goes_down = above[share % 1] >= rounded_up
        low = ceil(share) if goes_up else floor(share)
        high = floor(share) if goes_down else ceil(share)
        made[kind] = Share(max(low - extra // 2, 0), high + (extra + 1) // 2)
    return {process_id: made[kind] for process_id, kind in clients}


def _shares_per_class(classes: Mapping[_Class, int], tasks: int, copies_per_task: int) -> dict[_Class, Fraction]:
    total = tasks * copies_per_task
    staying = {size: clients for (size, draining), clients in classes.items() if not draining}
    leaving = {size: clients for (size, draining), clients in classes.items() if draining}
    held = min(total, tasks * sum(staying.values()))
    by_class = {(size, False): share for size, share in _water_filling(staying, tasks, held)}
    by_class |= {(size, True): share for size, share in _water_filling(leaving, tasks, total - held)}
    return by_class


def _water_filling(clients: Mapping[int, int], cap: int, total: int) -> Iterable[tuple[int, Fraction]]:
    """Yield (size, share) for each size of client: `total` in proportion to sizes, with at most `cap` for each client.

    `clients` has the number of clients of each size. Sizes come in descending order: a client whose part exceeds the cap gets
    the cap, and the rest is for the smaller clients.
    """
    units = sum(size * number for size, number in clients.items())
    for size in sorted(clients, reverse=True):
        share = min(Fraction(total * size, units), Fraction(cap))
        yield size, share
        if share == cap:
            total -= cap * clients[size]
            units -= size * clients[size]


def _imbalance(within: Mapping[str, Share], counted: Mapping[str, int]) -> int:
    return _imbalance_of_empty(within) + _imbalance_beyond_empty(within, counted)


def _imbalance_of_all(
    within: Mapping[Subtopology, Mapping[str, Share]], counted: Mapping[Subtopology, Mapping[str, int]]
) -> int:
    # Subtopologies of one size share their mapping of shares, so the time is linear in the counts that are not 0.
    shared = {id(clients): clients for clients in within.values()}
    empty = {key: _imbalance_of_empty(clients) for key, clients in shared.items()}
    return sum(empty[id(clients)] + _imbalance_beyond_empty(clients, counted[key]) for key, clients in within.items())


def _imbalance_of_empty(within: Mapping[str, Share]) -> int:
    return sum(share.imbalance(0) for share in within.values())


def _imbalance_beyond_empty(within: Mapping[str, Share], counted: Mapping[str, int]) -> int:
    equal = Counter(zip(map(within.__getitem__, counted), counted.values(), strict=True))
    return sum(number * (share.imbalance(count) - share.imbalance(0)) for (share, count), number in equal.items())


def _spread(units: Mapping[str, int], counted: Mapping[str, int]) -> float:
    """Return greatest minus least count per thread × capacity, over the clients in `units`; a missing count is 0.

    Each quotient is a single division of integers, so clients of equal load get equal numbers.
    """
    loads = [count * MICRO / units[process_id] for process_id, count in counted.items() if process_id in units]
    least = min(loads, default=0.0) if len(loads) == len(units) else 0.0
    return max(loads, default=0.0) - least
