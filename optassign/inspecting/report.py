"""The report of `optassign inspect`: the group, its last rebalance, and its next events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.inspecting.inspected import UNKNOWN_ASSIGNOR, Inspected
from optassign.inspecting.outlook import OPTASSIGN, OUTLOOK_S, EventCost, GroupOutlook
from optassign.measuring.balance import measure_imbalance
from optassign.measuring.client_names import ClientNames
from optassign.measuring.outlook import WORTH_SAYING
from optassign.recordings.recording import Recording

MOST_OF_SAVING = 0.5
"""Settings are advised if they save at least this share of the time that optassign saves in a scale-out."""


def list_advice(report: GroupReport) -> Iterator[str]:
    """Yield advice in sentences, the most important first."""
    yield from _advise_on_sizes(report)
    yield from _advise_on_copies(report)
    yield from _advise_on_warmups(report)
    yield from _advise_on_restarts(report)
    yield from _advise_on_optassign(report)


def format_seconds(seconds: float | None) -> str:
    """Return a time for people: `40 s`, `12 min`, `3.5 h`; for None `> 48 h`, the longest simulated time."""
    if seconds is None:
        return "> 48 h"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def format_bytes(size: float) -> str:
    """Return a size for people, in powers of 1,000: `820 B`, `3.4 MB`, `12 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _advise_on_sizes(report: GroupReport) -> Iterator[str]:
    unknown = [each.name for each in report.subtopologies if each.kind == "logged" and each.state is None]
    if unknown:
        yield (
            f"The state of subtopology {', '.join(unknown)} counts as nearly empty, so its costs are too low. "
            "Save the text of Topology#describe() and repeat with --topology FILE."
        )


def _advise_on_copies(report: GroupReport) -> Iterator[str]:
    """Advise standbys, and tags for zones that hold all copies of a task."""
    state = report.inspected.snapshot
    logged = sum(task.logged for task in state.tasks)
    if logged and not state.configs.num_standby_replicas and len(state.clients) > 1:
        lost = None if report.outlook is None else report.outlook.find("loss", report.simulated_assignor)
        cost = "" if lost is None else f": today a loss stops a task for up to {format_seconds(lost.longest_down_s)}"
        yield f"Set num.standby.replicas=1, so that the loss of an instance does not wait for restoring{cost}."
    for zone in report.zones:
        if zone.tasks_in_one and len(zone.values) > 1:
            yield (
                f"{zone.tasks_in_one} of {logged} logged tasks have all copies in one {zone.tag}. "
                f"Set rack.aware.assignment.tags={zone.tag}."
            )


def _advise_on_warmups(report: GroupReport) -> Iterator[str]:
    if report.outlook is None:
        return
    choice = report.outlook.warmups[0]
    now, best = choice.seconds.get(choice.now), choice.seconds.get(choice.best)
    if choice.best > choice.now and best is not None and (now is None or best <= WORTH_SAYING * now):
        yield (
            f"Set max.warmup.replicas={choice.best}: a scale-out then takes {format_seconds(best)} in place of "
            f"{format_seconds(now)} under {choice.assignor}. More warm-ups do not pay."
        )


def _advise_on_restarts(report: GroupReport) -> Iterator[str]:
    if report.outlook is None or report.inspected.static_members or report.inspected.protocol != "classic":
        return
    cost = report.outlook.find("restart", report.simulated_assignor)
    if cost is not None and cost.moves:
        yield f"A rolling restart moves {cost.moves} tasks. Set group.instance.id, so that instances keep theirs."


def _advise_on_optassign(report: GroupReport) -> Iterator[str]:
    if report.outlook is None:
        return
    saved = []
    for event, what in (("scale-out", "a scale-out"), ("loss", "a loss"), ("restart", "a rolling restart")):
        present, own = report.outlook.find(event, report.simulated_assignor), report.outlook.find(event, OPTASSIGN)
        if present is not None and own is not None:
            saved += [f"{what} {text}" for text in _compare(present, own)]
    if saved:
        yield f"With optassign {'; '.join(saved)}. Try shadow mode (docs/how-to/adopt.md), or follow the group with --watch."
        yield from _advise_on_tuning(report.outlook)
    else:
        yield "optassign would save nothing worth mentioning here, as the group is now."


def _advise_on_tuning(outlook: GroupOutlook) -> Iterator[str]:
    """Advise settings of the group's own assignor that save most of the time that optassign saves in a scale-out."""
    present, own = outlook.find("scale-out", outlook.assignor), outlook.find("scale-out", OPTASSIGN)
    tuned = outlook.find("scale-out", outlook.assignor, tuned=True)
    if present is None or own is None or tuned is None or outlook.tuned is None:
        return
    now, least = _count_seconds(present.seconds), _count_seconds(own.seconds)
    if now <= least:
        return
    choice = outlook.warmups[0]
    slots = f"raising max.warmup.replicas to {choice.best}"
    alone = _count_seconds(choice.seconds.get(choice.best))
    if choice.best > choice.now and now - alone >= MOST_OF_SAVING * (now - least):
        yield f"Most of this time you get by {slots}: a scale-out then takes {format_seconds(alone)} under {outlook.assignor}."
    elif now - _count_seconds(tuned.seconds) >= MOST_OF_SAVING * (now - least):
        both = [slots] if choice.best > choice.now else []
        if outlook.tuned.probing_rebalance_interval_ms < outlook.probing_rebalance_interval_ms:
            both.append(f"lowering probing.rebalance.interval.ms to {outlook.tuned.probing_rebalance_interval_ms}")
        yield (
            f"Most of this time you get by {' and '.join(both)}: a scale-out then takes {format_seconds(tuned.seconds)} "
            f"under {outlook.assignor}."
        )


def _count_seconds(seconds: float | None) -> float:
    """Return the seconds of an event, or `OUTLOOK_S` if the group did not become stable within that time."""
    return float(OUTLOOK_S) if seconds is None else seconds


def _compare(present: EventCost, own: EventCost) -> Iterator[str]:
    if own.moves <= WORTH_SAYING * present.moves and present.moves:
        yield f"moves {own.moves} tasks in place of {present.moves}"
    if present.restored and own.restored <= WORTH_SAYING * present.restored:
        yield f"restores {own.restored:,} offsets in place of {present.restored:,}"
    if own.seconds is not None and (present.seconds is None or own.seconds <= WORTH_SAYING * present.seconds):
        yield f"takes {format_seconds(own.seconds)} in place of {format_seconds(present.seconds)}"


@dataclass(frozen=True)
class InspectedInstance:
    """One instance after the rebalance."""

    process_id: str
    name: str
    """Its client id, host or process id, whichever identifies it best."""
    threads: int
    active: int
    standby: int
    warmup: int
    state: int
    """Offsets in the changelogs of its copies."""
    bytes: int | None
    """Bytes of these changelogs on a broker's disk; None if a size is unknown."""
    place: str
    """Its tags and rack, as text."""


@dataclass(frozen=True)
class InspectedSubtopology:
    """One subtopology."""

    name: str
    tasks: int
    kind: str
    """`logged` or `stateless`: a store without a changelog cannot be seen from outside."""
    state: int | None
    """Offsets in its changelogs; None if unknown."""
    bytes: int | None
    """Bytes of its changelogs on a broker's disk; None if unknown."""
    changelogs: tuple[str, ...]


@dataclass(frozen=True)
class Zone:
    """A client tag, and the number of tasks that depend on one of its values."""

    tag: str
    values: tuple[str, ...]
    tasks_in_one: int
    """Logged tasks with several copies, all on instances with the same value."""


@dataclass(frozen=True)
class GroupReport:
    """The data that the command shows."""

    inspected: Inspected
    recording: Recording
    instances: tuple[InspectedInstance, ...]
    subtopologies: tuple[InspectedSubtopology, ...]
    zones: tuple[Zone, ...]
    imbalance: int
    """Active tasks and copies that instances have beyond their shares, over all families of shares."""
    outlook: GroupOutlook | None
    """None if it was not requested."""

    @property
    def simulated_assignor(self) -> str:
        """The assignor that the outlook simulates as the group's own."""
        return find_simulated_assignor(self.inspected)

    @property
    def bytes_per_offset(self) -> float | None:
        """Bytes on a broker's disk per offset, over all changelogs; None if unknown."""
        sizes, ends = self.inspected.changelog_bytes, self.inspected.snapshot.full_lags
        offsets = sum(ends.get(task, 0) for task in sizes)
        return sum(sizes.values()) / offsets if offsets else None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON that `optassign inspect` prints."""
        rebalance, not_applied = self.recording.summary, self.recording.not_applied
        found: dict[str, Any] = {
            "application": self.inspected.snapshot.application,
            "protocol": self.inspected.protocol,
            "taken_at": self.inspected.snapshot.taken_at,
            "assignor": self.inspected.applied.assignor,
            "instances": [asdict(each) for each in self.instances],
            "subtopologies": [asdict(each) for each in self.subtopologies],
            "zones": [asdict(each) for each in self.zones],
            "static_members": self.inspected.static_members,
            "standbys": self.inspected.snapshot.configs.num_standby_replicas,
            "imbalance": self.imbalance,
            "bytes_per_offset": self.bytes_per_offset,
            "rebalance": rebalance.model_dump(),
            "handed_over": list(self.inspected.handed_over),
            "optassign": None if not_applied is None else not_applied.summary.model_dump(),
            "remarks": list(self.inspected.remarks),
            "outlook": None,
        }
        if self.outlook is not None:
            found["outlook"] = {
                "assignor": self.outlook.assignor,
                "assumptions": asdict(self.outlook.assumptions),
                "tuned": None if self.outlook.tuned is None else asdict(self.outlook.tuned),
                "costs": [asdict(cost) for cost in self.outlook.costs],
                "max_warmup_replicas": [
                    {
                        "assignor": choice.assignor,
                        "now": choice.now,
                        "best": choice.best,
                        "seconds": {str(slots): seconds for slots, seconds in choice.seconds.items()},
                    }
                    for choice in self.outlook.warmups
                ],
            }
        return found


def find_simulated_assignor(inspected: Inspected) -> str:
    """Return the group's assignor, or Kafka's default if it is unknown; for a broker's assignor, the most similar one."""
    if inspected.protocol == "streams":
        return "sticky"
    known = inspected.applied.assignor
    return known if known != UNKNOWN_ASSIGNOR else "high-availability"


def make_report(inspected: Inspected, recording: Recording, outlook: GroupOutlook | None) -> GroupReport:
    """Return the report of a rebalance from its inspection, its recording and, if one was requested, the outlook."""
    state, applied = inspected.snapshot, inspected.applied
    return GroupReport(
        inspected=inspected,
        recording=recording,
        instances=tuple(_list_instances(state, applied, inspected.changelog_bytes)),
        subtopologies=tuple(_list_subtopologies(state, inspected.changelog_bytes)),
        zones=tuple(_list_zones(state, applied)),
        imbalance=sum(measure_imbalance(state, applied).values()),
        outlook=outlook,
    )


def _sum_known(tasks: Iterable[TaskInfo], sizes: Mapping[str, int]) -> int | None:
    """Return the sum of `sizes` over the logged tasks; None if a size is unknown, or if no task is logged."""
    found = [sizes.get(task.id) for task in tasks if task.logged]
    known = [size for size in found if size is not None]
    return sum(known) if found and len(known) == len(found) else None


def _list_instances(state: ApplicationState, applied: TaskAssignment, sizes: Mapping[str, int]) -> Iterator[InspectedInstance]:
    names, given = ClientNames(state), applied.by_process_id
    tasks = {task.id: task for task in state.tasks}
    for client in state.clients:
        copies = given[client.process_id]
        place = [f"{key}={value}" for key, value in sorted(client.tags.items())]
        yield InspectedInstance(
            process_id=client.process_id,
            name=names.short(client.process_id) or client.process_id,
            threads=client.threads,
            active=len(copies.active),
            standby=len(copies.standby),
            warmup=len(copies.warmup),
            state=sum(state.full_lags.get(t, 0) for t in (*copies.active, *copies.standby, *copies.warmup)),
            bytes=_sum_known((tasks[t] for t in (*copies.active, *copies.standby, *copies.warmup)), sizes),
            place=", ".join([*place, *([f"rack {client.rack}"] if client.rack else [])]),
        )


def _list_subtopologies(state: ApplicationState, sizes: Mapping[str, int]) -> Iterator[InspectedSubtopology]:
    for (name, number), tasks in state.subtopologies.items():
        ends = [task.changelog_end_offset for task in tasks]
        known = [end for end in ends if end is not None]
        topics = {p.topic for task in tasks for p in task.partitions if p.changelog and p.topic is not None}
        yield InspectedSubtopology(
            name=f"{name}__{number}" if name else str(number),
            tasks=len(tasks),
            kind="logged" if tasks[0].logged else "stateless",
            state=sum(known) if tasks[0].logged and len(known) == len(ends) else None,
            bytes=_sum_known(tasks, sizes),
            changelogs=tuple(sorted(topics)),
        )


def _list_zones(state: ApplicationState, applied: TaskAssignment) -> Iterator[Zone]:
    holders: dict[str, list[str]] = {}
    for client in applied.clients:
        for task in (*client.active, *client.standby):
            holders.setdefault(task, []).append(client.process_id)
    clients = state.kafka_streams_states
    for tag in sorted({key for client in state.clients for key in client.tags}):
        values = {client.tags[tag] for client in state.clients if tag in client.tags}
        of_task = [[clients[name].tags.get(tag) for name in holders.get(task.id, [])] for task in state.tasks if task.logged]
        in_one = sum(len(found) > 1 and len({*found}) == 1 for found in of_task)
        yield Zone(tag, tuple(sorted(values)), in_one)
