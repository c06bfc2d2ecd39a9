"""Three of ten clients leave at once, in the simulator: the downtime of tasks that have lost all their state.

Rates are unknown at first, or known as after an earlier restoration. The *bound* holds for any placement, balanced or not, with
known rates: the largest lost changelog on the fastest client, or all of them on all clients at once, plus the opening
rebalance.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

from optassign.formats.state import ApplicationState
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow, count
from optassign_benchmarks.studies.time_to_balance import (
    KAFKA,
    KAFKA_INTERVAL_MS,
    OUR_INTERVAL_MS,
    RESTORE_S,
    Forgetful,
    Knowing,
    TimedGroup,
)

SEEDS = (101, *range(1, 25))
STATES = ("small", "medium")
TASKS, CLIENTS, SLOTS = 100, 10, 2


@dataclass(frozen=True)
class Loss:
    """The downtimes of a run; sums over tasks are task-seconds."""

    down_s: float
    longest_s: float
    """Longest downtime of one task."""
    kafka_down_s: float
    kafka_longest_s: float
    bound_s: float
    """Lower bound, for any placement, of the time until the last lost task is back."""


def play(group: tuple[str, bool, int], assignor: str = "cp-sat") -> dict[str, Loss]:
    """Play a group (its state, whether rates are known, its seed) under the assignor and under Kafka's default; return the
    loss."""
    state, knows, seed = group
    job = TimedGroup("loss", TASKS, CLIENTS, SLOTS, state, seed)
    seconds = 600.0 + 60 * RESTORE_S[state]
    scenario, kafkas = job.make_scenario(OUR_INTERVAL_MS, seconds), job.make_scenario(KAFKA_INTERVAL_MS, seconds)
    application = Application(scenario)
    watched: Forgetful | Knowing = Forgetful(assignor, job.began_at)
    if knows:
        # The previous assignment is remembered, and the rates with it.
        scenario = scenario.model_copy(update={"own_start": True})
        rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
        watched = Knowing(assignor, job.began_at, rates)
    ours, kafka = simulate(scenario, watched).measures, simulate(kafkas, KAFKA).measures
    assert watched.first is not None
    bound = bound_longest(scenario, watched.first[0])
    return {"loss": Loss(ours.down_task_s, ours.longest_down_s, kafka.down_task_s, kafka.longest_down_s, bound)}


def bound_longest(scenario: Scenario, first: ApplicationState) -> float:
    """Return a lower bound of the seconds until the last lost task is back, for any placement of lost tasks.

    NaN if no task is lost.
    """
    application = Application(scenario)
    rate = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    rates = [rate[client.process_id] for client in first.clients]
    held = {task for client in first.clients for task in client.lags}
    sizes = [task.changelog_end_offset or 0 for task in first.tasks if task.logged and task.id not in held]
    if not sizes:
        return math.nan
    begins = scenario.group.pass_s + model_seconds(len(first.tasks), len(first.clients))
    return float(begins + max(sum(sizes) / sum(rates), max(sizes) / max(rates)))


def _list_cases(quick: bool) -> Iterator[StudyCase]:
    for state, knows, seed in product(STATES, (False, True), SEEDS[: 3 if quick else None]):
        facts = {"state": state, "rates": "known" if knows else "not known", "seed": seed}
        yield StudyCase(partial(tuple, (state, knows, seed)), facts)


def _show(summary: Callable[[Iterable[float]], float], name: str) -> Callable[[list[StudyRow]], str]:
    return lambda rows: f"{summary(getattr(row.loss, name) for row in rows):,.0f}"


def find_worse(rows: list[StudyRow]) -> Iterator[str]:
    """Yield kinds of groups with more downtime than under Kafka's default: in any group or, on average, of the task that is
    down longest."""
    groups: dict[str, list[Loss]] = {}
    for row in rows:
        groups.setdefault(f"{row.state}, rates {row.rates}", []).append(row.loss)
    for name, found in groups.items():
        more = sum(loss.down_s > loss.kafka_down_s for loss in found)
        if more:
            yield f"{name}: more downtime than under Kafka's default in {more} of {len(found)} groups"
        ours, kafkas = (statistics.fmean(getattr(loss, of) for loss in found) for of in ("longest_s", "kafka_longest_s"))
        if ours > kafkas:
            yield f"{name}: a task is down for {ours:.0f} s at the longest, {kafkas:.0f} s under Kafka's default"


LOST_TASKS = Study(
    cases=_list_cases,
    assignors=("cp-sat",),
    parts=(play,),
    layouts=(
        Layout(
            {"state": "state", "rates": "rates"},
            {
                "groups": len,
                "downtime, s": _show(statistics.fmean, "down_s"),
                "downtime under Kafka's": _show(statistics.fmean, "kafka_down_s"),
                "longest, s": _show(statistics.fmean, "longest_s"),
                "worst": _show(max, "longest_s"),
                "longest under Kafka's": _show(statistics.fmean, "kafka_longest_s"),
                "worst under Kafka's": _show(max, "kafka_longest_s"),
                "bound": _show(statistics.fmean, "bound_s"),
                "longer than Kafka's in": count(lambda row: row.loss.longest_s > row.loss.kafka_longest_s),
            },
        ),
    ),
    demands=find_worse,
)
