"""Tests of a simulated application, against results by hand. They test `optassign.simulation.timed.agenda` and
`optassign.simulation.timed.followups`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from optassign.assignor import TaskAssignor, assign, create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.timed import simulator
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import Scenario, read_scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate
from optassign_models.policy.constants import TIME_LIMIT

PASS_S = 1.0

Objects = Sequence[Mapping[str, Any]]


def make_scenario(clients: Objects, tasks: Objects, events: Objects, **more: Any) -> Scenario:
    configs = {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 60_000} | more.pop("configs", {})
    given = {"name": "made", "duration_s": 1_000, "configs": configs, **more}
    return Scenario.model_validate({**given, "clients": clients, "subtopologies": tasks, "events": events})


def find_times(played: SimulatedRun, event: str) -> list[float]:
    return [each["at"] for each in played.events if each["event"] == event]


JOIN = {"at": 10, "do": "join", "clients": ["new1"]}
ONE = {"partitions": 1, "state": 10_000}


def test_a_new_standby_is_in_sync_when_its_disk_is_done() -> None:
    scenario = make_scenario([{"restore_per_s": 1_000}, {"name": "new", "joins": True, "restore_per_s": 1_000}], [ONE], [JOIN])
    begins = 10 + PASS_S + model_seconds(1, 2)
    assert find_times(simulate(scenario, "cp-sat"), "restored")[0] == pytest.approx(begins + 10, abs=1e-3)


@pytest.mark.parametrize("every_s", [0.1, 0.3, 0.7])
def test_heartbeats_of_any_period_end(every_s: float) -> None:
    """The tenth of a second is no sum of powers of two, so the time of the next heartbeat was sometimes the present one."""
    group = {"protocol": "heartbeat", "heartbeat_s": every_s}
    clients: Objects = [{"restore_per_s": 3_000}, {"name": "new", "joins": True, "restore_per_s": 3_000}]
    tasks = [{"partitions": 2, "state": 100_000}]
    assert find_times(simulate(make_scenario(clients, tasks, [JOIN], group=group), "cp-sat"), "restored")


def test_a_slow_machine_does_not_cut_simulated_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """R9: with the service's limit, a day of 1,000 tasks differed on a machine that was ten times as slow."""
    limits = []

    def note_limit(name: str, *, time_limit: float) -> TaskAssignor:
        limits.append(time_limit)
        return create(name, time_limit=time_limit)

    def note_start_limit(state: ApplicationState, assignor: str, time_limit: float) -> TaskAssignment:
        return assign(state, note_limit(assignor, time_limit=time_limit))

    monkeypatch.setattr(simulator, "create", note_limit)
    monkeypatch.setattr(simulator, "assign", note_start_limit)
    simulate(make_scenario([{"count": 2}], [ONE], [], warm_start=True), "greedy")
    assert len(limits) == 2
    assert min(limits) > 2 * TIME_LIMIT


def test_a_growing_changelog_is_caught_up_later() -> None:
    growing = {**ONE, "input_per_s": 500}
    scenario = make_scenario([{}, {"name": "new", "joins": True, "restore_per_s": 1_000}], [growing], [JOIN])
    begins = 10 + PASS_S + model_seconds(1, 2)
    written = 10_000 + 500 * begins
    assert find_times(simulate(scenario, "cp-sat"), "restored")[0] == pytest.approx(begins + written / 500, abs=1e-3)


def test_copies_on_one_disk_share_its_rate_and_the_brokers_limit_all() -> None:
    clients: Objects = [{"count": 2}, {"name": "new", "joins": True, "restore_per_s": 1_000}]
    configs = {"num_standby_replicas": 2, "max_warmup_replicas": 10}
    begins = 10 + PASS_S + model_seconds(2, 3)
    for limit, seconds in ((None, 20), (500, 40)):
        scenario = make_scenario(clients, [{**ONE, "partitions": 2}], [JOIN], configs=configs, group={"restore_per_s": limit})
        times = find_times(simulate(scenario, "cp-sat"), "restored")
        assert times[:2] == pytest.approx([begins + seconds] * 2, abs=1e-3), limit


def test_a_drained_client_leaves_once_it_has_no_task() -> None:
    """Its tasks move to their standbys, so that no task is down for longer than a rebalance."""
    scenario = make_scenario([{"count": 3}], [{**ONE, "partitions": 6}], [{"at": 10, "do": "drain", "clients": ["c2"]}])
    played = simulate(scenario, "cp-sat")
    (left,) = find_times(played, "left")
    assert left > 10
    given = [each for each in played.events if each["event"] == "rebalance"][-1]["clients"]
    assert sorted(given) == ["c1", "c3"]
    assert played.measures.moves == 2
    assert played.measures.longest_down_s < 3 * PASS_S


def test_after_a_crash_the_standby_leads_once_the_group_has_noticed() -> None:
    task = {"partitions": 2, "state": 10_000, "input_per_s": 100}
    scenario = make_scenario([{"count": 2}], [task], [{"at": 100, "do": "crash", "clients": ["c1"]}])
    played = simulate(scenario, "cp-sat")
    down = 45 + PASS_S + model_seconds(2, 1)
    assert played.measures.down_task_s == pytest.approx(down, abs=1e-3)
    assert played.measures.longest_down_s == pytest.approx(down, abs=1e-3)
    assert played.measures.most_backlog == pytest.approx(100 * down, abs=1e-2)
    drains = 100 * down / (10_000 - 200)  # the survivor processes 10,000 records per second, 200 of which are new
    assert played.measures.backlog_s == pytest.approx(100 * down * (down + drains) / 2, rel=1e-3)


def test_without_a_standby_the_task_is_down_until_it_is_restored() -> None:
    task = {"partitions": 2, "state": 30_000}
    clients = [{"count": 2, "restore_per_s": 1_000}]
    event = {"at": 100, "do": "crash", "clients": ["c1"]}
    played = simulate(make_scenario(clients, [task], [event], configs={"num_standby_replicas": 0}), "cp-sat")
    assert played.measures.longest_down_s == pytest.approx(45 + PASS_S + model_seconds(2, 1) + 30, abs=1e-3)


def test_eager_rebalancing_stops_all_tasks_and_cooperative_the_moving_ones() -> None:
    clients: Objects = [{"count": 2}, {"name": "new", "joins": True}]
    stateless = {"partitions": 6, "kind": "stateless"}
    measures = {
        how: simulate(make_scenario(clients, [stateless], [JOIN], group={"rebalancing": how}), "cp-sat").measures
        for how in ("eager", "cooperative")
    }
    took = PASS_S + model_seconds(6, 3)
    assert measures["eager"].down_task_s == pytest.approx(6 * took, abs=1e-3)
    assert measures["cooperative"].down_task_s == pytest.approx(2 * took, abs=1e-3)
    assert [measures[how].rebalances for how in ("eager", "cooperative")] == [1, 2]
    assert [measures[how].moves for how in ("eager", "cooperative")] == [2, 2]


def test_a_returning_client_finds_its_state_unless_deleted() -> None:
    for down, restored in ((30.0, 0), (30.0, 20_000)):
        clients = [{"count": 2}]
        keeps = restored == 0
        event = {"at": 100, "do": "crash", "clients": ["c1"], "down_s": down, "keeps_disk": keeps}
        played = simulate(make_scenario(clients, [{**ONE, "partitions": 2}], [event]), "cp-sat")
        assert played.measures.restored == pytest.approx(restored, abs=1e-3), keeps


@pytest.mark.parametrize("at", [100.0, 100.1, 100.7, 1234.567])
def test_state_is_deleted_exactly_after_the_delay(at: float) -> None:
    """The task moves from c1 to c2 and back. c1, which has started again in between, restores it if its state was deleted."""
    clients: Objects = [{"count": 2}]
    restored: dict[float, float] = {}
    for delay in (600.0, 1e6):
        events = [
            {"at": at, "do": "crash", "clients": ["c1"], "down_s": 100},
            {"at": at + 1_300, "do": "crash", "clients": ["c2"]},
        ]
        more = {"configs": {"num_standby_replicas": 0}, "group": {"state_cleanup_delay_s": delay}, "duration_s": 6_000}
        played = simulate(make_scenario(clients, [ONE], events, warm_start=True, **more), "cp-sat")
        restored[delay] = played.measures.restored
    assert restored[600.0] >= restored[1e6] + 10_000


def test_state_without_a_role_is_deleted_after_the_delay() -> None:
    """c1 returns after its copies were restored elsewhere; a longer delay before its state is deleted restores no more."""
    clients = [{"count": 3, "restore_per_s": 1_000}]
    events = [{"at": 100, "do": "crash", "clients": ["c1"], "down_s": 200}]
    scenario = make_scenario(clients, [{**ONE, "partitions": 6}], events, group={"state_cleanup_delay_s": 50.0})
    kept = simulate(scenario, "cp-sat").measures.restored
    assert kept > 0
    forever = scenario.model_copy(update={"group": scenario.group.model_copy(update={"state_cleanup_delay_s": 1e6})})
    assert simulate(forever, "cp-sat").measures.restored <= kept


@pytest.mark.parametrize("warm", [True, False])
def test_a_static_member_that_returns_in_time_causes_no_rebalance(warm: bool) -> None:
    event = {"at": 100, "do": "restart", "clients": ["c1"], "down_s": 20}
    scenario = make_scenario([{"count": 2}], [{**ONE, "partitions": 4}], [event], warm_start=warm, group={"static": True})
    played = simulate(scenario, "cp-sat")
    after = [each for each in played.events if each["event"] == "rebalance" and each["at"] > 100]
    assert after == []
    dynamic = scenario.model_copy(update={"group": scenario.group.model_copy(update={"static": False})})
    assert [each["reason"] for each in simulate(dynamic, "cp-sat").events if each["event"] == "rebalance" and each["at"] > 100]


def test_a_zone_fails_as_a_whole() -> None:
    clients = [{"name": zone, "count": 2, "tags": {"zone": zone}} for zone in "ab"]
    event = {"at": 100, "do": "zone-fails", "zone": "b"}
    played = simulate(make_scenario(clients, [{**ONE, "partitions": 8}], [event]), "cp-sat")
    assert [each["clients"] for each in played.events if each["event"] == "zone-fails"] == [["b1", "b2"]]


def test_our_scale_out_balances_sooner_and_stops_fewer_tasks_than_kafkas() -> None:
    ours, theirs = (simulate(read_scenario("scale-out"), name).measures for name in ("cp-sat", "high-availability"))
    assert ours.balanced_since() < theirs.balanced_since()
    assert ours.down_task_s < theirs.down_task_s


@pytest.mark.parametrize(("own", "moves"), [(True, False), (False, True)])
def test_an_assignor_moves_no_task_of_its_own_start(own: bool, moves: bool) -> None:
    """If the start is not its own, Kafka's default moves tasks at the first rebalance."""
    asked: Objects = [{"at": 10, "do": "configure", "configs": {"max_warmup_replicas": 4}}]
    subtopologies: Objects = [{"partitions": partitions, "state": 20_000} for partitions in (7, 5)]
    scenario = make_scenario([{"count": 3}], subtopologies, asked, own_start=own)
    assert (simulate(scenario, "high-availability").measures.moves > 0) == moves
    assert simulate(scenario, "cp-sat").measures.moves == 0


def test_a_rebalance_waits_for_a_member_until_its_crash_is_noticed() -> None:
    """Kafka's coordinator needs all members for a rebalance: a follow-up just after a crash does not reveal it."""
    clients: Objects = [{"count": 2, "restore_per_s": 100}, {"name": "new", "joins": True, "restore_per_s": 100}]
    crash = {"at": 65, "do": "crash", "clients": ["c2"]}
    scenario = make_scenario(clients, [{"partitions": 12, "state": 20_000}], [JOIN, crash])
    alone = find_times(simulate(scenario.model_copy(update={"events": scenario.events[:1]}), "high-availability"), "rebalance")
    assert [at for at in alone if 66 < at < 105], "no follow-up comes while the crash is not noticed"
    played = simulate(scenario, "high-availability")
    assert not [at for at in find_times(played, "rebalance") if 66 < at < 65 + 45]
    assert played.measures.longest_down_s > 45
