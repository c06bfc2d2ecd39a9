"""The time until an application on a real broker is even and restored after an event, in many runs of each configuration."""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import Inputs, StreamsApplication
from optassign_benchmarks.kafka.jars import PLUGIN_CLASS
from optassign_benchmarks.kafka.load import KINDS
from optassign_benchmarks.kafka.processes import NotReachedError, await_condition
from optassign_benchmarks.kafka.recovery.busy import spin
from optassign_benchmarks.kafka.recovery.course import Recovery, Wanted, judge
from optassign_benchmarks.kafka.recovery.observer import Observer
from optassign_benchmarks.kafka.recovery.prepared import StateSize, bring, digest_application, keep, write_changelogs
from optassign_benchmarks.kafka.service import ServiceProcess
from optassign_benchmarks.repeated import PLUGIN_CODE, SERVICE_CODE, RepeatedCase, RepeatedStudy, Run
from optassign_benchmarks.runner import PlayedRow

APPLICATION = "in-time"
_LONGEST = 240.0
"""Most seconds until a run ends after its event."""
_HEARTBEAT = 3.0
"""Seconds; Kafka's default of heartbeat.interval.ms."""
_HOLDS = 2 * _HEARTBEAT
"""Seconds for which a restored application must stay restored."""
_RATE = 300.0
"""Records per second into both subtopologies together."""
_KEYS = 100
"""Number of keys of the records of a partition. Their state is spread over the changelog, so a count shows any loss."""
_SESSION_MS, _STATIC_SESSION_MS = 10_000, 45_000
"""Static members must return before their session ends, so they have Kafka's default."""
_LOOPS = 4
_LOOPS_ALONE = 5.0
"""Seconds from the start of the loops until the event."""
_ACCEPTABLE_LAG = 10_000
"""Kafka's default."""
_STORES = {0: "logged-counts", 1: "unlogged-counts"}
"""Both have a changelog here: `test.log.all`."""
_WORK_NS = 9_000
"""Additional processor time of each restored record. A copy of the large state thus takes two to five seconds alone, as with
larger records or slower disks, though a run copies little state."""
_PROPERTIES: Mapping[str, object] = {
    "test_log_all": True,
    "test_restore_work_ns": _WORK_NS,
    "acceptable_recovery_lag": _ACCEPTABLE_LAG,
    "num_standby_replicas": 1,
    "probing_rebalance_interval_ms": 60_000,
    "commit_interval_ms": 100,
    "main_consumer_heartbeat_interval_ms": round(1000 * _HEARTBEAT),
    "producer_transaction_timeout_ms": 10_000,
}
"""Kafka's least probing interval; commit interval, heartbeat and transaction time-out are defaults under exactly_once_v2."""
_LARGE = StateSize("large", {0: (150_000, 300_000), 1: (30_000, 90_000)})
_SMALL = StateSize("small", {0: (15_000, 30_000), 1: (3_000, 9_000)})

DEFAULT, STATIC, JAR, SERVICE = "Kafka's default", "Kafka's default with static members", "jar alone", "jar with service"
SCALE_OUT, RESTART, KILL_ONE, KILL_TWO = "scale-out", "rolling restart", "kill of one", "kill of two"
_OURS = (JAR, SERVICE)
_CODE = {JAR: PLUGIN_CODE, SERVICE: SERVICE_CODE}
"""The sources that a row's figures depend on. Kafka's default depends on none of optassign."""
QUIET, BUSY = "quiet", "busy"
_WARMUPS = (2, 4, 16)
_AS_CHOSEN = ((DEFAULT, 2), (DEFAULT, 16), (STATIC, 2), (JAR, 2), (JAR, 16), (SERVICE, 2))
"""Assignors and warm-ups as a user may choose them; 16 warm-ups tune Kafka's default, and the jar in the same way."""
_COPIES = 16
"""Number of copies of an instance after the scale-out."""


@dataclass(frozen=True)
class _Plan:
    event: str
    machine: str
    state: StateSize
    assignor: str
    warmups: int

    @property
    def before(self) -> str:
        """Return the names of the instances before the event, one letter each."""
        return "ab" if self.event == SCALE_OUT else "abc"

    @property
    def after(self) -> int:
        """Return the number of instances after the event."""
        return 2 if self.event == KILL_ONE else 3


def _list_cases(quick: bool) -> Iterator[RepeatedCase]:
    machines, states = ((QUIET,), (_SMALL,)) if quick else ((QUIET, BUSY), (_LARGE, _SMALL))
    for event, machine, state in product((SCALE_OUT, RESTART, KILL_ONE, KILL_TWO)[: 1 if quick else None], machines, states):
        scaled = [*product((DEFAULT, JAR, SERVICE), _WARMUPS[-1:] if quick else _WARMUPS), *(() if quick else [(STATIC, 2)])]
        for assignor, warmups in scaled if event == SCALE_OUT else _AS_CHOSEN:
            facts = {"event": event, "machine": machine, "state": state.name, "assignor": assignor, "warm-ups": warmups}
            yield RepeatedCase(facts, _Plan(event, machine, state, assignor, warmups), _CODE.get(assignor, ()))


@dataclass(frozen=True)
class _Prepared:
    """Prepared state in a folder; each kind is made at its first use."""

    folder: Path

    def find(self, state: StateSize, instances: str, assignor: str) -> Path:
        """Return the folder with a group at rest, as its assignor has arranged it; make it if it is missing.

        A group under Kafka's default starts from the arrangement of Kafka's assignor, like a group that has always used it.
        """
        family = DEFAULT if assignor in (DEFAULT, STATIC) else JAR
        name = f"{state.name}-{instances}-{'jar' if family == JAR else 'default'}-{digest_application()}"
        kept = self.folder / "prepared" / name
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            before = self.find(state, instances[:-1], family) if len(instances) > 2 else None
            with tempfile.TemporaryDirectory(prefix="in-time-") as running:
                _make(Path(running), kept, _Plan(SCALE_OUT, QUIET, state, family, _COPIES), instances, before)
        return kept


def _make(running: Path, kept: Path, plan: _Plan, instances: str, before: Path | None) -> None:
    if before is not None:
        bring(before, running)
    with Broker(running / "broker") as broker, _open_group(plan, broker, running, has_topics=before is not None) as group:
        if before is None:
            write_changelogs(broker, APPLICATION, _STORES, plan.state, _KEYS)
        group.start(*instances)
        with Observer(group, _want(group, len(instances))) as observer:
            observer.await_restored(_HOLDS, 2 * _LONGEST)
        with ThreadPoolExecutor() as pool:
            list(pool.map(group.stop, instances))
        time.sleep(_SESSION_MS / 1000 + 2)  # they stay members until then, and a starting group would wait for them
        broker.process.stop()
        keep(running, kept, APPLICATION)


def _open_group(
    plan: _Plan, broker: Broker, folder: Path, *, has_topics: bool = True, url: str | None = None
) -> StreamsApplication:
    return StreamsApplication(
        broker,
        APPLICATION,
        folder,
        Inputs(KINDS[:2], _KEYS, exist=has_topics),
        **_PROPERTIES,
        task_assignor_class=PLUGIN_CLASS if plan.assignor in _OURS else None,
        optassign_url=url,
        max_warmup_replicas=plan.warmups,
        main_consumer_session_timeout_ms=_STATIC_SESSION_MS if plan.assignor == STATIC else _SESSION_MS,
    )


def _want(group: StreamsApplication, instances: int) -> Wanted:
    return Wanted(sorted(group.tasks), _STORES, instances, 1, _ACCEPTABLE_LAG)


@contextmanager
def _open(folder: Path) -> Iterator[_Prepared]:
    yield _Prepared(folder)


def _play(prepared: _Prepared, case: RepeatedCase) -> Run:
    """Play one run: a group at rest, an event, and its course until the group is restored or the time is over."""
    plan: _Plan = case.plan
    kept = prepared.find(plan.state, plan.before, plan.assignor)
    with ExitStack() as stack:
        running = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="in-time-")))
        bring(kept, running)
        broker = stack.enter_context(Broker(running / "broker"))
        service = stack.enter_context(ServiceProcess(running / "service")) if plan.assignor == SERVICE else None
        group = stack.enter_context(_open_group(plan, broker, running, url=service.url if service else None))
        group.load.continue_from(1)
        group.load.run(_RATE)
        _start(group, plan, *plan.before)
        with Observer(group, _want(group, len(plan.before))) as before:
            before.await_restored(_HOLDS, _LONGEST)
        stack.enter_context(spin(_LOOPS, running / "loops") if plan.machine == BUSY else nullcontext())
        time.sleep(_LOOPS_ALONE if plan.machine == BUSY else 0)
        return _measure(plan, group, prepared.folder / "last" / case.name.replace(", ", "_").replace(" ", "-"))


def _start(group: StreamsApplication, plan: _Plan, *names: str) -> None:
    for name in names:
        group.configure(group_instance_id=f"S{name}" if plan.assignor == STATIC else None)
        group.start(name)


def _join(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    _start(group, plan, "c")


def _restart(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    """Restart the instances one by one, each once all tasks run after the previous restart."""
    for name in "abc":
        group.stop(name)
        _start(group, plan, name)
        observer.await_complete(_LONGEST)


def _kill_one(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    group.kill("c")


def _kill_two(group: StreamsApplication, plan: _Plan, observer: Observer) -> None:
    """Kill two instances and start both again at once, as an orchestrator does."""
    for name in "bc":
        group.kill(name)
    _start(group, plan, "b", "c")


_EVENTS: Mapping[str, Callable[[StreamsApplication, _Plan, Observer], None]] = {
    SCALE_OUT: _join,
    RESTART: _restart,
    KILL_ONE: _kill_one,
    KILL_TWO: _kill_two,
}


def _measure(plan: _Plan, group: StreamsApplication, saved: Path) -> Run:
    """Play the event and return the figures. saved: the folder for the samples and logs of the row's last run."""
    wanted = _want(group, plan.after)
    group.load.begin_pauses()
    generation, read, load = group.generation, group.count_restored(), round(os.getloadavg()[0], 1)
    with Observer(group, wanted) as observer:
        start = time.time()
        problem = ""
        try:
            _EVENTS[plan.event](group, plan, observer)
            observer.await_restored(_HOLDS, max(_HOLDS, start + _LONGEST - time.time()))
        except NotReachedError as error:
            problem = str(error).partition("\n")[0]
    _await_results(group)
    found = judge(wanted, start, observer.samples, observer.read_answers(), _HEARTBEAT)
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
        "lost": group.load.lost + max(0, group.load.written - group.load.read),
        "doubled": group.load.doubled,
        "dead": len(group.deaths),
        "state_read": group.count_restored() - read,
        "rebalances": group.generation - generation,
        "problem": problem,
    }


def _await_results(group: StreamsApplication) -> None:
    """Stop writing, and wait for the last results. Missing results count as lost afterwards."""
    group.load.run(0)
    try:
        await_condition("all results", lambda: group.load.read >= group.load.written, timeout=60)
    except NotReachedError:
        return


def _describe(found: Recovery) -> Run:
    return {
        "noticed_s": _round(found.noticed_s),
        "even_s": _round(found.even_s),
        "restored_s": _round(found.restored_s),
        "restoring_s": _round(found.restoring_s),
        "waits": [[_round(one.at_s), one.asked_s, _round(one.under_way_s)] for one in found.waits],
        "expectations": [
            [_round(one.at_s), one.expected_s, _round(one.actual_s), _round(one.find_factor(_HEARTBEAT))]
            for one in found.expectations
        ],
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _list_seconds(runs: Sequence[Run], name: str) -> list[float]:
    return [math.inf if run[name] is None else run[name] for run in runs]


def _show(seconds: float) -> str:
    return f"> {_LONGEST:.0f}" if seconds == math.inf else f"{seconds:.1f}"


def _list_late(runs: Sequence[Run]) -> list[float]:
    """Return the seconds by which waits exceeded the time under way plus a heartbeat, for each wait that did."""
    beyond = [asked - under_way - _HEARTBEAT for run in runs for _, asked, under_way in run["waits"]]
    return [seconds for seconds in beyond if seconds > 0]


def summarise(played: Sequence[tuple[RepeatedCase, Sequence[Run]]]) -> Iterator[PlayedRow]:
    """Yield a row with its faults for each case."""
    medians: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    defaults: dict[tuple[str, str, str, int], float] = {}
    for case, runs in played:
        plan = case.plan
        place = (plan.event, plan.machine, plan.state.name)
        medians[place].append(statistics.median(run["restoring_s"] for run in runs))
        if plan.assignor == DEFAULT:
            defaults[(*place, plan.warmups)] = statistics.median(_list_seconds(runs, "restored_s"))
    for case, runs in played:
        plan = case.plan
        place = (plan.event, plan.machine, plan.state.name)
        disks = min(medians[place])
        yield _summarise_one(case, runs, disks, defaults.get((*place, plan.warmups)))


def _summarise_one(case: RepeatedCase, runs: Sequence[Run], disks: float, default: float | None) -> PlayedRow:
    noticed, even, restored = (_list_seconds(runs, f"{name}_s") for name in ("noticed", "even", "restored"))
    late = _list_late(runs)
    factors = [factor for run in runs for *_, factor in run["expectations"]]
    is_ours = case.plan.assignor in _OURS
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
    steps = -(-_COPIES // min(plan.warmups, _COPIES))
    beyond = 2 * _HEARTBEAT * steps
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
    name=APPLICATION,
    cases=_list_cases,
    play=_play,
    open=_open,
    summarise=summarise,
)
"""More than a day: 112 rows, ten runs each, two to five minutes a run. A quick study plays three rows once."""
