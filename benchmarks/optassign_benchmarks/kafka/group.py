"""A Kafka Streams application of several processes: start, stop, waits and common checks."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from optassign_benchmarks.kafka.broker import Brokers
from optassign_benchmarks.kafka.instance import AssignedTasks, LedRebalance, RunningInstance, Status
from optassign_benchmarks.kafka.jars import PLUGIN_CLASS
from optassign_benchmarks.kafka.load import KEYS_PER_PARTITION, KINDS, PARTITIONS, Load
from optassign_benchmarks.kafka.processes import await_condition


@dataclass(frozen=True)
class TasksByInstance:
    """The tasks of each instance by role: instance name → task ids."""

    active: Mapping[str, frozenset[str]]
    standby: Mapping[str, frozenset[str]]

    def __str__(self) -> str:
        return "; ".join(f"{n}: {sorted(self.active[n])} {sorted(self.standby[n])}" for n in sorted(self.active))

    def assert_balanced(self, standbys: int) -> None:
        """Raise AssertionError unless tasks are balanced over all instances, and each logged task has its standbys on other
        instances."""
        for number, kind in enumerate(KINDS):
            self._assert_even(f"active tasks of {kind}", {n: _count_of(number, tasks) for n, tasks in self.active.items()})
        self._assert_even("active tasks", {name: len(tasks) for name, tasks in self.active.items()})
        self._assert_even(
            "copies", {name: _count_of(0, tasks) + len(self.standby[name]) for name, tasks in self.active.items()}
        )
        copies = Counter(task for tasks in self.standby.values() for task in tasks)
        wanted = {f"0_{p}": min(standbys, len(self.active) - 1) for p in range(PARTITIONS)}
        assert copies == Counter(wanted), f"standbys per task: found {copies}, expected {wanted}"
        both = {name: tasks & self.standby[name] for name, tasks in self.active.items() if tasks & self.standby[name]}
        assert not both, f"active and standby on one instance: {both}"

    def _assert_even(self, what: str, counts: Mapping[str, int]) -> None:
        assert max(counts.values()) - min(counts.values()) <= 1, f"{what} are not even: {counts}: {self}"


def _count_of(subtopology: int, tasks: Iterable[str]) -> int:
    return sum(task.startswith(f"{subtopology}_") for task in tasks)


LAG = 100
"""acceptable.recovery.lag: more than a copy lags under this load, and less than a client without state lags."""
PRELOAD = 300
"""Records per partition to write at the start, so that a client without state is not caught up."""
MOST_PROBES = 12
"""Follow-ups after which an application counts as not settling."""
_REPEAT_REQUEST_S = 20.0
"""Seconds after which a requested rebalance that has not begun is requested again."""
_STORE = "logged-counts"
_NO_REBALANCE = LedRebalance(-1, False, "")


@dataclass(frozen=True)
class Inputs:
    """The input topics of an application, one for each subtopology."""

    kinds: tuple[str, ...] = KINDS
    keys: int = KEYS_PER_PARTITION
    """Number of different keys in each partition."""
    exist: bool = False
    """Whether the broker has the topics already."""


_ALL_KINDS = Inputs()


class StreamsApplication:
    """An application on a broker; a context manager that ends its processes and its load."""

    def __init__(
        self, broker: Brokers, application: str, folder: Path, inputs: Inputs = _ALL_KINDS, /, **properties: object
    ) -> None:
        """Create the topics; start no instance. `properties`: of Kafka Streams or the plug-in, with `_` for `.`; None removes a
        default."""
        self.application = application
        self.jars: str | None = None
        """The class path of instances started from now on; None for the default, with or without the plug-in."""
        self.instances: dict[str, RunningInstance] = {}
        self._past: list[RunningInstance] = []
        self._since = 0
        self._owned: dict[str, list[str]] = {}
        self._broker = broker
        self._folder = folder / application
        self._properties: dict[str, object] = {
            "application.id": application,
            "bootstrap.servers": broker.address,
            "task.assignor.class": PLUGIN_CLASS,
            "processing.guarantee": "exactly_once_v2",
            "num.standby.replicas": 1,
            "max.warmup.replicas": PARTITIONS,
            "acceptable.recovery.lag": LAG,
            "commit.interval.ms": 200,
            "statestore.cache.max.bytes": 0,  # otherwise several counts of a key become one record of the changelog
            "default.key.serde": "org.apache.kafka.common.serialization.Serdes$StringSerde",
            "default.value.serde": "org.apache.kafka.common.serialization.Serdes$StringSerde",
            # The session time-out notices a killed process; the transaction time-out aborts its last writes.
            "main.consumer.session.timeout.ms": 5000,
            "producer.transaction.timeout.ms": 6000,
            "producer.max.in.flight.requests.per.connection": 1,  # otherwise batches may change their order
            "main.consumer.heartbeat.interval.ms": 500,
        }
        if inputs.kinds != KINDS:
            self._properties["test.kinds"] = ",".join(inputs.kinds)
        self.configure(**properties)
        if not inputs.exist:
            broker.create_topics([f"{application}-{kind}-{way}" for kind in inputs.kinds for way in ("in", "out")], PARTITIONS)
        counted = KINDS[:2] if self._properties.get("test.log.all") else KINDS[:1]
        self.load = Load(broker.address, application, inputs.kinds, counted, inputs.keys)
        self.tasks = frozenset(f"{number}_{p}" for number in range(len(inputs.kinds)) for p in range(PARTITIONS))

    def configure(self, **properties: object) -> None:
        """Set properties of instances started from now on, with `_` for `.`; None removes a property."""
        self._properties.update({name.replace("_", "."): value for name, value in properties.items()})
        self._properties = {name: value for name, value in self._properties.items() if value is not None}

    def start(self, *names: str, plugin: bool = True) -> None:
        """Start processes without waiting, each in the folder of its last run, if any. ValueError if a name is running.
        `plugin`: whether the class path has the plug-in's jar."""
        self.mark()
        for name in names:
            if name in self.instances:
                raise ValueError(f"{name} is running")
            self.instances[name] = RunningInstance(name, self._folder / name, self._properties, plugin=plugin, jars=self.jars)

    def kill(self, name: str) -> None:
        """Kill a process by SIGKILL."""
        self._end(name, RunningInstance.kill)

    def stop(self, name: str) -> None:
        """Close a process as Kafka Streams does by default, without leaving the group."""
        self._end(name, RunningInstance.stop)

    def leave(self, name: str) -> None:
        """Close a process; its consumers leave the group at once."""
        self._end(name, RunningInstance.leave)

    def pause(self, name: str) -> RunningInstance:
        """Suspend a process by SIGSTOP, remove it from `instances`, and return it for `resume`."""
        self.mark()
        paused = self.instances.pop(name)
        paused.process.pause()
        self._past.append(paused)
        return paused

    def resume(self, paused: RunningInstance) -> None:
        """Continue a process after `pause`."""
        self.mark()
        self._past.remove(paused)
        self.instances[paused.name] = paused
        paused.process.resume()

    @property
    def leader(self) -> str:
        """Return the name of the running instance that led the last rebalance."""
        return max(self.instances.values(), key=lambda each: max(each.led_rebalances(), default=_NO_REBALANCE)).name

    @property
    def at_rest(self) -> bool:
        """Return whether the last rebalance asked for no further one."""
        return self.rebalances[-1].stable

    @property
    def rebalances(self) -> list[LedRebalance]:
        """Return all rebalances that instances have led so far, in order of generation."""
        return sorted({each for one in self._all_instances() for each in one.led_rebalances()})

    @property
    def generation(self) -> int:
        """Return the greatest generation that all consumers of an instance have reported; -1 before the first."""
        return max((each.generation for each in self._all_instances()), default=-1)

    @property
    def deaths(self) -> list[str]:
        """Return a line for each stream thread that died, in all instances ever started here."""
        return [death for each in self._all_instances() for death in each.deaths]

    def count_restored(self) -> int:
        """Return the number of records that all instances ever started here have read from changelogs."""
        statuses = [each.status() for each in self._all_instances()]
        return sum(status.restored_active + status.restored_standby for status in statuses)

    def await_complete(self, after: int = -1) -> TasksByInstance:
        """Wait for a generation later than `after` in which every task is active exactly once and all processes run; return the
        tasks.

        The first pass of a rebalance, in which tasks are revoked, does not count.
        """
        last: dict[str, Status] = {}

        def generations() -> dict[str, int]:
            return {name: each.generation for name, each in self.instances.items()}

        def complete() -> bool:
            self.assert_nothing_died()
            before = generations()
            last.clear()
            last.update({name: each.status() for name, each in self.instances.items()})
            active = Counter(task for status in last.values() for task in status.active)
            return (
                all(status.state == "RUNNING" and set(status.threads) == {"RUNNING"} for status in last.values())
                and active == Counter(self.tasks)
                # All have reported the same generation, and it is the last.
                and before == generations()
                and set(before.values()) == {self.generation}
                and self.generation > after
            )

        await_condition(
            f"{self.application}: a generation after {after} with every task active exactly once, all processes running",
            complete,
            found=lambda: f"generations {generations()}, {last}",
            logs=self.logs,
        )
        return TasksByInstance(
            {name: frozenset(status.active) for name, status in last.items()},
            {name: frozenset(status.standby) for name, status in last.items()},
        )

    def await_caught_up(self) -> None:
        """Wait until every copy with a changelog has begun to restore and lags by at most `LAG`."""
        behind: dict[str, str] = {}

        def caught_up() -> bool:
            self.assert_nothing_died()
            behind.clear()
            for name, each in self.instances.items():
                status = each.status()
                for task in {*status.active, *status.standby}:
                    number, _, partition = task.partition("_")
                    lag = status.lags.get(f"{_STORE}/{partition}") if number == "0" else 0
                    if lag is None or lag > LAG:
                        behind[f"{name} {task}"] = "not begun" if lag is None else str(lag)
            return not behind

        await_condition(f"{self.application}: all copies caught up", caught_up, found=lambda: behind, logs=self.logs)

    def probe(self) -> TasksByInstance:
        """Request a rebalance as a follow-up does, and return the tasks once the rebalance is complete.

        The request is repeated after a while, since a consumer loses a request that arrives while it joins.
        """
        before, asked_at = self.generation, -math.inf

        def begun() -> bool:
            nonlocal asked_at
            self.assert_nothing_died()
            if time.monotonic() - asked_at > _REPEAT_REQUEST_S:
                next(iter(self.instances.values())).rebalance()
                asked_at = time.monotonic()
            return self.generation > before

        await_condition(f"{self.application}: a generation after {before}, which it was asked for", begun, logs=self.logs)
        return self.await_complete(after=before)

    def settle(self, most_probes: int = MOST_PROBES, *, returning: bool = False) -> int:
        """Play the follow-ups that the assignor asks for, each after restoration has finished, and return their number.

        AssertionError for more than `most_probes` follow-ups, or if a rebalance of a stable group changes the assignment. Also,
        unless `returning`, if a task with a store returned to an instance that had given it away since the last `mark`.
        """
        placement, at_rest = self._await_view()
        history = [placement]
        while not at_rest:
            if len(history) > most_probes:
                raise AssertionError(self._describe_history(f"follow-ups still asked for after {most_probes}", history))
            self.await_caught_up()
            self.probe()
            placement, at_rest = self._await_view()
            history.append(placement)
        self.await_caught_up()
        self.probe()
        placement, at_rest = self._await_view()
        history.append(placement)
        if history[-1] != history[-2] or not at_rest:
            raise AssertionError(self._describe_history("at rest, and a rebalance changed something", history))
        if returning:
            return len(history) - 2
        # Offload lends stateless tasks, which need no restoration, until their owners on target are ready.
        lent = f"{KINDS.index('stateless')}_"
        owners = {task: names for task, names in self.owners().items() if not task.startswith(lent)}
        back = {task: names for task, names in owners.items() if len(names) > len(set(names))}
        assert not back, self._describe_history(f"tasks came back to who had given them away: {back}", history)
        return len(history) - 2

    def _await_view(self) -> tuple[TasksByInstance, bool]:
        """Wait until the last generation runs, and return its placement and whether it asked for no further rebalance."""
        seen: list[tuple[TasksByInstance, bool]] = []

        def same() -> bool:
            before = self.generation
            placement, last = self.await_complete(), self.rebalances[-1]
            seen[:] = [(placement, last.stable)]
            return before == last.generation == self.generation

        await_condition(f"{self.application}: a generation that nothing follows at once", same, logs=self.logs)
        return seen[0]

    def owners(self) -> dict[str, list[str]]:
        """Return task → its owners since the last `mark`, in order."""
        owners = {task: list(self._owned.get(task, [])) for task in sorted(self.tasks)}
        for event, name in self._events(self._all_instances()):
            for task in event.active if event.order >= self._since else ():
                if owners[task][-1:] != [name]:
                    owners[task].append(name)
        return owners

    def read_logs(self) -> dict[str, str]:
        """Return name → log, for all instances ever started here; restarts of an instance share one log."""
        logs: dict[str, str] = {}
        for each in self._all_instances():  # oldest first: its log includes those of its successors
            if each.name not in logs:
                logs[each.name] = each.read_log()
        return logs

    def mark(self) -> None:
        """Restart `owners` from the present owners. Called whenever this class starts or ends an instance.

        The group may notice a stopped instance only after its restart, or never. In that case call `mark` again when the
        instance has returned. Otherwise a task that the instance owned before and owns again would count as returned.
        """
        now = {(name, event.consumer): event for event, name in self._events(self.instances.values())}
        self._owned = {task: [name] for (name, _), event in now.items() for task in event.active}
        self._since = max((event.order for event, _ in self._events(self._all_instances())), default=-1) + 1

    def logs(self) -> list[Path]:
        """Return the log files of all instances and of the broker, for failure messages."""
        return [*(each.log for each in self._all_instances()), self._broker.log]

    def close(self) -> None:
        """End all processes and the load; only their logs stay on disk."""
        for each in self._all_instances():
            each.kill()
            each.delete_state()
        self.load.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _describe_history(self, what: str, history: Sequence[TasksByInstance]) -> str:
        return "\n".join([f"{self.application}: {what}", *map(str, history)])

    def _end(self, name: str, how: Callable[[RunningInstance], None]) -> None:
        self.mark()
        how(self.instances[name])
        self._past.append(self.instances.pop(name))

    @staticmethod
    def _events(instances: Iterable[RunningInstance]) -> list[tuple[AssignedTasks, str]]:
        """Return (event, name of the instance) for each consumer's report of active tasks, in order."""
        return sorted(((event, one.name) for one in instances for event in tuple(one.assigned)), key=lambda each: each[0].order)

    def _all_instances(self) -> Iterable[RunningInstance]:
        return [*self._past, *self.instances.values()]

    def assert_nothing_died(self) -> None:
        """Raise AssertionError if a stream thread died, or a process ended that this class did not end."""
        gone = [
            f"{name}: exit code {each.process.exit_code}" for name, each in self.instances.items() if not each.process.alive
        ]
        found = [*self.deaths, *gone]
        assert not found, f"{self.application}: {found}"
