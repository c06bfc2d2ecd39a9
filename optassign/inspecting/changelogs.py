"""Which changelogs belong to which subtopology: no message says so, but names, sizes and offsets mostly do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from optassign_models.policy.constants import CLEARER_SUMS, CLOSE_SUMS, MOST_COMBINATIONS

__all__ = ["Changelogs", "SubtopologyFacts", "SubtopologyKey", "find_changelogs"]

SubtopologyKey = tuple[str, int]
"""(name of the topology, number)."""


@dataclass(frozen=True)
class SubtopologyFacts:
    """The facts known of one subtopology without its changelogs."""

    key: SubtopologyKey
    partitions: tuple[int, ...]
    """Of its tasks."""
    sources: frozenset[str]
    """Topics that its tasks read."""
    has_state: bool
    """An instance has reported offsets of one of its tasks, or has a standby: it is logged."""
    most_offsets: Mapping[int, int]
    """Partition -> the greatest offset sum that an instance has on its disk, of copies that are not running."""


@dataclass(frozen=True)
class Changelogs:
    """Changelogs by subtopology."""

    topics: Mapping[SubtopologyKey, tuple[str, ...]]
    """Each logged subtopology with known changelogs, at least one; sorted."""
    open: tuple[str, ...]
    """Changelogs that can be those of several subtopologies."""
    undecided: frozenset[SubtopologyKey]
    """Subtopologies that an open changelog may belong to: what they have on disk cannot be compared with an end."""


def find_changelogs(
    application: str,
    subtopologies: Sequence[SubtopologyFacts],
    ends: Mapping[str, Mapping[int, int]],
    described: Mapping[int, frozenset[str]] | None = None,
) -> Changelogs:
    """Give every changelog to a subtopology, if that is certain.

    `ends`: changelog topic -> partition -> end offset. `described`: number of a subtopology -> its stores, from
    `Topology#describe()`; None: not at hand.
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
    """Subtopologies that the changelog may belong to; none: it is left over from another topology."""
    store = topic.removeprefix(f"{application}-").removesuffix("-changelog")
    if described is not None:
        return [each for each in subtopologies if store in described.get(each.key[1], frozenset())]
    # Kafka Streams calls the topic that an aggregation reads after the aggregation's store.
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
    """Changelog -> subtopology where offsets on disks tell; groups of changelogs with the same candidates one by one."""
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
    """The way to share out the topics that offsets prove; None: they do not. Every candidate has at least one changelog."""
    known = sum(sum(each.most_offsets.values()) for each in candidates)
    ways: list[tuple[int, tuple[SubtopologyFacts, ...]]] = []
    for way in product(candidates, repeat=len(topics)):
        shared = {**given, **dict(zip(topics, way, strict=True))}
        if {each.key for each in shared.values()} >= {each.key for each in candidates}:
            ways.append((_measure_miss(shared, candidates, ends), way))
    ways.sort(key=lambda scored: scored[0])
    if not ways or not known or ways[0][0] > CLOSE_SUMS * known:
        return None
    if len(ways) > 1 and ways[1][0] < max(CLEARER_SUMS * ways[0][0], CLOSE_SUMS * known):
        return None
    return ways[0][1]


def _measure_miss(
    shared: Mapping[str, SubtopologyFacts], candidates: Iterable[SubtopologyFacts], ends: Mapping[str, Mapping[int, int]]
) -> int:
    """Offsets by which the greatest sums on disks differ from the end offsets of the changelogs, over all tasks."""
    miss = 0
    for subtopology in candidates:
        own = [topic for topic, owner in shared.items() if owner.key == subtopology.key]
        for partition, offsets in subtopology.most_offsets.items():
            miss += abs(sum(ends[topic].get(partition, 0) for topic in own) - offsets)
    return miss
