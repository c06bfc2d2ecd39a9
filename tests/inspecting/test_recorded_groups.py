"""Tests of inspecting groups under Kafka's default assignor, from recorded responses of a real broker.
They test `optassign.inspecting.groups`."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_groups import load_bytes, read_recorded_group
from rich.console import Console

from optassign.cli.show.inspection import describe_rebalance, list_figures, make_page, render_report
from optassign.formats.state import RUNNING
from optassign.inspecting.classic import inspect_classic, is_between_passes
from optassign.inspecting.group_reading import (
    NO_REBALANCE,
    GroupReading,
    StatedSettings,
    Topic,
    UserDataError,
    decode_assignment,
    decode_subscription,
    measure_growth,
)
from optassign.inspecting.inspected import Inspected, encode, make_recording
from optassign.inspecting.outlook import EVENTS, OPTASSIGN, Assumptions, GroupOutlook, TunedSettings, make_outlook
from optassign.inspecting.report import GroupReport, list_advice, make_report
from optassign.judging.validation import validate
from optassign.recordings.recording import read_recording

STATED = StatedSettings(acceptable_recovery_lag=100, max_warmup_replicas=4, probing_rebalance_interval_ms=600_000)
STORES = {0: frozenset({"logged-counts"}), 1: frozenset({"unlogged-counts"}), 2: frozenset[str]()}
NAMES = ("two-instances-at-rest", "third-instance-joined", "without-standbys")


def inspect(name: str, stated: StatedSettings = STATED) -> Inspected:
    return inspect_classic(read_recorded_group(name), stated, {})


@pytest.mark.parametrize("name", NAMES)
def test_the_snapshot_can_be_answered_and_the_applied_answer_be_judged(name: str) -> None:
    inspected = inspect(name)
    assert len(inspected.snapshot.tasks) == 36
    broken = {violation.rule for violation in validate(inspected.snapshot, inspected.applied)}
    assert broken.isdisjoint({"R1", "R2", "R4"})


def test_a_group_at_rest() -> None:
    inspected = inspect("two-instances-at-rest")
    state = inspected.snapshot
    assert [client.client_id for client in state.clients] == ["two", "one"]
    assert {client.host for client in state.clients} == {"localhost:7070"}
    assert {client.tags["zone"] for client in state.clients} == {"a"}
    assert state.configs.num_standby_replicas == 1
    assert [task.id for task in state.tasks if task.logged] == [f"{s}_{p}" for s in (0, 1) for p in range(12)]
    # The first subtopology got twice as many records, so that offsets on disks match changelogs to subtopologies.
    assert {task.changelog_end_offset for task in state.tasks if task.id.startswith("0_")} <= set(range(600, 610))
    assert {task.changelog_end_offset for task in state.tasks if task.id.startswith("1_")} <= set(range(300, 310))
    for client in state.clients:
        assert len(client.previous_active) == 18
        assert {client.lags[task] for task in client.previous_active if task in client.lags} == {RUNNING}
        assert all(0 <= client.lags[task] <= 2 for task in client.previous_standby)
    assert inspected.applied.assignor == "high-availability"
    assert not inspected.handed_over


def test_a_join_with_warm_ups() -> None:
    inspected = inspect("third-instance-joined")
    (joined,) = (client for client in inspected.snapshot.clients if client.client_id == "three")
    given = inspected.applied.by_process_id[joined.process_id]
    assert len(given.warmup) == 4
    assert not given.standby
    assert inspected.applied.assignor == "high-availability"
    assert [client.followup_rebalance_ms for client in inspected.applied.clients].count(None) == 2
    assert set(inspected.handed_over) >= {"2_0", "0_1"}
    summary = make_recording(inspected, 10.0).summary
    assert (summary.warmups, summary.moved_active, summary.balanced) == (4, 0, False)
    assert 2400 <= (summary.restored or 0) <= 2420  # four changelogs of about 600


def test_ambiguous_changelogs_are_left_out_and_reported() -> None:
    inspected = inspect("without-standbys")
    assert {task.changelog_end_offset for task in inspected.snapshot.tasks} == {None}
    assert any("--topology" in remark for remark in inspected.remarks)
    told = inspect("without-standbys", replace(STATED, stores=STORES))
    assert all(task.changelog_end_offset for task in told.snapshot.tasks if task.logged)
    assert not any("--topology" in remark for remark in told.remarks)
    assert told.applied.assignor == "high-availability"
    assert {client.client_id: client.threads for client in told.snapshot.clients} == {"one": 2, "two": 2}


def test_an_answer_of_another_assignor_is_not_called_kafkas() -> None:
    reading = read_recorded_group("two-instances-at-rest")
    one, two = reading.members
    exchanged = replace(
        reading,
        members=(
            replace(one, assignment=two.assignment, partitions=two.partitions),
            replace(two, assignment=one.assignment, partitions=one.partitions),
        ),
    )
    assert inspect_classic(exchanged, STATED, {}).applied.assignor == "unknown"


def test_a_pass_that_hands_tasks_over_is_reported() -> None:
    reading = read_recorded_group("two-instances-at-rest")
    assert not is_between_passes(reading)
    first, second = reading.members
    assert {first.assignment.next_rebalance_ms, second.assignment.next_rebalance_ms} == {NO_REBALANCE}
    at_once = replace(first, assignment=replace(first.assignment, next_rebalance_ms=0))
    assert is_between_passes(replace(reading, members=(at_once, second)))


def test_bytes_of_other_versions_or_cut_off_are_refused() -> None:
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    data = bytes.fromhex(load_bytes("two-instances-at-rest")["members"][0]["member_metadata"])
    user_data = bytes(ConsumerProtocolSubscription.decode(data).user_data)
    decode_subscription(user_data)
    with pytest.raises(UserDataError, match="version 5 of Kafka Streams' protocol; known are 7 to 11"):
        decode_subscription(b"\0\0\0\5" + user_data[4:])
    for end in range(len(user_data)):
        with pytest.raises(UserDataError):
            decode_subscription(user_data[:end])
    with pytest.raises(UserDataError):
        decode_assignment(b"\0\0\0\x0b\0\0\0\x0b\x7f\xff\xff\xff")


def test_the_recording_can_be_read(tmp_path: Path) -> None:
    recording = make_recording(inspect("third-instance-joined"), 10.0)
    file = tmp_path / "seen.json.gz"
    file.write_bytes(encode(recording))
    again = read_recording(file)
    assert again == recording
    assert again.not_applied is not None
    assert again.applied


def test_growth_is_measured_between_two_looks() -> None:
    before = {"a": Topic({0: 100, 1: 200}, {}), "b": Topic({0: 5}, {}), "gone": Topic({0: 1}, {})}
    after = {"a": Topic({0: 130, 1: 210}, {}), "b": Topic({0: 5}, {})}
    assert measure_growth(before, after, 5.0) == {"a": 4.0, "b": 0.0}


@pytest.fixture(scope="module")
def outlook() -> GroupOutlook:
    inspected = inspect("third-instance-joined")
    assumptions = Assumptions("classic", 20.0, 45.0, 30.0)
    return make_outlook(inspected.snapshot, inspected.applied, "high-availability", {}, assumptions)


def test_the_outlook_plays_each_event_under_both(outlook: GroupOutlook) -> None:
    played = {(cost.event, cost.assignor) for cost in outlook.costs}
    assert played == {(event, name) for event in EVENTS for name in ("high-availability", OPTASSIGN)} - {
        ("adopt", "high-availability")
    }
    theirs, own = outlook.find("scale-out", "high-availability"), outlook.find("scale-out", OPTASSIGN)
    assert theirs is not None
    assert own is not None
    assert own.restored <= theirs.restored
    assert own.moves < theirs.moves
    lost = outlook.find("loss", OPTASSIGN)
    assert lost is not None
    assert lost.longest_down_s > 45  # only after its session times out
    choice = outlook.warmups[0]
    assert choice.best in choice.seconds
    assert choice.seconds[1] is None or choice.seconds[1] >= (choice.seconds[choice.best] or 0)


def test_the_default_is_compared_when_it_is_tuned(outlook: GroupOutlook) -> None:
    """In this small group with slow disks, tuned settings of Kafka's default save most of the time that optassign saves."""
    assert outlook.tuned == TunedSettings(outlook.warmups[0].best, 60_000)
    theirs, tuned = outlook.find("scale-out", "high-availability"), outlook.find("scale-out", "high-availability", tuned=True)
    assert theirs is not None
    assert tuned is not None
    assert tuned.seconds is not None
    assert theirs.seconds is None or tuned.seconds < theirs.seconds
    inspected = inspect("third-instance-joined")
    advice = list(list_advice(make_report(inspected, make_recording(inspected, 10.0), outlook)))
    assert any(line.startswith("Most of this time you get by ") for line in advice), advice
    no_better = replace(outlook, costs=tuple(replace(c, seconds=None) if c.tuned else c for c in outlook.costs), warmups=())
    slow = replace(outlook.warmups[0], seconds=dict.fromkeys(outlook.warmups[0].seconds, theirs.seconds))
    report = make_report(inspected, make_recording(inspected, 10.0), replace(no_better, warmups=(slow, outlook.warmups[1])))
    assert not any("Most of this time" in line for line in list_advice(report))


def test_a_group_with_the_tuned_settings_has_no_tuned_rows_and_restarts_as_told(outlook: GroupOutlook) -> None:
    inspected = inspect("two-instances-at-rest", replace(STATED, max_warmup_replicas=16, probing_rebalance_interval_ms=60_000))
    assumptions = Assumptions("classic", 1e6, 3600.0, 300.0)
    found = make_outlook(inspected.snapshot, inspected.applied, "high-availability", {}, assumptions)
    assert found.tuned is None
    assert not any(cost.tuned for cost in found.costs)
    restart, quick = found.find("restart", "high-availability"), outlook.find("restart", "high-availability")
    assert restart is not None
    assert quick is not None
    assert restart.longest_down_s > quick.longest_down_s + 200


def test_sizes_are_in_bytes_if_the_brokers_report_them(outlook: GroupOutlook) -> None:
    reading = read_recorded_group("third-instance-joined")
    sized = {
        name: replace(topic, sizes={p: 2_000 * end for p, end in topic.ends.items()})
        for name, topic in reading.changelogs.items()
    }
    told = inspect_classic(replace(reading, changelogs=sized), STATED, {})
    report = make_report(told, make_recording(told, 10.0), outlook)
    assert report.bytes_per_offset == pytest.approx(2_000)
    assert [each.bytes for each in report.subtopologies[:2]] == [2_000 * (each.state or 0) for each in report.subtopologies[:2]]
    assert {row[0]: row for row in list_figures(report)}["  in bytes, about"][1].endswith(" MB")
    assert " MB" in print_report(report, 120)
    untold = inspect("third-instance-joined")
    report = make_report(untold, make_recording(untold, 10.0), outlook)
    assert report.bytes_per_offset is None
    assert [each.bytes for each in report.instances] == [None] * 3
    assert " MB" not in print_report(report, 120)


@pytest.mark.parametrize("width", [80, 100])
def test_no_word_is_broken(outlook: GroupOutlook, width: int) -> None:
    inspected = inspect("third-instance-joined")
    report = make_report(inspected, make_recording(inspected, 10.0), outlook)
    text = print_report(report, width)
    assert max(map(len, text.splitlines())) <= width
    words = set(text.split())
    assert {
        "Kafka's",
        "tuned",
        "optassign",
        "instances",
        "rebalances",
        "pays",
        "task-s",
        "orders-logged-counts-changelog",
    } <= words
    assert "is missed after 45 s (--session-timeout)" in " ".join(text.split())
    assert "restarts in 30 s (--restart-time)" in " ".join(text.split())


def print_report(report: GroupReport, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for part in render_report(report, width):
        console.print(part, highlight=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_report_shows_what_was_inspected(outlook: GroupOutlook) -> None:
    inspected = inspect("third-instance-joined")
    report = make_report(inspected, make_recording(inspected, 10.0), outlook)
    assert {each.name: (each.active, each.standby, each.warmup) for each in report.instances} == {
        "one": (12, 11, 0),
        "two": (12, 13, 0),
        "three": (12, 0, 4),
    }
    assert [(each.kind, each.tasks) for each in report.subtopologies] == [("logged", 12), ("logged", 12), ("stateless", 12)]
    (zone,) = report.zones
    assert (zone.tag, zone.values) == ("zone", ("a", "b"))
    assert zone.tasks_in_one == 23  # of 24 tasks: only 0_4 is active on the instance in zone b
    assert report.imbalance > 0
    advice = list(list_advice(report))
    assert any("rack.aware.assignment.tags=zone" in line for line in advice)
    rows = {row[0]: row for row in list_figures(report)}
    assert rows["warm-ups"][1] == "4"
    assert rows["handed over: taken from their owners in the pass before"][1] == str(len(inspected.handed_over))
    page = make_page(report)
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert report.as_json()["rebalance"]["warmups"] == 4


def test_a_watched_rebalance_is_one_line() -> None:
    before, inspected = inspect("two-instances-at-rest"), inspect("third-instance-joined")
    line = describe_rebalance(inspected, make_recording(inspected, 10.0), before)
    assert "3 instances, assigned by high-availability, " in line
    assert "4 warm-ups" in line
    assert "\n" not in line


def test_other_names_are_no_part_of_a_group() -> None:
    reading = read_recorded_group("two-instances-at-rest")
    assert isinstance(reading, GroupReading)
    assert sorted(reading.changelogs) == ["orders-logged-counts-changelog", "orders-unlogged-counts-changelog"]
