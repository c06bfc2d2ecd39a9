"""Tests of the outlook of a plan, in follow-ups and minutes: it is close to a real convergence."""

import pytest
from judging import make_answer, make_snapshot

from optassign.assignor import assign
from optassign.formats.assignment import ClientPace, Pace, Report, Waiting
from optassign.generating import SHAPES, Shape, generate
from optassign.judging.explanation_text import outlook_to_lines, outlook_to_text
from optassign.measuring.outlook import Outlook, RestoreRates, WithSlots, estimate_outlook
from optassign.simulation.convergence import converge


@pytest.mark.parametrize("warmups", [1, 2, 5])
@pytest.mark.parametrize("standbys", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_outlook_is_close_to_a_convergence(shape: Shape, standbys: int, warmups: int) -> None:
    state = generate(shape, 60, 8, standbys, warmups=warmups, seed=3)
    expected = estimate_outlook(state, assign(state, "greedy"))
    played = converge(state, "greedy").rebalances - 1
    promised = 0 if expected is None else expected.followups
    assert abs(promised - played) <= max(1, played / 8), f"promised {promised}, played {played}"


@pytest.mark.parametrize(
    ("warmups", "message"),
    [(2, "about 200 follow-ups, 2,000 minutes (33.3 hours)"), (20, "about 20 follow-ups, 200 minutes (3.3 hours)")],
)
def test_the_scale_out_of_the_readme(warmups: int, message: str) -> None:
    """The convergences take 201 and 21 rebalances: docs/data/scale-out-rebalances.json."""
    state = generate("scale-out", 1_000, 100, 1, warmups=warmups, seed=1)
    outlook = estimate_outlook(state, assign(state, "cp-sat"))
    assert outlook is not None
    assert outlook_to_text(outlook) == message


def test_it_counts_slots_and_minutes() -> None:
    """Five copies warm up two at a time: three follow-ups, the first as requested, the others after an interval each."""
    tasks = {f"0_{i}": 500 for i in range(5)}
    held = dict.fromkeys(tasks, -2)
    state = make_snapshot(tasks, {"a": {"active": " ".join(tasks), "lags": held}, "b": {}}, max_warmup_replicas=2)
    waiting = tuple(Waiting(task=task, process_id="b", role="active", lag=500, slot=i < 2) for i, task in enumerate(tasks))
    given = make_answer({"a": " ".join(tasks), "b": " || 0_0 0_1!"}).model_copy(update={"report": Report(waiting=waiting)})
    more = (WithSlots(8, 1, 600_000),)
    expected = Outlook(3, 60_000 + 2 * 600_000, copies=5, slots=2, interval_ms=600_000, more_slots=more)
    assert estimate_outlook(state, given) == expected


def test_a_rate_below_one_offset_a_second_counts_as_one() -> None:
    state = make_snapshot({"0_0": 500}, {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {}, "c": {}})
    pace = Pace(taken_at="2026-01-01T00:00:00.000Z", clients=(ClientPace(process_id="c", offsets=200, ms=600_000),))
    waiting = (Waiting(task="0_0", process_id="b", role="active", lag=500, slot=False),)
    given = make_answer({"a": "0_0", "b": "", "c": "!"})
    outlook = estimate_outlook(state, given.model_copy(update={"report": Report(waiting=waiting, pace=pace)}))
    assert outlook is not None
    assert outlook.rates is not None
    assert outlook.rates.median == 1


def test_there_is_no_outlook_without_a_follow_up() -> None:
    state = make_snapshot({"0_0": 5}, {"a": {"active": "0_0", "lags": {"0_0": -2}}})
    assert estimate_outlook(state, make_answer({"a": "0_0"})) is None
    assert list(outlook_to_lines(None)) == []


@pytest.mark.parametrize(
    ("followups", "ms", "message"),
    [
        (1, 600_000, "about 1 follow-up, 10 minutes"),
        (1, 60_000, "about 1 follow-up, 1 minute"),
        (2, 90_000, "about 2 follow-ups, 1.5 minutes"),
        (200, 120_000_000, "about 200 follow-ups, 2,000 minutes (33.3 hours)"),
    ],
)
def test_the_text_has_minutes_and_hours(followups: int, ms: int, message: str) -> None:
    outlook = Outlook(followups, ms, copies=400, slots=2, interval_ms=600_000)
    assert outlook_to_text(outlook) == message
    assert list(outlook_to_lines(outlook)) == [
        f"{message} until the target is reached:",
        "  400 copies to warm up, 2 at a time (max.warmup.replicas), every 10 minutes (probing.rebalance.interval.ms)",
    ]


def test_known_rates_give_the_time_of_the_disks() -> None:
    """Client b restores 400 offsets at 100 a second on one slot: four seconds, and 1.5 s for each of four follow-ups."""
    tasks = {f"0_{i}": 500 for i in range(4)}
    state = make_snapshot(
        tasks, {"a": {"active": " ".join(tasks), "lags": dict.fromkeys(tasks, -2)}, "b": {}}, max_warmup_replicas=1
    )
    waiting = tuple(Waiting(task=task, process_id="b", role="active", lag=100, slot=i < 1) for i, task in enumerate(tasks))
    taken = "2026-01-01T00:00:00Z"
    for clients, message in (
        ((ClientPace(process_id="b", offsets=200, ms=2_000),), "about 4 follow-ups, 0.17 minutes"),
        ((), "about 4 follow-ups, 0.1 minutes if every client restores 10,000 offsets per second"),
    ):
        report = Report(waiting=waiting, pace=Pace(taken_at=taken, clients=clients))
        given = make_answer({"a": " ".join(tasks), "b": " || 0_0!"}).model_copy(update={"report": report})
        outlook = estimate_outlook(state, given)
        assert outlook is not None
        assert outlook_to_text(outlook) == message


def test_disks_may_take_longer_than_the_interval() -> None:
    """A standby in its place needs no slot; the outlook is the hour that b restores it, beyond the interval."""
    state = make_snapshot({"0_0": 3_600}, {"a": {"active": "0_0", "lags": {"0_0": -2}}, "b": {}}, num_standby_replicas=1)
    waiting = (Waiting(task="0_0", process_id="b", role="standby", lag=3_600, slot=True),)
    pace = Pace(taken_at="2026-01-01T00:00:00Z", clients=(ClientPace(process_id="b", offsets=100, ms=100_000),))
    given = make_answer({"a": "0_0", "b": " | 0_0!"}).model_copy(update={"report": Report(waiting=waiting, pace=pace)})
    outlook = estimate_outlook(state, given)
    assert outlook is not None
    assert (outlook.copies, outlook.ms) == (0, 3_600_000 + 1_500)


def test_more_slots_save_time_until_the_slowest_disk_takes_as_long() -> None:
    """Each of twelve copies takes ten seconds; b has four, c eight. One slot takes 120 s, more slots 80 s, the time of c."""
    tasks = {f"0_{i}": 2_000 for i in range(12)}
    held = dict.fromkeys(tasks, -2)
    state = make_snapshot(tasks, {"a": {"active": " ".join(tasks), "lags": held}, "b": {}, "c": {}}, max_warmup_replicas=1)
    on = {task: "b" if i < 4 else "c" for i, task in enumerate(tasks)}
    waiting = tuple(Waiting(task=task, process_id=on[task], role="active", lag=1_000, slot=task == "0_0") for task in tasks)
    rates = (ClientPace(process_id="b", offsets=100, ms=1_000), ClientPace(process_id="c", offsets=200, ms=2_000))
    report = Report(waiting=waiting, pace=Pace(taken_at="2026-01-01T00:00:00Z", clients=rates))
    given = make_answer({"a": " ".join(tasks), "b": " || 0_0!", "c": ""}).model_copy(update={"report": report})
    outlook = estimate_outlook(state, given)
    assert outlook is not None
    assert (outlook.ms, outlook.rates) == (120_000 + 12 * 1_500, RestoreRates(100, 100, 100, 2))
    assert outlook.more_slots == (WithSlots(2, 6, 80_000 + 6 * 1_500),)
    assert list(outlook_to_lines(outlook))[2:] == [
        "  with more at a time it would take about 1.5 minutes (2); even more would save little",
        "  clients have restored 100 offsets a second (2 known)",
    ]
