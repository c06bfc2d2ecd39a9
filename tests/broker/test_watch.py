"""Tests of `optassign watch` with a real broker: when it triggers, which groups it leaves alone, how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from alerting import Samples

from optassign_benchmarks.kafka.applications import WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.processes import await_condition
from optassign_benchmarks.kafka.scenario import GroupChange, Observed, play
from optassign_benchmarks.kafka.timeline import replay

NewGroup = Callable[..., Observed]
_LONGEST = 600.0
"""Seconds: generous, since the machine may be busy."""
_TAGS = "streams.rack.aware.assignment.tags"
_LOOKS = "optassign_watch_looks_total"


def tags_of(group: Observed) -> str | None:
    """Return the group's own configuration of rack-aware tags, if any."""
    tags: str | None = group.members.describe()["configs"].get(_TAGS)
    return tags


def warm_up(group: Observed) -> None:
    """Add a third process to a group of two at rest, and wait until the coordinator knows a caught-up warm-up."""
    play(group, GroupChange("rest", "ab"), _LONGEST)
    group.start("c")
    await_condition(
        "a warm-up that has caught up",
        lambda: any(process == "c" and 0 in lags.values() for _, process, lags in group.members.reported),
        timeout=_LONGEST,
    )


def await_looks(watcher: WatchProcess, count: int) -> None:
    """Wait until the watcher has looked `count` more times."""
    await_condition("metrics", lambda: _LOOKS in watcher.read(), logs=lambda: [watcher.process.log])
    before = watcher.read()[_LOOKS]
    await_condition("looks", lambda: watcher.read()[_LOOKS] >= before + count, logs=lambda: [watcher.process.log])


def test_a_join_ends_in_balance_and_rest(new_group: NewGroup, broker: Broker, folder: Path, tmp_path: Path) -> None:
    group = new_group("watched", standbys=1, watched=False)
    group.members.configure(streams_rack_aware_assignment_tags="cell")
    with WatchProcess(broker.address, "watched", folder) as watcher:
        figures = play(group, GroupChange("join", "ab", joins="c"), _LONGEST)
        assert figures.settled_s is not None, watcher.output
        assert not group.members.deaths
        assert figures.twice_ms == 0, "no task ever ran twice"
        assert len(figures.moved) == 4, "a third of twelve"
        assert not any(event.role == "active" and event.state == "restoring" for event in group.members.events())
        await_condition("restored", lambda: tags_of(group) == "cell", found=lambda: (tags_of(group), watcher.output))
        triggers, epoch = watcher.triggers, group.members.describe()["epoch"]
        assert 0 < triggers <= 8, watcher.output
        await_looks(watcher, 20)
        assert watcher.triggers == triggers, watcher.output
        assert group.members.describe()["epoch"] == epoch
        metrics = watcher.read()
        assert metrics['optassign_watch_done{group="watched"}'] == 1
        assert metrics['optassign_watch_config_changed{group="watched"}'] == 0
        assert metrics['optassign_watch_triggers_total{group="watched",reason="caught_up"}'] > 0
        samples = Samples(time.time())
        samples.add("".join(f"{name} {value}\n" for name, value in metrics.items()))
    assert watcher.process.exit_code == 0
    samples.minute = 6  # six minutes after its end
    samples.check(tmp_path, "OptassignWatcherDown", silent=3, fires=6)


@pytest.mark.long
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_changed_config_is_restored_after_any_end(new_group: NewGroup, broker: Broker, folder: Path, end: str) -> None:
    name = f"ended-by-{end}"
    group = new_group(name, standbys=0, watched=False)
    warm_up(group)
    # With this pause the watcher can act only once: it changes the config.
    with WatchProcess(broker.address, name, folder, optassign_watch_pause_ms=3_600_000) as first:
        await_condition("config changed", lambda: tags_of(group) == "optassign", found=lambda: first.output)
        getattr(first.process, end)()
    if end == "stop":
        assert first.process.exit_code == 0, first.output
        assert tags_of(group) is None
        return
    assert tags_of(group) == "optassign"
    with WatchProcess(broker.address, name, folder) as second:
        await_condition("settled", group.is_settled, timeout=_LONGEST, found=lambda: second.output)
        await_condition("restored", lambda: tags_of(group) is None, timeout=_LONGEST, found=lambda: second.output)


@pytest.mark.long
def test_once_acts_once_and_a_dry_run_never(new_group: NewGroup, broker: Broker, folder: Path) -> None:
    group = new_group("once", standbys=0, watched=False)
    warm_up(group)
    epoch = group.members.describe()["epoch"]
    dry = WatchProcess(broker.address, "once", folder, "--once", "--dry-run")
    assert dry.process.await_end() == 0
    assert "group=once would trigger: reason=caught_up (" in dry.output
    assert (group.members.describe()["epoch"], tags_of(group)) == (epoch, None)
    wet = WatchProcess(broker.address, "once", folder, "--once")
    assert wet.process.await_end() == 0
    assert "group=once trigger: reason=caught_up (" in wet.output
    assert tags_of(group) is None
    assert group.members.describe()["epoch"] > epoch
    await_condition(
        "something moved",
        lambda: any(copy.process == "c" for copies in replay(group.members.events()).running().values() for copy in copies),
        found=lambda: wet.output,
    )


@pytest.mark.long
def test_a_moving_group_is_observed_more_often(new_group: NewGroup, broker: Broker, folder: Path) -> None:
    group = new_group("on-its-way", standbys=1, watched=False)
    play(group, GroupChange("rest", "ab"), _LONGEST)
    group.start("c")
    await_condition("the join is known", lambda: len(group.members.describe()["members"]) == 6)
    hour = {"optassign_watch_interval_ms": 3_600_000}
    with WatchProcess(broker.address, "on-its-way", folder, optassign_watch_quick_interval_ms=500, **hour) as watcher:
        await_condition("settled", group.is_settled, timeout=_LONGEST, found=lambda: watcher.output)
        await_condition("restored", lambda: tags_of(group) is None, timeout=_LONGEST, found=lambda: watcher.output)
        assert watcher.triggers > 0
        assert watcher.read()[_LOOKS] == 1


@pytest.mark.long
def test_a_group_of_another_assignor_is_left_alone(new_group: NewGroup, broker: Broker, folder: Path) -> None:
    group = new_group("stickys", standbys=0, watched=False, assignor="sticky")
    group.start("a")
    group.members.configure(streams_rack_aware_assignment_tags="optassign")
    once = WatchProcess(broker.address, "stickys", folder, "--once")
    assert once.process.await_end() == 0
    assert "group=stickys is not watched: its streams.assignor.name is sticky, not optassign" in once.output
    assert tags_of(group) is None, "left from when it was watched"


@pytest.mark.long
def test_the_watcher_waits_for_a_group_to_appear(broker: Broker, folder: Path) -> None:
    with WatchProcess(broker.address, "not-yet", folder) as watcher:
        await_looks(watcher, 5)
        assert watcher.output.count("group=not-yet cannot be described") == 1, "said once, not at every look"
        assert watcher.read()["optassign_watch_groups"] == 0


_UNKNOWN = "configs of group=wrong cannot be described: org.apache.kafka.common.errors.TimeoutException"


@pytest.mark.parametrize(
    ("address", "properties", "code", "message"),
    [
        ("", {"security_protocol": "NO"}, 2, "Invalid value NO for configuration security.protocol"),
        ("", {"optassign_watch_pause_ms": "soon"}, 2, "optassign.watch.pause.ms: found soon; allowed: a whole number"),
        ("nobody.invalid:1", {}, 2, "No resolvable bootstrap urls"),
        ("127.0.0.1:1", {"default_api_timeout_ms": 2000, "request_timeout_ms": 1000}, 1, _UNKNOWN),
    ],
)
def test_errors_are_reported(
    broker: Broker, folder: Path, address: str, properties: dict[str, object], code: int, message: str
) -> None:
    watcher = WatchProcess(address or broker.address, "wrong", folder, "--once", **properties)
    assert watcher.process.await_end() == code
    assert message in watcher.output
    assert "\tat " not in watcher.output, "one line, no stack trace"
