"""The time until an application on a real broker is even and restored after an event, in many runs of each configuration."""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.processes import NotReachedError
from optassign_benchmarks.kafka.recovery.busy import spin
from optassign_benchmarks.kafka.recovery.course import Recovery, judge
from optassign_benchmarks.kafka.recovery.observer import Observer
from optassign_benchmarks.kafka.recovery.prepared_groups import (
    COPIES,
    DEFAULT,
    HEARTBEAT_S,
    HOLDS_S,
    JAR,
    LARGE,
    LONGEST_S,
    SERVICE,
    SMALL,
    STATIC,
    WITH_PLUGIN,
    GroupSetup,
    PreparedGroups,
    count_lost,
    start_instances,
    want,
)
from optassign_benchmarks.repeated import PLUGIN_CODE, SERVICE_CODE, RepeatedCase, RepeatedStudy, Run
from optassign_benchmarks.runner import PlayedRow

_LOOPS = 4
_LOOPS_ALONE = 5.0
"""Seconds from the start of the loops until the event."""
SCALE_OUT, RESTART, KILL_ONE, KILL_TWO = "scale-out", "rolling restart", "kill of one", "kill of two"
_CODE = {JAR: PLUGIN_CODE, SERVICE: SERVICE_CODE}
"""The sources that a row's figures depend on. Kafka's default depends on none of optassign."""
QUIET, BUSY = "quiet", "busy"
_WARMUPS = (2, 4, 16)
_AS_CHOSEN = ((DEFAULT, 2), (DEFAULT, 16), (STATIC, 2), (JAR, 2), (JAR, 16), (SERVICE, 2))
"""Assignors and warm-ups as a user may choose them; 16 warm-ups tune Kafka's default, and the jar in the same way."""


@dataclass(frozen=True)
class _Plan:
    event: str
    machine: str
    setup: GroupSetup

    @property
    def before(self) -> str:
        """Return the names of the instances before the event, one letter each."""
        return "ab" if self.event == SCALE_OUT else "abc"

    @property
    def after(self) -> int:
        """Return the number of instances after the event."""
        return 2 if self.event == KILL_ONE else 3


def _list_cases(quick: bool) -> Iterator[RepeatedCase]:
    machines, states = ((QUIET,), (SMALL,)) if quick else ((QUIET, BUSY), (LARGE, SMALL))
    for event, machine, state in product((SCALE_OUT, RESTART, KILL_ONE, KILL_TWO)[: 1 if quick else None], machines, states):
        scaled = [*product((DEFAULT, JAR, SERVICE), _WARMUPS[-1:] if quick else _WARMUPS), *(() if quick else [(STATIC, 2)])]
        for assignor, warmups in scaled if event == SCALE_OUT else _AS_CHOSEN:
            facts = {"event": event, "machine": machine, "state": state.name, "assignor": assignor, "warm-ups": warmups}
            yield RepeatedCase(facts, _Plan(event, machine, GroupSetup(state, assignor, warmups)), _CODE.get(assignor, ()))


@contextmanager
def _open(folder: Path) -> Iterator[PreparedGroups]:
    yield PreparedGroups(folder)


def _play(prepared: PreparedGroups, case: RepeatedCase) -> Run:
    """Play one run: a group at rest, an event, and its course until the group is restored or the time is over."""
    plan: _Plan = case.plan
    with ExitStack() as stack:
        running = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="in-time-")))
        group = stack.enter_context(prepared.start(plan.setup, plan.before, running / "group"))
        with Observer(group, want(group, len(plan.before))) as before:
            before.await_restored(HOLDS_S, LONGEST_S)
        stack.enter_context(spin(_LOOPS, running / "loops") if plan.machine == BUSY else nullcontext())
        time.sleep(_LOOPS_ALONE if plan.machine == BUSY else 0)
        return _measure(plan, group, prepared.folder / "last" / case.name.replace(", ", "_").replace(" ", "-"))


def _join(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    start_instances(group, plan.setup, "c")


def _restart(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    """Restart the instances one by one, each once all tasks run after the previous restart."""
    for name in "abc":
        group.stop(name)
        start_instances(group, plan.setup, name)
        observer.await_complete(LONGEST_S)


def _kill_one(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    group.kill("c")


def _kill_two(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    """Kill two instances and start both again at once, as an orchestrator does."""
    for name in "bc":
        group.kill(name)
    start_instances(group, plan.setup, "b", "c")


_EVENTS: Mapping[str, Callable[[StreamsApplication, _Plan, Observer], None]] = {
    SCALE_OUT: _join,
    RESTART: _restart,
    KILL_ONE: _kill_one,
    KILL_TWO: _kill_two,
}


def _measure(plan: _Plan, group: StreamsApplication, saved: Path) -> Run:
    """Play the event and return the figures. saved: the folder for the samples and logs of the row's last run."""
    wanted = want(group, plan.after)
    group.load.begin_pauses()
    generation, read, load = group.generation, group.count_restored(), round(os.getloadavg()[0], 1)
    with Observer(group, wanted) as observer:
        start = time.time()
        problem = ""
        try:
            _EVENTS[plan.event](group, plan, observer)
            observer.await_restored(HOLDS_S, max(HOLDS_S, start + LONGEST_S - time.time()))
        except NotReachedError as error:
            problem = str(error).partition("\n")[0]
    lost = count_lost(group)
    found = judge(wanted, start, observer.samples, observer.read_answers(), HEARTBEAT_S)
    saved.mkdir(parents=True, exist_ok=True)
    observer.save(saved / "samples.jsonl")
    for name, log in group.read_logs().items():
        (saved / f"{name}.log").write_text(log, encoding="utf-8")
    return {
        "start": round(start, 3),
        "load": load,
        **_describe(found),
        "answers": [
            [round(one.at - start, 2), one.trigger, one.moved, one.warmups, one.followup_s]
            for one in observer.read_answers()
            if one.at >= start
        ],
        "latency_s": round(group.load.worst_latency, 2),
        "lost": lost,
        "doubled": group.load.doubled,
        "dead": len(group.deaths),
        "state_read": group.count_restored() - read,
        "rebalances": group.generation - generation,
        "problem": problem,
    }


def _describe(found: Recovery) -> Run:
    return {
        "noticed_s": _round(found.noticed_s),
        "even_s": _round(found.even_s),
        "restored_s": _round(found.restored_s),
        "restoring_s": _round(found.restoring_s),
        "waits": [[_round(one.at_s), one.asked_s, _round(one.under_way_s)] for one in found.waits],
        "expectations": [
            [_round(one.at_s), one.expected_s, _round(one.actual_s), _round(one.find_factor(HEARTBEAT_S))]
            for one in found.expectations
        ],
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _list_seconds(runs: Sequence[Run], name: str) -> list[float]:
    return [math.inf if run[name] is None else run[name] for run in runs]


def _show(seconds: float) -> str:
    return f"> {LONGEST_S:.0f}" if seconds == math.inf else f"{seconds:.1f}"


def _list_late(runs: Sequence[Run]) -> list[float]:
    """Return the seconds by which waits exceeded the time under way plus a heartbeat, for each wait that did."""
    beyond = [asked - under_way - HEARTBEAT_S for run in runs for _, asked, under_way in run["waits"]]
    return [seconds for seconds in beyond if seconds > 0]


def summarise(played: Sequence[tuple[RepeatedCase, Sequence[Run]]]) -> Iterator[PlayedRow]:
    """Yield a row with its faults for each case."""
    medians: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    defaults: dict[tuple[str, str, str, int], float] = {}
    for case, runs in played:
        plan = case.plan
        place = (plan.event, plan.machine, plan.setup.state.name)
        medians[place].append(statistics.median(run["restoring_s"] for run in runs))
        if plan.setup.assignor == DEFAULT:
            defaults[(*place, plan.setup.warmups)] = statistics.median(_list_seconds(runs, "restored_s"))
    for case, runs in played:
        plan = case.plan
        place = (plan.event, plan.machine, plan.setup.state.name)
        disks = min(medians[place])
        yield _summarise_one(case, runs, disks, defaults.get((*place, plan.setup.warmups)))


def _summarise_one(case: RepeatedCase, runs: Sequence[Run], disks: float, default: float | None) -> PlayedRow:
    noticed, even, restored = (_list_seconds(runs, f"{name}_s") for name in ("noticed", "even", "restored"))
    late = _list_late(runs)
    factors = [factor for run in runs for *_, factor in run["expectations"]]
    is_ours = case.plan.setup.assignor in WITH_PLUGIN
    cells = {
        **case.facts,
        "runs": len(runs),
        "load before, most": max(run["load"] for run in runs),
        "noticed after, s": _show(statistics.median(noticed)),
        "even after, s": _show(statistics.median(even)),
        "at worst": _show(max(even)),
        "restored after, s": _show(statistics.median(restored)),
        "restored at worst": _show(max(restored)),
        "disks need, s": round(disks, 1),
        "waits too long": len(late) if is_ours else "–",
        "longest beyond, s": f"{max(late, default=0):.1f}" if is_ours else "–",
        "time to target wrong by, times": f"{max(factors):.1f}" if factors else "–",
        "worst latency of a record, s": round(max(run["latency_s"] for run in runs), 1),
        "records lost": sum(run["lost"] for run in runs),
        "records doubled": sum(run["doubled"] for run in runs),
        "state read, records": round(statistics.median(run["state_read"] for run in runs)),
        "rebalances": round(statistics.median(run["rebalances"] for run in runs)),
    }
    faults = [
        *_find_faults(runs),
        *(_find_missed(case.plan, cells, disks, default, (noticed, even, restored)) if is_ours else ()),
    ]
    return PlayedRow(cells, tuple(f"{case.name}: {fault}" for fault in faults))


def _find_faults(runs: Sequence[Run]) -> Iterator[str]:
    for name in ("lost", "doubled", "dead"):
        if count := sum(run[name] for run in runs):
            yield f"{count} {'stream threads dead' if name == 'dead' else f'records {name}'}"


def _find_missed(
    plan: _Plan,
    cells: Mapping[str, object],
    disks: float,
    default: float | None,
    seconds: tuple[Sequence[float], Sequence[float], Sequence[float]],
) -> Iterator[str]:
    """Yield a line for each target that a row of optassign misses.

    disks: seconds that the disks need; default: seconds of Kafka's default with as many warm-ups, or None; seconds: of all
    runs until the first assignment, until even, and until restored. Scale-out targets count from the first assignment.
    """
    noticed, *reached = seconds
    steps = -(-COPIES // min(plan.setup.warmups, COPIES))
    beyond = 2 * HEARTBEAT_S * steps
    for what, ends in zip(("even", "restored"), reached, strict=True):
        values = [end - begun for end, begun in zip(ends, noticed, strict=True)]
        if plan.event == SCALE_OUT:
            for share, found, how in ((1.5, statistics.median(values), "in the median"), (2.0, max(values), "at worst")):
                most = share * disks + beyond
                if found > most:
                    yield f"{what} {_show(found)} s after the first assignment {how}; at most {most:.1f} demanded"
    if cells["waits too long"]:
        yield f"{cells['waits too long']} waits above the time under way plus a heartbeat, by {cells['longest beyond, s']} s"
    factor = str(cells["time to target wrong by, times"])
    if factor != "–" and float(factor) > 2:
        yield f"time-to-target-ms wrong by a factor of {factor}; at most 2 demanded"
    found = statistics.median(reached[1])
    if default is not None and found >= default:
        yield f"restored after {_show(found)} s, no faster than Kafka's default, {_show(default)} s"


IN_TIME = RepeatedStudy(
    name="in-time",
    cases=_list_cases,
    play=_play,
    open=_open,
    summarise=summarise,
)
"""More than a day: 112 rows, ten runs each, two to five minutes a run. A quick study plays three rows once."""
