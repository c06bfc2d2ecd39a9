"""Tests of the time of the next follow-up: rates between snapshots decide, within the interval, without storms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from judging import make_snapshot
from seeds import take_few

from optassign.assignor import assign
from optassign.formats.assignment import ClientPace, EvidenceName, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate
from optassign_models.results import OWNERS_HELD

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
END = 100_000
both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])


def take(at: float, lags: dict[str, int], remembered: TaskAssignment | None, **options: Any) -> ApplicationState:
    """Return a snapshot, `at` seconds after the beginning: a and b run two tasks each, and the new c has `lags`."""
    clients = {
        "a": {"active": ["0_0", "0_1"], "standby": [], "lags": {"0_0": -2, "0_1": -2}},
        "b": {"active": ["0_2", "0_3"], "standby": [], "lags": {"0_2": -2, "0_3": -2}},
        "c": {"active": [], "standby": list(lags), "lags": lags},
    }
    ends = {f"0_{number}": END for number in range(4)}
    made = make_snapshot(ends, clients, num_standby_replicas=0, acceptable_recovery_lag=100, max_warmup_replicas=1)
    taken = (BEGIN + timedelta(seconds=at)).isoformat()
    return made.model_copy(
        update={"taken_at": taken, "remembered": remembered, "options": made.options.model_copy(update=options)}
    )


def delay_of(answer: TaskAssignment) -> int | None:
    return next((c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None), None)


def warming(answer: TaskAssignment) -> str:
    (task,) = answer.by_process_id["c"].warmup
    return task


def rate_of(answer: TaskAssignment, client: str = "c") -> ClientPace:
    assert answer.report.pace is not None
    return next(row for row in answer.report.pace.clients if row.process_id == client)


@both
def test_waits_follow_the_time_under_way(assignor: str) -> None:
    """The copy takes a hundred seconds, with half of the rate for the first three."""
    answer, at, delays = assign(take(0, {}, None), assignor), 0.0, []
    while delay := delay_of(answer):
        at += delay / 1000
        delays.append(delay)
        restored = 500 * min(at, 3) + 1_000 * max(0, at - 3)
        if restored > END - 100:
            break
        answer = assign(take(at, {warming(answer): int(END - restored)}, answer), assignor)
    assert delays[:2] == [2_000, 2_000], "a start is no rate"
    assert delays[2] == 2_800, "by one measurement a wait is 0.7 of the four seconds under way at most"
    assert rate_of(answer).evidence == "steady"
    assert rate_of(answer).offsets / rate_of(answer).ms == pytest.approx(1, rel=0.1)
    assert delays[3:5] == pytest.approx([4_760, 8_092], abs=1), "two agree, but not for long enough"
    assert len(delays) == 7, "after 25 seconds of measurement the last look is due as the copy ends"
    assert 100 < at < 115


@both
def test_two_slow_starts_that_agree_cause_no_long_wait(assignor: str) -> None:
    """Two looks find 10,000 offsets restored in three seconds, a tenth of the copy each."""
    answer = assign(take(0, {}, None), assignor)
    task = warming(answer)
    for at, restored in ((2, 0), (5, 10_000), (8, 20_000)):
        answer = assign(take(at, {task: END - restored}, answer), assignor)
    assert rate_of(answer).evidence == "steady"
    delay = delay_of(answer)
    assert delay is not None
    assert delay <= 8_000, "a few measured seconds justify no wait of 24 s"


@both
def test_an_outdated_lag_causes_no_long_wait(assignor: str) -> None:
    """The member joined early, so its lag shows a tenth of the offsets restored in eight seconds."""
    first = assign(take(0, {}, None), assignor)
    stale = assign(take(8, {warming(first): END - 2_000}, first), assignor)
    assert delay_of(stale) == pytest.approx(0.7 * 8_000, abs=2)
    assert rate_of(stale).evidence == "once"
    slower = assign(take(16, {warming(first): END - 60_000}, stale), assignor)
    assert rate_of(slower).evidence == "once", "the two measurements differ"
    assert (delay_of(slower) or 0) <= 0.7 * 16_000


@both
def test_a_second_pass_gives_no_rate(assignor: str) -> None:
    """A task moves to c at once, and another copy restores there: the second pass is late, and its lags are old."""
    clients: dict[str, Any] = {
        "a": {"active": ["0_0", "0_1", "0_2"], "lags": dict.fromkeys(("0_0", "0_1", "0_2"), -2)},
        "b": {"active": ["0_3", "0_4", "0_5"], "lags": dict.fromkeys(("0_3", "0_4", "0_5"), -2)},
        "c": {"active": [], "standby": ["0_0"], "lags": {"0_0": 0}},
    }
    ends = {f"0_{number}": END for number in range(6)}

    def see(at: float, remembered: TaskAssignment | None) -> ApplicationState:
        made = make_snapshot(ends, clients, num_standby_replicas=0, acceptable_recovery_lag=100, max_warmup_replicas=1)
        return made.model_copy(update={"taken_at": (BEGIN + timedelta(seconds=at)).isoformat(), "remembered": remembered})

    first = assign(see(0, None), assignor)
    assert first.by_process_id["c"].active == ("0_0",)
    clients["a"] |= {"active": ["0_1", "0_2"]}
    clients["c"] |= {"standby": ["0_0", warming(first)], "lags": {"0_0": 0, warming(first): END - 10}}
    late = assign(see(8, first), assignor)
    assert late.report.pace is not None
    assert late.report.pace.clients == ()
    assert (delay_of(late) or 0) <= 0.7 * 8_000


@both
def test_looks_without_progress_back_off_up_to_the_interval(assignor: str) -> None:
    answer, at, delays = assign(take(0, {}, None), assignor), 0.0, []
    for _ in range(14):
        at += (delay_of(answer) or 0) / 1000
        answer = assign(take(at, {warming(answer): END}, answer), assignor)
        delays.append(delay_of(answer))
        if delay_of(answer) is None:
            break
    assert delays[:3] == [4_000, 8_000, 16_000]
    assert max(delay for delay in delays if delay is not None) <= 600_000
    assert delays[-1] is None, "R11: a copy that never comes nearer is given up"
    assert at > 180, "but not before three minutes have passed: answers are not seconds"


@both
def test_the_first_look_is_soon_after_any_rest(assignor: str) -> None:
    state = take(0, {}, None)
    two = state.model_copy(update={"clients": state.clients[:2]})
    answer = assign(two, assignor)
    for at in (5, 10, 60, 3600):
        seen = take(at, {}, answer)
        answer = assign(seen.model_copy(update={"clients": seen.clients[:2]}), assignor)
        assert delay_of(answer) is None
    assert delay_of(assign(take(7200, {}, answer), assignor)) == 2_000


@both
def test_the_interval_is_kept_on_request_and_without_times(assignor: str) -> None:
    assert delay_of(assign(take(0, {}, None, followup="interval"), assignor)) == 600_000
    untimed = take(0, {}, None).model_copy(update={"taken_at": None})
    answer = assign(untimed, assignor)
    assert (delay_of(answer), answer.report.pace) == (600_000, None)


@both
def test_a_clock_that_goes_back_gives_no_rate(assignor: str) -> None:
    first = assign(take(100, {}, None), assignor)
    second = assign(take(50, {warming(first): END - 20_000}, first), assignor)
    assert second.report.pace is not None
    assert second.report.pace.clients == ()
    assert delay_of(second) == 2_000


@both
def test_a_copy_restored_before_the_first_look_gives_a_lower_bound(assignor: str) -> None:
    first = assign(take(0, {}, None), assignor)
    done = assign(take(2.2, {warming(first): 0}, first), assignor)
    assert done.report.pace is not None
    (pace,) = done.report.pace.clients
    assert (pace.process_id, pace.offsets, pace.ms, pace.evidence) == ("c", 3 * END, 2_200, "bound")


@both
def test_a_finished_copy_raises_a_guess_more_than_a_measured_rate(assignor: str) -> None:
    """An unobserved start may have been faster: a guess grows by a half, a measured rate by a hundredth."""
    first = assign(take(0, {}, None), assignor)
    measured = assign(take(8, {warming(first): END - 20_000}, first), assignor)
    rate = rate_of(measured)
    assert rate.evidence == "once"
    doubts: tuple[tuple[EvidenceName, float], ...] = (("once", 1.01), ("bound", 1.5))
    for evidence, more in doubts:
        before = know_another(measured, rate.offsets, rate.ms, evidence=evidence, client="c")
        done = assign(take(1_000, {warming(first): 0}, before), assignor)
        after = rate_of(done)
        assert after.offsets * rate.ms == pytest.approx(rate.offsets * after.ms * more, rel=1e-4)
        assert after.evidence == evidence


@both
def test_a_lower_bound_of_a_rate_causes_no_long_wait(assignor: str) -> None:
    """A small changelog was restored at once. At the guessed rate, a large one would take more than a minute."""
    first = assign(take(0, {}, None), assignor)

    def see_another_join(at: float, remembered: TaskAssignment) -> ApplicationState:
        state = take(at, {warming(first): 0}, remembered)
        tasks = [task.model_copy(update={"changelog_end_offset": 100 * END}) for task in state.tasks]
        new = state.clients[-1].model_copy(update={"process_id": "d", "previous_standby": (), "lags": {}})
        return state.model_copy(update={"tasks": tuple(tasks), "clients": (*state.clients, new)})

    assert delay_of(assign(see_another_join(2.2, first), assignor)) == 2_000


@both
def test_a_second_pass_counts_towards_the_requested_delay(assignor: str) -> None:
    """One task moves to the new client in two passes, and another restores there: the delay counts from the first pass."""

    def see(at: float, mine: list[str], remembered: TaskAssignment | None) -> ApplicationState:
        clients = {
            "a": {"active": mine, "standby": [], "lags": dict.fromkeys(("0_0", "0_1", "0_2"), -2)},
            "b": {"active": ["0_3", "0_4", "0_5"], "standby": [], "lags": dict.fromkeys(("0_3", "0_4", "0_5"), -2)},
            "c": {"active": [], "standby": ["0_0"], "lags": {"0_0": 0}},
        }
        ends = {f"0_{number}": END for number in range(6)}
        made = make_snapshot(ends, clients, num_standby_replicas=0, acceptable_recovery_lag=100, max_warmup_replicas=1)
        return made.model_copy(update={"taken_at": (BEGIN + timedelta(seconds=at)).isoformat(), "remembered": remembered})

    first = assign(see(0, ["0_0", "0_1", "0_2"], None), assignor)
    assert (first.by_process_id["c"].active, delay_of(first)) == (("0_0",), 2_000)
    for seconds, left in ((0.5, 1_500), (1.0, 1_000), (1.95, 100), (100.0, 100)):
        confirmed = assign(see(seconds, ["0_1", "0_2"], first), assignor)
        assert (confirmed.report.termination.reason, delay_of(confirmed)) == ("confirmed", left)


@both
def test_rates_of_clients_that_are_gone_are_forgotten(assignor: str) -> None:
    first = assign(take(0, {}, None), assignor)
    second = assign(take(2.2, {warming(first): END // 2}, first), assignor)
    state = take(10, {}, second)
    without = state.model_copy(update={"clients": state.clients[:2]})
    pace = assign(without, assignor).report.pace
    assert pace is not None
    assert pace.clients == ()


@pytest.mark.parametrize("name", take_few(["scale-out", "broker-scale-out", "crash", "zone-lost"], 2))
def test_a_group_is_balanced_in_a_fifth_of_the_time_that_the_interval_takes(name: str) -> None:
    scenario = read_scenario(name)
    by_interval = scenario.model_copy(update={"options": scenario.options.model_copy(update={"followup": "interval"})})
    measures, before = (simulate(each, "cp-sat").measures for each in (scenario, by_interval))
    assert measures.active_imbalance_s <= before.active_imbalance_s
    assert measures.moves <= 1.1 * before.moves  # an immediately balanced answer may move tasks that the plan would keep
    if "scale-out" in name:
        assert measures.unbalanced_s < before.unbalanced_s / 5


def know_another(
    answer: TaskAssignment, offsets: int, ms: int, *, evidence: EvidenceName = "once", client: str = "a"
) -> TaskAssignment:
    """Return the answer with the rate of one client, which is then also assumed for c."""
    assert answer.report.pace is not None
    rate = ClientPace(process_id=client, offsets=offsets, ms=ms, evidence=evidence)
    pace = answer.report.pace.model_copy(update={"clients": (rate,)})
    return answer.model_copy(update={"report": answer.report.model_copy(update={"pace": pace})})


@both
@pytest.mark.parametrize(("at", "learns"), [(0.95, False), (1.05, True)])
def test_a_requested_follow_up_measures_rates_however_soon_it_is(assignor: str, at: float, learns: bool) -> None:
    """At another client's rate the copy is done in a moment. Without this rule a follow-up would look at c every second."""
    first = assign(take(0, {}, None), assignor)
    second = assign(take(10, {warming(first): END}, know_another(first, 10_000_000, 1_000)), assignor)
    assert delay_of(second) == 2_000, "nothing was restored in ten seconds"
    assert second.report.pace is not None
    soon = second.report.pace.model_copy(update={"looks": 0})
    clients = [
        c.model_copy(update={"followup_rebalance_ms": 1_000 if c.followup_rebalance_ms else None}) for c in second.clients
    ]
    report = second.report.model_copy(update={"pace": soon})
    second = know_another(second.model_copy(update={"clients": tuple(clients), "report": report}), 10_000_000, 1_000)
    third = assign(take(10 + at, {warming(first): END - 1_000}, second), assignor)
    assert third.report.pace is not None
    assert ("c" in {row.process_id for row in third.report.pace.clients}) == learns
    assert (delay_of(third) or 0) > 4_000 if learns else delay_of(third) == 1_000


@both
def test_looks_at_a_client_without_progress_back_off_though_others_are_fast(assignor: str) -> None:
    answer, at, delays = know_another(assign(take(0, {}, None), assignor), 10_000_000, 1_000), 0.0, []
    for _ in range(5):
        at += (delay_of(answer) or 0) / 1000 + 0.15
        answer = assign(take(at, {warming(answer): END}, answer), assignor)
        delays.append(delay_of(answer))
    assert delays == [2_000, 4_000, 8_000, 16_000, 32_000]


@both
def test_a_repeatedly_raised_rate_stays_finite(assignor: str) -> None:
    first = assign(take(0, {}, None), assignor)
    for offsets in (10**15, 2**62, 2**63 - 1):
        done = assign(take(2.2, {warming(first): 0}, know_another(first, offsets, 2, evidence="bound", client="c")), assignor)
        assert done.report.pace is not None
        (rate,) = done.report.pace.clients
        assert 0 < rate.offsets < 2**62
        seen = assign(take(0.5, {warming(first): END}, know_another(first, offsets, 1)), assignor)
        assert (delay_of(seen), seen.report.to_balance_ms) == (1_000, 4_000)


@both
@pytest.mark.parametrize(("followup", "delay"), [("estimate", 1_000), ("interval", 600_000)])
def test_owners_are_held_back_for_one_rebalance_while_targets_are_caught_up(assignor: str, followup: str, delay: int) -> None:
    """A leader without memory replaces a dead leader; copies that restore elsewhere are not waited for."""
    owned = ["0_0", "0_1", "0_2", "0_3", "0_4"]
    clients: dict[str, Any] = {
        "a": {"active": owned, "standby": ["0_5"], "lags": dict.fromkeys(owned, -2) | {"0_5": 0}},
        "b": {"standby": [*owned, "0_5"], "lags": dict.fromkeys([*owned, "0_5"], 0)},
        "c": {},
    }
    made = make_snapshot(dict.fromkeys([*owned, "0_5"], END), clients, num_standby_replicas=1, acceptable_recovery_lag=100)
    options = made.options.model_copy(update={"followup": followup})
    first = made.model_copy(update={"taken_at": BEGIN.isoformat(), "options": options})
    held = assign(first, assignor)
    assert OWNERS_HELD in held.report.notes
    assert delay_of(held) == delay
    leader = next(client.process_id for client in held.clients if "0_5" in client.active)
    told = clients[leader]
    led = {"active": [*told.get("active", []), "0_5"], "standby": [t for t in told.get("standby", []) if t != "0_5"]}
    clients[leader] = led | {"lags": told.get("lags", {}) | {"0_5": -2}}
    made = make_snapshot(dict.fromkeys([*owned, "0_5"], END), clients, num_standby_replicas=1, acceptable_recovery_lag=100)
    later = (BEGIN + timedelta(milliseconds=delay)).isoformat()
    second = assign(made.model_copy(update={"taken_at": later, "options": options, "remembered": held}), assignor)
    assert len(second.by_process_id["a"].active) < len(owned)


@both
@pytest.mark.parametrize("tasks", [4, 36, 100])
def test_copies_without_progress_are_stalled_in_a_quarter_of_an_hour_whatever_their_number(assignor: str, tasks: int) -> None:
    """R11 holds for a new instance that restores nothing, while most of its copies have had no slot yet."""
    owned = [f"0_{number}" for number in range(tasks)]
    clients = {
        "a": {"active": owned[::2], "standby": [], "lags": dict.fromkeys(owned[::2], -2)},
        "b": {"active": owned[1::2], "standby": [], "lags": dict.fromkeys(owned[1::2], -2)},
        "c": {"active": [], "standby": [], "lags": {}},
    }
    made = make_snapshot(dict.fromkeys(owned, END), clients, num_standby_replicas=0, max_warmup_replicas=2)
    answer, at, delays = None, 0.0, []
    while answer is None or not answer.report.stalled:
        taken = (BEGIN + timedelta(seconds=at)).isoformat()
        answer = assign(made.model_copy(update={"taken_at": taken, "remembered": answer}), assignor)
        delays.append(delay_of(answer) or 0)
        at += delays[-1] / 1000
        assert at < 900
    assert max(delays[:-1]) <= 120_000, "no look comes later while none has shown progress"
    assert delays[-1] == (0 if tasks == 4 else 256_000), "copies that had no slot yet still get their turn"


@both
def test_a_stalled_copy_is_looked_at_soon_after_a_long_wait(assignor: str) -> None:
    """The rate was steady, so the follow-up came after the interval; the copy had made no progress."""
    pace = {"evidence": "steady", "offsets": 10, "ms": 1_000}
    first = assign(take(0, {}, None), assignor)
    progressed = assign(take(600, {warming(first): END - 6_000}, first), assignor)
    rows = [row.model_copy(update=pace) for row in progressed.report.pace.clients]  # type: ignore[union-attr]
    report = progressed.report
    known = report.model_copy(update={"pace": report.pace.model_copy(update={"clients": tuple(rows)})})  # type: ignore[union-attr]
    still = take(1_200, {warming(first): END - 6_000}, progressed.model_copy(update={"report": known}))
    assert (delay_of(assign(still, assignor)) or 0) <= 120_000
