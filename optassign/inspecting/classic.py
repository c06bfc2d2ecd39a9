"""Reconstruct a classic group's last rebalance from its members' messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product

from optassign.formats.base import format_ms
from optassign.formats.state import RUNNING, UNKNOWN_LAG, ApplicationState, KafkaStreamsState, TaskId
from optassign.formats.task_id import sorted_ids
from optassign.formats.tasks import TaskInfo, TaskTopicPartition
from optassign.inspecting.group_reading import NO_REBALANCE, GroupReading, Member, StatedSettings, TopicPartition
from optassign.inspecting.inspected import AppliedCopies, Inspected, complete_answer

MOST_COMBINATIONS = 20_000
"""The most assignments of changelogs to subtopologies that are compared, about a second of work; beyond it changelogs stay open
(tests/inspecting/test_changelogs.py)."""
CLOSE_SUMS = 0.05
"""The share by which sums of offsets may differ from end offsets in a proven assignment. Standbys follow their changelogs
closely; a directory that was left behind does not (tests/inspecting/test_changelogs.py)."""
CLEARER_SUMS = 3.0
"""The factor by which the second best assignment must differ more: two similar ones prove nothing
(tests/inspecting/test_changelogs.py)."""


SubtopologyKey = tuple[str, int]
"""(name of the topology, number)."""


@dataclass(frozen=True)
class SubtopologyFacts:
    """The facts about a subtopology that are known without its changelogs."""

    key: SubtopologyKey
    partitions: tuple[int, ...]
    """The partitions of its tasks."""
    sources: frozenset[str]
    """Topics that its tasks read."""
    has_state: bool
    """Whether an instance has a standby of one of its tasks or reported offsets of one: then the subtopology is logged."""
    most_offsets: Mapping[int, int]
    """Partition → the greatest offset sum on an instance's disk, of copies that are not running."""


@dataclass(frozen=True)
class Changelogs:
    """Changelogs by subtopology."""

    topics: Mapping[SubtopologyKey, tuple[str, ...]]
    """Logged subtopology → its known changelogs, sorted; only subtopologies with at least one."""
    open: tuple[str, ...]
    """Changelogs that may belong to several subtopologies."""
    undecided: frozenset[SubtopologyKey]
    """Subtopologies to which an open changelog may belong: the end offsets of their tasks are unknown."""


def find_changelogs(
    application: str,
    subtopologies: Sequence[SubtopologyFacts],
    ends: Mapping[str, Mapping[int, int]],
    described: Mapping[int, frozenset[str]] | None = None,
) -> Changelogs:
    """Assign every changelog to its subtopology, if that is certain.

    `ends`: changelog topic → partition → end offset. `described`: number of a subtopology → its stores, from
    `Topology#describe()`; None if not available.
    """
    options = {
        topic: _list_candidates(application, topic, len(ends[topic]), subtopologies, described) for topic in sorted(ends)
    }
    options = {topic: candidates for topic, candidates in options.items() if candidates}
    unclear = {topic for topic, candidates in options.items() if len(candidates) > 1}
    decided = {topic: candidates[0] for topic, candidates in options.items() if topic not in unclear}
    decided |= _decide_by_offsets(options, unclear, decided, ends)
    topics: dict[SubtopologyKey, list[str]] = {}
    for topic, subtopology in sorted(decided.items()):
        topics.setdefault(subtopology.key, []).append(topic)
    left = tuple(topic for topic in options if topic not in decided)
    return Changelogs(
        topics={key: tuple(names) for key, names in topics.items()},
        open=left,
        undecided=frozenset(candidate.key for topic in left for candidate in options[topic]),
    )


def _list_candidates(
    application: str,
    topic: str,
    size: int,
    subtopologies: Sequence[SubtopologyFacts],
    described: Mapping[int, frozenset[str]] | None,
) -> list[SubtopologyFacts]:
    """Return the subtopologies to which the changelog may belong; empty if it is left over from another topology."""
    store = topic.removeprefix(f"{application}-").removesuffix("-changelog")
    if described is not None:
        return [each for each in subtopologies if store in described.get(each.key[1], frozenset())]
    # Kafka Streams names an aggregation's repartition topic after the aggregation's store.
    by_name = [each for each in subtopologies if f"{application}-{store}-repartition" in each.sources]
    if by_name:
        return by_name
    same_size = [each for each in subtopologies if len(each.partitions) == size]
    with_state = [each for each in same_size if each.has_state]
    return with_state or (same_size if not any(each.has_state for each in subtopologies) else [])


def _decide_by_offsets(
    options: Mapping[str, Sequence[SubtopologyFacts]],
    unclear: Iterable[str],
    decided: Mapping[str, SubtopologyFacts],
    ends: Mapping[str, Mapping[int, int]],
) -> dict[str, SubtopologyFacts]:
    """Return changelog → subtopology if offsets on disks prove it; changelogs with the same candidates are decided together."""
    groups: dict[tuple[SubtopologyKey, ...], list[str]] = {}
    for topic in sorted(unclear):
        groups.setdefault(tuple(each.key for each in options[topic]), []).append(topic)
    found: dict[str, SubtopologyFacts] = {}
    for topics in groups.values():
        candidates = options[topics[0]]
        given = [topic for topic, subtopology in decided.items() if subtopology in candidates]
        if len(candidates) ** len(topics) <= MOST_COMBINATIONS:
            best = _choose(topics, candidates, {topic: decided[topic] for topic in given}, ends)
            found |= dict(zip(topics, best, strict=True)) if best is not None else {}
    return found


def _choose(
    topics: Sequence[str],
    candidates: Sequence[SubtopologyFacts],
    given: Mapping[str, SubtopologyFacts],
    ends: Mapping[str, Mapping[int, int]],
) -> tuple[SubtopologyFacts, ...] | None:
    """Return the subtopology of each of `topics`, in order; None without proof by offsets. Each candidate has at least one
    changelog, decided ones (`given`) included.
    """
    known = sum(sum(each.most_offsets.values()) for each in candidates)
    scored: list[tuple[int, tuple[SubtopologyFacts, ...]]] = []
    for choice in product(candidates, repeat=len(topics)):
        shared = {**given, **dict(zip(topics, choice, strict=True))}
        if {each.key for each in shared.values()} >= {each.key for each in candidates}:
            scored.append((_measure_miss(shared, candidates, ends), choice))
    scored.sort(key=lambda each: each[0])
    if not scored or not known or scored[0][0] > CLOSE_SUMS * known:
        return None
    if len(scored) > 1 and scored[1][0] < max(CLEARER_SUMS * scored[0][0], CLOSE_SUMS * known):
        return None
    return scored[0][1]


def _measure_miss(
    shared: Mapping[str, SubtopologyFacts], candidates: Iterable[SubtopologyFacts], ends: Mapping[str, Mapping[int, int]]
) -> int:
    """Return the offsets by which the greatest sums on disks differ from the changelogs' end offsets, over all tasks."""
    miss = 0
    for subtopology in candidates:
        own = [topic for topic, owner in shared.items() if owner.key == subtopology.key]
        for partition, offsets in subtopology.most_offsets.items():
            miss += abs(sum(ends[topic].get(partition, 0) for topic in own) - offsets)
    return miss


_THREAD = "-StreamThread-"


def is_between_passes(reading: GroupReading) -> bool:
    """Return whether a member triggers another rebalance at once, because tasks move from one instance to another."""
    return any(member.assignment.next_rebalance_ms == 0 for member in reading.members)


def inspect_classic(reading: GroupReading, settings: StatedSettings, growth: Mapping[str, float]) -> Inspected:
    """Return the rebalance that the members' messages describe.

    `growth`: changelog topic → offsets per second and partition.
    """
    sources = _find_sources(reading.members)
    processes = _group_by_process(reading.members)
    subtopologies = list(_describe_subtopologies(sources, processes))
    ends = {name: topic.ends for name, topic in reading.changelogs.items() if topic.ends}
    changelogs = find_changelogs(reading.application, subtopologies, ends, settings.stores)
    logged = {each.key for each in subtopologies if each.has_state} | changelogs.topics.keys()
    full = _sum_partitions(sources, changelogs, ends)
    sizes = {name: topic.sizes for name, topic in reading.changelogs.items()}
    copies = AppliedCopies(
        active={name: sorted_ids({t for m in members for t in m.assignment.active}) for name, members in processes.items()},
        standby={name: sorted_ids({t for m in members for t in m.assignment.standby}) for name, members in processes.items()},
    )
    number = copies.count_standbys(task for task in sources if TaskId.parse(task).subtopology_key in logged)
    tasks = tuple(
        _describe_task(task, sources[task], changelogs, task_is_logged(task, logged), full, reading)
        for task in sorted_ids(list(sources))
    )
    by_partition = {partition: task for task, partitions in sources.items() for partition in partitions}
    clients = tuple(
        _describe_client(name, members, sources, by_partition, full, logged) for name, members in sorted(processes.items())
    )
    state = ApplicationState(
        format=1,
        application=reading.application,
        taken_at=format_ms(reading.taken_at_ms),
        configs=settings.make_configs(number),
        tasks=tasks,
        clients=clients,
    )
    return Inspected(
        protocol="classic",
        snapshot=state,
        applied=complete_answer(state, copies, _find_followup_ms(reading)),
        static_members=sum(member.instance_id is not None for member in reading.members),
        handed_over=_find_handed_over(state),
        growth=_find_growth(sources, changelogs, growth),
        changelog_bytes=_sum_partitions(sources, changelogs, sizes),
        remarks=(*reading.remarks, *_remark(subtopologies, changelogs, settings, reading)),
    )


def task_is_logged(task: str, logged: Iterable[SubtopologyKey]) -> bool:
    """Return whether the task's subtopology is in `logged`."""
    return TaskId.parse(task).subtopology_key in logged


def _find_sources(members: Iterable[Member]) -> dict[str, frozenset[TopicPartition]]:
    """Return task → the partitions that it reads."""
    found: dict[str, set[TopicPartition]] = {}
    for member in members:
        for task, partition in zip(member.assignment.active, member.partitions, strict=True):
            found.setdefault(task, set()).add(partition)
        for task, partitions in member.assignment.standby.items():
            found.setdefault(task, set()).update(partitions)
    return {task: frozenset(partitions) for task, partitions in found.items()}


def _group_by_process(members: Iterable[Member]) -> dict[str, list[Member]]:
    processes: dict[str, list[Member]] = {}
    for member in sorted(members, key=lambda each: each.client_id):
        processes.setdefault(member.subscription.process_id, []).append(member)
    return processes


def _describe_subtopologies(
    sources: Mapping[str, frozenset[TopicPartition]], processes: Mapping[str, list[Member]]
) -> Iterable[SubtopologyFacts]:
    with_standby = {task for members in processes.values() for member in members for task in member.assignment.standby}
    sums = [_merge_sums(members) for members in processes.values()]
    of: dict[SubtopologyKey, list[TaskId]] = {}
    for task in sources:
        parsed = TaskId.parse(task)
        of.setdefault(parsed.subtopology_key, []).append(parsed)
    for key, tasks in sorted(of.items()):
        ids = {str(task): task.partition for task in tasks}
        known = {
            ids[name]: max(offsets)
            for name in ids
            if (offsets := [each[name] for each in sums if each.get(name, UNKNOWN_LAG) >= 0])
        }
        yield SubtopologyFacts(
            key=key,
            partitions=tuple(sorted(ids.values())),
            sources=frozenset(topic for name in ids for topic, _ in sources[name]),
            has_state=any(name in with_standby or any(name in each for each in sums) for name in ids),
            most_offsets=known,
        )


def _merge_sums(members: Iterable[Member]) -> dict[str, int]:
    """Return task → offset sum of a process; only the thread that locks a task's directory reports the sum."""
    merged: dict[str, int] = {}
    for member in members:
        merged |= member.subscription.offset_sums
    return merged


def _sum_partitions(
    sources: Mapping[str, object], changelogs: Changelogs, ends: Mapping[str, Mapping[int, int]]
) -> dict[str, int]:
    """Return task → sum over its changelogs' partitions (end offsets or bytes), if all of them are known."""
    full = {}
    for task in sources:
        parsed = TaskId.parse(task)
        topics = () if parsed.subtopology_key in changelogs.undecided else changelogs.topics.get(parsed.subtopology_key, ())
        if topics and all(parsed.partition in ends[topic] for topic in topics):
            full[task] = sum(ends[topic][parsed.partition] for topic in topics)
    return full


def _describe_task(
    task: str,
    sources: frozenset[TopicPartition],
    changelogs: Changelogs,
    logged: bool,
    full: Mapping[str, int],
    reading: GroupReading,
) -> TaskInfo:
    parsed = TaskId.parse(task)
    places = [(topic, partition, False) for topic, partition in sources]
    places += [(topic, parsed.partition, True) for topic in changelogs.topics.get(parsed.subtopology_key, ())]
    topics = {**reading.sources, **reading.changelogs}
    return TaskInfo(
        id=task,
        stateful=logged,
        logged=logged,
        changelog_end_offset=full.get(task) if logged else None,
        partitions=tuple(
            TaskTopicPartition(
                topic=topic,
                partition=partition,
                changelog=changelog,
                racks=topics[topic].racks.get(partition, ()) if topic in topics else (),
            )
            for topic, partition, changelog in places
        ),
    )


def _describe_client(
    process_id: str,
    members: list[Member],
    sources: Collection[str],
    by_partition: Mapping[TopicPartition, str],
    full: Mapping[str, int],
    logged: Iterable[SubtopologyKey],
) -> KafkaStreamsState:
    """Return the state of one instance at the beginning of the rebalance. `sources`: the tasks.

    As in Kafka, a task is owned if one of its partitions is owned, or if the task runs.
    """
    sums = {task: offsets for task, offsets in _merge_sums(members).items() if task in sources}
    active = {by_partition[partition] for member in members for partition in member.owned if partition in by_partition}
    active |= {task for task, offsets in sums.items() if offsets == RUNNING}
    lags = {task: _find_lag(task, offsets, full) for task, offsets in sums.items() if task_is_logged(task, logged)}
    first = members[0].subscription
    client_id, thread, _ = members[0].client_id.rpartition(_THREAD)
    return KafkaStreamsState(
        process_id=process_id,
        threads=len(members),
        previous_active=tuple(active),
        previous_standby=tuple(sums.keys() - active),
        lags=lags,
        tags=dict(first.tags),
        rack=members[0].rack,
        host=first.host,
        client_id=None if not thread or client_id.endswith(f"-{process_id}") else client_id,
    )


def _find_lag(task: str, offsets: int, full: Mapping[str, int]) -> int:
    """Return the lag of a copy, RUNNING or UNKNOWN_LAG. As in Kafka, a copy beyond its changelog's end lags by all of it."""
    if offsets == RUNNING:
        return RUNNING
    if offsets < 0 or task not in full:
        return UNKNOWN_LAG
    return full[task] - offsets if offsets <= full[task] else full[task]


def _find_followup_ms(reading: GroupReading) -> tuple[str, int] | None:
    """Return the process that triggers the next rebalance, and in how many ms; None if none is scheduled."""
    scheduled = [
        (member.assignment.next_rebalance_ms, member.subscription.process_id)
        for member in reading.members
        if member.assignment.next_rebalance_ms != NO_REBALANCE
    ]
    if not scheduled:
        return None
    at, process_id = min(scheduled)
    return process_id, max(0, at - reading.taken_at_ms)


def _find_handed_over(state: ApplicationState) -> tuple[str, ...]:
    owned = {task for client in state.clients for task in client.previous_active}
    return tuple(task.id for task in state.tasks if task.id not in owned) if owned else ()


def _find_growth(sources: Mapping[str, object], changelogs: Changelogs, growth: Mapping[str, float]) -> dict[str, float]:
    grown = {}
    for task in sources:
        topics = changelogs.topics.get(TaskId.parse(task).subtopology_key, ())
        rate = sum(growth.get(topic, 0.0) for topic in topics)
        if rate:
            grown[task] = rate
    return grown


def _remark(
    subtopologies: Iterable[SubtopologyFacts], changelogs: Changelogs, settings: StatedSettings, reading: GroupReading
) -> Iterable[str]:
    if changelogs.open:
        names = ", ".join(changelogs.open)
        yield (
            f"Several subtopologies can have the changelogs {names}. Their sizes count as unknown. "
            "Hand in the text of Topology#describe() with --topology."
        )
    without = [
        str(each.key[1])
        for each in subtopologies
        if each.has_state and each.key not in changelogs.topics and each.key not in changelogs.undecided
    ]
    if without:
        yield f"No changelog that you may see belongs to subtopology {', '.join(without)}: the size of its state is unknown."
    assumed = settings.list_assumed()
    if assumed:
        yield f"The broker does not tell {', '.join(assumed)}: these are Kafka's defaults. State yours with options."
    asked = [m.assignment.next_rebalance_ms for m in reading.members if 0 < m.assignment.next_rebalance_ms < NO_REBALANCE]
    if asked:
        at = datetime.fromtimestamp(min(asked) / 1000, UTC)
        yield f"The group will look again at {at:%H:%M:%S} UTC (probing rebalance)."
