"""Load: weight of copies per thread × capacity, where weights differ (docs/reference/rules.md, "Balanced under load").

An active copy weighs what its task does, a standby `standby_load` times that: nothing, unless the options say so.

Loads are multiples of an even spread of all that can be balanced. An *oversized* task, heavier than an even spread of what is
left without it and all heavier tasks, counts as one busy thread. No solver, no arrays.
"""

from dataclasses import dataclass
from functools import cached_property

from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import format_ms, to_ms
from optassign.formats.configs import Options
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.formats.tasks import TaskInfo
from optassign.formats.weighing import counts_as_weight, find_counting_ms, find_fixed_weight
from optassign.measuring.placement import TaskPlacement, standbys_per_task
from optassign_models.policy.constants import LEAST_MEASURED_MS, ROUNDING

__all__ = [
    "Loads",
    "allowed_load",
    "balances_load",
    "find_counting_time",
    "find_wait_for_rates_ms",
    "list_uncounted",
    "measure_shown_loads",
]


def balances_load(state: ApplicationState) -> bool:
    """Whether balanced means load: weights differ, and the goals, if the options name them, have load before restore work."""
    return len({task.weight for task in state.tasks}) > 1 and _would_balance_load(state.options)


def _would_balance_load(options: Options) -> bool:
    """Whether balanced means load where weights differ."""
    if options.preset != "lexicographic":
        return False
    if options.goals is None:
        return True
    before = options.goals[: options.goals.index("restore_work")] if "restore_work" in options.goals else options.goals
    return "load" in before


def _staying(state: ApplicationState) -> list[KafkaStreamsState]:
    return [client for client in state.clients if not client.draining] or list(state.clients)


@dataclass(frozen=True)
class Loads:
    """The loads of one snapshot's clients, for any placement of its tasks."""

    state: ApplicationState

    @cached_property
    def oversized(self) -> frozenset[str]:
        """Tasks too heavy for any client to be balanced with them."""
        return frozenset(self._apart[0])

    @cached_property
    def even_spread(self) -> float:
        """Weight per thread × capacity if all that can be balanced were spread evenly; 0 where that is nothing."""
        return self._apart[1]

    @cached_property
    def _apart(self) -> tuple[list[str], float, float]:
        """The oversized tasks, the even spread of the rest, and the capacity of the slowest thread that an oversized task
        needs."""
        fastest = sorted(_staying(self.state), key=lambda client: -client.capacity)
        weight = sum(self._weigh_copies(task) for task in self.state.tasks)
        size = sum(client.threads * client.capacity for client in fastest)
        oversized: list[str] = []
        slowest = 0.0
        threads, client = 0, 0
        for task in sorted(self.state.tasks, key=lambda task: -task.weight):
            if client == len(fastest):
                break
            capacity = fastest[client].capacity
            if task.weight * size <= weight * capacity * (1 + ROUNDING):
                break
            oversized.append(task.id)
            slowest = capacity
            weight -= self._weigh_copies(task)
            size -= capacity
            threads += 1
            if threads == fastest[client].threads:
                threads, client = 0, client + 1
        if len(oversized) == len(self.state.tasks):
            return oversized, 0.0, slowest
        rest = sum(self._weigh_copies(task) for task in self.state.tasks if task.id not in set(oversized))
        return oversized, rest / max(size, 1e-12), slowest

    @cached_property
    def _standbys(self) -> int:
        """Standbys of each logged task that weigh something: those on clients that stay."""
        return min(standbys_per_task(self.state), max(0, len(_staying(self.state)) - 1)) if self._standby_load else 0

    @property
    def _standby_load(self) -> float:
        return self.state.options.standby_load

    def _weigh_copies(self, task: TaskInfo) -> float:
        """Weight of the active copy and all standbys."""
        standbys = self._standbys if task.logged else 0
        return task.weight * (1 + self._standby_load * standbys) if standbys else task.weight

    def weigh_standby(self, task: TaskInfo) -> float:
        """A standby's weight on its client, in even spreads of a thread of capacity 1; oversized tasks as on a busy thread."""
        if not self._standby_load or not task.logged:
            return 0.0
        weight = self._apart[2] if task.id in self.oversized else task.weight / (self.even_spread or 1.0)
        return self._standby_load * weight

    def measure(self, placement: TaskPlacement) -> dict[str, float]:
        """Process id -> load: what it carries ÷ its size or, if that is more, its heaviest copy ÷ one thread's capacity.

        A standby on a draining client weighs nothing there, unless all drain.
        """
        clients = {client.process_id: client for client in self.state.clients}
        carried = dict.fromkeys(clients, 0.0)
        heaviest = dict.fromkeys(clients, 0.0)
        oversized_weight, even = self._apart[2], self.even_spread or 1.0
        for task in self.state.tasks:
            for process_id in placement.active[task.id]:
                busy = max(oversized_weight, clients[process_id].capacity)
                weight = busy if task.id in self.oversized else task.weight / even
                carried[process_id] += weight
                heaviest[process_id] = max(heaviest[process_id], weight)
            if not self._standby_load:
                continue
            weight = self.weigh_standby(task)
            for process_id in self._staying_ids.intersection(placement.standby[task.id]):
                carried[process_id] += weight
                heaviest[process_id] = max(heaviest[process_id], weight)
        return {
            name: max(carried[name] / (client.threads * client.capacity), heaviest[name] / client.capacity)
            for name, client in clients.items()
        }

    @cached_property
    def _staying_ids(self) -> frozenset[str]:
        return frozenset(client.process_id for client in _staying(self.state))

    def find_greatest(self, placement: TaskPlacement) -> float:
        """The greatest load of any client; a draining client's counts, too. 1.0 where nothing is active, or only oversized
        tasks are."""
        if not any(placement.active.values()):
            return 1.0
        return max(self.measure(placement).values())

    @cached_property
    def least_possible(self) -> float:
        """A lower bound of the greatest load: the mean, or the heaviest task on the fastest thread."""
        if not self.state.tasks:
            return 0.0
        oversized_weight, staying = self._apart[2], _staying(self.state)
        light = [task.weight / (self.even_spread or 1.0) for task in self.state.tasks if task.id not in self.oversized]
        heaviest = max([*light, *([oversized_weight] if self.oversized else [])], default=0.0)
        total = sum(light) + oversized_weight * len(self.oversized)
        if self._standbys:
            total += self._standbys * sum(self.weigh_standby(task) for task in self.state.tasks)
        mean = total / sum(client.threads * client.capacity for client in staying)
        fastest = max(client.capacity for client in staying)
        return max(mean, heaviest / fastest)

    def count_idle_threads(self, placement: TaskPlacement) -> int:
        """Threads without a task while other threads have two; those of draining clients do not count."""
        staying = _staying(self.state)
        number = dict.fromkeys((client.process_id for client in self.state.clients), 0)
        for clients in placement.active.values():
            for process_id in clients:
                number[process_id] += 1
        idle = sum(max(0, client.threads - number[client.process_id]) for client in staying)
        threads = sum(client.threads for client in staying)
        return max(0, idle - max(0, threads - len(self.state.tasks)))

    def is_balanced(self, placement: TaskPlacement, allowed: float | None = None) -> bool:
        """Whether the greatest load is within `load_tolerance` of the least possible, no thread idle while one has two.

        Nor does a draining client have an active task, unless all drain. `allowed`: up to which a load is balanced, where an
        answer tells a better bound of the least possible (`allowed_load`).
        """
        if allowed is None:
            allowed = (1 + self.state.options.load_tolerance) * self.least_possible
        staying = {client.process_id for client in _staying(self.state)}
        at_home = all(staying.issuperset(clients) for clients in placement.active.values())
        return at_home and self.find_greatest(placement) <= allowed * (1 + ROUNDING) and not self.count_idle_threads(placement)


def measure_shown_loads(state: ApplicationState, placement: TaskPlacement) -> dict[str, float]:
    """Process id -> load as lists show it: in even spreads if load is balanced, otherwise weight of actives per unit."""
    if balances_load(state):
        return {name: round(load, 6) for name, load in Loads(state).measure(placement).items()}
    weight = dict.fromkeys(state.kafka_streams_states, 0.0)
    for task in state.tasks:
        for process_id in placement.active[task.id]:
            weight[process_id] += task.weight
    return {c.process_id: round(weight[c.process_id] / (c.threads * c.capacity), 6) for c in state.clients}


def allowed_load(state: ApplicationState, answer: TaskAssignment, loads: Loads) -> float:
    """Up to which a load is balanced: within the tolerance of the answer's own bound of the least, or of `least_possible`."""
    bounds = (goal.bound for goal in answer.report.goals if goal.name == "load" and goal.bound is not None)
    return max([loads.least_possible, *bounds]) * (1 + state.options.load_tolerance) * (1 + ROUNDING)


def list_uncounted(state: ApplicationState) -> list[str]:
    """The tasks whose input is measured, and not for long enough yet; not those whose weight the options name."""
    rows = () if state.rates is None else state.rates.tasks
    here = (row for row in rows if row.task in state.all_tasks and find_fixed_weight(row.task, state.options) is None)
    return [row.task for row in here if not counts_as_weight(row)]


def find_counting_time(state: ApplicationState) -> str | None:
    """From when on all rates count, if the broker goes on telling the offsets; None where they do, or are not asked for."""
    at = find_counting_ms(state.rates) if list_uncounted(state) else None
    return None if at is None else format_ms(at)


def find_wait_for_rates_ms(state: ApplicationState) -> int | None:
    """How long it is until rates count that do not yet; None where there is nothing to wait for.

    None also if that time is past, because the broker told no offsets, or if no time has passed since the remembered answer:
    then rebalances are being played.
    """
    if not _would_balance_load(state.options) or state.taken_at is None or not list_uncounted(state):
        return None
    at = find_counting_ms(state.rates)
    if at is None:
        return None
    before = None if state.remembered is None else state.remembered.report.rates
    now = to_ms(state.taken_at)
    if before is not None and to_ms(before.taken_at) == now:
        return None
    assert state.rates is not None, "it has a time"
    # Sooner than a second after offsets were told last, nothing is measured: what is full in between is seen then.
    at = max(at, to_ms(state.rates.taken_at) + LEAST_MEASURED_MS)
    return at - now if at > now else None
