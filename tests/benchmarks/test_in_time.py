"""Tests of the rows and demands of the study `in-time`, from recorded runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from optassign_benchmarks.kafka.load import PARTITIONS, count_faults
from optassign_benchmarks.kafka.recovery.prepared import StateSize
from optassign_benchmarks.kafka.recovery.prepared_groups import DEFAULT, HEARTBEAT_S, JAR, SERVICE, STATIC
from optassign_benchmarks.repeated import RepeatedCase, Run
from optassign_benchmarks.runner import PlayedRow
from optassign_benchmarks.studies.processes.in_time import IN_TIME, summarise

_CASES = {case.name: case for case in IN_TIME.cases(False)}
_JAR, _DEFAULT = "scale-out, quiet, large, jar alone, 16", "scale-out, quiet, large, Kafka's default, 16"
_DISKS = 20.0


def run(even: float | None, restored: float | None, **other: object) -> Run:
    """Return the figures of a run with these times; the event is noticed after 5 s, and all other figures meet the demands."""
    figures: dict[str, object] = {
        "load": 0.5,
        "noticed_s": 5.0,
        "even_s": even,
        "restored_s": restored,
        "restoring_s": _DISKS,
        "waits": [[5.0, 3.0, 0.0], [11.0, 9.0, 6.0]],
        "expectations": [[11.0, 30.0, 20.0, 1.5]],
        "latency_s": 2.0,
        "lost": 0,
        "doubled": 0,
        "dead": 0,
        "state_read": 1000,
        "rebalances": 6,
    }
    return {**figures, **other}


def tell(**runs: Sequence[Run]) -> dict[str, PlayedRow]:
    """Return the rows of these runs by their keys: `jar` is the plug-in's row, `default` the row of Kafka's default."""
    names = {"jar": _JAR, "default": _DEFAULT}
    played: list[tuple[RepeatedCase, Sequence[Run]]] = [(_CASES[names[name]], each) for name, each in runs.items()]
    return dict(zip(runs, summarise(played), strict=True))


def test_a_row_has_medians_and_worst_of_its_runs() -> None:
    cells = tell(jar=[run(20, 30, latency_s=1.0), run(21, 41), run(28, 33, state_read=1200, rebalances=8)])["jar"].cells
    assert (cells["runs"], cells["even after, s"], cells["at worst"]) == (3, "21.0", "28.0")
    assert (cells["restored after, s"], cells["restored at worst"]) == ("33.0", "41.0")
    assert (cells["worst latency of a record, s"], cells["state read, records"], cells["rebalances"]) == (2.0, 1000, 6)


def test_runs_that_meet_all_demands_have_no_faults() -> None:
    """Disks need 20 s and a step two heartbeats: 36 s after the first assignment is allowed in the median, 46 s at worst."""
    rows = tell(jar=[run(40, 41), run(41, 41), run(50, 51)], default=[run(70, 70)])
    assert [row.faults for row in rows.values()] == [(), ()]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([run(30, 42)], "restored 37.0 s after the first assignment in the median; at most 36.0 demanded"),
        ([run(42, 42)], "even 37.0 s after the first assignment in the median; at most 36.0 demanded"),
        ([run(30, 30), run(30, 30), run(30, 52)], "restored 47.0 s after the first assignment at worst; at most 46.0 demanded"),
        ([run(30, None)], "restored > 240 s after the first assignment in the median; at most 36.0 demanded"),
        ([run(30, 30, waits=[[5.0, 60.0, 3.0]])], "1 waits above the time under way plus a heartbeat, by 54.0 s"),
        (
            [run(30, 30, expectations=[[11.0, 90.0, 20.0, 4.0]])],
            "time-to-target-ms wrong by a factor of 4.0; at most 2 demanded",
        ),
        ([run(30, 30, lost=2)], "2 records lost"),
        ([run(30, 30, doubled=1)], "1 records doubled"),
        ([run(30, 30, dead=1)], "1 stream threads dead"),
    ],
)
def test_a_run_that_misses_a_demand_is_told(runs: Sequence[Run], text: str) -> None:
    assert f"{_JAR}: {text}" in tell(jar=runs)["jar"].faults


def test_the_same_number_of_warm_ups_is_faster_than_under_kafkas_default() -> None:
    rows = tell(jar=[run(30, 35)], default=[run(34, 34), run(35, 35), run(70, 70)])
    assert rows["jar"].faults == (f"{_JAR}: restored after 35.0 s, no faster than Kafka's default, 35.0 s",)
    assert rows["default"].faults == (), "no targets are set for Kafka's default"


def test_disk_time_is_the_least_of_all_rows_of_the_event() -> None:
    rows = tell(jar=[run(30, 30)], default=[run(34, 34, restoring_s=12.0)])
    assert {row.cells["disks need, s"] for row in rows.values()} == {12.0}


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        pytest.param("9:9", (2, 0), id="two are missing"),
        pytest.param("6:6", (0, 1), id="one came again"),
        pytest.param("9", (2, 0), id="two are missing, not counted"),
        pytest.param("7:5", (1, 0), id="its count misses some"),
        pytest.param("7:8", (0, 1), id="it was counted twice"),
    ],
)
def test_a_wrong_result_shows_records_lost_or_doubled(value: str, faults: tuple[int, int]) -> None:
    assert count_faults(value, 7) == faults


def test_tasks_have_the_offsets_of_their_subtopologys_range() -> None:
    size = StateSize("any", {0: (150, 300), 1: (30, 90)})
    counts = {number: [size.count(number, p) for p in range(PARTITIONS)] for number in (0, 1)}
    assert (min(counts[0]), max(counts[0]), len(set(counts[0]))) == (150, 300, PARTITIONS)
    assert (min(counts[1]), max(counts[1])) == (30, 90)


def test_rows_are_what_a_user_may_choose() -> None:
    facts = [tuple(case.facts.values()) for case in _CASES.values()]
    assert len(facts) == len(set(facts)) == 4 * (10 + 3 * 6)
    assert {row[0] for row in facts} == {"scale-out", "rolling restart", "kill of one", "kill of two"}
    assert {row[1:3] for row in facts} == {(machine, state) for machine in ("quiet", "busy") for state in ("large", "small")}
    assert [case.name for case in IN_TIME.cases(True)] == [
        f"scale-out, quiet, small, {assignor}, 16" for assignor in ("Kafka's default", "jar alone", "jar with service")
    ]


def test_a_group_is_set_up_as_its_row_says() -> None:
    """Kafka's default is played as it is and tuned, the jar with as many warm-ups; all of them with two sizes of state."""
    played = {(case.plan.setup.assignor, case.plan.setup.warmups) for case in _CASES.values()}
    assert played == {(STATIC, 2), *((assignor, n) for assignor in (DEFAULT, JAR, SERVICE) for n in (2, 4, 16))}
    assert {case.plan.setup.state.name for case in _CASES.values()} == {"large", "small"}
    assert HEARTBEAT_S == 3, "the limits of the rows count two heartbeats a step"
