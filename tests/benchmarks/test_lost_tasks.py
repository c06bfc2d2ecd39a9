"""Tests of the study of lost tasks: its inputs, its bounds, and the rows that it calls worse."""

from dataclasses import replace

import pytest

from optassign.simulation.timed.application import Application
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.runner import StudyRow
from optassign_benchmarks.studies import lost_tasks as study
from optassign_benchmarks.studies.lost_tasks import Loss
from optassign_benchmarks.studies.time_to_balance import KAFKA, KAFKA_INTERVAL_MS, Forgetful, TimedGroup


@pytest.mark.long
def test_known_rates_bring_tasks_back_sooner_but_not_before_the_bound() -> None:
    """Without rates the largest changelog may be on the slowest client."""
    unknown, known = (study.play(("medium", knows, 102))["loss"] for knows in (False, True))
    for loss in (unknown, known):
        assert 0 < loss.bound_s < loss.longest_s
        assert loss.down_s < loss.kafka_down_s
    assert unknown.kafka_longest_s == known.kafka_longest_s
    assert known.bound_s == unknown.bound_s
    assert known.down_s < unknown.down_s


def test_the_bound_holds_for_any_assignor() -> None:
    scenario = TimedGroup("loss", 100, 10, 2, "small", 3).make_scenario(KAFKA_INTERVAL_MS, 600.0)
    watched = Forgetful(KAFKA, 10.0)
    longest = simulate(scenario, watched).measures.longest_down_s
    assert watched.first is not None
    first = watched.first[0]
    assert len(first.clients) == 7
    bound = study.bound_longest(scenario, first)
    held = {task for client in first.clients for task in client.lags}
    lost = [t for t, name in enumerate(Application(scenario).names) if Application(scenario).logged[t] and name not in held]
    assert len(lost) == 4
    assert 1.0 < bound <= longest


def test_more_downtime_and_a_longer_mean_are_worse() -> None:
    good = Loss(down_s=10, longest_s=5, kafka_down_s=20, kafka_longest_s=6, bound_s=2)
    lucky = replace(good, longest_s=7)
    assert not list(study.find_worse(make_rows("not known", good)))
    assert not list(study.find_worse(make_rows("not known", good, good, lucky))), "in one group Kafka's default may be lucky"
    assert list(study.find_worse(make_rows("not known", lucky))) == [
        "small, rates not known: a task is down for 7 s at the longest, 6 s under Kafka's default"
    ]
    assert list(study.find_worse(make_rows("known", replace(good, down_s=21)))) == [
        "small, rates known: more downtime than under Kafka's default in 1 of 1 groups"
    ]


def make_rows(rates: str, *losses: Loss) -> list[StudyRow]:
    return [StudyRow(state="small", rates=rates, loss=loss) for loss in losses]
