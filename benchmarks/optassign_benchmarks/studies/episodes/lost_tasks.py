"""Three of ten clients leave at once, in the simulator: how long tasks are down that have lost all their state.

Rates are either not known at first, or known as after an earlier restoration. The *bound* is of any placement, balanced or not,
that knows all rates: the largest lost changelog on the fastest client, or all of them on all clients at once, and the rebalance
that begins.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from optassign.formats.state import ApplicationState
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.known_rates import Forgetful, Knowing
from optassign_benchmarks.studies.episodes.time_to_balance import (
    KAFKA,
    KAFKA_INTERVAL_MS,
    OUR_INTERVAL_MS,
    RESTORE_S,
    Job,
)
from optassign_benchmarks.tables import Table, make_table

SEEDS = (101, *range(1, 25))
STATES = ("small", "medium")
TASKS, CLIENTS, SLOTS = 100, 10, 2


@dataclass(frozen=True)
class Loss:
    """A run; seconds, of tasks: task-seconds."""

    down_s: float
    longest_s: float
    """Of one task."""
    kafka_down_s: float
    kafka_longest_s: float
    bound_s: float
    """No one placement brings the last of the lost tasks back sooner."""


def run(*, quick: bool = False, jobs: int = 2) -> tuple[list[Table], list[str]]:
    """The table, and the cases in which optassign is worse than Kafka's default. quick: three seeds."""
    listed = [(state, knows, seed) for state in STATES for knows in (False, True) for seed in SEEDS[: 3 if quick else None]]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = dict(zip(listed, pool.map(play, *zip(*listed, strict=True)), strict=True))
    rows: dict[tuple[str, bool], list[Loss]] = {}
    for (state, knows, _), loss in found.items():
        rows.setdefault((state, knows), []).append(loss)
    return [tabulate(rows)], list(find_worse(rows))


def play(state: str, knows: bool, seed: int) -> Loss:
    """One group under both."""
    job = Job("loss", TASKS, CLIENTS, SLOTS, state, seed)
    seconds = 600.0 + 60 * RESTORE_S[state]
    scenario, kafkas = job.make_scenario(OUR_INTERVAL_MS, seconds), job.make_scenario(KAFKA_INTERVAL_MS, seconds)
    application = Application(scenario)
    assignor: Forgetful | Knowing = Forgetful("cp-sat", job.began_at)
    if knows:
        # The previous assignment is remembered, and rates with it.
        scenario = scenario.model_copy(update={"own_start": True})
        rates = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
        assignor = Knowing("cp-sat", job.began_at, rates)
    ours, kafka = simulate(scenario, assignor).felt, simulate(kafkas, KAFKA).felt
    assert assignor.first is not None
    bound = bound_longest(scenario, assignor.first[0])
    return Loss(ours.down_task_s, ours.longest_down_s, kafka.down_task_s, kafka.longest_down_s, bound)


def bound_longest(scenario: Scenario, first: ApplicationState) -> float:
    """Seconds until the last lost task is back, at least, wherever lost tasks are restored."""
    application = Application(scenario)
    rate = dict(zip(application.client_ids, application.restore_rates.tolist(), strict=True))
    rates = [rate[client.process_id] for client in first.clients]
    held = {task for client in first.clients for task in client.lags}
    sizes = [task.changelog_end_offset or 0 for task in first.tasks if task.logged and task.id not in held]
    if not sizes:
        return math.nan
    begins = scenario.group.pass_s + model_seconds(len(first.tasks), len(first.clients))
    return float(begins + max(sum(sizes) / sum(rates), max(sizes) / max(rates)))


def tabulate(rows: Mapping[tuple[str, bool], Sequence[Loss]]) -> Table:
    """A row for each state, with rates known and not."""
    head = (
        "state",
        "rates",
        "groups",
        "downtime, s",
        "Kafka's",
        "longest, s",
        "worst",
        "Kafka's",
        "worst",
        "bound",
        "longer than Kafka's in",
    )
    return make_table(
        head,
        ((state, "known" if knows else "not known", len(found), *_summarise(found)) for (state, knows), found in rows.items()),
    )


def _summarise(found: Sequence[Loss]) -> tuple[object, ...]:
    def mean(values: Iterable[float]) -> str:
        return f"{statistics.fmean(values):,.0f}"

    return (
        mean(loss.down_s for loss in found),
        mean(loss.kafka_down_s for loss in found),
        mean(loss.longest_s for loss in found),
        f"{max(loss.longest_s for loss in found):,.0f}",
        mean(loss.kafka_longest_s for loss in found),
        f"{max(loss.kafka_longest_s for loss in found):,.0f}",
        mean(loss.bound_s for loss in found),
        sum(loss.longest_s > loss.kafka_longest_s for loss in found),
    )


def find_worse(rows: Mapping[tuple[str, bool], Sequence[Loss]]) -> Iterator[str]:
    """Find groups with downtime above Kafka's default, in total or, in the mean, for the longest of one task."""
    for (state, knows), found in rows.items():
        name = f"{state}, rates {'known' if knows else 'not known'}"
        more = sum(loss.down_s > loss.kafka_down_s for loss in found)
        if more:
            yield f"{name}: more downtime than under Kafka's default in {more} of {len(found)} groups"
        ours, kafkas = (
            statistics.fmean(values) for values in zip(*((x.longest_s, x.kafka_longest_s) for x in found), strict=True)
        )
        if ours > kafkas:
            yield f"{name}: a task is down for {ours:.0f} s at the longest, {kafkas:.0f} s under Kafka's default"
