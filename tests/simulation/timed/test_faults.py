"""Tests of faults of a simulated group, against results by hand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from optassign.simulation.timed.application import FOLLOWING, Application
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import SimulatedRun, digest, simulate
from optassign.simulation.timed.snapshots import describe_joining, make_snapshot

PASS_S, HEARTBEAT_S = 0.5, 3.0
SEEDS = range(8)


def make_scenario(
    faults: Mapping[str, Any], tasks: Mapping[str, Any], *, joins: tuple[float, ...] = (10.0,), **more: Any
) -> Scenario:
    """Return a scenario of `olds` clients (two by default), which a new client joins at each time of `joins`."""
    new = {"name": "new", "count": len(joins), "joins": True, "restore_per_s": 1_000, **more.pop("new", {})}
    events = [{"at": at, "do": "join", "clients": [f"new{number}"]} for number, at in enumerate(joins, start=1)]
    olds = more.pop("olds", 2)
    configs = {"num_standby_replicas": 1, "max_warmup_replicas": 2, "probing_rebalance_interval_ms": 60_000}
    given = {"name": "faults", "duration_s": 400, "configs": configs, "group": {"pass_s": PASS_S}, "faults": faults, **more}
    return Scenario.model_validate({**given, "clients": [{"count": olds}, new], "subtopologies": [tasks], "events": events})


def list_rebalances(played: SimulatedRun) -> list[dict[str, Any]]:
    return [event for event in played.events if event["event"] == "rebalance"]


def find_first_restored(played: SimulatedRun) -> float:
    return next(float(event["at"]) for event in played.events if event["event"] == "restored")


STATELESS = {"partitions": 6, "kind": "stateless"}
RESTORED_IN_10_S = {"partitions": 6, "state": 20_000}
"""Two copies at a time take ten seconds at 4,000 offsets per second."""
ALL_ASK = {"pass_s": PASS_S, "all_ask": True}


def test_a_pass_lasts_until_the_last_heartbeat() -> None:
    waited = []
    for seed in SEEDS:
        scenario = make_scenario({"heartbeats": True}, STATELESS, seed=seed)
        first, second = list_rebalances(simulate(scenario, "cp-sat"))
        for begins, ends in ((10.0, first["at"]), (first["at"], second["at"])):
            waited.append(ends - begins - PASS_S - model_seconds(6, 3))
    assert all(0 <= seconds <= HEARTBEAT_S + 1e-5 for seconds in waited)
    assert max(waited) - min(waited) > 1, "heartbeats come at any time"


def test_the_second_pass_waits_only_for_members_without_revoked_tasks() -> None:
    """One of two members triggers the first pass; the other, whose task is revoked, begins the second at once."""
    for seed in SEEDS:
        scenario = make_scenario({"heartbeats": True}, {"partitions": 2, "kind": "stateless"}, seed=seed, olds=1)
        known = simulate(scenario, "cp-sat").events
        first, second = (event for event in known if event["event"] == "rebalance")
        assert first["moved"]
        assert second["reason"] == "second pass"
        assert second["at"] - first["at"] <= HEARTBEAT_S + PASS_S + model_seconds(2, 2) + 1e-5


def test_passes_do_not_wait_for_heartbeats_if_every_client_asks() -> None:
    scenario = make_scenario({"heartbeats": True}, RESTORED_IN_10_S, group=ALL_ASK, new={"restore_per_s": 4_000})
    known = list_rebalances(simulate(scenario, "cp-sat"))
    reasons = [after["reason"] for after in known[1:]]
    assert set(reasons) == {"second pass", "follow-up"}
    for before, after in pairwise(known):
        wait = 0.0 if after["reason"] == "second pass" else before["followup_s"]
        assert after["at"] - before["at"] == pytest.approx(wait + PASS_S + model_seconds(6, 3), abs=1e-3)


def test_one_client_asks_for_a_late_follow_up() -> None:
    scenario = make_scenario({"heartbeats": True}, RESTORED_IN_10_S, group=ALL_ASK, options={"followup": "interval"})
    known = list_rebalances(simulate(scenario, "cp-sat"))
    late = [after["at"] - before["at"] - 60 for before, after in pairwise(known) if after["reason"] == "follow-up"]
    assert max(late) > PASS_S + model_seconds(6, 3) + 0.1


def test_late_members_are_late_by_half_to_all_of_the_time() -> None:
    scenario = make_scenario({"late": 1.0, "late_s": 8.0}, STATELESS)
    first = list_rebalances(simulate(scenario, "cp-sat"))[0]
    assert 4 <= first["at"] - 10 - PASS_S - model_seconds(6, 3) <= 8
    never = make_scenario({"late": 0.0, "late_s": 8.0}, STATELESS)
    assert list_rebalances(simulate(never, "cp-sat"))[0]["at"] == pytest.approx(10 + PASS_S + model_seconds(6, 3), abs=1e-5)


def test_clients_that_join_during_the_wait_are_in_the_same_rebalance() -> None:
    scenario = make_scenario({"late": 1.0, "late_s": 8.0}, STATELESS, joins=(10.0, 12.0))
    first = list_rebalances(simulate(scenario, "cp-sat"))[0]
    assert sorted(first["clients"]) == ["c1", "c2", "new1", "new2"]


def test_a_member_reports_offsets_of_its_join_against_present_ends() -> None:
    scenario = make_scenario({"heartbeats": True}, {"partitions": 1, "state": 100_000, "input_per_s": 100})
    application = Application(scenario)
    application.up[:] = True
    application.give_role(0, 0, active=True)
    application.sync_all()
    application.give_role(0, 1, active=False)
    application.change_done()
    name, before = application.names[0], 100_000
    joined = {1: describe_joining(application, 1)}
    application.advance(5.0)
    now, old = (make_snapshot(application, None, 5.0, reports).clients[1].lags[name] for reports in ({}, joined))
    assert old == before + 5 * 100
    assert now == before + 5 * 100 - 5 * 10_000
    application.mode[0, 1] = FOLLOWING
    assert make_snapshot(application, None, 5.0, joined).clients[1].lags[name] == old, "it was not in sync when it joined"


def test_a_copy_starts_slowly_and_no_other_gets_its_rate() -> None:
    slow = {"slow_start_s": 2.5, "slow_start_rate": 0.2}
    begins = 10 + PASS_S + model_seconds(1, 2)
    played = simulate(make_scenario(slow, {"partitions": 1, "state": 10_000}, olds=1), "cp-sat")
    assert find_first_restored(played) == pytest.approx(begins + 2.5 + (10_000 - 0.2 * 2.5 * 1_000) / 1_000, abs=1e-3)
    scenario = make_scenario(slow, {"partitions": 3, "state": 10_000})
    application = Application(scenario)
    application.up[:] = True
    for task in range(2):
        application.give_role(task, 2, active=False)
    application.change_done()
    application.advance(2.5)
    assert application.position[:2, 2].tolist() == pytest.approx([0.2 * 2.5 * 500] * 2)
    application.give_role(2, 2, active=False)
    application.change_done()
    application.advance(1.0)
    assert application.position[:, 2].tolist() == pytest.approx([250 + 1_000 / 3] * 2 + [0.2 * 1_000 / 3])


def test_fast_changing_rates_approach_their_mean() -> None:
    def spread(noise_s: float) -> float:
        scenarios = (
            make_scenario({"noise_s": noise_s}, {"partitions": 1, "state": 10_000}, seed=seed, olds=1, new={"noise": 0.5})
            for seed in SEEDS
        )
        seconds = [find_first_restored(simulate(scenario, "cp-sat")) for scenario in scenarios]
        return max(seconds) - min(seconds)

    assert spread(0.2) < 0.5 * spread(5.0)


def test_a_seed_fixes_faults() -> None:
    faults = {"heartbeats": True, "late": 0.3, "slow_start_s": 2.0}
    tasks = {"partitions": 12, "state": 5_000}
    one, again, other = (digest(simulate(make_scenario(faults, tasks, seed=seed), "greedy")) for seed in (1, 1, 2))
    assert one == again != other


def test_a_client_that_returns_in_a_pass_reports_what_it_has_then() -> None:
    """The report of its first join is from before its crash, and does not count."""
    events = [
        {"at": 10.0, "do": "join", "clients": ["new1"]},
        {"at": 10.5, "do": "crash", "clients": ["c1"], "down_s": 1.0, "keeps_disk": False},
    ]
    scenario = make_scenario({"late": 1.0, "late_s": 4.0}, {"partitions": 4, "state": 5_000})
    scenario = Scenario.model_validate({**scenario.model_dump(), "events": events})
    played = simulate(scenario, "cp-sat")
    assert played.measures.curve[-1].down == 0
    assert played.measures.curve[-1].standbys_missing == 0
    assert list_rebalances(played)[-1]["followup_s"] is None
