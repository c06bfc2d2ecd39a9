"""Time to balance with the faults of a real group in the simulator: heartbeats, old lags, slow starts, and changing rates."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.timed.application import Application
from optassign.simulation.timed.followups import find_followup_s
from optassign.simulation.timed.scenario import Faults, Scenario, read_scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate
from optassign_benchmarks.bounds import find_limit
from optassign_benchmarks.jvm_planner import JvmPlanner
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow
from optassign_benchmarks.studies.time_to_balance import (
    KAFKA,
    NOISE,
    OUR_INTERVAL_MS,
    RESTORE_S,
    SEEDS,
    SHAPES,
    SIZES,
    SLOTS,
    TIME_TO_BALANCE,
    Forgetful,
    TimedGroup,
    make_case,
    seconds_of,
)

FAULTS = Faults(heartbeats=True, late=0.02, slow_start_s=2.5, slow_start_rate=0.15, noise_s=3.0)
"""Faults observed on a real broker: a heartbeat of 3 s, 16 to 36 thousand offsets in the first half second and 100 thousand
later."""
_JOIN_WITHIN_S = 5.0
"""Seconds between the first and the last client that joins."""
_MEDIAN, _WORST = 1.25, 2.0
"""Time ÷ limit that the study demands."""
_PLAYED_LIMITS, _PLAYED_MORE_S = 3.0, 600.0
"""Played time: a multiple of the limit, plus some seconds. A later settling does not count."""


class FaultWatcher(Forgetful):
    """An assignor that knows no rates when the group has changed, and records its waits and the times of restorations."""

    def __init__(self, name: str, at: float) -> None:
        super().__init__(name, at)
        self._since: dict[tuple[str, str], float] = {}
        self.waits: list[tuple[float, float]] = []
        """Seconds until the follow-up, and seconds since the oldest copy began to restore, for each answer with a follow-up."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the assignor's answer, and record its wait."""
        answer = super().assign(state)
        assert state.taken_at is not None
        now = seconds_of(state.taken_at)
        restoring = find_restoring(state, answer)
        self._since = {copy: self._since.get(copy, now) for copy in restoring}
        wait = find_followup_s(answer)
        if wait is not None:
            self.waits.append((wait, now - min(self._since.values(), default=now)))
        return answer


def find_restoring(state: ApplicationState, answer: TaskAssignment) -> set[tuple[str, str]]:
    """Return task and client of the assigned copies that are not caught up by the snapshot's lags."""
    logged = {task.id for task in state.tasks if task.logged}
    lags = {client.process_id: client.lags for client in state.clients}
    acceptable = state.configs.acceptable_recovery_lag
    return {
        (task, client.process_id)
        for client in answer.clients
        for task in (*client.active, *client.standby, *client.warmup)
        if task in logged and lags[client.process_id].get(task, math.inf) > acceptable
    }


@dataclass(frozen=True)
class FaultyBalance:
    """The result of a run, in seconds from the last client's join or leave."""

    limit_s: float
    time_s: float
    """Until the last rebalance, or until all copies are restored; infinite if not reached."""
    balanced_s: float
    rebalances: int
    """Number of rebalances; a second pass does not count."""
    passes: int
    moves: int
    overlong_s: float
    """The longest wait for a follow-up beyond the restoration so far plus a heartbeat; 0 if none."""
    disk_s: float = math.nan
    """Seconds that the disk of the third instance needs."""

    @property
    def ratio(self) -> float:
        """Return time ÷ limit."""
        return self.time_s / self.limit_s


def make_scenario(job: TimedGroup, seconds: float) -> Scenario:
    """Return the job's scenario with the faults; its clients join one after another, the last when the job begins."""
    scenario = job.make_scenario(OUR_INTERVAL_MS, seconds)
    dice, events = random.Random(job.seed), []
    for event in scenario.events:
        if event.do != "join":
            events.append(event)
            continue
        earlier = [*(dice.uniform(0, _JOIN_WITHIN_S) for _ in event.clients[1:]), 0.0]
        for client, by in zip(event.clients, earlier, strict=True):
            events.append(event.model_copy(update={"at": event.at - by, "clients": (client,)}))
    group = scenario.group.model_copy(update={"all_ask": True})
    return scenario.model_copy(update={"group": group, "faults": FAULTS, "events": tuple(events)})


def play(job: TimedGroup, assignor: str = "cp-sat") -> dict[str, FaultyBalance]:
    """Play a job for `_PLAYED_LIMITS` times its limit and `_PLAYED_MORE_S` seconds; return its `outcome`."""
    watched = FaultWatcher(assignor, job.began_at)
    short = make_scenario(job, 60.0)
    simulate(short, watched)
    limit = _find_limit_of(short, watched, job.began_at)
    watched = FaultWatcher(assignor, job.began_at)
    played = simulate(make_scenario(job, _PLAYED_LIMITS * limit + _PLAYED_MORE_S), watched)
    last = [event for event in played.events if event["event"] == "rebalance"][-1]
    settled = last["at"] - job.began_at if last["followup_s"] is None else math.inf
    return {"outcome": _describe(played, watched, limit, settled, job.began_at)}


def _find_limit_of(scenario: Scenario, watched: FaultWatcher, began_at: float, *, with_standbys: bool = False) -> float:
    """Return the seconds that disks and slots need from `began_at`, by the first answer (`bounds.find_limit`)."""
    assert watched.first is not None
    state, answer = watched.first
    assert state.taken_at is not None
    opening_s = seconds_of(state.taken_at) - began_at
    return float(find_limit(scenario, state, answer, opening_s=opening_s, with_standbys=with_standbys)[0])


def _describe(played: SimulatedRun, watched: FaultWatcher, limit: float, time_s: float, began_at: float) -> FaultyBalance:
    rebalances = [event for event in played.events if event["event"] == "rebalance" and event["at"] >= began_at]
    heartbeat_s = played.scenario.group.heartbeat_s
    return FaultyBalance(
        limit_s=limit,
        time_s=time_s,
        balanced_s=played.measures.balanced_since() - began_at,
        rebalances=sum(event["reason"] != "second pass" for event in rebalances),
        passes=len(rebalances),
        moves=played.measures.moves,
        overlong_s=max(0.0, *(wait - under_way - heartbeat_s for wait, under_way in watched.waits), 0.0),
    )


def list_groups(quick: bool) -> Iterator[TimedGroup]:
    """Yield the jobs with noise; at the larger size, where a job takes minutes, only medium state with the most warm-ups."""
    (tasks, clients), *larger = SIZES
    states, seeds = (("small", "medium"), SEEDS[:1]) if quick else (tuple(RESTORE_S), SEEDS)
    for shape, slots, state, seed in product(SHAPES, SLOTS, states, seeds):
        yield TimedGroup(shape, tasks, clients, slots, state, seed, NOISE)
    for tasks, clients in () if quick else larger:
        for shape in SHAPES:
            yield TimedGroup(shape, tasks, clients, max(SLOTS), "medium", SEEDS[0], NOISE)


def _ratios(rows: list[StudyRow]) -> list[float]:
    return [row.outcome.ratio for row in rows]


def find_slow(rows: list[StudyRow]) -> Iterator[str]:
    """Yield assignors that are too slow in the median, and runs that are too slow."""
    for assignor in dict.fromkeys(row.assignor for row in rows):
        own = [row for row in rows if row.assignor == assignor]
        median = statistics.median(_ratios(own))
        if median > _MEDIAN:
            yield f"{assignor}: {median:.2f} of the limit in the median, at most {_MEDIAN}"
        for row in own:
            if row.outcome.ratio > _WORST:
                yield f"{assignor}, {row.job}: {row.outcome.ratio:.2f} of the limit, at most {_WORST:g}"


def _show(form: str, summary: Callable[[list[float]], float], name: str) -> Callable[[list[StudyRow]], str]:
    def fill(rows: list[StudyRow]) -> str:
        value = summary([getattr(row.outcome, name) for row in rows])
        return "" if math.isnan(value) else format(value, form)

    return fill


_MEASURES = {
    "limit, s": _show(",.0f", statistics.median, "limit_s"),
    "time ÷ limit": _show(".2f", statistics.median, "ratio"),
    "worst": _show(".2f", max, "ratio"),
    "rebalances": _show(".0f", statistics.median, "rebalances"),
    "passes": _show(".0f", statistics.median, "passes"),
    "moves": _show(".0f", statistics.median, "moves"),
}
WITH_FAULTS = Study(
    cases=lambda quick: map(make_case, list_groups(quick)),
    assignors=("cp-sat", JvmPlanner.name),
    parts=(play,),
    layouts=(
        Layout({"assignor": "assignor", "warm-ups": "slots", "state": "state"}, {"runs": len, **_MEASURES}),
        Layout({"assignor": "assignor", "tasks × clients": "size", "shape": "shape", "warm-ups": "slots"}, _MEASURES),
    ),
    demands=find_slow,
)
"""The jobs of time-to-balance with faults; no rate is known at first."""

WARM_UPS = (2, 4, 16)
THIRD_SEEDS = tuple(range(101, 108))
_COPIES = 16
"""Copies that the third instance restores: eight active tasks and eight standbys."""


@dataclass(frozen=True)
class ThirdInstance:
    """A run of the scenario `third-instance`."""

    warm_ups: int
    seed: int

    def make_scenario(self, assignor: str) -> Scenario:
        """Return the scenario as Kafka plays it with the assignor: the plug-in has every client ask for follow-ups."""
        scenario = read_scenario("third-instance")
        configs = scenario.configs.model_copy(update={"max_warmup_replicas": self.warm_ups})
        group = scenario.group.model_copy(update={"all_ask": assignor != KAFKA})
        return scenario.model_copy(update={"seed": self.seed, "configs": configs, "group": group})


def play_third(job: ThirdInstance, assignor: str = "cp-sat") -> dict[str, FaultyBalance]:
    """Play a run until its end, and return the outcome."""
    scenario = job.make_scenario(assignor)
    (began_at,) = (event.at for event in scenario.events)
    watched = FaultWatcher(assignor, began_at)
    played = simulate(scenario, watched)
    # Kafka's default has no plan beyond its answer, so no schedule can be made.
    limit = math.nan if assignor == KAFKA else _find_limit_of(scenario, watched, began_at, with_standbys=True)
    outcome = _describe(played, watched, limit, find_restored(played) - began_at, began_at)
    application = Application(scenario)
    disk_s = float(application.end.sum()) * 2 / 3 / float(application.restore_rates[-1])
    return {"outcome": replace(outcome, disk_s=disk_s)}


def find_restored(played: SimulatedRun) -> float:
    """Return the time from which tasks stay balanced and all copies restored until the end; infinite if the end is not so."""
    since = math.inf
    for point in reversed(played.measures.curve):
        if point.client_imbalance or point.standbys_missing or point.restoring or point.down:
            break
        since = point.at
    return since


def find_late(rows: list[StudyRow]) -> Iterator[str]:
    """Yield numbers of warm-ups under which the third instance is late, and overlong waits."""
    kafka = {n: statistics.median(_times(rows, KAFKA, n)) for n in WARM_UPS}
    for assignor, n in product(dict.fromkeys(row.assignor for row in rows if row.assignor != KAFKA), WARM_UPS):
        own = [row.outcome for row in rows if row.assignor == assignor and row.warm_ups == n]
        heartbeats = 2 * read_scenario("third-instance").group.heartbeat_s * -(-_COPIES // n)
        disk = statistics.fmean(outcome.disk_s for outcome in own)
        median, worst = statistics.median(_times(rows, assignor, n)), max(_times(rows, assignor, n))
        case = f"{assignor}, {n} warm-ups"
        if median > 1.5 * disk + heartbeats:
            yield f"{case}: restored after {median:.0f} s in the median, at most {1.5 * disk + heartbeats:.0f}"
        if worst > 2 * disk + heartbeats:
            yield f"{case}: restored after {worst:.0f} s at worst, at most {2 * disk + heartbeats:.0f}"
        if median >= kafka[n]:
            yield f"{case}: restored after {median:.0f} s in the median, Kafka's default {kafka[n]:.0f}"
        overlong = max(outcome.overlong_s for outcome in own)
        if overlong > 0:
            yield f"{case}: a wait {overlong:.0f} s longer than copies had been under way and a heartbeat"


def _times(rows: list[StudyRow], assignor: str, warm_ups: int) -> list[float]:
    return [row.outcome.time_s for row in rows if row.assignor == assignor and row.warm_ups == warm_ups]


def _list_thirds(quick: bool) -> Iterator[StudyCase]:
    for n, seed in product(WARM_UPS, THIRD_SEEDS[:3] if quick else THIRD_SEEDS):
        yield StudyCase(partial(ThirdInstance, n, seed), {"warm_ups": n, "seed": seed})


THIRD_INSTANCE = Study(
    cases=_list_thirds,
    assignors=("cp-sat", "greedy", JvmPlanner.name, KAFKA),
    parts=(play_third,),
    layouts=(
        Layout(
            {"assignor": "assignor", "warm-ups": "warm_ups"},
            {
                "runs": len,
                "disk, s": _show(".0f", statistics.median, "disk_s"),
                "even, s": _show(".0f", statistics.median, "balanced_s"),
                "restored, s": _show(".0f", statistics.median, "time_s"),
                "worst, s": _show(".0f", max, "time_s"),
                "wait too long by, s": _show(".0f", max, "overlong_s"),
                **_MEASURES,
            },
        ),
    ),
    demands=find_late,
)
"""The third instance of an application with short copies, as on a real broker. Kafka's default asks for a follow-up every
minute."""

TIME_TO_BALANCE_AND_FAULTS = (TIME_TO_BALANCE, WITH_FAULTS, THIRD_INSTANCE)
