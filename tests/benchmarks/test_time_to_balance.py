"""Tests of the study of the time to balance: the bound that it compares with, and the results that it calls wrong."""

import math
from dataclasses import replace

import pytest

from optassign.measuring.balance import Share
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.bounds import Copy, find_least, find_limit, schedule_restoring
from optassign_benchmarks.runner import StudyRow
from optassign_benchmarks.studies import time_to_balance as study
from optassign_benchmarks.studies.time_to_balance import Forgetful, ReachedBalance, TimedGroup
from optassign_models.solving import solve, steps

RATES = {"a": 100.0, "b": 50.0}


def copy(client: str, lag: float, growth: float = 0.0, *, slot: bool = True, awaited: bool = True) -> Copy:
    return Copy(client, lag, growth, slot, awaited)


@pytest.mark.parametrize(
    ("copies", "slots", "pass_s", "seconds"),
    [
        ([], 2, 1.0, 0.0),
        ([copy("a", 1_000)], 1, 1.0, 10.0),
        ([copy("a", 1_000), copy("a", 1_000)], 1, 1.0, 10.0 + 1.0 + 10.0),
        ([copy("a", 1_000), copy("b", 500)], 2, 1.0, 10.0),
        ([copy("a", 1_000), copy("a", 1_000)], 2, 1.0, 20.0),
        ([copy("a", 1_000), copy("a", 1_000, slot=False, awaited=False)], 1, 1.0, 20.0),
        ([copy("a", 1_000, slot=False)], 1, 1.0, 10.0),
        ([copy("a", 1_000, slot=False, awaited=False)], 1, 1.0, 0.0),
        ([copy("a", 1_000, growth=50.0)], 1, 1.0, 20.0),
        ([copy("a", 1_000), copy("b", 500, growth=25.0)], 1, 0.0, 10.0 + (500 + 250) / 25),
    ],
)
def test_a_schedule_counts_disks_slots_passes_and_growth(copies: list[Copy], slots: int, pass_s: float, seconds: float) -> None:
    assert schedule_restoring(copies, RATES, slots, pass_s) == pytest.approx(seconds)


def test_a_copy_that_grows_faster_than_it_restores_has_no_limit() -> None:
    with pytest.raises(ValueError, match="faster"):
        schedule_restoring([copy("b", 1_000, growth=60.0)], RATES, 1, 1.0)


def test_a_job_is_played_and_hardly_faster_than_its_limit() -> None:
    job = TimedGroup("scale-out", 20, 4, 2, "small", 7)
    found = study.play(job)["outcome"]
    # The bound is a list schedule; another order of the copies may be a little shorter.
    assert 0.9 <= found.ratio < 10
    assert found.rebalances >= found.lock_step - 1
    assert found.balanced_s <= found.at_rest_s
    assert found.kafka_imbalance_s > found.imbalance_s > found.least_imbalance_s > 0
    assert study.play(job)["outcome"] == found


def test_half_of_the_actives_move_before_the_others_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client has left; all standbys of its actives are on one other client, and the lost copies are restored elsewhere."""
    # Disable the spreading of standbys, so that one client has all standbys of another, as under Kafka's default.
    for module in (solve, steps):
        monkeypatch.setattr(module, "spread_ties", lambda situation, placed: placed)
    job = TimedGroup("scale-in", 100, 10, 2, "medium", 105)
    scenario = job.make_scenario(study.OUR_INTERVAL_MS, 400.0)
    watched = Forgetful("cp-sat", job.began_at)
    played = simulate(scenario, watched)
    assert watched.first is not None
    limit, _ = find_limit(scenario, *watched.first)
    assert played.measures.balanced_since() - job.began_at < 0.6 * limit
    # Three of the follow-ups observe a rate that is not trusted yet.
    assert sum(event.get("reason") == "follow-up" for event in played.events) <= 7


ALLOWED = {"a": Share(2, 2), "b": Share(2, 2)}


@pytest.mark.parametrize(
    ("ready", "restored", "least"),
    [
        ({"0_0": "ab", "0_1": "ab", "0_2": "ab", "0_3": "ab"}, 0, 0),
        ({"0_0": "a", "0_1": "a", "0_2": "a", "0_3": "a"}, 0, 3 + 3),
        ({"0_0": "a", "0_1": "a", "0_2": "a", "0_3": "a"}, 1, 1 + 1),
        ({"0_0": "a", "0_1": "a", "0_2": "a", "0_3": "b"}, 0, 1 + 1),
        ({"0_0": "a", "0_1": "a", "0_2": "a", "0_3": "ab"}, 1, 0),
    ],
)
def test_the_least_imbalance_depends_on_ready_clients(ready: dict[str, str], restored: int, least: int) -> None:
    on = {task: set(clients) for task, clients in ready.items()}
    assert find_least(ALLOWED, on, {"a": 0, "b": restored}) == least


def test_an_unowned_task_counts_for_no_client() -> None:
    on = {f"0_{number}": {"a"} for number in range(4)}
    assert find_least(ALLOWED, on, {"a": 0, "b": 0}, may_rest=True) == 3


GOOD = ReachedBalance(
    limit_s=1_000, at_rest_s=1_100, balanced_s=900, rebalances=20, passes=39, lock_step=20, imbalance_s=5, down_s=10,
    kafka_imbalance_s=100, kafka_down_s=20, least_imbalance_s=3, moves=9, moves_logged=5,
)  # fmt: skip
JOB = TimedGroup("scale-out", 100, 10, 2, "medium", 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, ""),
        ({"at_rest_s": 1_360}, "1.36 of the limit"),
        ({"at_rest_s": float("inf")}, "inf of the limit"),
        ({"rebalances": 29}, "29 rebalances"),
        ({"imbalance_s": 11}, "0.11 of the imbalance of Kafka's default, the least of any assignor is 0.03"),
        ({"imbalance_s": 11, "least_imbalance_s": math.nan}, "0.11 of the imbalance of Kafka's default"),
        ({"down_s": 21}, "21 task-seconds"),
    ],
)
def test_a_wrong_result_is_reported(changed: dict[str, float], message: str) -> None:
    row = StudyRow({**study.make_case(JOB).facts, "outcome": replace(GOOD, **changed)})  # type: ignore[arg-type]
    lines = list(study.find_missed([row]))
    assert bool(lines) == bool(message)
    assert message in "".join(lines)
    head, _, line = study.TIME_TO_BALANCE.layouts[0].fill([row]).to_markdown().splitlines()
    assert head.count("|") == line.count("|")
