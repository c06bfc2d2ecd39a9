"""The course of an application after an event, judged by its statuses and logs in the same way under any assignor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from optassign_benchmarks.kafka.instance import Status

_LINE = re.compile(
    r"^(?P<time>\S+) .*(?:"
    r"optassign: .*answered_by=\S+ active_moved=(?P<moved>\d+) warmups=(?P<warmups>\d+) followup_ms=(?P<followup>\w+) "
    r"total_ms=\d+ round_trip_ms=\w+ (?:waits_for=\w+ )?trigger=(?P<trigger>\S+)"
    r"|Finished (?P<unstable>un)?stable assignment of tasks"
    r"|Finished assignment for group at generation (?P<generation>\d+))",
    re.MULTILINE,
)
"""The lines of a rebalance in its leader's log, in this order: of the plug-in, of Kafka Streams, of the consumer."""

_LATE = 0.75
"""Seconds after an assignment within which a sample may have older statuses."""


@dataclass(frozen=True, order=True)
class LoggedAnswer:
    """An assignment, as its leader logged it."""

    at: float
    """Seconds since 1970."""
    generation: int
    leader: str
    stable: bool
    """Whether Kafka Streams needs no further rebalance after it."""
    followup_s: float | None = None
    """Seconds until the follow-up that the plug-in asked for; None if it asked for none, or under another assignor."""
    moved: int | None = None
    """Active tasks that changed clients; None under another assignor."""
    warmups: int | None = None
    """Copies in warm-up slots; None under another assignor."""
    trigger: str = ""
    """The cause as the plug-in names it; empty under another assignor."""


def read_answers(leader: str, log: str) -> list[LoggedAnswer]:
    """Return the assignments of an instance's log in their order. Each line of the log begins with its time."""
    found: list[LoggedAnswer] = []
    plugin: dict[str, str | None] = {}
    stable = False
    for line in _LINE.finditer(log):
        if line["trigger"]:
            plugin = line.groupdict()
        elif line["generation"]:
            at = datetime.fromisoformat(line["time"]).timestamp()
            followup, moved, warmups = plugin.get("followup"), plugin.get("moved"), plugin.get("warmups")
            found.append(
                LoggedAnswer(
                    at,
                    int(line["generation"]),
                    leader,
                    stable,
                    None if followup in (None, "none") else int(str(followup)) / 1000,
                    None if moved is None else int(moved),
                    None if warmups is None else int(warmups),
                    plugin.get("trigger") or "",
                )
            )
            plugin = {}  # the next assignment may be another assignor's
        else:
            stable = not line["unstable"]
    return found


@dataclass(frozen=True)
class Sample:
    """The statuses of all instances at a moment."""

    at: float
    """Seconds since 1970."""
    statuses: Mapping[str, Status]


@dataclass(frozen=True)
class Wanted:
    """The state that an application must reach after an event."""

    tasks: Sequence[str]
    stores: Mapping[int, str]
    """Number of the subtopology -> name of its store."""
    instances: int
    standbys: int
    most_lag: int
    """The lag up to which a copy counts as caught up: acceptable.recovery.lag."""

    def find_behind(self, sample: Sample) -> set[tuple[str, str]]:
        """Return (instance, task) of each copy that has not caught up."""
        behind = set()
        for name, status in sample.statuses.items():
            for task in (*status.active, *status.standby):
                number, _, partition = task.partition("_")
                lag = status.lags.get(f"{self.stores[int(number)]}/{partition}")
                if lag is None or lag > self.most_lag:
                    behind.add((name, task))
        return behind

    def is_complete(self, sample: Sample) -> bool:
        """Return whether each task is active once and all instances run."""
        active = Counter(task for status in sample.statuses.values() for task in status.active)
        return (
            len(sample.statuses) == self.instances
            and active == Counter(self.tasks)
            and all(one.state == "RUNNING" and set(one.threads) == {"RUNNING"} for one in sample.statuses.values())
        )

    def is_even(self, sample: Sample) -> bool:
        """Return whether each task is active once and caught up, and instances differ by at most one active task."""
        counts = [len(status.active) for status in sample.statuses.values()]
        active = Counter(task for status in sample.statuses.values() for task in status.active)
        behind = self.find_behind(sample)
        return (
            len(counts) == self.instances
            and active == Counter(self.tasks)
            and max(counts) - min(counts) <= 1
            and not any((name, task) in behind for name, status in sample.statuses.items() for task in status.active)
        )

    def is_restored(self, sample: Sample) -> bool:
        """Return whether the group is complete and even, with exactly the wanted standbys on other instances, all caught up."""
        standby = Counter(task for status in sample.statuses.values() for task in status.standby)
        wanted = min(self.standbys, self.instances - 1)
        return (
            self.is_even(sample)
            and self.is_complete(sample)
            and standby == Counter(list(self.tasks) * wanted)
            and not any(set(one.active) & set(one.standby) for one in sample.statuses.values())
            and not self.find_behind(sample)
        )


@dataclass(frozen=True)
class Wait:
    """The time until a follow-up that the plug-in asked for."""

    at_s: float
    """Seconds after the event."""
    asked_s: float
    under_way_s: float
    """Time for which the oldest copy had been restoring, in seconds; 0 if no copy was."""


@dataclass(frozen=True)
class Expectation:
    """The time until the target as the plug-in expected it, and the actual time."""

    at_s: float
    """Seconds after the event."""
    expected_s: float
    actual_s: float

    def find_factor(self, slack: float) -> float:
        """Return the factor between both times, at least 1, with `slack` seconds added to each."""
        low, high = sorted((self.expected_s + slack, self.actual_s + slack))
        return high / low


@dataclass(frozen=True)
class Recovery:
    """The course after an event. Times are seconds after the event; None if the samples end earlier."""

    noticed_s: float | None
    """The first assignment."""
    even_s: float | None
    restored_s: float | None
    restoring_s: float
    """Time in seconds during which at least one copy was restoring."""
    waits: tuple[Wait, ...]
    expectations: tuple[Expectation, ...]
    """Expectations from the second step on."""


def judge(
    wanted: Wanted, start: float, samples: Sequence[Sample], answers: Sequence[LoggedAnswer], heartbeat: float
) -> Recovery:
    """Return the recovery after an event, judged by ordered samples and by assignments.

    `start`: the time of the event in seconds since 1970, before all samples. A copy is under way from the first sample in which
    it is behind. It counts as under way for another `heartbeat` seconds after the last such sample, since an assignor may get
    lags of that age.
    """
    later = [answer for answer in sorted(answers) if answer.at >= start]
    even = _find_lasting(samples, [wanted.is_even(sample) for sample in samples])
    rests = [_is_stable(sample.at, later) for sample in samples]
    restored = _find_lasting(
        samples, [at_rest and wanted.is_restored(sample) for sample, at_rest in zip(samples, rests, strict=True)]
    )
    behind = [wanted.find_behind(sample) for sample in samples]
    busy = sum(after.at - before.at for (before, after), copies in zip(pairwise(samples), behind, strict=False) if copies)
    return Recovery(
        later[0].at - start if later else None,
        None if even is None else even - start,
        None if restored is None else restored - start,
        busy,
        tuple(_list_waits(start, samples, behind, later, heartbeat)),
        () if restored is None else tuple(_list_expectations(start, restored, samples, later)),
    )


def _is_stable(at: float, answers: Sequence[LoggedAnswer]) -> bool:
    """Return whether the last assignment until `at` needs no further rebalance; true before the first assignment."""
    before = [answer.stable for answer in answers if answer.at <= at]
    return not before or before[-1]


def _find_lasting(samples: Sequence[Sample], holds: Sequence[bool]) -> float | None:
    """Return the start of the final unbroken run of samples for which `holds` is true; None if the last value is false."""
    since = None
    for sample, held in zip(samples, holds, strict=True):
        since = (sample.at if since is None else since) if held else None
    return since


def _list_waits(
    start: float,
    samples: Sequence[Sample],
    behind: Sequence[set[tuple[str, str]]],
    answers: Sequence[LoggedAnswer],
    heartbeat: float,
) -> Iterable[Wait]:
    for answer in answers:
        if answer.followup_s is None:
            continue
        since: dict[tuple[str, str], float] = {}
        last: dict[tuple[str, str], float] = {}
        for sample, copies in zip(samples, behind, strict=True):
            if sample.at > answer.at:
                break
            for copy in copies:
                if copy in last and sample.at - last[copy] > heartbeat:
                    del since[copy]  # it had caught up, and starts again
                since.setdefault(copy, sample.at)
                last[copy] = sample.at
        begun = [since[copy] for copy in since if answer.at - last[copy] <= heartbeat]
        yield Wait(answer.at - start, answer.followup_s, answer.at - min(begun, default=answer.at))


def _list_expectations(
    start: float, restored: float, samples: Sequence[Sample], answers: Sequence[LoggedAnswer]
) -> Iterable[Expectation]:
    """Yield the expectations from the first follow-up on, since the step before it has measured no rate."""
    steps = [n for n, answer in enumerate(answers) if answer.trigger == "followup"]
    for n in range(steps[0], len(answers)) if steps else ():
        answer = answers[n]
        until = min(restored, answers[n + 1].at if n + 1 < len(answers) else restored)
        for sample in samples:
            status = sample.statuses.get(answer.leader)
            if answer.at + _LATE <= sample.at < until and status is not None and status.time_to_target_ms >= 0:
                yield Expectation(answer.at - start, status.time_to_target_ms / 1000, restored - answer.at)
                break
