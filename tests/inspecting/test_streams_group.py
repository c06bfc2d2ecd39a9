"""Tests that a streams group becomes a snapshot of its current tasks and an answer with its target."""

from __future__ import annotations

from collections.abc import Mapping

from optassign.formats.state import RUNNING, UNKNOWN_LAG
from optassign.inspecting.group_reading import StatedSettings, Topic
from optassign.inspecting.streams_group import StreamsGroupReading, StreamsMember, inspect_streams

Tasks = tuple[tuple[str, int], ...]
LOG = "orders-store-changelog"


def make_member(process: str, number: int, current: Mapping[str, Tasks], target: Mapping[str, Tasks], **more: object) -> object:
    roles: dict[str, Tasks] = {"active": (), "standby": (), "warmup": ()}
    fields = {
        "client_id": f"{process}-{number}",
        "process_id": process,
        "instance_id": None,
        "rack": None,
        "host": None,
        "tags": {"zone": process},
        "offsets": {},
    }
    return StreamsMember(**{**fields, "current": {**roles, **current}, "target": {**roles, **target}, **more})  # type: ignore[arg-type]


READING = StreamsGroupReading(
    application="orders",
    taken_at_ms=0,
    epoch=7,
    topology={"0": (LOG,), "1": ()},
    members=(
        make_member("p", 1, {"active": (("0", 0), ("1", 0))}, {"active": (("0", 0),)}, instance_id="p1"),
        make_member("p", 2, {"active": (("0", 1),)}, {"active": (("0", 1),)}),
        make_member(
            "q",
            1,
            {"warmup": (("0", 1),), "standby": (("0", 0),)},
            {"active": (("1", 0),), "warmup": (("0", 1),), "standby": (("0", 0),)},
            offsets={("0", 1): 40},
        ),
    ),  # type: ignore[arg-type]
    changelogs={LOG: Topic({0: 100, 1: 90}, {}, {0: 5_000})},
    remarks=("one of the reader's",),
)
INSPECTED = inspect_streams(READING, StatedSettings(max_warmup_replicas=3), {LOG: 2.5})


def test_members_of_a_process_are_one_client_that_runs_the_present_tasks() -> None:
    p, q = INSPECTED.snapshot.clients
    assert (p.process_id, p.threads, p.previous_active, p.tags) == ("p", 2, ("0_0", "0_1", "1_0"), {"zone": "p"})
    assert (q.previous_active, q.previous_standby) == ((), ("0_0", "0_1"))
    assert (p.lags, q.lags) == ({"0_0": RUNNING, "0_1": RUNNING}, {"0_0": UNKNOWN_LAG, "0_1": 50})
    assert [(t.id, t.logged, t.changelog_end_offset) for t in INSPECTED.snapshot.tasks] == [
        ("0_0", True, 100),
        ("0_1", True, 90),
        ("1_0", False, None),
    ]


def test_the_answer_is_the_target_with_warm_ups_by_name() -> None:
    p, q = INSPECTED.applied.clients
    assert (p.active, q.active, q.standby, q.warmup) == (("0_0", "0_1"), ("1_0",), ("0_0",), ("0_1",))
    assert INSPECTED.applied.assignor == "broker"
    assert INSPECTED.applied.report.balanced


def test_missing_facts_are_assumed_and_reported() -> None:
    assert (INSPECTED.protocol, INSPECTED.static_members) == ("streams", 1)
    assert INSPECTED.growth == {"0_0": 2.5, "0_1": 2.5}
    assert INSPECTED.changelog_bytes == {"0_0": 5_000}, "a size that one partition lacks is unknown"
    assert INSPECTED.snapshot.configs.max_warmup_replicas == 3
    assert INSPECTED.remarks[0] == "one of the reader's"
    assert "acceptable.recovery.lag=10000" in INSPECTED.remarks[-1]
    assert "max.warmup.replicas" not in INSPECTED.remarks[-1]
