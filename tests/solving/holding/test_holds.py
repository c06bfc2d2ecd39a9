"""Tests of pauses, drains and forgotten plans: the promises that operators rely on."""

from __future__ import annotations

import pytest
from altering import with_options
from holding import ASSIGNORS, find_followups, list_actives, list_owners, list_standbys, play
from judging import make_snapshot

from optassign.assignor import assign, list_names_without_jdk
from optassign.generating import generate
from optassign.judging.validation import validate
from optassign.simulation.successors import make_restored_snapshot, make_second_pass_snapshot
from optassign_models.solving import solver_methods


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_nothing_moves_while_paused(assignor: str) -> None:
    state = with_options(generate("scale-out", 24, 4, 1, seed=3), hold="paused")
    answer = assign(state, assignor)
    assert answer.report.termination.reason == "held"
    assert list_actives(answer) == list_owners(state)
    assert answer.plan is None
    assert not any(client.warmup for client in answer.clients)
    assert find_followups(answer) == []
    assert validate(state, answer) == []


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_while_paused_only_tasks_of_a_lost_client_move(assignor: str) -> None:
    whole = generate("steady", 40, 5, 1, seed=2)
    gone = whole.clients[2].process_id
    left = [client for client in whole.clients if client.process_id != gone]
    state = with_options(whole.model_copy(update={"clients": left}), hold="paused")
    answer, owners = assign(state, assignor), list_owners(state)
    assert answer.report.found_by == {"cp-sat": "flow", "greedy": "greedy"}[assignor]
    assert validate(state, answer) == []
    actives = list_actives(answer)
    assert len(actives) == 40
    assert len(owners) < 40
    assert {task: actives[task] for task in owners} == owners
    directories = {(task, client.process_id) for client in state.clients for task in client.previous_standby}
    # A logged task of the lost client runs on its standby, and new standbys replace only missing copies.
    logged = {task.id for task in state.tasks if task.logged}
    assert all((task, actives[task]) in directories for task in logged - set(owners))
    client = whole.kafka_streams_states[gone]
    missing = logged & {*client.previous_active, *client.previous_standby}
    assert sorted(task for task, _ in list_standbys(answer) - directories) == sorted(missing)


def test_a_paused_group_that_lost_a_client_does_not_wait_for_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(case: object) -> None:
        raise AssertionError("a search for a plan")

    monkeypatch.setattr(solver_methods, "_place_by_solver", fail)
    whole = generate("steady", 40, 5, 1, seed=2, stateless=0.3)
    state = whole.model_copy(update={"clients": whole.clients[1:]})
    answer = assign(with_options(state, hold="paused", goals=["load"]), "cp-sat")
    assert answer.report.termination.reason == "held"
    assert len(list_actives(answer)) == 40


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_quiet_hours_request_a_follow_up_at_their_end(assignor: str) -> None:
    state = generate("scale-out", 24, 4, 1, seed=3)
    assert find_followups(assign(with_options(state, hold="quiet_hours", hold_ends_ms=7_000_000), assignor)) == [7_001_000]
    at_rest = generate("steady", 24, 4, 1, seed=1)
    assert find_followups(assign(with_options(at_rest, hold="quiet_hours", hold_ends_ms=7_000_000), assignor)) == []


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_second_pass_is_finished_while_paused(assignor: str) -> None:
    state = generate("steady", 24, 4, 1, seed=1)
    first = assign(with_options(state, drain=[state.clients[0].process_id]), assignor)
    moving = {task for task, client in list_actives(first).items() if list_owners(state)[task] != client}
    assert moving
    # Between the passes no client owns moving tasks.
    between = make_restored_snapshot(state, first).model_copy(update={"remembered": first})
    clients = [
        client.model_copy(
            update={
                "previous_active": tuple(task for task in client.previous_active if task not in moving),
                "previous_standby": tuple({*client.previous_standby, *(moving & set(client.previous_active))}),
                "lags": {task: 0 if lag == -2 and task in moving else lag for task, lag in client.lags.items()},
            }
        )
        for client in between.clients
    ]
    paused = with_options(between.model_copy(update={"clients": clients}), hold="paused")
    answer = assign(paused, assignor)
    assert list_actives(answer) == list_actives(first)
    assert validate(paused, answer) == []


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("tagged", [False, True])
def test_the_report_says_when_a_drained_client_may_stop(assignor: str, tagged: bool) -> None:
    state = generate("steady", 40, 5, 1, seed=4)
    name = state.clients[1].process_id
    if tagged:
        clients = [
            c.model_copy(update={"tags": {"optassign.drain": "true"}} if c.process_id == name else {}) for c in state.clients
        ]
        state = state.model_copy(update={"clients": clients})
    else:
        state = with_options(state, drain=[name])
    played = play(state, assignor)
    (last,) = played[-1][1].report.drains
    assert (last.process_id, last.active, last.standby, last.may_stop) == (name, 0, 0, True)
    assert f"client {name} drains: it has nothing any more, and may stop" in played[-1][1].report.notes
    assert not any(answer.report.drains[0].may_stop for before, answer in played if name in list_owners(before).values())
    had: set[str] | None = None
    for _, answer in played:
        mine = answer.by_process_id[name]
        has = {*mine.active, *mine.standby, *mine.warmup}
        assert had is None or has <= had, "it takes something new"
        had = has


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_client_whose_tasks_fit_nowhere_keeps_them_and_is_reported(assignor: str) -> None:
    state = generate("steady", 12, 2, 1, seed=1)
    name = state.clients[0].process_id
    answer = play(with_options(state, drain=[name]), assignor)[-1][1]
    (row,) = answer.report.drains
    assert row.stays
    assert not row.may_stop
    assert any("and keeps some in the plan, too" in note for note in answer.report.notes)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_while_paused_drains_and_limits_wait_and_the_report_says_so(assignor: str) -> None:
    state = generate("steady", 40, 5, 1, seed=4)
    name, other = state.clients[1].process_id, state.clients[2].process_id
    pin = {"kind": "pin", "name": "p", "tasks": [state.clients[1].previous_active[0]], "clients": [other]}
    answer = assign(with_options(state, drain=[name], limits=[pin], hold="paused"), assignor)
    assert list_actives(answer) == list_owners(state)
    (drain,), (limit,) = answer.report.drains, answer.report.limits
    assert (drain.may_stop, drain.stays) == (False, False)
    assert (limit.kept, limit.gave_way) == (False, False)
    assert limit.why.startswith("nothing moves now: ")
    assert any(note.endswith("and nothing moves now") for note in answer.report.notes)


def test_the_client_that_requests_the_follow_up_follows_from_tags() -> None:
    """The plug-in checks R8 by clients' own tags."""
    state = generate("steady", 40, 5, 1, seed=4)
    first = min(state.kafka_streams_states)
    answer = assign(with_options(state, drain=[first]), "greedy")
    assert [c.process_id for c in answer.clients if c.followup_rebalance_ms is not None] == [first]
    # The validator does not know the drain, so it takes the group for stable.
    assert {violation.rule for violation in validate(state, answer)} <= {"R7"}


def test_an_ambiguous_name_drains_no_client() -> None:
    state = generate("steady", 12, 3, 1, seed=1)
    clients = [client.model_copy(update={"client_id": "same", "host": f"h{i}:1"}) for i, client in enumerate(state.clients)]
    state = state.model_copy(update={"clients": clients})
    answer = assign(with_options(state, drain=["same", "nobody", "h2:1"]), "greedy")
    assert [row.process_id for row in answer.report.drains] == [state.clients[2].process_id]
    assert "drain same: 3 clients go by this name, so none drains by it" in answer.report.notes
    assert "drain nobody: no clients go by this name, so none drains by it" in answer.report.notes


def test_new_options_cancel_a_drain() -> None:
    state = with_options(generate("steady", 12, 3, 1, seed=1), drain=["none"])
    name = state.clients[0].process_id
    drained = with_options(state, drain=[name])
    assert [client.process_id for client in drained.clients if client.draining] == [name]
    assert not any(client.draining for client in with_options(drained, drain=[]).clients)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_forgotten_plan_counts_for_nothing(assignor: str) -> None:
    state = generate("scale-out", 24, 4, 1, seed=3)
    first = assign(state, assignor)
    assert first.plan is not None
    other = {c.process_id: c for c in first.plan}
    names = sorted(other)
    turned = [other[name].model_copy(update={"process_id": names[(i + 1) % len(names)]}) for i, name in enumerate(names)]
    remembered = first.model_copy(update={"plan": turned})
    again = state.model_copy(update={"remembered": remembered})
    fresh = assign(with_options(again, forget_plan=True), assignor)
    assert fresh.plan == assign(state.model_copy(update={"remembered": first.model_copy(update={"plan": None})}), assignor).plan


def test_every_assignor_reports_drains() -> None:
    state = generate("steady", 12, 3, 1, seed=1)
    name = state.clients[0].process_id
    for assignor in list_names_without_jdk():
        answer = assign(with_options(state, drain=[name]), assignor)
        assert [row.process_id for row in answer.report.drains] == [name], assignor


def test_an_answer_without_requests_has_no_such_fields() -> None:
    answer = assign(generate("scale-out", 24, 4, 1, seed=3), "greedy")
    text = answer.model_dump_json()
    assert '"drains"' not in text
    assert '"limits"' not in text


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_drain_that_comes_during_a_second_pass_counts_soon_after(assignor: str) -> None:
    """The second pass repeats the answer from before the drain; the client's tasks stay for that reason, not lack of room."""
    clients = {
        "a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}},
        "b": {"standby": "0_0 0_1", "lags": {"0_0": 0, "0_1": 0}},
        "c": {"lags": {}},
    }
    options = {"idle_followup_ms": 300_000}
    state = make_snapshot({"0_0": 50, "0_1": 50}, clients, options=options, num_standby_replicas=0, acceptable_recovery_lag=100)
    first = assign(state, assignor)
    assert any(task in client.active for client in first.clients if client.process_id != "a" for task in ("0_0", "0_1"))
    between = with_options(make_second_pass_snapshot(state, first), drain=["a"], **options)
    second = assign(between, assignor)
    assert (second.clients[0].active, second.report.termination.reason) == (first.clients[0].active, "confirmed")
    assert validate(between, second) == []
    assert [(row.stays, row.may_stop) for row in second.report.drains] == [(False, False)]
    assert find_followups(second) == [1_000]
    third = assign(with_options(make_restored_snapshot(between, second), drain=["a"], **options), assignor)
    assert not third.clients[0].active
