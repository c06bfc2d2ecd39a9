"""The application of studies on a real broker whose groups start at rest, with their state on disks already."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import Inputs, StreamsApplication
from optassign_benchmarks.kafka.jars import PLUGIN_CLASS
from optassign_benchmarks.kafka.load import KINDS
from optassign_benchmarks.kafka.processes import NotReachedError, await_condition
from optassign_benchmarks.kafka.recovery.course import Wanted
from optassign_benchmarks.kafka.recovery.observer import Observer
from optassign_benchmarks.kafka.recovery.prepared import StateSize, bring, digest_application, keep, write_changelogs
from optassign_benchmarks.kafka.service import ServiceProcess

__all__ = [
    "COPIES",
    "DEFAULT",
    "HEARTBEAT_S",
    "HOLDS_S",
    "JAR",
    "LARGE",
    "LONGEST_S",
    "SERVICE",
    "SMALL",
    "STATIC",
    "WITH_PLUGIN",
    "GroupSetup",
    "PreparedGroups",
    "count_lost",
    "start_instances",
    "want",
]

DEFAULT, STATIC, JAR, SERVICE = "Kafka's default", "Kafka's default with static members", "jar alone", "jar with service"
WITH_PLUGIN = (JAR, SERVICE)
COPIES = 16
"""Number of copies of an instance of three."""
LONGEST_S = 240.0
"""Most seconds until a run ends after its event."""
HEARTBEAT_S = 3.0
"""Kafka's default of heartbeat.interval.ms."""
HOLDS_S = 2 * HEARTBEAT_S
"""Seconds for which a restored application must stay restored."""
_APPLICATION = "in-time"
_RATE = 300.0
"""Records per second into both subtopologies together."""
_KEYS = 100
"""Number of keys of the records of a partition. Their state is spread over the changelog, so a count shows any loss."""
_SESSION_MS, _STATIC_SESSION_MS = 10_000, 45_000
"""Static members must return before their session ends, so they have Kafka's default."""
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
    "main_consumer_heartbeat_interval_ms": round(1000 * HEARTBEAT_S),
    "producer_transaction_timeout_ms": 10_000,
}
"""Kafka's least probing interval; commit interval, heartbeat and transaction time-out are defaults under exactly_once_v2."""
LARGE = StateSize("large", {0: (150_000, 300_000), 1: (30_000, 90_000)})
SMALL = StateSize("small", {0: (15_000, 30_000), 1: (3_000, 9_000)})


@dataclass(frozen=True)
class GroupSetup:
    """The size of an application's state, and the settings of its instances."""

    state: StateSize
    assignor: str
    warmups: int

    def open(
        self, broker: Broker, folder: Path, *, has_topics: bool = True, service: ServiceProcess | None = None
    ) -> StreamsApplication:
        """Return the application without instances."""
        return StreamsApplication(
            broker,
            _APPLICATION,
            folder,
            Inputs(KINDS[:2], _KEYS, exist=has_topics),
            **_PROPERTIES,
            task_assignor_class=PLUGIN_CLASS if self.assignor in WITH_PLUGIN else None,
            optassign_url=None if service is None else service.url,
            max_warmup_replicas=self.warmups,
            main_consumer_session_timeout_ms=_STATIC_SESSION_MS if self.assignor == STATIC else _SESSION_MS,
        )


@dataclass(frozen=True)
class PreparedGroups:
    """Groups at rest in a folder; each is made at its first use."""

    folder: Path

    @contextmanager
    def start(
        self, setup: GroupSetup, instances: str, running: Path, service_options: Sequence[str] = ()
    ) -> Iterator[StreamsApplication]:
        """Yield a group whose instances have just started on the state of a group at rest. Records flow into it.

        instances: their names, one letter each; running: an empty folder for all files.
        """
        bring(self._find(setup.state, instances, setup.assignor), running)
        with ExitStack() as stack:
            broker = stack.enter_context(Broker(running / "broker"))
            has_service = setup.assignor == SERVICE
            service = (
                stack.enter_context(ServiceProcess(running / "service", "text", *service_options)) if has_service else None
            )
            group = stack.enter_context(setup.open(broker, running, service=service))
            group.load.continue_from(1)
            group.load.run(_RATE)
            start_instances(group, setup, *instances)
            yield group

    def _find(self, state: StateSize, instances: str, assignor: str) -> Path:
        """Return the folder with a group at rest, as its assignor has arranged it; make it if it is missing.

        A group under Kafka's default starts from the arrangement of Kafka's assignor, like a group that has always used it.
        """
        family = DEFAULT if assignor in (DEFAULT, STATIC) else JAR
        name = f"{state.name}-{instances}-{'jar' if family == JAR else 'default'}-{digest_application()}"
        kept = self.folder / "prepared" / name
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            before = self._find(state, instances[:-1], family) if len(instances) > 2 else None
            with tempfile.TemporaryDirectory(prefix="in-time-") as running:
                _make(Path(running), kept, GroupSetup(state, family, COPIES), instances, before)
        return kept


def _make(running: Path, kept: Path, setup: GroupSetup, instances: str, before: Path | None) -> None:
    if before is not None:
        bring(before, running)
    with Broker(running / "broker") as broker, setup.open(broker, running, has_topics=before is not None) as group:
        if before is None:
            write_changelogs(broker, _APPLICATION, _STORES, setup.state, _KEYS)
        group.start(*instances)
        with Observer(group, want(group, len(instances))) as observer:
            observer.await_restored(HOLDS_S, 2 * LONGEST_S)
        with ThreadPoolExecutor() as pool:
            list(pool.map(group.stop, instances))
        time.sleep(_SESSION_MS / 1000 + 2)  # they stay members until then, and a starting group would wait for them
        broker.process.stop()
        keep(running, kept, _APPLICATION)


def start_instances(group: StreamsApplication, setup: GroupSetup, *names: str) -> None:
    """Start instances, which are static members if the setup says so."""
    for name in names:
        group.configure(group_instance_id=f"S{name}" if setup.assignor == STATIC else None)
        group.start(name)


def want(group: StreamsApplication, instances: int) -> Wanted:
    """Return the state of a group of this many instances that is even and restored."""
    return Wanted(sorted(group.tasks), _STORES, instances, 1, _ACCEPTABLE_LAG)


def count_lost(group: StreamsApplication) -> int:
    """Stop writing, wait for the last results, and return the number of lost records, missing results included."""
    load = group.load
    load.run(0)
    with suppress(NotReachedError):
        await_condition("all results", lambda: load.read >= load.written, timeout=60)
    return load.lost + max(0, load.written - load.read)
