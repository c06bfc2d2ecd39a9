"""Tests of streams groups in a real coordinator while processes join and leave: no task waits for its state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import GroupChange, Observed, play
from optassign_benchmarks.kafka.timeline import CopyEvent

_LONGEST = 600.0
"""Seconds: generous, since the machine may be busy."""

JOIN = GroupChange("join", "ab", joins="c")
KILL = GroupChange("kill", "abc", killed="c")
LEAVE = GroupChange("leave", "abc", leaves="c")
RETURN = GroupChange("return", "abc", killed="c", returns="c")


def restored_as_active(events: list[CopyEvent]) -> set[str]:
    """Return the tasks that a member had to restore before it could process them."""
    return {event.task for event in events if event.role == "active" and event.state == "restoring"}


@pytest.mark.parametrize(
    ("change", "standbys"),
    [
        pytest.param(JOIN, 1, marks=pytest.mark.long),
        pytest.param(JOIN, 0, marks=pytest.mark.long),
        pytest.param(KILL, 1, marks=pytest.mark.long),
        pytest.param(LEAVE, 1, marks=pytest.mark.long),
        pytest.param(RETURN, 1, marks=pytest.mark.long),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_no_task_waits_for_its_state(new_group: Callable[..., Observed], change: GroupChange, standbys: int) -> None:
    group = new_group(f"{change.name}-{standbys}", standbys=standbys)
    figures = play(group, change, _LONGEST)
    assert not group.members.deaths
    assert figures.settled_s is not None, "every task runs, balanced, with all standbys"
    assert figures.twice_ms == 0, "and none ever ran twice"
    assert restored_as_active(group.members.events()) == set()
    if change is JOIN:
        assert len(figures.moved) == 4, "a third of twelve"


@pytest.mark.long
def test_members_that_send_no_offsets_are_balanced_at_once(new_group: Callable[..., Observed], broker: Broker) -> None:
    group = new_group("no-offsets", standbys=1, reports_offsets=False)
    figures = play(group, JOIN, _LONGEST)
    assert figures.settled_s is not None
    assert group.triggers == 0
    log = broker.log.read_text(encoding="utf-8")
    assert log.count("group=no-offsets has sent no offsets so far") == 1


@pytest.mark.long
def test_a_trigger_changes_nothing_in_a_group_at_rest(new_group: Callable[..., Observed]) -> None:
    group = new_group("triggered", standbys=1, watched=False)  # a watcher that looks while members join would trigger, too
    play(group, GroupChange("nothing", "ab"), _LONGEST)
    before = len(group.members.events())
    epoch = group.members.describe()["epoch"]
    group.trigger()
    await_condition("the assignor was asked", lambda: group.members.describe()["epoch"] > epoch)
    play(group, GroupChange("nothing", "ab"), _LONGEST, first=False)
    assert len(group.members.events()) == before
