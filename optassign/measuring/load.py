"""Load: weight of copies per thread × capacity, if weights differ (docs/reference/rules.md, "Balanced under load").

An active copy has the weight of its task, a standby `standby_load` times that weight (0 by default).

Loads are multiples of an even spread of all tasks that can be balanced. An *oversized* task is heavier than an even spread of
what remains without all heavier tasks, on the fastest free thread; it counts as one busy thread. No solver, no arrays.
"""

from dataclasses import dataclass
from functools import cached_property

from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import format_ms, to_ms
from optassign.formats.clients import KafkaStreamsState
from optassign.formats.configs import Options
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.formats.weighing import counts_as_weight, find_counting_ms, find_fixed_weight
from optassign.measuring.placement import TaskPlacement, standbys_per_task, staying_clients
from optassign_models.policy.constants import LEAST_MEASURED_MS, ROUNDING


def balances_load(state: ApplicationState) -> bool:
    """Return whether balance means load: weights differ, and no order of goals puts load after restore work."""
    return len({task.weight for task in state.tasks}) > 1 and _would_balance_load(state.options)


def _would_balance_load(options: Options) -> bool:
    """Return whether balance means load if weights differ."""
    if options.preset != "lexicographic":
        return False
    if options.goals is None:
        return True
    before = options.goals[: options.goals.index("restore_work")] if "restore_work" in options.goals else options.goals
    return "load" in before


@dataclass(frozen=True)
class Loads:
    """The loads of a snapshot's clients, for any placement of its tasks."""

    state: ApplicationState

    @cached_property
    def oversized(self) -> frozenset[str]:
        """The oversized tasks: a client that runs one exceeds an even spread."""
        return frozenset(self._apart[0])

    @cached_property
    def even_spread(self) -> float:
        """Weight of the other tasks per thread × capacity left by oversized tasks; 0 if all tasks are oversized."""
        return self._apart[1]

    @cached_property
    def _apart(self) -> tuple[list[str], float, float]:
        """(oversized tasks, even spread of the rest, capacity of the slowest thread with an oversized task; 0 without)."""
        by_capacity = sorted(staying_clients(self.state), key=lambda client: -client.capacity)
        weight = sum(self._weigh_copies(task) for task in self.state.tasks)
        size = sum(client.threads * client.capacity for client in by_capacity)
        oversized: list[str] = []
        slowest = 0.0
        threads, client = 0, 0
        for task in sorted(self.state.tasks, key=lambda task: -task.weight):
            if client == len(by_capacity):
                break
            capacity = by_capacity[client].capacity
            if task.weight * size <= weight * capacity * (1 + ROUNDING):
                break
            oversized.append(task.id)
            slowest = capacity
            weight -= self._weigh_copies(task)
            size -= capacity
            threads += 1
            if threads == by_capacity[client].threads:
                threads, client = 0, client + 1
        if len(oversized) == len(self.state.tasks):
            return oversized, 0.0, slowest
        apart = set(oversized)
        rest = sum(self._weigh_copies(task) for task in self.state.tasks if task.id not in apart)
        return oversized, rest / max(size, 1e-12), slowest

    @cached_property
    def _standbys(self) -> int:
        """The number of standbys with weight of each logged task: those that fit on clients that do not drain."""
        return min(standbys_per_task(self.state), max(0, len(staying_clients(self.state)) - 1)) if self._standby_load else 0

    @property
    def _standby_load(self) -> float:
        return self.state.options.standby_load

    def _weigh_copies(self, task: TaskInfo) -> float:
        standbys = self._standbys if task.logged else 0
        return task.weight * (1 + self._standby_load * standbys) if standbys else task.weight

    def weigh_active(self, task: TaskInfo, client: KafkaStreamsState) -> float:
        """Return an active copy's load on one thread of capacity 1, in even spreads; an oversized task takes a whole thread."""
        busy = max(self._apart[2], client.capacity)
        return busy if task.id in self.oversized else task.weight / (self.even_spread or 1.0)

    def weigh_standby(self, task: TaskInfo) -> float:
        """Return a standby's load on one thread of capacity 1, in even spreads; 0 if standbys have no weight."""
        if not self._standby_load or not task.logged:
            return 0.0
        weight = self._apart[2] if task.id in self.oversized else task.weight / (self.even_spread or 1.0)
        return self._standby_load * weight

    def measure(self, placement: TaskPlacement) -> dict[str, float]:
        """Return process id → load in even spreads: weight per thread × capacity or, if greater, heaviest copy ÷ capacity.

        Standbys on draining clients have no weight, unless all drain.
        """
        clients = {client.process_id: client for client in self.state.clients}
        carried = dict.fromkeys(clients, 0.0)
        heaviest = dict.fromkeys(clients, 0.0)
        for task in self.state.tasks:
            for process_id in placement.active[task.id]:
                weight = self.weigh_active(task, clients[process_id])
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
        return frozenset(client.process_id for client in staying_clients(self.state))

    def find_greatest(self, placement: TaskPlacement) -> float:
        """Return the greatest load of any client, draining clients included; 1.0 if no task is active."""
        if not any(placement.active.values()):
            return 1.0
        return max(self.measure(placement).values())

    @cached_property
    def least_possible(self) -> float:
        """A lower bound of the greatest load: the greater of the mean load and the heaviest task on the fastest thread."""
        if not self.state.tasks:
            return 0.0
        oversized_weight, staying = self._apart[2], staying_clients(self.state)
        light = [task.weight / (self.even_spread or 1.0) for task in self.state.tasks if task.id not in self.oversized]
        heaviest = max([*light, *([oversized_weight] if self.oversized else [])], default=0.0)
        total = sum(light) + oversized_weight * len(self.oversized)
        if self._standbys:
            total += self._standbys * sum(self.weigh_standby(task) for task in self.state.tasks)
        mean = total / sum(client.threads * client.capacity for client in staying)
        fastest = max(client.capacity for client in staying)
        return max(mean, heaviest / fastest)

    def count_idle_threads(self, placement: TaskPlacement) -> int:
        """Return the number of idle threads beyond those left over by too few tasks, on clients that do not drain."""
        staying = staying_clients(self.state)
        number = dict.fromkeys((client.process_id for client in self.state.clients), 0)
        for clients in placement.active.values():
            for process_id in clients:
                number[process_id] += 1
        idle = sum(max(0, client.threads - number[client.process_id]) for client in staying)
        threads = sum(client.threads for client in staying)
        return max(0, idle - max(0, threads - len(self.state.tasks)))

    def is_balanced(self, placement: TaskPlacement, allowed: float | None = None) -> bool:
        """Return whether the greatest load is allowed, no thread is idle while another has two tasks, and no draining client
        has an active task (unless all drain).

        `allowed`: the greatest balanced load; by default `least_possible` plus `load_tolerance`. The bound in an answer's
        report may allow more (`allowed_load`).
        """
        if allowed is None:
            allowed = (1 + self.state.options.load_tolerance) * self.least_possible
        staying = {client.process_id for client in staying_clients(self.state)}
        stay = all(staying.issuperset(clients) for clients in placement.active.values())
        return stay and self.find_greatest(placement) <= allowed * (1 + ROUNDING) and not self.count_idle_threads(placement)


def measure_shown_loads(state: ApplicationState, placement: TaskPlacement) -> dict[str, float]:
    """Return process id → load to display: in even spreads if load is balanced, otherwise weight of actives per thread ×
    capacity.
    """
    if balances_load(state):
        return {name: round(load, 6) for name, load in Loads(state).measure(placement).items()}
    weight = dict.fromkeys(state.kafka_streams_states, 0.0)
    for task in state.tasks:
        for process_id in placement.active[task.id]:
            weight[process_id] += task.weight
    return {c.process_id: round(weight[c.process_id] / (c.threads * c.capacity), 6) for c in state.clients}


def allowed_load(state: ApplicationState, answer: TaskAssignment, loads: Loads) -> float:
    """Return the greatest balanced load: `least_possible` or, if greater, the bound in the report, plus the tolerance."""
    bounds = (goal.bound for goal in answer.report.goals if goal.name == "load" and goal.bound is not None)
    return max([loads.least_possible, *bounds]) * (1 + state.options.load_tolerance) * (1 + ROUNDING)


def list_uncounted(state: ApplicationState) -> list[str]:
    """Return the tasks without a weight in the options whose input rates do not count as weights yet."""
    rows = () if state.rates is None else state.rates.tasks
    here = (row for row in rows if row.task in state.all_tasks and find_fixed_weight(row.task, state.options) is None)
    return [row.task for row in here if not counts_as_weight(row)]


def find_counting_time(state: ApplicationState) -> str | None:
    """Return when all input rates will count as weights (ISO 8601); None if they do already, or are not measured."""
    at = find_counting_ms(state.rates) if list_uncounted(state) else None
    return None if at is None else format_ms(at)


def find_wait_for_rates_ms(state: ApplicationState) -> int | None:
    """Return the milliseconds until all input rates count as weights; None if there is nothing to wait for.

    None also if that time is past (the broker reported no offsets), or if no time has passed since the remembered answer
    (rebalances are simulated).
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
    # Two readings less than LEAST_MEASURED_MS apart measure nothing.
    at = max(at, to_ms(state.rates.taken_at) + LEAST_MEASURED_MS)
    return at - now if at > now else None
