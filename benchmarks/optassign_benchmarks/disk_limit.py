"""The limit of disks and slots: the time of a list schedule that knows every rate and loses no moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.goals.plan.active_moves import count_active_moves
from optassign.measuring.placement import Placement, planned_placement
from optassign.measuring.ranks import Ranks
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario


@dataclass(slots=True)
class Copy:
    """A copy to be restored. Offsets, offsets per second."""

    client: str
    lag: float
    growth: float
    needs_slot: bool
    """If false, it restores from the start on: R3 to R5 have put it there."""
    is_awaited: bool = True
    """A task moves once it is restored."""
    acceptable: float = 0.0
    """Lag at which it counts as restored."""


def find_limit(scenario: Scenario, state: ApplicationState, first: TaskAssignment) -> tuple[float, int]:
    """Seconds that disks and slots allow, passes included, and the number of copies that take a slot."""
    application = Application(scenario)
    rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    growth = {name: application.mean_input[t] for t, name in enumerate(application.names)}
    ranks, now, plan = Ranks(state), Placement.of(state, first), planned_placement(state, first)
    acceptable = state.configs.acceptable_recovery_lag
    copies = []
    for task in state.tasks:
        if not task.logged:
            continue
        held, active = set(now.copies(task.id)), plan.active[task.id]
        for client in sorted(held | set(plan.copies(task.id))):
            cost = ranks.restore_cost(task.id, client)
            if not cost:
                continue
            if client in held:
                copies.append(Copy(client, cost, growth[task.id], needs_slot=False, is_awaited=client in active))
            else:
                copies.append(Copy(client, cost, growth[task.id], needs_slot=True, acceptable=acceptable))
    passes = 3 if first.plan is not None else 1 + bool(count_active_moves(state, now))
    each = scenario.group.pass_s + model_seconds(len(state.tasks), len(state.clients))
    seconds = schedule_restoring(copies, rates, scenario.configs.max_warmup_replicas, each)
    return seconds + passes * each, sum(copy.needs_slot for copy in copies)


def schedule_restoring(copies: Sequence[Copy], rates: Mapping[str, float], slots: int, pass_s: float) -> float:
    """Seconds until all copies that are awaited are restored, if a rebalance begins at once where a slot is free.

    A slot goes to the client with fewest slots, of these to the one with most seconds left, and there to the copy with most
    left. It is a rebalance that gives it, so between two copies it is empty for `pass_s` seconds. The copies that a client
    restores share its rate; every changelog grows by what is written, whether its copy waits or restores.
    """
    now, under_way = 0.0, [replace(copy) for copy in copies if not copy.needs_slot]
    queue = [replace(copy) for copy in copies if copy.needs_slot]
    used: Counter[str] = Counter()
    free_at = [0.0] * slots
    while any(copy.is_awaited for copy in (*queue, *under_way)):
        while queue and free_at and free_at[0] <= now:
            free_at.pop(0)
            best = _choose_next(queue, used, rates, now)
            queue.remove(best)
            best.lag += best.growth * now
            used[best.client] += 1
            under_way.append(best)
        number = Counter(copy.client for copy in under_way)
        closing = [rates[copy.client] / number[copy.client] - copy.growth for copy in under_way]
        times = [
            max(0.0, copy.lag - copy.acceptable) / speed for copy, speed in zip(under_way, closing, strict=True) if speed > 0
        ]
        if queue and free_at:
            times.append(free_at[0] - now)
        if not times:
            raise ValueError("changelogs grow faster than they are restored")
        step = min(times)
        now += step
        going: list[Copy] = []
        for copy, speed in zip(under_way, closing, strict=True):
            copy.lag -= speed * step
            if copy.lag > copy.acceptable + 1e-6 * rates[copy.client]:
                going.append(copy)
            elif copy.needs_slot:
                used[copy.client] -= 1
                free_at.append(now + pass_s)
        under_way = going
    return now


def _choose_next(queue: Sequence[Copy], used: Mapping[str, int], rates: Mapping[str, float], now: float) -> Copy:
    seconds: Counter[str] = Counter()
    for copy in queue:
        seconds[copy.client] += (copy.lag + copy.growth * now) / rates[copy.client]  # type: ignore[assignment]
    return min(queue, key=lambda copy: (used[copy.client], -seconds[copy.client], -copy.lag))
