"""Tests of the study of the time to balance with faults: its bound, its runs, and the results that it calls wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optassign.simulation.timed.joining import JoinDelays, expect_join_s
from optassign.simulation.timed.scenario import Clients, Faults, Scenario, Subtopologies
from optassign_benchmarks.bounds import Copy, schedule_restoring
from optassign_benchmarks.runner import StudyRow
from optassign_benchmarks.studies import time_with_faults as study
from optassign_benchmarks.studies.time_to_balance import KAFKA, TimedGroup
from optassign_benchmarks.studies.time_with_faults import FaultyBalance, ThirdInstance

RATES = {"a": 100.0, "b": 50.0}


def copy(client: str, lag: float) -> Copy:
    return Copy(client, lag, 0.0, needs_slot=True, starting_s=2.0)


@pytest.mark.parametrize(
    ("copies", "slots", "seconds"),
    [
        ([copy("a", 1_000)], 1, 2 + (1_000 - 0.1 * 200) / 100),
        ([copy("a", 10)], 1, 10 / 10),
        ([copy("a", 1_000), copy("a", 1_000)], 2, 2 + (2_000 - 0.1 * 200) / 100),
        ([copy("a", 1_000), copy("a", 1_000)], 1, 2 * (2 + (1_000 - 0.1 * 200) / 100) + 1.0),
        ([copy("a", 1_000), copy("b", 1_000)], 2, 2 + (1_000 - 0.1 * 100) / 50),
    ],
)
def test_the_limit_has_the_disk_time_that_slow_starts_lose(copies: list[Copy], slots: int, seconds: float) -> None:
    assert schedule_restoring(copies, RATES, slots, 1.0, 0.1) == pytest.approx(seconds)


@pytest.mark.parametrize("faults", [{"heartbeats": True}, {"late": 0.1}, {"heartbeats": True, "late": 0.02}, {}])
@pytest.mark.parametrize("members", [1, 2, 9])
def test_a_mean_pass_is_that_of_many_passes(faults: dict[str, float], members: int) -> None:
    scenario = Scenario(
        name="passes",
        duration_s=1,
        faults=Faults.model_validate(faults),
        subtopologies=(Subtopologies(partitions=1),),
        clients=(Clients(count=members),),
    )
    delays = JoinDelays(scenario)
    threads = np.ones(members, dtype=np.int64)
    passes = [max(each.complete_s for each in delays.draw(threads, (), may_be_late=True)) for _ in range(3_000)]
    assert expect_join_s(scenario, members) == pytest.approx(sum(passes) / len(passes), abs=0.1)


def test_a_job_is_played_from_the_join_of_its_last_client() -> None:
    job = TimedGroup("scale-out", 20, 10, 2, "small", 7, 0.3)
    scenario = study.make_scenario(job, 100.0)
    times = [event.at for event in scenario.events]
    assert len(times) == 3
    assert max(times) == job.began_at
    assert 0 < max(times) - min(times) <= 5
    found = study.play(job)["outcome"]
    assert study.play(job)["outcome"] == found
    assert found.limit_s > 3
    assert found.ratio > 0.8
    assert found.passes >= found.rebalances > 1


def test_the_third_instance_restores_two_thirds_of_all_state() -> None:
    found = study.play_third(ThirdInstance(16, 3), "greedy")["outcome"]
    assert 17 < found.disk_s < 24
    assert found.disk_s < found.limit_s
    assert found.disk_s < found.time_s
    assert found.balanced_s <= found.time_s


GOOD = FaultyBalance(limit_s=100, time_s=110, balanced_s=90, rebalances=5, passes=9, moves=8, overlong_s=0.0, disk_s=20)
JOB = TimedGroup("scale-out", 100, 10, 2, "medium", 1, 0.3)


@pytest.mark.parametrize(
    ("times", "messages"),
    [((110, 120, 130), []), ((110, 130, 140), ["1.30 of the limit in the median"]), ((100, 100, 201), ["2.01 of the limit"])],
)
def test_slow_runs_and_a_slow_median_are_told(times: tuple[float, ...], messages: list[str]) -> None:
    rows = [StudyRow({"assignor": "cp-sat", "job": JOB, "outcome": replace(GOOD, time_s=time_s)}) for time_s in times]
    lines = list(study.find_slow(rows))
    assert len(lines) == len(messages)
    assert all(part in line for part, line in zip(messages, lines, strict=True))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, ""),
        ({"time_s": 37}, "restored after 37 s in the median, at most 36"),
        ({"time_s": math.inf}, "restored after inf s at worst, at most 46"),
        ({"overlong_s": 12}, "a wait 12 s longer"),
        ({"kafka": 30}, "Kafka's default 30"),
    ],
)
def test_a_late_third_instance_and_long_waits_are_told(changed: dict[str, float], message: str) -> None:
    kafka = {n: replace(GOOD, time_s=changed.get("kafka", 500)) for n in study.WARM_UPS}
    fields = {name: value for name, value in changed.items() if name != "kafka"}
    rows = [StudyRow({"assignor": KAFKA, "warm_ups": n, "outcome": outcome}) for n, outcome in kafka.items()]
    for n in study.WARM_UPS:
        outcome = replace(GOOD, **{"time_s": 32, **(fields if n == 16 else {})})  # type: ignore[arg-type]
        rows.append(StudyRow({"assignor": "cp-sat", "warm_ups": n, "outcome": outcome}))
    lines = "\n".join(study.find_late(rows))
    assert bool(lines) == bool(message)
    assert message in lines
