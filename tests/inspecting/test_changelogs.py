"""Tests that changelogs are matched to subtopologies by name, size, offsets or the topology's text, or left open."""

from __future__ import annotations

import pytest

from optassign.formats.input_errors import InputError
from optassign.inspecting.classic import SubtopologyFacts, find_changelogs
from optassign.inspecting.group_reading import find_changelog_names, read_stores

PARTITIONS = (0, 1, 2)


def make(
    number: int,
    *,
    partitions: tuple[int, ...] = PARTITIONS,
    has_state: bool = True,
    offsets: int | None = None,
    sources: tuple[str, ...] = (),
) -> SubtopologyFacts:
    most = {} if offsets is None else dict.fromkeys(partitions, offsets)
    return SubtopologyFacts(("", number), partitions, frozenset(sources or (f"in-{number}",)), has_state, most)


def ends(end: int, partitions: tuple[int, ...] = PARTITIONS) -> dict[int, int]:
    return dict.fromkeys(partitions, end)


def test_the_only_subtopology_with_state_has_it() -> None:
    found = find_changelogs("app", [make(0), make(1, has_state=False)], {"app-counts-changelog": ends(10)})
    assert found.topics == {("", 0): ("app-counts-changelog",)}
    assert not found.open


def test_sizes_match_changelogs_to_subtopologies() -> None:
    other = (0, 1, 2, 3)
    found = find_changelogs(
        "app", [make(0), make(1, partitions=other)], {"app-a-changelog": ends(10, other), "app-b-changelog": ends(10)}
    )
    assert found.topics == {("", 0): ("app-b-changelog",), ("", 1): ("app-a-changelog",)}


def test_offsets_decide_between_equal_sizes() -> None:
    found = find_changelogs(
        "app",
        [make(0, offsets=1000), make(1, offsets=300)],
        {"app-a-changelog": ends(300), "app-b-changelog": ends(400), "app-c-changelog": ends(600)},
    )
    assert found.topics == {("", 0): ("app-b-changelog", "app-c-changelog"), ("", 1): ("app-a-changelog",)}


def test_two_equal_matches_stay_open() -> None:
    topics = {"app-a-changelog": ends(300), "app-b-changelog": ends(301)}
    found = find_changelogs("app", [make(0, offsets=300), make(1, offsets=300)], topics)
    assert found.topics == {}
    assert found.open == tuple(topics)
    assert found.undecided == {("", 0), ("", 1)}


def test_old_state_on_a_disk_proves_nothing() -> None:
    topics = {"app-a-changelog": ends(300), "app-b-changelog": ends(9000)}
    found = find_changelogs("app", [make(0, offsets=20), make(1, offsets=4000)], topics)
    assert found.open == tuple(topics)


def test_a_repartition_topic_is_called_like_its_store() -> None:
    found = find_changelogs(
        "app",
        [make(0, sources=("app-sums-repartition",)), make(1)],
        {"app-sums-changelog": ends(10), "app-x-changelog": ends(10)},
    )
    assert found.topics[("", 0)] == ("app-sums-changelog",)


def test_the_text_of_the_topology_decides() -> None:
    text = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [in])
    Processor: KSTREAM-AGGREGATE-0000000002 (stores: [b, c])
   Sub-topology: 1 for global store (will not generate tasks)
   Sub-topology: 2
    Processor: KSTREAM-AGGREGATE-0000000007 (stores: [a])
"""
    stores = read_stores(text, "topology.txt")
    assert stores == {0: {"b", "c"}, 1: frozenset(), 2: {"a"}}
    topics = {f"app-{store}-changelog": ends(10) for store in "abc"}
    found = find_changelogs("app", [make(0), make(2)], topics, stores)
    assert found.topics == {("", 0): ("app-b-changelog", "app-c-changelog"), ("", 2): ("app-a-changelog",)}


def test_a_text_without_subtopologies_is_refused() -> None:
    with pytest.raises(InputError, match=r"topology\.txt: found no line that begins with Sub-topology:"):
        read_stores("hello", "topology.txt")


def test_changelogs_of_a_group_with_a_longer_name_are_its_own() -> None:
    topics = ["orders-counts-changelog", "orders-eu-counts-changelog", "orders-in", "other-counts-changelog"]
    assert find_changelog_names("orders", topics, ["orders", "orders-eu"]) == ["orders-counts-changelog"]
    assert find_changelog_names("orders", topics) == ["orders-counts-changelog", "orders-eu-counts-changelog"]
